"""The results on a dataset, or on a group of its triples: the scores of models, and which differences are seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgeval.analysis.comparison.model_order import order_of
from kgeval.analysis.comparison.paired_difference import PairedDifference
from kgeval.base.provenance import Provenance
from kgeval.base.tables.displayed import Brief
from kgeval.metrics.names import MetricName
from kgeval.metrics.summary import Value
from kgeval.ranking.corruption.generator import size_range


@dataclass(frozen=True, repr=False)
class Block(Brief):
    """The results on a dataset, or on one of its groups of triples."""

    dataset: str
    group: Mapping[str, Any]
    """the values that the rows have in common, by column; empty for all rows"""
    provenances: Sequence[Provenance]
    scores: Mapping[tuple[str, MetricName], Value]
    """by model and metric; without those of models that were not ranked on the dataset"""
    pairs: Sequence[PairedDifference] = ()
    remarks: Sequence[str] = ()

    def _brief(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        return " ".join([self.dataset, *map(str, self.group.values())])

    @property
    def triples(self) -> str:
        """How many triples were ranked, of models that differ the fewest and the most."""
        return size_range(np.array([one.triples for one in self.provenances]))

    def runs(self, model: str) -> int:
        return max((len(score.runs) for (name, _), score in self.scores.items() if name == model), default=0)

    def ranked(self, metric: MetricName) -> list[str]:
        """The models that have the metric, the best first."""
        sign = -1 if metric.metric.increasing else 1
        means = {model: score.value for (model, name), score in self.scores.items() if name == metric}
        known = {model: mean for model, mean in means.items() if mean is not None}
        return sorted(known, key=lambda model: sign * known[model])

    def seen(self, metric: MetricName, model: str, other: str) -> str:
        """The result of a test: ``better``, ``worse`` or ``none``; empty if nothing was tested."""
        for pair in self.pairs:
            if replace(pair.metric, side=metric.side) == metric and {pair.model, pair.other} == {model, other}:
                turned = {"better": "worse", "worse": "better"}
                return pair.seen if pair.model == model else turned.get(pair.seen, pair.seen)
        return ""

    def order(self, metric: MetricName) -> str:
        """Write the order of the models that the tests support; empty where nothing was tested."""
        models = self.ranked(metric)
        if not any(self.seen(metric, one, other) for one in models for other in models):
            return ""
        return order_of(models, lambda one, other: self.seen(metric, one, other))
