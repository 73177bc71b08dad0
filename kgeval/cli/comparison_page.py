"""The page of a comparison: under the leaderboard, a table of differences for each metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.cli.display import show_table
from kgeval.cli.streams import say

if TYPE_CHECKING:
    from kgeval.analysis.comparison.comparison import Comparison


def show_differences(comparison: Comparison) -> None:
    """Print a row for each pair of models and group of rows."""
    columns, rows = comparison.differences_table()
    keys = columns.index("difference")
    for metric in dict.fromkeys(metric for metric, *_ in rows):
        say("")
        of_metric = [row for name, *row in rows if name == metric]
        show_table([metric, *[""] * (keys - 2), *columns[keys:]], of_metric, keys=keys - 1)
