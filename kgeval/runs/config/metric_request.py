"""What to compute from the scores of a model: metrics, policies (such as the tie policy), intervals and groups.

``MetricRequest`` has these keys of a configuration; the command line makes options of them, and a stored run keeps
them. Above it are the types of its fields, with the checks of their values, which import what they check with only when
they are called: the help of a command comes without numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError
from typing_extensions import Self

from kgeval.base.errors import refuse_unknown
from kgeval.base.setting_problems import short_repr
from kgeval.base.settings import Settings, as_validation_error
from kgeval.metrics.intervals.interval import Intervals, refuse_other_units
from kgeval.metrics.kinds import KINDS, Chance, ConfidenceOptions, LabelOptions


def _scalar(value: Any) -> Any:
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"expected a number, text, true or false, found {short_repr(value)}")  # noqa: TRY004
    return value


Scalar = Annotated[bool | int | float | str, BeforeValidator(_scalar)]


def _known_metric(name: str, block: ValidationInfo) -> str:
    """Refuse an unknown metric: of the task of the block, or without a task, of ranks."""
    if "task" not in block.data:  # the task is malformed, which is reported already
        return name
    from kgeval.metrics.names import parse

    task = block.data["task"]
    with as_validation_error():
        parse(name, "ranks" if task is None else task.kind)
    return name


def _split_at_commas(value: Any) -> Any:
    return names_in(value) if isinstance(value, str) else value


WITH_COMMAS = BeforeValidator(_split_at_commas, json_schema_input_type=str | tuple[str, ...])

Metrics = Annotated[tuple[Annotated[str, AfterValidator(_known_metric)], ...], WITH_COMMAS, Field(strict=False)]


def _column_or_slice(name: str, block: ValidationInfo) -> str:
    """Refuse a name that is no slice and no column of the tables of the block's task."""
    from kgeval.analysis.slices.slice import slice_of, slices
    from kgeval.ranking.rank_table import SCHEMA, TIME

    task = block.data.get("task")
    if task is not None and name != "relation":
        raise ValueError(f"results of a {task.kind} task can only be grouped by relation, found {short_repr(name)}")
    if "groups" not in block.data:  # they are malformed, which is reported already
        return name
    groups = block.data["groups"] or {}
    with as_validation_error():
        if slice_of(name, groups) is None:
            known = [*SCHEMA.names, TIME, *slices(), *groups]
            refuse_unknown("no slice and no column", name, known, listed="slices")
    return name


ColumnsAndSlices = Annotated[
    tuple[Annotated[str, AfterValidator(_column_or_slice)], ...], WITH_COMMAS, Field(strict=False)
]


def _groups(value: Any) -> Any:
    """Refuse groups that are malformed or have the name of a slice."""
    from kgeval.analysis.slices.named_groups import groupings
    from kgeval.analysis.slices.slice import Slice, slices

    if not isinstance(value, dict) or not value:
        raise ValueError(f"expected groups by their names, found {short_repr(value)}")
    with as_validation_error():
        for name, grouping in groupings(value).items():
            Slice.of_groups(name, grouping)
            if name in slices():
                raise ValueError(f"a slice has the name {name!r} already. Choose another name")
    return value


Members = dict[str, list[str] | str | None]

Groups = Annotated[
    dict[str, Any], BeforeValidator(_groups, json_schema_input_type=dict[str, Members | list[str] | str | None])
]


def _tie_names() -> list[str]:
    from kgeval.metrics.ranks.ties import tie_policies

    return list(tie_policies())


def _tie_name(value: Any) -> Any:
    names = _tie_names()
    if not isinstance(value, str) or value not in names:
        raise PydanticKnownError("literal_error", {"expected": ", ".join(map(repr, names))})
    return value


TieName = Annotated[
    str,
    BeforeValidator(_tie_name, json_schema_input_type=str),
    Field(json_schema_extra=lambda schema: schema.update(enum=_tie_names())),
]
"""the name of a tie policy; an installed package may add policies"""


def _exponents(value: Any) -> tuple[float, float]:
    from kgeval.metrics.selection import checked_exponents

    with as_validation_error():
        return checked_exponents(value)


Exponents = Annotated[tuple[float, float], BeforeValidator(_exponents, json_schema_input_type=tuple[float, float])]
"""the exponents βe and βr of ``popularity``"""

POLICIES = ("ties", "seed", "chance", "popularity")


