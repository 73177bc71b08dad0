"""Corruption generators: the rules that choose the candidates of a query."""

from kgeval.corruption.generator import CorruptionGenerator
from kgeval.corruption.listed import FileNegatives, OGBNegatives
from kgeval.corruption.sampled import DegreeWeighted, PopularityWeighted, Uniform
from kgeval.corruption.unsampled import AllEntities, TypeConstrained

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
