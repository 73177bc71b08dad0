"""Intervals of metrics: by hand, by brute force, scipy's t and Wilson, groups, reproducibility, errors."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgeval import CallableScorer, Metric, RankTable, evaluate, summarize
from kgeval.base.errors import InputError, MetricError, TableError
from kgeval.base.tables.table import written
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.intervals.mean_terms import mean_terms, units_of
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import parse
from kgeval.metrics.selection import RowSelection, TableView
from tests.conftest import random_dataset
from tests.metrics.example_ranks import CUTOFF, METRICS, changed, of_key, shuffled

DATA = random_dataset(3, entities=40, relations=25, triples=1400)
TABLE = evaluate(CallableScorer(lambda h, r, t: (h * 5 + r * 3 + t * 11) % 17, 40, 25), DATA)
SPELLED = [f"{name}@{CUTOFF[name]}" if CUTOFF[name] else name for name in METRICS]
OF_RANKS = ["mrr", "hits@3", "mr", "imr", "hmr", "amr", "amri", "amrr", "ahits@3", "z-mr", "z-mrr", "z-hits@3"]
AVERAGES = ["macro.mrr", "relation.hits@3", "strat.mrr", "macro.amri", "expected.mrr", "head.mrr", "tail.hits@5"]


def of_ranks(table, ranks, candidates=40):
    """The table with other ranks, none of them tied."""
    return changed(table, greater=ranks - 1, tied=0 * ranks, candidates=0 * ranks + candidates)


def keys_of(table, unit):
    if unit == "triple":
        return [*zip(table.column("triple").tolist(), strict=True)]
    if unit == "relation":
        return [*zip(table.column("relation").tolist(), strict=True)]
    columns = (table.column(name).tolist() for name in ("side", "head", "relation", "tail"))
    return [(side, h if side == "tail" else t, r) for side, h, r, t in zip(*columns, strict=True)]


def terms_of(table, unit, name):
    selection, name = RowSelection(TableView(table), slice(None)), parse(name)
    return mean_terms(name, selection, units_of(selection, unit, needs=name.metric.needs))


def by_brute_force(table, unit, name):
    """The jackknife's infinitesimal limit: how the metric moves as the weight of one unit does, by differences."""
    terms = terms_of(table, unit, name)
    keys = keys_of(table, unit)
    distinct = sorted(set(keys))
    influences = []
    for key in distinct:
        mine = np.array([other == key for other in keys])
        values = []
        for step in (1e-4, -1e-4):
            weights = terms.weights * np.where(mine, 1 + step, 1)
            values.append(terms.combine(*(np.average(row, weights=weights) for row in terms.values)))
        influences.append((values[0] - values[1]) / 2e-4)
    count = len(distinct)
    return count, np.sqrt(count / (count - 1) * np.square(influences).sum())


def test_a_case_worked_by_hand():
    """Twenty triples: the first ten at ranks 1 and 2, the others at ranks 2 and 4.

    The mean of 1/r is 9/16. Each unit is off by 3/16 · 2 rows / 40 rows: V = 20/19 · 20 · (3/16 · 2/40)².
    """
    rows = np.arange(len(TABLE))[np.isin(TABLE.column("triple"), np.unique(TABLE.column("triple"))[:20])]
    table = replace(TABLE, data=TABLE.data.take(rows))
    good = table.column("triple") < np.unique(table.column("triple"))[10]
    head = table.column("side") == "head"
    ranks = np.where(good, np.where(head, 1, 2), np.where(head, 2, 4))
    table = of_ranks(table, ranks)
    summary = summarize(table, "mrr", intervals="triple")
    interval = summary.interval("mrr")
    error = np.sqrt(20 / 19 * 20 * (3 / 16 * 2 / 40) ** 2)
    assert summary["mrr"] == 9 / 16
    assert interval.standard_error == pytest.approx(error, rel=1e-12)
    assert (interval.low, interval.high) == pytest.approx(
        (9 / 16 - 2.0930240544 * error, 9 / 16 + 2.0930240544 * error), rel=1e-9
    )
    assert (interval.units, interval.unit, interval.level, interval.clipped) == (20, "triple", 0.95, False)


