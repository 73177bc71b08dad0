"""The settings of an evaluation: which triples are ranked, among which candidates, and how the work is done.

``kgeval.evaluate`` takes them as keywords, a configuration as its block ``evaluation``, the command line as options. To
add a setting, add a field to ``Evaluation``, and a keyword to the ``TypedDict`` of the functions that take it:
``WorkKeywords``, ``RankingKeywords`` or ``EvaluationKeywords``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypedDict, TypeVar

from pydantic import AfterValidator, BeforeValidator, ByteSize, Field, ValidationInfo, field_validator

from kgeval.base.errors import InputError
from kgeval.base.setting_problems import short_repr
from kgeval.base.settings import Settings, is_file, listed, writable
from kgeval.data import EntitySide, History, KnownTimes, Side
from kgeval.data.split_names import Filter, SplitOrFile, files_in
from kgeval.metrics.intervals.estimate import Estimate
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.corruption.generator import Corruption

if TYPE_CHECKING:
    from kgeval.data.dataset import Dataset
    from kgeval.ranking.rules import Rules

MOST_MEMORY = 2**60
"""bytes; a larger memory limit is cut to this number, since numpy's integers could not hold it"""

LEAST_MEMORY = 4096
"""bytes; a smaller memory limit is refused, since even one query needs more"""

DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?|torch:cpu")
"""the names of devices; ``torch:cpu`` runs the code for GPUs on torch's CPU device: slower than ``cpu``, for tests"""

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


def _label_list(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, list | tuple) and value and all(isinstance(label, str) for label in value):
        return tuple(value)
    raise ValueError(f"expected a file, a label or a list of labels, found {short_repr(value)}")


Labels = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]

LabelList = Annotated[str | Labels, BeforeValidator(_label_list, json_schema_input_type=str | Labels)]
"""a file with a label in each line, a label, or the labels"""


def check_device(name: str) -> str:
    """Refuse a text that is no name of a device. Whether the device exists is not checked.

    >>> check_device("cuda:0")
    'cuda:0'
    >>> check_device("gpu")
    Traceback (most recent call last):
    ValueError: unknown device 'gpu'. Choose auto, cpu, cuda, or one GPU by number, such as cuda:1
    """
    if not DEVICE.fullmatch(name):
        raise ValueError(f"unknown device {name!r}. Choose auto, cpu, cuda, or one GPU by number, such as cuda:1")
    return name


Device = Annotated[str, AfterValidator(check_device)]


def _enough_memory(limit: int) -> int:
    if limit < LEAST_MEMORY:
        raise ValueError(
            f"{limit} bytes are too few: ranking needs at least {LEAST_MEMORY} bytes. Add a unit, such as 2GB"
        )
    return min(limit, MOST_MEMORY)


class WorkKeywords(TypedDict, total=False):
    """The keywords of every function that scores all queries of a split."""

    sides: Side | Sequence[Side] | None
    filter: str | Sequence[str] | None
    unseen: UnseenPolicy
    nan: NaNPolicy
    batch_size: int | None
    memory_limit: int | str | None
    threads: int | None
    kernel: KernelName


class RankingKeywords(WorkKeywords, total=False):
    """The keywords of every function that predicts answers, or ranks all triples of a split."""

    split: str | Sequence[str]
    device: str
    times: KnownTimes
    history: History | None
    corruption: Corruption | None
    restrict_entities_to: str | Sequence[str] | None
    restrict_relations_to: str | Sequence[str] | None


class EvaluationKeywords(RankingKeywords, total=False):
    """The keywords of ``kgeval.evaluate``, which can also rank a sample."""

    estimate: Estimate | float | None


class Keep(Settings):
    """Further results that a run keeps."""

    predictions: Annotated[int, Field(ge=1)] | None = None
    """how many of the best answers of each query are kept, in ``predictions.parquet``"""


