"""What PyKEEN repeats and watches: replicates, experiments from files and callbacks end as with its own evaluator."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from click.testing import CliRunner
from pykeen.datasets import get_dataset
from pykeen.pipeline import pipeline
from pykeen.trackers import PythonResultTracker

from kgeval.cli import main
from tests.pykeen.test_pipelines import COMMON, EVALUATORS, search


def flat(nested, before=()):
    """Lay nested metrics out by the path to each."""
    if not isinstance(nested, dict):
        return {before: nested}
    return {path: value for key, part in nested.items() for path, value in flat(part, (*before, key)).items()}


def results_of(folder):
    """Read the metrics of the only replicate."""
    [file] = folder.rglob("replicate-00000/results.json")
    return flat(json.loads(file.read_text())["metrics"])


def assert_holds(ours, expected):
    assert len(expected) > 200
    for path, value in expected.items():
        assert ours[path] == pytest.approx(value, rel=1e-5, abs=1e-5), path


def test_the_best_pipeline_of_a_saved_search_is_replicated(tmp_path, monkeypatch):
    monkeypatch.setattr("pykeen.pipeline.api.random_non_negative_int", lambda: 7)  # replicates are seeded by chance
    found = {}
    for evaluator in EVALUATORS:
        result = search(evaluator, "mrr")
        result.save_to_directory(tmp_path / evaluator)
        saved = json.loads((tmp_path / evaluator / "best_pipeline" / "pipeline_config.json").read_text())
        assert saved["pipeline"]["evaluator"] == evaluator
        result.replicate_best_pipeline(directory=tmp_path / evaluator / "again", replicates=1)
        found[evaluator] = results_of(tmp_path / evaluator / "again")
    assert_holds(found["kgeval"], found["rankbased"])
    assert ("both", "expected", "map") in found["kgeval"]


def test_an_experiment_from_a_file_with_published_results(tmp_path):
    """PyKEEN brings the keys of the results block into its own form, and looks them up to compare."""
    found = {}
    for evaluator in EVALUATORS:
        content = {
            "metadata": {},
            "pipeline": {**COMMON, "evaluator": evaluator, "random_seed": 1},
            "results": {"best": {"mean_reciprocal_rank": 0.5, "hits_at_k": {"10": 0.6}}},
        }
        file, folder = tmp_path / f"{evaluator}.json", tmp_path / evaluator
        file.write_text(json.dumps(content))
        arguments = ["pykeen", "experiments", "run", str(file), "--keep-seed", "--directory", str(folder)]
        done = CliRunner().invoke(main, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        [compared] = folder.rglob("all_replicates_metrics.tsv")
        found[evaluator] = results_of(folder), pd.read_csv(compared, sep="\t")
    (expected, table), (ours, our_table) = (found[evaluator] for evaluator in EVALUATORS)
    assert_holds(ours, expected)
    names = ("hits_at_10", "inverse_harmonic_mean_rank")
    assert list(table.columns) == ["original", *(f"both.optimistic.{name}" for name in names)]
    pd.testing.assert_frame_equal(our_table, table, rtol=1e-6)


@pytest.mark.parametrize("callback", ["evaluation", "evaluation-loop"])
def test_callbacks_report_the_same_after_every_epoch(callback):
    graph, reported = get_dataset(dataset="umls"), {}
    known = [graph.training.mapped_triples]  # the loop takes no single tensor
    watched = {
        "evaluation": {"evaluation_triples": graph.validation.mapped_triples},
        "evaluation-loop": {"factory": graph.validation, "batch_size": 64, "num_workers": 0},
    }[callback]
    watched |= {"use_tqdm": False, "prefix": "watched", "additional_filter_triples": known}
    for evaluator in EVALUATORS:
        tracker = PythonResultTracker()
        callbacks = {"callbacks": callback, "callbacks_kwargs": {**watched, "evaluator": evaluator}}
        pipeline(
            **{**COMMON, "dataset": graph, "training_kwargs": {**COMMON["training_kwargs"], **callbacks}},
            result_tracker=tracker,
            evaluator=evaluator,
            random_seed=1,
        )
        reported[evaluator] = {
            (step, *path): value
            for step, metrics in tracker.metrics.items()
            for name, part in metrics.items()
            if name.startswith("watched")
            for path, value in flat(part, (name,)).items()
        }
    assert {path[0] for path in reported["rankbased"]} == {1, 2}
    assert_holds(reported["kgeval"], reported["rankbased"])
