"""Periods: consecutive times of the split, written again with plain lists; months and years; what is refused."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import Dataset, annotate, summarize
from kgeval.base.errors import DatasetError, TableError
from tests.analysis import ranked_rows

DAYS = [str(dt.date(2013, 11, 1) + dt.timedelta(days)) for days in range(0, 150, 3)]


def ranked(data, **about):
    return replace(ranked_rows.ranked(data), **{"times": "time-aware"} | about)


def dated(places):
    """A graph whose test facts are at some of the days, and train at all of them."""
    facts = [(f"e{place % 5}", "r", f"e{place % 7}", day) for place, day in enumerate(DAYS)]
    return Dataset.from_labels(train=facts, test=[("e5", "r", f"e{place % 7}", DAYS[place]) for place in places])


def cut(times, count):
    """Deal the times out one by one, so that the first periods have one more."""
    count = min(count, len(times))
    sizes = [len(times[place::count]) for place in range(count)]
    starts = [sum(sizes[:place]) for place in range(count)]
    return [times[start : start + size] for start, size in zip(starts, sizes, strict=True)]


@settings(max_examples=20)
@given(places=st.lists(st.integers(0, len(DAYS) - 1), min_size=1, unique=True), count=st.integers(1, 60))
def test_periods_are_consecutive_times_of_the_split(places, count):
    data = dated(places)
    name = f"period:{count}"
    table = annotate(ranked(data), data, [name, "period", "period:month", "period:year"])
    when = table.column("time").tolist()
    for column, periods in ((name, count), ("period", 4)):
        title = {
            time: period[0] if len(period) == 1 else f"{period[0]} to {period[-1]}"
            for period in cut(sorted({*when}), periods)
            for time in period
        }
        assert table.column(column).tolist() == [title[time] for time in when]
    assert table.column("period:month").tolist() == [time[:7] for time in when]
    assert table.column("period:year").tolist() == [time[:4] for time in when]
    part = table.column("triple") == 0  # which times a part of the rows has does not matter
    again = annotate(ranked(data).where(part), data, name)
    assert again.column(name).tolist() == table.where(part).column(name).tolist()


def test_groups_are_in_the_order_of_time():
    facts = [("a", "r", "b", str(time)) for time in (2, 9, 10, 100)]
    data = Dataset.from_labels(train=facts, test=facts, columns="head,relation,tail,time")
    table = annotate(ranked(data), data, "period:3")
    keys = [group.key["period:3"] for group in summarize(table, "count", by="period:3").groups]
    assert keys == ["2 to 9", "10", "100"]


@pytest.mark.parametrize("wrong", ["0", "-3", "week", "1.5", "month ", "٣"])
def test_what_is_no_number_of_periods_is_refused(wrong):
    data = dated([1])
    with pytest.raises(TableError, match=f"slice 'period:{wrong}': expected a number of periods, such as period:12"):
        annotate(ranked(data), data, f"period:{wrong}")


def test_months_need_dates_and_periods_need_times(nations):
    facts = [("a", "r", "b", time) for time in ("8016", "8040")]
    data = Dataset.from_labels(train=facts, test=facts, columns="head,relation,tail,time")
    table = ranked(data)
    with pytest.raises(DatasetError, match="'period:month' needs dates, such as 2014-05-13, found '8016'"):
        annotate(table, data, "period:month")
    with pytest.raises(TableError, match="slice 'period' needs times, and these ranks have none"):
        annotate(replace(table, data=table.data.drop_columns("time"), times=None), data, "period")
    with pytest.raises(DatasetError, match="slice 'period' needs times, and dataset nations has none"):
        annotate(ranked_rows.ranked(nations), nations, "period")
