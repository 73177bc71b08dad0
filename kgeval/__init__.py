"""kgeval: how well a knowledge-graph embedding model predicts missing links, and how far the number may be trusted.

    data = kgeval.load_dataset("umls")
    scorer = kgeval.load_checkpoint("model.safetensors", dataset=data)
    table = kgeval.evaluate(scorer, data)
    kgeval.summarize(table, ["mrr", "hits@10"])["mrr"]

Everything, the public submodules ``kgeval.analysis``, ``kgeval.corruption``, ``kgeval.metrics``, ``kgeval.pykeen`` and
``kgeval.tasks`` too, is imported on first use, so that ``import kgeval`` itself costs nothing. A new public name is an
import below ``if TYPE_CHECKING``, where ``on_first_use`` finds it.
"""

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval import corruption as corruption
    from kgeval import errors as errors
    from kgeval import tasks as tasks
    from kgeval.analysis.answer_sets.answers import answers as answers
    from kgeval.analysis.comparison.compare import compare as compare
    from kgeval.analysis.slices.annotation import annotate as annotate
    from kgeval.analysis.slices.slice import Slice as Slice
    from kgeval.base.errors import KgevalError as KgevalError
    from kgeval.data.dataset import Dataset as Dataset
    from kgeval.data.layouts.converted import save_dataset as save_dataset
    from kgeval.data.loading import load_dataset as load_dataset
    from kgeval.data.triples import Triples as Triples
    from kgeval.data.vocabulary import Vocabulary as Vocabulary
    from kgeval.metrics.intervals.estimate import Estimate as Estimate
    from kgeval.metrics.labels.scored_labels import ScoredLabels as ScoredLabels
    from kgeval.metrics.metric import Metric as Metric
    from kgeval.metrics.ranks.ties import TiePolicy as TiePolicy
    from kgeval.metrics.summarize import summarize as summarize
    from kgeval.metrics.summary import Summary as Summary
    from kgeval.models.adapters.array_scorers import DualEncoder as DualEncoder
    from kgeval.models.adapters.array_scorers import ScoreTable as ScoreTable
    from kgeval.models.adapters.functions import CallableScorer as CallableScorer
    from kgeval.models.adapters.functions import QueryScorer as QueryScorer
    from kgeval.models.baselines import Baseline as Baseline
    from kgeval.models.checkpoints import load_checkpoint as load_checkpoint
    from kgeval.models.checkpoints.readers import Reader as Reader
    from kgeval.models.checkpoints.readers.native import save_checkpoint as save_checkpoint
    from kgeval.models.family import Family as Family
    from kgeval.models.scorer import Scorer as Scorer
    from kgeval.models.scorer import VectorScorer as VectorScorer
    from kgeval.ranking.corruption.export import generate_negatives as generate_negatives
    from kgeval.ranking.corruption.generator import CorruptionGenerator as CorruptionGenerator
    from kgeval.ranking.count import count as count
    from kgeval.ranking.evaluate import evaluate as evaluate
    from kgeval.ranking.import_ranks import load_ranks as load_ranks
    from kgeval.ranking.predictions.predict import predict as predict
    from kgeval.ranking.predictions.prediction_table import PredictionTable as PredictionTable
    from kgeval.ranking.protocols.explain import explain as explain
    from kgeval.ranking.protocols.number_check import check_numbers as check_numbers
    from kgeval.ranking.protocols.ogb_eval import ogb_eval as ogb_eval
    from kgeval.ranking.protocols.protocol import Protocol as Protocol
    from kgeval.ranking.protocols.report import framework_metrics as framework_metrics
    from kgeval.ranking.rank_table import RankTable as RankTable
    from kgeval.ranking.recorder import Recorder as Recorder
    from kgeval.ranking.reranking import rerank as rerank
    from kgeval.ranking.tasks.classification import classify as classify
    from kgeval.reports.page import report as report
    from kgeval.reports.plots import plot_critical_difference as plot_critical_difference
    from kgeval.reports.plots import plot_distribution as plot_distribution
    from kgeval.reports.plots import plot_leaderboard as plot_leaderboard
    from kgeval.reports.plots import plot_relations as plot_relations
    from kgeval.reports.plots import plot_slices as plot_slices
    from kgeval.reports.plots import plot_times as plot_times

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = on_first_use(__name__, "analysis", "corruption", "errors", "metrics", "pykeen", "tasks")
