"""N-Triples: lines of subject, predicate and object, whose escapes stand for their characters (W3C, 2014)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.data.columns import TRIPLE
from kgeval.data.text import UNIT_SEPARATOR, line_of, read_columns
from kgeval.errors import DatasetError, counted, reason

if TYPE_CHECKING:
    from kgeval.data.tables import NamedTable

N_TRIPLES = "N-Triples"
"""where columns are from that the grammar names"""

N_TRIPLE = (
    r"\s*(?P<head><[^<>]*>|_:\S+)\s*(?P<relation><[^<>]*>)"
    r'\s*(?P<tail><[^<>]*>|_:\S+?|".*"[^\s"]*)\s*\.\s*(?:#.*)?'
)
"""A line of the W3C's N-Triples: subject, predicate, object (a literal perhaps) and a full stop."""

ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tbnrf\"'\\]))")
CHARACTERS = dict(zip("tbnrf\"'\\", "\t\b\n\r\f\"'\\", strict=True))
"""of an escape of one letter, the character"""


def is_n_triples(path: Path, cells: Sequence[str]) -> bool:
    names = {suffix.lower() for suffix in path.suffixes[-2:]}
    return ".nt" in names or re.fullmatch(N_TRIPLE, " ".join(cells)) is not None


def read_n_triples(path: Path) -> pa.Table:
    """Read lines of N-Triples: an IRI is a label without its brackets, and escapes stand for their characters."""
    lines = read_columns(path, ["line"], delimiter=UNIT_SEPARATOR)["line"]
    comments = pc.match_substring_regex(lines, r"^\s*(#|$)")
    cells = pc.extract_regex(lines, f"^{N_TRIPLE}$").combine_chunks()
    damaged = np.asarray(pc.and_(cells.is_null(), pc.invert(comments.combine_chunks())))
    if damaged.any():
        line = line_of(path, int(np.argmax(damaged)), delimiter=UNIT_SEPARATOR)
        raise DatasetError(f"{path}, line {line}: expected a line of N-Triples, '<subject> <predicate> <object> .'.")
    columns = (pc.replace_substring_regex(column, r"^<(.*)>$", r"\1") for column in cells.drop_null().flatten())
    try:
        return pa.table(dict(zip(TRIPLE, map(_unescaped, columns), strict=True)))
    except (ValueError, OverflowError) as error:
        raise DatasetError(f"{path}: an escape stands for no character ({reason(error)}).") from error


def apart(tables: Mapping[str, NamedTable]) -> tuple[dict[str, NamedTable], list[str]]:
    """Tell blank nodes of several files of N-Triples apart, which are different nodes; note these, and literals."""
    if any(N_TRIPLES not in table.origins.values() for table in tables.values()):
        return {**tables}, []
    ends = [pa.concat_arrays([*table["head"].chunks, *table["tail"].chunks]) for table in tables.values()]
    blanks = (pc.unique(labels.filter(pc.starts_with(labels, "_:"))).to_pylist() for labels in ends)
    shared = [label for label, count in Counter(chain.from_iterable(blanks)).items() if count > 1]
    literals = sum(len(pc.unique(labels.filter(pc.starts_with(labels, '"')))) for labels in ends)
    separate = {**tables}
    for split, role in product(separate if shared else (), ("head", "tail")):
        labels = separate[split][role]
        own = pc.binary_join_element_wise(labels, f" of {Path(tables[split].source).name}", "")
        is_shared = pc.is_in(labels, value_set=pa.array(shared))
        separate[split] = separate[split].with_column(role, pc.if_else(is_shared, own, labels))
    notes = {
        f"{counted(len(shared), 'blank node')} of one name in several files, such as {next(iter(shared), '')}: a blank "
        "node belongs to its file, so these are different entities.": len(shared),
        f"{counted(literals, 'literal')} among the tails: entities as any other.": literals,
    }
    return separate, [note for note, count in notes.items() if count]


def _unescaped(labels: pa.Array) -> pa.Array:
    """Put the characters in place of their escapes, which few labels have."""
    escaped = np.flatnonzero(np.asarray(pc.match_substring(labels, "\\")))
    if not len(escaped):
        return labels
    texts = [ESCAPE.sub(_character, labels[row].as_py()) for row in escaped.tolist()]
    return pc.replace_with_mask(labels, pc.match_substring(labels, "\\"), pa.array(texts, pa.string()))


def _character(escape: re.Match[str]) -> str:
    return CHARACTERS.get(escape[3]) or chr(int(escape[1] or escape[2], 16))