@pytest.mark.parametrize("unit", ["triple", "query", "relation"])
@pytest.mark.parametrize("name", [*OF_RANKS, *AVERAGES])
def test_linearised_intervals_against_brute_force(name, unit):
    part = name.partition(".")[0]
    table = TABLE.where(TABLE.column("side") == part) if part in ("head", "tail") else TABLE
    summary = summarize(TABLE, name, intervals=Intervals(unit=unit, level=0.9))
    interval, value = summary.interval(name), summary[name]
    plain = name.removeprefix(f"{part}.") if part in ("head", "tail") else name
    count, error = by_brute_force(table, unit, plain)
    assert interval.units == count
    halves = interval.method == "random halves"  # of relations that are nearly equal: close to Student's
    assert interval.standard_error == pytest.approx(error, rel=0.1 if halves or name == "strat.mrr" else 1e-6)
    if halves or interval.method == "linearised":
        assert (interval.low, interval.high) == pytest.approx(
            stats.t.interval(0.9, count - 1, loc=value, scale=error), rel=1e-6, abs=0.3 * error if halves else 0
        )
    else:  # few units carry it
        assert "mrr" in name or "hmr" in name or "hits" in name
        assert interval.method == "bounded mean"
        assert interval.high - value > value - interval.low or name == "hmr"


@pytest.mark.parametrize("name", ["map", "ndcg@3", "auc", "micro.map@3", "relation.p@3"])
@pytest.mark.parametrize("unit", ["triple", "relation"])
def test_lists_are_drawn_by_query_or_relation(name, unit):
    interval = summarize(TABLE, name, intervals=unit).interval(name)
    terms = terms_of(TABLE, unit, name)
    keys = keys_of(TABLE, "relation" if unit == "relation" else "query")
    assert interval.unit == ("relation" if unit == "relation" else "query")
    assert interval.units == len(set(keys))
    mean = np.average(terms.values[0], weights=terms.weights)
    off = [
        terms.weights[mine] @ (terms.values[0][mine] - mean) / terms.weights.sum()
        for mine in (terms.units.ids == unit for unit in range(terms.units.count))
    ]
    expected = np.sqrt(len(off) / (len(off) - 1) * np.square(off).sum())
    assert interval.standard_error == pytest.approx(expected, rel=0.1 if interval.method == "random halves" else 1e-9)


@pytest.mark.parametrize("name", SPELLED)
def test_every_metric_has_an_interval_around_it_or_a_reason(name):
    summary = summarize(TABLE, name, intervals=Intervals(draws=100))
    (group,) = summary.groups
    for spelled, value in group.values.items():
        if name == "count":
            assert "it is a count" in group.no_interval[str(spelled)]
            continue
        if spelled not in group.intervals:
            assert name.startswith(("cg", "dcg"))
            assert "few queries decide the value, which has no bounds" in group.no_interval[str(spelled)]
            continue
        interval = group.intervals[spelled]
        assert interval.low < interval.high
        assert spelled.metric.lowest <= interval.low
        assert interval.high <= spelled.metric.highest
        if not interval.method.startswith("bootstrap"):
            assert interval.low <= value <= interval.high


def test_terms_give_the_value_of_the_metric():
    found = {name: terms_of(TABLE, "triple", name) for name in SPELLED}
    by_bootstrap = {name for name, terms in found.items() if terms is None}
    assert by_bootstrap == {
        *("count", "gmr", "igmr", "agmri", "z-gmr", "median", "inverse-median", "variance", "std", "mad")
    }
    for name, terms in found.items():
        if terms is not None:
            assert terms.value == pytest.approx(summarize(TABLE, name)[name], rel=1e-13)


@pytest.mark.parametrize("name", ["mr", "amri", "z-mr", "map"])
def test_bootstrap_and_linearisation_agree_on_means(name):
    """The same formula as a metric of one's own, of which nothing is known."""
    metric = parse(name).metric
    formula = metric.compute
    own = replace(metric, name="own", synonyms=(), compute=lambda data, k: formula(data, k) + 0)
    summary = summarize(TABLE, [name, own], intervals=Intervals(draws=1500))
    linearised, drawn = summary.interval(name), summary.interval(own)
    assert drawn.method == "bootstrap, percentile, 1500 draws"
    assert drawn.units == linearised.units
    # A standard error of B draws is known to 1/√(2B), here 1.8 %.
    assert drawn.standard_error == pytest.approx(linearised.standard_error, rel=0.07)
    assert (drawn.low, drawn.high) == pytest.approx(
        (linearised.low, linearised.high), abs=0.3 * linearised.standard_error
    )


