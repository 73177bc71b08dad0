"""Names of label metrics: ``[micro.|macro.]name[@k]``; macro is the mean over the relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.metric import Metric, metrics
from kgeval.metrics.tables.names import as_name_list


@dataclass(frozen=True)
class LabelMetricName:
    """A label metric, of all triples or averaged over relations."""

    metric: Metric
    k: int = 0
    """the cut-off, 0 without one"""
    macro: bool = False

    def __str__(self) -> str:
        return f"{'macro.' if self.macro else ''}{self.metric.name}{f'@{self.k}' if self.k else ''}"

    def __call__(self, data: Any) -> float:
        """Compute the metric of some triples; a macro average is up to the caller."""
        return self.metric(data, k=self.k)


def parse_label_metrics(names: str | Sequence[str], *, confidences: bool) -> list[LabelMetricName]:
    """Read the names of metrics of truth values, or of confidences.

    Raises
    ------
    MetricError
        with all unknown names in one message, each with the nearest one

    Examples
    --------
    >>> [str(name) for name in parse_label_metrics(["micro.f1", "Macro.auc"], confidences=False)]
    ['f1', 'macro.roc_auc']
    >>> [str(name) for name in parse_label_metrics("rmse", confidences=True)]
    ['rmse']
    """
    parsed, problems = [], []
    for text in as_name_list(names):
        try:
            parsed.append(_parse(text, confidences))
        except MetricError as error:
            problems.append(str(error))
    if problems:
        raise MetricError("\n".join(problems))
    return list(dict.fromkeys(parsed))


def _parse(text: str, confidences: bool) -> LabelMetricName:  # noqa: FBT001
    stem, at, cutoff = text.strip().lower().partition("@")
    prefix, dot, name = stem.rpartition(".")
    if dot and prefix not in ("micro", "macro"):
        raise MetricError(f"metric {text!r}: unknown average {prefix!r}. {did_you_mean(prefix, ('micro', 'macro'))}")
    known = metrics("confidences" if confidences else "labels")
    for metric in known.values():
        if (k := metric.cutoff_in(name + at + cutoff)) is not None:
            return LabelMetricName(metric, k, prefix == "macro")
    what = "confidences" if confidences else "triple classification"
    spellings = (spelling for metric in known.values() for spelling in metric.spellings())
    near = did_you_mean(name, (spelling.replace("{k}", "10") for spelling in spellings))
    raise MetricError(f"unknown metric {text!r} of {what}. {near}")
