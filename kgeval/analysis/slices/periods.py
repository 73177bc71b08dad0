"""Periods: consecutive times of the evaluated split, as many in each, or those of a month or a year.

``Slice.of_periods`` calls ``group_times``: a dataset's times go in, the period of each row comes out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.errors import DatasetError, TableError

CALENDAR = {"year": 4, "month": 7}
"""the number of characters at the start of a date, such as 2014-05-13, that name its year or month"""

DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")


def check_periods(periods: str) -> None:
    """Refuse text that is neither a number of periods nor ``month`` or ``year``."""
    if periods not in CALENDAR and not re.fullmatch("[1-9][0-9]{0,8}", periods):
        expected = f"a number of periods, such as period:12, or {' or '.join(f'period:{name}' for name in CALENDAR)}"
        raise TableError(f"slice 'period:{periods}': expected {expected}.")


def group_times(periods: str, times: IntArray, of_split: IntArray, labels: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Cut the times of a split into periods; return the period of each of ``times`` (int64[row]), and all names.

    ``of_split`` (int64[triple]) are the time ids of the split, ``labels`` the labels of all time ids. Numbered periods
    differ by at most one in their number of times; if there are fewer times than periods, each time is a period.

    >>> days = ["2014-01-01", "2014-01-02", "2014-02-01", "2014-02-09", "2014-02-10"]
    >>> group_times("2", np.array([4, 0]), np.array([0, 1, 2, 4]), days)
    (array([1, 0]), ['2014-01-01 to 2014-01-02', '2014-02-01 to 2014-02-10'])
    >>> group_times("month", np.array([4, 0]), np.array([0, 1, 2, 4]), days)
    (array([1, 0]), ['2014-01', '2014-02'])
    """
    distinct = np.unique(of_split)
    names = [labels[time] for time in distinct.tolist()]
    if periods in CALENDAR:
        if wrong := next((name for name in names if not DATE.fullmatch(name)), None):
            what = f"slice 'period:{periods}' needs dates, such as 2014-05-13, found {wrong!r}"
            raise DatasetError(f"{what}. Choose a number of periods, such as period:4.")
        of_times = [name[: CALENDAR[periods]] for name in names]
    else:
        parts = [part.tolist() for part in np.array_split(names, min(int(periods), len(names)) or 1)]
        of_times = [" to ".join(dict.fromkeys((part[0], part[-1]))) for part in parts for _ in part]
    places = {title: place for place, title in enumerate(dict.fromkeys(of_times))}
    return np.array([places[title] for title in of_times], np.int64)[np.searchsorted(distinct, times)], [*places]
