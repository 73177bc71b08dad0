"""Comparisons: the same metrics of several models side by side, and the differences between these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgeval.analysis.comparison.leaderboard import Leaderboard, leaderboard_of
from kgeval.analysis.comparison.paired_difference import (
    DEFAULT_DIFFERENCES,
    DifferenceOptions,
    PairedDifference,
    notes_on_tests,
)
from kgeval.base.errors import first_few
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Cell, Figure, Table, number, written
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import parse
from kgeval.metrics.rank_summary import RankSummary, common_ties_of
from kgeval.metrics.summary import notes_with_models

if TYPE_CHECKING:
    import pandas as pd


MOST_MODELS = 6
"""the most models that a note names"""


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Summaries of several models, by the models' names, and the differences of each pair on the rows they share."""

    summaries: Mapping[str, RankSummary]
    remarks: tuple[str, ...] = ()
    """how the models' ranks differ, if their metrics do not compare, or may not"""
    pairs: tuple[PairedDifference, ...] = ()
    """a difference for each pair, metric and group of rows; empty if the models rank different rows"""
    options: DifferenceOptions = DEFAULT_DIFFERENCES
    """the options of the tests"""
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
        sign = 1 if parse(name, also=[one.metric for one in requested]).highest_is_best else -1
        return max(self.summaries, key=lambda model: sign * self.summaries[model][name])

    @property
    def ties(self) -> str:
        """The name of the tie policy of all metrics that name none."""
        return common_ties_of(self.summaries.values())

    @property
    def family(self) -> int:
        """How many pairs of models each p-value is adjusted for; the largest number of all groups."""
        return max((pair.family for pair in self.pairs), default=0)

    @property
    def decisive(self) -> str:
        """The metric that decides which model is better: the first one; empty without differences."""
        return self.pairs[0].name if self.pairs else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes: how the ranks differ, the notes of the models, and how differences were tested."""
        return (*self.remarks, *self.notes_on_models, *notes_on_tests(self.pairs, self.options))

    @property
    def notes_on_models(self) -> tuple[str, ...]:
        """The notes on the models' metrics; one for the ties of all models."""
        notes = {
            model: [note for note in summary.notes if note not in summary.tie_notes]
            for model, summary in self.summaries.items()
        }
        return (*notes_with_models(notes), *self._notes_on_ties())

    def _notes_on_ties(self) -> Iterator[str]:
        found = {model: summary.groups[0].ties for model, summary in self.summaries.items()}
        serious = [
            f"{model!r} from {ties.pessimistic_mrr:.3f} (pessimistic) to {ties.optimistic_mrr:.3f} (optimistic)"
            for model, ties in found.items()
            if ties is not None and ties.serious
        ]
        if serious:
            models = first_few(serious, MOST_MODELS)
            yield f"the tie policy alone moves the MRR: {models}."

    @property
    def heads(self) -> tuple[str, ...]:
        """The provenance of each model, and the leaks of the split."""
        models = [f"{model}: {summary.heads[0]}" for model, summary in self.summaries.items()]
        leaks = {model: summary.provenance.heads[1:] for model, summary in self.summaries.items()}
        return (*models, *notes_with_models(leaks))

    def _brief(self) -> str:
        first = next(iter(self.summaries.values()))
        metric = first.requested[0]
        values = first_few([f"{model} {one.brief_value(metric)}" for model, one in self.summaries.items()])
        by = f", by {', '.join(next(iter(self.grouped.values())).by)}" if self.grouped else ""
        return f"{metric} on {first.provenance.dataset}: {values}{by}"

    def tables(self) -> tuple[Table, ...]:
        """Return the leaderboard, a row for each model, in each group, and the differences, if there are any.

        A metric without a side has one column: of both sides, or of the one that was ranked.
        """
        return (self._leaderboard.table(), *([self._differences()] if self.pairs else []))

    def differences_by_metric(self) -> dict[str, Table]:
        """Return the differences by each metric, a row for each pair of models and group of rows."""
        table = self._differences()
        names = dict.fromkeys(pair.name for pair in self.pairs)
        rows = {name: [row[1:] for row in table.rows if row[0] == name] for name in names}
        item = "group" if self.grouped else ""
        return {name: Table(table.columns[1:], own, table.keys - 1, item=item) for name, own in rows.items()}

    def papers(self) -> tuple[Table, ...]:
        """Return the leaderboard, with the best marked, and those that are not seen to be worse."""
        return (self._leaderboard.paper(self.pairs, self.options, self.remarks),)

    def differences_table(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns, and a row of cells for each pair, metric and group."""
        table = self._differences()
        return list(table.columns), table.texts()

    def _differences(self) -> Table:
        by = list(self.pairs[0].group) if self.pairs else []
        columns = ["metric", *by, "model", "other", *(["ranks"] if by else [])]
        metrics = list(dict.fromkeys(pair.name for pair in self.pairs))
        rows: list[list[Cell]] = []
        for pair in sorted(self.pairs, key=lambda pair: metrics.index(pair.name)):
            keys = [pair.name, *(str(pair.group[name]) for name in by), pair.model, pair.other]
            rows.append([*keys, *([pair.rows] if by else []), *_cells(pair)])
        return Table([*columns, "difference", "p", "detectable", "seen"], rows, keys=3 + len(by))

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

        frames = {model: summary.to_frame() for model, summary in self.summaries.items()}
        rows = [{"model": model, **row} for model, frame in frames.items() for row in frame.to_dict("records")]
        return pd.DataFrame(rows).set_index("model")

    def differences_frame(self) -> pd.DataFrame:
        """Return one row per pair, metric and group of rows, with the columns of a :class:`PairedDifference`."""
        import pandas as pd

        contents = [pair.to_dict() for pair in self.pairs]
        return pd.DataFrame(
            [{**content.pop("group", {}), **content, "reason": content.get("reason", "")} for content in contents]
        )

    def csv_tables(self) -> tuple[Table, ...]:
        """Return the leaderboard alone."""
        return self.tables()[:1]

    @property
    def _leaderboard(self) -> Leaderboard:
        return leaderboard_of(self.summaries, self.grouped)


def _cells(pair: PairedDifference) -> list[Cell]:
    """Print a difference, with as many digits as its standard error justifies."""
    difference, least = Figure(pair.difference, pair.interval), pair.detectable
    return [
        difference._replace(text=written(difference)),
        pair.p_text if pair.adjusted_p is None else Figure(pair.adjusted_p, text=pair.p_text),
        "" if least is None else Figure(least, text=number(least, pair.decimals)),
        pair.seen or "not tested",
    ]