class MetricRequest(Settings):
    """What to compute from a model's scores. A run stores it, and ``kgeval summarize`` takes it as defaults."""

    display_name = "settings of the metrics"
    decided_later: ClassVar[Mapping[str, str]] = {"ties": "that of the protocol"}

    task: LabelOptions | ConfidenceOptions | None = None
    """the task, if it is not a ranking"""
    metrics: Metrics = ()
    """the metrics, such as ``mrr``, ``hits@10`` or ``tail.mrr``; ``kgeval list metrics`` shows all. A name is
    ``[side.][ties.][average.]name[@k]``, for a task ``[relation.]name[@k]``. By default those of the protocol or
    task"""
    ties: TieName | None = None
    """the tie policy: optimistic, realistic, rounded, rounded-down, pessimistic, expected, random. By default that of
    the protocol"""
    seed: int = 0
    """the seed of random ties"""
    chance: Chance = "exact"
    """the random ranking for adjusted metrics, such as amri: exact (among all N candidates) or without-answer (among
    the N − 1 others)"""
    popularity: Exponents = (1.0, 1.0)
    """the exponents of the weights of stratified metrics (strat.): for the frequency of the answer (E) and of the
    relation (R)"""
    intervals: Intervals | None = None
    """confidence intervals of every metric: the unit that is resampled (triple, query, relation, time), or a block with
    the unit and the level. By default there are none"""
    groups: Groups | None = None
    """own groups of rows: relations by name (null for all other relations), ``{by: PATTERN}`` for relations by pattern,
    ``{types: FILE}`` for answers by type; or several of these by name"""
    by: ColumnsAndSlices | None = None
    """the columns or slices to group results by, such as ``relation``, ``cardinality`` or a .yaml file of named groups;
    ``kgeval list slices`` shows all. With several, every combination is a group"""

    @model_validator(mode="before")
    @classmethod
    def _by_groups(cls, content: Any) -> Any:
        with as_validation_error():
            return with_groups(content) if isinstance(content, dict) else content

    @field_validator(*POLICIES, "intervals")
    @classmethod
    def _fits_the_task(cls, value: Any, block: ValidationInfo) -> Any:
        task = block.data.get("task")
        if value is not None and task is not None and (why := KINDS[task.kind].without.get(str(block.field_name))):
            raise ValueError(f"{why}. Leave it out")
        if isinstance(value, Intervals) and task is not None:
            with as_validation_error():
                refuse_other_units(value.unit)
        return value

    @property
    def policies(self) -> dict[str, Any]:
        """The policies and intervals, as ``summarize`` takes them."""
        optional = {"ties": self.ties, "intervals": self.intervals}
        chosen = {name: value for name, value in optional.items() if value is not None}
        return {**chosen, "seed": self.seed, "chance": self.chance, "popularity": self.popularity}

    def with_overrides(self, options: Mapping[str, Any]) -> Self:
        """Options replace policies and keys of ``intervals``."""
        changes = {name: options[name] for name in POLICIES if name in options}
        if block := options.get("intervals"):
            settings = {} if self.intervals is None else self.intervals.model_dump()
            changes["intervals"] = Intervals(**{**settings, **block})
        return self.model_copy(update=changes)


def with_groups(content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the files of groups that ``by`` names; without ``by``, the rows are grouped by ``groups``."""
    from kgeval.analysis.slices.named_groups import groupings
    from kgeval.runs.config.yaml_document import read_document

    by, groups = content.get("by"), content.get("groups")
    known = groupings(groups) if isinstance(groups, dict) else {}
    names = [*known] if by is None else names_in(by) if isinstance(by, str) else by
    if not names or not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return dict(content)
    chosen: list[str] = []
    for name in names:
        path = Path(name)
        read = groupings(read_document(path).content, alone=path.stem) if path.suffix in (".yaml", ".yml") else None
        known, groups = (known, groups) if read is None else (known | read, known | read)
        chosen += [name] if read is None else read
    return {**content, "by": chosen} | ({} if groups is None else {"groups": groups})


def names_in(text: str) -> tuple[str, ...]:
    """Split names at commas. A slice by pattern or by other graphs reaches to the end: these have commas themselves.

    >>> names_in("side, relation~^/([a-z]{2,5})")
    ('side', 'relation~^/([a-z]{2,5})')
    >>> names_in("side,overlap:umls,nations")
    ('side', 'overlap:umls,nations')
    """
    end = min([text.index(start) for start in ("relation~", "overlap:") if start in text], default=len(text))
    names = [name.strip() for name in text[:end].split(",")]
    return (*names[:-1], names[-1] + text[end:])
