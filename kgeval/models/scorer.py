"""The kinds of scorers: by scores, by vectors and a similarity, by vectors of a side or relation, by few entities.

Every model that is ranked is a scorer of one of these kinds; the engine of ``kgeval.ranking`` gives it queries and asks
for scores or vectors. ``as_float64`` takes what a model returned as float64 without rounding, or refuses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray, array_or
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import InputError, ScoreError, reason
from kgeval.base.settings import names_among
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import SIDES, Side
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.similarity import Similarity, canonical

Numbering = Literal["dataset", "sorted", "files", "unknown"]
"""the meaning of a model's ids if it has no labels: the dataset's ids, the places of the dataset's sorted labels, the
ids in the files of its framework, or unknown"""


@runtime_checkable
class Scorer(Protocol):
    """An object that scores the candidates of queries; higher is more plausible.

    Its ids are those of the dataset, unless it has labels: attributes ``entities`` and ``relations`` with the label of
    each id, or the arguments of these names of ``kgeval.evaluate``.
    """

    @property
    def num_entities(self) -> int:
        """The number of entities it knows: ids 0 … num_entities − 1."""

    @property
    def num_relations(self) -> int:
        """The number of relations it knows."""

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score candidates in the place of each query's answer.

        Parameters
        ----------
        queries
            queries of one side
        candidates
            int64[candidate], the same for every query, or int64[query, candidate]

        Returns
        -------
        float[query, candidate]
        """


if TYPE_CHECKING:

    def attribute(function: Callable[[Any], object]) -> Any: ...
else:
    attribute = property
    """a property; type checkers also accept a class attribute in a subclass, which they refuse for a plain property"""


class VectorScorer(ABC):
    """A scorer whose score is a similarity between a query's vector and a candidate's vector.

    score(q, e) = similarity(query vector, entity vector) + entity bias + query offset

    The similarity is ``"dot"``, ``"l1"``, ``"l2"``, ``"modulus"`` or ``"cosine"``. It may have labels of its ids as any
    :class:`Scorer`.

    The *canonical* score of a pair is this formula in float64, from the stored parameters, summed over the dimensions
    in one fixed order. It is a function of the pair alone: no batch, thread or device changes it.
    """

    concurrent = False
    """whether vectors of queries may be computed in several threads at a time"""

    @attribute
    @abstractmethod
    def similarity(self) -> Similarity:
        """The similarity of the vectors."""

    @attribute
    @abstractmethod
    def num_entities(self) -> int:
        """The number of entities it knows."""

    @attribute
    @abstractmethod
    def num_relations(self) -> int:
        """The number of relations it knows."""

    @abstractmethod
    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the vector of each query, each a function of that query alone; float64[query, dim]."""

    @abstractmethod
    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the vectors of entities as answers on one side, in their stored precision; float[id, dim]."""

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        """Return the number that is added to the scores of each entity; float64[id]."""
        return np.zeros(len(ids))

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the number that is added to all scores of each query; float64[query]."""
        return np.zeros(len(queries))

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Return the canonical scores of candidates (int64[candidate] or int64[query, candidate])."""
        refuse_other_queries(queries, candidates)
        vectors, biases = entity_arrays(self, queries.side, candidates.ravel())
        query_vectors, offsets = query_arrays(self, queries)
        refuse_vector_widths(query_vectors, vectors)
        exact = as_float64(vectors, "the scorer's entity vectors").reshape(*candidates.shape, -1)
        similarities = canonical(self.similarity, query_vectors[:, None, :], exact)
        return similarities + biases.reshape(candidates.shape) + offsets[:, None]


