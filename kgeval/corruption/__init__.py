"""Corruption generators: the rules that choose the candidates of a query."""

from kgeval.corruption.all_entities import AllEntities
from kgeval.corruption.degree import DegreeWeighted
from kgeval.corruption.from_file import FileNegatives
from kgeval.corruption.generator import CorruptionGenerator
from kgeval.corruption.ogb_negatives import OGBNegatives
from kgeval.corruption.popular import PopularityWeighted
from kgeval.corruption.typed import TypeConstrained
from kgeval.corruption.uniform import Uniform

__all__ = [
    "AllEntities",
    "CorruptionGenerator",
    "DegreeWeighted",
    "FileNegatives",
    "OGBNegatives",
    "PopularityWeighted",
    "TypeConstrained",
    "Uniform",
]
