"""Folders of forecasting: RE-Net's ids and times in units of the file, and TGB 2.0's edge lists."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import load_dataset
from kgeval.base.errors import DatasetError
from tests.data.folders import lines
from tests.data.tgb_graphs import Graph

FILES = {
    "stat.txt": "4\t2\t0",
    "entity2id.txt": "Iran\t1\nChina\t0\nCabinet / Council (Iraq) \t3\n<Athletic_Park_(Vancouver)>\t2\n",
    "relation2id.txt": "Make statement\t0\nConsult\t1",
    "train.txt": "0\t0\t1\t48\t0\n1\t1\t2\t0\t0\n0\t0\t1\t0\t0\n",
    "valid.txt": "0\t0\t1\t72\t0\n",
    "test.txt": "2\t1\t0\t120\t0\n1\t0\t0\t96\t0\n",
}


def made(folder, files=None):
    for name, content in {**FILES, **(files or {})}.items():
        if content is not None:
            (folder / name).write_bytes(content.encode())
    return folder


def quadruples(data, split):
    triples = data.splits[split]
    return [(h, r, t, data.times[time]) for (h, r, t), time in zip(triples.ids.tolist(), triples.contexts, strict=True)]


@pytest.mark.parametrize(
    ("train", "entities"),
    [
        (FILES["train.txt"], FILES["entity2id.txt"]),
        ("0  \t0    \t1\t48\t0\n1    \t1  \t2\t0\t0\n0\t0\t1\t0\t0", FILES["entity2id.txt"].replace("\n", "\r\n")),
        (FILES["train.txt"].replace("\t0\n", "\t-1\r\n"), FILES["entity2id.txt"].replace("\n", "\t1913-##-##\t####\n")),
        (FILES["train.txt"].replace("\t0\n", "\n"), FILES["entity2id.txt"]),
        (FILES["train.txt"].replace("\t0\n", "\t-\n"), FILES["entity2id.txt"]),
    ],
)
def test_the_forms_of_the_real_files_are_one_graph(tmp_path, train, entities):
    data = load_dataset(made(tmp_path, {"train.txt": train, "entity2id.txt": entities}))
    assert (data.layout, data.notes, data.repeated) == ("renet", (), {})
    assert [*data.entities] == ["China", "Iran", "<Athletic_Park_(Vancouver)>", "Cabinet / Council (Iraq) "]
    assert [*data.relations] == ["Make statement", "Consult"]
    assert [*data.times] == ["0", "48", "72", "96", "120"]
    assert quadruples(data, "train") == [(0, 0, 1, "48"), (1, 1, 2, "0"), (0, 0, 1, "0")]
    assert quadruples(data, "test") == [(2, 1, 0, "120"), (1, 0, 0, "96")]


facts = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4), st.integers(-3, 300)), min_size=1)


@settings(max_examples=20)
@given(facts, facts, facts | st.none(), st.booleans())
def test_ids_without_labels_are_as_many_as_stat_says(train, test, valid, wide):
    """Entities without facts count; a repeated fact counts once, with its multiplicity."""
    splits = {"train": train, "valid": valid, "test": test}
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "stat.txt").write_text("7\t3\t189\n")
        for split, rows in splits.items():
            if rows is not None:
                (Path(name) / f"{split}.txt").write_text(lines((*row, 0) if wide else row for row in rows))
        data = load_dataset(name)
    assert ([*data.entities], [*data.relations]) == ([*"0123456"], [*"012"])
    moments = sorted({row[3] for rows in splits.values() for row in rows or []})
    assert [*data.times] == [*map(str, moments)]
    for split, rows in splits.items():
        counts = Counter(rows or [])
        expected = [(h, r, t, str(time)) for h, r, t, time in counts]
        assert (quadruples(data, split) if rows else []) == expected
        assert data.multiplicity.get(split, [1] * len(counts)) == pytest.approx([*counts.values()])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"stat.txt": "4\n"}, "stat.txt, line 1: expected the numbers of entities and of relations, found '4'"),
        ({"stat.txt": "four\t2\n"}, "found 'four 2'"),
        ({"stat.txt": "5\t2\t0\n"}, "entity2id.txt: 4 entity labels, but stat.txt says entities: 5"),
        ({"stat.txt": "4\t1\t0\n"}, "relation2id.txt: 2 relation labels, but stat.txt says relations: 1"),
        (
            {"stat.txt": "2\t2\t0\n", "entity2id.txt": None},
            "train.txt, line 2: the triple names entity id 2, but there",
        ),
        ({"stat.txt": f"{10**15}\t2\t0\n", "entity2id.txt": None}, "do not fit into memory"),
        ({"stat.txt": "0\t2\t0\n", "entity2id.txt": None}, "without a file of entity labels it must say entities"),
        ({"entity2id.txt": "a\t0\na\t1\nb\t2\nc\t3\n"}, "two ids carry the entity label 'a'"),
        ({"entity2id.txt": "a\t0\nd\t1\nb\t2\nc\t4\n"}, "line 4: the id 4 is wrong"),
        ({"entity2id.txt": "a\tx\nd\t1\nb\t2\nc\t3\n"}, "line 1: the id 'x' is not a whole number"),
        ({"test.txt": "0\t0\t1\t5\n0\t2\t1\t5\n"}, "test.txt, line 2: the triple names relation id 2"),
        ({"test.txt": "0\t0\t1\t-1x\n"}, "test.txt, line 1: the time '-1x' is not a whole number"),
        ({"test.txt": "0\t0\t1\n"}, "test.txt, line 1: 3 columns where 4 columns (subject, relation, object, time)"),
        ({"test.txt": ""}, "test.txt: no triples in it"),
        ({"test.txt": None}, "test.txt"),
    ],
)
def test_what_is_wrong_is_told_with_its_file(tmp_path, files, message):
    with pytest.raises(DatasetError) as caught:
        load_dataset(made(tmp_path, files))
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_fifth_column_that_varies_is_noted(tmp_path):
    """It may be the end of an interval."""
    data = load_dataset(made(tmp_path, {"train.txt": "0\t0\t1\t48\t50\n1\t1\t2\t0\t7\n"}))
    assert data.notes == ("the fifth column of train.txt is not the same in all rows. It was not read.",)
    assert quadruples(data, "train") == [(0, 0, 1, "48"), (1, 1, 2, "0")]


def test_other_folders_with_such_files_are_what_they_were(tmp_path):
    """OpenKE's, and labelled triples beside a stat.txt and TLogic's JSON."""
    (openke := tmp_path / "openke").mkdir()
    rows = {"train2id.txt": "1\n0 1 0\n", "test2id.txt": "1\n1 0 1\n"}
    made(openke, {**dict.fromkeys(("train.txt", "valid.txt", "test.txt")), **rows})
    assert load_dataset(openke).layout == "openke"
    (labels := tmp_path / "labels").mkdir()
    rows = {"train.txt": "A\tmeets\tB\t2014-01-01\n", "test.txt": "B\tmeets\tA\t2014-01-02\n", "valid.txt": None}
    made(labels, {**rows, "entity2id.json": '{"A": 0, "B": 1}', "ts2id.json": '{"2014-01-01": 0}'})
    data = load_dataset(labels)
    assert (data.layout, [*data.times]) == ("labels", ["2014-01-01", "2014-01-02"])
    (labels / "whole_edgelist.csv").write_text("ts,head,tail,relation_type\n1,a,b,r\n")
    assert load_dataset(labels).sha256() == data.sha256()


def test_a_real_folder_has_the_facts_of_its_lines(shared):
    folder = shared / "data/renet-icews14"
    data = load_dataset(folder)
    assert (len(data.entities), len(data.relations), len(data.times)) == (7128, 230, 365)
    for split, size in {"train": 74845, "valid": 8514, "test": 7371}.items():
        rows = [line.split("\t") for line in (folder / f"{split}.txt").read_text().splitlines()]
        assert quadruples(data, split) == [(int(h), int(r), int(t), time) for h, r, t, time, _ in rows]
        assert len(rows) == size


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(-5, 40), *[st.integers(0, 9)] * 3), min_size=1, max_size=50),
    st.sampled_from(["tkgl-made", "tkgl-yago"]),
    st.sampled_from(
        ["timestamp,head,tail,relation_type", "ts,head,tail,relation_type", "date,head,tail,relation_type"]
    ),
    st.booleans(),
)
def test_tgbs_edge_lists_have_its_ids_and_splits(rows, name, header, text):
    graph = Graph([(t, f"Q{h}", f"Q{o}", f"P{r}") if text else (t, h, o, r) for t, h, o, r in rows], name)
    with tempfile.TemporaryDirectory() as folder:
        graph.write(Path(folder), header)
        data = load_dataset(folder)
    assert (data.name, data.layout) == (name, "tgb")
    assert [*data.entities] == [*map(str, graph.entities)]
    assert [*data.relations] == [*map(str, graph.relations)]
    assert [*data.times] == [*map(str, sorted({row[0] for row in rows}))]
    assert {*data.splits} == {*graph.splits}
    for split, facts in graph.splits.items():
        counts = Counter((h, r, t, str(time)) for h, r, t, time in facts)
        assert quadruples(data, split) == [*counts]
        assert data.multiplicity.get(split, [1] * len(counts)) == pytest.approx([*counts.values()])


def test_the_times_of_tgbs_splits_are_told_and_static_facts_left_aside(tmp_path):
    graph = Graph([(time, "a", "b", "r") for time in range(100, 200, 10)])
    graph.write(tmp_path)
    (tmp_path / "tkgl-made_static_edgelist.csv").write_text("head,tail,relation_type\na,c,r\n")
    (tmp_path / "tkgl-made_test_ns.pkl").write_bytes(b"")
    data = load_dataset(tmp_path)
    assert data.notes == (
        "split as TGB does, at the quantiles 0.7 and 0.85 of all times: train to 163, valid to 180, then test.",
        "tkgl-made_static_edgelist.csv was not read: its facts have no times.",
    )
    assert [path.name for path in data.files] == ["tkgl-made_edgelist.csv", "tkgl-made_test_ns.pkl"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"a_edgelist.csv": "ts,head,tail,relation_type\n1,a,b,r\n", "b_edgelist.csv": ""},
            "Put the one to read into a",
        ),
        (
            {"thgl-x_edgelist.csv": "ts,head,tail,relation_type\n1,a,b,r\n"},
            "one edge list of a temporal knowledge graph",
        ),
        ({"a_edgelist.csv": "1,2,3,0\n2,3,4,0\n"}, "expected a header (timestamp, head, tail, relation_type)"),
        ({"a_edgelist.csv": "head,relation,tail,ts\na,r,b,1\n"}, "its first line is 'head, relation, tail, ts'"),
        ({"a_edgelist.csv": "ts,head,tail,relation_type\n"}, "expected a header"),
        ({"a_edgelist.csv": ""}, "expected a header"),
        (
            {"a_edgelist.csv": "ts,head,tail,relation_type\n1,a,b,r\n1.5,a,b,r\n"},
            "line 3: the time '1.5' is not a whole",
        ),
        ({"a_edgelist.csv": "ts,head,tail,relation_type\n1,a,b,r\n2,a,b\n"}, "line 3: 3 columns where 4 columns"),
    ],
)
def test_what_is_wrong_with_an_edge_list_is_told(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(DatasetError) as caught:
        load_dataset(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)
