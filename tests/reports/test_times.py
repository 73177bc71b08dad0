"""A metric over time: the numbers of ``--by time``, periods of many times, the axis, the page, and what has no line."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import InputError, MetricError, visible
from kgeval.reports.page import report
from kgeval.reports.plots import svg_of

pytest.importorskip("altair")


def over(times, facts):
    rng = np.random.default_rng(5)
    ids = np.unique(np.c_[rng.integers(0, 9, (facts, 3)), rng.integers(0, len(times), facts)], axis=0)
    rows = [(f"e{h}", f"r{r}", f"e{t}", times[time]) for h, r, t, time in ids.tolist()]
    data = kgeval.Dataset.from_labels(train=rows[::9], test=rows, columns="head,relation,tail,time")
    scores = {"a": lambda h, r, t: (h * 3 + r + t) % 7, "b": lambda h, r, t: (h + r * 5 + t * 2) % 6}
    return data, {name: kgeval.evaluate(score, data) for name, score in scores.items()}


def points_of(chart):
    """The rows of the lines, by model and group."""
    spec = chart.to_dict()
    (lines,) = (layer for layer in spec["layer"] if layer["mark"].get("type") == "line")
    rows = spec["datasets"][lines["data"]["name"]] if "name" in lines["data"] else lines["data"]["values"]
    return lines["encoding"], {(row["model"], row["group"]): row for row in rows}


DAYS = [str(dt.date(2014, 1, 30) + dt.timedelta(day)) for day in range(70)]


@pytest.mark.parametrize(("times", "kind", "places"), [
    (DAYS[:5], "temporal", [1391040000000 + 86400000 * day for day in range(5)]),
    (["2014-01-30T06:00:00Z", "2014-01-31"], "temporal", [1391061600000, 1391126400000]),
    (["2014-01-30T06:00:00+01:00", "2014-01-31"], "ordinal", ["2014-01-30T06:00:00+01:00", "2014-01-31"]),
    (["9", "24", "100"], "quantitative", [9, 24, 100]),
    (["dawn", "noon", "n\x1bight", "2014-02-31"], "ordinal", ["2014-02-31", "dawn", "n\\x1bight", "noon"]),
])  # fmt: skip
def test_the_line_has_the_metric_of_each_time_with_its_interval(times, kind, places):
    _, tables = over(times, 400)
    chart = kgeval.plot_times(tables, metric="hits@3")
    assert svg_of(chart).count("<path") > 4
    encoding, points = points_of(chart)
    assert encoding["x"]["type"] == kind
    assert list(dict.fromkeys(point["time"] for point in points.values())) == places
    for model, table in tables.items():
        summary = kgeval.summarize(table, ["both.hits@3"], by="time", intervals="triple")
        assert len(summary.groups) == len(times)
        for group in summary.groups:
            point, (value, count) = points[model, visible(group.key["time"])], group.values.values()
            interval = next(iter(group.intervals.values()))
            assert (point["value"], point["count"]) == (value, count)
            assert (point["low"], point["high"]) == (interval.low, interval.high)


def test_many_times_are_drawn_in_periods():
    data, tables = over(DAYS, 900)
    chart = kgeval.plot_times(tables, dataset=data)
    said = "MRR in 60 periods, each drawn at the first of its times; band: 95 % interval (resampling triples)."
    assert said in chart.usermeta["notes"]
    (lacking,) = kgeval.plot_times(tables, dataset=data, intervals="time").usermeta["notes"]
    assert lacking.endswith("(resampling times), for which a point has too few.")
    _, points = points_of(chart)
    table = kgeval.annotate(tables["a"], data, "period:60")
    groups = kgeval.summarize(table, ["both.mrr"], by="period:60").groups
    expected = {("a", group.key["period:60"]): next(iter(group.values.values())) for group in groups}
    assert {key: point["value"] for key, point in points.items() if key[0] == "a"} == pytest.approx(expected)
    with pytest.raises(InputError, match="more than 60 need their dataset too"):
        kgeval.plot_times(tables)


@pytest.mark.parametrize(("count", "drawn"), [(3, True), (2, False)])
def test_the_page_has_the_line_of_three_times_or_more(count, drawn):
    data, tables = over(DAYS[:count], 200)
    assert ('data-chart="slice-time"' in report(tables, dataset=data).html) == drawn


def test_ranks_without_times_have_no_line():
    table = kgeval.evaluate(lambda h, r, t: (h + t) % 5, "nations")
    with pytest.raises(InputError, match="nothing to draw: the ranks need several times"):
        kgeval.plot_times(table)
    assert 'data-chart="slice-time"' not in report(table, dataset="nations").html


def test_what_models_had_in_view_is_said_of_each_where_it_differs():
    """Neither the head of the page nor a picture says it of all; the slices that look back then look at all facts."""
    days = [(f"e{k % 2}", "r", f"e{k % 3 if k < 19 else 8}", f"2014-01-{k:02}") for k in range(1, 21)]
    data = kgeval.Dataset.from_labels(train=days[:6], valid=days[6:10], test=days[10:])
    histories = {"one": "observed", "other": "train"}
    tables = {name: kgeval.evaluate(lambda h, r, t: h + t, data, history=it) for name, it in histories.items()}
    said = "he models had different facts before a query in view: history observed in one; history train in other."
    page, alike = (report(them, dataset=data).html for them in (tables, {"one": tables["one"]}))
    heads = [re.search("[^<>]*10 test triples[^<>]*", html)[0] for html in (page, alike)]
    assert ["history" in head for head in heads] == [False, True]
    assert said in page
    assert f"t{said}" in kgeval.plot_times(tables).usermeta["notes"]
    assert 'data-chart="slice-recurrence"' in page
    with pytest.raises(MetricError, match=r"different values of 'recurrence' in 1 row. Their histories differ."):
        kgeval.compare({name: kgeval.annotate(it, data, "recurrence") for name, it in tables.items()}, by="recurrence")


def lacking(table, data):
    """What the page warns was not filtered."""
    warned = re.search(r"Known answers from (.*?) were not filtered out", kgeval.report(table, dataset=data).html)
    return warned and warned[1]


@pytest.mark.parametrize(("split", "filter", "train_until", "expected"), [
    ("test", ("test",), 2, None),  # of forecasts, the facts of train are of other times
    ("test", ("test",), 5, "train"),
    ("test", ("train",), 2, "test"),
    ("valid+test", ("train", "valid", "test"), 5, None),
    ("valid+test", ("train", "test"), 5, "valid"),
])  # fmt: skip
def test_the_page_warns_of_known_answers_that_could_be_filtered(split, filter, train_until, expected):
    rng = np.random.default_rng(3)
    rows = [(f"e{h}", f"r{r}", f"e{t}", str(k)) for h, r, t, k in rng.integers(0, [9, 3, 9, 5], (200, 4)).tolist()]
    parts = {"train": [row for row in rows if int(row[3]) < train_until], "valid": rows[:40], "test": rows[40:]}
    late = {name: [row for row in parts[name] if int(row[3]) >= 2] for name in ("valid", "test")}
    data = kgeval.Dataset.from_labels(train=parts["train"], **late, columns="head,relation,tail,time")
    table = kgeval.evaluate(lambda h, r, t: (h * 3 + r + t) % 7, data, split=split.split("+"), filter=filter)
    assert lacking(table, data) == expected
