"""The fixed negatives of the Open Graph Benchmark: a list of its own for every triple and side."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from kgeval.arrays import IntArray
from kgeval.corruption.candidates import Candidates
from kgeval.corruption.generator import CorruptionGenerator, size_range
from kgeval.data.dataset import Dataset
from kgeval.data.layouts.ogb_layout import Content, entity_ids, read_content, triples_of
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import Side, Triples
from kgeval.errors import DatasetError


class OGBNegatives(CorruptionGenerator):
    """Corrupt a triple with its own ``head_neg`` and ``tail_neg`` in a file of the Open Graph Benchmark.

    Triples that ask the same question have different negatives, so each is a query of its own. A negative that is
    listed twice for a triple counts once, and a note says how many those were; ``as_listed``, it counts twice.

    >>> OGBNegatives(path="dataset/ogbl_wikikg2/split/time/test.pt")
    OGBNegatives(kind='ogb', path='dataset/ogbl_wikikg2/split/time/test.pt', as_listed=False)
    """

    kind: Literal["ogb"] = "ogb"
    """the fixed negatives of the Open Graph Benchmark"""
    path: str
    """``split/<name>/test.pt`` or ``valid.pt``, in the folder of the dataset"""
    as_listed: bool = False
    """whether every place of a list competes, as in OGB's evaluator: a negative as often as it is listed, and an
    answer among its own negatives with itself"""

    @property
    def files(self) -> tuple[Path, ...]:
        """The file of negatives."""
        return (Path(self.path),)

    def queries(self, triples: Triples, side: Side) -> Queries:
        """Take every triple for a query of its own."""
        return Queries.per_triple(triples, side)

    def read(self, dataset: Dataset) -> tuple[Content, Triples]:
        """Read the content of the file, and its triples.

        Raises
        ------
        DatasetError
            if the file is missing or damaged, or names what the dataset does not have
        """
        content = read_content(Path(self.path))
        return content, triples_of(Path(self.path), content, dataset.entities, dataset.relations)

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        """Collect the negatives of each triple.

        Raises
        ------
        DatasetError
            if the file holds no negatives, or does not have one of the triples
        """
        path, key = Path(self.path), f"{queries.side}_neg"
        content, stored = self.content(dataset)
        if key not in content:
            raise DatasetError(
                f"{path}: no {key} in it. OGB has fixed negatives of its test and valid triples: evaluate those, "
                "or set another corruption."
            )
        rows = _rows_of(path, stored, queries, dataset)
        negatives = np.sort(entity_ids(path, content, key, dataset.entities)[rows], axis=1)
        again = np.zeros(negatives.shape, np.bool_)
        again[:, 1:] = negatives[:, 1:] == negatives[:, :-1]
        note = f"{int(again.sum())} {queries.side} negatives of {path} are listed twice for a triple"
        if self.as_listed:
            itself = negatives == queries.answers[:, None]
            note, odd = f"{note}, {int(itself.sum())} are its answer; all compete.", again | itself
            kept = np.ones_like(again)
        else:
            note, odd, kept = f"{note}; they count once.", again, ~again
        lists = Rows.sized(kept.sum(axis=1), negatives[kept])
        return Candidates(lists, (note,) if odd.any() else (), self.as_listed)

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        """Describe how many the file has for a triple."""
        listed = ", as listed" if self.as_listed else ""
        return f"{size_range(sizes)} of OGB's file {'/'.join(Path(self.path).parts[-3:])}{listed}"


def _rows_of(path: Path, stored: Triples, queries: Queries, dataset: Dataset) -> IntArray:
    """Find the row of each query's triple in the file, the first where it occurs twice."""
    anchors, relations, answers = stored.queries_of_side(queries.side)
    keys = np.stack([anchors, relations, answers], axis=1)
    sought = np.stack([queries.anchors, queries.relations, queries.answers], axis=1)
    _, first, codes = np.unique(np.concatenate([keys, sought]), axis=0, return_index=True, return_inverse=True)
    rows: IntArray = first[codes.ravel()[len(keys) :]]
    if (rows >= len(keys)).any():
        anchor, relation, answer = sought[int(np.argmax(rows >= len(keys)))]
        head, tail = (answer, anchor) if queries.side == "head" else (anchor, answer)
        raise DatasetError(
            f"{path}: the triple {dataset.triple(head, relation, tail)} is not in it. Is it the file of another split?"
        )
    return rows
