"""The rows of a data frame as the values of a chart, however many they are; a missing number is null."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.reports.libraries import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


def records(frame: pd.DataFrame) -> alt.Data:
    """Give a chart its rows.

    >>> import pandas as pd
    >>> records(pd.DataFrame({"x": [0.5, None]})).to_dict()
    {'values': [{'x': 0.5}, {'x': None}]}
    """
    plain = frame.astype(object).where(frame.notna(), None)
    data: alt.Data = library("altair").Data(values=plain.to_dict("records"))
    return data
