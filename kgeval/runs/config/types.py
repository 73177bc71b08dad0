"""Types of configuration values that need checks of their own: paths, options, metric names.

Commands make options of them before it is known that any is checked: what a check needs is imported by the check.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticKnownError

from kgeval.errors import InputError, NoPathError, did_you_mean
from kgeval.paths import exists_safely, no_file
from kgeval.settings.messages import short_repr


@contextmanager
def as_validation_error() -> Iterator[None]:
    """Turn an InputError into a ValueError, which pydantic collects with the errors of all other values."""
    try:
        yield
    except InputError as error:
        raise ValueError(str(error)) from error


def writable(path: str) -> str:
    """Refuse a path that cannot be written to a configuration or a manifest."""
    if not path:
        raise ValueError("the path is empty. Name a file or a folder; '.' is the current one")
    if "\0" in path:
        raise ValueError("a path has no null byte")
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the path {short_repr(path)} is not UTF-8 text. Give it another name") from error
    return path


def existing(path: str) -> str:
    if not (exists_safely(Path(path)) and Path(path).is_file()):
        raise NoPathError(no_file(Path(path)))
    return path


def readable(path: str) -> str:
    """Refuse a missing or damaged file before any work is done."""
    if not exists_safely(Path(path)):
        raise NoPathError(no_file(Path(path)))
    from kgeval.data.io.text import first_line

    with as_validation_error():
        first_line(Path(path))
    return path


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


PathText = Annotated[str, AfterValidator(writable)]

ExistingFile = Annotated[PathText, AfterValidator(existing)]

ReadableFile = Annotated[PathText, AfterValidator(readable)]

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
    from kgeval.metrics.metric_options import checked_exponents

    with as_validation_error():
        return checked_exponents(value)


Exponents = Annotated[tuple[float, float], BeforeValidator(_exponents, json_schema_input_type=tuple[float, float])]
"""βe and βr, of popularity"""


def or_text(schema: dict[str, Any]) -> None:
    """Allow a bare string in the JSON schema of a block, as the block's validator does."""
    block = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"type": "string"}, block]
