"""Comparisons: the same metrics of several models side by side, and the differences between these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgeval.analysis.comparison.comparison_notes import notes_on_tests
from kgeval.analysis.comparison.formats import PaperTable, as_csv, as_latex, as_markdown, paper_table
from kgeval.analysis.comparison.leaderboard_rows import Leaderboard, leaderboard_of, number_of
from kgeval.analysis.comparison.paired_difference import DEFAULT_DIFFERENCES, DifferenceOptions, PairedDifference
from kgeval.errors import MetricError
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import parse
from kgeval.metrics.rank_summary import RankSummary
from kgeval.metrics.rendering import as_html, as_text, cell, notes_with_models, number

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ("difference", "p", "detectable", "seen")
"""the columns of what was found of a pair"""


@dataclass(frozen=True)
class Comparison:
    """Summaries of several models, by the models' names, and the differences of each pair on the rows they share."""

    summaries: Mapping[str, RankSummary]
    remarks: tuple[str, ...] = ()
    """how the models' ranks differ, so that their metrics do not compare, or may not"""
    pairs: tuple[PairedDifference, ...] = ()
    """a difference for each pair, metric and group of rows; empty where the models rank different rows"""
    options: DifferenceOptions = DEFAULT_DIFFERENCES
    """what the differences depend on"""
    grouped: Mapping[str, RankSummary] = field(default_factory=dict)
    """the summaries of each group of rows, by the models' names; empty without groups"""

    def best(self, name: str | Metric) -> str:
        """Name the model that is best by a metric (the first of equals).

        Raises
        ------
        MetricError
            if the metric says nothing about quality, was not requested, or is undefined for a model
        """
        requested = next(iter(self.summaries.values())).requested
        increasing = parse(name, also=[one.metric for one in requested]).metric.increasing
        if increasing is None:
            raise MetricError(f"{getattr(name, 'name', name)} says nothing about which model is better.")
        sign = 1 if increasing else -1
        return max(self.summaries, key=lambda model: sign * self.summaries[model][name])

    @property
    def ties(self) -> str:
        """The name of the tie policy of all metrics that name none."""
        return next(iter(self.summaries.values())).ties

    @property
    def family(self) -> int:
        """How many pairs of models each p-value is adjusted for; of groups, the most."""
        return max((pair.family for pair in self.pairs), default=0)

    @property
    def decisive(self) -> str:
        """The metric that decides which model is better: the one named first; empty without differences."""
        return self.pairs[0].name if self.pairs else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: where ranks differ, what the tests are, and what holds of the models."""
        return (*self.remarks, *notes_on_tests(self.pairs, self.options), *self.notes_on_models)

    @property
    def notes_on_models(self) -> tuple[str, ...]:
        """What a reader of the models' metrics should know, whatever is said of differences."""
        return tuple(notes_with_models({model: summary.notes for model, summary in self.summaries.items()}))

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the leaderboard: the names of the columns, and a row of cells for each model, in each group.

        A metric that was requested with a side has its column, one without is of both sides, or of the one ranked.
        """
        board = self._leaderboard
        columns = [name.base if name.side == "both" else str(name) for name in board.names]
        return [*board.by, "model", *columns], [
            [*board.key_of(row), *(number_of(row.group, name) for name in board.names)] for row in board.rows
        ]

    def differences_table(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns, and a row of cells for each pair, metric and group, which says its size."""
        by, names = list(self.pairs[0].group) if self.pairs else [], [pair.name for pair in self.pairs]
        columns = ["metric", *by, "model", "other", *(["ranks"] if by else []), *RESULTS]
        return columns, [
            [
                pair.name,
                *(str(pair.group[name]) for name in by),
                pair.model,
                pair.other,
                *([str(pair.rows)] if by else []),
                *_cells(pair),
            ]
            for pair in sorted(self.pairs, key=lambda pair: names.index(pair.name))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the content of each model's ``metrics.json``, the differences, and the notes."""
        models = {model: summary.to_dict() for model, summary in self.summaries.items()}
        for model, summary in self.grouped.items():
            content = summary.to_dict()
            models[model] |= {"by": content["by"], "groups": content["groups"]}
        return {
            "models": models,
            "differences": {
                **{name: getattr(self.options, name) for name in ("unit", "level", "draws", "seed")},
                "decisive": self.decisive,
                "family": self.family,
                "family_of": "the pairs of models, by each metric in each group",
                "adjustment": "holm",
                "pairs": [pair.to_dict() for pair in self.pairs],
            },
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model, one column per metric and side."""
        import pandas as pd

        rows = [
            {"model": model, **row} for model, s in self.summaries.items() for row in s.to_frame().to_dict("records")
        ]
        return pd.DataFrame(rows).set_index("model")

    def differences_frame(self) -> pd.DataFrame:
        """Return one row per pair, metric and group of rows, with the columns of a :class:`PairedDifference`."""
        import pandas as pd

        contents = [pair.to_dict() for pair in self.pairs]
        return pd.DataFrame(
            [{**content.pop("group", {}), **content, "reason": content.get("reason", "")} for content in contents]
        )

    def to_latex(self, digits: int | None = None) -> str:
        """Write the leaderboard for a paper: booktabs, siunitx, the best bold, what is not seen to be worse underlined.

        Numbers have the digits after the point that the intervals of differences justify, or as many as ``digits``.
        """
        return as_latex(self._paper_table(digits))

    def to_markdown(self, digits: int | None = None) -> str:
        """Write the leaderboard in Markdown; ``digits`` as in :meth:`to_latex`."""
        return as_markdown(self._paper_table(digits))

    def to_csv(self) -> str:
        """Write the leaderboard as CSV, with all digits."""
        return as_csv(self._leaderboard)

    def __str__(self) -> str:
        leaderboard = as_text(self._heads(), *self.table(), () if self.pairs else self.notes)
        if not self.pairs:
            return leaderboard
        return f"{leaderboard}\n\n{as_text((), *self.differences_table(), self.notes).strip()}"

    def _repr_html_(self) -> str:
        if not self.pairs:
            return as_html(self._heads(), *self.table(), self.notes)
        leaderboard = as_html(self._heads(), *self.table(), ())
        return f"<div>{leaderboard}{as_html((), *self.differences_table(), self.notes)}</div>"

    def _paper_table(self, digits: int | None) -> PaperTable:
        return paper_table(self._leaderboard, self.pairs, options=self.options, remarks=self.remarks, digits=digits)

    @property
    def _leaderboard(self) -> Leaderboard:
        return leaderboard_of(self.summaries, self.grouped)

    def _heads(self) -> list[str]:
        return [f"{model}: {summary.heads[0]}" for model, summary in self.summaries.items()]


def _cells(pair: PairedDifference) -> list[str]:
    """Print a difference, with as many digits as its standard error justifies."""
    return [
        "undefined" if pair.difference is None else cell(pair.difference, pair.interval),
        pair.p_text,
        "" if pair.detectable is None else number(pair.detectable, pair.decimals),
        pair.seen or "not tested",
    ]
