"""``--fail-under`` and ``--fail-over``: bounds on metrics; a command fails if a model misses one.

``mrr.low`` and ``mrr.high`` are the ends of the interval of the MRR. With ``--fail-if-worse``, ``kgeval compare`` fails
if a model is significantly worse than another (``refuse_worse``).

A command reads its options as thresholds before anything is ranked (``checked_thresholds``, ``thresholds_of``),
compares the results with them (``misses``), and shows the results before it fails (``refuse_missed``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgeval.base.errors import ConfigError, MetricError, RunError
from kgeval.metrics.kinds import KINDS, KindName
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import MetricName, parse, parse_all
from kgeval.metrics.rank_summary import refuse_absent_sides
from kgeval.metrics.summary import Summary

if TYPE_CHECKING:
    from kgeval.analysis.comparison.block import Block
    from kgeval.analysis.comparison.comparison import Comparison
    from kgeval.runs.config.run_config import RunConfig

UNDER, OVER = "--fail-under", "--fail-over"

ENDS = ("low", "high")
"""the ends of an interval"""

Bounds = Mapping[str, Mapping[str, float]]
"""by option, ``--fail-under`` or ``--fail-over``: the bound of each ``[model.]metric``"""


@dataclass(frozen=True)
class Threshold:
    """A lower or upper bound of a metric."""

    option: str
    """``--fail-under`` or ``--fail-over``"""
    model: str
    """the model that it is for; empty for all models but baselines"""
    metric: str
    """the name of the metric, perhaps with ``.low`` or ``.high`` for an end of its interval"""
    bound: float

    @property
    def parts(self) -> tuple[str, str]:
        """The metric, and ``low`` or ``high`` for an end of its interval."""
        name, _, end = self.metric.rpartition(".")
        return (name, end) if name and end in ENDS else (self.metric, "")

    def refuse_unfit(self, kind: KindName, metrics: Sequence[str] = (), sides: Sequence[str] = ()) -> None:
        """Refuse a metric that is unknown or of a side that is not ranked, and a bound that better values miss.

        ``metrics`` are the metrics of a task, by default the usual ones of its kind; ``sides`` are the ranked sides, if
        they are known.
        """
        try:
            increasing = _computed_metric(self.parts[0], kind, metrics).increasing
            if kind == "ranks" and sides:
                refuse_absent_sides([parse(self.parts[0])], sides)
        except MetricError as error:
            raise ConfigError(f"{self.option}: {error}") from error
        if increasing is (self.option == OVER):
            other, better = (UNDER, "higher") if self.option == OVER else (OVER, "lower")
            name = f"{self.model}.{self.metric}" if self.model else self.metric
            refusal = f"{self.option}: {self.metric} is better if {better}"
            raise ConfigError(f"{refusal}. Use {other} {name}={self.bound:g}.")

    def refuse_endless(self, intervals: object) -> None:
        """Refuse an end of an interval where there are no intervals."""
        if self.parts[1] and not intervals:
            what = f"{self.option} {self.metric}: it is an end of an interval, and no intervals are computed"
            raise ConfigError(f"{what}. Add --intervals triple.")

    def misses(self, summary: Summary) -> Iterator[str]:
        """Say how a model misses the bound, if it does; an undefined metric misses it."""
        try:
            name, end = self.parts
            value = getattr(summary.interval(name), end) if end else summary[name]
        except MetricError as error:
            yield str(error)
            return
        holds, side = (value >= self.bound, "below") if self.option == UNDER else (value <= self.bound, "above")
        if not holds:
            yield f"{self.metric} is {value!r}, {side} {self.bound!r}."


def thresholds_of(
    bounds: Bounds, models: Collection[str] = (), kinds: Sequence[KindName] = ("ranks",)
) -> tuple[Threshold, ...]:
    """Read thresholds, each of a metric or of a model and its metric; the name of a metric is never read as a model.

    ``kinds`` are the kinds of results that a metric may be of, such as ranks.

    >>> thresholds_of({"--fail-under": {"mrr": 0.3, "my.model.head.mrr": 0.4}}, ["my.model"])[1]
    Threshold(option='--fail-under', model='my.model', metric='head.mrr', bound=0.4)
    """
    return tuple(
        Threshold(option, *_split(option, name, models, kinds), bound)
        for option, of_option in bounds.items()
        for name, bound in of_option.items()
    )


def checked_thresholds(bounds: Bounds, configs: Sequence[RunConfig]) -> tuple[Threshold, ...]:
    """Read the thresholds of configurations that are to be run, and refuse those that fit none of their models."""
    models = [name for config in configs for name in config.jobs if name]
    thresholds = thresholds_of(bounds, models, [config.kind for config in configs])
    for config in configs:
        evaluation = config.evaluation
        sides = evaluation.sides if "sides" in evaluation.model_fields_set else ()  # else the model decides
        for threshold in thresholds:
            if threshold.model in {"", *config.jobs}:
                threshold.refuse_unfit(config.kind, config.metrics, sides)
                threshold.refuse_endless(config.intervals or evaluation.estimate)
    return thresholds


def _split(option: str, name: str, models: Collection[str], kinds: Sequence[KindName]) -> tuple[str, str]:
    for kind in kinds:
        try:
            parse(Threshold(option, "", name, 0).parts[0], kind)
        except MetricError as error:
            reason = error
        else:
            return "", name
    model = max((model for model in models if name.startswith(f"{model}.")), key=len, default="")
    if not model and models and "." in name:
        raise ConfigError(f"{option}: {reason} The models are {', '.join(models)}.") from reason
    return model, name.removeprefix(f"{model}.")


def _computed_metric(name: str, kind: KindName, metrics: Sequence[str]) -> Metric:
    if kind == "ranks":
        return parse(name).metric
    metric_name = parse(name, kind)
    if metric_name not in parse_all(metrics or KINDS[kind].metrics, kind):
        raise MetricError(f"{name} is not computed here. Add it to the metrics.")
    return metric_name.metric


@dataclass(frozen=True)
class Judged:
    """A model whose metrics are compared with thresholds."""

    name: str
    compute: Callable[[Sequence[str]], Summary]
    """names of metrics -> their values"""
    source: str = ""
    """the configuration of the model, if there are several"""
    is_baseline: bool = False
    """whether only thresholds with its name apply to it; if there are only baselines, all apply"""


def misses(thresholds: Sequence[Threshold], models: Sequence[Judged]) -> list[tuple[str, str]]:
    """Return the missed thresholds, as pairs of option and message."""
    learned = [model for model in models if not model.is_baseline] or models
    missed: list[tuple[str, str]] = []
    for model in models:
        own = [each for each in thresholds if each.model == model.name or (not each.model and model in learned)]
        if not own:
            continue
        summary = model.compute(metrics := [each.parts[0] for each in own])
        where = "".join(f"{part}: " for part in (model.source, model.name) if part)
        for each in own:
            each.refuse_unfit(summary.kind, metrics)
            missed += [(each.option, where + how) for how in each.misses(summary)]
    names = {"", *(model.name for model in models)}
    absent = [each for each in thresholds if each.model not in names]
    return missed + [(each.option, f"{each.model}: no run of it was finished.") for each in absent]


def refuse_worse(comparison: Comparison) -> None:
    """Let the command fail if the first model is significantly worse by the first metric than another, or not tested.

    Two models with the same value need no test. If the rows are grouped, a test in one of the groups is enough.
    """
    first, reference = comparison.models[0], comparison.options.reference
    metric = next((name for name in comparison.metrics if name.metric.increasing is not None), None)
    if metric is None:
        raise ConfigError("--fail-if-worse needs a metric that says which model is better, such as mrr.")
    of_tables = comparison.baselines if comparison.first.kind == "classification" else ()  # others are given runs
    rivals = [name for name in comparison.models if name not in {first, *of_tables}]
    if not rivals:
        raise RunError(f"--fail-if-worse: {first} is the only model: there is no other to compare it with.")
    others = rivals if reference in {None, first} else [reference]
    results = [(block, other, block.seen(metric, first, other)) for block in comparison.blocks for other in others]
    worse = [(block, other) for block, other, seen in results if seen == "worse"]
    untested = [(block, other) for block, other, seen in results if not seen and _differ(metric, first, block, other)]
    seen_in_a_group = comparison.by and any(seen for _, _, seen in results)
    if faulty := worse or ([] if seen_in_a_group else untested):
        how = "is significantly worse than" if worse else "was not tested against"
        faults = (f"{first} {how} {other} by {metric.column} on {block.title}." for block, other in faulty)
        raise RunError("\n  ".join(f"--fail-if-worse: {fault}" for fault in faults))


def _differ(metric: MetricName, model: str, block: Block, other: str) -> bool:
    value = block.value(model, metric).value
    return value is None or value != block.value(other, metric).value


def refuse_missed(missed: Sequence[tuple[str, str]]) -> None:
    """Let the command fail if there are missed thresholds."""
    options = " and ".join(dict.fromkeys(option for option, _ in missed))
    if len(missed) == 1:
        raise RunError(f"{options}: {missed[0][1]}")
    if missed:
        lines = [f"{options}: {len(missed)} metrics miss their bounds", *(how for _, how in missed)]
        raise RunError("\n  ".join(lines))
