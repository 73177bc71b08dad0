"""Graphs whose files can be read in several ways: each is read rightly, asked about, or read with a line that says how.

The values are by plain Python, from the true columns of the files (``tried-5/guesses/*/README.md``).
"""

from __future__ import annotations

import json
from collections import namedtuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from kgeval import Baseline, Dataset, RankTable, compare, evaluate, load_dataset, load_ranks, summarize
from kgeval.base.assumptions import read_as
from kgeval.base.errors import InputError
from tests.cli.conftest import invoke

THREE = "head={},relation={},tail={}".format

GRAPHS = [
    # folder, columns, MRR of popularity or what is asked, what the line says
    ("column-numbers/triples", THREE(1, 2, 3), 0.176261, ""),
    ("column-numbers/user-item", THREE(1, "'likes'", 2), 0.112195, ""),
    ("column-numbers/item-user", THREE(1, "'likes'", 2), 0.103563, ""),
    ("pandas-default-header", None, "begin with the row '0 1 2': it names the columns", ""),
    ("pandas-default-header", "head,relation,tail", 0.213875, "header: the first row '0 1 2'"),
    ("pandas-default-header", THREE(0, 1, 2), 0.213875, ""),
    ("pandas-default-header", "head,relation,tail,header=none", 0.208794, ""),
    ("row-index/header", "_,head,relation,tail", 0.213875, "header: the first row '0 1 2'"),
    ("row-index/plain", "_,head,relation,tail", 0.213875, ""),
    ("header-of-classes", None, "begin with the row 'Drug Link Gene': it names the columns", ""),
    ("header-of-classes", THREE("Drug", "Link", "Gene"), 0.213562, ""),
    ("validity-columns/start-end", THREE("person", "relation", "company"), 0.213875, ""),
    ("validity-columns/from-to", THREE("person", "relation", "company"), 0.213875, ""),
    ("date-of-record", THREE("subject", "predicate", "object"), 0.213875, ""),
    ("date-of-record", THREE(1, 2, 3), 0.213875, ""),
    ("date-of-record", None, 0.191143, "time: date (by its name; if not: --columns head=…,relation=…,tail=…)"),
    ("validity-columns/start-end", None, "head=start, relation=relation, tail=end, but 'person', 'company' could", ""),
    ("validity-columns/from-to", None, "head=from, relation=relation, tail=to, but 'person', 'company' could", ""),
    ("label-as-relation", None, "no column is surely the relation: 'label' holds 1 and 0. Say which", ""),
    ("label-as-relation", "head=source,tail=target,label=label,relation='x'", 0.147048, ""),
    ("edge-key", None, "no column is surely the relation: 'key' holds 1 and 0. Say which: .*relation=action", ""),
    ("edge-key", THREE("source", "action", "target"), 0.213875, ""),
    ("name-before-id", None, 0.213875, ""),
    ("relation-last-bipartite", None, 0.379820, "columns: head, relation, tail (30 labels of relations are many"),
    ("relation-last-bipartite", "head,tail,relation", 0.284289, ""),
    (
        "fourth-column-flag",
        None,
        0.220453,
        "fourth column: label (its cells are 1 and 0, so that some triples are false",
    ),
    ("fourth-column-flag", "head,relation,tail,_", 0.213875, ""),
    ("row-index/plain", None, "--columns _,head,relation,tail or --columns head,relation,tail,time", ""),
]


@pytest.mark.parametrize(("folder", "columns", "expected", "line"), GRAPHS)
def test_a_graph_is_read_rightly_or_asked_about(shared, folder, columns, expected, line):
    path = shared / "tried-5" / "guesses" / folder
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            load_dataset(path, columns=columns)
        return
    dataset = load_dataset(path, columns=columns)
    mrr = summarize(evaluate(Baseline("popularity"), dataset), ["mrr"], ties="expected")["mrr"]
    assert round(mrr, 6) == expected
    assert line in read_as(dataset.assumptions)
    assert line or not read_as(dataset.assumptions)


