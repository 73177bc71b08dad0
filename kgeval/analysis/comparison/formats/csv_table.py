"""CSV: the leaderboard with all digits, to be read back to the same numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from kgeval.metrics.tables.rank_summary import RankSummary, shared_columns


def as_csv(summaries: Mapping[str, RankSummary]) -> str:
    """Write a row for each model; an undefined metric is an empty cell."""
    names = shared_columns(summaries)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", *(name.base if name.side == "both" else str(name) for name in names)])
    for model, summary in summaries.items():
        values = (summary.groups[0].values[name.of_part(summary.pooled)] for name in names)
        writer.writerow([model, *("" if value is None else repr(value) for value in values)])
    return text.getvalue()
