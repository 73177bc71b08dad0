"""kgeval: how well a knowledge-graph embedding model predicts missing links, and how far the number may be trusted.

    data = kgeval.load_dataset("umls")
    scorer = kgeval.load_checkpoint("model.safetensors", dataset=data)
    table = kgeval.evaluate(scorer, data)
    kgeval.summarize(table, ["mrr", "hits@10"])["mrr"]

Everything is imported on first use, so that ``import kgeval`` itself costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgeval.checkpoints import load_checkpoint as load_checkpoint
    from kgeval.checkpoints.native import save_checkpoint as save_checkpoint
    from kgeval.corruption import AllEntities as AllEntities
    from kgeval.corruption import DegreeWeighted as DegreeWeighted
    from kgeval.corruption import FileNegatives as FileNegatives
    from kgeval.corruption import OGBNegatives as OGBNegatives
    from kgeval.corruption import PopularityWeighted as PopularityWeighted
    from kgeval.corruption import TypeConstrained as TypeConstrained
    from kgeval.corruption import Uniform as Uniform
    from kgeval.corruption.export import generate_negatives as generate_negatives
    from kgeval.data.dataset import Dataset as Dataset
    from kgeval.data.loading import load_dataset as load_dataset
    from kgeval.data.triples import Triples as Triples
    from kgeval.data.vocabulary import Vocabulary as Vocabulary
    from kgeval.errors import KgevalError as KgevalError
    from kgeval.metrics.confidences.confidence_summary import summarize_confidences as summarize_confidences
    from kgeval.metrics.labels.label_summary import summarize_labels as summarize_labels
    from kgeval.metrics.labels.scored_labels import ScoredLabels as ScoredLabels
    from kgeval.metrics.tables.comparison import compare as compare
    from kgeval.metrics.tables.summary import summarize as summarize
    from kgeval.protocols.evaluate import evaluate as evaluate
    from kgeval.protocols.explain import explain as explain
    from kgeval.protocols.report import framework_metrics as framework_metrics
    from kgeval.ranking.evaluation import Evaluation as Evaluation
    from kgeval.ranking.import_ranks import load_ranks as load_ranks
    from kgeval.ranking.rank_table import RankTable as RankTable
    from kgeval.scorers.adapters.array_scorers import CallableScorer as CallableScorer
    from kgeval.scorers.adapters.array_scorers import ScoreTable as ScoreTable
    from kgeval.scorers.adapters.live_model import PyKEENScorer as PyKEENScorer
    from kgeval.scorers.scorer import Scorer as Scorer
    from kgeval.scorers.scorer import VectorScorer as VectorScorer
    from kgeval.tasks.classification import Classification as Classification
    from kgeval.tasks.classification import classify as classify
    from kgeval.tasks.confidences import Confidences as Confidences
    from kgeval.tasks.label_table import LabelTable as LabelTable
    from kgeval.tasks.negatives import GeneratedNegatives as GeneratedNegatives
    from kgeval.tasks.negatives import NegativesFromFiles as NegativesFromFiles

__version__ = "0.1.0"

_HOMES = {
    "AllEntities": "corruption",
    "CallableScorer": "scorers.adapters.array_scorers",
    "Classification": "tasks.classification",
    "Confidences": "tasks.confidences",
    "Dataset": "data.dataset",
    "DegreeWeighted": "corruption",
    "Evaluation": "ranking.evaluation",
    "FileNegatives": "corruption",
    "GeneratedNegatives": "tasks.negatives",
    "KgevalError": "errors",
    "LabelTable": "tasks.label_table",
    "NegativesFromFiles": "tasks.negatives",
    "OGBNegatives": "corruption",
    "PopularityWeighted": "corruption",
    "PyKEENScorer": "scorers.adapters.live_model",
    "RankTable": "ranking.rank_table",
    "ScoreTable": "scorers.adapters.array_scorers",
    "ScoredLabels": "metrics.labels.scored_labels",
    "Scorer": "scorers.scorer",
    "Triples": "data.triples",
    "TypeConstrained": "corruption",
    "Uniform": "corruption",
    "VectorScorer": "scorers.scorer",
    "Vocabulary": "data.vocabulary",
    "classify": "tasks.classification",
    "compare": "metrics.tables.comparison",
    "evaluate": "protocols.evaluate",
    "explain": "protocols.explain",
    "framework_metrics": "protocols.report",
    "generate_negatives": "corruption.export",
    "load_checkpoint": "checkpoints",
    "load_dataset": "data.loading",
    "load_ranks": "ranking.import_ranks",
    "save_checkpoint": "checkpoints.native",
    "summarize": "metrics.tables.summary",
    "summarize_confidences": "metrics.confidences.confidence_summary",
    "summarize_labels": "metrics.labels.label_summary",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kgeval' has no attribute {name!r}")
    return getattr(importlib.import_module(f"kgeval.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
