"""Ranked-list metrics of a rank table against whole lists that numpy builds from the scores."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import CallableScorer, evaluate, generate_negatives, summarize
from kgeval.base.errors import MetricError
from kgeval.metrics import average_precision, cumulative_gain, dcg, f1_at_k, ndcg, precision_at_k, recall_at_k
from kgeval.metrics.lists.gain import normalised_gains
from kgeval.metrics.lists.ranked_lists import ranked, ranked_lists
from kgeval.metrics.lists.retrieval import first_reciprocals
from kgeval.metrics.metric import Undefined
from kgeval.ranking.corruption import Uniform
from tests.conftest import random_dataset
from tests.metrics.example_ranks import CUTOFF, METRICS, OF_LISTS, changed

DATA = random_dataset(13, entities=25, relations=2, triples=500)
SCORES = np.random.default_rng(0)
TIED, SHARP = SCORES.integers(0, 6, (2, 25, 25)).astype(float), SCORES.random((2, 25, 25))


def table_of(scores, data=DATA, **options):
    model = CallableScorer(lambda h, r, t: scores[r, h, t], len(data.entities), len(data.relations))
    return evaluate(model, data, **options)


def whole_lists(scores, data=DATA, hidden=("train", "valid")):
    """The relevance and the scores of all entities but the known answers of other splits, for every query."""
    taken = {tuple(triple) for split in hidden for triple in data.split(split).ids.tolist()}
    asked = {tuple(triple) for triple in data.split("test").ids.tolist()}
    lists = {}
    for side in ("head", "tail"):
        for anchor, relation in {(h, r) if side == "tail" else (t, r) for h, r, t in asked}:
            triples = [(anchor, relation, e) if side == "tail" else (e, relation, anchor) for e in range(25)]
            left = [triple for triple in triples if triple not in taken]
            relevance = [int(triple in asked) for triple in left]
            lists[side, anchor, relation] = relevance, [scores[r, h, t] for h, r, t in left]
    return lists


def area(relevance, scores):
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(relevance, scores)


def first(relevance, scores):
    """The first of r relevant items is at place x of its tied block of n in C(n − x, r − 1) of C(n, r) ways."""
    top = max(score for score, hit in zip(scores, relevance, strict=True) if hit)
    block = [hit for score, hit in zip(scores, relevance, strict=True) if score == top]
    n, r, above = len(block), sum(block), sum(score > top for score in scores)
    return float(sum(Fraction(comb(n - x, r - 1), comb(n, r) * (above + x)) for x in range(1, n - r + 2)))


def capped(relevance, scores, k):
    m = sum(relevance)
    return average_precision(relevance, scores, k=k) * m / min(k, m)


def interpolated(relevance, scores, recall):
    """The mean of the best precision, over the chances that each precision is reached.

    The list is walked place by place, with the chance of each number of relevant items so far: where items tie, each
    left of the block is the next one with equal chances. What has reached the precision leaves the walk.
    """
    needed = max(1, int(recall * sum(relevance) + 0.9))
    precisions = np.unique(
        [0, *(j / p for p in range(1, len(scores) + 1) for j in range(1, min(p, sum(relevance)) + 1))]
    )
    mean = 0.0
    for low, high in pairwise(precisions):
        chances, place, before = {0: 1.0}, 0, 0
        for score in sorted(set(scores), reverse=True):
            block = [hit for hit, own in zip(relevance, scores, strict=True) if own == score]
            for gone in range(len(block)):
                place += 1
                following = dict.fromkeys(range(before, before + sum(block) + 1), 0.0)
                for count, chance in chances.items():
                    hit = (before + sum(block) - count) / (len(block) - gone)
                    following[count] += chance * (1 - hit)
                    if hit and not (count + 1 >= needed and (count + 1) / place >= high):
                        following[count + 1] += chance * hit
                chances = following
            before += sum(block)
            chances = {before: sum(chances.values())}
        mean += (high - low) * (1 - sum(chances.values()))
    return mean


BRUTE = {
    "map": average_precision,
    "map@3": lambda *one: average_precision(*one, k=3),
    "p@3": lambda *one: precision_at_k(*one, k=3),
    "r@3": lambda *one: recall_at_k(*one, k=3),
    "f1@3": lambda *one: f1_at_k(*one, k=3),
    "r-precision": lambda *one: precision_at_k(*one, k=sum(one[0])),
    "cg@3": lambda *one: cumulative_gain(*one, k=3),
    "dcg": dcg,
    "dcg-exp@3": lambda *one: dcg(*one, k=3),
    "ndcg": ndcg,
    "ndcg@3": lambda *one: ndcg(*one, k=3),
    "ndcg-exp@3": lambda *one: ndcg(*one, k=3, gain="exponential"),
    "auc": area,
    "first-rr": first,
    "map-capped@3": lambda relevance, scores: capped(relevance, scores, k=3),
    "iprec": lambda *one: np.mean([interpolated(*one, recall=level / 10) for level in range(11)]),
    "iprec@0.3": lambda *one: interpolated(*one, recall=0.3),
    "ndcg-original@3": lambda *one: ndcg(*one, k=3, discount="original"),
    "dcg-exp-ln": lambda *one: dcg(*one, gain="exponential", discount="ln"),
}


def test_the_brute_force_covers_every_metric_of_lists():
    assert {name.partition("@")[0] for name in BRUTE} - {"ndcg-original", "dcg-exp-ln"} == set(OF_LISTS)


AVERAGED = {
    "macro": lambda values, _, mine: np.mean([values[query] for query in mine]),
    "micro": lambda values, sizes, mine: np.average(
        [values[query] for query in mine], weights=[sizes[query] for query in mine]
    ),
    "relation": lambda values, _, mine: np.mean(
        [np.mean([values[query] for query in mine if query[2] == relation]) for relation in (0, 1)]
    ),
}


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), levels=st.sampled_from([1, 2, 6, 10**6]))
def test_the_table_gives_what_the_whole_lists_give(seed, levels):
    scores = np.random.default_rng(seed).integers(0, levels, (2, 25, 25)).astype(float)
    lists = whole_lists(scores)
    sizes = {query: sum(one[0]) for query, one in lists.items()}
    assert max(sizes.values()) > 3
    summary = summarize(table_of(scores), [f"{average}.{name}" for name in BRUTE for average in AVERAGED])
    for name, brute in BRUTE.items():
        values = {query: brute(*one) for query, one in lists.items()}
        for side in ("both", "head", "tail"):
            mine = [query for query in lists if side in {"both", query[0]}]
            for average, mean in AVERAGED.items():
                expected = mean(values, sizes, mine)
                assert summary[f"{side}.{average}.{name}"] == pytest.approx(expected, rel=1e-11), (average, name)


@settings(max_examples=30, deadline=None)
@given(items=st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=6).filter(
    lambda items: any(hit for hit, _ in items)))  # fmt: skip
def test_the_first_answer_and_the_area_over_every_order(items):
    relevance, scores = map(list, zip(*items, strict=True))
    orders = [
        [relevance[item] for item in order]
        for order in permutations(range(len(items)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    lists = ranked(relevance, scores)
    expected = np.mean([1 / (order.index(True) + 1) for order in orders])
    assert METRICS["first-rr"](lists) == pytest.approx(expected, rel=1e-12)
    if all(relevance):
        with pytest.raises(Undefined, match="no lists for which it is defined"):
            METRICS["auc"](lists)
    else:
        pairs = [[hit and not other for i, hit in enumerate(o) for other in o[i + 1 :]] for o in orders]
        possible = sum(relevance) * (len(relevance) - sum(relevance))
        assert METRICS["auc"](lists) == pytest.approx(np.mean([sum(one) / possible for one in pairs]), rel=1e-12)


@pytest.mark.parametrize(
    ("above", "level"), [(0, 60), (5, 60), (60, 60), (1000, 60), (0, 400), (3, 4000), (9000, 4000)]
)
@pytest.mark.parametrize("relevant", [2, 3, 7, 30, 59])
def test_the_first_of_several_in_a_wide_tie(above, level, relevant):
    """In whole numbers: Σ C(n − x, r − 1) / (t + x) / C(n, r)."""
    ways = [comb(level - x, relevant - 1) for x in range(1, level - relevant + 2)]
    scaled = sum(count * 10**30 // (above + x) for x, count in enumerate(ways, 1))
    exact = Fraction(scaled, 10**30 * comb(level, relevant))
    lists = ranked([0] * above + [1] * relevant + [0] * (level - relevant), [2] * above + [1] * level)
    assert first_reciprocals(lists)[0] == pytest.approx(float(exact), rel=1e-12)


def test_relevant_items_that_were_not_retrieved_have_no_precision():
    assert METRICS["iprec"](ranked([0], relevant=3)) == 0
    assert METRICS["iprec"](ranked([0, 1, 0], relevant=2)) == pytest.approx(6 * 0.5 / 11)  # the recalls 0, .1, … .5


def test_too_many_orders_of_ties_are_refused():
    many = ranked([1] * 100 + [0] * 9900, [0] * 10_000)
    with pytest.raises(Undefined, match="answers of one query tie in too many orders: up to 100"):
        METRICS["iprec"](many)


@settings(deadline=None)
@given(relevance=st.lists(st.booleans(), min_size=1, max_size=20).filter(any))
def test_the_area_under_the_precision_recall_curve_of_a_list_is_its_average_precision(relevance):
    every = range(1, len(relevance) + 1)
    recalls = [0.0, *(recall_at_k(relevance, k=k) for k in every)]
    area = sum(precision_at_k(relevance, k=k) * (recalls[k] - recalls[k - 1]) for k in every)
    assert area == pytest.approx(average_precision(relevance), rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(items=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 0.25, 1, 3]), st.integers(0, 3)), min_size=1))
def test_many_lists_are_each_by_itself(items):
    owners, grades, scores = map(np.array, zip(*items, strict=True))
    lists = ranked_lists(owners, grades.astype(float), scores.astype(float))
    for place, owner in enumerate(np.unique(owners)):
        mine = owners == owner
        if grades[mine].any():
            for gain in ("linear", "exponential"):
                expected = ndcg(grades[mine], scores[mine], k=3, gain=gain)
                assert normalised_gains(lists, 3, gain)[place] == pytest.approx(expected, rel=1e-12)
        else:
            assert np.isnan(normalised_gains(lists, 3)[place])


@pytest.mark.parametrize("name", OF_LISTS)
@settings(max_examples=25, deadline=None)
@given(
    items=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=9).filter(
        lambda items: len({hit for hit, _ in items}) == 2
    ),
    data=st.data(),
)
def test_values_lie_in_their_range_and_improve_when_an_answer_rises(name, items, data):
    relevance, scores = map(list, zip(*items, strict=True))
    metric, k = METRICS[name], CUTOFF[name]
    row = data.draw(st.sampled_from([index for index, hit in enumerate(relevance) if hit]))
    before = metric(ranked(relevance, scores), k=k)
    scores[row] += data.draw(st.integers(1, 5))
    after = metric(ranked(relevance, scores), k=k)
    assert metric.lowest <= before <= metric.highest
    assert metric.lowest <= after <= metric.highest
    assert before <= after + 1e-12


def test_sampled_candidates_are_shared_by_the_answers_of_a_query():
    """The lists are then the answers and the ten negatives of their query, whatever order the answers came in."""
    sampled = Uniform(count=10, seed=1)
    drawn = {}
    for table in generate_negatives(DATA, sampled):
        for head, relation, tail, side in zip(*(column.to_pylist() for column in table.columns), strict=True):
            triple = tuple(int(label[1:]) for label in (head, relation, tail))
            query = (side, triple[2] if side == "head" else triple[0], triple[1])
            drawn.setdefault(query, set()).add(triple)
    for query, rows in drawn.items():
        assert len(rows) == 10, query
    values = []
    for query, answers in asked().items():
        both = [*answers, *drawn[query]]
        values.append(average_precision([1] * len(answers) + [0] * 10, [SHARP[r, h, t] for h, r, t in both]))
    summary = summarize(table_of(SHARP, corruption=sampled), ["map"])
    assert summary["map"] == pytest.approx(np.mean(values), rel=1e-12)


def asked():
    """The test triples of each query."""
    queries = {}
    for h, r, t in DATA.split("test").ids.tolist():
        queries.setdefault(("head", t, r), []).append((h, r, t))
        queries.setdefault(("tail", h, r), []).append((h, r, t))
    return queries


def test_an_unfiltered_split_has_no_lists():
    summary = summarize(table_of(SHARP, filter=("train", "valid")), ["mrr", "map"])
    assert summary["mrr"] > 0
    with pytest.raises(MetricError, match="map is undefined: the test split is not among the filtered ones"):
        summary["map"]
    assert summary.to_dict()["metrics"]["head"]["map"] is None
    assert "both.map is undefined" in " ".join(summary.notes)


def test_hiding_less_gives_longer_lists():
    lists = whole_lists(SHARP, hidden=("valid",))
    expected = np.mean([average_precision(*one) for one in lists.values()])
    assert summarize(table_of(SHARP, filter=("valid", "test")), ["map"])["map"] == pytest.approx(expected, rel=1e-12)


def several(table):
    """The rows of a tail query with several answers, from the top."""
    frame = table.to_pandas().query("side == 'tail'")
    answers = max((rows for _, rows in frame.groupby(["head", "relation"])), key=len)
    return answers.sort_values("score", ascending=False).index.to_numpy()


def test_answers_that_met_different_candidates_are_refused():
    table = table_of(SHARP)
    top, second = several(table)[:2]

    one_more, none_above = table.column("candidates").copy(), table.column("greater").copy()
    one_more[second] += 1
    none_above[top] += 3
    none_above[second] = 0
    for column, values, reason in (
        ("candidates", one_more, r"met different candidates \(\d+ and \d+ in 2 places\)|\d+ in 1 places"),
        ("greater", none_above, "met different candidates .*so that they stand in no common list"),
    ):
        summary = summarize(changed(table, **{column: values}), ["map", "tail.ndcg", "head.map", "mrr"])
        for name in ("both.map", "tail.ndcg"):
            with pytest.raises(MetricError, match=reason):
                summary[name]
        assert summary["head.map"] > 0
        assert summary["mrr"] > 0


def test_a_score_that_is_no_number_is_refused():
    table = table_of(SHARP)
    scores = np.append(np.nan, table.column("score")[1:])
    with pytest.raises(MetricError, match="the score of an answer is NaN"):
        summarize(changed(table, score=scores), ["map"])["map"]


def test_an_empty_table_has_no_lists():
    table = table_of(SHARP)
    nothing = table.where(np.zeros(len(table), np.bool_))
    with pytest.raises(MetricError, match="there are no lists"):
        summarize(nothing, ["map"])["map"]
