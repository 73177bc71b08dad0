"""Temporal graphs: text, Parquet, data frames and tkbc's folders give the same quadruples; and what is refused."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgeval import Dataset, Triples, Vocabulary, load_dataset
from kgeval.base.errors import DatasetError, InputError
from kgeval.data.known import KnownAnswers, known_answers, known_triples
from kgeval.data.queries import Queries
from tests.data.folders import lines, write

TRAIN = [
    ("Găgăuzia\u00a0", "visits", 'the "Hall"', "2014-02-01"),
    ("Ann", "visits", "Bea", "2014-01-09"),
    ("Ann", "visits", "Bea", "2014-01-10"),
]
TEST = [("Bea", "meets", "Ann", "2014-01-09"), ("Ann", "visits", "Bea", "2013-12-31")]
NAMES = ["head", "relation", "tail", "time"]


def as_text(folder):
    write(folder, {"train": TRAIN, "test": TEST})


def with_header(folder):
    turned = {
        name: [("date", "tail", "head", "relation"), *((d, t, h, r) for h, r, t, d in rows)]
        for name, rows in (("train", TRAIN), ("test", TEST))
    }
    write(folder, turned, ending=".tsv")


def as_parquet(folder):
    for name, rows in (("train", TRAIN), ("test", TEST)):
        columns = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
        columns["time"] = pa.array([dt.date.fromisoformat(day) for day in columns["time"]])
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


@pytest.mark.parametrize("write", [as_text, with_header, as_parquet])
def test_each_kind_of_file_gives_the_quadruples_of_its_rows(tmp_path, write):
    write(tmp_path)
    data = load_dataset(tmp_path)
    for split, rows in ((data.train, TRAIN), (data.test, TEST)):
        ids = zip(*split.ids.T.tolist(), split.contexts.tolist(), strict=True)
        assert [(data.entities[h], data.relations[r], data.entities[t], data.times[d]) for h, r, t, d in ids] == rows
    assert list(data.times) == ["2013-12-31", "2014-01-09", "2014-01-10", "2014-02-01"]
    assert data.repeated == {}
    assert "4 times" in repr(data)


def test_rows_in_memory_give_the_graph_of_the_same_files(tmp_path):
    as_text(tmp_path)
    stored = load_dataset(tmp_path)
    frames = {name: pd.DataFrame(rows, columns=NAMES) for name, rows in (("train", TRAIN), ("test", TEST))}
    for parts in ({"train": TRAIN, "test": TEST}, frames):
        data = Dataset.from_labels(**parts)
        assert data.times == stored.times
        assert data.sha256() == stored.sha256()
    other = [(*row[:3], "2014-01-09") for row in TEST]
    assert Dataset.from_labels(train=TRAIN, test=other).sha256() != stored.sha256()


def test_whole_numbers_are_times_in_the_order_of_their_values(tmp_path):
    for name, times in (("train", ("10", "9")), ("test", ("-1", "100"))):
        (tmp_path / f"{name}.tsv").write_text("head\trelation\ttail\ttime\n" + lines(("a", "r", "b", t) for t in times))
    assert list(load_dataset(tmp_path).times) == ["-1", "9", "10", "100"]
    frame = pd.DataFrame({"head": ["a", "a"], "relation": ["r", "r"], "tail": ["b", "b"], "time": [10, 9]})
    assert list(Dataset.from_labels(train=frame).times) == ["9", "10"]
    decimal = Dataset.from_labels(train=frame.assign(time=["10.0", "9.5"]))
    assert (list(decimal.times), decimal.notes) == (["9.5", "10.0"], ())
    assert list(Dataset.from_labels(train=frame.assign(time=["10", " 9.5"])).times) == ["9.5", "10"]
    nanoseconds = [f"{10**18 + it}" for it in (2, 1)]
    assert list(Dataset.from_labels(train=frame.assign(time=nanoseconds)).times) == nanoseconds[::-1]


@pytest.mark.parametrize("times", [("2014", "2014-01", "2014-01-09"), ("2014-01-09T10:00:00Z", "2014-01-09 11:00:00")])
def test_dates_have_the_order_of_text(times):
    data = Dataset.from_labels(train=[("a", "r", "b", time) for time in times])
    assert (set(data.times), data.notes) == ({*times}, ())


@pytest.mark.parametrize("times", [("01.12.2014", "02.01.2014"), ("2014-1-9", "2014-12-01"), ("t10", "t9")])
def test_other_times_have_that_order_with_a_note(times):
    data = Dataset.from_labels(train=[("a", "r", "b", time) for time in times])
    assert list(data.times) == [*times]
    assert f"dates such as 2014-05-13, here {times[0]!r}, have the order of text" in data.notes[0]


def test_a_fourth_column_of_dates_with_hours_is_a_time(tmp_path):
    for name, day in (("train", "2014-01-09T10:00:00Z"), ("test", "2014-01-10T10:00:00Z")):
        (tmp_path / f"{name}.tsv").write_text(lines([("a", "r", "b", day)]))
    assert list(load_dataset(tmp_path).times) == ["2014-01-09T10:00:00Z", "2014-01-10T10:00:00Z"]


def test_a_triple_is_repeated_only_at_the_same_time(tmp_path):
    as_text(tmp_path)
    (tmp_path / "train.txt").write_text(lines([*TRAIN, TRAIN[1]]), encoding="utf-8")
    data = load_dataset(tmp_path)
    assert (len(data.train), data.repeated) == (3, {"train": 1})
    assert data.multiplicity["train"].tolist() == [1, 2, 1]


@pytest.mark.parametrize("labels", [True, False])
def test_a_folder_of_tkbc_is_the_graph_it_was_made_of(tmp_path, labels):
    """Written as tkbc's process_icews.py writes it: sorted labels, arrays of uint64, and what its evaluator skips."""
    as_text(tmp_path)
    stored = load_dataset(tmp_path)
    folder = tmp_path / "tkbc"
    folder.mkdir()
    rows = [*TRAIN, *TEST]
    names = {"ent_id": sorted({row[i] for row in rows for i in (0, 2)}), "rel_id": sorted({row[1] for row in rows})}
    names["ts_id"] = sorted({row[3] for row in rows})
    ids = {name: {label: index for index, label in enumerate(there)} for name, there in names.items()}
    for split, part in (("train", TRAIN), ("valid", TEST[:1]), ("test", TEST)):
        files = ("ent_id", "rel_id", "ent_id", "ts_id")
        array = np.array([[ids[file][cell] for file, cell in zip(files, row, strict=True)] for row in part], np.uint64)
        (folder / f"{split}.pickle").write_bytes(pickle.dumps(array))
    (folder / "to_skip.pickle").write_bytes(pickle.dumps({"lhs": {}, "rhs": {}}))
    for name, there in ids.items():
        if labels:
            (folder / name).write_text(lines((label, str(index)) for label, index in there.items()), encoding="utf-8")
    data = load_dataset(folder)
    triples = zip(*data.test.ids.T.tolist(), data.test.contexts.tolist(), strict=True)
    if labels:
        assert data.times == stored.times
        found = [(data.entities[h], data.relations[r], data.entities[t], data.times[d]) for h, r, t, d in triples]
        assert found == TEST
        assert {path.name for path in data.files} >= {"ent_id", "rel_id", "ts_id", "test.pickle"}
    else:
        assert list(data.times) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("train", "test", "why"),
    [
        ("head\trelation\ttail\ttime\na\tr\tb\t\n", "a\tr\tb\t2014-01-01\n", "line 2: the time '' is empty"),
        ("a\tr\tb\t2014-01-01\n", "a\tr\tb\n", "no times, but train.txt has them"),
        (
            "head\trelation\ttail\ttime\tdate\na\tr\tb\t1\t2\n",
            "a\tr\tb\n",
            r"several columns are the time \('time' and 'date'\)",
        ),
        ("a\tr\tb\t2014-01-01\na\tr\tb\n", "a\tr\tb\t2014-01-01\n", "line 2"),
    ],
)
def test_times_that_are_missing_or_said_twice_are_refused(tmp_path, train, test, why):
    (tmp_path / "train.txt").write_text(train)
    (tmp_path / "test.txt").write_text(test)
    with pytest.raises(DatasetError, match=why):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("contexts", "times", "why"),
    [
        (None, ["a"], "triple 0 has no time, but the dataset has times"),
        ([0], None, "triple 0 has a time, but the dataset has no times"),
        ([1], ["a"], "triple 0 names time id 1, but there are 1 of them"),
        ([-1], ["a"], "triple 0 names time id -1"),
    ],
)
def test_all_triples_have_a_time_or_none(contexts, times, why):
    triples = Triples(np.array([[0, 0, 0]]), None if contexts is None else np.array(contexts))
    labels = {"entities": Vocabulary(["e"]), "relations": Vocabulary(["r"], "relation")}
    with pytest.raises(DatasetError, match=why):
        Dataset.build("d", {"test": triples}, times=None if times is None else Vocabulary(times, "time"), **labels)


