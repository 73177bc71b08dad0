"""Datasets of labelled triples and of PyKEEN's objects in memory: the graph that the same triples in files give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kgeval import Dataset, evaluate, load_dataset
from kgeval.base.errors import DatasetError, InputError
from tests.data.folders import write

ROWS = {
    "train": [("b", "likes", "a"), ("Z", "likes", "c"), ("c", "knows", "b"), ("b", "likes", "a")],
    "valid": [("a", "knows", "new")],
    "test": [("b", "likes", "c"), ("A", "hates", "a")],
}
NAMES = ["head", "relation", "tail"]
FORMS = {
    "tuples": list,
    "lists": lambda rows: [list(row) for row in rows],
    "a generator": iter,
    "an array": np.array,
    "an array of objects": lambda rows: np.array(rows, object),
    "a data frame": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "columns in another order": lambda rows: pd.DataFrame(rows, columns=NAMES)[["tail", "head", "relation"]],
    "columns by position": pd.DataFrame,
    "further columns": lambda rows: pd.DataFrame(rows, columns=NAMES).assign(comment=2014),
    "categories": lambda rows: pd.DataFrame(rows, columns=["subject", "predicate", "object"], dtype="category"),
    "an Arrow table": lambda rows: pa.table(pd.DataFrame(rows, columns=NAMES)),
}


def same(mine, other):
    assert (mine.entities, mine.relations) == (other.entities, other.relations)
    assert mine.sha256() == other.sha256()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_labels_in_memory_give_the_graph_of_the_same_files(tmp_path, form):
    data = Dataset.from_labels(**{split: form(rows) for split, rows in ROWS.items()})
    same(data, load_dataset(write(tmp_path, ROWS, ending=".tsv")))
    assert data.repeated == {"train": 1}


def test_confidences_in_memory_are_those_of_the_same_files(tmp_path):
    rows = {split: [(*row, 0.25 * place) for place, row in enumerate(part)] for split, part in ROWS.items()}
    frames = {split: pd.DataFrame(part, columns=["h", "r", "t", "weight"]) for split, part in rows.items()}
    read = load_dataset(write(tmp_path, rows, ending=".tsv"))
    assert list(read.confidences) == ["train", "valid", "test"]
    same(Dataset.from_labels(**rows), read)
    same(Dataset.from_labels(**frames), read)


def test_ids_may_be_given_by_the_labels_in_their_order():
    data = Dataset.from_labels(test=[("b", "likes", "a")], entities=["c", "b", "a"], relations={"likes": 1, "knows": 0})
    assert (data.test.ids.tolist(), list(data.relations)) == ([[1, 1, 2]], ["knows", "likes"])
    assert data.id_source is None
    assert Dataset.from_labels(test=[("b", "likes", "a")], name="mine").id_source == "kgeval"


FRAME = pd.DataFrame(ROWS["train"], columns=NAMES)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "r", "b"), ("a", "r")], r"mine, split train, row 2: expected head, relation, tail, found \('a', 'r'\)"),
        (["abc"], "row 1: expected head, relation, tail, found 'abc'"),
        ([("a", "r", "b", 0.5, 1)], r"row 1: expected head, relation, tail, found \('a', 'r', 'b', 0.5, 1\)"),
        (5, "split train: expected rows of head, relation, tail, found 5"),
        ([("a", "r", "b"), (0, 0, 1)], "row 2: the head is 0 of type int: labels are text. .* call Dataset.build"),
        (np.zeros((2, 3), int), "row 1: the head is .* of type int64: labels are text"),
        (FRAME.assign(tail=["a", None, "b", "c"]), "row 2: the tail is .* labels are text"),
        (FRAME.drop(columns="tail"), "no column is the tail; found the columns 'head', 'relation'"),
        (FRAME.assign(h="a"), r"several columns are the head \('head' and 'h'\)"),
        (FRAME.assign(confidence="high"), "row 1: the confidence 'high' is not a number from 0"),
        (FRAME.assign(confidence=[0.1, 0.2, -1.5, 1]), "row 3: the confidence -1.5 is not a number from 0"),
        (FRAME.assign(confidence=0.1), "split test: no confidences, but mine, split train has them"),
        ([("a", "r", "\ud800")], "split train: the tail .* is not Unicode text"),
    ],
)
def test_what_is_no_labelled_triple_is_refused_with_its_row(rows, message):
    with pytest.raises(DatasetError, match=message):
        Dataset.from_labels(train=rows, test=ROWS["test"], name="mine")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entities": ["a", "b"]}, "split test, row 2: the head 'A' is no entity of the dataset"),
        ({"entities": ["a", "b", "b"]}, "two ids carry the entity label 'b'"),
        (
            {"relations": {"likes": 0, "hates": 2}},
            "of relation labels, with the ids 0 to 1, each once; found {'likes': 0, 'hates': 2}",
        ),
        ({"test": []}, "labels: no triples in it"),
    ],
)
def test_labels_that_fit_no_triple_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Dataset.from_labels(**{"test": ROWS["test"], **options})


@pytest.fixture(scope="module")
def nations_of_pykeen():
    from pykeen.datasets import Nations

    return Nations()


def test_objects_of_pykeen_are_datasets(nations, nations_of_pykeen):
    graph = nations_of_pykeen
    by_split = {"train": graph.training, "valid": graph.validation, "test": graph.testing}

    def score(heads, relations, tails):
        return (heads * 5 + relations * 3 + tails * 11) % 7

    expected = evaluate(score, nations).to_pandas()
    for source in (graph, graph.factory_dict, by_split):
        same(load_dataset(source), nations)
        assert evaluate(score, source).to_pandas().equals(expected)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda graph: graph.testing, "a triples factory holds one split. Give a factory for each"),
        (lambda graph: {"test": graph.testing.mapped_triples}, "the test split must be a triples factory of PyKEEN"),
        (lambda graph: {"tset": graph.testing}, r"unknown split 'tset'. Did you mean 'test'\?"),
        (lambda graph: {}, "no triples factories"),
        (lambda graph: [("a", "likes", "b")], r"For triples in memory, call kgeval\.Dataset\.from_labels"),
    ],
)
def test_what_is_no_dataset_of_pykeen_is_refused(nations_of_pykeen, source, message):
    with pytest.raises(DatasetError, match=message):
        evaluate(lambda h, r, t: t, source(nations_of_pykeen))


def test_factories_that_number_differently_are_refused(nations_of_pykeen):
    from pykeen.triples import TriplesFactory

    graph, other = nations_of_pykeen, TriplesFactory.from_labeled_triples(np.array([["a", "likes", "b"]]))
    with pytest.raises(DatasetError, match="the test factory's entity_to_id differs from the train factory's"):
        load_dataset({"train": graph.training, "test": other})
