"""The model family: a formula that makes scores of stored arrays and options; here are the base classes of all.

The files in ``families`` declare the families, readers of checkpoints make models of them, and ``families()`` lists
them. A model takes queries and candidates, and returns scores or vectors. ``VectorFamily`` is the base for scores that
are a similarity of two vectors, ``RelationalFamily`` for vectors that depend on the relation (``TailNetwork`` and
``ProjectedTranslation`` are such bases too), ``ScoredFamily`` for scores that no similarity gives.
"""

from __future__ import annotations

import dataclasses
import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError
from typing_extensions import Self

from kgeval.base.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.base.errors import CheckpointError, UsageError, did_you_mean
from kgeval.base.registries import by_name, load_entry_points, subclasses
from kgeval.base.threads import parallel_for, slices
from kgeval.data.queries import Queries, starts_of_runs
from kgeval.data.triples import Side
from kgeval.models.ordered import matmul_ordered, normalized
from kgeval.models.scorer import MadeOf, PartitionedScorer, QueryPartition, VectorScorer, attribute
from kgeval.models.similarity import Similarity


@dataclasses.dataclass(frozen=True, eq=False)
class Family(ABC):
    """A model family: a formula that makes scores of stored arrays and options.

    To add one, declare a frozen dataclass below :class:`VectorFamily`, whose score is a similarity of two vectors;
    below :class:`kgeval.models.family.RelationalFamily`, if the vectors of the candidates depend on the
    relation; or below :class:`kgeval.models.family.ScoredFamily`, if no similarity gives the score. It declares

    * ``formula``, as ``kgeval list models`` shows it, ``name``, if it is not the class's own, and ``equal_widths``;
    * its arrays besides ``entity`` and ``relation``, as fields of type ``FloatArray``, and the options of its formula,
      as fields of any other type; without such fields it needs no decorator;
    * :meth:`check_shapes`, which refuses shapes that do not fit together with :meth:`require`;
    * the methods that its base class leaves abstract.

    Arrays keep the precision they are stored in; formulas compute in float64, and the vector of a query is a function
    of that query alone. An entry point in the group ``kgeval.families`` makes the class known by its name.

    Raises
    ------
    CheckpointError
        if an array is no table of floating-point numbers, or does not fit the others

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True, eq=False)
    ... class Unstructured(VectorFamily):
    ...     formula = "−‖h − t‖²"
    ...     similarity = "squared_l2"
    ...
    ...     def query_vectors(self, queries: Queries) -> Float64Array:
    ...         return rows64(self.entity, queries.anchors)  # h of a tail query, t of a head query
    >>> import kgeval
    >>> data = kgeval.load_dataset("nations")
    >>> rng = np.random.default_rng(0)
    >>> model = Unstructured(entity=rng.normal(size=(14, 4)), relation=np.zeros((55, 1)))
    >>> table = kgeval.evaluate(model, data)
    >>> round(kgeval.summarize(table, ["mrr"])["mrr"], 4)
    0.2502
    """

    name: ClassVar[str]
    """the name of the family in checkpoints and in ``kgeval list models``"""
    formula: ClassVar[str]
    """the formula of the score, in one line"""
    equal_widths: ClassVar[bool] = False
    """whether ``entity`` and ``relation`` must have the same width"""

    entity: FloatArray
    """the vector of each entity; float[entity, entity width]"""
    relation: FloatArray
    """the parameters of each relation; float[relation, relation width]"""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = vars(cls).get("name", cls.__name__)

    def __post_init__(self) -> None:
        """Refuse arrays that are not tables of floating-point numbers, and widths that do not fit."""
        for name, array in self.arrays.items():
            if not isinstance(array, np.ndarray) or array.dtype not in (np.float16, np.float32, np.float64):
                kind = getattr(array, "dtype", type(array).__name__)
                expected = "float16, float32 or float64 (complex vectors as halves [re | im])"
                raise CheckpointError(f"{self.name}: the array {name!r} is {kind}; expected {expected}.")
            if array.size == 0 or (name in {"entity", "relation"} and array.ndim != 2):
                expected = f"two dimensions, with one row per {name}"
                raise CheckpointError(f"{self.name}: {name!r} has shape {array.shape}; expected {expected}.")
        fits = not self.equal_widths or self.entity.shape[1] == self.relation.shape[1]
        self.require(fits, "entity and relation must have the same width")
        self.check_shapes()

    def check_shapes(self) -> None:  # noqa: B027 - some families have nothing more to refuse
        """Refuse arrays and options that do not fit together."""

    @property
    def num_entities(self) -> int:
        """How many entities it knows."""
        return len(self.entity)

    @property
    def num_relations(self) -> int:
        """How many relations it knows."""
        return len(self.relation)

    @property
    def num_times(self) -> int | None:
        """How many times it knows; None if scores do not depend on the time."""
        return None

    @abstractmethod
    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Return the scores of candidates (int64[candidate] or int64[query, candidate]); float[query, candidate].

        Each score is a function of its query and its candidate alone.
        """

    def refuse_heads(self) -> None:  # noqa: B027 - most families have nothing to refuse
        """Refuse parameters that answer head queries by another formula than tail queries; most families have none.

        Raises
        ------
        CheckpointError
            with the parameters that make heads and tails disagree
        """

    @classmethod
    def build(cls, arrays: Mapping[str, FloatArray], options: Mapping[str, Any]) -> Self:
        """Make the model from named arrays and options.

        Raises
        ------
        CheckpointError
            if an array or option is missing, unknown or of the wrong shape or value
        """
        for kind, names, known in (("array", arrays, cls.array_names()), ("option", options, cls.option_names())):
            for name in names:
                if name not in known:
                    hint = did_you_mean(name, known) if known else "It has none."
                    raise CheckpointError(f"{cls.name} has no {kind} {name!r}. {hint}")
        required = [field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING]
        if missing := [name for name in required if name not in {**arrays, **options}]:
            refusal = UsageError if set(missing) <= set(cls.option_names()) else CheckpointError
            raise refusal(f"{cls.name} needs {' and '.join(map(cls._how_to_give, missing))}.")
        return cls(**arrays, **{name: cls._checked(name, value) for name, value in options.items()})

    @classmethod
    def option_names(cls) -> list[str]:
        """List the options of the formula: the fields that are not arrays."""
        return [name for name in cls._hints() if name not in cls.array_names()]

    @classmethod
    def array_names(cls) -> list[str]:
        """List the arrays that the formula reads."""
        return [name for name, hint in cls._hints().items() if _is_array(hint)]

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """The stored arrays, by name."""
        return {name: value for name in self.array_names() if (value := getattr(self, name)) is not None}

    @property
    def options(self) -> dict[str, Any]:
        """The options of the formula, by name."""
        return {name: getattr(self, name) for name in self.option_names()}

    def rows_of(self, queries: Queries) -> tuple[Float64Array, Float64Array]:
        """Take the stored rows of the queries' anchors and relations; float64[query, width] each."""
        return rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)

    def require(self, condition: bool, message: str) -> None:  # noqa: FBT001
        """Refuse arrays whose shapes do not fit together."""
        if not condition:
            shapes = ", ".join(f"{name} {'×'.join(map(str, array.shape))}" for name, array in self.arrays.items())
            raise CheckpointError(f"{self.name}: {message}; found {shapes}.")

    def require_shapes(self, **shapes: tuple[int, ...]) -> None:
        """Refuse arrays, given by name, that do not have the given shapes; an array that is None may be missing."""
        for name, shape in shapes.items():
            array = getattr(self, name)
            self.require(array is None or array.shape == shape, f"{name} must have the shape {shape}")

    @classmethod
    @cache
    def _hints(cls) -> dict[str, Any]:
        hints = get_type_hints(cls)
        return {field.name: hints[field.name] for field in dataclasses.fields(cls)}

    @classmethod
    def _how_to_give(cls, name: str) -> str:
        if name in cls.array_names():
            return f"the array {name!r}"
        hint = cls._hints()[name]
        values = [value for kind in (hint, *get_args(hint)) for value in get_args(kind)]
        choices = " or ".join(f"{name}={value}" for value in values if isinstance(value, str | int))
        return f"the option {name!r} ({choices})"

    @classmethod
    def _checked(cls, name: str, value: Any) -> Any:
        try:
            checked = TypeAdapter(cls._hints()[name]).validate_python(value)
        except ValidationError as error:
            expected = error.errors()[0]["msg"].removeprefix("Input should be ")
            raise UsageError(f"{cls.name}: {name}={value!r}: expected {expected}.") from error
        if isinstance(value, bool) and not isinstance(checked, bool):
            raise UsageError(f"{cls.name}: {name}={value!r}: a truth value is no number.")
        return checked


