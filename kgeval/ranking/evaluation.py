"""The settings of an evaluation: which triples are ranked, among which candidates, and how the work is done."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypedDict, TypeVar

from pydantic import AfterValidator, BeforeValidator, ByteSize, Field, ValidationInfo, field_validator

from kgeval.corruption import AllEntities
from kgeval.corruption.generator import Corruption
from kgeval.data import EntitySide, KnownTimes, Side
from kgeval.data.split_names import Filter, SplitOrFile, files_in
from kgeval.errors import InputError
from kgeval.metrics.intervals.estimate import Estimate
from kgeval.settings.settings import ExistingFile, Settings, listed

MOST_MEMORY = 2**60
"""bytes that no machine has: more is no other limit, and would not fit into the integers of numpy"""

LEAST_MEMORY = 4096
"""bytes below which a limit is a mistake: even a block of one query takes more"""

DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?|torch:cpu")
"""``torch:cpu`` takes the way of the GPU on torch's CPU device: slower than ``cpu``, for tests and for comparison"""

UnseenPolicy = Literal["error", "drop", "worst"]
NaNPolicy = Literal["error", "worst"]
KernelName = Literal["auto", "bfloat16", "float32", "compiled", "reference"]

SomeSide = TypeVar("SomeSide", bound=Side)


def _distinct_sides(sides: tuple[SomeSide, ...]) -> tuple[SomeSide, ...]:
    if len(set(sides)) < len(sides):
        raise ValueError(f"a side is repeated in {list(sides)}. Name each side once")
    return sides


Sides = Annotated[
    tuple[Side, ...],
    BeforeValidator(listed, json_schema_input_type=Side | tuple[Side, ...]),
    Field(strict=False, min_length=1),
    AfterValidator(_distinct_sides),
]
EntitySides = Annotated[
    tuple[EntitySide, ...],
    BeforeValidator(listed, json_schema_input_type=EntitySide | tuple[EntitySide, ...]),
    Field(strict=False, min_length=1),
    AfterValidator(_distinct_sides),
]


LabelList = ExistingFile | Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
"""a file with a label in each line, or the labels"""


def check_device(name: str) -> str:
    """Refuse what is no name of a device, without looking whether it is there.

    >>> check_device("cuda:0")
    'cuda:0'
    >>> check_device("gpu")
    Traceback (most recent call last):
    ValueError: 'gpu' is no device. Choose auto, cpu, cuda, or one GPU by its number, as in cuda:1
    """
    if not DEVICE.fullmatch(name):
        raise ValueError(f"{name!r} is no device. Choose auto, cpu, cuda, or one GPU by its number, as in cuda:1")
    return name


Device = Annotated[str, AfterValidator(check_device)]


def _enough_memory(limit: int) -> int:
    if limit < LEAST_MEMORY:
        raise ValueError(
            f"{limit} bytes hold no block of work; it takes at least {LEAST_MEMORY}. Add a unit, as in 2GB"
        )
    return min(limit, MOST_MEMORY)


class WorkKeywords(TypedDict, total=False):
    """The settings of everything that scores all queries of a split, as keywords in Python."""

    sides: Side | Sequence[Side] | None
    filter: str | Sequence[str] | None
    unseen: UnseenPolicy
    nan: NaNPolicy
    batch_size: int | None
    memory_limit: int | str | None
    threads: int | None
    kernel: KernelName


class QueryKeywords(WorkKeywords, total=False):
    """The settings of every evaluation and prediction, likewise."""

    split: str | Sequence[str]
    device: str


class RankingKeywords(QueryKeywords, total=False):
    """The settings of a ranking of all triples, likewise."""

    times: KnownTimes
    corruption: Corruption | None
    restrict_entities_to: str | Sequence[str] | None
    restrict_relations_to: str | Sequence[str] | None


class EvaluationKeywords(RankingKeywords, total=False):
    """The settings of an evaluation, likewise."""

    estimate: Estimate | None


class Keep(Settings):
    """What a run keeps beside the ranks."""

    predictions: Annotated[int, Field(ge=1)] | None = None
    """how many of the best answers of each query, among all entities: ``predictions.parquet``"""


