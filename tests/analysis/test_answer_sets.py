"""Answer sets: their members are those of the definition, whatever the filter, the kernel and the blocks."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp

from kgeval import CallableScorer, Dataset, Estimate, answers, evaluate, load_dataset
from kgeval.analysis import answers_of_ranks
from kgeval.analysis.answer_sets.answer_sets import AnswerSetTable
from kgeval.analysis.answer_sets.nonconformity import BelowReference
from kgeval.base.errors import InputError, ScoreError, TableError
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.models.adapters.prediction_lists import OneList, PredictionLists, SideLists
from tests.conftest import random_dataset
from tests.ranking.test_kernels import KERNELS, Vectors
from tests.ranking.test_views import random_family

ALL = ("train", "valid", "test")

MEASURES = {
    "rank": lambda scores: [sum(other >= score for other in scores) for score in scores],
    "gap": lambda scores: [0.0 if score == max(scores) else max(scores) - score for score in scores],
    "softmax": lambda scores: logsumexp(scores) - np.array(scores),
}


def rows_of(scorer, dataset, split, filter, measure):
    """By (head, relation, tail, side): the nonconformity of each candidate of the row, and its answer."""
    facts, rows, every = defaultdict(set), {}, np.arange(len(dataset.entities))
    for name in filter:
        for h, r, t in dataset.split(name).ids.tolist():
            facts["head", t, r].add(h)
            facts["tail", h, r].add(t)
    for h, r, t in dataset.split(split).ids.tolist():
        for side, anchor, answer in (("head", t, h), ("tail", h, t)):
            scores = np.asarray(scorer.scores(Queries.of(Triples.of([(h, r, t)]), side), every))[0].tolist()
            candidates = [e for e in every.tolist() if e == answer or e not in facts[side, anchor, r]]
            found = measure([scores[candidate] for candidate in candidates])
            rows[h, r, t, side] = dict(zip(candidates, map(float, found), strict=True)), answer
    return rows


def limit_of(rows, coverage, together=2):
    values = sorted(found[answer] for found, answer in rows.values())
    place = math.ceil(round(coverage * (len(values) + together), 9))
    return values[place - 1] if place <= len(values) else math.inf


def listed(found):
    """By the key of each row: the entities of its set, and the row's own numbers."""
    names = ("head", "relation", "tail", "side")
    keys = list(zip(*(found.ranks.column(name).tolist() for name in names), strict=True))
    triples = {(found.ranks.column("triple")[row], key[3]): key for row, key in enumerate(keys)}
    sets = {key: [] for key in keys}
    table = found.sets
    columns = (table.column(name).tolist() for name in ("triple", "side", "entity", "place", "is_answer"))
    for triple, side, entity, place, is_answer in zip(*columns, strict=True):
        key = triples[triple, side]
        sets[key].append(entity)
        assert place == len(sets[key])
        assert is_answer == (entity == key[0 if side == "head" else 2])
    return keys, sets


def check(found, scorer, dataset, name, coverage, filter=ALL):
    """Compare sets with the definition; of softmax but for entities at the limit itself, where it is rounded."""
    measure = MEASURES[name]
    limit = limit_of(rows_of(scorer, dataset, "valid", filter, measure), coverage)
    assert found.limits[0].limit == pytest.approx(limit, rel=1e-9, abs=0 if name != "softmax" else 1e-12)
    expected = rows_of(scorer, dataset, "test", filter, measure)
    keys, sets = listed(found)
    assert sorted(keys) == sorted(expected)
    for row, key in enumerate(keys):
        values, answer = expected[key]
        unsure = {e for e, value in values.items() if name == "softmax" and abs(value - limit) < 1e-9}
        inside = {e for e, value in values.items() if value <= limit}
        assert set(sets[key]) - unsure == inside - unsure, (key, limit)
        assert found.sizes[row] == len(sets[key])
        assert found.covered[row] == (answer in sets[key])
        if answer not in unsure:
            assert found.covered[row] == (answer in inside)
    assert found.coverage == np.mean(found.covered)
    assert found.mean_size == np.mean(found.sizes)