ROWS = [("3", "1", "2"), ("2", "1", "3"), ("3", "2", "1"), ("1", "2", "2")]
SPLITS = {"train": ROWS, "test": [("1", "1", "2"), ("3", "2", "2")]}


def write(folder, splits, header=None, ending="tsv", separator="\t"):
    folder.mkdir(exist_ok=True)
    for split, rows in splits.items():
        lines = [*([header] if header else []), *rows]
        (folder / f"{split}.{ending}").write_text("".join(separator.join(map(str, line)) + "\n" for line in lines))
    return folder


def triples(dataset):
    return {
        split: [
            (dataset.entities[h], dataset.relations[r], dataset.entities[t]) for h, r, t in sorted(part.ids.tolist())
        ]
        for split, part in dataset.splits.items()
    }


def test_numbers_are_places_whatever_the_first_row_holds(tmp_path):
    expected = triples(Dataset.from_labels(**SPLITS))
    folder = write(tmp_path, SPLITS)
    assert triples(load_dataset(folder, columns="head=1,relation=2,tail=3")) == expected
    exchanged = {split: [(t, r, h) for h, r, t in rows] for split, rows in SPLITS.items()}
    assert triples(load_dataset(folder, columns="tail=1,relation=2,head=3")) == triples(
        Dataset.from_labels(**exchanged)
    )


@pytest.mark.parametrize("header", [("subj", "verb", "obj"), ("head", "relation", "tail"), ("a", "b", "c")], ids=str)
def test_places_name_columns_under_a_header_too(tmp_path, header):
    dataset = load_dataset(write(tmp_path, SPLITS, header), columns="head=1,relation=2,tail=3")
    assert triples(dataset) == triples(Dataset.from_labels(**SPLITS))
    with_it = load_dataset(tmp_path, columns="head,relation,tail,header=none")
    assert len(with_it.train) == len(dataset.train) + 1


def test_a_header_of_one_split_is_said_and_read_on_request(tmp_path):
    words = {split: [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rows] for split, rows in SPLITS.items()}
    write(tmp_path, words)
    (tmp_path / "train.tsv").write_text("Drug\tLink\tGene\n" + (tmp_path / "train.tsv").read_text())
    dataset = load_dataset(tmp_path)
    assert len(dataset.train) == len(ROWS) + 1
    assert "header: none in train.tsv, whose first row 'Drug Link Gene' is a triple" in read_as(dataset.assumptions)
    said = "head=Drug,relation=Link,tail=Gene,header=train"
    with pytest.raises(InputError, match="no column is the head or the tail; found the columns 'Drug', 'Link', 'Gene'"):
        load_dataset(tmp_path, columns="header=train")
    for columns in ("head=1,relation=2,tail=3,header=train", "head,relation,tail,header=train"):
        assert triples(load_dataset(tmp_path, columns=columns)) == triples(Dataset.from_labels(**words))
    with pytest.raises(InputError, match="no column 'Drug' for the head"):
        load_dataset(tmp_path, columns=said)
    with pytest.raises(InputError, match=r"header=dev\. Expected all, none, or splits"):
        load_dataset(tmp_path, columns="header=dev")


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolon"), (",", "','"), ("|", "bar"), ("\t", "tab")])
def test_a_separator_is_said(tmp_path, separator, name):
    words = {split: [(f"e,{h};", f"r|{r}", f"e\t{t}") for h, r, t in rows] for split, rows in SPLITS.items()}
    words = {
        split: [tuple(cell.replace(separator, " ") for cell in row) for row in rows] for split, rows in words.items()
    }
    dataset = load_dataset(write(tmp_path, words, separator=separator), columns=f"separator={name}")
    assert triples(dataset) == triples(Dataset.from_labels(**words))


