"""The corruption generators: which candidates compete with the answer of a query."""

from typing import Annotated

from pydantic import Field

from kgeval.corruption.candidates import CorruptionGenerator
from kgeval.corruption.everything import AllEntities
from kgeval.corruption.given import FromFile
from kgeval.corruption.uniform import Uniform

Corruption = Annotated[AllEntities | Uniform | FromFile, Field(discriminator="kind")]
"""Any corruption generator, told apart by its ``kind``: the type of the configuration's ``corruption`` block."""

GENERATORS: dict[str, type[CorruptionGenerator]] = {"all": AllEntities, "uniform": Uniform, "file": FromFile}

__all__ = ["GENERATORS", "AllEntities", "Corruption", "CorruptionGenerator", "FromFile", "Uniform"]
