"""Negatives that a file lists: for queries (``file``, ``tgb``), or for each triple, as in OGB (``ogb``).

Each class is a corruption: a configuration names it by its ``kind``, and ranking asks it for the candidates of queries.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import DatasetError, nearest
from kgeval.base.notes import Example, Note, amount
from kgeval.base.threads import slices
from kgeval.data.dataset import Dataset, Split
from kgeval.data.known import KnownAnswers
from kgeval.data.labelled_triples import false_rows, read_triple_ids
from kgeval.data.layouts.ogb_and_pbg import find_ids, read_content, triples_of
from kgeval.data.layouts.tgb import Listed, read_listed
from kgeval.data.queries import Queries, Rows
from kgeval.data.tables import read_triples
from kgeval.data.triples import SIDES, Side, TripleIndex, Triples
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.corruption.generator import ALONE, CorruptionGenerator, size_range

BATCH_TRIPLES = 4096
"""the number of triples whose negatives are checked at a time"""


class FileNegatives(CorruptionGenerator):
    """Entities from the negative triples in a file.

    A negative (h', r, t) belongs to the query (?, r, t), and a negative (h, r, t') to (h, r, ?). A column ``side``
    (head or tail) says which side was corrupted; the negative then belongs to that side only. If there is a column of
    confidences, only rows with confidence 0 are negatives.

    >>> FileNegatives(path="negatives.tsv")
    FileNegatives(kind='file', path='negatives.tsv')
    """

    kind: Literal["file"] = "file"
    """the negatives of a file"""
    path: str
    """text or Parquet with the columns head, relation, tail and optionally side: a header names them, in any order"""

    def read(self, dataset: Dataset) -> dict[Side, KnownAnswers]:
        table = read_triples(Path(self.path))
        for name in table.unused:  # without its side, a negative would silently belong to both
            if nearest(name.lower(), ["side"]):
                raise DatasetError(f"{self.path}: unknown column {name!r}. Did you mean 'side'?")
        triples = read_triple_ids(table, dataset.entities, dataset.relations)
        false = false_rows(table)
        # Negatives are looked up by query, as known answers are.
        return {side: KnownAnswers.of([triples[false & table.rows_of(side)]], side) for side in SIDES}

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        negatives: KnownAnswers = self.content(dataset)[queries.side]
        return negatives.lengths(queries)

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        return Candidates(self.content(dataset)[queries.side].rows(queries))

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        without = int((self.widths(queries, dataset) == 0).sum())
        if len(queries) and without == len(queries):
            count = len(self.content(dataset)[queries.side].answers)
            raise DatasetError(f"{self.path}: none of its {count} negatives belongs to a {queries.side} query to rank.")
        alone, where = amount(without, f"{queries.side} query"), Example.path(self.path)
        return (Note("candidates", alone, " without negatives in ", where, ALONE, "."),) if without else ()

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        return f"{size_range(sizes)} of file {Path(self.path).name}"


class OGBNegatives(CorruptionGenerator):
    """The negatives of each triple in a file of the Open Graph Benchmark (head_neg, tail_neg).

    Triples with the same query have different negatives, so each triple is ranked separately. A negative listed twice
    for a triple counts once, and a note says how many there were; with ``as_listed`` it counts twice.

    >>> OGBNegatives(path="dataset/ogbl_wikikg2/split/time/test.pt")
    OGBNegatives(kind='ogb', path='dataset/ogbl_wikikg2/split/time/test.pt', as_listed=False)
    """

    kind: Literal["ogb"] = "ogb"
    """the fixed negatives of the Open Graph Benchmark"""
    path: str
    """``split/<name>/test.pt`` or ``valid.pt``, in the folder of the dataset"""
    as_listed: bool = False
    """whether every place of a list is a candidate, as in OGB's evaluator: a negative as often as it is listed, and
    also an answer among its own negatives"""

    leaves_out_answers: ClassVar[bool] = True

    def queries(self, triples: Triples, side: Side) -> Queries:
        """Make one query of every triple."""
        return Queries.per_triple(triples, side)

    def read(self, dataset: Dataset) -> tuple[dict[Side, IntArray], TripleIndex, IntArray]:
        """Read the negatives of each side (int64[triple, negative]), an index of the triples, and the row of each.

        The third is int64[number in the index]: the first row in the file of each triple, which the file may repeat.
        """
        path = Path(self.path)
        content = read_content(path)
        triples = triples_of(path, content, dataset.entities, dataset.relations)
        sides = [side for side in SIDES if f"{side}_neg" in content]
        negatives = {side: find_ids(path, content, f"{side}_neg", dataset.entities) for side in sides}
        index = TripleIndex.of(triples)
        first = np.empty(len(index), np.int64)
        first[index.find(triples)[::-1]] = np.arange(len(triples))[::-1]
        return negatives, index, first

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        return np.full(len(queries), self._stored(queries.side, dataset).shape[1])

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        negatives = self._negatives(queries, dataset)
        kept = np.ones_like(negatives, np.bool_) if self.as_listed else ~_is_repeated(negatives)
        return Candidates(Rows.sized(kept.sum(axis=1), negatives[kept]), as_listed=self.as_listed)

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        again, itself = 0, 0
        for part in slices(len(queries), BATCH_TRIPLES):
            negatives = self._negatives(queries[part], dataset)
            again += int(_is_repeated(negatives).sum())
            itself += int((negatives == queries[part].answers[:, None]).sum())
        twice, where = amount(again, f"{queries.side} negative"), Example.path(Path(self.path))
        end = f", {itself:,} equal to its answer; all are candidates." if self.as_listed else "; each counts once."
        note = Note("candidates", twice, " of ", where, " listed twice for one triple", end)
        return (note,) if again + itself * self.as_listed else ()

    def _stored(self, side: Side, dataset: Dataset) -> IntArray:
        """Return the negatives of all triples of the file; int64[triple, negative]."""
        negatives: dict[Side, IntArray] = self.content(dataset)[0]
        if side not in negatives:
            raise DatasetError(
                f"{self.path}: no {side}_neg in it. OGB has negatives for its test and valid triples only. Evaluate "
                "those, or choose another corruption."
            )
        return negatives[side]

    def _negatives(self, queries: Queries, dataset: Dataset) -> IntArray:
        """Take the negatives of each query's triple, ascending; int64[query, negative]."""
        _, index, first = self.content(dataset)
        columns = (queries.answers, queries.relations, queries.anchors)
        sought = Triples(np.stack(columns if queries.side == "head" else columns[::-1], axis=1))
        rows = index.find(sought)
        if (rows < 0).any():
            triple = dataset.triple(*sought.ids[int(np.argmax(rows < 0))])
            raise DatasetError(f"{self.path}: the triple {triple} is not in it. Is it the file of another split?")
        return np.sort(self._stored(queries.side, dataset)[first[rows]], axis=1)

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        listed = ", as listed" if self.as_listed else ""
        return f"{size_range(sizes)} of OGB's file {'/'.join(Path(self.path).parts[-3:])}{listed}"