def test_three_named_columns_are_all_that_is_read(tmp_path):
    further = {
        split: [(*row, 2010 + place, place % 2, 0.5) for place, row in enumerate(rows)]
        for split, rows in SPLITS.items()
    }
    write(tmp_path, further, ("a", "b", "c", "time", "label", "weight"))
    dataset = load_dataset(tmp_path, columns="head=a,relation=b,tail=c")
    assert triples(dataset) == triples(Dataset.from_labels(**SPLITS))
    assert (dataset.times, dataset.negatives, dataset.confidences) == (None, {}, {})
    assert "columns not used: time, label, weight" in str(dataset.notes[0])
    timed = load_dataset(tmp_path, columns="head=a,relation=b,tail=c,time=time")
    assert len(timed.times) == len(ROWS)


Edge = namedtuple("Edge", "source target relation")
FIELDS = np.dtype([("head", "U8"), ("tail", "U8"), ("relation", "U8")])
WAYS = {
    "dictionaries": lambda rows: [{"tail": t, "relation": r, "head": h} for h, r, t in rows],
    "named tuples": lambda rows: [Edge(h, t, r) for h, r, t in rows],
    "structured array": lambda rows: np.array([(h, t, r) for h, r, t in rows], FIELDS),
}


@pytest.mark.parametrize("way", WAYS)
def test_names_of_the_parts_of_rows_in_memory_count(way):
    dataset = Dataset.from_labels(**{split: WAYS[way](rows) for split, rows in SPLITS.items()})
    assert triples(dataset) == triples(Dataset.from_labels(**SPLITS))


def test_rows_of_other_names_are_asked_about_or_refused():
    rows = [{"a": "x", "b": "r", "c": "y"}, {"a": "y", "b": "r", "c": "x"}]
    with pytest.raises(InputError, match="no column is the head or the relation or the tail"):
        Dataset.from_labels(train=rows)
    dataset = Dataset.from_labels(train=rows, columns="head=a,relation=b,tail=c")
    assert triples(dataset) == {"train": [("x", "r", "y"), ("y", "r", "x")]}
    with pytest.raises(InputError, match="row 2: its keys are not those of row 1, a, b, c"):
        Dataset.from_labels(train=[rows[0], {"a": "x", "b": "r"}], columns="head=a,relation=b,tail=c")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ids_beat_names_of_sources_and_all_splits_count(tmp_path, ending):
    header = ("subject_id", "predicate", "object_id", "source")
    further = {
        split: [(f"e{h}", f"r{r}", f"e{t}", ("ctd", "string")[place % 2]) for place, (h, r, t) in enumerate(rows)]
        for split, rows in SPLITS.items()
    }
    for split, rows in further.items():
        frame = pd.DataFrame(rows, columns=header)
        path = tmp_path / f"{split}.{ending}"
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    dataset = load_dataset(tmp_path)
    assert triples(dataset) == triples(
        Dataset.from_labels(**{s: [row[:3] for row in rows] for s, rows in further.items()})
    )
    assert "columns not used: source" in str(dataset.notes[0])


def test_a_second_separator_is_said(tmp_path):
    words = {split: [(f"{h}, FR", f"r{r}", f"{t}, ES") for h, r, t in rows] for split, rows in SPLITS.items()}
    dataset = load_dataset(write(tmp_path, words, ending="csv", separator=";"))
    assert (
        "separator: comma (the custom of its ending, and its first rows; if not: --columns separator=semicolon)"
        in read_as(dataset.assumptions)
    )
    rightly = load_dataset(tmp_path, columns="separator=semicolon")
    assert triples(rightly) == triples(Dataset.from_labels(**words))
    assert rightly.assumptions == ()


def test_decimal_years_are_asked_about(tmp_path):
    timed = {split: [(*row, 2010 + place / 4) for place, row in enumerate(rows)] for split, rows in SPLITS.items()}
    with pytest.raises(InputError, match=r"holds numbers, such as 2010\.0, which may be times or weights"):
        load_dataset(write(tmp_path, timed))
    assert len(load_dataset(tmp_path, columns="head,relation,tail,time").times) == len(ROWS)