class Evaluation(Settings):
    """How a model is evaluated. If the filter or the corruption is not given, the protocol decides it."""

    display_name = "arguments of the evaluation"
    decided_later: ClassVar[Mapping[str, str]] = {
        "sides": "head and tail",
        "filter": "train, valid and test, unless the protocol differs",
        "corruption": "all, unless the protocol differs",
    }

    split: SplitOrFile = "test"
    """the triples to rank: a split, several splits (``valid,test``), or a file of triples in the dataset's labels.
    Triples of a file also filter each other, unless the filter is empty"""
    sides: Sides = ("head", "tail")
    """what is predicted for each triple: head, tail, relation. By default head and tail, or the sides that the model
    can predict; a relation is ranked among all relations"""
    filter: Filter = ("train", "valid", "test")
    """the splits, and files of triples, whose known answers are filtered out (none: raw ranks). By default the
    protocol decides: all splits, except that PyKEEN and LibKGE leave test out while they validate. An empty filter
    gives raw ranks; the raw counts are always kept too"""
    times: KnownTimes = "time-aware"
    """for a temporal graph, the facts that are filtered: time-aware (facts of the query's time) or static (facts of all
    times)"""
    history: History | None = None
    """for a temporal graph, the facts before the time of a query that a model has in view: train, train+valid (those of
    train and valid: forecasts in several steps) or observed (those of any split: in single steps). Baselines look them
    up; of any other model it says what the model did. It does not change the filter. By default it is not said"""
    corruption: Corruption = AllEntities()
    """the entities that are the candidates. By default the protocol decides: all entities, or the fixed negatives of
    OGB or TGB"""
    restrict_entities_to: LabelList | None = None
    """the entities to restrict candidates and test triples to: a file with one label per line, or a label. In
    Python and configurations also a list of labels"""
    restrict_relations_to: LabelList | None = None
    """the relations to restrict test triples to: a file with one label per line, or a label. The filter still
    has all relations"""
    unseen: UnseenPolicy = "error"
    """what to do with triples that have an entity or relation that the model does not know: error, drop (leave out) or
    worst (rank last)"""
    nan: NaNPolicy = "error"
    """what to do with scores that are not a number (NaN): error, or worst (minus infinity)"""
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """the number of queries that are scored at a time. It does not change the ranks of embedding models"""
    memory_limit: Annotated[ByteSize, AfterValidator(_enough_memory)] | None = None
    """the most memory for ranking, beside model and dataset, such as 2GB. It does not change ranks. By default a
    quarter of the free memory"""
    threads: Annotated[int, Field(ge=1, le=2**16)] | None = None
    """the number of CPU threads. It does not change ranks. By default all cores"""
    kernel: Annotated[KernelName, BeforeValidator(lambda name: "auto" if name == "int8" else name)] = "auto"
    """the implementation of ranking. All give the same ranks"""
    device: Device = "auto"
    """the device that ranks: auto, cpu, cuda, or one of several GPUs (cuda:1). It does not change ranks. auto takes a
    GPU if torch sees one and there is enough work for it"""
    keep: Keep | None = None
    """further results that a run keeps; by default none"""
    estimate: Estimate | None = None
    """rank only a random sample of the triples, at least 1,000, until a metric is known to within this error, such as
    0.005. By default all triples are ranked"""

    @field_validator("filter", mode="before")
    @classmethod
    def _no_split(cls, value: Any) -> Any:
        if value in ("none", ["none"]) and not is_file("none"):
            raise ValueError("'none' is a word of the command line. For raw ranks, write []")
        return value

    @field_validator("times", mode="before")
    @classmethod
    def _is_a_word(cls, value: Any) -> Any:
        if value is not None and not isinstance(value, str):
            raise ValueError("expected 'time-aware' or 'static'. For labels of a model's own times, use time_labels")
        return value

    @field_validator("estimate")
    @classmethod
    def _fits_predictions(cls, value: Estimate | None, block: ValidationInfo) -> Estimate | None:
        if value is not None and block.data.get("keep") is not None:
            raise ValueError(
                "kept predictions need all queries, and an estimate ranks only some. Leave out keep or estimate"
            )
        return value

    @field_validator("keep", "estimate")
    @classmethod
    def _is_of_entities(cls, value: Keep | Estimate | None, block: ValidationInfo) -> Keep | Estimate | None:
        if value not in (None, Keep()) and "relation" in block.data.get("sides", ()):
            it = block.field_name
            raise ValueError(f"{it} is for heads and tails only. Leave relation out of the sides, or leave out {it}")
        return value

    @property
    def files(self) -> list[Path]:
        """The files of triples and labels that the settings name."""
        lists = (self.restrict_entities_to, self.restrict_relations_to)
        return [
            *files_in([self.split, *self.filter]),
            *(Path(it) for it in lists if isinstance(it, str) and is_file(it)),
        ]

    def require_entities(self, what: str) -> None:
        """Refuse the side relation where only entities can be predicted."""
        if "relation" in self.sides:
            raise InputError(f"sides: {what} are not made for relations. Leave relation out of the sides.")

    def require_splits(self, dataset: Dataset) -> None:
        """Refuse a corruption that chooses candidates by the triples of splits that the dataset does not have."""
        splits = self.corruption.learns_from
        if splits and not any(split in dataset.splits for split in splits):
            raise InputError(
                f"the corruption {self.corruption.kind!r} chooses candidates by {' and '.join(splits)} triples, and "
                f"dataset {dataset.name} has none."
            )

    def require_times(self, dataset: Dataset, rules: Rules | None = None) -> None:
        """Refuse settings and rules on times for triples without times; and static times for rules of two filters."""
        static, both = self.times == "static", rules is not None and rules.second == "static"
        given = {"times": static, "history": self.history is not None, "protocol": both}
        if dataset.times is None and (name := next((name for name, is_given in given.items() if is_given), None)):
            raise InputError(f"{name} (--{name}): the triples of dataset {dataset.name} have no times. Leave it out.")
        if rules is not None and both and static:
            fault = f"the protocol {rules.name} has time-aware ranks and static ones"
            raise InputError(f"times (--times): {fault}. Leave times out, or use the protocol standard.")

    def require_relations(self, rules: Rules) -> None:
        """Refuse to predict relations by rules or a corruption for entities only."""
        if "relation" not in self.sides:
            return
        if not rules.predicts_relations:
            fact = f"the protocol {rules.name} ranks heads and tails only"
            raise InputError(f"sides: {fact}. Leave relation out, or use the protocol standard.")
        if not self.corruption.answers_relations:
            fact = f"the corruption {self.corruption.kind!r} chooses entities, not relations"
            end = "Leave relation out; or leave the corruption out, and all relations compete."
            raise InputError(f"sides: {fact}. {end}")

    def for_model(self, model: Any) -> Evaluation:
        """Predict the sides that a model can predict, unless the sides are given."""
        from kgeval.models.scorer import sides_of

        return self if "sides" in self.model_fields_set else self.model_copy(update={"sides": sides_of(model)})
