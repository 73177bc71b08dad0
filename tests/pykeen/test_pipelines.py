"""One word changed: pipelines, early stopping and hyper-parameter searches end as with PyKEEN's own evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from pykeen.datasets import UMLS
from pykeen.evaluation import RankBasedEvaluator
from pykeen.hpo import hpo_pipeline
from pykeen.models import DistMult
from pykeen.pipeline import pipeline

from kgeval.base.errors import MetricError
from kgeval.metrics.intervals.sampling import STRATUM
from kgeval.pykeen import KGEvalEvaluator
from tests.pykeen.conftest import assert_same_values

EVALUATORS = ("rankbased", "kgeval")

COMMON = {
    "dataset": "umls",
    "model": "ComplEx",
    "model_kwargs": {"embedding_dim": 8},
    "training_loop": "lcwa",
    "optimizer_kwargs": {"lr": 0.05},
    "training_kwargs": {"num_epochs": 2, "batch_size": 512, "use_tqdm": False},
    "evaluation_kwargs": {"use_tqdm": False},
    "device": "cpu",
}


def stopped(evaluator, **options):
    return pipeline(
        **{**COMMON, "training_kwargs": {**COMMON["training_kwargs"], "num_epochs": 12}},
        evaluator=evaluator,
        stopper="early",
        stopper_kwargs={"frequency": 1, "patience": 2, "relative_delta": 0.05, "metric": "mrr"},
        random_seed=1,
        **options,
    )


def test_early_stopping_ends_at_the_same_epoch_with_the_same_metrics():
    expected, ours = (stopped(evaluator) for evaluator in EVALUATORS)
    assert ours.stopper.stopped
    assert ours.stopper.best_epoch == expected.stopper.best_epoch
    assert ours.stopper.results == pytest.approx(expected.stopper.results, rel=1e-6)
    assert_same_values(ours.metric_results, expected.metric_results)


@pytest.mark.parametrize("targets", [("tail",), ("head",), ("head", "tail")])
def test_the_stopper_of_the_next_release_says_the_targets(targets):
    """From PyKEEN's pull request 1588 on, the stopper passes the pipeline's ``evaluation_kwargs``, with the targets."""
    data = UMLS()
    model = DistMult(triples_factory=data.training, embedding_dim=8, random_seed=0)
    found = []
    for kind in (RankBasedEvaluator, KGEvalEvaluator):
        evaluator = kind()
        results = evaluator.evaluate(
            model=model,
            additional_filter_triples=data.training.mapped_triples,
            mapped_triples=data.validation.mapped_triples,
            use_tqdm=False,
            tqdm_kwargs={},
            batch_size=None,
            slice_size=None,
            do_time_consuming_checks=True,
            targets=targets,
        )
        assert {"batch_size", "slice_size"} <= {*dir(evaluator)}  # the stopper keeps both
        found.append(results)
    expected, ours = found
    assert_same_values(ours, expected)
    assert ours.get_metric("mrr") == pytest.approx(expected.get_metric("mrr"), rel=1e-6)
    assert set(ours.table.column("side")) == set(targets)


def test_early_stopping_on_a_sample_on_which_pykeens_sampled_evaluator_fails():
    result = stopped("kgeval", evaluator_kwargs={"corruption": {"kind": "uniform", "count": 20}})
    assert result.stopper.stopped
    assert result.metric_results.get_metric("mrr") > result.metric_results.get_metric("hits@1")


def test_early_stopping_on_an_estimate(caplog):
    caplog.set_level("INFO", "kgeval.pykeen.evaluator")
    sample = {"triples": 150, "first": 100}
    result = stopped("kgeval", evaluator_kwargs={"estimate": sample})
    said = [record.message for record in caplog.records if record.message.startswith("estimated from")]
    assert len(said) == len(result.stopper.results) + 1
    assert {text[:33] for text in said[:-1]} == {"estimated from 150 of 652 triples"}
    table = result.metric_results.table
    assert table.sampling.num_ranked == table.num_triples == 150
    reciprocal = 1 / (1 + table.column("greater") + table.column("tied") / 2)
    strata, sizes = table.column(STRATUM), np.array(table.sampling.sizes)
    means = np.array([reciprocal[strata == stratum].mean() for stratum in range(len(sizes))])
    expected = means @ sizes / sizes.sum()
    assert result.metric_results.get_metric("mrr") == pytest.approx(expected, rel=1e-12)
    assert abs(expected - reciprocal.mean()) > 1e-9  # the strata weigh
    with pytest.raises(MetricError, match="cannot be estimated from a sample"):
        result.metric_results.get_metric("median")


def search(evaluator, metric="both.realistic.inverse_harmonic_mean_rank"):
    return hpo_pipeline(
        **{**COMMON, "model_kwargs": None},
        model_kwargs_ranges={"embedding_dim": {"type": int, "low": 4, "high": 64, "step": 4}},
        evaluator=evaluator,
        n_trials=2,
        sampler="random",
        sampler_kwargs={"seed": 3},
        metric=metric,
        save_model_directory=None,
    )


def test_a_search_ends_with_the_same_values(monkeypatch):
    monkeypatch.setattr("pykeen.pipeline.api.random_non_negative_int", lambda: 7)  # trials are seeded by chance
    found = [search(evaluator) for evaluator in EVALUATORS]
    expected, ours = ([trial.value for trial in result.study.trials] for result in found)
    assert ours == pytest.approx(expected, rel=1e-6)
    assert len(set(ours)) == 2


def test_a_search_by_a_metric_of_kgeval():
    assert 0 < search("kgeval", "macro.mrr").study.best_value <= 1