def test_the_line_is_in_every_form_and_kept(tmp_path):
    rows = {split: [(f"e{h}", f"r{r}", f"e{t}", f"2014-01-0{h}") for h, r, t in part] for split, part in SPLITS.items()}
    graph = write(tmp_path / "graph", rows, ("head", "relation", "tail", "date"))
    line = "read as: time: date (by its name; if not: --columns head=…,relation=…,tail=…)"
    run = tmp_path / "run"
    asked = ["evaluate", "baseline:popularity", "--dataset", graph, "-m", "mrr"]
    assert line in " ".join(invoke(*asked, "--out", run).output.split())
    content = json.loads(invoke(*asked, "--json").stdout)
    whole = "columns: head=head, relation=relation, tail=tail, time=date"
    assert content["provenance"]["read_as"] == [line.removeprefix("read as: "), whole]
    assert json.loads((run / "manifest.json").read_text())["read_as"] == content["provenance"]["read_as"]
    assert line in " ".join(invoke("summarize", run, "-m", "mrr").output.split())
    assert "time: date (by its name" in " ".join(invoke("inspect", graph).output.split())
    assert invoke("convert", graph, "--out", tmp_path / "converted").exit_code == 0
    assert load_dataset(tmp_path / "converted").assumptions == load_dataset(graph).assumptions


def test_one_graph_that_was_read_in_two_ways_is_refused_and_the_reading_said(tmp_path):
    rows = {split: [(f"e{h}", f"r{r}", f"e{t}", f"2014-01-0{h}") for h, r, t in part] for split, part in SPLITS.items()}
    graph = write(tmp_path, rows, ("head", "relation", "tail", "date"))
    ways = (None, "head=head,relation=relation,tail=tail")
    tables = {str(way): evaluate(Baseline("popularity"), load_dataset(graph, columns=way)) for way in ways}
    with pytest.raises(InputError, match=r"graph \w{8}, read as: time: date \(by its name"):
        compare(tables)


@pytest.mark.parametrize("fewer", [0, 1])
def test_two_graphs_in_one_folder_are_asked_about(tmp_path, fewer):
    """As a folder of ids that was made from an older version of the files of labels."""
    write(tmp_path, SPLITS, ending="txt")
    labels = {
        kind: sorted({row[column] for rows in SPLITS.values() for row in rows for column in columns})
        for kind, columns in (("entity", (0, 2)), ("relation", (1,)))
    }
    for kind, names in labels.items():
        (tmp_path / f"{kind}2id.txt").write_text(
            f"{len(names)}\n" + "".join(f"{it}\t{n}\n" for n, it in enumerate(names))
        )
    for split, rows in SPLITS.items():
        ids = [
            f"{labels['entity'].index(h)} {labels['entity'].index(t)} {labels['relation'].index(r)}\n"
            for h, r, t in rows
        ][fewer:]
        (tmp_path / f"{split}2id.txt").write_text(f"{len(ids)}\n" + "".join(ids))
    if not fewer:
        assert load_dataset(tmp_path).layout == "openke"
        return
    with pytest.raises(
        InputError,
        match=r"layout: openke and labels fit \(their files hold other facts\)\. Say which: --layout openke or",
    ):
        load_dataset(tmp_path)
    assert len(load_dataset(tmp_path, layout="labels").train) == len(ROWS)
    assert len(load_dataset(tmp_path, layout="openke").train) == len(ROWS) - 1


def test_a_type_and_an_id_are_joined_on_request(tmp_path, shared):
    typed = {split: [("gene", h, r, "drug", t) for h, r, t in rows] for split, rows in SPLITS.items()}
    write(tmp_path, typed, ("x_type", "x_id", "relation", "y_type", "y_id"))
    said = load_dataset(tmp_path, columns="head=x_type+x_id,relation=relation,tail=y_type+y_id")
    joined = {split: [(f"gene:{h}", r, f"drug:{t}") for h, r, t in rows] for split, rows in SPLITS.items()}
    assert triples(said) == triples(Dataset.from_labels(**joined))
    assert said.notes == ()
    with pytest.raises(InputError, match=r"no column 'x_typ' for the head\. Did you mean 'x_type'"):
        load_dataset(tmp_path, columns="head=x_typ+x_id,relation=relation,tail=y_type+y_id")
    frame = {split: pd.DataFrame(rows, columns=["a+b", "c", "d", "e", "f"]) for split, rows in typed.items()}
    of_a_sum = Dataset.from_labels(**frame, columns="head=a+b,relation=d,tail=f")  # the name of one column
    assert "gene" in of_a_sum.entities
    folder = shared / "tried-5" / "txgnn"
    with pytest.raises(InputError, match=r"head=x_idx, tail=y_idx and head=x_id, tail=y_id fit\. Say which"):
        load_dataset(folder)
    assert len(load_dataset(folder, columns="head=x_type+x_id,relation=relation,tail=y_type+y_id").entities) == 197