class VectorFamily(Family, VectorScorer):
    """A family whose score is a similarity of a query's vector and an entity's vector, the same for every relation.

    A subclass declares ``similarity`` and :meth:`query_vectors`; and :meth:`entity_vectors`, if the vectors of entities
    are not the stored rows.
    """

    concurrent = True

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        return rows(self.entity, ids)

    scores = VectorScorer.scores


class ProductFamily(VectorFamily):
    """A family whose score is a dot product of a query's vector and an entity's vector."""

    similarity: ClassVar[Similarity] = "dot"


BATCH_ENTITIES = 512
"""the number of entities whose vectors a thread makes at a time"""


class ScoredFamily(Family):
    """score(query, e) = compare(query's vector, e's vector) in float64; e's vector is the same for every relation.

    Every vector is made by elementwise operations in one fixed order, so that a score is a function of its pair alone.
    """

    batch_candidates: ClassVar[int] = 2**10
    """the number of candidates whose vectors are held at a time"""
    batch_queries: ClassVar[int] = 4
    """the number of queries that a thread compares at a time"""
    by_dimension: ClassVar[bool] = False
    """whether :meth:`compare` takes candidates as float64[dim, candidate], for compiled loops over candidates"""

    @abstractmethod
    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the vector of each query; float64[query, dim]."""

    def candidate_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the vectors of entities as answers on one side; float[id, dim]."""
        return self.entity[ids]

    @abstractmethod
    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Return the scores of vectors of queries, a row each, and vectors of candidates; float64[query, candidate].

        Candidates have a row each, or a column each with ``by_dimension``.
        """

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        vectors, width = self.query_vectors(queries), candidates.shape[-1]
        scores = np.empty((len(queries), width))
        for columns in slices(width, self.batch_candidates):
            shared = self._vectors64(queries.side, candidates[columns]) if candidates.ndim == 1 else None

            def compare(part: slice, columns: slice = columns, shared: Float64Array | None = shared) -> None:
                if shared is not None:
                    scores[part, columns] = self.compare(vectors[part], shared)
                    return
                for row in range(part.start, part.stop):
                    alone = self._vectors64(queries.side, candidates[row, columns])
                    scores[row, columns] = self.compare(vectors[row : row + 1], alone)[0]

            parallel_for(compare, len(vectors), self.batch_queries)
        return scores

    def _vectors64(self, side: Side, ids: IntArray) -> Float64Array:
        vectors = np.asarray(self.candidate_vectors(side, ids), np.float64)
        return np.ascontiguousarray(vectors.T) if self.by_dimension else vectors


class RelationalFamily(Family, PartitionedScorer):
    """score(query, e) = similarity(query's vector, e's vector under the relation) + bias of e + offset of the query.

    Every vector is made by elementwise operations in one fixed order, so that a score is a function of its pair alone.
    """

    @attribute
    @abstractmethod
    def similarity(self) -> Similarity: ...

    @abstractmethod
    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        """Return the vectors of entities as answers of one relation; float[id, dim]."""

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the vector of each query; float64[query, dim]. By default it is its anchor's vector as a candidate."""
        return self.of_anchors(queries, self.candidate_vectors)

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Return the number that is added to the scores of each entity; float64[id]."""
        return np.zeros(len(ids))

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the number that is added to a query's scores; float64[query]. By default it is its anchor's bias."""
        return self.of_anchors(queries, self.candidate_biases)

    def of_anchors(self, queries: Queries, make: Callable[[Side, int, IntArray], FloatArray]) -> Float64Array:
        """Make the vector or bias of each query's anchor: ``make`` takes the anchor's side, a relation and entities."""
        side: Side = "head" if queries.side == "tail" else "tail"
        return by_relation(queries.relations, lambda relation, part: make(side, relation, queries.anchors[part]))

    def is_shared(self, side: Side) -> bool:
        """Whether the candidates of a side have the same vectors under all relations."""
        return False

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        starts = starts_of_runs(queries.relations)[: 1 if self.is_shared(queries.side) else None]
        for start, stop in pairwise([*starts, len(queries)]):
            yield QueryPartition(slice(start, stop), RelationVectors(self, int(queries.relations[start])))

    scores = PartitionedScorer.scores


