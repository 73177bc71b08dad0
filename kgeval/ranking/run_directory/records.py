"""The records of runs: the one schema of a manifest, of metrics, and of the common table of several models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    with_config,
)
from typing_extensions import TypedDict

from kgeval.base.errors import InputError
from kgeval.base.files import is_plain_name
from kgeval.base.settings import problems_of
from kgeval.ranking.run_directory.contents import is_run_name, read_json

RULES = ConfigDict(strict=True)
"""no value is converted; unknown keys are left out"""

Count = Annotated[int, Field(ge=0, lt=2**63)]


def _unconverted(value: Any, check: Callable[[Any], object]) -> Any:
    check(value)
    return value


Number = Annotated[float | None, WrapValidator(_unconverted)]
"""a whole number stays one"""

Block = dict[str, JsonValue]
"""what is shown as it is, whatever it holds"""


Names = TypeVar("Names", bound=Iterable[str])


def _names(found: Names, *, what: str, fits: Callable[[str], bool]) -> Names:
    for name in found:
        if not fits(name):
            raise ValueError(f"{name!r:.60} is not the name of a {what} beside it")
    return found


_files = partial(_names, what="file", fits=is_plain_name)
_runs = partial(_names, what="folder", fits=is_run_name)


@with_config(RULES)
class Graph(TypedDict, total=False):
    name: str
    entities: Count
    relations: Count
    triples: dict[str, Count]
    repeated: dict[str, Count]
    sha256: str
    training_graph: Block


@with_config(RULES)
class Manifest(TypedDict, total=False):
    schema: int
    time: str
    python: str
    versions: dict[str, str]
    machine: Block
    dataset: Graph
    model: Block
    name: str
    seeds: dict[str, int]
    sha256: dict[str, str]
    variables: dict[str, str]
    seconds: dict[str, Annotated[float, Field(ge=0)]]
    ranking: Block
    ranked: dict[str, Count]
    continued: dict[str, Count]
    notes: list[str]
    written: Annotated[dict[str, str], AfterValidator(_files)]


@with_config(RULES)
class Metrics(TypedDict, total=False):
    """The part of ``metrics.json`` that is read; all of it can be computed from the tables."""

    provenance: Block
    metrics: dict[str, dict[str, Number]]


@with_config(RULES)
class Models(TypedDict, total=False):
    models: Annotated[dict[str, Metrics], AfterValidator(_runs)]
    failed: dict[str, str]
    unfinished: Annotated[list[str], AfterValidator(_runs)]
    notes: list[str]


Record = TypeVar("Record", Manifest, Metrics, Models)


def read_record(path: Path, kind: type[Record]) -> Record:
    """Read a file of a run; refuse one in which a field is of another type."""
    content = read_json(path)
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        problem = problems_of(error, content, kind)[0]
        raise InputError(f"{str(path)!r} is damaged. {problem} Restore it, or evaluate again with --force.") from error