@pytest.mark.parametrize("unit", ["triple", "query", "relation"])
@pytest.mark.parametrize("name", ["mrr", "map", "median", "random.gmr", "macro.gmr"])
def test_the_order_of_the_rows_does_not_matter(name, unit):
    options = {"intervals": Intervals(unit=unit, draws=100, seed=4)}
    one, other = (summarize(table, name, **options).interval(name) for table in (TABLE, shuffled(TABLE)))
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)
    assert one == replace(other, low=one.low, high=one.high, standard_error=one.standard_error)


def test_the_seed_makes_the_draws():
    of = [summarize(TABLE, "gmr", intervals=Intervals(draws=100, seed=seed)).interval("gmr") for seed in (0, 0, 1)]
    assert of[0] == of[1]
    assert of[0] != of[2]


@pytest.mark.parametrize("by", [("side",), ("relation",), ("tail", "side")])
@pytest.mark.parametrize("unit", ["triple", "query", "relation"])
def test_a_group_has_the_intervals_of_the_table_of_its_rows(by, unit):
    names = ["mrr", "hits@3", "amri", "z-mr", "relation.mr", "map", "relation.ndcg@3", "count"]
    summary = summarize(TABLE, names, by=by, intervals=unit)
    with_interval = 0
    for group in summary.groups[:: 1 + len(summary.groups) // 6]:
        (alone,) = summarize(TABLE.where(of_key(TABLE, group.key)), names, intervals=unit).groups
        side = group.key.get("side")  # said by the key, it is not said by the name again
        reasons = {key.removeprefix(f"{side}."): why for key, why in alone.no_interval.items()}
        own = {str(name).removeprefix(f"{side}.") for name in alone.values}
        assert {key: why for key, why in group.no_interval.items() if key in own} == reasons
        for name, interval in alone.intervals.items():
            with_interval += 1
            mine_too = group.intervals[replace(name, side=None) if side else name]
            assert mine_too.low == pytest.approx(interval.low, rel=1e-9, abs=1e-12)
            assert mine_too.high == pytest.approx(interval.high, rel=1e-9, abs=1e-12)
            assert (mine_too.units, mine_too.method) == (interval.units, interval.method)
    assert with_interval or by != ("side",)


@pytest.mark.parametrize(("rank", "name"), [(1, "hits@1"), (1, "mrr"), (9, "hits@3"), (1, "amri")])
def test_a_proportion_of_none_or_all_has_the_interval_of_clopper_and_pearson(rank, name):
    table = of_ranks(TABLE, np.full(len(TABLE), rank))
    summary = summarize(table, name, intervals="triple")
    interval, count = summary.interval(name), table.num_triples
    hits = count if summary[name] == 1 else 0
    expected = stats.binomtest(hits, count).proportion_ci(0.95, method="exact")
    # Of the last of 40 ranks, AMRI is 1 − 39/19.5 = −1, and 1/r is 1/40.
    scale = {"amri": 2, "mrr": 39 / 40}.get(name, 1)
    assert (1 - interval.low) / scale == pytest.approx(1 - expected.low, rel=5e-3)
    assert (1 - interval.high) / scale == pytest.approx(1 - expected.high, rel=5e-3, abs=1e-15)
    assert (interval.method, interval.units, interval.clipped) == ("bounded mean", count, False)


@pytest.mark.parametrize("hits", [1, 2, 5])
def test_few_hits_have_the_interval_of_clopper_and_pearson(hits):
    table = TABLE.where(TABLE.column("side") == "head")
    ranks = np.where(np.arange(len(table)) < hits, 1, 9)
    table = of_ranks(table, ranks)
    interval = summarize(table, "head.hits@1", intervals="triple").interval("head.hits@1")
    expected = stats.binomtest(hits, len(table)).proportion_ci(0.95, method="exact")
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=5e-3, abs=1e-5)
    mirrored = changed(table, greater=9 - ranks)
    other = summarize(mirrored, "head.hits@1", intervals="triple").interval("head.hits@1")
    assert (1 - other.high, 1 - other.low) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_ends_of_a_bounded_mean_are_quantiles_of_drawn_means():
    """Of 200,000 draws of Dirichlet weights, with one value more: that of the first rank above, of the last below."""
    table = TABLE.where(TABLE.column("side") == "tail")
    ranks = np.array([1, 3, 3, *range(10, 32)])
    table = of_ranks(table.where(np.arange(len(table)) < 25), ranks, 400)
    drawn = np.random.default_rng(3).dirichlet(np.ones(26), 200_000)
    ends = [np.quantile(drawn @ np.append(1 / ranks, end), q) for end, q in ((1 / 400, 0.025), (1, 0.975))]
    interval = summarize(table, ["mrr", "hmr"], intervals="triple").interval("mrr")
    assert interval.method == "bounded mean"
    assert (interval.low, interval.high) == pytest.approx(ends, rel=0.01)
    inverse = summarize(table, "hmr", intervals="triple").interval("hmr")
    assert (1 / inverse.high, 1 / inverse.low) == pytest.approx((interval.low, interval.high))


