"""Triples of a dataset in other graphs, held against plain sets of labels and against counts of real graphs."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgeval import Dataset, Slice, annotate, load_dataset
from kgeval.analysis import audit
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import DatasetError, InputError
from tests.analysis.ranked_rows import ranked
from tests.conftest import unwrapped

KINDS = ("same triple", "same pair", "swapped pair")

labels = st.tuples(st.sampled_from("abcd"), st.sampled_from("rs"), st.sampled_from("abcd"))
foreign = st.tuples(st.sampled_from("abcx"), st.sampled_from("rsq"), st.sampled_from("bcdx"))
graphs = st.fixed_dictionaries(
    {"train": st.lists(foreign, min_size=1, max_size=6)},
    optional={
        "valid": st.lists(foreign, min_size=1, max_size=4),
        "test": st.lists(foreign, min_size=1, max_size=4),
        "training graph": st.lists(foreign, min_size=1, max_size=4),
    },
)
datasets = st.fixed_dictionaries(
    {"train": st.lists(labels, min_size=1, max_size=3), "test": st.lists(labels, min_size=1, max_size=9)},
    optional={"valid": st.lists(labels, min_size=1, max_size=4)},
)


def graph_of(rows, name="other"):
    """A graph of labels, whose training graph has ids of its own."""
    graph = Dataset.from_labels(**{split: part for split, part in rows.items() if split != "training graph"}, name=name)
    learned = rows.get("training graph")
    return replace(graph, training_graph=Dataset.from_labels(train=learned) if learned else None)


def first_overlap(triple, rows):
    """(how, part) by sets: how comes before which part, and what models learn from before the splits."""
    h, _, t = triple
    for how, part in product(KINDS, ["training graph", "train", "valid", "test"]):
        facts = set(rows.get(part, []))
        pairs = {(a, c) for a, _, c in facts}
        if {"same triple": triple in facts, "same pair": (h, t) in pairs, "swapped pair": (t, h) in pairs}[how]:
            return how, part
    return "none", ""


@given(datasets, graphs, graphs)
@example(
    {"train": [("a", "r", "b")], "test": [("a", "r", "a")]}, {"train": [("a", "s", "a")]}, {"train": [("x", "q", "x")]}
)
def test_every_count_is_that_of_sets(rows, one, two):
    data = graph_of(rows, "data")
    found = audit(data, against=[graph_of(one, "one"), graph_of(two, "two")])
    for split in {"test", "valid"} & {*rows}:
        for (name, graph), kind in product({"one": one, "two": two}.items(), KINDS):
            overlaps = {triple: first_overlap(triple, graph) for triple in set(rows[split])}
            parts = [part for part in ("training graph", "train", "valid", "test") if part in graph]
            counts = {tally.partner: tally for tally in found.tallies if (tally.kind, tally.split) == (kind, split)}
            for part in parts:
                held = [triple for triple, overlap in overlaps.items() if overlap == (kind, part)]
                tally = counts[f"{name} {part}"]
                assert (tally.count, tally.total) == (len(held), len(overlaps))
                findings = [it for it in found.of_kind(kind) if (it.partner, it.split) == (f"{name} {part}", split)]
                assert {it.subject: it.count for it in findings} == Counter(r for _, r, _ in held)
                assert all(it.total == sum(r == it.subject for _, r, _ in overlaps) for it in findings)
            assert len(counts) == sum(len({*graph}) for graph in (one, two))


def group(triple, *graphs):
    """The group of the slice: the best that any of the graphs has."""
    names = {"same pair": "pair only", "swapped pair": "swapped only", "none": "none"}
    order = ["in train", "in valid or test", "pair only", "swapped only", "none"]
    overlaps = [first_overlap(triple, graph) for graph in graphs]
    where = ["in valid or test" if part in ("valid", "test") else "in train" for _, part in overlaps]
    return min((names.get(how, at) for (how, _), at in zip(overlaps, where, strict=True)), key=order.index)


@given(datasets, graphs, graphs)
def test_every_row_is_in_the_group_of_sets(rows, one, two):
    data = graph_of(rows)
    others = graph_of(one), graph_of(two)
    common = {end for h, _, t in [*rows["train"], *rows["test"], *rows.get("valid", [])] for end in (h, t)}
    there = [{end for part in graph.values() for h, _, t in part for end in (h, t)} & common for graph in (one, two)]
    for held, used, sources in ((there[:1], [one], others[0]), (there, [one, two], [*others])):
        if not any(held):
            with pytest.raises(DatasetError, match="slice 'own': no entity of other is in other"):
                annotate(ranked(data), data, Slice.of_overlap("own", sources))
            continue
        table = annotate(ranked(data), data, Slice.of_overlap("own", sources))
        names = zip(*(table.column(f"{role}_label").tolist() for role in ("head", "relation", "tail")), strict=True)
        assert table.column("own").tolist() == [group(triple, *used) for triple in names]


def test_the_overlap_of_ingram_with_fb15k_237(shared):
    folders = [shared / "data" / name for name in ("ingram-fb-100", "fb15k-237")]
    read = lambda path: {tuple(row) for row in csv.reader(path.open(), delimiter="\t", quoting=csv.QUOTE_NONE)}  # noqa: E731
    test, train = read(folders[0] / "test.txt"), read(folders[1] / "train.txt")
    found = audit(folders[0], against=folders[1])
    (tally,) = (it for it in found.tallies if (it.title, it.split) == ("fb15k-237 train: same triple", "test"))
    assert (tally.count, tally.total) == (len(test & train), len(test)) == (2012, 2329)
    assert found.count("same triple", "test") == 2329
    data = load_dataset(folders[0])
    parts = annotate(ranked(data), data, f"overlap:{folders[1]}").column(f"overlap:{folders[1]}").tolist()
    assert Counter(parts) == {"in train": 2 * 2012, "in valid or test": 2 * 317}


FACTS = {"train": [("a", "r", "b")], "test": [("b", "r", "c")]}


def test_it_says_what_it_compared():
    data = Dataset.from_labels(**FACTS, name="data")
    spelt = Dataset.from_labels(train=[("b", "R", "c")], name="spelt")
    numbers = Dataset.from_labels(train=[("1", "r", "2")], test=[("2", "r", "1")], name="numbers")
    found = audit(data, against=spelt)
    assert titles(found) == ["spelt train: same triple", "spelt train: same pair", "spelt train: swapped pair"]
    assert found.notes[-1].startswith(
        "spelt has 2 of the 3 entities and 0 of the 1 relations, by label. So no triple can be found: if labels are "
        "spelt otherwise, 0 does not mean that nothing overlaps."
    )
    assert "pair (head, tail) under other relations only. Worst: r in spelt train (1 of 1 test)." in unwrapped(found)
    assert "So no triple or pair can be found" in audit(numbers, against=data).notes[-1]
    assert "The labels are numbers, which match if they are equal" in audit(numbers, against=[numbers]).notes[-1]
    assert "overlap is no proof of memorising" in unwrapped(audit(data, against=data))
    assert audit(data).notes == ()
    suspect = replace(spelt, assumptions=(Assumption("columns", "odd ones", "usual"),))
    assert "read as: columns: odd ones" in audit(data, against=suspect).notes


def titles(found):
    return list(dict.fromkeys(tally.title for tally in found.tallies if tally.partner))


def test_times_are_left_aside():
    past = Dataset.from_labels(train=[("b", "r", "c", "2020"), ("a", "r", "b", "2021")], test=[("a", "r", "b", "2022")])
    still = Dataset.from_labels(**FACTS, name="still")
    assert audit(past, against=still).count("same triple", "test") == 1
    assert audit(still, against=past).count("same triple", "test") == 1
    assert audit(past, against=past).count("same triple", "test") == 1


@pytest.mark.parametrize(
    ("against", "message"),
    [
        ("nowhere", "no folder and no PyKEEN dataset is called 'nowhere'"),
        (["umls", "umls"], r"against \(--against\): two graphs have the same name"),
        (5, "a folder or a PyKEEN name, not 5"),
    ],
)
def test_other_graphs_have_to_be_there_once(against, message):
    with pytest.raises(InputError, match=message):
        audit(Dataset.from_labels(**FACTS), against=against)


def test_there_must_be_triples_to_look_up():
    data = Dataset.from_labels(train=FACTS["train"], name="data")
    with pytest.raises(DatasetError, match=r"against .*: dataset data has no valid or test triples to look up"):
        audit(data, against=data)


def test_new_relations_are_those_that_no_model_learns():
    """A relation of the training graph's test split teaches nothing."""
    data = Dataset.from_labels(train=[("a", "r", "b")], test=[("b", "r", "c"), ("b", "s", "c"), ("b", "q", "a")])
    training = Dataset.from_labels(train=[("x", "s", "y")], test=[("y", "q", "x")])
    table = annotate(ranked(data), replace(data, training_graph=training), "new-relations")
    assert table.column("new-relations").tolist() == ["new", "in the training graph", "new"] * 2
    with pytest.raises(DatasetError, match="slice 'new-relations' needs a training graph, and dataset labels has none"):
        annotate(ranked(data), data, "new-relations")
