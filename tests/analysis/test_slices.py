"""Every slice equals its definition, written again with plain sets; ``leak`` says what the audit flags."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgeval
from kgeval import Dataset, annotate
from kgeval.analysis.slices.patterns import composed
from kgeval.analysis.slices.slice import slices
from kgeval.base.errors import DatasetError
from tests.analysis.ranked_rows import graph_of, graphs, ranked
from tests.analysis.relations_by_sets import flagged


class Facts:
    """The triples of a graph as sets."""

    def __init__(self, dataset):
        self.splits = {split: [tuple(row) for row in part.ids.tolist()] for split, part in dataset.splits.items()}
        self.train = set(self.splits.get("train", []))
        self.all = {triple for triples in self.splits.values() for triple in triples}
        self.names = Counter(entity for h, _, t in self.train for entity in {h, t})


def cardinality(triples, relation, many):
    """OpenKE's n-n.py: lists by (h, r) and (r, t), and the means of their lengths."""
    tails, heads = defaultdict(list), defaultdict(list)
    for h, r, t in triples:
        if r == relation:
            tails[h].append(t)
            heads[t].append(h)
    if not tails:
        return "not in train"
    mean = lambda lists: sum(map(len, lists.values())) / len(lists)  # noqa: E731
    return f"{'N' if many(mean(heads)) else '1'}-{'N' if many(mean(tails)) else '1'}"


def edge_cardinality(facts, h, r, t):
    tails = {x for a, b, x in facts.all if (a, b) == (h, r)}
    heads = {x for x, b, c in facts.all if (b, c) == (r, t)}
    return f"{'N' if len(heads) > 1 else '1'}-{'N' if len(tails) > 1 else '1'}"


def flags(facts, h, r, t):
    """The patterns that hold of a triple, in order."""
    train, loop = facts.train, h == t
    edges = {(a, b) for a, _, b in train}
    holds = {
        "loop": loop,
        "symmetric": not loop and (t, r, h) in train,
        "inverse": any((a, c) == (t, h) and b != r for a, b, c in train),
        "parallel": any((a, c) == (h, t) and b != r for a, b, c in train),
        "composition": not loop and any((h, x) in edges and (x, t) in edges for x in set(facts.names) - {h, t}),
    }
    return [name for name, value in holds.items() if value]


def flag(name):
    return lambda facts, h, r, t, side: "yes" if name in flags(facts, h, r, t) else "no"


def answers_in_train(facts, h, r, t, side):
    """The answers of a row's query in train."""
    if side == "tail":
        return {x for a, b, x in facts.train if (a, b) == (h, r)}
    return {x for x, b, c in facts.train if (b, c) == (r, t)}


def ends(h, t, side):
    return (h, t) if side == "tail" else (t, h)


def known_answers(facts, h, r, t, side):
    others = len(answers_in_train(facts, h, r, t, side) - {ends(h, t, side)[1]})
    return next((name for last, name in [(0, "0"), (1, "1"), (10, "2–10"), (100, "11–100")] if others <= last), None)


def seen(facts, h, r, t, side):
    anchor, answer = ends(h, t, side)
    there = [("answer", facts.names[answer]), ("anchor", facts.names[anchor])]
    there.append(("pair", answers_in_train(facts, h, r, t, side)))
    return ", ".join(name for name, value in there if value) or "none"


def half_links(facts, h, r, t, side):
    query, answer = bool(answers_in_train(facts, h, r, t, side)), popularity(facts, h, r, t, side) > 0
    return {(True, True): "both", (True, False): "query only", (False, True): "answer only"}.get(
        (query, answer), "none"
    )


def popularity(facts, h, r, t, side):
    return sum(b == r and (c == t if side == "tail" else a == h) for a, b, c in facts.train)


COUNTS = {
    "answer-degree": lambda facts, h, r, t, side: facts.names[ends(h, t, side)[1]],
    "anchor-degree": lambda facts, h, r, t, side: facts.names[ends(h, t, side)[0]],
    "answer-popularity": popularity,
    "relation-frequency": lambda facts, h, r, t, side: sum(b == r for _, b, _ in facts.train),
}


def in_quarters(count):
    """The bin of a count: its limits are the counts of the rows at a quarter, a half, … of all rows above 0."""

    def name(facts, h, r, t, side):
        every = sorted(count(facts, *triple, s) for triple in facts.splits["test"] for s in ("head", "tail"))
        every = [value for value in every if value]
        lasts = sorted({every[math.ceil(len(every) * quarter / 4) - 1] for quarter in range(1, 5)}) if every else []
        value = count(facts, h, r, t, side)
        if value == 0:
            return "0"
        last = min(limit for limit in lasts if limit >= value)
        first = 1 + max(limit for limit in lasts if limit < value) if last > lasts[0] else every[0]
        return str(last) if first == last else f"{first}–{last}"

    return name


