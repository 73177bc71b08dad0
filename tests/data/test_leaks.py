"""Leaks: what train gives away of valid and test, held against sets of triples and against published counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kgeval
from kgeval import Dataset, Vocabulary
from kgeval.analysis import audit
from kgeval.data.leaks import count_leaks, find_leaks, notes_on_leaks
from kgeval.data.provenance import LeakCounts
from tests.analysis.ranked_rows import graph_of
from tests.analysis.relations_by_sets import flagged

triples = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), max_size=25)


@settings(max_examples=60)
@given(st.tuples(triples, triples, triples))
@example(([(0, 0, 1), (2, 2, 2)], [(1, 1, 0)], [(1, 0, 0), (2, 1, 2), (2, 2, 2)]))
@example(([], [], [(0, 0, 1), (1, 0, 0)]))
def test_leaks_are_those_of_the_definition(rows):
    data = graph_of(*rows)
    for split, leak in find_leaks(data).items():
        expected = flagged(data, split, 0.8)
        assert leak.repeated.tolist() == expected["repeated"]
        assert leak.swapped.tolist() == expected["reverse"]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, unique=True), st.data())
def test_a_relation_and_its_inverse_give_each_other_away(pairs, data):
    """Every pair under both relations, which way round they stand in which split being drawn."""
    rows = [(h, 0, t) for h, t in pairs] + [(t, 1, h) for h, t in pairs]
    held = data.draw(st.lists(st.sampled_from(rows), min_size=1, unique=True))
    train = [row for row in rows if row not in held]
    leak = find_leaks(graph_of(train=train, test=held))["test"]
    other = [(t, 1 - r, h) in train for h, r, t in held]
    assert not leak.repeated.any()
    assert (leak.swapped >= np.array(other)).all()


@pytest.mark.parametrize(("swapped", "counts"), [(4, True), (3, False)])
def test_four_fifths_of_the_pairs_make_an_inverse(swapped, counts):
    forward = [(index, 0, index + 5) for index in range(5)]
    backward = [(t, 1, h) for h, _, t in forward[:swapped]] + [(0, 1, 9)] * (swapped < 4)
    leak = find_leaks(graph_of(train=forward, test=backward, entities=10))["test"]
    assert leak.swapped[:swapped].tolist() == [counts] * swapped


@pytest.fixture
def leaking():
    likes = [(index, 0, index + 1) for index in range(0, 8, 2)]
    return graph_of(
        train=likes, valid=likes[:1], test=[(1, 0, 0), (3, 0, 2), (2, 0, 3), (6, 1, 7)], entities=9, relations=2
    )


def test_notes_give_count_share_and_names(leaking):
    assert notes_on_leaks(leaking, "test") == ["1 of 4 test triples (25.0 %) is in train: for example (e2, r0, e3)."]
    assert notes_on_leaks(leaking, "valid") == [
        "1 of 1 validation triples (100.0 %) is in train: for example (e0, r0, e1)."
    ]
    assert notes_on_leaks(leaking, "train") == []
    both = [(0, 0, 1), (1, 0, 0), (2, 0, 3), (3, 0, 2), (4, 0, 5), (5, 0, 4), (0, 1, 2)]
    assert notes_on_leaks(graph_of(train=both[1:], test=both[:1], entities=9, relations=2), "test") == [
        "1 of 1 test triples (100.0 %) is in train with head and tail swapped under a symmetric or inverse relation: "
        "1 of relation 'r0'."
    ]


def test_counts_of_relations_have_commas_as_all_counts():
    pairs = [(head, 0, tail) for head in range(60) for tail in range(head)]
    swapped = [(tail, 0, head) for head, _, tail in pairs]
    (note,) = notes_on_leaks(graph_of(train=swapped, test=pairs, entities=60, relations=1), "test")
    assert note.startswith("1,770 of 1,770 test triples ")
    assert note.endswith(": 1,770 of relation 'r0'.")


def test_a_graph_without_train_has_nothing_to_give_away():
    assert notes_on_leaks(graph_of(test=[(0, 0, 1), (1, 0, 0)]), "test") == []


def test_what_is_too_much_is_not_looked_for_and_that_is_said(leaking):
    many = [(h, r, 5 - h) for h in (2, 3) for r in range(33_000)]
    graph = graph_of(train=[(0, 0, 1), *many], test=[(1, 0, 0), (0, 0, 1)], relations=33_000)
    assert notes_on_leaks(graph, "test") == [
        "triples with head and tail swapped in train were not searched for: too many pairs of entities are swapped.",
        "1 of 2 test triples (50.0 %) is in train: for example (e0, r0, e1).",
    ]

    class Many(Vocabulary):
        def __len__(self):
            return 2**31

    huge = Dataset.build("huge", leaking.splits, entities=Many(list(leaking.entities)), relations=leaking.relations)
    assert notes_on_leaks(huge, "test") == [
        "leaks were not searched for: the graph has too many entities and relations."
    ]


def score(heads, relations, tails):
    return (heads * 3 + tails) % 5


def test_every_evaluation_and_ranks_made_elsewhere_say_so(leaking, tmp_path):
    (note,) = notes_on_leaks(leaking, "test")
    line = "leaks: 1 of 4 test triples (25.0 %) is in train"
    table = kgeval.evaluate(score, leaking)
    assert line in kgeval.summarize(table).heads
    assert line in kgeval.summarize(table, by="side").heads
    assert [head for head in kgeval.compare({"a": table, "b": table}).heads if "leaks" in head] == [line]
    table.to_parquet(tmp_path / "ranks.parquet")
    stored = kgeval.RankTable.from_parquet(tmp_path / "ranks.parquet")
    assert kgeval.summarize(stored).to_dict()["provenance"]["leaks"] == {"triples": 4, "repeated": 1, "swapped": 0}
    assert kgeval.evaluate(score, leaking, split="valid").leaks == LeakCounts(1, repeated=1)
    assert note in kgeval.classify(score, leaking, negatives=kgeval.tasks.GeneratedNegatives()).notes
    rows = [f"{leaking.triple(*row)[1:-1].replace(', ', ' ')} 1 1" for row in leaking.test.ids.tolist()]
    (tmp_path / "ranks.txt").write_text("\n".join(["h r t frank_left frank_right", *rows]))
    assert line in kgeval.summarize(kgeval.load_ranks(tmp_path / "ranks.txt", leaking)).heads


def test_old_tables_have_no_counts_of_leaks(leaking):
    assert replace(kgeval.evaluate(score, leaking), leaks=None).provenance.heads[1:] == ()


def test_predicted_confidences_say_so(leaking):
    labels = {"entities": leaking.entities, "relations": leaking.relations}
    halves = {split: np.full(len(part), 0.5) for split, part in leaking.splits.items()}
    weighted = Dataset.build("weighted", leaking.splits, **labels, confidences=halves)
    tables = kgeval.tasks.Confidences()(lambda h, r, t: (h + t) % 3 / 3, weighted)
    assert tables.notes.count(notes_on_leaks(leaking, "test")[0]) == 1


@pytest.mark.parametrize(
    ("name", "share"),
    [("fb15k-237", 0), ("wn18rr", 1052 / 3134), ("codex-s", 254 / 1828), ("codex-m", 352 / 10311)],
)
def test_real_graphs(shared, name, share):
    """FB15k-237 was cleaned of both; a third of WN18RR stands in train backwards (Dettmers et al., 2018)."""
    data = kgeval.load_dataset(shared / "data" / name)
    leak = find_leaks(data)["test"]
    assert (leak.repeated.sum(), leak.swapped.mean()) == (0, share)
    assert len(notes_on_leaks(data, "test")) == (share > 0)


def test_few_leaks_are_a_line_and_many_a_note_and_swapped_triples_do_not_leak_relations():
    assert count_leaks(kgeval.load_dataset("umls"), "test", np.arange(661)) == (LeakCounts(661, swapped=11), [])
    leaking = graph_of(train=[(0, 0, 1), (2, 0, 3), (3, 0, 2)], test=[(1, 0, 0)], entities=4, relations=1)
    what = "100.0 % of the ranked triples are in train, unchanged or with head and tail swapped"
    parts = "has them as repeated and reverse; its group none leaves out the groups duplicate and inverse too"
    note = f"{what}. The slice leak (kgeval summarize RUN --by leak) {parts}."
    for sides, expected in (("relation", None), (("head", "relation"), LeakCounts(1, swapped=1))):
        table = kgeval.evaluate(lambda h, r, t: h + t, leaking, sides=sides)
        assert table.leaks == expected
        assert (note in table.notes) == (expected is not None)


def test_a_triple_that_train_has_and_has_swapped_too_counts_once():
    both = graph_of(train=[(0, 0, 1), (1, 0, 0)], test=[(1, 0, 0)], entities=2, relations=1)
    assert count_leaks(both, "test", np.arange(1))[0] == LeakCounts(1, repeated=1)


def test_the_line_and_the_note_count_what_they_say():
    """Of nations: fewer than stand swapped in train under any relation, and those of two parts of the slice."""
    nations = kgeval.load_dataset("nations")
    table = kgeval.evaluate(score, nations)
    ways = {(t, h) for h, _, t in nations.train.ids.tolist()}
    assert table.leaks.swapped < sum((h, t) in ways for h, _, t in nations.test.ids.tolist())
    assert table.provenance.heads[1].endswith(" with head and tail swapped under a symmetric or inverse relation")
    parts = kgeval.annotate(table, nations, "leak").column("leak").astype(str)
    assert np.isin(parts, ["repeated", "reverse"]).sum() == 2 * (table.leaks.repeated + table.leaks.swapped)
    assert np.isin(parts, ["duplicate", "inverse"]).any()
    assert "has them as repeated and reverse; its group none leaves out" in "".join(table.notes)


def test_a_table_counts_the_leaks_of_its_own_triples():
    """Restricted, sampled, and joined from shards; a table that was cut keeps the counts, and says of what."""
    umls = kgeval.load_dataset("umls")
    swapped = find_leaks(umls)["test"].swapped
    whole = kgeval.evaluate(score, umls)
    some = list(np.array(list(umls.relations))[np.unique(umls.test.relations[swapped])])
    rest = [name for name in umls.relations if name not in some]
    shards = [kgeval.evaluate(score, umls, restrict_relations_to=names) for names in (some, rest)]
    sample = kgeval.evaluate(score, umls, estimate={"triples": 300, "first": 100})
    for table in (whole, *shards, sample):
        own = np.unique(table.column("triple"))
        assert table.leaks == (LeakCounts(len(own), swapped=swapped[own].sum()) if swapped[own].any() else None)
    assert [table.leaks is None for table in shards] == [False, True]
    assert sample.num_triples == 300
    assert kgeval.RankTable.concat(shards).leaks == whole.leaks == LeakCounts(661, swapped=11)
    assert (
        whole.where(whole.column("triple") < 9)
        .provenance.heads[1]
        .startswith("leaks: 11 of all 661 ranked test triples")
    )


def test_a_temporal_graph_says_that_its_leaks_ignore_the_time():
    facts = {"train": [("a", "r", "b", "2020"), ("b", "s", "c", "2021")], "test": [("a", "r", "b", "2021")]}
    dataset = Dataset.from_labels(**facts)
    said = "1 of 1 test triples (100.0 %) is in train at any time"
    provenance = kgeval.evaluate(score, dataset).provenance
    assert provenance.heads[1] == f"leaks: {said}"
    assert provenance.to_dict()["leaks"] == {"triples": 1, "repeated": 1, "swapped": 0, "any_time": True}
    assert notes_on_leaks(dataset, "test")[0].startswith(f"{said}: for example (a, r, b")


def test_facts_that_return_in_a_forecast_are_no_leaks():
    """Of those later than all of train: a fact that train had, one that it had swapped, and a new one."""
    symmetric = [("a", "r", "b", "2020"), ("b", "r", "a", "2020"), ("c", "r", "a", "2021")]
    ahead = [("a", "r", "b", "2022"), ("a", "r", "c", "2023"), ("b", "r", "c", "2023")]
    dataset = Dataset.from_labels(train=symmetric, valid=symmetric[:1], test=ahead)
    said = "1 of 3 test triples (33.3 %) is in train at an earlier time, which is no leak in forecasting"
    table = kgeval.evaluate(score, dataset)
    assert table.provenance.heads[1] == f"returning facts: {said}"
    assert table.provenance.to_dict()["leaks"] == {"triples": 3, "repeated": 0, "swapped": 0, "returning": 1}
    assert notes_on_leaks(dataset, "test") == [f"{said}: for example (a, r, b)."]
    assert [note.kind for note in (table.provenance.heads[1], *notes_on_leaks(dataset, "test"))] == ["times", "times"]
    assert "is in train at any time" in notes_on_leaks(dataset, "valid")[0]  # which is of the time of train
    found = audit(dataset)
    assert [found.count(kind, "test") for kind in ("returning", "repeated", "reverse", "leaked")] == [1, 0, 0, 0]
    assert found.count("repeated", "valid") == 1
    assert set(kgeval.annotate(table, dataset, "leak").column("leak")) == {"none"}
    halves = [table.where(table.column("triple") % 2 == odd) for odd in (0, 1)]
    parts = [kgeval.evaluate(score, dataset, restrict_entities_to=list(names)) for names in ("ab", "abc")]
    assert parts[0].leaks == LeakCounts(1, returning=1)
    assert all(half.leaks == table.leaks for half in halves)


def test_several_splits_and_files_of_triples_have_the_line(leaking, tmp_path):
    """Counted by sets of labels; what else a file has in common with the graph is a note."""
    train = {leaking.triple(*row) for row in leaking.train.ids}
    ranked = [leaking.triple(*row) for name in ("valid", "test") for row in leaking.split(name).ids]
    table = kgeval.evaluate(score, leaking, split="valid,test")
    assert table.leaks == LeakCounts(len(ranked), repeated=sum(row in train for row in ranked))
    assert "leaks: 2 of 5 valid+test triples (40.0 %) are in train" in kgeval.summarize(table).heads
    path = tmp_path / "more.tsv"
    rows = [*leaking.test.ids.tolist(), *leaking.train.ids[:1].tolist()]
    path.write_text("\n".join(leaking.triple(*row)[1:-1].replace(", ", "\t") for row in rows))
    table = kgeval.evaluate(score, leaking, split=str(path))
    assert table.leaks == LeakCounts(5, repeated=2)
    (others,) = (note for note in table.notes if note.startswith(f"of the 5 triples of {path}, "))
    assert others.endswith("4 in test.")
    assert "in train" not in others  # which is said already
    assert any("40.0 % of the ranked triples are in train" in note for note in table.notes)
    assert kgeval.evaluate(score, leaking, split="train,test").leaks is None
