"""Headers: which column of a file is the head, the relation and the tail, by its name and in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kgeval.errors import DatasetError

TRIPLE = ("head", "relation", "tail")

ALIASES = {
    **dict.fromkeys(("h", "head", "subject", "source", "from", "head_id", "subject_id", "source_id"), "head"),
    **dict.fromkeys(
        ("r", "rel", "relation", "predicate", "edge", "relation_id", "predicate_id", "edge_id"), "relation"
    ),
    **dict.fromkeys(("t", "tail", "object", "target", "to", "tail_id", "object_id", "target_id"), "tail"),
}
"""What the columns of a triple are called, in lower case."""


def is_header(cells: Sequence[str]) -> bool:
    """Whether the first row of a file names columns rather than a triple.

    It does if it names all three columns, or two of them in whole words: then the third is missing or misspelt. A
    letter alone may well be an entity.

    >>> is_header(["t", "h", "r"]), is_header(["head", "rel_type", "tail"]), is_header(["h", "likes", "t"])
    (True, True, False)
    """
    names = [_folded(cell) for cell in cells]
    columns = {ALIASES[name] for name in names if name in ALIASES}
    in_words = {ALIASES[name] for name in names if name in ALIASES and len(name) > 1}
    return len(columns) == 3 or len(in_words) == 2


def common_header(tables: Collection[pa.Table]) -> list[str]:
    """Return the first row that all splits of a graph have in common, if its labels occur nowhere else; else nothing.

    Such a row names columns, whatever it calls them: no triple stands first in every split and is all that its entities
    and its relation have.

    >>> train = pa.table({"head": ["S", "a", "b"], "relation": ["P", "r", "r"], "tail": ["O", "b", "a"]})
    >>> common_header([train, train.slice(0, 2)]), common_header([train.slice(1), train.slice(1, 1)])
    (['S', 'P', 'O'], [])
    """
    first, *others = ([table[column][0].as_py() for column in TRIPLE] for table in tables)
    if not others or any(row != first for row in others):
        return []
    rests = [table.slice(1) for table in tables]
    entities = [rest[column] for rest in rests for column in ("head", "tail")]
    relations = [rest["relation"] for rest in rests]
    unique = all(
        not pc.any(pc.is_in(column, value_set=pa.array(labels))).as_py()
        for labels, columns in ((first[::2], entities), (first[1:2], relations))
        for column in columns
    )
    return first if unique and all(rest.num_rows for rest in rests) else []


def columns(path: str | Path, names: Sequence[str]) -> list[str]:
    """Give each column of a file its own name: head, relation and tail, and others as they are called, in lower case.

    Raises
    ------
    DatasetError
        if head, relation or tail is not there, or a name is there twice

    Examples
    --------
    >>> columns(Path("triples.csv"), ["Object", "h", "rel", "Weight"])
    ['tail', 'head', 'relation', 'weight']
    """
    folded = [_folded(name) for name in names]
    columns = [ALIASES.get(name, name) for name in folded]
    found = f"found the columns {', '.join(map(repr, names))}" if names else "found no columns"
    for name, count in Counter(columns).items():
        if count > 1:
            same = " and ".join(repr(own) for own, column in zip(names, columns, strict=True) if column == name)
            raise DatasetError(f"{path}: {count} columns are the {name} ({same}); {found}. Keep one of them.")
    if missing := [name for name in TRIPLE if name not in columns]:
        aliases = {name: [alias for alias, column in ALIASES.items() if column == name] for name in TRIPLE}
        known = "; ".join(f"{name}: {', '.join(names)}" for name, names in aliases.items())
        raise DatasetError(
            f"{path}: no column is the {' or the '.join(missing)}; {found}. Name them (in any order, in either case) "
            f"by one of {known}."
        )
    return columns


def _folded(name: str) -> str:
    return name.strip().strip('"').lower()
