"""Folders of complex queries, as of BetaE and Query2box: recognised in order to be refused, with what can be done."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from kgeval.data.layout import Layout
from kgeval.data.layouts import label_layout
from kgeval.errors import DatasetError

QUERIES = ("*-queries.pkl", "*_ans_*.pkl")
"""the files of queries, of BetaE and of Query2box"""


def read(folder: Path) -> NoReturn:
    """Refuse a folder of complex queries.

    Raises
    ------
    DatasetError
        always
    """
    example = _queries(folder)[0].name
    triples = (
        "To evaluate its triples alone, which BetaE writes in both directions, name the layout labels "
        "(--layout labels)."
        if label_layout.LAYOUT.recognises(folder)
        else "It has no train and test files of triples beside them."
    )
    raise DatasetError(
        f"folder {str(folder)!r} holds complex queries ({example}), as of BetaE or Query2box: kgeval evaluates the "
        f"prediction of single triples only. {triples}"
    )


def _queries(folder: Path) -> list[Path]:
    return sorted(file for pattern in QUERIES for file in folder.glob(pattern))


LAYOUT = Layout(
    name="betae",
    summary="complex queries of BetaE or Query2box (train-queries.pkl): not supported, refused",
    recognises=lambda folder: bool(_queries(folder)),
    read=read,
    needs=(QUERIES,),
)