class TGBNegatives(CorruptionGenerator):
    """The negatives of each query in a file of TGB 2.0 (``NAME_val_ns.pkl``, ``NAME_test_ns.pkl``).

    The file lists the negatives of each query at its time (dst-time-filtered); all of them are candidates, true answers
    and the answer itself too, and nothing is filtered unless a filter is given. Or it lists the true answers
    (time-filtered); all entities are candidates then, and the filter is the split of the file. Which one it is shows by
    its content.

    >>> TGBNegatives(path="tkgl_wikidata/tkgl-wikidata_test_ns.pkl")
    TGBNegatives(kind='tgb', path='tkgl_wikidata/tkgl-wikidata_test_ns.pkl')
    """

    kind: Literal["tgb"] = "tgb"
    """the fixed negatives of TGB 2.0"""
    path: str
    """``NAME_test_ns.pkl`` or ``NAME_val_ns.pkl``, in the numbers of the edge list that the dataset was read from"""

    leaves_out_answers: ClassVar[bool] = True

    def read(self, dataset: Dataset) -> Listed:
        return read_listed(Path(self.path), dataset)

    def known_splits(self, dataset: Dataset) -> tuple[Split, ...]:
        listed: Listed = self.content(dataset)
        return (listed.split,) if listed.are_answers else ()

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        lengths = self._lists(queries, dataset).lengths
        return np.zeros_like(lengths) if self.known_splits(dataset) else lengths

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        if self.known_splits(dataset):
            return Candidates.shared(np.arange(len(dataset.entities)))
        return Candidates(self._lists(queries, dataset), as_listed=True)

    def _lists(self, queries: Queries, dataset: Dataset) -> Rows:
        listed: Listed = self.content(dataset)
        lists = listed.of(queries)
        if not lists.lengths.all():
            fault = f"it is the file of {listed.split}, and a {queries.side} query to rank is not in it"
            raise DatasetError(f"{self.path}: {fault}. Rank {listed.split}, or give the file of the other split.")
        return lists

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        return tuple(self.content(dataset).notes)

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        size = f"all {len(dataset.entities):,} entities" if self.known_splits(dataset) else size_range(sizes)
        return f"{size} by TGB's file {Path(self.path).name}"


def _is_repeated(rows: IntArray) -> BoolArray:
    """Whether each number of an ascending row is the one before it; bool[row, number]."""
    return np.asarray(np.diff(rows, axis=1, prepend=-1) == 0)
