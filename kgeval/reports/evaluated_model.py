"""An evaluated model: its ranks, and what its run wrote down of how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgeval.metrics.ranks.ties import tie_policy
from kgeval.protocols.protocol import protocol_of
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import RankTable


@dataclass(frozen=True, eq=False)
class EvaluatedModel:
    """What a page knows of one model."""

    name: str
    table: RankTable
    config: Mapping[str, Any] = field(default_factory=dict)
    """the configuration of its run; empty where only ranks are there"""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """the manifest of its run; likewise"""
    folder: Path | None = None
    """its run directory"""
    predictions: PredictionTable | None = None
    """the best answers of each query, where its run kept them"""
    remarks: tuple[str, ...] = ()
    """what is no longer as its run wrote it"""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """the metrics of its run, as it wrote them"""
    seeds: tuple[EvaluatedModel, ...] = ()
    """where it was trained with several seeds, the run of each; all else is of the run in the middle"""

    @property
    def runs(self) -> tuple[EvaluatedModel, ...]:
        """The run of each seed, or the one run."""
        return self.seeds or (self,)

    @property
    def baseline(self) -> bool:
        """Whether it learns nothing, and stands in grey beside the others."""
        model = self.config.get("model")
        return isinstance(model, Mapping) and "baseline" in model

    @property
    def ties(self) -> str:
        """The tie policy of its run, or by default of its protocol."""
        return str(self.config.get("ties") or tie_policy(protocol_of(self.table).ties).name)

    @property
    def fingerprint(self) -> str | None:
        """The SHA-256 of the dataset."""
        dataset = self.manifest.get("dataset")
        return dataset.get("sha256") if isinstance(dataset, Mapping) else None
