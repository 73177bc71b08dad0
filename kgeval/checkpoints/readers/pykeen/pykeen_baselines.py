"""PyKEEN's baselines without parameters: the sparse tables that they have counted, as they lie in a pickle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.checkpoints.readers.pykeen.modules import Module, NoFormula
from kgeval.checkpoints.without_formula import ModelWithoutFormula
from kgeval.errors import CheckpointError
from kgeval.pickles.unpickle import StubObject
from kgeval.scorers.adapters.marginals import MarginalDistributionScorer


@dataclass(frozen=True, eq=False, repr=False)
class PyKEENBaseline(ModelWithoutFormula):
    """A baseline that was read from a file."""

    model: MarginalDistributionScorer  # type: ignore[assignment]

    def describe(self) -> dict[str, Any]:
        """Tell what it is: what ``kgeval inspect`` shows."""
        counted = {
            f"{side} per {what}": table.nnz
            for what, tables in (("anchor", self.model.per_anchor), ("relation", self.model.per_relation))
            for side, table in tables.items()
        }
        return {
            **super().describe(),
            "model": self.name,
            "counted": counted,
            "labels": {"entities": self.entities is not None, "relations": self.relations is not None},
        }


def baseline_of(model: Module) -> MarginalDistributionScorer:
    """Make the scorer of a baseline.

    Raises
    ------
    NoFormula
        if it was made of a graph with inverse triples
    CheckpointError
        if its tables are damaged
    """
    if model.state.get("use_inverse_triples"):
        raise NoFormula("it is a baseline with inverse triples.")
    return BASELINES[model.class_name](model)


def _marginal(model: Module) -> MarginalDistributionScorer:
    entities, relations = (_count(model, kind) for kind in ("entities", "relations"))
    anchor = {"head": _table(model, "head_per_tail", entities), "tail": _table(model, "tail_per_head", entities)}
    relation = {side: _table(model, f"{side}_per_relation", relations) for side in ("head", "tail")}
    return MarginalDistributionScorer(entities, relations, _present(anchor), _present(relation))


def _soft_inverse(model: Module) -> MarginalDistributionScorer:
    """Relations share entities as far as they, or their inverses, share pairs."""
    entities, relations = (_count(model, kind) for kind in ("entities", "relations"))
    same, inverse = (_table(model, name, relations, relations) for name in ("sim", "sim_inv"))
    head, tail = (_table(model, f"rel_to_{side}", relations) for side in ("head", "tail"))
    if any(table is None for table in (same, inverse, head, tail)):
        raise CheckpointError("a table of its relations is missing.")
    per_relation = {"head": same @ head + inverse @ tail, "tail": same @ tail + inverse @ head}
    return MarginalDistributionScorer(entities, relations, {}, per_relation)  # type: ignore[arg-type]


BASELINES: dict[str, Callable[[Module], MarginalDistributionScorer]] = {
    "MarginalDistributionBaseline": _marginal,
    "SoftInverseTripleBaseline": _soft_inverse,
}


def _present(tables: dict[str, Any]) -> Any:
    return {side: table for side, table in tables.items() if table is not None}


def _count(model: Module, kind: str) -> int:
    count = model.state.get(f"num_{kind}")
    if type(count) is not int or count <= 0:
        raise CheckpointError(f"it has no number of {kind}.")
    return count


def _table(model: Module, name: str, rows: int, columns: int | None = None) -> Any:
    """Read a matrix of scipy by its three arrays: numbers, their columns, and where each row begins."""
    from scipy.sparse import csr_matrix

    pickled = model.state.get(name)
    if pickled is None:
        return None
    columns = _count(model, "entities") if columns is None else columns
    state = pickled.state if isinstance(pickled, StubObject) else {}
    numbers, places, starts = (state.get(part) for part in ("data", "indices", "indptr"))
    arrays = [array for array in (numbers, places, starts) if isinstance(array, np.ndarray) and array.ndim == 1]
    if len(arrays) < 3 or [array.dtype.kind for array in arrays] != ["f", "i", "i"]:
        raise CheckpointError(f"its table {name} is no sparse matrix.")
    fits = len(arrays[2]) == rows + 1 and len(arrays[0]) == len(arrays[1]) == arrays[2][-1] and arrays[2][0] == 0
    if not fits or (np.diff(arrays[2]) < 0).any() or not ((arrays[1] >= 0) & (arrays[1] < columns)).all():
        raise CheckpointError(f"its table {name} does not have {rows} rows and {columns} columns.")
    if not np.isfinite(arrays[0]).all():
        raise CheckpointError(f"its table {name} holds numbers that are not finite.")
    return csr_matrix(tuple(np.array(array) for array in arrays), shape=(rows, columns))
