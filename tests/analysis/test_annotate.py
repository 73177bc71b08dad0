"""``annotate``: rows are matched by label, whatever does not fit is refused, and categories keep their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kgeval import Dataset, KgevalError, RankTable, Slice, Vocabulary, annotate, summarize
from kgeval.analysis.slices.slice import Categories, find_slice, slices
from kgeval.base.errors import DatasetError, MetricError, TableError
from kgeval.data.provenance import UNKNOWN
from tests.analysis.ranked_rows import graph_of, ranked
from tests.conftest import random_dataset

DATA = random_dataset(3)
TABLE = ranked(DATA)
EVERY = [name for name, one in slices().items() if not (one.needs_times or one.needs_training_graph)]


def renumbered(dataset, seed):
    """The same graph with other ids."""
    rng = np.random.default_rng(seed)
    entities, relations = (rng.permutation(len(labels)) for labels in (dataset.entities, dataset.relations))
    splits = {}
    for split, triples in dataset.splits.items():
        ids = np.argsort(entities)[triples.ids]
        ids[:, 1] = np.argsort(relations)[triples.relations]
        splits[split] = ids
    return Dataset.build(
        "renumbered",
        splits,
        entities=Vocabulary(dataset.entities.take(entities)),
        relations=Vocabulary(dataset.relations.take(relations), "relation"),
    )


def test_rows_are_matched_by_label_not_by_id():
    own, other = annotate(TABLE, DATA, EVERY), annotate(TABLE, renumbered(DATA, 1), EVERY)
    assert own.data.equals(other.data)
    assert own.further != []


def test_what_the_table_says_stays():
    annotated = annotate(TABLE, DATA, "pattern")
    assert annotated.columns == [*TABLE.columns, "pattern"]
    assert annotated.data.drop(["pattern"]).equals(TABLE.data)
    assert annotated.provenance == TABLE.provenance
    nothing = TABLE.where(np.zeros(len(TABLE), np.bool_))
    assert annotate(nothing, DATA, EVERY).columns == [*TABLE.columns, *EVERY]


def test_ranks_of_an_unknown_split_are_sought_in_all():
    table = replace(ranked(DATA, "valid"), split=UNKNOWN)
    assert len(annotate(table, DATA, "cardinality")) == len(table)


LACKS = r"it lacks [0-9]+ of the [0-9]+ ranked triples, such as \(e[0-9]+, r0[0-9], e[0-9]+\)"
OTHERS = {
    "labels": (graph_of(test=[(0, 0, 1)]), "dataset made: it has no entity 'e[0-9]+', nor [0-9]+ more of the table"),
    "triples": (replace(DATA, test=DATA.valid), LACKS),
    "relations": (replace(DATA, relations=Vocabulary([*"abcd"], "relation")), "no relation 'r0[0-3]', nor 3 more"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_ranks_of_another_graph_are_refused(what):
    dataset, message = OTHERS[what]
    with pytest.raises(TableError, match=message):
        annotate(TABLE, replace(dataset, train=DATA.train), "seen")
    with pytest.raises(TableError, match=LACKS):
        annotate(replace(TABLE, split="valid"), DATA, "seen")


@pytest.mark.parametrize("name", EVERY)
def test_a_graph_without_train_gives_what_needs_none(name):
    dataset = replace(DATA, train=graph_of().train)
    if "train" not in slices()[name].needs:
        assert annotate(TABLE, dataset, name).columns[-1] == name
    else:
        with pytest.raises(DatasetError, match=f"slice '{name}' needs train triples, and dataset random has none"):
            annotate(TABLE, dataset, name)


def test_without_labels_nothing_can_be_matched():
    column = TABLE.data.column("head_label").combine_chunks()
    holes = pa.DictionaryArray.from_arrays(
        pa.array(np.asarray(column.indices), mask=np.arange(len(TABLE)) == 2), column.dictionary
    )
    position = TABLE.columns.index("head_label")
    with pytest.raises(TableError, match="row 2 has no label for its head"):
        annotate(replace(TABLE, data=TABLE.data.set_column(position, "head_label", holes)), DATA, "seen")


@pytest.mark.parametrize(
    ("table", "name", "message"),
    [
        (TABLE, "cardinalty", "unknown slice 'cardinalty'. Did you mean 'cardinality'"),
        (TABLE, "relation", "unknown slice 'relation'. Did you mean 'new-relations' or 'relation-frequency'"),
        (TABLE, 7, "unknown slice 7."),
        (annotate(TABLE, DATA, "seen"), "seen", "the table has a column 'seen' already"),
        (TABLE.to_pandas(), "seen", "expected a rank table, found DataFrame"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_slice_or_no_table_for_it_is_refused(table, name, message):
    with pytest.raises(TableError, match=message):
        annotate(table, DATA, [name])


def made(assign, name="mine"):
    return Slice(name, "a slice", rule="of this test", source="this test", assign=assign, needs=())


def test_a_slice_of_ones_own_is_an_object():
    mine = made(lambda rows, dataset: Categories(rows.answers % 3, ("zero", "one", "two")))
    table = annotate(TABLE, DATA, [mine, "seen"])
    assert table.column("mine").tolist() == [("zero", "one", "two")[answer % 3] for answer in answers(TABLE)]
    assert find_slice(mine) is mine


def answers(table):
    frame = table.to_pandas()
    return frame["tail"].where(frame["side"] == "tail", frame["head"])


NO_CATEGORY = [
    lambda rows, dataset: Categories(rows.answers[1:], ("a",)),
    lambda rows, dataset: Categories(rows.answers * 0 + 1, ("a",)),
    lambda rows, dataset: Categories(rows.answers * 0 - 1, ("a",)),
    lambda rows, dataset: Categories(rows.answers * 0.0, ("a",)),
    lambda rows, dataset: Categories(rows.answers * 0, ("a", "a")),
]


@pytest.mark.parametrize("assigned", NO_CATEGORY)
def test_a_slice_that_gives_something_else_is_refused_by_name(assigned):
    with pytest.raises(TableError, match=r"slice 'mine': expected \d+ whole numbers below [12], .*; found"):
        annotate(TABLE, DATA, made(assigned))
    with pytest.raises(TableError, match="slice 'mine': expected Categories, found list"):
        annotate(TABLE, DATA, made(lambda rows, dataset: ["a"] * len(rows.tails)))


@pytest.mark.parametrize(("name", "error"), [("Mine", MetricError), ("a,b", MetricError), ("side", TableError)])
def test_a_slice_has_a_name_that_a_column_can_have(name, error):
    with pytest.raises(error, match=name):
        made(None, name)
    assert issubclass(error, KgevalError)


# Groups

THREE = made(lambda rows, dataset: Categories(rows.answers % 3, ("z", "unused", "a")[:3]), "three")


def keys(table, *by):
    return [tuple(group.key.values()) for group in summarize(table, ["mrr"], by=by).groups]


def test_groups_are_in_the_order_of_the_categories():
    table = annotate(TABLE, DATA, THREE)
    assert keys(table, "three") == [("z",), ("unused",), ("a",)]
    assert keys(table, "side", "three") == [(side, name) for side in ("head", "tail") for name in ("z", "unused", "a")]
    unordered = table.data.column("three").cast(pa.string())
    plain = replace(table, data=table.data.set_column(table.columns.index("three"), "three", unordered))
    assert keys(plain, "three") == [("a",), ("unused",), ("z",)]


def test_the_order_outlives_a_file_a_selection_and_a_concatenation(tmp_path):
    table = annotate(TABLE, DATA, THREE)
    table.to_parquet(tmp_path / "ranks.parquet")
    read = RankTable.from_parquet(tmp_path / "ranks.parquet")
    heads, tails = (read.where(read.column("side") == side) for side in ("head", "tail"))
    assert keys(RankTable.concat([tails, heads]), "three") == [("z",), ("unused",), ("a",)]
    few = read.where(answers(read).to_numpy() % 3 != 1)
    assert keys(few, "three") == [("z",), ("a",)]


def test_missing_values_of_an_ordered_column_come_first():
    column = pa.DictionaryArray.from_arrays(pa.array([1, None] * (len(TABLE) // 2)), ["b", "a"], ordered=True)
    table = replace(TABLE, data=TABLE.data.append_column("holes", column))
    assert keys(table, "holes") == [(None,), ("a",)]


def test_the_groups_of_a_slice_are_the_rows_of_its_categories():
    table = annotate(TABLE, DATA, EVERY)
    for name in EVERY:
        frame = table.to_pandas()
        for group in summarize(table, ["count"], by=["side", name]).groups:
            mine = (frame["side"] == group.key["side"]) & (frame[name] == group.key[name])
            assert next(iter(group.values.values())) == mine.sum() > 0


@pytest.mark.parametrize("metrics", [["mrr"], ["mrr", "count"], ["tail.hits@3", "both.mrr"]])
def test_a_count_stands_beside_every_value_of_a_group(metrics):
    frame = summarize(TABLE, metrics, by="relation").to_frame().set_index("relation")
    rows = TABLE.to_pandas()
    sides = {column.partition(".")[0] for column in frame.columns}
    for side in sides:
        mine = rows if side == "both" else rows[rows["side"] == side]
        assert frame[f"{side}.count"].to_dict() == mine.groupby("relation_label", observed=True).size().to_dict()
    assert len(frame.columns) == len(set(frame.columns))


def test_a_missing_label_is_no_other_label():
    """Also in columns that hold each label once, as those of labels do."""
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 0] * (len(TABLE) // 3)), ["b", "a"])
    table = replace(TABLE, data=TABLE.data.append_column("topic", column))
    assert table.column("topic").tolist() == column.to_pylist()
    assert keys(table, "topic") == [(None,), ("a",), ("b",)]


def test_a_slice_that_was_not_added_is_said_to_be_missing():
    with pytest.raises(TableError, match=r"by: the table has no column 'seen'.*kgeval\.annotate adds slices"):
        summarize(TABLE, ["mrr"], by=["side", "seen"])
