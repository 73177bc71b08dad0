"""Comparability: the rows that rank tables share, and the rules in which they differ.

``compare`` and ``same_ranks`` call ``shared_rows``, which joins tables by the labels of their rows, and
``differing_fields``, which refuses differences that were not allowed: another dataset, split, protocol, filter,
candidates, or other triples.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.assumptions import read_as
from kgeval.base.errors import MetricError
from kgeval.base.notes import Note
from kgeval.base.parquet_tables import LABELS, with_columns
from kgeval.base.settings import names_among
from kgeval.data.provenance import ALIKE, UNKNOWN
from kgeval.data.queries import starts_of_runs
from kgeval.data.triples import TARGETS
from kgeval.metrics.averages import numbered
from kgeval.metrics.intervals.interval import PLURAL, Unit
from kgeval.ranking.rank_table import LISTED, TIME, RankTable

LARGEST_KEY = 2**62
"""the largest product of two numbers of values for which two columns are joined into one int64 key"""

TRIPLES = "triples"
"""a further difference that can be allowed: the triples and sides that were ranked"""


@dataclass(frozen=True, eq=False)
class SharedRows:
    """The rows that tables share, by head, relation, tail, time and side, in the order of these labels."""

    rows: Mapping[str, IntArray]
    """the indices of the shared rows in each model's table: {model: int64[row]}"""
    others: Mapping[str, int]
    """{model: the number of rows of its table that are not shared}"""
    triples: IntArray
    """the number of each row's triple, int64[row]; like all numbers below, a function of the labels alone"""
    sides: IntArray
    """the index of each row's side in ``TARGETS``; int64[row]"""
    relations: IntArray
    anchors: IntArray
    """the entity that each row's query contains (the head, if the relation is predicted); int64[row]"""
    partners: IntArray
    """the relation of each row's query, or the tail if the relation is predicted; int64[row]"""
    times: IntArray
    """the time of each row; int64[row], all 0 if facts have no times"""

    def __len__(self) -> int:
        return len(self.triples)

    @property
    def of_all(self) -> bool:
        """Whether all rows of all tables are shared."""
        return not any(self.others.values())

    def keys(self, unit: Unit) -> IntArray:
        """Return the number of each row's unit, such as its triple or its relation; int64[row]."""
        return np.asarray(getattr(self, PLURAL[unit]))

    @cached_property
    def queries(self) -> IntArray:
        """The number of each row's query, in the order of their labels; int64[row]."""
        (keys,) = _fold([self.sides], [self.partners], [self.anchors], [self.times])
        return np.unique(keys, return_inverse=True)[1]

    def mask(self, model: str) -> BoolArray:
        """Which rows of a model's table are shared; bool[row]."""
        kept = np.zeros(len(self) + self.others[model], np.bool_)
        kept[self.rows[model]] = True
        return kept


def shared_rows(tables: Mapping[str, RankTable]) -> SharedRows:
    """Find the rows that all tables share; a repeated row is shared as often as every table has it."""
    several = list(tables.values())
    heads, relations, tails = (_label_codes(several, name) for name in ("head", "relation", "tail"))
    sides = [np.select([table.column("side") == side for side in TARGETS], range(len(TARGETS))) for table in several]
    times = _times(several)
    triples = _fold(heads, relations, tails, times)
    rows = _shared(_fold(triples, sides))
    of_first = rows[0]
    triple, side = triples[0][of_first], sides[0][of_first]
    head, relation, tail = (numbers[0][of_first] for numbers in (heads, relations, tails))
    return SharedRows(
        rows=dict(zip(tables, rows, strict=True)),
        others={model: len(table) - len(of_first) for model, table in tables.items()},
        triples=numbered(triple)[1],
        sides=side,
        relations=relation,
        anchors=np.where(side == TARGETS.index("head"), tail, head),
        partners=np.where(side == TARGETS.index("relation"), tail, relation),
        times=times[0][of_first],
    )


def with_common_lists(tables: dict[str, RankTable], same: SharedRows) -> dict[str, RankTable]:
    """Set the column of lists in all tables to whether all, some or none of the models' lists name the answer.

    A model with lists predicts some candidates for each query. The tables stay as they are if no model has lists, or if
    not all rows are shared.
    """
    groups = ["listed", "in some lists", "not listed"]
    listed = [table.column(LISTED)[same.rows[key]] for key, table in tables.items() if LISTED in table.columns]
    if not listed or not same.of_all:
        return tables
    named = np.where(np.all(listed, axis=0), 0, np.where(np.any(listed, axis=0), 1, 2)).astype(np.int32)
    common = {}
    for key, table in tables.items():
        column = pa.DictionaryArray.from_arrays(named[np.argsort(same.rows[key])], groups, ordered=True)
        common[key] = replace(table, data=with_columns(table.data, {LISTED: column}))
    return common


