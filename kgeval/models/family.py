"""Model families: a formula over stored arrays. Each file in ``families`` declares one."""

from __future__ import annotations

import dataclasses
import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError

from kgeval.base.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.base.errors import CheckpointError, UsageError, did_you_mean
from kgeval.base.registries import brought, by_name, subclasses
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.scorer import VectorScorer
from kgeval.models.similarity import Similarity

Self = TypeVar("Self", bound="Family")


@dataclasses.dataclass(frozen=True, eq=False)
class Family(ABC):
    """A model family: a formula that makes scores of stored arrays and options.

    To add one, declare a frozen dataclass below :class:`VectorFamily`, whose score is a similarity of two vectors;
    below :class:`kgeval.models.family_bases.RelationalFamily`, if the vectors of the candidates depend on the
    relation; or below :class:`kgeval.models.family_bases.ScoredFamily`, if no similarity gives the score. It declares

    * ``formula``, as ``kgeval list models`` shows it, ``name``, if it is not the class's own, and ``equal_widths``;
    * its arrays besides ``entity`` and ``relation``, as fields of type ``FloatArray``, and the options of its formula,
      as fields of any other type;
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
    ...     def query_vectors(self, queries):
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
    """what checkpoints and ``kgeval list models`` call it"""
    formula: ClassVar[str]
    """the score, in one line"""
    equal_widths: ClassVar[bool] = False
    """whether ``entity`` and ``relation`` must have the same width"""

    entity: FloatArray
    """float[entity, entity width]"""
    relation: FloatArray
    """float[relation, relation width]"""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = vars(cls).get("name", cls.__name__)

    def __post_init__(self) -> None:
        """Refuse arrays that are no tables of numbers, or of other widths than they must have."""
        for name, array in self.arrays.items():
            if not isinstance(array, np.ndarray) or array.dtype not in (np.float16, np.float32, np.float64):
                kind = getattr(array, "dtype", type(array).__name__)
                raise CheckpointError(
                    f"{self.name}: the array {name!r} is {kind}; expected float16, float32 or float64"
                    " (complex vectors as halves [re | im])."
                )
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
        """How many times it knows; None where a fact scores alike at all times."""
        return None

    @abstractmethod
    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Return the scores of candidates (int64[candidate] or int64[query, candidate]), each of its pair alone."""

    def refuse_heads(self) -> None:  # noqa: B027 - most families have nothing to refuse
        """Refuse parameters that answer head queries by another formula than tail queries; most families have none.

        Raises
        ------
        CheckpointError
            with the parameters that make heads and tails disagree
        """

    @classmethod
    def build(cls: type[Self], arrays: Mapping[str, FloatArray], options: Mapping[str, Any]) -> Self:
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
        """Refuse arrays of other shapes than these, by their names."""
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

    It declares ``similarity``, :meth:`query_vectors`, and :meth:`entity_vectors` where those are not the stored rows.
    """

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        return rows(self.entity, ids)

    scores = VectorScorer.scores


class ProductFamily(VectorFamily):
    """A family whose score is a dot product of a query's vector and an entity's vector."""

    similarity: ClassVar[Similarity] = "dot"


def _is_array(hint: Any) -> bool:
    origin = get_origin(hint) or hint
    if origin in (Union, UnionType):
        return any(map(_is_array, get_args(hint)))
    # From numpy 2.5 on, ``NDArray[...]`` is an alias, and its origin says by ``__value__`` what it stands for.
    return origin is np.ndarray or get_origin(getattr(origin, "__value__", None)) is np.ndarray


@cache
def families() -> dict[str, type[Family]]:
    """All model families, by name; those of other packages too."""
    own = subclasses("kgeval.models.families", Family)  # type: ignore[type-abstract]
    found = [*own, *brought("kgeval.families", Family, classes=True)]
    return by_name("model families", sorted(found, key=lambda family: family.name.lower()))


def family(name: str) -> type[Family]:
    """Find a model family by name, in any capitalisation.

    >>> family("complex").name
    'ComplEx'
    """
    found = {known.lower(): member for known, member in families().items()}
    if name.lower() not in found:
        raise UsageError(f"unknown model {name!r}. {did_you_mean(name, families(), listed='models')}")
    return found[name.lower()]


def rows(array: FloatArray, ids: IntArray) -> FloatArray:
    """Take rows of a stored array; of one that is mapped from a file, nothing else stays in memory."""
    taken = np.asarray(array[ids])
    release(array)
    return taken


def release(array: FloatArray) -> None:
    """Let go of the memory that an array mapped from a file has taken; it is read again when it is used."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


def rows64(array: FloatArray, ids: IntArray | int) -> Float64Array:
    """Take rows (or one row) of a stored array into float64, in which every stored value is exact."""
    return np.asarray(array[ids], np.float64)


def by_relation(relations: IntArray, width: int, vectors_of: Callable[[int, BoolArray], Float64Array]) -> Float64Array:
    """Make a vector for each row, relation by relation; float64[row, width].

    ``relations`` is int64[row]; ``vectors_of`` makes the vectors of a relation and its rows, bool[row].
    """
    vectors = np.empty((len(relations), width))
    for relation in np.unique(relations):
        part = relations == relation
        vectors[part] = vectors_of(int(relation), part)
    return vectors
