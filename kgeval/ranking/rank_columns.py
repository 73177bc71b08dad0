"""The meaning of the columns of a file of ranks, by their names or by names that the user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from kgeval.data.triple_files import ALIASES, TIME, TRIPLE
from kgeval.data.triples import Side
from kgeval.errors import TableError, did_you_mean

RankSetting = Literal["filtered", "raw"]

SETTINGS: dict[str, RankSetting] = {"raw": "raw", "f": "filtered", "filt": "filtered", "filtered": "filtered"}
"""the word in the name of a column -> whether its ranks are filtered"""

PLACES: dict[str, Side] = {
    "left": "head",
    "head": "head",
    "lhs": "head",
    "right": "tail",
    "tail": "tail",
    "rhs": "tail",
}
"""the word in the name of a column -> the side that was predicted"""

_SIDE = "|".join(PLACES)

NAME = re.compile(rf"(?:(raw|filtered|filt|f)_?)?(?:({_SIDE})_)?ranks?(?:_({_SIDE}))?")
"""the name of a column of ranks: what it says about the filter, and about the side, before or after"""


class RankColumn(NamedTuple):
    """A column of ranks."""

    name: str
    setting: RankSetting
    side: Side | None
    """None where a column of the file names it"""


ColumnNames = str | Sequence[str] | Mapping[str, str]
"""the names of columns in their order, or which column holds what: ``{"tail_rank": "filt_rank_o"}``"""


def column_names(columns: ColumnNames | None) -> list[str] | dict[str, str] | None:
    """Read names of columns, which may be a text.

    >>> column_names("head, relation"), column_names("head=subj,tail_rank=filt_rank_o")
    (['head', 'relation'], {'head': 'subj', 'tail_rank': 'filt_rank_o'})
    """
    if columns is None or isinstance(columns, Mapping):
        return None if columns is None else dict(columns)
    names = [name.strip() for name in (columns.split(",") if isinstance(columns, str) else columns)]
    if not any("=" in name for name in names):
        return names
    if wrong := [name for name in names if "=" not in name]:
        raise TableError(
            f"columns: {wrong[0]!r} has no name of a column. Expected WHAT=COLUMN, such as tail_rank=filt_rank_o."
        )
    pairs = [name.split("=", 1) for name in names]
    return {what.strip(): column.strip() for what, column in pairs}


def rename(path: Path, found: Sequence[str], chosen: Mapping[str, str]) -> list[str]:
    """Call the chosen columns by what they hold; the others are left aside."""
    for what, column in chosen.items():
        if not isinstance(what, str) or not (what in (*ALIASES, *TIME, "side") or NAME.fullmatch(what)):
            known = (*TRIPLE, "side", TIME[0], "rank", "head_rank", "tail_rank", "raw_head_rank", "raw_tail_rank")
            raise TableError(f"columns: no column holds {what!r}. {did_you_mean(str(what), known)}")
        if column not in found:
            raise TableError(f"{path}: no column {column!r} for the {what}. {did_you_mean(str(column), found)}")
    names = {column: what for what, column in chosen.items()}
    if len(names) < len(chosen):
        raise TableError(f"columns: one column is named twice: {', '.join(chosen.values())}. Name each once.")
    return [names.get(column, f"column {place}, not used") for place, column in enumerate(found, 1)]


def rank_columns(
    path: Path, names: Sequence[str], wanted: RankSetting | None
) -> tuple[tuple[RankColumn, ...], tuple[str, ...]]:
    found = [(name, match) for name in names if (match := NAME.fullmatch(name))]
    shown = f"found the columns {', '.join(map(repr, names))}"
    if not found:
        raise TableError(f"{path}: no column of ranks; {shown}. Expected rank, filtered_rank, frank_left, tail_rank, …")
    named = {SETTINGS[match[1]] for _, match in found if match[1]}
    default, notes = _unnamed_setting(named, wanted)
    ranks = tuple(
        RankColumn(name, SETTINGS.get(match[1], default), PLACES.get(match[2] or match[3])) for name, match in found
    )
    if len({column[1:] for column in ranks}) < len(ranks):
        raise TableError(f"{path}: two columns have the same meaning; {shown}. Keep one of them.")
    if any((column.side is None) != ("side" in names) for column in ranks):
        raise TableError(
            f"{path}: the side of each rank must be given once: by a column 'side' (head, tail) or by the names of the "
            f"ranks (head_rank, tail_rank); {shown}."
        )
    if wanted not in {None, *(column.setting for column in ranks)}:
        raise TableError(f"{path}: no {wanted} ranks in it; {shown}.")
    # The raw setting has no filtered ranks; the filtered one keeps the raw ones beside them.
    return tuple(column for column in ranks if wanted != "raw" or column.setting == "raw"), notes


def _unnamed_setting(named: set[RankSetting], wanted: RankSetting | None) -> tuple[RankSetting, tuple[str, ...]]:
    """Choose the setting of ranks whose names do not say it: the other one, where others' names do."""
    if named:
        return "raw" if "filtered" in named else "filtered", ()
    if wanted is not None:
        return wanted, ()
    return "filtered", (
        "the file does not say whether its ranks are filtered; they were read as filtered. If "
        "they are raw, use --setting raw (in Python setting='raw').",
    )