@pytest.mark.parametrize(("similarity", "name"), [("dot", "rank"), ("dot", "softmax"), ("l2", "gap")])
def test_sets_are_those_of_the_definition_however_the_work_is_cut(similarity, name):
    dataset, scorer = random_dataset(3, entities=60, triples=200), Vectors(similarity, entities=60)
    whole = answers(scorer, dataset, coverage=0.6, nonconformity=name, list_sets=True, kernel="reference")
    check(whole, scorer, dataset, name, 0.6)
    assert 1 < whole.mean_size < 50
    for options in (
        *({"kernel": kernel, "memory_limit": "100kB"} for kernel in KERNELS),
        {"threads": 2, "batch_size": 7},
        {"memory_limit": 4096},
        {"nan": "worst", "memory_limit": "100kB"},
    ):
        again = answers(scorer, dataset, coverage=0.6, nonconformity=name, list_sets=True, **options)
        assert again.sets.data.equals(whole.sets.data), options
        assert again.sizes.tolist() == whole.sizes.tolist()


@settings(max_examples=20)
@given(st.data())
def test_sets_of_any_scores_and_filters(data):
    """Whole numbers, most of which tie; infinite ones, which rule out or in."""
    dataset = random_dataset(data.draw(st.integers(0, 99)), entities=9, relations=2, triples=60)
    name = data.draw(st.sampled_from(list(MEASURES)))
    numbers = [-1.0, 0.0, 0.5, 1e300 if name == "rank" else 3.0]
    scores = data.draw(arrays(np.float64, (9, 2, 9), elements=st.sampled_from(numbers)))
    scorer = CallableScorer(lambda h, r, t: scores[h, r, t], 9, 2)
    coverage, facts = (data.draw(st.sampled_from(of)) for of in ([0.2, 0.5, 0.8, 0.99], [ALL, ("train",), ()]))
    kernel, limit = data.draw(st.sampled_from(KERNELS)), data.draw(st.sampled_from([4096, 10**9]))
    options = {"filter": facts, "kernel": kernel, "memory_limit": limit, "list_sets": True}
    found = answers(scorer, dataset, coverage=coverage, nonconformity=name, **options)
    check(found, scorer, dataset, name, coverage, facts)


@pytest.mark.parametrize("name", MEASURES)
def test_models_whose_entities_depend_on_the_relation(name):
    dataset = random_dataset(5)
    model = random_family("TransR", {"norm": 2, "normalization": "max_norm"}, entities=30)
    found = answers(model, dataset, coverage=0.7, nonconformity=name, list_sets=True)
    check(found, model, dataset, name, 0.7)


def world(valid, test, scores):
    """A graph whose tails have the same scores for every query."""
    train = [(entity, "is", entity) for entity in scores]
    data = Dataset.from_labels(train=train, valid=valid, test=test)
    return data, lambda heads, relations, tails: [scores.get(data.entities[tail], 0.0) for tail in tails]


SCORES = {"a": 9.0, "b": 8.0, "c": 7.0, "d": 6.0, "e": 6.0, "f": 5.0}


def by_hand(answers_of_valid, **options):
    valid = [(f"q{row}", "likes", answer) for row, answer in enumerate(answers_of_valid)]
    data, score = world(valid, [("q0", "likes", "f"), ("q1", "likes", "c")], SCORES)
    return answers(score, data, sides="tail", list_sets=True, filter=("valid",), **options)


def members(found):
    frame = found.sets.to_pandas()
    return ["".join(frame[frame["triple"] == triple]["entity_label"]) for triple in (0, 1)]


def test_worked_by_hand():
    """Nine answers of validation: ⌈(9 + 1) · 0.9⌉ = 9, so the limit is the worst of them."""
    found = by_hand("aaaabbbcc", coverage=0.9)  # q0 and q1 know a already, which is left out of their sets
    assert found.limits[0].limit == 3
    assert members(found) == ["bc", "bc"]  # d and e share the ranks 3 and 4: both have 4
    assert found.covered.tolist() == [False, True]
    assert by_hand("aaaabbbcc", coverage=0.8).limits[0].limit == 3  # the eighth
    assert by_hand("aaaabbbcc", coverage=0.7).limits[0].limit == 2  # the seventh
    gap = by_hand("aaaabbbcd", coverage=0.9, nonconformity="gap")
    assert gap.limits[0].limit == 3
    assert members(gap) == ["bcdef", "bcdef"]  # at most 3 below b, the best that is left
    everything = by_hand("aaaabbbcc", coverage=0.95)
    assert everything.limits[0].limit == math.inf
    assert everything.sizes.tolist() == everything.ranks.column("candidates").tolist()
    assert everything.coverage == 1
    assert "the answer sets of 2 test ranks contain all candidates" in everything.notes[-1]


