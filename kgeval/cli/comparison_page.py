"""The pages of comparisons: differences of pairs of models, and ranks of models on several datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kgeval.cli.display import show_notes, show_table
from kgeval.cli.streams import say

if TYPE_CHECKING:
    from kgeval.analysis.comparison.comparison import Comparison
    from kgeval.analysis.comparison.dataset_ranks import DatasetRanks


def show_differences(comparison: Comparison) -> None:
    """Print, under each metric, a row for each pair of models and group of rows; the metric named first decides."""
    (_, *columns), rows = comparison.differences_table()
    for metric in dict.fromkeys(metric for metric, *_ in rows):
        say(f"\n{metric}{'' if metric == comparison.decisive else ' (secondary)'}:\n")
        of_metric = [row for name, *row in rows if name == metric]
        show_table(columns, of_metric, keys=columns.index("other") + 1)


def show_ranks(ranks: Mapping[str, DatasetRanks]) -> None:
    """Print, under each metric, a row for each model."""
    for number, (metric, of_models) in enumerate(ranks.items()):
        if number:
            say("")
        columns, rows = of_models.table()
        show_table([f"{metric}{' (secondary)' if number else ''}", *columns[1:]], rows)
        show_notes(of_models.notes)
