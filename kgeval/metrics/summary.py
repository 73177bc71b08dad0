"""Summaries: metrics of a table, of all its rows or group by group, with provenance and notes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError, counted, did_you_mean, first_few
from kgeval.base.provenance import LabelProvenance, Provenance, subject_of
from kgeval.base.tables.shown import Brief, Shown
from kgeval.base.tables.table import Figure, number
from kgeval.metrics.intervals.interval import FEWEST_DECIMALS, Interval, NoInterval
from kgeval.metrics.kinds import KindName
from kgeval.metrics.metric import Metric, Undefined, or_reason
from kgeval.metrics.names import MetricName, parse
from kgeval.metrics.ranks.ranks import Ranks

if TYPE_CHECKING:
    import pandas as pd


SERIOUS = 0.01
"""the gap of the MRR above which a note says what the tie policy changes"""


@dataclass(frozen=True)
class TieStatistics:
    """The ties of some ranks."""

    ranks: int
    tied: int
    """how many of them tie with a candidate"""
    largest: int
    """the most candidates that one answer ties with"""
    optimistic_mrr: float | None
    """``None``, like the pessimistic one, if there are no ranks"""
    pessimistic_mrr: float | None

    @property
    def gap(self) -> float | None:
        """How far the tie policy alone moves the MRR; ``None`` if there are no ranks."""
        if self.optimistic_mrr is None or self.pessimistic_mrr is None:
            return None
        return self.optimistic_mrr - self.pessimistic_mrr

    @property
    def serious(self) -> bool:
        return self.gap is not None and self.gap > SERIOUS

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``tie_diagnosis`` in ``metrics.json``."""
        return {**asdict(self), "mrr_gap": self.gap}

    def __str__(self) -> str:
        if not self.ranks:
            return "there are no ranks."
        return (
            f"{tied_answers(self.tied, self.ranks, self.largest)}. "
            f"The tie policy alone moves the MRR from {self.pessimistic_mrr:.6f} (pessimistic) to "
            f"{self.optimistic_mrr:.6f} (optimistic)."
        )


def tied_answers(tied: int, ranks: int, largest: int) -> str:
    """Count the answers that tie.

    >>> tied_answers(1, 12, 1), tied_answers(4, 1200, 2)
    ('1 of 12 answers ties with 1 candidate', '4 of 1,200 answers tie, each with up to 2 candidates')
    """
    tie = "ties with" if tied == 1 else "tie, each with up to"
    return f"{tied:,} of {counted(ranks, 'answer')} {tie} {counted(largest, 'candidate')}"