class Evaluation(Settings):
    """How a model is evaluated. The protocol decides the filter and the corruption where they are not given."""

    display_name = "arguments of the evaluation"
    decided_later: ClassVar[Mapping[str, str]] = {
        "sides": "head and tail",
        "filter": "train, valid and test, unless a protocol says otherwise",
        "corruption": "all, unless a protocol says otherwise",
    }

    split: SplitOrFile = "test"
    """the triples that are ranked: a split, several (``valid,test``), or a file of triples in the dataset's labels.
    Triples of a file filter each other too, unless nothing filters"""
    sides: Sides = ("head", "tail")
    """what is predicted of each triple: head, tail, relation. By default head and tail, or those that the model
    answers; relations are ranked among all relations"""
    filter: Filter = ("train", "valid", "test")
    """the splits, and files of triples, that are filtered from the candidates (none: the raw setting). By default as
    the protocol says of the evaluated split: all, but for PyKEEN and LibKGE, which do not know test while they
    validate. An empty filter is the raw setting; raw counts are kept in any case"""
    times: KnownTimes = "same"
    """for a temporal graph, which facts are filtered: same, those of the query's time (time-aware), or all (static)"""
    corruption: Corruption = AllEntities()
    """which entities are the candidates. By default as the protocol says: all, or the fixed negatives of OGB"""
    restrict_entities_to: LabelList | None = None
    """the entities that compete, and of which alone triples are ranked: a file with a label in each line;
    in Python and configurations also a list of labels"""
    restrict_relations_to: LabelList | None = None
    """the relations of which triples are ranked, likewise; the filter keeps all others"""
    unseen: UnseenPolicy = "error"
    """triples with an entity or relation that the model does not know: error, drop (leave out) or worst (rank last)"""
    nan: NaNPolicy = "error"
    """scores that are not a number: error, or worst (minus infinity)"""
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """how many queries are scored at a time; it changes no rank of a model of vectors"""
    memory_limit: Annotated[ByteSize, AfterValidator(_enough_memory)] | None = None
    """the most memory that blocks of work take beside model and dataset, such as 2GB; it changes no rank. By default a
    quarter of the free memory"""
    threads: Annotated[int, Field(ge=1, le=2**16)] | None = None
    """the number of CPU threads; it changes no rank. By default all cores"""
    kernel: Annotated[KernelName, BeforeValidator(lambda name: "auto" if name == "int8" else name)] = "auto"
    """the implementation of the loops; all give the same integers"""
    device: Device = "auto"
    """where vectors are compared: auto, cpu, cuda, or one of several GPUs (cuda:1); the ranks are the same. auto is
    a GPU where torch sees one and there is enough to do"""
    keep: Keep | None = None
    """what a run keeps beside the ranks; by default nothing"""
    estimate: Estimate | None = None
    """rank, exactly, only a sample of the triples, until a metric is known to within an error; by default all are
    ranked"""

    @field_validator("times", mode="before")
    @classmethod
    def _is_a_word(cls, value: Any) -> Any:
        if value is not None and not isinstance(value, str):
            raise ValueError(
                "these are the known facts, 'same' or 'all'. The labels of a model's own times are given as time_labels"
            )
        return {"time-aware": "same", "static": "all"}.get(value or "", value)  # the filters' names in papers

    @field_validator("estimate")
    @classmethod
    def _fits_sides_and_predictions(cls, value: Estimate | None, block: ValidationInfo) -> Estimate | None:
        if value is not None and block.data.get("keep") is not None:
            raise ValueError("predictions are kept of all queries, which an estimate spares. Leave one of them out")
        if value is not None and "relation" in block.data.get("sides", ()):
            raise ValueError("a sample is of heads and tails. Leave relation out of the sides, or rank all triples")
        return value

    @field_validator("keep")
    @classmethod
    def _keeps_entities(cls, value: Keep | None, block: ValidationInfo) -> Keep | None:
        if value is not None and value.predictions and "relation" in block.data.get("sides", ()):
            raise ValueError("predictions are kept of heads and tails. Leave relation out of the sides, or keep none")
        return value

    @property
    def files(self) -> list[Path]:
        """The files of triples and of labels that it names."""
        lists = (self.restrict_entities_to, self.restrict_relations_to)
        return [*files_in([self.split, *self.filter]), *(Path(it) for it in lists if isinstance(it, str))]

    def require_entities(self, what: str) -> None:
        """Refuse the side relation where only entities can be predicted."""
        if "relation" in self.sides:
            raise InputError(f"sides: there are no {what} of relations yet. Leave relation out of the sides.")

    def for_model(self, model: Any) -> Evaluation:
        """Predict the sides that a model answers, unless the sides are said."""
        from kgeval.scorers.scorer import sides_of

        return self if "sides" in self.model_fields_set else self.model_copy(update={"sides": sides_of(model)})
