"""Groups that the user names: relations by name or pattern, answers by type; against group-bys of pandas."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Dataset, Slice, Triples, Vocabulary, annotate, evaluate, load_dataset, summarize
from kgeval.base.errors import KgevalError, TableError
from tests.analysis.ranked_rows import graph_of, ranked
from tests.conftest import random_dataset

DATA = random_dataset(5, relations=9)
TABLE = evaluate(lambda h, r, t: (h * 31 + r * 5 + t * 7) % 11, DATA)
NAMES = list(DATA.relations)
GROUPS = {"some": NAMES[2:4], "rest": None, "late": [f"~[{NAMES[6][-1]}{NAMES[7][-1]}]$"]}


def by_pandas(column):
    """The mean reciprocal rank and the number of rows of each group."""
    frame = TABLE.to_pandas()
    ranks = 1 + frame["greater"] + frame["tied"] / 2
    found = (1 / ranks).groupby([column(row) for row in frame.itertuples()]).agg(["mean", "size"])
    return {name: (pytest.approx(mean), size) for name, mean, size in found.itertuples()}


def by_slice(*slices):
    summary = summarize(annotate(TABLE, DATA, slices), ["both.mrr", "both.count"], by=[one.name for one in slices])
    return {tuple(group.key.values()): tuple(group.values.values()) for group in summary.groups}


def test_groups_of_relations_are_those_of_pandas():
    expected = by_pandas(
        lambda row: (
            "some" if row.relation_label in NAMES[2:4] else "late" if row.relation_label in NAMES[6:8] else "rest"
        )
    )
    found = by_slice(Slice.of_relations("purpose", GROUPS))
    assert {name: values for (name,), values in found.items()} == expected
    assert [name for (name,) in found] == ["some", "rest", "late"]


def test_types_of_answers_are_those_of_pandas(tmp_path):
    rng = np.random.default_rng(1)
    types = {label: rng.choice(["x", "y", "z"], rng.integers(0, 3), replace=False) for label in DATA.entities}
    rows = [f"{label}\t{one}\n" for label, own in types.items() for one in own]
    (tmp_path / "types.tsv").write_text("".join(rows))

    def named(row):
        answer = row.tail_label if row.side == "tail" else row.head_label
        return " + ".join(sorted(types[answer])) or "in no group"

    found = by_slice(Slice.of_types("kind", str(tmp_path / "types.tsv")))
    assert {name: values for (name,), values in found.items()} == by_pandas(named)


def test_prefixes_and_purposes_by_hand():
    labels = Vocabulary(["Gene::1", "Drug::1", "Drug::2", "odd"]), Vocabulary(["CtD", "CpD", "CcSE"], "relation")
    splits = {"train": Triples.of([]), "valid": Triples.of([]), "test": Triples.of([(0, 0, 1), (0, 1, 3), (1, 2, 2)])}
    data = Dataset.build("bio", splits, entities=labels[0], relations=labels[1])
    groups = {"treats": ["CtD", "CpD"], "side effects": "CcSE"}
    table = annotate(ranked(data), data, [Slice.of_types("kind", "prefix"), Slice.of_relations("purpose", groups)])
    assert table.column("purpose").tolist() == ["treats", "treats", "side effects"] * 2
    assert table.column("kind").tolist() == ["Gene", "Gene", "Drug", "Drug", "in no group", "Drug"]


def test_an_expression_is_a_slice_wherever_one_is_named():
    table = annotate(TABLE, DATA, "relation~([0-9])$")
    own = annotate(TABLE, DATA, Slice.of_relations("digit", "([0-9])$"))
    assert table.column("relation~([0-9])$").tolist() == own.column("digit").tolist()
    assert own.column("digit").tolist() == [label[-1] for label in own.column("relation_label")]


def test_domains_of_freebase(shared):
    data = load_dataset(shared / "data/fb15k-237")
    table = annotate(ranked(data), data, "relation~^/([^/]+)")
    expected = [label.split("/")[1] for label in table.column("relation_label")]
    assert table.column("relation~^/([^/]+)").tolist() == expected


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": ["r0"], "b": ["~r"]}, "the relation 'r0' is in 'a' and in 'b'"),
        ({"a": ["r7"]}, "groups: 'a': unknown relation 'r7'. Did you mean|groups: 'a': unknown relation 'r7'"),
        ({"a": ["~x"]}, "no relation matches 'x'"),
        ({"a": ["~("]}, "no regular expression"),
        ({"a": None, "b": None}, "'a' and 'b' are both null"),
        ({"a": 3}, "'a' needs a list of relations, or null; found 3"),
        ({"a": [3]}, "a relation is text, found 3"),
        ({}, "expected the relations of each group"),
        ("r", "no part in round brackets"),
    ],
)
def test_malformed_groups(groups, message):
    data = graph_of(train=[(0, 0, 1)], test=[(0, 0, 1)])
    with pytest.raises(TableError, match=message):
        annotate(ranked(data), data, Slice.of_relations("own", groups))


def test_a_file_of_types_has_to_be_there():
    with pytest.raises(KgevalError, match="no such file"):
        annotate(TABLE, DATA, "types:nothing.tsv")
