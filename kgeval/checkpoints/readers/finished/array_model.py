"""Models of stored arrays: read from files, speaking of the queries of some triples alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgeval.arrays import FloatArray
from kgeval.checkpoints.without_formula import ModelWithoutFormula
from kgeval.scorers.adapters.dual_encoder import DualEncoder
from kgeval.scorers.adapters.triple_arrays import TripleArrays


@dataclass(frozen=True, eq=False, repr=False)
class ArrayModel(ModelWithoutFormula):
    """A scorer of arrays that were made for the queries of some triples."""

    model: TripleArrays  # type: ignore[assignment]

    @property
    def arrays(self) -> Mapping[str, FloatArray]:
        """The vectors of an encoder; finished scores may be infinite, and are checked where they are used."""
        if not isinstance(self.model, DualEncoder):
            return {}
        return {"entity": self.model.vectors} | {side: self.model.array_of(side) for side in self.model.sides}

    def describe(self) -> dict[str, Any]:
        """Tell what it is: what ``kgeval inspect`` shows."""
        shapes = {side: list(self.model.array_of(side).shape) for side in self.model.sides}
        return {**super().describe(), "origins": dict(self.origins), "rows": shapes}