def test_softmax_worked_by_hand():
    """Two candidates: p = 1 / (1 + e) and e / (1 + e)."""
    data, score = world([(f"q{row}", "likes", "a") for row in range(9)], [("q9", "likes", "b")], {"a": 1.0, "b": 0.0})
    scorer = CallableScorer(
        lambda h, r, t: np.where(t < 2, np.array(score(h, r, t)), -np.inf), len(data.entities), len(data.relations)
    )
    found = answers(scorer, data, nonconformity="softmax", sides="tail", filter=("train",), list_sets=True)
    assert math.exp(-found.limits[0].limit) == pytest.approx(math.e / (1 + math.e))
    assert found.sets.column("entity_label").tolist() == ["a"]


def test_no_unlisted_entity_is_in_a_set_before_all_are():
    data = Dataset.from_labels(train=[("a", "r", "a")], valid=[("a", "r", "b")] * 3, test=[("b", "r", "c")])
    a, b, c = (data.entities.id(label) for label in "abc")
    lists = {(a, 0, b): OneList.of({b: 0.9, c: 0.5}), (b, 0, c): OneList.of({c: 0.7})}
    scorer = PredictionLists({"tail": SideLists.of(lists)}, data.entities, data.relations)
    for name in MEASURES:
        found = answers(scorer, data, coverage=0.5, nonconformity=name, sides="tail", list_sets=True)
        assert found.sets.column("entity_label").tolist() == ["c"]
        assert found.sizes.tolist() == [1]


def test_infinite_scores():
    measured = BelowReference(np.array([np.inf, 1.0, -np.inf, -np.inf]), np.array([np.inf, np.inf, -np.inf, 2.0]))
    assert measured.values.tolist() == [0, np.inf, np.inf, np.inf]
    assert measured.lowest_scores(np.full(4, 5.0)).tolist() == [np.inf, np.inf, np.inf, np.nextafter(-3, -4)]
    assert measured.lowest_scores(np.full(4, np.inf)).tolist() == [-np.inf] * 4


@given(
    arrays(np.float64, 5, elements=st.floats(-1e6, 1e6)),
    arrays(np.float64, 5, elements=st.floats(0, 1e6)),
)
def test_the_lowest_score_is_the_last_within_its_limit_to_the_bit(references, limits):
    lowest = BelowReference(references, references).lowest_scores(limits)
    assert (references - lowest <= limits).all()
    assert (references - np.nextafter(lowest, -np.inf) > limits).all()


def test_a_softmax_is_the_same_wherever_its_scores_lie():
    """Scores of a thousand: their exponentials would overflow; and far below zero, underflow."""
    dataset, sizes = random_dataset(1), []
    for shift in (-4096.0, 0.0, 4096.0):
        scorer = Vectors("dot")
        scorer.bias = np.arange(30) / 8 + shift
        sizes.append(answers(scorer, dataset, coverage=0.8, nonconformity="softmax").sizes.tolist())
    assert sizes[0] == sizes[1] == sizes[2]


def test_stored_ranks_give_the_same_coverage_and_bound_the_sizes():
    dataset, scorer = random_dataset(2), Vectors("dot")
    tables = [evaluate(scorer, dataset, split=split) for split in ("valid", "test")]
    for per in ((), "relation", ("side", "relation")):
        stored = answers_of_ranks(*tables, coverage=0.8, per=per)
        scored = answers(scorer, dataset, coverage=0.8, per=per)
        assert stored.limits == scored.limits
        assert stored.covered.tolist() == scored.covered.tolist()
        assert (scored.sizes <= stored.sizes).all()
        assert (scored.sizes < stored.sizes).any()  # many scores tie
    scorer.bias = np.random.default_rng(0).normal(size=30)
    tables = [evaluate(scorer, dataset, split=split) for split in ("valid", "test")]
    assert answers_of_ranks(*tables).sizes.tolist() == answers(scorer, dataset).sizes.tolist()


def test_groups_by_columns_and_slices(nations):
    def score(h, r, t):
        return (h * 31 + r * 7 + t * 5) % 11

    found = answers(score, nations)
    sides = {group.key["side"]: group for group in found.groups("side")}
    rows = found.ranks.column("side") == "head"
    assert sides["head"].rows == rows.sum()
    assert sides["head"].coverage == pytest.approx(found.covered[rows].mean())
    assert sides["head"].median_size == np.median(found.sizes[rows])
    (whole,) = found.groups()
    assert whole.coverage_interval.low < found.coverage < whole.coverage_interval.high
    assert sum(group.rows for group in found.groups("cardinality", nations)) == len(found.ranks)
    with pytest.raises(InputError, match="needs the dataset"):
        found.groups("cardinality")
    with pytest.raises(TableError, match="no column 'sidee'"):
        found.groups("sidee")


