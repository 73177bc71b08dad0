"""Summaries: metrics of a table, of all its rows or group by group, with provenance and notes.

A ``Value`` is one number with its interval or the reason why it has none, a ``Group`` has all values of the same rows,
a ``Summary`` has all groups. ``kgeval.summarize`` returns one: a ``RankSummary`` or a ``LabelSummary``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from kgeval.base.errors import MetricError, counted, did_you_mean, first_few
from kgeval.base.tables.shown import Brief, Shown
from kgeval.base.tables.table import Ends, Figure, number
from kgeval.data.provenance import LabelProvenance, Provenance, subject_of
from kgeval.metrics.intervals.interval import FEWEST_DECIMALS, FEWEST_SEEDS, Interval, NoInterval, justified_decimals
from kgeval.metrics.kinds import KindName
from kgeval.metrics.metric import Metric, Undefined, or_reason
from kgeval.metrics.names import MetricName, parse
from kgeval.metrics.ranks.tie_statistics import TieStatistics

if TYPE_CHECKING:
    import pandas as pd

MODEL = "model"
"""the name that the model has in a summary, beside the baselines"""

Spread = Literal["sd", "seeds", "interval", "none"]
"""what follows ± a mean over seeds"""


@dataclass(frozen=True, repr=False)
class Summary(Shown, Mapping[str, float], ABC):
    """Metrics of a rank table, of labelled triples or of predicted confidences.

    It maps the names of metrics to the model's values on all rows: ``summary["mrr"]``, ``"mrr" in summary``,
    ``dict(summary)``. A summary of groups alone refuses ``dict(summary)``: ``summary.flat()`` has the groups' values.
    """

    provenance: Provenance | LabelProvenance
    """model, dataset, split and rules"""
    groups: tuple[Group, ...]
    """the group of all rows, if these are summarized, and the groups by columns; the model's, then each baseline's"""
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

    @property
    def records(self) -> tuple[Value, ...]:
        """All values, each with its dataset, its group, and its model or baseline."""
        dataset = self.provenance.dataset
        return tuple(
            value._replace(dataset=dataset, group=group.key, model=group.predictor)
            for group in self.groups
            for value in group.records.values()
        )

    def _brief(self) -> str:
        subject = subject_of(self.provenance.model, self.provenance.dataset)
        if self.by:
            groups = [group for group in self.groups if group.predictor == self.groups[0].predictor]
            return f"{subject}: {counted(len(groups), 'group')} by {', '.join(self.by)}"
        return f"{subject}: {first_few([f'{name} {number(self.get(str(name)), 3)}' for name in self.requested])}"

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

    def __contains__(self, name: object) -> bool:
        """Whether the model has this metric on all rows, and it is defined."""
        return self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (str(name) for name, value in self._group(MODEL, {}).values.items() if value is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True

    def get(self, name: Any, default: Any = None) -> Any:
        """Return a metric of the model on all rows, or ``default`` where there is none."""
        try:
            return self[name]
        except MetricError:
            return default

    def flat(self) -> dict[str, float]:
        """Return every defined number under one flat name, as experiment trackers take them.

        Before the name of the metric stand the baseline, and the values that the rows of a group have in common; the
        ends of an interval have ``.low`` and ``.high`` behind it: ``both.mrr``, ``both.mrr.low``,
        ``relation=likes/both.mrr``.
        """
        numbers: dict[str, float] = {}
        for record in self.records:
            baseline = [] if record.model == MODEL else [record.model]
            of_group = [f"{column}={key}" for column, key in record.group.items()]
            name = "/".join([*baseline, *of_group, str(record.metric)])
            ends = {f"{name}.{end}": getattr(record.interval, end, None) for end in ("low", "high")}
            numbers |= {key: value for key, value in {name: record.value, **ends}.items() if value is not None}
        return numbers

    def of(self, predictor: str, name: str | Metric, /, **key: Any) -> float:
        """Return a metric of the model or of a baseline: on all rows or, as in ``relation="likes"``, on a group.

        Raises
        ------
        MetricError
            if the summary has no such predictor, group or metric, or if the metric is undefined
        """
        spelled = str(getattr(name, "name", name))
        record = self._record(predictor, name, key)
        if record is None:
            known = map(str, self._group(predictor, key).records)
            raise MetricError(f"the summary has no metric {spelled!r}. {did_you_mean(spelled, known)}")
        if record.value is None:
            raise MetricError(f"{spelled} is undefined: {record.reason}.")
        return record.value

    def interval(self, name: str | Metric, /, **key: Any) -> Interval:
        """Return the interval of a metric of the model: on all rows or, as in ``relation="likes"``, on a group.

        Raises
        ------
        MetricError
            if there is none, with the reason
        """
        spelled = str(getattr(name, "name", name))
        record = self._record(MODEL, name, key)
        if record is not None and record.interval is not None:
            return record.interval
        if record is not None and record.value is not None and record.reason:
            raise MetricError(f"{spelled} has no interval: {record.reason}.")
        raise MetricError(f"the summary has no interval of {spelled!r}. Set intervals, as in intervals='triple'.")

    def _record(self, predictor: str, name: str | Metric, key: dict[str, Any]) -> Value | None:
        group = self._group(predictor, key)
        return next((group.records[one] for one in self._spellings(name, group) if one in group.records), None)

    def _group(self, predictor: str, key: dict[str, Any]) -> Group:
        predictors = {group.predictor: group for group in self.groups}
        if predictors and predictor not in predictors:
            raise MetricError(f"the summary has no predictor {predictor!r}. {did_you_mean(str(predictor), predictors)}")
        for group in self.groups:
            if (group.predictor, group.key) == (predictor, key):
                return group
        if not key:
            columns = ", ".join(self.by)
            raise MetricError(f"this summary is grouped by {columns}: use its .flat(), .groups or .to_frame().")
        raise MetricError(f"the summary has no group {key}.")

    def _spellings(self, name: str | Metric, group: Group) -> Sequence[MetricName]:
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
            for name, ends in ((name, group.intervals.get(name)) for name in names):  # empty where there is none
                row |= {f"{name}.{column}": getattr(ends, column, None) for column in ("low", "high", "units")}
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def heads(self) -> tuple[str, ...]:
        """The lines above the table: its provenance."""
        return self.provenance.heads


@dataclass(frozen=True, repr=False)
class Group(Brief):
    """The values of some rows of a table, of the model or of a baseline."""

    key: dict[str, Any]
    """the value of these rows in each column of ``by``; empty for all rows"""
    records: dict[MetricName, Value] = field(default_factory=dict)
    predictor: str = MODEL
    """the model, or a baseline"""
    ties: TieStatistics | None = None
    """the ties of the ranks, both sides together"""

    @property
    def values(self) -> dict[MetricName, float | None]:
        """The numbers; ``None`` where a metric is undefined."""
        return {name: record.value for name, record in self.records.items()}

    @property
    def intervals(self) -> dict[MetricName, Interval]:
        """The intervals of the metrics that have one."""
        return {name: record.interval for name, record in self.records.items() if record.interval is not None}

    @property
    def undefined(self) -> dict[str, str]:
        """Why metrics are undefined, by their names."""
        return {str(record.metric): record.reason for record in self._by_side if record.value is None}

    @property
    def no_interval(self) -> dict[str, str]:
        """Why metrics have no interval, by their names."""
        without = (record for record in self._by_side if record.value is not None and record.reason)
        return {str(record.metric): record.reason for record in without}

    @property
    def _by_side(self) -> list[Value]:
        sides = list(dict.fromkeys(name.side for name in self.records))
        return sorted(self.records.values(), key=lambda record: sides.index(record.metric.side))

    @property
    def left_out(self) -> dict[str, int]:
        """How many relations a mean over relations leaves out, because the metric is undefined in them."""
        return {str(name): record.left_out for name, record in self.records.items() if record.left_out}

    def _brief(self) -> str:
        key = ", ".join(f"{name} {value}" for name, value in self.key.items()) or "all rows"
        return f"{key}: {first_few([f'{name} {number(value, 3)}' for name, value in self.values.items()])}"


class Value(NamedTuple):
    """The value of a metric: of a model on some rows of a dataset, of one run or the mean over several runs."""

    metric: MetricName
    value: float | None = None
    """the number; ``None`` where the metric is undefined"""
    interval: Interval | None = None
    """the interval of the metric, resampling units; of several runs, resampling seeds and units"""
    reason: str = ""
    """why the metric is undefined, or else why an interval is missing"""
    dataset: str = ""
    group: Mapping[str, Any] = {}
    """the values that the rows have in common, by column; empty for all rows"""
    model: str = MODEL
    """the model, or a baseline"""
    runs: tuple[float, ...] = ()
    """the values of the runs, one for each seed, of which ``value`` is the mean; empty for a single run"""
    of_seeds: Interval | None = None
    """of several runs: the interval of the mean, resampling seeds and keeping the units"""
    left_out: int = 0
    """how many relations a mean over relations leaves out, because the metric is undefined in them"""

    @classmethod
    def computed(cls, metric: MetricName, compute: Callable[[], float]) -> Value:
        """Make the value that ``compute`` returns, or one with the reason why it is undefined."""
        value = or_reason(compute)
        return cls(metric, reason=str(value)) if isinstance(value, Undefined) else cls(metric, value)

    def with_interval(self, made: Interval | NoInterval) -> Value:
        """Return the value with its interval, or with the reason why there is none."""
        return self._replace(interval=made) if isinstance(made, Interval) else self._replace(reason=str(made))

    def as_one_run(self) -> Value:
        """Return the value as the mean over one run."""
        return self if self.value is None else self._replace(runs=(self.value,))

    @property
    def standard_deviation(self) -> float | None:
        """The standard deviation over R runs, √(Σ (value − mean)² / (R − 1)); ``None`` for fewer than three."""
        return float(np.std(self.runs, ddof=1)) if len(self.runs) >= FEWEST_SEEDS else None

    def ends(self, spread: Spread) -> Ends | None:
        """Return the interval around the value that stands after ±; ``None`` if there is none."""
        if spread != "sd":
            return {"seeds": self.of_seeds, "interval": self.interval}.get(spread)
        deviation = self.standard_deviation
        if self.value is None or deviation is None:
            return None
        return Around(self.value - deviation, self.value + deviation, justified_decimals(deviation) if deviation else 3)

    def to_dict(self) -> dict[str, Any]:
        """Return a record of plain data, without the parts that are missing."""
        further = {
            "sd": self.standard_deviation,
            "runs": list(self.runs),
            "interval": self.interval and self.interval.to_dict(),
            "seeds": self.of_seeds and self.of_seeds.to_dict(),
            "reason": self.reason,
        }
        return {
            "dataset": self.dataset,
            **({"group": dict(self.group)} if self.group else {}),
            "model": self.model,
            "metric": self.metric.column,
            "value": self.value,
            **{name: part for name, part in further.items() if part not in (None, [], "")},
        }

    @property
    def figure(self) -> Figure:
        """The number with its interval, and with the digits that the interval justifies."""
        without = self.value is not None and self.reason
        return Figure(self.value, self.interval, FEWEST_DECIMALS if without else None)


class Around(NamedTuple):
    """A number less and plus its standard deviation."""

    low: float
    high: float
    decimals: int
