"""Names of sets of triples: a split, several splits joined by a plus sign, or a file.

Settings have the types ``SplitOrFile`` and ``Filter``; ``Dataset.split`` takes such a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from kgeval.base.errors import did_you_mean
from kgeval.base.settings import existing, listed, writable
from kgeval.data import SPLITS


def parts_of(name: str) -> tuple[str, ...]:
    """Return the splits that a name joins, none for a file.

    >>> parts_of("valid+test"), parts_of("more.tsv")
    (('valid', 'test'), ())
    """
    parts = tuple(name.split("+"))
    return parts if {*parts} <= {*SPLITS} else ()


def files_in(names: Iterable[str]) -> list[Path]:
    """Take the files among names of splits and of files."""
    return [Path(name) for name in names if not parts_of(name)]


def filtered_by(split: str, of_split: Mapping[Any, Sequence[str]], names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the filter: as given, or as the protocol sets it for each split (``of_split``).

    Triples of a file are filtered as test, and filter each other too; several splits are filtered as each of them.
    """
    parts = parts_of(split) or ("test",)
    splits = [name for part in parts for name in of_split[part]] if names is None else names
    itself = [split] if splits and not parts_of(split) else []
    return tuple(dict.fromkeys([*splits, *itself]))


def joined(value: Any) -> Any:
    """Join several splits to one name, and leave other names unchanged.

    >>> joined(["valid", "test"]), joined("valid,test"), joined("more.tsv")
    ('valid+test', 'valid+test', 'more.tsv')
    """
    names = value.split(",") if isinstance(value, str) and parts_of(value.replace(",", "+")) else value
    several = isinstance(names, list | tuple) and names and all(name in SPLITS for name in names)
    return "+".join(name for name in SPLITS if name in names) if several else value


def _split_or_file(name: str) -> str:
    if parts_of(name) or Path(name).is_file():
        return name
    if Path(name).suffix:
        return existing(writable(name))
    raise ValueError(f"there is no split and no file {name!r:.60}. {did_you_mean(name, SPLITS)}".rstrip("."))


SplitOrFile = Annotated[str, BeforeValidator(joined), AfterValidator(_split_or_file)]
"""a split, several splits joined by a plus sign, or a file of triples"""

Filter = Annotated[
    tuple[Annotated[str, AfterValidator(_split_or_file)], ...],
    BeforeValidator(listed, json_schema_input_type=str | tuple[str, ...]),
    Field(strict=False),
]
"""splits, and files of triples"""