@pytest.mark.parametrize("columns", ["", "best_rank=0", "side_is=known", "best_rank=0,side_is=known"])
def test_the_best_rank_and_what_sides_name_are_said(tmp_path, columns):
    graph = Dataset.from_labels(
        **{split: [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rows] for split, rows in SPLITS.items()}
    )
    best, known = int("best_rank=0" not in columns), "known" in columns
    lines = ["head,relation,tail,direction,rank"]
    for place, (head, relation, tail) in enumerate(SPLITS["test"]):
        for side in ("head", "tail"):
            named = {"head": "tail", "tail": "head"}[side] if known else side
            lines.append(f"e{head},r{relation},e{tail},{named},{best + place + (side == 'tail')}")
    (tmp_path / "ranks.csv").write_text("\n".join(lines) + "\n")
    table = load_ranks(tmp_path / "ranks.csv", graph, columns=columns or None, setting="raw")
    ranks = dict(zip(zip(table.column("triple"), table.column("side"), strict=True), table.ranks, strict=True))
    assert ranks == {(place, side): 1 + place + (side == "tail") for place in range(2) for side in ("head", "tail")}
    line = read_as(table.assumptions)
    assert ("direction' names what is predicted (if not: --columns side_is=known)" in line) == (not known)
    assert ("ranks: from 1 (if not: --columns best_rank=0)" in line) == bool(best)
    with pytest.raises(InputError, match="best_rank '2'"):
        load_ranks(tmp_path / "ranks.csv", graph, columns="best_rank=2")


def test_triples_of_ids_beside_dictionaries_are_read_by_them(tmp_path):
    """As DGL-KE's udd."""
    labels = ["a", "b", "c", "d"]
    (tmp_path / "entities.dict").write_text("".join(f"{n}\t{label}\n" for n, label in enumerate(labels)))
    (tmp_path / "relations.dict").write_text("0\tlikes\n1\tknows\n2\tsees\n")
    dataset = load_dataset(write(tmp_path, SPLITS, ending="txt"))
    assert triples(dataset)["test"][0] == ("b", "knows", "c")
    assert list(dataset.entities) == labels


@pytest.mark.parametrize(
    ("files", "words"), [(["entity2id.txt", "relation2id.txt", "test.txt"], "labels; missing: train.txt")]
)
def test_the_file_that_a_folder_lacks_is_named(tmp_path, files, words):
    for name in files:
        (tmp_path / name).write_text("1\na\t0\n")
    with pytest.raises(InputError, match=words):
        load_dataset(tmp_path)


