"""The corruption generators: which candidates compete with the answer of a query."""

from typing import Annotated

from pydantic import Field

from kgeval.corruption.candidates import CorruptionGenerator
from kgeval.corruption.degree import Degree
from kgeval.corruption.everything import AllEntities
from kgeval.corruption.given import FromFile
from kgeval.corruption.ogb import OGBNegatives
from kgeval.corruption.popular import Popular
from kgeval.corruption.typed import Typed
from kgeval.corruption.uniform import Uniform

Corruption = Annotated[
    AllEntities | Uniform | Popular | Degree | Typed | FromFile | OGBNegatives, Field(discriminator="kind")
]
"""Any corruption generator, told apart by its ``kind``: the type of the configuration's ``corruption`` block."""

GENERATORS: dict[str, type[CorruptionGenerator]] = {
    "all": AllEntities,
    "uniform": Uniform,
    "popular": Popular,
    "degree": Degree,
    "typed": Typed,
    "file": FromFile,
    "ogb": OGBNegatives,
}

__all__ = [
    "GENERATORS",
    "AllEntities",
    "Corruption",
    "CorruptionGenerator",
    "Degree",
    "FromFile",
    "OGBNegatives",
    "Popular",
    "Typed",
    "Uniform",
]
