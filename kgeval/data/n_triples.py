"""N-Triples: lines of subject, predicate and object, whose escapes stand for their characters (W3C, 2014)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.errors import DatasetError, refusing
from kgeval.data.columns import TRIPLE
from kgeval.data.text import UNIT_SEPARATOR, line_of, read_columns

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
    with refusing(path, "an escape stands for no character", ValueError, OverflowError):
        return pa.table(dict(zip(TRIPLE, map(_unescaped, columns), strict=True)))


def _unescaped(labels: pa.Array) -> pa.Array:
    """Put the characters in place of their escapes, which few labels have."""
    escaped = np.flatnonzero(np.asarray(pc.match_substring(labels, "\\")))
    if not len(escaped):
        return labels
    texts = [ESCAPE.sub(_character, labels[row].as_py()) for row in escaped.tolist()]
    return pc.replace_with_mask(labels, pc.match_substring(labels, "\\"), pa.array(texts, pa.string()))


def _character(escape: re.Match[str]) -> str:
    return CHARACTERS.get(escape[3]) or chr(int(escape[1] or escape[2], 16))