@pytest.mark.parametrize("where", ["s3://bucket/x", "gs://bucket/x", "https://host/x"])
def test_remote_paths_are_refused(tmp_path, where, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (
        ["evaluate", "baseline:popularity", "--dataset", "nations", "--out", where],
        ["evaluate", where, "--dataset", "nations"],
        ["convert", "nations", "--out", where],
    ):
        result = invoke(*command)
        assert (result.exit_code, "remote paths are not supported" in result.output) == (2, True)
    assert not [*tmp_path.iterdir()]


def test_one_file_of_triples_is_described_in_the_same_words(tmp_path):
    (tmp_path / "graph.csv").write_text("head,relation,tail\na,r,b\n")
    for command in ("inspect", "audit"):
        assert "is a file without a column 'split'" in invoke(command, tmp_path / "graph.csv").output


def test_numbers_of_rows_that_begin_anew_in_each_split_are_no_relation(tmp_path):
    keyed = {split: [(f"e{n % 9}", f"e{n * 5 % 11}", n) for n in range(30)] for split in ("train", "test")}
    with pytest.raises(InputError, match=r"'key' has another cell in each row\. Say which: .*,relation='NAME'"):
        load_dataset(write(tmp_path, keyed, ("from", "to", "key")))
    assert list(load_dataset(tmp_path, columns="head=from,tail=to,relation='NAME'").relations) == ["NAME"]


def test_a_first_row_of_n_triples_is_a_triple(tmp_path):
    for split, rest in (("train", "<b> <r> <c> ."), ("test", "<c> <r> <b> .")):
        (tmp_path / f"{split}.nt").write_text(f"<x> <y> <z> .\n{rest}\n")
    assert "x" in load_dataset(tmp_path).entities


@pytest.mark.parametrize("columns", ["head,relation,tail", "head=1,relation=2,tail=3"])
def test_a_first_row_that_may_be_a_leaked_triple_is_asked_about(tmp_path, columns):
    rows = {
        "train": [("rome", "capital", "italy"), ("bonn", "in", "italy")],
        "test": [("rome", "capital", "italy"), ("x", "in", "bonn")],
    }
    write(tmp_path, rows)
    with pytest.raises(InputError, match="all splits begin with the row 'rome capital italy': it may be a header or a"):
        load_dataset(tmp_path, columns=columns)
    for header, count in (("none", 2), ("all", 1)):
        assert len(load_dataset(tmp_path, columns=f"{columns},header={header}").train) == count


def test_settings_that_do_not_fit_are_refused(tmp_path):
    graph = write(tmp_path / "g", SPLITS)
    for columns, message in (("best_rank=0", "are for files of ranks"), ("separator=,", "separator is empty")):
        with pytest.raises(InputError, match=message):
            load_dataset(graph, columns=columns)
    for cell, message in (("", "'' is not a rank: .*from 0"), ("x", "'x' is not a rank"), ("-1", "'-1' is not a rank")):
        (tmp_path / "ranks.csv").write_text(f"head,relation,tail,side,rank\n1,1,2,tail,{cell}\n")
        with pytest.raises(InputError, match=message):
            load_ranks(tmp_path / "ranks.csv", graph, columns="best_rank=0")
    (tmp_path / "ranks.csv").write_text("head,relation,tail,side,rank\n1,1,2,tail,0\n")
    with pytest.raises(InputError, match="If the best rank is 0: --columns best_rank=0"):
        load_ranks(tmp_path / "ranks.csv", graph)


def test_two_graphs_in_a_folder_are_alike_if_only_repetitions_or_a_split_differ(tmp_path):
    rows = {**SPLITS, "valid": [ROWS[0]]}
    write(tmp_path, {**rows, "train": ROWS + ROWS[:2]}, ending="txt")
    (tmp_path / "valid.txt").unlink()
    for kind, labels in (("entity", "123"), ("relation", "12")):
        (tmp_path / f"{kind}2id.txt").write_text(
            f"{len(labels)}\n" + "".join(f"{it}\t{n}\n" for n, it in enumerate(labels))
        )
    for split, part in rows.items():
        ids = "".join(f"{int(h) - 1} {int(t) - 1} {int(r) - 1}\n" for h, r, t in part)
        (tmp_path / f"{split}2id.txt").write_text(f"{len(part)}\n{ids}")
    assert load_dataset(tmp_path).layout == "openke"


def test_what_older_versions_suspected_is_still_said(tmp_path):
    table = evaluate(Baseline("popularity"), "nations")
    old = json.loads(table.metadata["kgeval"])
    old.pop("assumptions")
    old["suspicion"] = "columns: perhaps not head, relation, tail"
    pq.write_table(table.data.replace_schema_metadata({"kgeval": json.dumps(old)}), tmp_path / "ranks.parquet")
    assert "(columns: perhaps not head, relation, tail)" in read_as(RankTable.from_parquet(tmp_path).assumptions)
