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
    from kgeval.corruption.negatives import generate_negatives as generate_negatives
    from kgeval.errors import KgevalError as KgevalError
    from kgeval.graph.dataset import Dataset as Dataset
    from kgeval.graph.layouts import load_dataset as load_dataset
    from kgeval.graph.triples import Triples as Triples
    from kgeval.graph.vocabulary import Vocabulary as Vocabulary
    from kgeval.metrics.comparison import compare as compare
    from kgeval.metrics.confidence_summary import summarize_confidences as summarize_confidences
    from kgeval.metrics.label_summary import summarize_labels as summarize_labels
    from kgeval.metrics.labelled import ScoredLabels as ScoredLabels
    from kgeval.metrics.summary import summarize as summarize
    from kgeval.protocols.evaluate import evaluate as evaluate
    from kgeval.protocols.explain import explain as explain
    from kgeval.protocols.printout import framework_metrics as framework_metrics
    from kgeval.ranking.elsewhere import load_ranks as load_ranks
    from kgeval.ranking.evaluation import Evaluation as Evaluation
    from kgeval.ranking.table import RankTable as RankTable
    from kgeval.scorers.adapters import CallableScorer as CallableScorer
    from kgeval.scorers.adapters import ScoreTable as ScoreTable
    from kgeval.scorers.base import Scorer as Scorer
    from kgeval.scorers.base import VectorScorer as VectorScorer
    from kgeval.scorers.live import PyKEENScorer as PyKEENScorer
    from kgeval.scoring.classification import Classification as Classification
    from kgeval.scoring.classification import classify as classify
    from kgeval.scoring.confidences import Confidences as Confidences
    from kgeval.scoring.negatives import GeneratedNegatives as GeneratedNegatives
    from kgeval.scoring.negatives import NegativesFromFiles as NegativesFromFiles
    from kgeval.scoring.table import LabelTable as LabelTable

__version__ = "0.1.0"

_HOMES = {
    "AllEntities": "corruption",
    "CallableScorer": "scorers.adapters",
    "Classification": "scoring.classification",
    "Confidences": "scoring.confidences",
    "Dataset": "graph.dataset",
    "Degree": "corruption",
    "Evaluation": "ranking.evaluation",
    "FromFile": "corruption",
    "KgevalError": "errors",
    "LabelTable": "scoring.table",
    "MadeNegatives": "scoring.negatives",
    "NegativeFiles": "scoring.negatives",
    "OGBNegatives": "corruption",
    "Popular": "corruption",
    "PyKEENScorer": "scorers.live",
    "RankTable": "ranking.table",
    "ScoreTable": "scorers.adapters",
    "ScoredLabels": "metrics.labelled",
    "Scorer": "scorers.base",
    "Triples": "graph.triples",
    "Typed": "corruption",
    "Uniform": "corruption",
    "VectorScorer": "scorers.base",
    "Vocabulary": "graph.vocabulary",
    "classify": "scoring.classification",
    "compare": "metrics.comparison",
    "evaluate": "protocols.evaluate",
    "explain": "protocols.explain",
    "load_checkpoint": "checkpoints",
    "load_dataset": "graph.layouts",
    "load_ranks": "ranking.elsewhere",
    "negatives": "corruption.negatives",
    "printout": "protocols.printout",
    "save_checkpoint": "checkpoints.native",
    "summarize": "metrics.summary",
    "summarize_confidences": "metrics.confidence_summary",
    "summarize_labels": "metrics.label_summary",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kgeval' has no attribute {name!r}")
    return getattr(importlib.import_module(f"kgeval.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