@given(st.lists(st.integers(1, 60), min_size=20, max_size=60), st.integers(0, 3))
def test_intervals_of_one_table_do_not_contradict_each_other(ranks, rarity):
    """More of [r ≤ 1] ≤ 1/r, [r ≤ 3] ≤ [r ≤ 10] ≤ 1 in each row; with few hits, and with many."""
    ranks = np.array(ranks) * 2**rarity
    head = TABLE.where(TABLE.column("side") == "head")
    table = of_ranks(head.where(np.arange(len(head)) < len(ranks)), ranks, 500)
    summary = summarize(table, ["hits@1", "hits@3", "hits@10", "mrr", "mr", "amri"], intervals="triple")
    hits, third, tenth, mrr, mr, amri = (summary.interval(str(name)) for name in summary.requested)
    for less, more in ((hits, third), (third, tenth), (hits, mrr)):
        assert less.low <= more.low + 1e-9
        assert less.high <= more.high + 1e-9
    chance = (500 - 1) / 2
    assert (1 - (mr.high - 1) / chance, 1 - (mr.low - 1) / chance) == pytest.approx((amri.low, amri.high), abs=1e-6)


def test_units_of_unequal_weight_count_for_less():
    table = of_ranks(TABLE, np.ones(len(TABLE), np.int64))
    sizes = np.bincount(table.column("relation"))
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    interval = summarize(table, "hits@1", intervals="relation").interval("hits@1")
    assert 1 - interval.low == pytest.approx(1 - 0.025 ** (1 / effective), rel=1e-2)


def test_equal_ranks_tell_what_others_may_be_as_far_as_there_are_candidates():
    table = of_ranks(TABLE, np.full(len(TABLE), 4))
    summary = summarize(table, ["mr", "median"], intervals="triple")
    interval, unseen = summary.interval("mr"), 1 - 0.025 ** (1 / table.num_triples)
    assert (4 - interval.low, interval.high - 4) == pytest.approx((3 * unseen, 36 * unseen), rel=5e-3)
    assert "the same value in every bootstrap sample" in summary.groups[0].no_interval["both.median"]


def test_an_interval_stays_within_the_range_and_a_note_says_that_few_triples_carry_it():
    table = of_ranks(TABLE, np.where(np.arange(len(TABLE)) < 2, 5, 1))
    summary = summarize(table, ["hits@1", "mr"], intervals="triple")
    assert summary["hits@1"] < summary.interval("hits@1").high < 1 < summary.interval("mr").low < summary["mr"]
    assert not summary.interval("hits@1").clipped
    (note,) = [note for note in summary.notes if "depends on few triples" in note]
    assert "both.hits@1, head.hits@1" in note
    assert "may have other rare values" in note


def test_few_units_have_no_interval_but_a_reason():
    table = TABLE.where(TABLE.column("relation") < 11)
    count = len(np.unique(table.column("relation")))
    summary = summarize(table, ["mrr", "hits@1", "map", "count"], intervals="relation")
    assert not summary.groups[0].intervals
    with pytest.raises(MetricError, match=rf"mrr has no interval: only {count} relations; an interval needs at least"):
        summary.interval("mrr")
    assert f"no intervals: only {count} relations; an interval needs at least 20." in summary.notes
    one = summarize(TABLE.where(TABLE.column("relation") == 0), "mrr", intervals="relation")
    with pytest.raises(MetricError, match="only 1 relation; an"):
        one.interval("mrr")