RULES = {
    "cardinality": lambda facts, h, r, t, side: cardinality(facts.train, r, lambda mean: mean >= 1.5),
    "cardinality-all": lambda facts, h, r, t, side: cardinality(facts.all, r, lambda mean: mean >= 1.5),
    "cardinality-libkge": lambda facts, h, r, t, side: cardinality(facts.train, r, lambda mean: mean > 1.5),
    "edge-cardinality": lambda facts, h, r, t, side: edge_cardinality(facts, h, r, t),
    "pattern": lambda facts, h, r, t, side: [*flags(facts, h, r, t), "none"][0],
    **{f"pattern-{name}": flag(name) for name in ("loop", "symmetric", "inverse", "parallel", "composition")},
    **{name: in_quarters(count) for name, count in COUNTS.items()},
    "known-answers": known_answers,
    "seen": seen,
    "half-links": half_links,
}


def rows(table):
    columns = (table.column(name).tolist() for name in ("head", "relation", "tail", "side"))
    return list(zip(*columns, strict=True))


@given(dataset=graphs())
def test_every_slice_is_its_definition(dataset):
    facts, table = Facts(dataset), ranked(dataset)
    annotated = annotate(table, dataset, [*RULES])
    for name, rule in RULES.items():
        assert annotated.column(name).tolist() == [rule(facts, *row) for row in rows(table)], name


def test_there_is_a_definition_of_every_slice_but_leaks():
    """Those of the audit and of inductive datasets have tests of their own."""
    others = {name for name, one in slices().items() if one.needs_times or one.needs_training_graph}
    assert {name for name in slices() if not name.startswith("leak")} - others == set(RULES)


@given(dataset=graphs(), draw=st.data())
def test_what_a_row_is_does_not_depend_on_other_rows(dataset, draw):
    table = ranked(dataset)
    keep = np.array(draw.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))))
    part, whole = annotate(table.where(keep), dataset, [*RULES]), annotate(table, dataset, [*RULES]).where(keep)
    for name in RULES:
        assert part.column(name).tolist() == whole.column(name).tolist()
        assert part.ordered_codes(name).tolist() == whole.ordered_codes(name).tolist()


@given(dataset=graphs(), block=st.integers(1, 6))
def test_compositions_do_not_depend_on_how_the_work_is_cut(dataset, block):
    graph = dataset.test, dataset.train, len(dataset.entities)
    assert composed(*graph, block=block).tolist() == composed(*graph).tolist()


@pytest.mark.parametrize(
    ("tails", "classes"),
    [(1, ("1-1", "1-1")), (2, ("1-N", "1-1")), (3, ("1-N", "1-N"))],
    ids=["mean 1", "mean 1.5", "mean 2"],
)
def test_a_mean_of_one_and_a_half_is_many_but_for_libkge(tails, classes):
    """Two heads have one tail and ``tails`` tails: (1 + 2) / 2 is 1.5."""
    train = [(0, 0, 2), *((1, 0, 3 + index) for index in range(tails))]
    dataset = graph_of(train, test=[(0, 0, 3)])
    annotated = annotate(ranked(dataset), dataset, ["cardinality", "cardinality-libkge"])
    assert tuple(annotated.column(name)[0] for name in ("cardinality", "cardinality-libkge")) == classes


def test_a_triple_at_several_times_is_one_triple_of_all_splits():
    """One fact holds at two times: its head has one tail, not two."""
    rows = [("a", "r", "b", "1"), ("a", "r", "b", "2"), ("c", "r", "d", "1")]
    dataset = Dataset.from_labels(train=rows, test=[("a", "r", "b", "3")], columns="head,relation,tail,time")
    table = annotate(ranked(dataset), dataset, ["cardinality-all", "edge-cardinality"])
    assert [set(table.column(name)) for name in ("cardinality-all", "edge-cardinality")] == [{"1-1"}, {"1-1"}]


