"""Types of configuration values that need checks of their own: options, metric names.

Commands make options of them before it is known that any is checked: what a check needs is imported by the check.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticKnownError

from kgeval.errors import did_you_mean
from kgeval.settings.messages import short_repr
from kgeval.settings.path_types import as_validation_error


def _scalar(value: Any) -> Any:
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"expected a number, text, true or false, found {short_repr(value)}")  # noqa: TRY004
    return value


def _metric(name: str, block: ValidationInfo) -> str:
    """Refuse the name of no metric of the block's task; without a task, of no metric of ranks."""
    if "task" not in block.data:  # the task is malformed, which is a problem of its own; the kind of metric is unknown
        return name
    from kgeval.metrics.names import parse

    task = block.data["task"]
    with as_validation_error():
        parse(name, "ranks" if task is None else task.kind)
    return name


Scalar = Annotated[bool | int | float | str, BeforeValidator(_scalar)]


def _split_at_commas(value: Any) -> Any:
    return tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value


WITH_COMMAS = BeforeValidator(_split_at_commas, json_schema_input_type=str | tuple[str, ...])

Metrics = Annotated[tuple[Annotated[str, AfterValidator(_metric)], ...], WITH_COMMAS, Field(strict=False)]


def _column_or_slice(name: str, block: ValidationInfo) -> str:
    """Refuse what no table of the block's task, or no rank table without one, can be grouped by."""
    from kgeval.analysis.slices.slice import slices
    from kgeval.ranking.rank_table import SCHEMA, TIME

    task = block.data.get("task")
    if task is not None and name != "relation":
        raise ValueError(f"a run of {task.kind} is grouped by relation only, found {short_repr(name)}")
    if name not in (known := [*SCHEMA.names, TIME, *slices()]):
        raise ValueError(f"no slice and no column {short_repr(name)}. {did_you_mean(name, known)}")
    return name


ColumnsAndSlices = Annotated[
    tuple[Annotated[str, AfterValidator(_column_or_slice)], ...], WITH_COMMAS, Field(strict=False)
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
"""the name of a tie policy, which an installed package may bring"""


def _exponents(value: Any) -> tuple[float, float]:
    from kgeval.metrics.selection import checked_exponents

    with as_validation_error():
        return checked_exponents(value)


Exponents = Annotated[tuple[float, float], BeforeValidator(_exponents, json_schema_input_type=tuple[float, float])]
"""βe and βr, of popularity"""