class PartitionedScorer(Scorer, ABC):
    """A scorer whose entity vectors depend on the side or the relation, as TransH projects them by relation."""

    @abstractmethod
    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        """Split queries of one side into consecutive slices, in order, each with the scorer of its entity vectors."""

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Return the scores of candidates (int64[candidate] or int64[query, candidate]), each slice by its scorer."""
        refuse_other_queries(queries, candidates)
        return scores_of_parts(((part, view.scores) for part, view in self.views(queries)), queries, candidates)


class QueryPartition(NamedTuple):
    """A slice of queries, and the scorer that scores these queries."""

    queries: slice
    scorer: Scorer | VectorScorer


def views_of(scorer: Scorer | VectorScorer, queries: Queries) -> Iterator[QueryPartition]:
    """Split queries into the slices of a partitioned scorer; for any other scorer, all queries are one slice."""
    if isinstance(scorer, PartitionedScorer):
        return scorer.views(queries)
    return iter([QueryPartition(slice(0, len(queries)), scorer)])


@runtime_checkable
class TensorScorer(Protocol):
    """A scorer whose scores can stay on the device of its model."""

    def score_tensor(self, queries: Queries, candidates: IntArray, device: Any) -> Any:
        """Score as :meth:`Scorer.scores` does; a floating ``torch.Tensor``, or None if the model is elsewhere."""


@dataclass(frozen=True, eq=False)
class SparseScorer:
    """A scorer by a rule that lists some entities with scores for each query; all other entities share one score."""

    num_entities: int
    num_relations: int
    rule: Callable[[Queries], SparseScores]
    """queries of one side -> their scores"""

    def sparse_scores(self, queries: Queries) -> SparseScores:
        return self.rule(queries).in_use()

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        wanted = np.broadcast_to(candidates, (len(queries), candidates.shape[-1]))
        owners = np.repeat(np.arange(len(queries)), wanted.shape[1])
        return self.sparse_scores(queries).at(owners, wanted.ravel()).reshape(wanted.shape)


@dataclass(frozen=True, eq=False)
class SparseScores:
    """The scores of the entities that are listed for some queries. Queries that list the same entities share a row.

    >>> both = SparseScores(Rows.of([[1, 4]]), np.array([3.0, 2.0]), of_query=np.array([0, 0]))
    >>> both.at(np.array([0, 0, 1]), np.array([4, 2, 1]))
    array([2., 0., 3.])
    """

    rows: Rows
    """the listed entities, ascending and distinct in each row"""
    scores: Float64Array
    """the score of each listed entity; float64[listed entity]"""
    of_query: IntArray
    """the row of each query in ``rows``; int64[query]"""
    others: float = 0.0
    """the score of every entity that is not listed"""

    def __post_init__(self) -> None:
        if np.isnan(self.scores).any() or np.isnan(self.others):
            raise ScoreError("a sparse scorer returned NaN: entities without a score are left out of its rows.")

    def at(self, queries: IntArray, ids: IntArray) -> Float64Array:
        """Look up the score of each entity as an answer to a query, by the query's index; float64[id]."""
        rows = self.of_query[queries]
        places = self.rows.positions(rows, ids)
        scores = np.append(self.scores, self.others)
        return np.asarray(scores[np.where(places < 0, len(self.scores), self.rows.offsets[rows] + places)])

    def in_use(self) -> SparseScores:
        """Drop the rows that no query uses: a rule may return rows for all relations."""
        used, of_query = np.unique(self.of_query, return_inverse=True)
        places = Rows.spans(self.rows.offsets[used], self.rows.offsets[used + 1], np.arange(len(self.scores)))
        rows = Rows(places.offsets, self.rows.ids[places.ids])
        return SparseScores(rows, self.scores[places.ids], of_query, self.others)

    def renumbered(self, ids: IntArray) -> SparseScores:
        """Give each entity the id ``ids[entity]``, int64[entity]; entities with a negative new id are not listed."""
        there = ids[self.rows.ids] >= 0
        rows, scores = self.rows.where(there), self.scores[there]
        renamed = ids[rows.ids]
        order = np.lexsort((renamed, rows.owners))
        return replace(self, rows=Rows(rows.offsets, renamed[order]), scores=scores[order])