def test_a_family_by_hand():
    """0 and 1 are married; 2 and 3 are their children. r0: parent of, r1: child of, r2: married to."""
    dataset = graph_of(
        train=[(0, 0, 2), (1, 0, 2), (1, 0, 3), (2, 1, 1), (3, 1, 0), (1, 2, 0)],
        test=[(0, 0, 3), (0, 2, 1), (2, 1, 0), (4, 2, 4)],
        entities=5,
    )
    table = annotate(ranked(dataset), dataset, [*RULES])
    of = {name: table.column(name)[table.column("side") == "tail"].tolist() for name in RULES}
    assert of["cardinality"] == ["N-N", "1-1", "1-1", "1-1"]  # parent of: 3 triples of 2 heads and 2 tails
    assert of["edge-cardinality"] == ["N-N", "1-1", "N-N", "1-1"]
    # 3 is child of 0. 1 is married to 0. 0 is a parent of 2. 4 is married to itself.
    assert of["pattern"] == ["inverse", "symmetric", "inverse", "loop"]
    assert of["pattern-composition"] == ["no", "yes", "yes", "no"]  # 0 to 1 over 2; 2 to 0 over 1
    assert of["known-answers"] == ["1", "0", "1", "0"]
    assert of["seen"] == ["answer, anchor, pair", "answer, anchor", "answer, anchor, pair", "none"]


def test_bins_name_their_limits_in_order():
    """Answers of degree 1, 1, 2, …: the categories are there whether or not rows are in them."""
    train = [(7, 0, 6), *((head, 0, tail) for tail in range(4) for head in range(4, 5 + tail))]
    dataset = graph_of(train, test=[(0, 1, 1), (2, 1, 3)])
    column = annotate(ranked(dataset), dataset, "answer-degree").data.column("answer-degree")
    assert column.type.ordered
    assert pc.unique(column).to_pylist() == ["1", "3", "2", "4"]
    assert column.chunk(0).dictionary.to_pylist() == ["0", "1", "2", "3", "4"]


BOUNDS = {0: "0", 1: "1", 2: "2–10", 10: "2–10", 11: "11–100", 101: "101–1000", 1000: "101–1000", 1001: "over 1000"}


@pytest.mark.parametrize(("answers", "name"), BOUNDS.items())
def test_known_answers_are_counted_without_the_answer(answers, name):
    train = [(0, 0, tail) for tail in range(1, 2 + answers)]
    dataset = graph_of(train, test=[(0, 0, 1), (0, 0, answers + 2)], entities=answers + 3)
    column = annotate(ranked(dataset), dataset, "known-answers").column("known-answers")
    assert column[2] == name  # the answer of the first tail row is in train too


WAYS = ("repeated", "reverse", "duplicate", "inverse")


@given(graphs())
def test_the_first_way_names_the_leak(dataset):
    flags = flagged(dataset, "test", 0.8)
    expected = [
        next((way for way, holds in zip(WAYS, ways, strict=True) if holds), "none")
        for ways in zip(*(flags[way] for way in WAYS), strict=True)
    ]
    table = annotate(ranked(dataset), dataset, "leak")
    assert table.column("leak").tolist() == expected * 2
    column = table.data.column("leak").combine_chunks()
    assert column.dictionary.to_pylist() == ["none", *WAYS]
    assert column.type.ordered


def test_a_search_that_was_too_much_gives_no_slice():
    many = 33_000
    dataset = graph_of(train=[(0, relation, 1) for relation in range(many)], test=[(2, 0, 3)], relations=many)
    with pytest.raises(
        DatasetError,
        match=r"slice 'leak': relations that are near-duplicate.* were not searched for: .* Leave it out\.",
    ):
        annotate(ranked(dataset), dataset, "leak")


def test_a_metric_on_the_clean_part_beside_the_whole():
    """On UMLS, 11 test triples are reversed under a symmetric relation, and 8 more by inverse rules only."""
    data = kgeval.load_dataset("umls")
    table = annotate(kgeval.evaluate(lambda h, r, t: (h * 31 + r * 5 + t * 7) % 50, data), data, "leak")
    groups = kgeval.summarize(table, ["both.mrr"], by="leak").to_frame()
    assert dict(zip(groups["leak"], groups["both.count"], strict=True)) == {"none": 1284, "reverse": 22, "inverse": 16}
    clean = kgeval.summarize(table.where(table.column("leak") == "none"), ["both.mrr"])["mrr"]
    assert groups["both.mrr"][0] == pytest.approx(clean, rel=1e-12)
    whole = kgeval.summarize(table, ["both.mrr"])["mrr"]
    assert np.average(groups["both.mrr"], weights=groups["both.count"]) == pytest.approx(whole, rel=1e-12)