FIVE = pickle.dumps(np.zeros((2, 5), np.uint64))
NUMBERS = pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"], "time": [0.5]})
INTERVAL = "Facts with a time interval.* are not supported"


@pytest.mark.parametrize(
    ("ending", "content", "why"),
    [
        ("txt", "a\tr\tb\t1980\t1990\nb\tr\tc\t1981\t1992\n", INTERVAL),
        ("txt", 'a\tr\tb\t<occursSince>\t"1980-##-##"\nb\tr\tc\n', INTERVAL),
        ("txt", "head\trelation\ttail\tstart_time\tend_time\na\tr\tb\t1980\t1990\n", INTERVAL),
        ("txt", "h\tr\tt\tsince\tuntil\na\tr\tb\t1980\t1990\n", INTERVAL),
        ("pickle", FIVE, rf"expected rows of three ids, or four with a time; found .* \[2, 5\]\. {INTERVAL}"),
        ("parquet", NUMBERS, "not dates, text or whole numbers"),
    ],
)
def test_intervals_and_what_is_no_label_of_a_time_are_refused(tmp_path, ending, content, why):
    """tkbc's own files of yago15k and wikidata have rows of five ids."""
    for path in (tmp_path / f"{split}.{ending}" for split in ("train", "test")):
        if ending == "parquet":
            pq.write_table(content, path)
        else:
            path.write_bytes(content if ending == "pickle" else content.encode())
    with pytest.raises(DatasetError, match=why):
        load_dataset(tmp_path)


