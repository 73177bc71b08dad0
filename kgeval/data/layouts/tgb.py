"""TGB 2.0's temporal knowledge graphs (Gastinger et al., 2024): an edge list that is split by time, and its negatives.

``TGB`` is the layout, which the registry of layouts finds. :func:`read_listed` reads a file of negatives in the ids of
the graph, for the corruption ``tgb``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.errors import DatasetError, refusing
from kgeval.base.notes import Example, Note
from kgeval.base.pickled import read_pickled
from kgeval.data.columns import meaning
from kgeval.data.dataset import SPLITS, Dataset, Split
from kgeval.data.known import KnownAnswers
from kgeval.data.layouts import Layout
from kgeval.data.layouts.labelled import candidates
from kgeval.data.numbering import encode, number
from kgeval.data.queries import Queries, Rows, starts_of_runs
from kgeval.data.tables import NamedTable, read_text
from kgeval.data.text import WHOLE_NUMBER, refuse_missing, rows
from kgeval.data.triples import SIDES, Triples, find_sorted
from kgeval.data.vocabulary import Vocabulary

EDGES, STATIC = "*_edgelist*.csv", "*_static_edgelist*.csv"

COLUMNS = ("time", "head", "tail", "relation")

WHOLE = "^-?[0-9]{1,18}$"


def read_tgb(folder: Path) -> Dataset:
    """Read ``NAME_edgelist.csv`` (columns: time, head, tail, relation), and find ``NAME_{val,test}_ns.pkl`` beside it.

    Train, valid and test are cut at two quantiles of all times. Entities have ids in the order in which rows first name
    them, head before tail, and so have relations; but relations whose labels are whole numbers are sorted by number.
    """
    lists = _edge_lists(folder)
    name, _, version = lists[0].stem.partition("_edgelist") if len(lists) == 1 else ("", "", "")
    if not name or name.startswith(("tgbl-", "tgbn-", "thgl-")):  # these are split and ranked by other rules
        expected = "expected one edge list of a temporal knowledge graph (NAME_edgelist.csv)"
        found = ", ".join(path.name for path in lists) or "none"
        raise DatasetError(f"{folder}: {expected}, found {found}. Put the one to read into a folder of its own.")
    table = _read_edges(lists[0])
    shares = (0.8, 0.9) if name == "tkgl-yago" else (0.7, 0.85)
    times = np.asarray(table["time"].cast(pa.int64()))
    ends = np.quantile(np.repeat(times, 2), shares)  # TGB has each edge twice, also as its inverse
    parts = np.digitize(times, ends, right=True)
    splits = {str(SPLITS[part]): table.where(parts == part) for part in np.unique(parts).tolist()}
    said = "split as TGB does, at the quantiles {} and {} of all times: train to {:.15g}, valid to {:.15g}, then test."
    static = (Example.path(path.name) for path in sorted(folder.glob(STATIC)))
    notes = [Note("files", said.format(*shares, *ends))]
    notes += [Note("files", file, " was not read: its facts have no times.") for file in static]
    graph = number(splits, **_vocabularies(table))
    negatives = [folder / f"{name}_{split}_ns{version}.pkl" for split in ("val", "test")]
    files = (lists[0], *(file for file in negatives if file.is_file()))
    return Dataset.build(name, **{**graph, "notes": (*notes, *graph["notes"])}, files=files)


def _edge_lists(folder: Path) -> list[Path]:
    return sorted({*folder.glob(EDGES)} - {*folder.glob(STATIC)})


TGB = Layout(
    name="tgb",
    summary="forecasting, of TGB 2.0: NAME_edgelist.csv of time, head, tail, relation, which is split at quantiles of "
    "its times; negatives in NAME_val_ns.pkl and NAME_test_ns.pkl (optional)",
    recognises=lambda folder: bool(_edge_lists(folder)) and "train" not in candidates(folder),
    read=read_tgb,
    needs=((EDGES,),),
)


def _read_edges(path: Path) -> NamedTable:
    """Read the columns by their places, as TGB does; a header must be there, and must not contradict."""
    header = next((row.cells for row in rows(path, delimiter=",")), [])
    roles = tuple(of.role if (of := meaning(cell)) else "" for cell in header[1:])
    table = read_text(path, COLUMNS, skip=1, delimiter=",") if roles == COLUMNS[1:] else ()
    if not isinstance(table, NamedTable) or not len(table) or WHOLE_NUMBER.fullmatch(header[0]):
        expected = "a header (timestamp, head, tail, relation_type) and edges below it"
        raise DatasetError(f"{path}: expected {expected}; its first line is {', '.join(header)[:60]!r}.")
    for name in COLUMNS:
        table = table.with_column(name, pc.utf8_trim_whitespace(table[name]))
    table.refuse(~np.asarray(pc.match_substring_regex(table["time"], WHOLE)), "time", "is not a whole number.")
    return table


def _vocabularies(table: NamedTable) -> dict[str, Vocabulary]:
    """Label the entities and the relations in the order of TGB's numbers."""
    ends, labels = encode([table["head"], table["tail"]])
    relations = pc.unique(table["relation"])
    if _are_numbers(relations):
        relations = relations.take(pc.sort_indices(relations.cast(pa.int64())))
    entities = Vocabulary(labels.take(pc.unique(pa.array(np.stack(ends, axis=1).ravel()))))
    return {"entities": entities, "relations": Vocabulary(relations, "relation")}


def _are_numbers(labels: pa.Array) -> bool:
    return bool(pc.all(pc.match_substring_regex(labels, WHOLE)).as_py())