@dataclass(frozen=True, eq=False)
class RelationVectors(MadeOf[RelationalFamily], VectorScorer):
    """The vectors of a relational family under one relation; ``RelationalFamily.views`` makes them."""

    relation: int

    @property
    def similarity(self) -> Similarity:
        similarity: Similarity = self.scorer.similarity
        return similarity

    def query_vectors(self, queries: Queries) -> Float64Array:
        return self.scorer.query_vectors(queries)

    def query_offsets(self, queries: Queries) -> Float64Array:
        return self.scorer.query_offsets(queries)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        first = self.scorer.candidate_vectors(side, self.relation, ids[:1])  # all vectors have its width and type
        vectors = np.empty((len(ids), first.shape[1]), first.dtype)

        def make(part: slice) -> None:
            vectors[part] = self.scorer.candidate_vectors(side, self.relation, ids[part])

        parallel_for(make, len(ids), BATCH_ENTITIES)
        return vectors

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        return self.scorer.candidate_biases(side, self.relation, ids)


class TailNetwork(RelationalFamily):
    """score(h, r, t) = network(h, r) · t, perhaps with a bias of the tail.

    Tails are plain vectors; each head makes its own vector with the relation.
    """

    similarity: ClassVar[Similarity] = "dot"

    @abstractmethod
    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Return the vector of each pair of head and relation, a function of that pair alone; float64[pair, width]."""

    def is_shared(self, side: Side) -> bool:
        return side == "tail"

    def query_vectors(self, queries: Queries) -> Float64Array:
        if queries.side == "head":
            return rows64(self.entity, queries.anchors)
        return self.network(queries.anchors, queries.relations)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        return self.entity[ids] if side == "tail" else self.network(ids, np.full(len(ids), relation))


@dataclass(frozen=True, eq=False)
class NormDistance:
    """The option ``norm`` of a family whose score is a negative distance, and the similarity that it means."""

    norm: Literal[1, 2]
    """the p of the norm"""

    @property
    def similarity(self) -> Similarity:
        return "l1" if self.norm == 1 else "l2"


@dataclass(frozen=True, eq=False)
class ProjectedTranslation(NormDistance, RelationalFamily):
    """score(h, r, t) = −‖P_r(h) + r − P_r(t)‖_p, with the projection P_r that a family defines."""

    normalization: Literal["none", "unit", "max_norm"]
    """how projected entities are scaled: not at all, to length 1, or to norm 1 (of that p) if their norm is above 1"""

    @abstractmethod
    def project(self, ids: IntArray, relation: int) -> Float64Array:
        """Project entities as one relation does; float64[id, relation width]."""

    def query_vectors(self, queries: Queries) -> Float64Array:
        return moved(super().query_vectors(queries), rows64(self.relation, queries.relations), queries.side)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        projected = self.project(ids, relation)
        if self.normalization == "none":
            return projected
        return normalized(projected) if self.normalization == "unit" else normalized(projected, self.norm, least=1.0)


@cache
def families() -> dict[str, type[Family]]:
    """All model families, by name; those of other packages too."""
    local = subclasses("kgeval.models.families", Family)  # type: ignore[type-abstract]
    kinds = [*local, *load_entry_points("kgeval.families", Family, classes=True)]
    return by_name("model families", sorted(kinds, key=lambda family: family.name.lower()))


def family(name: str) -> type[Family]:
    """Find a model family by name, in any capitalisation.

    >>> family("complex").name
    'ComplEx'
    """
    lower = {known.lower(): member for known, member in families().items()}
    if name.lower() not in lower:
        raise UsageError(f"unknown model {name!r}. {did_you_mean(name, families(), listed='models')}")
    return lower[name.lower()]


def rows64(array: FloatArray, ids: IntArray | int) -> Float64Array:
    """Take rows (or one row) of a stored array into float64, in which every stored value is exact."""
    return np.asarray(array[ids], np.float64)


def rows(array: FloatArray, ids: IntArray) -> FloatArray:
    """Take rows of a stored array; if it is mapped from a file, only the rows taken stay in memory."""
    if len(ids) and _mapped(array) is None and (ids == np.arange(ids[0], ids[0] + len(ids))).all():
        return array[ids[0] : ids[0] + len(ids)]
    taken = np.asarray(array[ids])
    release(array)
    return taken


def release(array: FloatArray) -> None:
    """Free the memory of an array that is mapped from a file; its numbers are read again when they are used."""
    if (mapping := _mapped(array)) is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def _mapped(array: FloatArray) -> mmap.mmap | None:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) else None


def by_relation(relations: IntArray, make: Callable[[int, BoolArray], FloatArray]) -> Float64Array:
    """Make a vector or a number for each row, relation by relation; float64[row, width] or float64[row].

    ``relations`` is int64[row]; ``make`` takes a relation and its rows, bool[row], of which there may be none.
    """
    parts = {int(relation): relations == relation for relation in (np.unique(relations) if len(relations) else (0,))}
    made = [make(relation, part) for relation, part in parts.items()]
    vectors = np.empty((len(relations), *made[0].shape[1:]))
    for part, of_part in zip(parts.values(), made, strict=True):
        vectors[part] = of_part
    return vectors


def moved(anchors: Float64Array, relations: Float64Array, side: Side) -> Float64Array:
    """Move anchors by their relations: h + r of a tail query, t − r of a head query; float64[query, width]."""
    return anchors + relations if side == "tail" else anchors - relations


def rectified(vectors: Float64Array, weight: FloatArray, bias: FloatArray) -> Float64Array:
    """Pass rows through a layer of a network: relu(x W + b), a function of each row alone."""
    return np.maximum(matmul_ordered(vectors, np.asarray(weight, np.float64)) + np.asarray(bias, np.float64), 0)


def _is_array(hint: Any) -> bool:
    origin = get_origin(hint) or hint
    if origin in (Union, UnionType):
        return any(map(_is_array, get_args(hint)))
    # From numpy 2.5 on, ``NDArray[...]`` is an alias, and its origin says by ``__value__`` what it stands for.
    return origin is np.ndarray or get_origin(getattr(origin, "__value__", None)) is np.ndarray
