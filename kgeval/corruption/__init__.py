"""The corruption generators: which candidates compete with the answer of a query."""

from typing import Annotated

from pydantic import Field

from kgeval.corruption.all_entities import AllEntities
from kgeval.corruption.degree import DegreeWeighted
from kgeval.corruption.from_file import FileNegatives
from kgeval.corruption.generator import CorruptionGenerator
from kgeval.corruption.ogb_negatives import OGBNegatives
from kgeval.corruption.popular import PopularityWeighted
from kgeval.corruption.typed import TypeConstrained
from kgeval.corruption.uniform import Uniform

Corruption = Annotated[
    AllEntities | Uniform | PopularityWeighted | DegreeWeighted | TypeConstrained | FileNegatives | OGBNegatives,
    Field(discriminator="kind"),
]
"""Any corruption generator, told apart by its ``kind``: the type of the configuration's ``corruption`` block."""

GENERATORS: dict[str, type[CorruptionGenerator]] = {
    "all": AllEntities,
    "uniform": Uniform,
    "popular": PopularityWeighted,
    "degree": DegreeWeighted,
    "typed": TypeConstrained,
    "file": FileNegatives,
    "ogb": OGBNegatives,
}

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
