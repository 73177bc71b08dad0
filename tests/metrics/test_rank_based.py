"""Rank-based metrics against truths worked by hand, numpy, scikit-learn-like brute force and published numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kgeval import CallableScorer, Dataset, compare, evaluate, summarize
from kgeval.errors import MetricError
from kgeval.metrics.metric import Undefined, metrics
from kgeval.metrics.names import parse
from kgeval.metrics.ranks import TIES, Ranks
from tests.conftest import random_dataset

METRICS = metrics()


def ranks(values, candidates=None):
    greater = np.asarray(values) - 1
    return Ranks(greater, np.zeros_like(greater), np.asarray(candidates) if candidates else greater + 1)


def test_the_worked_ranks():
    four = ranks([1, 12, 6, 2])
    assert METRICS["hits"](four, k=3) == 0.5
    assert METRICS["mrr"](four) == 0.4375


def test_the_chance_adjusted_numbers():
    five = ranks([1, 2, 5, 3, 10], [10, 10, 20, 4, 100])
    assert METRICS["mr"](five) == pytest.approx(4.2, abs=1e-15)
    assert METRICS["mrr"](five) == pytest.approx(0.4266666666666667, abs=1e-15)
    assert METRICS["hits"](five, k=3) == pytest.approx(0.6, abs=1e-15)
    assert METRICS["amri"](five) == pytest.approx(0.7697841726618705, abs=1e-15)
    assert METRICS["amr"](five) == pytest.approx(4.2 / 14.9, abs=1e-15)


def test_one_answer_among_four_that_all_tie():
    tied = Ranks(np.array([0]), np.array([3]), np.array([4]))
    assert METRICS["mrr"](tied, ties="expected") == pytest.approx(25 / 48, abs=1e-15)
    assert METRICS["hits"](tied, ties="expected", k=1) == 0.25
    assert METRICS["mrr"](tied, ties="realistic") == 0.4
    assert METRICS["mrr"](tied, ties="optimistic") == 1
    assert METRICS["mrr"](tied, ties="pessimistic") == 0.25


@pytest.mark.parametrize(("name", "k"), [("mr", 0), ("mrr", 0), ("hits", 1), ("hits", 5), ("amr", 0), ("amri", 0)])
def test_expected_is_the_mean_over_every_way_to_break_the_ties(name, k):
    rng = np.random.default_rng(0)
    greater, tied = rng.integers(0, 9, 40), rng.integers(0, 6, 40)
    table = Ranks(greater, tied, greater + tied + 1 + rng.integers(0, 9, 40))
    functions = {"mrr": lambda r: Fraction(1, r), "hits": lambda r: Fraction(int(r <= k))}
    function = functions.get(name, Fraction)
    means = [
        sum(map(function, range(1 + g, 2 + g + t)), Fraction()) / (t + 1)
        for g, t in zip(greater.tolist(), tied.tolist(), strict=True)
    ]
    expected = sum(means) / len(means)
    if name == "amr":
        expected /= Fraction(int((table.candidates + 1).sum()), 2 * len(means))
    if name == "amri":
        expected = 1 - 2 * (sum(means) - len(means)) / int((table.candidates - 1).sum())
    assert METRICS[name](table, ties="expected", k=k) == pytest.approx(float(expected), rel=1e-13)


def test_pykeen_gives_the_same_numbers():
    from pykeen.metrics.ranking import (
        AdjustedArithmeticMeanRank,
        AdjustedArithmeticMeanRankIndex,
        ArithmeticMeanRank,
        HitsAtK,
        InverseHarmonicMeanRank,
    )

    rng = np.random.default_rng(1)
    candidates = rng.integers(2, 100, 500)
    values = (rng.random(500) * candidates).astype(int) + 1
    ours = ranks(values, candidates.tolist())
    theirs = {
        "mr": ArithmeticMeanRank(),
        "mrr": InverseHarmonicMeanRank(),
        "hits": HitsAtK(3),
        "amr": AdjustedArithmeticMeanRank(),
        "amri": AdjustedArithmeticMeanRankIndex(),
    }
    for name, metric in theirs.items():
        assert METRICS[name](ours, k=3) == pytest.approx(float(metric(values, candidates)), rel=1e-12), name


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", METRICS)
def test_every_value_lies_in_its_declared_range(name, ties):
    rng = np.random.default_rng(2)
    for _ in range(50):
        greater, tied = rng.integers(0, 20, 8), rng.integers(0, 4, 8)
        value = METRICS[name](Ranks(greater, tied, greater + tied + 1 + rng.integers(0, 5, 8)), ties=ties, k=3)
        assert METRICS[name].lowest <= value <= METRICS[name].highest


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", [name for name in METRICS if name != "count"])
def test_no_metric_worsens_when_an_answer_rises(name, ties):
    rng = np.random.default_rng(3)
    metric = METRICS[name]
    for _ in range(50):
        greater, tied = rng.integers(1, 20, 8), rng.integers(0, 4, 8)
        before = Ranks(greater, tied, greater + tied + 5)
        after = Ranks(greater - np.eye(8, dtype=int)[0], tied, before.candidates)
        change = metric(after, ties=ties, k=3) - metric(before, ties=ties, k=3)
        assert change >= 0 if metric.increasing else change <= 0


@pytest.mark.parametrize("name", [name for name in METRICS if name != "count"])
def test_nothing_ranked_is_undefined_and_never_zero(name):
    with pytest.raises(Undefined, match=r"there are no ranks|no answer had a competitor"):
        METRICS[name](ranks([]), k=1)


def test_no_competitors_leave_the_index_undefined():
    summary = summarize(evaluate(lambda h, r, t: h, lonely()), ["amri", "mrr"])
    assert summary["mrr"] == 1
    assert summary.to_dict()["metrics"]["both"]["amri"] is None
    assert summary.to_dict()["undefined"]["both.amri"] == "no answer had a competitor"
    with pytest.raises(MetricError, match="amri is undefined: no answer had a competitor"):
        summary["amri"]


def lonely():
    from kgeval import Triples, Vocabulary

    return Dataset.build(
        "lonely",
        {"test": Triples.of([(0, 0, 0)])},
        entities=Vocabulary(["only"]),
        relations=Vocabulary(["is"], "relation"),
    )


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("mrr", "mrr"),
        ("MRR", "mrr"),
        ("head.hits@10", "head.hits@10"),
        ("both.pessimistic.hits@1", "both.pessimistic.hits@1"),
        ("expected.mr", "expected.mr"),
        ("both.realistic.hits_at_10", "both.realistic.hits@10"),
        ("inverse_harmonic_mean_rank", "mrr"),
        ("tail.optimistic.arithmetic_mean_rank", "tail.optimistic.mr"),
        ("adjusted_arithmetic_mean_rank_index", "amri"),
        ("hits@137", "hits@137"),
    ],
)
def test_names_and_synonyms(text, spelled):
    assert str(parse(text)) == spelled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mmr", r"unknown metric 'mmr'. Did you mean 'mr' or 'mrr'\?"),
        ("hits", "hits needs a cut-off"),
        ("hits@0", "a whole number from 1, found '0'"),
        ("hits@x", "a whole number from 1, found 'x'"),
        ("mrr@5", "mrr has no cut-off"),
        ("haed.mrr", r"unknown side or tie policy 'haed'. Did you mean 'head'\?"),
        ("realistic.head.mrr", "the side stands first. Write 'head.realistic.…'"),
        ("head.tail.mrr", "names two sides, 'head' and 'tail'"),
        ("", "unknown metric ''"),
    ],
)
def test_a_wrong_name_is_explained(text, message):
    with pytest.raises(MetricError, match=message):
        parse(text)


def hashed(h, r, t):
    return (h * 5 + r * 3 + t * 11) % 7


TABLE = evaluate(CallableScorer(hashed, 30, 4), random_dataset(13))


def test_summaries_speak_every_name():
    summary = summarize(TABLE, ["mrr", "hits@3", "pessimistic.mrr", "tail.mr"], ties="expected")
    assert summary["mrr"] == summary["both.mrr"] == summary["both.expected.inverse_harmonic_mean_rank"]
    assert summary["pessimistic.mrr"] < summary["mrr"]
    assert summary["hits_at_3"] == summary["both.hits@3"]
    with pytest.raises(MetricError, match=r"does not hold 'head\.mr'"):
        summary["head.mr"]


def test_both_pools_the_rows_of_the_sides():
    summary = summarize(TABLE, ["mrr", "count"])
    assert summary["mrr"] == pytest.approx((summary["head.mrr"] + summary["tail.mrr"]) / 2)
    assert summary["count"] == summary["head.count"] + summary["tail.count"] == len(TABLE)


def test_groups_are_the_summaries_of_their_rows():
    summary = summarize(TABLE, ["mrr", "hits@3"], by=("relation",))
    assert [group.key["relation"] for group in summary.groups] == ["r00", "r01", "r02", "r03"]
    for index, group in enumerate(summary.groups):
        alone = summarize(TABLE.where(TABLE.column("relation") == index), ["mrr", "hits@3"])
        assert alone.groups[0].values == group.values
    frame = summarize(TABLE, ["mrr"], by=("relation", "side")).to_pandas()
    assert len(frame) == 8
    with pytest.raises(MetricError, match="grouped by relation"):
        summary["mrr"]


def test_all_wrong_names_are_told_at_once():
    with pytest.raises(MetricError) as caught:
        summarize(TABLE, ["mmr", "mrr", "hits"])
    assert str(caught.value).count("\n") == 1


def test_a_side_that_was_not_evaluated_is_refused():
    tails = TABLE.where(TABLE.column("side") == "tail")
    with pytest.raises(MetricError, match="the table has no head ranks"):
        summarize(tails, ["head.mrr"])
    assert set(summarize(tails, ["mrr"]).to_dict()["metrics"]) == {"both", "tail"}


def test_comparisons_need_the_same_triples():
    other = evaluate(CallableScorer(lambda h, r, t: h * 0, 30, 4), random_dataset(13))
    comparison = compare({"hash": TABLE, "constant": other}, ["mrr", "mr"])
    assert comparison.summaries["constant"]["mrr"] == summarize(other, ["mrr"])["mrr"]
    assert comparison.best("mr") in {"hash", "constant"}
    assert comparison.to_pandas().loc["hash", "both.mrr"] == summarize(TABLE)["mrr"]
    with pytest.raises(MetricError, match="do not rank the same triples"):
        compare({"hash": TABLE, "half": TABLE.where(TABLE.column("triple") < 5)})