def diagnose(ranks: Ranks, starts: IntArray) -> list[TieStatistics]:
    columns = (
        np.diff(np.r_[starts, len(ranks)]),
        np.add.reduceat(ranks.tied > 0, starts, dtype=np.int64),
        np.maximum.reduceat(ranks.tied, starts),
        *(ranks.means(1 / rank, starts) for rank in (ranks.optimistic, ranks.pessimistic)),
    )
    return [TieStatistics(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


MODEL = "model"
"""the name of the model beside the baselines"""


@dataclass(frozen=True, repr=False)
class Group(Brief):
    """The metrics of some rows of a table, of the model or of a baseline."""

    key: dict[str, Any]
    """the value of these rows in each column of ``by``; empty for all rows"""
    values: dict[MetricName, float | None] = field(default_factory=dict)
    """``None`` where a metric is undefined"""
    undefined: dict[str, str] = field(default_factory=dict)
    """why, by the metric's name"""
    predictor: str = MODEL
    """the model, or a baseline"""
    ties: TieStatistics | None = None
    """the ties of the ranks, both sides together"""
    left_out: dict[str, int] = field(default_factory=dict)
    """how many relations a mean over relations leaves out, because the metric is undefined in them"""
    intervals: dict[MetricName, Interval] = field(default_factory=dict)
    """the intervals of the metrics, if they were requested"""
    no_interval: dict[str, str] = field(default_factory=dict)
    """why a metric has none, by its name"""

    def _brief(self) -> str:
        key = ", ".join(f"{name} {value}" for name, value in self.key.items()) or "all rows"
        return f"{key}: {first_few([f'{name} {number(value, 3)}' for name, value in self.values.items()])}"

    def add(self, name: MetricName, compute: Callable[[], float]) -> float | None:
        value = or_reason(compute)
        if isinstance(value, Undefined):
            self.undefined[str(name)] = str(value)
        self.values[name] = None if isinstance(value, Undefined) else value
        return self.values[name]

    def add_interval(self, name: MetricName, interval: Interval | NoInterval) -> None:
        if isinstance(interval, Interval):
            self.intervals[name] = interval
        else:
            self.no_interval[str(name)] = str(interval)

    def figure(self, name: MetricName) -> Figure:
        """Return a metric with its interval, and with the digits that the interval justifies."""
        digits = FEWEST_DECIMALS if str(name) in self.no_interval else None
        return Figure(self.values[name], self.intervals.get(name), digits)


@dataclass(frozen=True, repr=False)
class Summary(Shown, ABC):
    """Metrics of a rank table, of labelled triples or of predicted confidences."""

    provenance: Provenance | LabelProvenance
    """model, dataset, split and rules"""
    groups: tuple[Group, ...]
    by: tuple[str, ...] = ()
    """the columns whose values make the groups"""
    requested: tuple[MetricName, ...] = ()
    """the metrics; a metric of ranks without a side has a value for each side of the table"""
    table_notes: tuple[str, ...] = ()
    """the notes of the table"""
    kind: KindName = "ranks"
    """the kind of the table"""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Notes on the table, and why metrics are undefined; the most important first."""

    def _brief(self) -> str:
        subject = subject_of(self.provenance.model, self.provenance.dataset)
        if self.by:
            groups = counted(
                len([group for group in self.groups if group.predictor == self.groups[0].predictor]), "group"
            )
            return f"{subject}: {groups} by {', '.join(self.by)}"
        return f"{subject}: {first_few([f'{name} {self.brief_value(name)}' for name in self.requested])}"

    def brief_value(self, name: MetricName) -> str:
        """Write a requested metric of the model on all rows with three decimals."""
        values = self.groups[0].values
        value = next((values[spelled] for spelled in self._spellings(str(name)) if spelled in values), None)
        return number(value, 3)

    @property
    def tie_notes(self) -> tuple[str, ...]:
        """The notes on how much the tie policy changes the metrics."""
        return ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""

    def __getitem__(self, name: str | Metric) -> float:
        """Return a metric of the model on all rows, by any of its names."""
        return self.of(MODEL, name)

    def of(self, predictor: str, name: str | Metric, /, **key: Any) -> float:
        """Return a metric of the model or of a baseline: on all rows or, as in ``relation="likes"``, on a group.

        Raises
        ------
        MetricError
            if the summary has no such predictor, group or metric, or if it is undefined
        """
        group, spelled = self._group(predictor, key), str(getattr(name, "name", name))
        for spelling in self._spellings(name):
            if spelling in group.values:
                if (value := group.values[spelling]) is None:
                    raise MetricError(f"{spelled} is undefined: {group.undefined[str(spelling)]}.")
                return value
        raise MetricError(f"the summary has no metric {spelled!r}. {did_you_mean(spelled, map(str, group.values))}")

    def interval(self, name: str | Metric, /, **key: Any) -> Interval:
        """Return the interval of a metric of the model: on all rows or, as in ``relation="likes"``, on a group.

        Raises
        ------
        MetricError
            if there is none, with the reason
        """
        group, spelled = self._group(MODEL, key), str(getattr(name, "name", name))
        for spelling in self._spellings(name):
            if spelling in group.intervals:
                return group.intervals[spelling]
            if reason := group.no_interval.get(str(spelling)):
                raise MetricError(f"{spelled} has no interval: {reason}.")
        raise MetricError(f"the summary has no interval of {spelled!r}. Set intervals, as in intervals='triple'.")

    def _group(self, predictor: str, key: dict[str, Any]) -> Group:
        predictors = {group.predictor: group for group in self.groups}
        if predictors and predictor not in predictors:
            raise MetricError(f"the summary has no predictor {predictor!r}. {did_you_mean(str(predictor), predictors)}")
        for group in self.groups:
            if (group.predictor, group.key) == (predictor, key):
                return group
        if not key:
            raise MetricError(f"this summary is grouped by {', '.join(self.by)}: use its .groups or .to_frame().")
        raise MetricError(f"the summary has no group {key}.")

    def _spellings(self, name: str | Metric) -> Sequence[MetricName]:
        """List the names that a metric may have in a group."""
        return (parse(name, self.kind, also=[one.metric for one in self.requested]),)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group (and baseline), one column per metric (and side).

        A metric with intervals has two further columns, as ``both.mrr.low`` and ``both.mrr.high``, and one with the
        number of units, ``both.mrr.units``.
        """
        import pandas as pd

        names = dict.fromkeys(name for group in self.groups for name in group.intervals)
        rows = []
        for group in self.groups:
            row: dict[str, Any] = {} if self.kind == "ranks" else {"predictor": group.predictor}
            row |= group.key | {str(name): value for name, value in group.values.items()}
            for name in names:  # the cells of a group without an interval are empty
                ends = group.intervals.get(name)
                row |= {f"{name}.{column}": getattr(ends, column, None) for column in ("low", "high", "units")}
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def heads(self) -> tuple[str, ...]:
        """The lines above the table: its provenance."""
        return self.provenance.heads


def notes_with_models(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Collect the notes of models, each once with their names; a note that all models have gets no names.

    >>> notes_with_models({"a": ["3 triples are repeated."], "b": ["3 triples are repeated.", "4 ranks tie."]})
    ['3 triples are repeated.', 'b: 4 ranks tie.']
    """
    models: dict[str, list[str]] = {}
    for model, of_model in notes.items():
        for note in dict.fromkeys(of_model):
            models.setdefault(note, []).append(model)
    return [
        note if len(names) == len(notes) and (len(names) > 1 or not names[0]) else f"{', '.join(names)}: {note}"
        for note, names in models.items()
    ]