def test_empty_and_undefined_have_no_interval():
    empty = summarize(TABLE.where(np.zeros(len(TABLE), bool)), ["mrr", "median", "map"], intervals="triple")
    assert not empty.groups[0].intervals
    assert set(empty.groups[0].undefined) == {"both.mrr", "both.median", "both.map"}
    tied = summarize(
        changed(TABLE, tied=0 * TABLE.column("tied") + 1, candidates=0 * TABLE.column("tied") + 60),
        "expected.median",
        intervals="triple",
    )
    assert tied.groups[0].values[parse("both.expected.median")] is None
    assert not tied.groups[0].intervals
    assert not tied.groups[0].no_interval


def test_a_metric_that_draws_leave_undefined_has_no_interval():
    def fussy(ranks, k):
        if len(np.unique(ranks.values)) < len(distinct):
            raise Undefined("a rank is missing")
        return 1.0

    head = TABLE.where(TABLE.column("side") == "head")
    distinct = np.unique(TableView(head).ranks.values)
    own = Metric("fussy", "fussy", "—", "—", lowest=0, highest=1, increasing=None, compute=fussy)
    with pytest.raises(
        MetricError, match="fussy has no interval: it is undefined in a bootstrap sample: a rank is missing"
    ):
        summarize(head, own, intervals="triple").interval(own)


def test_settings_that_cannot_be_are_refused():
    for requested in ("triples", "", 3, True, ["triple"], 0.95):
        with pytest.raises(MetricError, match="intervals: unknown unit"):
            summarize(TABLE, "mrr", intervals=requested)
    for options in ({"unit": "triples"}, {"level": 0}, {"level": 1.0}, {"level": 95}, {"draws": 0}):
        with pytest.raises(InputError, match=f"Intervals:\n  {next(iter(options))}"):
            Intervals(**options)


def test_a_table_without_the_column_is_refused():
    class WithoutTriples(RankTable):
        def column(self, name):
            return super().column("no_triple" if name == "triple" else name)

    with pytest.raises(TableError, match="triple"):
        summarize(WithoutTriples(TABLE.data), "mrr", intervals="triple")
    assert summarize(WithoutTriples(TABLE.data), "mrr", intervals="query").interval("mrr").units > 20


def test_everything_that_shows_numbers_shows_intervals(tmp_path):
    summary = summarize(TABLE, ["mrr", "mr", "median", "map", "count"], intervals=Intervals(draws=200))
    interval = summary.interval("mrr")
    content = json.loads(json.dumps(summary.to_dict()))
    assert content["intervals"]["both"]["mrr"] == interval.to_dict()
    assert set(content["intervals"]["head"]) == {"mrr", "mr", "median", "map"}
    assert content["no_interval"]["both.count"] == "it is a count"
    (row,) = summary.to_frame().to_dict("records")
    for column in ("low", "high", "units"):
        assert row[f"both.mrr.{column}"] == getattr(interval, column)
    printed = f"{summary['mrr']:.4f} ({interval.low:.4f}–{interval.high:.4f})"
    assert 0.001 < interval.standard_error < 0.01  # so that four digits are justified
    assert printed in str(summary)
    assert printed in summary._repr_html_()
    assert "95 % intervals (resampling triples), of lists resampling queries" in str(summary)
    grouped = summarize(TABLE, ["mrr", "mr"], by="side", intervals="triple")
    units = {group["key"]["side"]: group["intervals"] for group in grouped.to_dict()["groups"]}
    assert [units[side][side]["mrr"]["units"] for side in ("head", "tail")] == [TABLE.num_triples] * 2
    assert list(grouped.to_frame().columns)[:2] == ["side", "mrr"]
    assert "±" in str(grouped)
    assert summarize(TABLE, ["mrr"]).to_dict().keys() == content.keys() - {"intervals", "no_interval"}


def test_a_number_without_an_interval_has_few_digits():
    summary = summarize(TABLE.where(TABLE.column("relation") == 0), ["mrr", "count"], intervals="triple")
    (group,) = summary.groups
    names = {str(name): name for name in group.values}
    assert written(group.records[names["both.mrr"]].figure) == f"{summary['mrr']:.3f}"
    assert written(group.records[names["both.mrr"]].figure, 5) == f"{summary['mrr']:.5f}"
    assert written(group.records[names["both.count"]].figure) == str(summary["count"])
