"""Columns: the graph of a file does not depend on how its columns are called, ordered, separated or compressed."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgeval import Dataset, classify, evaluate, load_dataset, save_dataset, summarize
from kgeval.base.assumptions import read_as
from kgeval.base.errors import DatasetError, InputError
from kgeval.data.columns import Columns, is_header, resolve
from kgeval.data.text import BLANKS
from tests.conftest import random_dataset, unwrapped

GRAPH = random_dataset(3)
SPLITS = {
    split: [(GRAPH.entities[h], GRAPH.relations[r], GRAPH.entities[t]) for h, r, t in part.ids.tolist()]
    for split, part in GRAPH.splits.items()
}
TRUE = Dataset.from_labels(**SPLITS)
TRIPLE = ("head", "relation", "tail")


def same(data, other=TRUE):
    assert data.sha256() == other.sha256()


HEADERS = [
    ("h", "r", "t", "PyKEEN and TorchKGE"),
    ("s", "p", "o", "LibKGE, AmpliGraph"),
    ("src", "rel", "dst", "DGL"),
    ("source_id", "etype", "dest_id", "GraphStorm"),
    (":START_ID", ":TYPE", ":END_ID", "Neo4j's import"),
    ("_start", "_type", "_end", "Neo4j's export"),
    ("node1", "label", "node2", "KGTK"),
    ("x_index", "relation", "y_index", "PrimeKG"),
    ("source", "metaedge", "target", "Hetionet"),
    ("entity1", "relation", "entity2", "DRKG's readers"),
    ("source", "key", "target", "NetworkX"),
    ("Source", "Label", "Target", "Gephi"),
    ("subject", "predicate", "object", "RDF"),
    ("subj", "pred", "obj", "a column each in short"),
    ("sourceNode", "edgeType", "targetNode", "camel case"),
    ("head entity", "relation type", "tail entity", "words"),
    ("subject_label", "predicate_label", "object_label", "of labels"),
    ("item", "property", "value", "Wikidata"),
    ("from", "link", "to", "from and to"),
    ("e1", "rel", "e2", "numbered"),
]


@pytest.mark.parametrize("names", [names[:3] for names in HEADERS], ids=[names[3] for names in HEADERS])
def test_what_the_field_calls_the_columns_says_what_they_hold(names):
    for order in itertools.permutations(range(3)):
        header = [names[column] for column in order]
        assert is_header(header)
        assert resolve("file", header) == [TRIPLE[column] for column in order]


def test_of_several_columns_for_one_role_the_nearer_one_is_used():
    prime = [
        "relation",
        "display_relation",
        "x_index",
        "x_id",
        "x_type",
        "x_name",
        "y_index",
        "y_id",
        "y_type",
        "y_name",
    ]
    roles = resolve("kg.csv", prime)
    assert {role: prime[roles.index(role)] for role in TRIPLE} == dict(
        zip(TRIPLE, ("x_index", "relation", "y_index"), strict=True)
    )
    assert resolve("f", ["subject", "subject_id", "predicate", "object", "object_id"])[1] == "subject_id"
    assert resolve("f", ["head", "relation", "tail", "label"])[3] == "label"
    with pytest.raises(DatasetError, match=r"several columns are the relation \('Type' and 'Label'\).*--columns"):
        resolve("f", ["Source", "Target", "Type", "Label"])


PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.one_of(st.none(), st.sampled_from([names[:3] for names in HEADERS])),
    order=st.permutations(range(3)),
    ending=st.sampled_from([".txt", ".tsv", ".csv", ".triples"]),
    separator=st.sampled_from("\t ,;|"),
    packed=st.sampled_from([*PACKED]),
    said=st.booleans(),
)
def test_a_graph_does_not_depend_on_how_its_columns_lie(
    tmp_path_factory, names, order, ending, separator, packed, said
):
    if names and separator == " " and any(" " in name for name in names):
        return
    folder = tmp_path_factory.mktemp("graph")
    for split, rows in SPLITS.items():
        lines = [names, *rows] if names else rows
        text = "".join(separator.join(line[column] for column in order) + "\n" for line in lines)
        (folder / f"{split}{ending}{packed}").write_bytes(PACKED[packed](text.encode()))
    columns = None
    if said and names:
        columns = dict(zip(TRIPLE, names, strict=True))
    elif not names:
        columns = ",".join(TRIPLE[column] for column in order)
    same(load_dataset(folder, columns=columns))


def test_columns_are_named_in_every_way(tmp_path):
    frame = pd.DataFrame(SPLITS["train"], columns=["gene", "act", "drug"])
    by_name = {"head": "gene", "relation": "act", "tail": "drug"}
    tests = {"test": SPLITS["test"], "valid": SPLITS["valid"]}
    named = {split: pd.DataFrame(rows, columns=["gene", "act", "drug"]) for split, rows in tests.items()}
    for columns in (by_name, "head=gene,relation=act,tail=drug", "head,relation,tail"):
        same(Dataset.from_labels(train=frame, **named, columns=columns))
    for split, rows in SPLITS.items():
        pd.DataFrame(rows).to_csv(tmp_path / f"{split}.csv", index=False, header=False)
    same(load_dataset(tmp_path, columns="head=1,relation=2,tail=3"))
    same(load_dataset(tmp_path, columns=["head", "relation", "tail"]))
    with pytest.raises(DatasetError, match=r"no column is the head or the relation or the tail; found .*--columns"):
        Dataset.from_labels(train=frame)
    with pytest.raises(DatasetError, match=r"no column 'gen' for the head. Did you mean 'gene'"):
        Dataset.from_labels(train=frame, columns=by_name | {"head": "gen"})
    with pytest.raises(DatasetError, match=r"no column holds 'haed'. Did you mean 'head'"):
        Dataset.from_labels(train=frame, columns=by_name | {"haed": "x"})
    with pytest.raises(DatasetError, match="they are for files"):
        load_dataset("nations", columns="head,relation,tail")


def test_a_constant_is_in_every_row(tmp_path):
    pairs = {split: [(h, t) for h, _, t in rows] for split, rows in SPLITS.items()}
    one = Dataset.from_labels(**{split: [(h, "is a", t) for h, t in rows] for split, rows in pairs.items()})
    for header, columns in ((None, "relation='is a'"), (["source", "target"], {"relation": "'is a'"})):
        for split, rows in pairs.items():
            pd.DataFrame(rows).to_csv(tmp_path / f"{split}.csv", index=False, header=header or False)
        same(load_dataset(tmp_path, columns=columns), one)
    with pytest.raises(DatasetError, match=r"no column is the relation.*relation='NAME'"):
        load_dataset(tmp_path)
    assert Columns.of("head=a,relation='x, y',tail=b").constants == {"relation": "x, y"}


def test_further_columns_are_named_in_a_note(tmp_path):
    for split, rows in SPLITS.items():
        pd.DataFrame(rows, columns=TRIPLE).assign(source_db="x", id=1).to_csv(tmp_path / f"{split}.csv", index=False)
    data = load_dataset(tmp_path)
    same(data)
    assert data.notes == ("columns not used: source_db, id (of train.csv, valid.csv, test.csv).",)


# Suspicion


def permuted(data, order):
    rows = {split: data.triple_labels(part) for split, part in data.splits.items()}
    return {split: [tuple(row[column] for column in order) for row in part] for split, part in rows.items()}


def labels(data):
    ids = {split: part.ids.tolist() for split, part in data.splits.items()}
    return {
        split: [(data.entities[h], data.relations[r], data.entities[t]) for h, r, t in rows]
        for split, rows in ids.items()
    }


@pytest.mark.parametrize("name", ["nations", "umls", "kinships"])
def test_a_graph_whose_relation_is_not_in_the_middle_is_suspected_and_no_other(name, tmp_path):
    rows = labels(load_dataset(name))
    for order in itertools.permutations(range(3)):
        turned = {split: [tuple(row[column] for column in order) for row in part] for split, part in rows.items()}
        line = read_as(Dataset.from_labels(**turned).assumptions)
        assert (line == "") == (order[1] == 1)
        if line:
            proposed = line.partition("--columns ")[2].partition(" ")[0].split(",")
            assert proposed.index("relation") == order.index(1)
    for split, part in rows.items():
        pd.DataFrame(part)[[1, 0, 2]].to_csv(tmp_path / f"{split}.tsv", sep="\t", header=False, index=False)
    wrong = load_dataset(tmp_path)
    assert read_as(wrong.assumptions) in evaluate(lambda h, r, t: h + t, wrong).provenance.heads
    assert read_as(wrong.assumptions) in summarize(evaluate(lambda h, r, t: h + t, wrong)).heads
    right = load_dataset(tmp_path, columns="relation,head,tail")
    assert right.assumptions == ()
    assert right.sha256() == Dataset.from_labels(**rows).sha256()
    assert load_dataset(tmp_path, columns="head,relation,tail").assumptions == ()


@pytest.mark.parametrize("data", ["codex-s", "fb15k-237", "wn18rr", "icews14", "ppi5k", "ingram-nl-0"])
def test_no_real_graph_is_suspected(shared, data):
    assert load_dataset(shared / "data" / data).assumptions == ()


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.integers(1, 19), st.integers(1, 200), st.integers(0, 2**32 - 1), st.booleans())
def test_no_random_graph_is_suspected(entities, relations, triples, seed, numbered):
    draw = np.random.default_rng(seed)
    columns = (draw.integers(size, size=triples) for size in (entities, relations, entities))
    kinds = ("", "", "") if numbered else ("e", "r", "e")
    words = [[f"{kind}{number}" for number in column] for kind, column in zip(kinds, columns, strict=True)]
    assert Dataset.from_labels(train=list(zip(*words, strict=True))).assumptions == ()


# What cells hold


def test_blanks_around_ids_are_cut_and_so_are_those_that_alone_tell_labels_apart(tmp_path):
    (tmp_path / "train.txt").write_text("459  \t0\t12\n7\t 0\t459\n")
    (tmp_path / "test.txt").write_text("7\t0 \t12 \n")
    assert list(load_dataset(tmp_path).entities) == ["12", "459", "7"]
    (tmp_path / "train.txt").write_text("New York \tin\tUSA\nNew York\tin\tUSA\n")
    (tmp_path / "test.txt").write_text("USA\tin\tNew York\n")
    data = load_dataset(tmp_path)
    assert list(data.entities) == ["New York", "USA"]
    (note,) = (note for note in data.notes if "differ by blanks alone" in note)
    assert "'New York '" in note


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u3000", "\u200b", "\ufeff"])
@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_blanks_beside_a_separator_belong_to_no_label(tmp_path, separator, blank):
    between = f"{blank}{separator}{blank}"
    rows = [("a", "likes", "b"), ("b", "likes", "c"), ("c", "knows", "a"), ("a", "knows", "c")]
    for name in ("train.txt", "test.csv"):
        (tmp_path / name).write_text("".join(f"{between.join(row)}\n" for row in rows), encoding="utf-8")
    data = load_dataset(tmp_path)
    assert list(data.entities) == ["a", "b", "c"]
    assert {label.strip(BLANKS) for label in data.relations} == {"likes", "knows"}


@pytest.mark.parametrize(
    ("cells", "role"),
    [
        (["1.0", "0.0", "1.0"], "label"),
        (["1.0", "-1.0", "1.0"], "label"),
        (["True", "False", "True"], "label"),
        (["1.0", "0.5", "0.0"], "confidence"),
        (["1.0", "1.0", "1.0"], "confidence"),
    ],
)
def test_cells_tell_what_a_fourth_column_without_a_name_is(tmp_path, cells, role):
    heads = ["a", "b", "c"]
    rows = "".join(f"{head}\tr\td\t{cell}\n" for head, cell in zip(heads, cells, strict=True))
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text(rows)
    data = load_dataset(tmp_path)
    assert (len(data.confidences) > 0, len(data.negatives) > 0) == (role == "confidence", role == "label")
    false = sum(cell in ("0.0", "-1.0", "False") for cell in cells) if role == "label" else 0
    assert len(data.test) == 3 - false


@pytest.mark.parametrize("cell", ["2014.0", "1388534400.0", "31.01.2014", "2014/01/31"])
def test_a_fourth_column_that_may_be_a_time_is_no_confidence(tmp_path, cell):
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text(f"a\tr\tb\t{cell}\n")
    with pytest.raises(DatasetError, match=r"--columns head,relation,tail,(time|_)"):
        load_dataset(tmp_path)
    assert len(load_dataset(tmp_path, columns="head,relation,tail,_").test) == 1


def test_text_of_ones_and_zeros_in_memory_is_refused_where_numbers_are_labels():
    rows = [("a", "r", "b", "1"), ("b", "r", "c", "0")]
    with pytest.raises(DatasetError, match="labels or times"):
        Dataset.from_labels(train=rows, test=rows)
    assert len(Dataset.from_labels(train=rows, test=rows, columns="head,relation,tail,label").test) == 1
    assert len(Dataset.from_labels(train=rows, test=rows, columns="head,relation,tail,time").test) == 2


def test_names_in_their_order_for_a_file_with_a_header_are_refused(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.csv").write_text("tail,relation,head\nb,r,a\n")
    with pytest.raises(
        DatasetError, match=r"line 1: the first row names the columns: .*--columns tail,relation,head,header=none"
    ):
        load_dataset(tmp_path, columns="tail,relation,head")
    assert load_dataset(tmp_path).triple(*load_dataset(tmp_path).test.ids[0]) == "(a, r, b)"
    by_place = load_dataset(tmp_path, columns="tail=1,relation=2,head=3")
    assert by_place.triple(*by_place.test.ids[0]) == "(a, r, b)"
    assert len(load_dataset(tmp_path, columns="tail,relation,head,header=none").test) == 2


@pytest.mark.parametrize("name", ["kinships", "umls"])
def test_ids_in_another_order_are_suspected(tmp_path, name):
    right = load_dataset(name)
    for order, expected in (((0, 1, 2), None), ((1, 0, 2), "relation,head,tail"), ((0, 2, 1), "head,tail,relation")):
        for split, part in right.splits.items():
            np.savetxt(tmp_path / f"{split}.txt", part.ids[:, order], "%d", delimiter="\t")
        line = read_as(load_dataset(tmp_path, layout="labels").assumptions)
        assert line == "" if expected is None else f"--columns {expected} " in line


def test_cells_without_text_are_noted_with_the_line(tmp_path):
    (tmp_path / "train.txt").write_text("a\tr\tb\nc\t\td\nd\t\ta\n")
    (tmp_path / "test.txt").write_text("a\tr\tc\n")
    (note,) = load_dataset(tmp_path).notes
    assert note.startswith(f"2 relation cells without text, the first in {tmp_path / 'train.txt'}, line 2:")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(
        st.characters(blacklist_categories=["Cs", "Cc", "Cf", "Zs", "Zl", "Zp"], blacklist_characters='<>"{}|^`\\'),
        min_size=1,
    )
)
def test_escapes_of_n_triples_stand_for_their_characters(tmp_path_factory, label):
    folder = tmp_path_factory.mktemp("graph")
    escaped = "".join(f"\\u{ord(it):04X}" if ord(it) < 2**16 else f"\\U{ord(it):08X}" for it in label)
    (folder / "train.nt").write_text(f"<{escaped}> <r> <b> .\n", encoding="utf-8")
    (folder / "test.nt").write_text(f'<b> <r> "{escaped}" .\n', encoding="utf-8")
    assert {*load_dataset(folder).entities} == {label, "b", f'"{label}"'}


def test_an_escape_of_no_character_is_refused(tmp_path):
    for escape in (r"\UFFFFFFFF", r"\uD800"):
        (tmp_path / "train.nt").write_text(f"<{escape}> <r> <b> .\n")
        (tmp_path / "test.nt").write_text("<a> <r> <b> .\n")
        with pytest.raises(DatasetError, match="an escape stands for no character"):
            load_dataset(tmp_path)


# Labels of truth


@pytest.mark.parametrize("false", ["0", "-1"])
@pytest.mark.parametrize("header", [None, ("head", "relation", "tail", "label")])
def test_false_triples_are_neither_ranked_nor_known_and_negatives_of_a_classification(tmp_path, header, false):
    rows = {split: [(*row, "1") for row in part] for split, part in SPLITS.items()}
    wrong = {"valid": [(h, r, "e0001") for h, r, t in SPLITS["valid"] if t != "e0001"]}
    wrong["test"] = [("e0002", r, t) for h, r, t in SPLITS["test"] if h != "e0002"]
    known = {row for part in SPLITS.values() for row in part}
    wrong = {split: sorted({*part} - known) for split, part in wrong.items()}
    for split, part in rows.items():
        lines = [*part, *((*row, false) for row in wrong.get(split, []))]
        pd.DataFrame(lines).to_csv(tmp_path / f"{split}.csv", index=False, header=header or False)
    data = load_dataset(tmp_path)
    model = lambda h, r, t: (h * 7 + r * 3 + t * 5) % 11 + 0.0  # noqa: E731
    assert (
        evaluate(model, data).to_pandas()["greater"].tolist() == evaluate(model, TRUE).to_pandas()["greater"].tolist()
    )
    assert {split: len(part) for split, part in data.negatives.items()} == {s: len(part) for s, part in wrong.items()}
    assert any(f"{len(wrong['test'])} of test" in note for note in data.notes)
    table = classify(model, data).to_pandas()
    assert {split: int((~part["is_positive"]).sum()) for split, part in table.groupby("split", observed=True)} == {
        split: len(part) for split, part in wrong.items()
    }
    save_dataset(data, tmp_path / "converted")
    assert load_dataset(tmp_path / "converted").sha256() == data.sha256() != TRUE.sha256()


def test_numbers_are_labels_confidences_or_asked_for(tmp_path):
    def read(*cells):
        for split in ("train", "test"):
            (tmp_path / f"{split}.tsv").write_text("".join(f"a{n}\tr\tb\t{cell}\n" for n, cell in enumerate(cells)))
        return load_dataset(tmp_path)

    assert read("1", "0").negatives.keys() == {"train", "test"}
    assert read("1", "1").confidences == {}
    assert read("1", "0.5").confidences["train"].labels.tolist() == [1, 0.5]
    assert read("4.5", "1").confidences["train"].labels.tolist() == [4.5, 1]
    with pytest.raises(DatasetError, match="whole numbers, such as 5, which may be times or weights"):
        read("5", "3")
    grades = load_dataset(tmp_path, columns="head,relation,tail,weight")
    assert grades.confidences["train"].labels.tolist() == [5, 3]
    assert list(load_dataset(tmp_path, columns="head,relation,tail,time").times) == ["3", "5"]
    (tmp_path / "test.tsv").write_text("a\tr\tb\t0.5\n")  # which tells what the numbers of train are
    for cells in ([1, 0], [3, 2]):
        (tmp_path / "train.tsv").write_text("a\tr\tb\t{}\nb\tr\ta\t{}\n".format(*cells))
        assert load_dataset(tmp_path).confidences["train"].labels.tolist() == cells


# Files


@pytest.mark.parametrize(
    "names",
    [
        ("train", "valid", "test"),
        ("wikidata5m_transductive_train.txt", "wikidata5m_transductive_valid.txt", "wikidata5m_transductive_test.txt"),
        ("train_sample.csv", "val_sample.csv", "test_sample.csv"),
        ("freebase-train.tsv", "freebase-dev.tsv", "freebase-test.tsv"),
        ("Training.TXT", "Validation.TXT", "Testing.TXT"),
        ("train.triples", "dev.triples", "test.triples"),
    ],
    ids=lambda names: names[0],
)
def test_splits_are_found_by_their_names(tmp_path, names):
    for name, rows in zip(names, SPLITS.values(), strict=True):
        (tmp_path / name).write_text("".join("\t".join(row) + "\n" for row in rows))
    (tmp_path / "test_negatives.txt").write_text("a\tr\tb\n")
    same(load_dataset(tmp_path))


def test_two_graphs_in_one_folder_are_refused(tmp_path):
    for name in ("a_train.txt", "a_test.txt", "b_train.txt", "b_test.txt"):
        (tmp_path / name).write_text("a\tr\tb\n")
    with pytest.raises(DatasetError, match=r"2 files for the train split: a_train.txt and b_train.txt"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_one_file_with_a_column_of_splits_is_a_graph(tmp_path, ending):
    words = {"train": "training", "valid": "Dev", "test": "test"}
    rows = [(words[split], *row) for split, part in SPLITS.items() for row in part]
    frame = (
        pd.DataFrame(rows, columns=["split", "h", "r", "t"])
        .sample(frac=1, random_state=0)
        .sort_values(
            "split",
            key=lambda column: column.map({word: place for place, word in enumerate(words.values())}),
            kind="stable",
        )
    )
    path = tmp_path / f"graph{ending}"
    if ending == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="," if ending == ".csv" else "\t")
    data = load_dataset(path)
    assert (data.name, list(data.entities)) == ("graph", list(TRUE.entities))
    assert {s: {*map(tuple, part.ids.tolist())} for s, part in data.splits.items()} == {
        s: {*map(tuple, part.ids.tolist())} for s, part in TRUE.splits.items()
    }
    frame.assign(split="tset").to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(DatasetError, match=r"bad.csv, line 2: the split 'tset' is none of train"):
        load_dataset(tmp_path / "bad.csv")
    frame.drop(columns="split").to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(InputError, match="a file without a column 'split'"):
        load_dataset(tmp_path / "none.csv")


@pytest.mark.parametrize("layout", ["ingram", "grail"])
def test_a_graph_does_not_depend_on_how_one_got_to_it(tmp_path, monkeypatch, layout):
    folder = tmp_path / ("graph" if layout == "ingram" else "graph_ind")
    learned = folder if layout == "ingram" else tmp_path / "graph"
    for place in {folder, learned}:
        place.mkdir()
    files = {"msg" if layout == "ingram" else "train": "train", "valid": "valid", "test": "test"}
    for name, split in files.items():
        (folder / f"{name}.txt").write_text("".join("\t".join(row) + "\n" for row in SPLITS[split]))
    (learned / "train.txt").write_text("x\tr00\ty\nx\tr01\ty\n")
    expected = load_dataset(folder)
    assert expected.training_graph is not None
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other").symlink_to(folder)
    monkeypatch.chdir(folder)
    for way in (".", f"{folder}/", f"../{folder.name}", tmp_path / "elsewhere" / "other", "../elsewhere/other/."):
        again = load_dataset(way)
        assert (again.sha256(), again.name, again.notes) == (expected.sha256(), expected.name, expected.notes)
    if layout == "ingram":
        (folder / "train.txt").unlink()
        alone = load_dataset(".")
        same(alone)
        assert alone.notes == (
            "there is no train file, the graph that models learn from; msg.txt is the graph of test.",
        )


def test_a_blank_node_belongs_to_its_file_and_literals_are_counted(tmp_path):
    (tmp_path / "train.nt").write_text('_:a <r> _:b .\n<c> <r> "7" .\n<c> <r> "x y"@en .\n')
    (tmp_path / "test.nt").write_text("_:a <r> <c> .\n")
    data = load_dataset(tmp_path)
    assert {*data.entities} == {"_:a of train.nt", "_:a of test.nt", "_:b", "c", '"7"', '"x y"@en'}
    blank, literal = data.notes
    assert "1 blank node of one name in several files, such as _:a" in blank
    assert literal == "2 literals among the tails: entities as any other."
    (tmp_path / "test.nt").write_text("<c> <r> <d> .\n")
    assert "_:a" in load_dataset(tmp_path).entities


def test_a_graph_whose_test_triples_name_other_entities_is_suspected(tmp_path):
    """As a folder of InGram that lost its msg.txt."""
    (tmp_path / "train.txt").write_text("a\tr\tb\nb\tr\tc\n")
    (tmp_path / "test.txt").write_text("a\tr\tc\nx\tr\ty\nz\tr\ta\n")
    data = load_dataset(tmp_path)
    line = read_as(data.assumptions)
    assert "train (2 of 3 test triples have an entity that is in no train triple; if not: add msg.txt" in line
    assert line in unwrapped(summarize(evaluate(lambda h, r, t: h, data), "mrr"))
    (tmp_path / "test.txt").write_text("a\tr\tc\nb\tr\ta\nz\tr\ta\n")
    assert load_dataset(tmp_path).assumptions == ()


def test_cells_of_two_train_files_are_noted_where_they_stand(tmp_path):
    (tmp_path / "train.txt").write_text("a\tr\tb\n")
    (tmp_path / "facts.txt").write_text("b\tr\tc\nc\t\ta\n")
    (tmp_path / "test.txt").write_text("a\tr\tc\n")
    data = load_dataset(tmp_path, layout="red-gnn")
    assert f"1 relation cell without text, the first in {tmp_path / 'train.txt'} and facts.txt, row 3:" in data.notes[0]


def test_columns_may_be_said_by_any_name_of_the_field_and_constants_beside_an_order():
    said = Columns.of("truth=flag,subject=gene,rating=stars")
    assert said.names == {"label": "flag", "head": "gene", "confidence": "stars"}
    mixed = Columns.of("head,tail,relation='binds'")
    assert (mixed.order, mixed.constants) == (("head", "tail"), {"relation": "binds"})
    with pytest.raises(DatasetError, match="'head' has no name of a column"):
        Columns.of("head,tail=drug")


@pytest.mark.parametrize("further", ["node1;label", "node1;label\tlabel;label\tnode2;label"])
def test_ids_of_kgtk_come_before_their_labels(further):
    header = ["id", "node1", "label", "node2", *further.split("\t")]
    roles = resolve("kgtk.tsv", header)
    assert {role: header[roles.index(role)] for role in TRIPLE} == dict(
        zip(TRIPLE, ("node1", "label", "node2"), strict=True)
    )
