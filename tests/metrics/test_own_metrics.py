"""A user's own metrics and tie policies: as objects, and by name from an installed package."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgeval import CallableScorer, Metric, Protocol, TiePolicy, compare, evaluate, framework_metrics, summarize
from kgeval.base.errors import MetricError
from tests.conftest import random_dataset
from tests.metrics.example_ranks import HASHED

TABLE = HASHED
LOW = 1 + TABLE.column("greater")
HIGH = LOW + TABLE.column("tied")

FIRST = Metric(
    name="first-half",
    title="share of answers in the better half",
    formula="#{r ≤ N / 2} / n",
    source="—",
    lowest=0,
    highest=1,
    increasing=True,
    compute=lambda ranks, _: ranks.mean((ranks.values <= ranks.candidates / 2).astype(float)),
)
WITHIN = replace(
    FIRST, name="within", cutoff="required", compute=lambda ranks, k: ranks.mean(1.0 * (ranks.values <= k))
)
THIRDS = TiePolicy("thirds", rank=lambda a, b, _: (2 * a + b) / 3)
DRAWN = TiePolicy("drawn", rank=lambda a, b, u: a + u * (b - a), random=True)


def test_a_metric_of_ones_own_is_computed_beside_the_others():
    summary = summarize(TABLE, ["mrr", FIRST], ties="pessimistic")
    assert summary[FIRST] == summary["first-half"] == np.mean(TABLE.column("candidates") / 2 >= HIGH)
    assert list(summary.to_dict()["metrics"]["both"]) == ["mrr", "first-half"]
    assert summarize(TABLE, FIRST, ties="pessimistic")["first-half"] == summary[FIRST]
    grouped = summarize(TABLE, [FIRST], by="relation", ties="pessimistic")
    rows = TABLE.column("relation") == 0
    assert grouped.of("model", FIRST, relation="r00") == np.mean(HIGH[rows] <= TABLE.column("candidates")[rows] / 2)


def test_a_metric_of_ones_own_compares_models():
    tables = {"mine": TABLE, "constant": evaluate(CallableScorer(lambda h, r, t: h * 0, 30, 4), random_dataset(13))}
    comparison = compare(tables, [FIRST], ties="pessimistic")
    assert comparison.best(FIRST) == comparison.best("first-half") == "mine"


def test_a_cutoff_is_bound_to_a_metric():
    assert summarize(TABLE, [WITHIN.at(3)], ties="optimistic")["within-at-3"] == np.mean(LOW <= 3)
    with pytest.raises(MetricError, match=r"metric 'within' needs a cut-off, as in metric.at\(10\)"):
        summarize(TABLE, [WITHIN])
    with pytest.raises(MetricError, match="metric 'first-half' has no cut-off"):
        FIRST.at(3)
    for k in (0, -1, 1.5, True, "3"):
        with pytest.raises(MetricError, match="cut-off k must be a whole number from 1"):
            WITHIN.at(k)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (replace(FIRST, name="mrr"), "metric 'mrr': another metric has this name"),
        (replace(FIRST, needs="labels"), "'first-half' is computed from labels, not from ranks"),
        (replace(FIRST, compute=lambda *_: None), "metric 'first-half': expected a number, found None"),
        (replace(FIRST, compute=lambda *_: 1.25), "'first-half': the value is 1.25, but its declared range .* 0 to 1"),
        (replace(FIRST, compute=lambda *_: 1 + 1e-8), "the value is 1.00000001, but its declared range"),
        (replace(FIRST, lowest=1, highest=np.inf, compute=lambda *_: 0), "the value is 0, .* from 1 to inf"),
    ],
)
def test_a_metric_that_cannot_be_is_refused(metric, message):
    with pytest.raises(MetricError, match=message):
        summarize(TABLE, [metric])


def test_what_is_undefined_is_said_of_ones_own_metric_too():
    summary = summarize(TABLE, [replace(FIRST, compute=lambda *_: np.nan)])
    with pytest.raises(MetricError, match="first-half is undefined: its value is not finite"):
        summary["first-half"]


@pytest.mark.parametrize(("highest", "found"), [(1, 1 + 1e-12), (1e6, 1e6 * (1 + 1e-12))])
def test_a_value_beyond_the_range_by_rounding_is_its_end(highest, found):
    assert replace(FIRST, highest=highest, compute=lambda *_: found)(TABLE) == highest


def test_what_reads_single_ranks_says_that_it_declares_no_expectation_over_ties():
    summary = summarize(TABLE, [FIRST], ties="expected")
    with pytest.raises(MetricError, match="first-half is undefined: it declares no expectation over ties; choose"):
        summary["first-half"]


def test_a_mean_has_a_number_for_each_rank():
    short = replace(FIRST, compute=lambda ranks, _: ranks.mean(ranks.values[:5]))
    with pytest.raises(MetricError, match=rf"expected a number for each of {len(TABLE)}, found shape \(5,\)"):
        summarize(TABLE, short)


@pytest.mark.parametrize("name", ["", "My metric", "a.b", "hits@3", None, 5])
def test_names_can_be_read_again(name):
    for make in (lambda: replace(FIRST, name=name), lambda: TiePolicy(name, rank=THIRDS.rank)):
        with pytest.raises(MetricError, match="a name has lower-case letters"):
            make()


def test_a_tie_policy_of_ones_own_ranks_every_answer():
    summary = summarize(TABLE, ["mr", "optimistic.mr"], ties=THIRDS)
    assert summary["mr"] == pytest.approx(np.mean((2 * LOW + HIGH) / 3), rel=1e-14)
    assert summary["optimistic.mr"] == np.mean(LOW)
    assert summary.to_dict()["ties"] == "thirds"
    assert compare({"mine": TABLE, "same": TABLE}, ["mr"], ties=THIRDS).of("mine", "mr") == summary["mr"]


def test_a_random_policy_of_ones_own_has_the_seed():
    first, again, other = (summarize(TABLE, ["mr"], ties=DRAWN, seed=seed) for seed in (3, 3, 4))
    assert first.to_dict()["seed"] == 3
    assert np.mean(LOW) < first["mr"] == again["mr"] != other["mr"] < np.mean(HIGH)


@pytest.mark.parametrize("rank", [lambda a, b, u: a - 1, lambda a, b, u: b[:1], lambda a, b, u: a * np.nan])
def test_a_rank_beyond_the_ties_is_refused(rank):
    with pytest.raises(MetricError, match="tie policy 'wrong': expected a rank from 1 \\+ greater to"):
        summarize(TABLE, ["mr"], ties=TiePolicy("wrong", rank=rank))


@pytest.mark.parametrize("ties", ["realistc", None, 5, ["random"]])
def test_an_unknown_tie_policy_is_refused(ties):
    with pytest.raises(MetricError, match="unknown tie policy"):
        summarize(TABLE, ["mr"], ties=ties)


def test_a_protocol_takes_a_tie_policy():
    rules = Protocol("mine", "ties at a third", ties=THIRDS)
    assert rules.ranks(TABLE) == pytest.approx((2 * LOW + HIGH) / 3)
    assert framework_metrics(TABLE)["mr"] == summarize(TABLE, ["mr"])["mr"]
