"""Folders of triples, as text."""

from __future__ import annotations


def lines(rows, separator="\t"):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def write(folder, splits, names=None, ending=".txt"):
    """Write the rows of each split into a file of its name, or of another."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        (folder / f"{(names or {}).get(split, split)}{ending}").write_text(lines(rows), encoding="utf-8")
    return folder
