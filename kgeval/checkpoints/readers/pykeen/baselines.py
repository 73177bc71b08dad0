"""Read PyKEEN's non-parametric baselines from a pickle: sparse matrices, counted from the training triples.

MarginalDistributionBaseline has P(answer | anchor) and P(answer | relation); SoftInverseTripleBaseline has
P(answer | relation) and how similar each two relations are, the second as it is or inverted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray, IntArray
from kgeval.checkpoints.checkpoint import ModelWithoutFormula
from kgeval.checkpoints.readers.pykeen.modules import Module, NoFormula
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.errors import CheckpointError
from kgeval.pickles.unpickle import StubObject


@dataclass(frozen=True, eq=False)
class MarginalDistributionScorer:
    """score(h, r, t) = P(t | h) P(t | r) / Σ_t′ P(t′ | h) P(t′ | r), and likewise for heads; many entities tie at 0.

    What is computed is what PyKEEN computes, in its precision: float32 products, scaled by their sum in float64.
    Without one of the tables a score is the other's entry, without both 1/n.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from kgeval.data.triples import Triples
    >>> table = csr_matrix(np.array([[0.25, 0.75, 0]], np.float32))
    >>> scorer = MarginalDistributionScorer(3, 1, {}, {"tail": table})
    >>> scorer.scores(Queries.of(Triples.of([(0, 0, 2)]), "tail"), np.arange(3))
    array([[0.25, 0.75, 0.  ]], dtype=float32)
    """

    num_entities: int
    num_relations: int
    per_anchor: Mapping[Side, Any]
    """the predicted side -> P(answer | anchor); sparse float[entity, entity]"""
    per_relation: Mapping[Side, Any]
    """the predicted side -> P(answer | relation); sparse float[relation, entity]"""

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        rows = self._rows(queries)
        chosen = rows[:, candidates] if candidates.ndim == 1 else np.take_along_axis(rows, candidates, axis=1)
        return np.asarray(chosen)

    def _rows(self, queries: Queries) -> FloatArray:
        anchors: Any = self.per_anchor.get(queries.side)
        relations: Any = self.per_relation.get(queries.side)
        if anchors is None and relations is None:
            return np.full((len(queries), self.num_entities), 1 / self.num_entities, np.float32)
        if anchors is None or relations is None:
            alone = relations[queries.relations] if anchors is None else anchors[queries.anchors]
            return np.asarray(alone.toarray())
        products = anchors[queries.anchors].multiply(relations[queries.relations]).toarray()
        sums = np.add.accumulate(products, axis=1, dtype=np.float64)[:, -1:]
        return np.asarray(products / np.where(sums == 0, 1, sums), products.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class PyKEENBaseline(ModelWithoutFormula):
    model: MarginalDistributionScorer  # type: ignore[assignment]

    def describe(self) -> dict[str, Any]:
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
    if model.state.get("use_inverse_triples"):
        raise NoFormula("it is a baseline that was trained with create_inverse_triples=True.")
    return BASELINES[model.class_name](model)


def _marginal(model: Module) -> MarginalDistributionScorer:
    entities, relations = (_count(model, kind) for kind in ("entities", "relations"))
    anchor = {"head": _table(model, "head_per_tail", entities), "tail": _table(model, "tail_per_head", entities)}
    relation = {side: _table(model, f"{side}_per_relation", relations) for side in ("head", "tail")}
    return MarginalDistributionScorer(entities, relations, _present(anchor), _present(relation))


def _soft_inverse(model: Module) -> MarginalDistributionScorer:
    """Tails are scored by sim[r] · rel_to_tail + sim_inv[r] · rel_to_head, heads likewise with the two swapped.

    The similarities are float[relation, relation], the rel_to_… are P(entity | relation), float[relation, entity]. The
    scores are no probabilities: no row is scaled to 1.
    """
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
    """Rebuild a scipy CSR matrix, float[row, column], from its pickled arrays; None if the model has none."""
    from scipy.sparse import csr_matrix

    pickled = model.state.get(name)
    if pickled is None:
        return None
    columns = _count(model, "entities") if columns is None else columns
    state = pickled.state if isinstance(pickled, StubObject) else {}
    arrays = [state.get(part) for part in ("data", "indices", "indptr")]
    vectors = [array for array in arrays if isinstance(array, np.ndarray) and array.ndim == 1]
    if [vector.dtype.kind for vector in vectors] != ["f", "i", "i"]:
        raise CheckpointError(f"its table {name} is no sparse matrix.")
    data, indices, indptr = vectors
    fits = len(indptr) == rows + 1 and len(data) == len(indices) == indptr[-1] and indptr[0] == 0
    if not fits or (np.diff(indptr) < 0).any() or not ((indices >= 0) & (indices < columns)).all():
        raise CheckpointError(f"its table {name} does not have {rows} rows and {columns} columns.")
    if not np.isfinite(data).all():
        raise CheckpointError(f"its table {name} holds numbers that are not finite.")
    return csr_matrix((np.array(data), np.array(indices), np.array(indptr)), shape=(rows, columns))
