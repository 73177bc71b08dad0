"""CSV: the leaderboard with all digits, to be read back to the same numbers."""

from __future__ import annotations

import csv
import io

from kgeval.analysis.comparison.leaderboard_rows import Leaderboard, value_of


def as_csv(board: Leaderboard) -> str:
    """Write a row for each model, in each group; an undefined metric is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [name.base if name.side == "both" else str(name) for name in board.names]
    writer.writerow([*board.by, "model", *columns])
    for row in board.rows:
        values = (value_of(row.group, name) for name in board.names)
        writer.writerow([*board.key_of(row), *("" if value is None else repr(value) for value in values)])
    return text.getvalue()
