"""Names of label metrics: ``[micro.|macro.]name``; macro is the mean over the relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.labelled import LabelMetric, label_metrics


@dataclass(frozen=True)
class LabelMetricName:
    """A label metric, of all triples or averaged over relations."""

    name: str
    macro: bool = False

    @property
    def metric(self) -> LabelMetric:
        """The declaration of the metric."""
        return label_metrics()[self.name]

    def __str__(self) -> str:
        return f"macro.{self.name}" if self.macro else self.name


def parse_label_metrics(names: Sequence[str], *, confidences: bool) -> list[LabelMetricName]:
    """Read the names of metrics of truth values, or of confidences.

    Raises
    ------
    MetricError
        with all unknown names in one message, each with the nearest one

    Examples
    --------
    >>> [str(name) for name in parse_label_metrics(["micro.f1", "Macro.auc"], confidences=False)]
    ['f1', 'macro.roc_auc']
    """
    parsed, problems = [], []
    for text in names:
        try:
            parsed.append(_parse(text, confidences))
        except MetricError as error:
            problems.append(str(error))
    if problems:
        raise MetricError("\n".join(problems))
    return list(dict.fromkeys(parsed))


def _parse(text: str, confidences: bool) -> LabelMetricName:  # noqa: FBT001
    prefix, dot, name = text.strip().lower().rpartition(".")
    if dot and prefix not in ("micro", "macro"):
        raise MetricError(f"metric {text!r}: unknown average {prefix!r}. {did_you_mean(prefix, ('micro', 'macro'))}")
    spellings = {
        spelling: metric.name
        for metric in label_metrics().values()
        if metric.of_confidences == confidences
        for spelling in (metric.name, *metric.synonyms)
    }
    if name not in spellings:
        what = "confidences" if confidences else "triple classification"
        raise MetricError(f"unknown metric {text!r} of {what}. {did_you_mean(name, spellings)}")
    return LabelMetricName(spellings[name], prefix == "macro")