class LabelledModel:
    """A scorer with labels for its ids, or with the numbering of its framework."""

    model: Any
    """the scorer itself, with these ids"""
    entities: Vocabulary | None
    """the label of each entity id, if it has labels"""
    relations: Vocabulary | None
    """the label of each relation id, if it has labels"""
    numbering: Numbering
    """the meaning of its ids, if it has no labels"""
    layouts: tuple[str, ...]
    """the names of the dataset layouts whose files have the same ids as the model"""
    times: Vocabulary | None = None
    """the label of each time, if the model is temporal"""
    assumptions: tuple[Assumption, ...] = ()
    """how it was read where another reading is possible"""

    @property
    def num_entities(self) -> int:
        """The number of entities it knows."""
        return int(self.model.num_entities)

    @property
    def num_relations(self) -> int:
        """The number of relations it knows."""
        return int(self.model.num_relations)

    @property
    def num_times(self) -> int | None:
        """The number of its times; ``None`` if scores do not depend on time."""
        return getattr(self.model, "num_times", None)

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Return the model's scores, in its own ids."""
        refuse_other_queries(queries, candidates)
        scores: FloatArray = self.model.scores(queries, candidates)
        return scores


@dataclass(frozen=True, eq=False)
class LabelledScorer(LabelledModel):
    """A scorer with the labels of its ids, where it has any."""

    model: Scorer | VectorScorer
    entities: Vocabulary | None
    relations: Vocabulary | None
    numbering: Numbering = "dataset"
    layouts: tuple[str, ...] = ()
    times: Vocabulary | None = None
    assumptions: tuple[Assumption, ...] = ()


Inner = TypeVar("Inner", bound="Scorer | VectorScorer")


@dataclass(frozen=True, eq=False)
class MadeOf(Generic[Inner]):
    """A scorer that wraps another one, with the same numbers of entities and relations."""

    scorer: Inner

    @property
    def num_entities(self) -> int:
        return self.scorer.num_entities

    @property
    def num_relations(self) -> int:
        return self.scorer.num_relations


def sides_of(model: Any) -> tuple[Side, ...]:
    """List the sides that a model answers: those of the attribute ``sides`` of its scorer, or both.

    >>> sides_of(object())
    ('head', 'tail')
    """
    while isinstance(model, LabelledModel):
        model = model.model
    sides = getattr(model, "sides", SIDES)
    return tuple(side for side in SIDES if isinstance(sides, Collection) and side in sides) or SIDES


def checked_sides(sides: str | Collection[str], name: str = "sides") -> tuple[Side, ...]:
    """Check the sides that a user gave, one or both, and return them with the head first."""
    listed = names_among(f"{name}: unknown side", sides, SIDES)
    if not listed:
        raise InputError(f"{name}: expected head, tail or both, found none.")
    return tuple(side for side in SIDES if side in listed)


def scores_of_parts(
    parts: Iterable[tuple[slice, Callable[[Queries, IntArray], FloatArray]]], queries: Queries, candidates: IntArray
) -> FloatArray:
    """Score consecutive slices of queries, each by the function beside it; float64[query, candidate]."""
    by_query = candidates.ndim == 2
    scores = [score(queries[part], candidates[part] if by_query else candidates) for part, score in parts]
    return np.concatenate([np.empty((0, candidates.shape[-1])), *scores])


def refuse_other_queries(queries: Queries, candidates: IntArray) -> None:
    """Refuse arguments of other types, such as a triple of labels."""
    if not isinstance(queries, Queries) or not isinstance(candidates, np.ndarray) or candidates.dtype.kind not in "iu":
        how = "Queries.of(Triples.of([(head, relation, tail)]), 'tail'), np.arange(scorer.num_entities)"
        fault = f"scores takes Queries and an array of candidate ids, not {queries!r:.60} and {candidates!r:.60}"
        raise InputError(f"{fault}. For the tails of a triple of ids: scorer.scores({how}).")


def query_arrays(scorer: VectorScorer, queries: Queries) -> tuple[Float64Array, Float64Array]:
    """Get and check the vectors and offsets of queries; float64[query, dim] and float64[query]."""
    vectors = as_float64(scorer.query_vectors(queries), "the scorer's query vectors")
    offsets = as_float64(scorer.query_offsets(queries), "the scorer's query offsets")
    _refuse_shape(vectors, "query vectors", len(queries), "queries", ndim=2)
    _refuse_shape(offsets, "query offsets", len(queries), "queries", ndim=1)
    return vectors, offsets