@dataclass(frozen=True, eq=False)
class Listed:
    """What a file of negatives lists for each query of one split."""

    path: Path
    ids: KnownAnswers
    """the listed entities of each query, as its answers; a query for heads has the number of the inverse relation"""
    inverse: int
    """the number of relations, which is added to the relation of a query for heads"""
    split: Split = "test"
    """the split whose queries the file lists"""
    are_answers: bool = False
    """whether the lists are the true answers at the query's time (time-filtered), not negatives (dst-time-filtered)"""
    notes: tuple[str, ...] = ()
    """how many lists of negatives hold true answers, if any do"""

    def of(self, queries: Queries) -> Rows:
        """Return the lists of queries; empty where the file does not have a query."""
        shift = self.inverse if queries.side == "head" else 0
        return self.ids.rows(replace(queries, relations=queries.relations + shift))


def read_listed(path: Path, dataset: Dataset) -> Listed:
    """Read a dictionary (time, source, relation) -> ids, and find out by its content what it lists, of which split.

    A query for tails has its relation. A query for heads has the inverse relation: the relation's number plus how many
    relations there are. Nothing in the pickle is executed.
    """
    if dataset.layout != TGB.name or dataset.times is None:
        fault = f"its ids are TGB's, and dataset {dataset.name} was not read from an edge list of TGB"
        raise DatasetError(f"{path}: {fault}. Give the folder of NAME_edgelist.csv.")
    listed = Listed(path, _listed_ids(path, dataset, dataset.times), len(dataset.relations))
    size = len(starts_of_runs(listed.ids.keys))
    for split in reversed(dataset.splits):
        asked = [Queries.of(dataset.split(split), side) for side in SIDES]
        if sum(map(len, asked)) == size and all(listed.of(it).lengths.all() for it in asked):
            return _recognised(replace(listed, split=split), asked, dataset.multiplicity.get(split))
    fault = f"its {size:,} queries are not those of a split of dataset {dataset.name}"
    raise DatasetError(f"{path}: {fault}. {OTHER}")


OTHER = "It may be damaged, or of another version of the edge list."


def _recognised(listed: Listed, asked: Sequence[Queries], repeated: IntArray | None) -> Listed:
    """Tell true answers from negatives, and count the queries, two of each fact, whose negatives hold true answers."""
    lists = [listed.of(it) for it in asked]
    hits = [rows.positions(it.owners, it.answers) >= 0 for rows, it in zip(lists, asked, strict=True)]
    lengths, true = np.concatenate([rows.lengths for rows in lists]), sum(int(hit.sum()) for hit in hits)
    if true == lengths.sum() == sum(map(len, hits)):
        return replace(listed, are_answers=True)
    if np.ptp(lengths) or 2 * true > lengths.sum():
        fault = "neither the true answers of each query at its time (time-filtered) nor negatives, as many for each"
        raise DatasetError(f"{listed.path}: its lists are {fault} (dst-time-filtered). {OTHER}")
    counts = np.zeros(3, np.int64)
    for it, hit in zip(asked, hits, strict=True):
        times = np.ones(len(hit), np.int64) if repeated is None else repeated[it.triples]
        others = np.bincount(it.owners, hit, minlength=len(it))[it.owners] > hit
        counts += [times[hit].sum(), times[others].sum(), times.sum()]
    queries, file = f"in {counts[0]:,} of {counts[2]:,} queries of ", Example.path(listed.path.name)
    itself = " the answer is among its own negatives and ties with itself, in "
    another = f"{counts[1]:,} another true answer of that time is. All compete, as in TGB."
    return replace(listed, notes=(Note("negatives", queries, file, itself, another),) if true else ())


def _listed_ids(path: Path, dataset: Dataset, times: Vocabulary) -> KnownAnswers:
    """Read what is listed for each query, in the ids of the graph."""
    refuse_missing(path)
    content = read_pickled(path)
    with refusing(path, "expected a dictionary of TGB 2.0: (time, source, relation) -> ids", ValueError, TypeError):
        keys, lists = np.array([*dict(content)]).reshape(-1, 3), [np.asarray(ids) for ids in dict(content).values()]
        columns = np.column_stack([np.repeat(keys, [*map(len, lists)], axis=0), np.concatenate(lists)])
        if columns.dtype.kind not in "iu":
            raise ValueError(f"found {columns.dtype}")
    relations, moments = dataset.relations.labels, np.asarray(times.labels.cast(pa.int64()))
    numbers = np.asarray(relations.cast(pa.int64())) if _are_numbers(relations) else np.arange(len(relations))
    both = pa.array(np.concatenate([numbers, numbers + len(numbers)]))
    if len(pc.unique(both)) < len(both):
        fault = f"relations of dataset {dataset.name} have the numbers of inverses, which are {len(numbers)} larger"
        raise DatasetError(f"{path}: {fault}. Number them from 0 in the edge list, and make the negatives again.")
    of_relations = pc.fill_null(pc.index_in(pa.array(columns[:, 2]).cast(pa.int64()), both), -1)
    ids = np.column_stack([find_sorted(moments, columns[:, 0]), columns[:, 1], of_relations, columns[:, 3]])
    wrong = (ids < 0) | (ids >= [len(moments), len(dataset.entities), len(both), len(dataset.entities)])
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        what = ("time", "source", "relation", "listed id")[column]
        raise DatasetError(f"{path}: the {what} {columns[row, column]} is not of dataset {dataset.name}. {OTHER}")
    listed = KnownAnswers.of([Triples(ids[:, 1:].astype(np.int64), ids[:, 0].astype(np.int64))], "tail")
    if len(listed.answers) < len(ids):
        raise DatasetError(f"{path}: it lists an entity twice for one query. {OTHER}")
    return listed