# Queries and known answers


ids = st.lists(st.tuples(*(st.integers(0, high) for high in (3, 1, 3, 2))), max_size=30)


def statements(rows):
    array = np.array(rows, np.int64).reshape(-1, 4)
    return Triples(array[:, :3].copy(), array[:, 3].copy())


@given(ids, ids, st.sampled_from(["head", "tail"]))
def test_queries_keep_the_time_and_know_the_facts_of_theirs(evaluated, facts, side):
    queries = Queries.of(statements(evaluated), side)
    anchor, answer = (0, 2) if side == "tail" else (2, 0)
    asked = {(row[anchor], row[1], row[3]) for row in evaluated}
    keys = list(zip(queries.anchors.tolist(), queries.relations.tolist(), queries.contexts.tolist(), strict=True))
    assert (len(keys), set(keys)) == (len(asked), asked)
    rows = known_answers(queries, [statements(facts)])
    anytime = KnownAnswers.of([statements(facts).without_contexts()], side).rows(queries)
    for number, key in enumerate(keys):
        there = [row for row in facts if (row[anchor], row[1]) == key[:2]]
        assert rows.row(number).tolist() == sorted({row[answer] for row in there if row[3] == key[2]})
        assert anytime.row(number).tolist() == sorted({row[answer] for row in there})
    if len(keys) > 1:
        keep = np.arange(len(keys)) % 2 == 1
        assert queries.where(keep).contexts.tolist() == queries.contexts[keep].tolist()
        assert queries[1:].contexts.tolist() == queries.contexts[1:].tolist()
    each = Queries.per_triple(statements(evaluated), side)
    assert each.contexts.tolist() == [evaluated[row][3] for row in each.triples.tolist()]


def test_a_query_without_a_time_knows_the_facts_of_all(tmp_path):
    as_text(tmp_path)
    data = load_dataset(tmp_path)
    queries = Queries.of(data.train.without_contexts(), "tail")
    assert known_answers(queries, known_triples(data, ("train", "test"))).lengths.sum() == len(queries)
    with pytest.raises(InputError, match="these queries have no time"):
        KnownAnswers.of([data.train], "tail").rows(queries)