def _shared(keys: Sequence[IntArray]) -> list[IntArray]:
    """Find the rows of each table whose keys all tables have, in the order of the keys; int64[row] for each table."""
    orders = [np.argsort(key, kind="stable") for key in keys]
    ordered = [key[order] for key, order in zip(keys, orders, strict=True)]
    repeats = []
    for key in ordered:  # count how often the key of each row stands before it
        starts = starts_of_runs(key)
        repeats.append(np.arange(len(key)) - np.repeat(starts, np.diff(np.r_[starts, len(key)])))
    if any(repeat.any() for repeat in repeats):
        ordered = _fold(ordered, repeats)
    if all(np.array_equal(key, ordered[0]) for key in ordered[1:]):
        return orders
    shared = reduce(lambda left, right: np.intersect1d(left, right, assume_unique=True), ordered)
    return [order[np.searchsorted(key, shared)] for key, order in zip(ordered, orders, strict=True)]


def _times(tables: Sequence[RankTable]) -> list[IntArray]:
    """Number the times of the rows, alike in all tables; all 0 if a table has no times, so that times do not count."""
    if any(TIME not in table.columns for table in tables):
        return [np.zeros(len(table), np.int64) for table in tables]
    return _value_codes([table.column(TIME).astype(str) for table in tables])


def _fold(*columns: Sequence[IntArray]) -> list[IntArray]:
    """Join several numbers of each row into one key, sorted by the first, then the second, …, alike in all tables.

    Each of ``columns`` has an array for each table.
    """
    folded = [key.astype(np.int64) for key in columns[0]]
    for column in columns[1:]:
        size, most = (1 + max((int(key.max(initial=0)) for key in keys), default=0) for keys in (column, folded))
        if size * most > LARGEST_KEY:
            folded = _value_codes(folded)
        folded = [key * size + further for key, further in zip(folded, column, strict=True)]
    return folded


def _value_codes(columns: Sequence[Any]) -> list[IntArray]:
    """Number the values of one column of each table in ascending order, alike in all tables: int64[row] for each."""
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return np.split(np.unique(np.concatenate(columns), return_inverse=True)[1], ends)


