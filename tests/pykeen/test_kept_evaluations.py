"""The runs that PyKEEN's pipelines keep: what they are of, and that they stand beside any other run."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
import yaml
from click.testing import CliRunner
from pykeen.datasets import dataset_resolver
from pykeen.datasets.base import UnpackedRemoteDataset
from pykeen.pipeline import pipeline
from pykeen.triples import TriplesFactory

import kgeval
from kgeval.base.errors import ConfigError, InputError
from kgeval.cli import main
from kgeval.pykeen import KGEvalEvaluator
from kgeval.runs.config.load import load_config
from kgeval.runs.stored import read_stored_document
from tests.pykeen.conftest import assert_same_ranks, assert_same_values, run, theirs


def trained(folder, model="TransE", seed=0, **data):
    return pipeline(
        **data,
        model=model,
        model_kwargs={"embedding_dim": 4},
        training_kwargs={"num_epochs": 1, "use_tqdm": False},
        evaluator="kgeval",
        evaluator_kwargs={"result_directory": str(folder)},
        evaluation_kwargs={"use_tqdm": False},
        random_seed=seed,
        device="cpu",
    )


def kgeval_command(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def results():
    return {}


@pytest.fixture(scope="module")
def place(tmp_path_factory, results):
    """Runs of pipelines and of a baseline, as in ``runs/nations/TransE/0``."""
    place = tmp_path_factory.mktemp("runs")
    for name, model, seed in (("TransE/0", "TransE", 0), ("TransE/1", "TransE", 1), ("DistMult", "DistMult", 0)):
        results[name] = trained(place / "nations" / name, model, seed, dataset="nations")
    out = place / "nations/popularity"
    assert kgeval_command("evaluate", "baseline:popularity", "--dataset", "nations", "--out", out)[0] == 0
    return place


def test_the_splits_of_a_pipeline_have_their_names(place, results, graph, known):
    ours = results["DistMult"]
    table, expected = ours.metric_results.table, kgeval.evaluate(ours.model, graph)
    kept = kgeval.RankTable.from_parquet(place / "nations/DistMult")
    assert table.provenance == expected.provenance == kept.provenance
    for name in ("head_label", "relation_label", "tail_label", "greater", "candidates"):
        np.testing.assert_array_equal(table.column(name), expected.column(name))
    metrics, ranks = theirs(ours.model, graph.testing.mapped_triples, additional_filter_triples=known)
    assert_same_ranks(table, ranks)
    assert_same_values(ours.metric_results, metrics)


OTHERS = torch.tensor([[0, 0, 1], [0, 0, 2]])


@pytest.mark.parametrize(
    ("ranked", "parts", "split", "names"),
    [
        ("validation", ["training"], "valid", ("train", "valid")),
        ("testing", ["training"], "test", ("train", "test")),
        ("testing", ["training", OTHERS, "validation"], "test", ("train", "valid", "test", "2 additional triples")),
        ("some", ["training", "validation"], "evaluated", ("train", "valid", "the evaluated triples")),
        ("testing", ["validation"], None, ("199 additional triples", "the evaluated triples")),
        ("testing", [], "test", ("test",)),
        ("some", [], None, ("the evaluated triples",)),
        ("twice", ["training"], "test", ("train", "test")),
    ],
)
def test_only_the_very_triples_of_a_split_have_its_name(model, graph, ranked, parts, split, names):
    triples = {name: factory.mapped_triples for name, factory in graph.factory_dict.items()}
    triples |= {"some": triples["testing"][:50], "twice": torch.cat([triples["testing"], triples["testing"][:3]])}
    filtered_by = [triples[part] if isinstance(part, str) else part for part in parts]
    _, table = run(model, triples[ranked], additional_filter_triples=filtered_by)
    assert (table.split, table.filter) == (split or "evaluated", names)
    assert table.dataset == ("nations" if split else "unknown")


def test_of_triples_without_a_name_only_what_is_known_is_told(tmp_path, graph):
    training = TriplesFactory.from_labeled_triples(graph.training.label_triples(graph.training.mapped_triples[::2]))
    rows = graph.testing.label_triples(graph.testing.mapped_triples)
    ids = {"entity_to_id": training.entity_to_id, "relation_to_id": training.relation_to_id}
    factories = {"training": training, "testing": TriplesFactory.from_labeled_triples(rows, **ids)}
    result = trained(tmp_path / "run", **factories)
    table = result.metric_results.table
    assert (table.dataset, table.split) == ("unknown", "evaluated")
    assert table.filter == ("796 additional triples", "the evaluated triples")
    assert "competed" not in kgeval.report(tmp_path / "run").html
    assert "dataset" not in yaml.safe_load((tmp_path / "run/config.yaml").read_text())
    train, test = (factory.mapped_triples for factory in factories.values())
    _, named = run(result.model, test, KGEvalEvaluator(dataset=factories), additional_filter_triples=train)
    assert (named.split, named.filter) == ("test", ("train", "test"))
    assert set(named.column("head_label")) <= set(training.entity_to_id)
    np.testing.assert_array_equal(named.column("greater"), table.column("greater"))


def test_a_dataset_of_which_a_part_was_downloaded_is_not_downloaded_further(tmp_path, monkeypatch, model, test, known):
    class Part(UnpackedRemoteDataset):
        made = False

        def __init__(self, **_):
            Part.made = True

    Part.__docdata__ = {"statistics": {"entities": 14, "relations": 55, "training": 1592}}  # as Nations
    (tmp_path / "part").mkdir()
    (tmp_path / "part/train.txt").touch()
    monkeypatch.setattr("pykeen.constants.PYKEEN_DATASETS", tmp_path)
    monkeypatch.setitem(dataset_resolver.lookup_dict, "part", Part)
    _, table = run(model, test, additional_filter_triples=known)
    assert (table.dataset, Part.made) == ("nations", False)


def test_a_dataset_that_is_not_the_one_is_refused(model, test, known):
    with pytest.raises(InputError, match="dataset umls: the first triples of the filter are no split of it"):
        run(model, test, KGEvalEvaluator(dataset="umls"), additional_filter_triples=known)
    with pytest.raises(InputError, match="Did you mean 'nations'"):
        KGEvalEvaluator(dataset="natoins")


def test_a_kept_run_tells_dataset_model_and_seed(place):
    folder = place / "nations/TransE/1"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["dataset"]["sha256"] == kgeval.load_dataset("nations").sha256()
    assert manifest["seeds"] == {"training": 1}
    assert manifest["model"]["live"] == "TransE"
    assert manifest["model"]["entity_shapes"] == [[4]]
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert config["dataset"] == {"name": "nations"}
    assert (config["evaluation"]["split"], config["evaluation"]["filter"]) == ("test", ["train", "valid", "test"])


def test_kept_runs_and_a_baseline_are_compared(place):
    """Two seeds of TransE are one model, too few for a test."""
    code, output = kgeval_command("compare", place / "nations", "-m", "mrr", "--json")
    told = json.loads(output[: output.rindex("}") + 1])
    assert code == 0
    assert {model["model"] for model in told["models"]} == {"DistMult", "TransE", "popularity"}
    assert {value["model"]: len(value["runs"]) for value in told["values"]}["TransE"] == 2
    assert all("at least 3" in pair["reason"] for pair in told["differences"]["pairs"])
    apart = [f"{name}={place / 'nations' / 'TransE' / name}" for name in "01"]
    code, output = kgeval_command("compare", *apart, "-m", "mrr", "--json")
    assert code == 0
    assert 0 < json.loads(output[: output.rindex("}") + 1])["differences"]["pairs"][0]["p"] <= 1


def test_the_page_of_kept_runs_says_nothing_false(place):
    page = kgeval.report(place / "nations").html
    assert "<title>2 models and 1 baseline on nations</title>" in page
    assert "competed" not in page
    assert len(re.findall("kgeval run ", page)) == 1  # the baseline's: a live model is not kept
    assert "TransE/0, TransE/1" in page


def test_what_needs_the_model_says_that_it_is_not_kept(place):
    for read in (read_stored_document, lambda run: load_config(run / "config.yaml")):
        with pytest.raises(ConfigError, match=r"made inside PyKEEN, and its model was not saved\. Save"):
            read(place / "nations/DistMult")