def test_the_interval_of_the_size_is_that_of_a_mean_over_triples(nations):
    found = answers(lambda h, r, t: (h * 31 + r * 7 + t * 5) % 11, nations)
    sums = found.sizes.reshape(2, -1).sum(axis=0) / 2  # heads first, then tails, of the same triples
    assert found.groups()[0].size_interval.standard_error == pytest.approx(sums.std(ddof=1) / math.sqrt(len(sums)))


def test_sets_are_read_back(tmp_path):
    found = answers(Vectors("dot"), random_dataset(2), list_sets=True)
    found.sets.to_parquet(tmp_path / "sets.parquet")
    again = AnswerSetTable.from_parquet(tmp_path / "sets.parquet")
    assert again.data.equals(found.sets.data)
    assert (again.coverage, again.nonconformity, again.split) == (0.9, "rank", "test")
    with pytest.raises(InputError, match="counted, not listed"):
        answers(Vectors("dot"), random_dataset(2)).sets  # noqa: B018


def test_a_filter_that_treats_validation_and_test_unlike_is_said():
    note = "coverage is not guaranteed"
    data = random_dataset(2)
    assert any(note in text for text in answers(Vectors("dot"), data, filter=("train", "valid")).notes)
    for facts in (None, (), "train", ALL):
        assert not any(note in text for text in answers(Vectors("dot"), data, filter=facts).notes)


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, math.nan, "much", True, None])
def test_a_coverage_is_between_0_and_1(coverage):
    with pytest.raises(InputError, match="coverage: expected a probability between 0 and 1"):
        answers(Vectors("dot"), random_dataset(2), coverage=coverage)


def test_errors_name_the_nearest():
    with pytest.raises(InputError, match=r"nonconformity: unknown 'softmx'.*softmax"):
        answers(Vectors("dot"), random_dataset(2), nonconformity="softmx")
    with pytest.raises(InputError, match=r"cannot calibrate per 'relations'.*relation"):
        answers(Vectors("dot"), random_dataset(2), per="relations")
    with pytest.raises(InputError, match="has no valid triples"):
        answers(lambda h, r, t: t, Dataset.from_labels(train=[("a", "r", "b")], test=[("b", "r", "a")]))
    tables = evaluate(Vectors("dot"), random_dataset(2), split="valid"), evaluate(lambda h, r, t: h, random_dataset(2))
    with pytest.raises(InputError, match="the model of the validation ranks"):
        answers_of_ranks(*tables)
    with pytest.raises(InputError, match="both ranks are of the test triples"):
        answers_of_ranks(tables[1], tables[1])


def test_a_sample_of_a_split_is_refused():
    data, model = load_dataset("nations"), lambda h, r, t: (h * 5 + t * 7) % 11
    valid = evaluate(model, data, split="valid")
    sample = evaluate(model, data, split="train", estimate=Estimate(triples=200, first=200))
    for tables in ((valid, sample), (sample, valid)):
        with pytest.raises(InputError, match=r"the train ranks are of 200 of 1,592 triples"):
            answers_of_ranks(*tables)


@pytest.mark.parametrize("name", MEASURES)
def test_an_undefined_score_is_an_error_or_the_worst(name):
    def score(h, r, t):
        return np.where(t == 7, np.nan, h * 3 + t * 5 + r)

    data = random_dataset(2)
    with pytest.raises(ScoreError, match="NaN"):
        answers(score, data, nonconformity=name)
    found = answers(score, data, nonconformity=name, nan="worst", coverage=0.5, sides="tail", list_sets=True)
    assert 7 not in found.sets.column("entity")


def test_triples_that_the_model_does_not_know_are_left_out():
    data = random_dataset(2)
    labels = list(data.entities)[:-1]
    scorer = Vectors("dot", entities=29)
    with pytest.raises(InputError, match="the model does not know"):
        answers(scorer, data, entities=labels, relations=list(data.relations))
    for unseen in ("drop", "worst"):
        found = answers(scorer, data, entities=labels, relations=list(data.relations), unseen=unseen, list_sets=True)
        assert 29 not in found.sets.column("entity")
        assert any("left out" in note for note in found.notes)


@pytest.mark.parametrize("name", MEASURES)
def test_sets_grow_with_the_coverage(name):
    dataset, scorer = random_dataset(1), Vectors("dot")
    before = set()
    for coverage in (0.3, 0.6, 0.9, 0.999):
        found = answers(scorer, dataset, coverage=coverage, nonconformity=name, list_sets=True)
        columns = (found.sets.column(column).tolist() for column in ("triple", "side", "entity"))
        now = set(zip(*columns, strict=True))
        assert before <= now
        before = now