def _label_codes(tables: Sequence[RankTable], name: str) -> list[IntArray]:
    """Number the labels of a column in ascending order, alike in all tables; if a label is missing, number the ids."""
    columns = [table.data.column(f"{name}_label") for table in tables]
    if any(column.null_count for column in columns):
        return _value_codes([table.column(name) for table in tables])
    encoded = [column if pa.types.is_dictionary(column.type) else column.dictionary_encode() for column in columns]
    chunks = pa.chunked_array([chunk.cast(LABELS) for column in encoded for chunk in column.chunks], LABELS)
    unified = chunks.unify_dictionaries()
    labels = unified.chunk(0).dictionary if unified.num_chunks else pa.array([], pa.string())
    places = pc.rank(labels, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    codes = np.concatenate([np.zeros(0, np.int64), *(places[chunk.indices.to_numpy()] for chunk in unified.chunks)])
    return np.split(codes, np.cumsum([len(table) for table in tables])[:-1])


def differing_fields(tables: Mapping[str, RankTable], same: SharedRows, allow: Collection[str]) -> dict[str, str]:
    """Return the allowed differences of models' ranks by field; refuse others. An unknown value is no difference."""
    differences = {}
    for field in ALIKE:
        whose: dict[str, list[str]] = {}
        for model, table in tables.items():
            if (value := _value(table, field)) != UNKNOWN:
                whose.setdefault(value, []).append(model)
        whose = _graphs(tables) if field == "dataset" else whose
        if len(whose) > 1:
            differences[field] = "; ".join(f"{value} in {' and '.join(models)}" for value, models in whose.items())
    if not differences.keys() & {"dataset", "split"}:  # these have other triples, which need not be said again
        differences = {**_other_ranks(tables, same), **differences}
    if refused := [field for field in differences if field not in allow]:
        listed = "\n".join(f"{field}: {differences[field]}" for field in refused)
        raise MetricError(
            f"these runs cannot be compared.\n{listed}\nRank them alike, or allow the differences: "
            f"--allow {','.join(refused)} (in Python allow={refused})."
        )
    return differences


def allowed_fields(allow: object) -> list[str]:
    return [*names_among("allow (--allow): unknown field", allow, [*ALIKE, TRIPLES], MetricError)]


def _other_ranks(tables: Mapping[str, RankTable], same: SharedRows) -> dict[str, str]:
    """Name the models that ranked other triples or sides or, if candidates are unknown, had other numbers of them."""
    (first, table), *others = tables.items()
    if not same.of_all:
        counts = ", ".join(f"{count:,} of {len(tables[model]):,} in {model}" for model, count in same.others.items())
        samples = "".join(f"; {note}" for note in notes_on_samples(tables))
        lacking = f"rows that another model lacks: {counts}{samples}"
        return {TRIPLES: f"the models rank different triples or sides; {lacking}"}
    if any(table.candidates == UNKNOWN for table in tables.values()):
        expected = table.column("candidates")[same.rows[first]]
        candidates = {model: other.column("candidates")[same.rows[model]] for model, other in others}
        if unlike := [model for model, numbers in candidates.items() if not np.array_equal(numbers, expected)]:
            return {"candidates": f"{', '.join(unlike)} and {first} have different numbers of them"}
    return {}


def _value(table: RankTable, field: str) -> str:
    value = getattr(table, field)
    if field != "filter":
        return str(value)
    return UNKNOWN if value is None else ", ".join(value) or "none"


def bare_name(dataset: str) -> str:
    """A dataset's name without case and punctuation: PyKEEN calls it FB15k237, and also accepts fb15k-237."""
    return "".join(filter(str.isalnum, dataset)).lower()


def dataset_names(tables: Sequence[Any]) -> list[str]:
    """Name the dataset of each table, as its first table does; a table without a name gets that of all others, if any.

    Datasets are one if their fingerprints are equal, or names without case and punctuation.
    """
    of_graph, written = dict[str, str](), dict[str, str]()
    for table in (table for table in tables if table.dataset != UNKNOWN):
        name = of_graph.get(table.fingerprint, written.get(bare_name(table.dataset), table.dataset))
        written.setdefault(bare_name(table.dataset), name)
        of_graph.update({table.fingerprint: name} if table.fingerprint else {})
    only = next(iter(written.values())) if len({*written.values()}) == 1 else UNKNOWN
    return [of_graph.get(table.fingerprint, written.get(bare_name(table.dataset), only)) for table in tables]


def _graphs(tables: Mapping[str, Any]) -> dict[str, list[str]]:
    """Say which models ranked which dataset; several graphs of one name have a part of their fingerprints beside it."""
    models = _by_graph(tables)
    names = [name for name, _ in models]
    shown: dict[str, list[str]] = {}
    for (name, graph), those in models.items():
        read = read_as(tables[those[0]].assumptions)
        beside = f" (graph {', '.join(filter(None, [graph[:8], read]))})" if names.count(name) > 1 else ""
        shown.setdefault(f"{name}{beside}", []).extend(those)
    return shown


def _by_graph(tables: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """List the models by the name and the fingerprint of the graph; without a fingerprint, by the first of its name."""
    names = dict(zip(tables, dataset_names([*tables.values()]), strict=True))
    first = {names[model]: table.fingerprint for model, table in reversed([*tables.items()]) if table.fingerprint}
    models: dict[tuple[str, str], list[str]] = {}
    for model, table in tables.items():
        if (name := names[model]) != UNKNOWN:
            models.setdefault((name, table.fingerprint or first.get(name, "")), []).append(model)
    return models


def refuse_two_graphs(tables: Mapping[str, Any]) -> None:
    """Refuse runs on two graphs of one name."""
    first: dict[str, str] = {}
    for (name, _), (model, *_) in _by_graph(tables).items():
        if (other := first.setdefault(name, model)) != model:
            fault = f"two different graphs are called {name!r}: those of {other} and of {model}"
            cure = "kgeval compare --allow dataset compares them anyway."
            raise MetricError(f"{fault} differ in labels or facts. {cure}")


def notes_on_samples(tables: Mapping[str, RankTable]) -> Iterator[str]:
    for model, table in tables.items():
        if table.sampling is not None:
            yield Note("intervals", f"{model} is {table.sampling}")


def notes_on_histories(tables: Mapping[str, RankTable]) -> Iterator[str]:
    """Say which facts before a query's time each model had seen, if they differ; models remain comparable."""
    whose: dict[str, list[str]] = {}
    for model, table in tables.items():
        whose.setdefault(f"history {table.history or 'not said'}", []).append(model)
    if len(whose) > 1:
        said = "; ".join(f"{history} in {' and '.join(models)}" for history, models in whose.items())
        yield Note("differences", f"the models had different facts before a query in view: {said}.")


def notes_on_unknowns(tables: Mapping[str, RankTable]) -> Iterator[str]:
    models: dict[str, list[str]] = {}
    for model, table in tables.items():
        graph = [] if table.fingerprint or table.dataset == UNKNOWN else ["graph (known by its name alone)"]
        if unknown := ", ".join([*(field for field in ALIKE if _value(table, field) == UNKNOWN), *graph]):
            models.setdefault(unknown, []).append(model)
    for fields, names in models.items():
        yield Note("differences", f"not known of the ranks of {', '.join(names)}, and perhaps different: {fields}.")