def entity_arrays(scorer: VectorScorer, side: Side, ids: IntArray) -> tuple[FloatArray, Float64Array]:
    """Get and check the vectors of entities, in their precision, and the biases; float[id, dim] and float64[id]."""
    vectors = as_array(scorer.entity_vectors(side, ids), "the scorer's entity vectors")
    biases = as_float64(scorer.entity_biases(side, ids), "the scorer's entity biases")
    _refuse_shape(vectors, "entity vectors", len(ids), "entities", ndim=2)
    _refuse_shape(biases, "entity biases", len(ids), "entities", ndim=1)
    return vectors, biases


def _refuse_shape(array: FloatArray, name: str, count: int, many: str, *, ndim: int) -> None:
    if array.ndim != ndim or len(array) != count:
        got = f"{len(array)} {name}" if array.ndim else f"a single number as {name}"
        expected = f"({count}, dim)" if ndim == 2 else f"({count},)"
        raise ScoreError(f"the scorer returned {got} for {count} {many}: shape {array.shape}, expected {expected}.")


def refuse_vector_widths(queries: FloatArray, entities: FloatArray) -> None:
    """Refuse vectors of queries and of entities that differ in width."""
    if queries.shape[1] != entities.shape[1]:
        fault = f"the scorer's query vectors have shape {queries.shape}, its entity vectors {entities.shape}"
        raise ScoreError(f"{fault}: they must have the same width.")


EXACT = 2**53
"""float64 holds every whole number up to this one, and beyond it only some"""


def as_array(scores: Any, source: str) -> np.ndarray[Any, Any]:
    """Take scores as an array of numbers, in their own type; tensors lose their gradient and their device.

    >>> as_array([[True, False]], "the model")
    array([[ True, False]])
    >>> as_array("0.5", "the model")
    Traceback (most recent call last):
    kgeval.base.errors.ScoreError: the model gave str of dtype <U3; expected real numbers.
    """
    fault = f"{source} gave {type(scores).__name__}, which is not an array of real numbers"
    cure = "Give only the scores, as an array or a tensor."
    array = array_or(lambda it: ScoreError(f"{fault}: {reason(it)}. {cure}"), scores)
    if np.ma.is_masked(scores):
        raise ScoreError(f"{source} gave masked scores. Use NaN for a missing score, and nan='worst' (--nan worst).")
    if array.dtype.kind != "f" and not np.can_cast(array.dtype, np.float64):
        raise ScoreError(f"{source} gave {type(scores).__name__} of dtype {array.dtype}; expected real numbers.")
    return array


def as_float64(scores: Any, source: str) -> Float64Array:
    """Convert scores to float64; refuse a score that float64 would round.

    >>> as_float64([2**60, 1], "the model")
    array([1.1529215e+18, 1.0000000e+00])
    >>> as_float64([2**60 + 1, 1], "the model")
    Traceback (most recent call last):
    kgeval.base.errors.ScoreError: the model gave the score 1152921504606846977, which float64 cannot hold exactly. ...
    """
    array = as_array(scores, source)
    with np.errstate(over="ignore", invalid="ignore"):  # a long double that overflows is found below; NaN may signal
        exact = array.astype(np.float64, copy=False)
    if rounded := _rounded(array, exact):
        raise ScoreError(f"{source} gave the score {rounded[0]}, which float64 cannot hold exactly. Give floats.")
    return exact


def _rounded(array: np.ndarray[Any, Any], exact: Float64Array) -> list[Any]:
    """List the scores that float64 has rounded, which can only be large integers and long doubles."""
    if array.dtype.kind in "iu":
        large = (array > EXACT) | (array < -EXACT)
        # Python compares whole numbers with floats exactly, numpy in float64.
        pairs = zip(array[large].tolist(), exact[large].tolist(), strict=True)
        return [score for score, held in pairs if score != held]
    if np.can_cast(array.dtype, np.float64):
        return []
    return list(array[(array != exact) & ~np.isnan(array)])
