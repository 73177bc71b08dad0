"""Runs that train first: what is evaluated is the saved checkpoint."""

from __future__ import annotations

import errno
import gc
import hashlib
import inspect
import json
import logging
from pathlib import Path
from unittest.mock import Mock

import pytest
from pykeen.models import model_resolver

from kgeval import RankTable, evaluate, load_checkpoint, load_dataset
from kgeval.base.errors import ConfigError, InputError, RunError
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run
from kgeval.stored.contents import is_run
from tests.models.checkpoints.conftest import same_tables

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:Training instances are always shuffled:DeprecationWarning"),
]

TRAINING = {
    "kind": "pykeen",
    "model_kwargs": {"embedding_dim": 4},
    "training_kwargs": {"num_epochs": 1},
    "device": "cpu",
}


def job(model="TransE", **keys):
    return {"model": {**TRAINING, "model": model, **keys}}


def same_ranks(*folders):
    return same_tables(*(RankTable.from_parquet(folder / "ranks.parquet") for folder in folders))


@pytest.mark.parametrize("inverse", [False, True], ids=["plain", "inverse"])
def test_the_saved_model_gives_the_ranks_of_the_run(config, place, inverse):
    run(load_config(config(**job(create_inverse_triples=inverse))), place / "run")
    graph = load_dataset("graph/")
    again = evaluate(load_checkpoint(place / "run/model", dataset=graph), graph)
    assert same_tables(RankTable.from_parquet(place / "run/ranks.parquet"), again)


def test_training_stops_early_by_a_metric_that_only_kgeval_has(config, place):
    stopper = {"stopper": "early", "stopper_kwargs": {"metric": "macro.mrr", "frequency": 1, "patience": 1}}
    [outcome] = run(load_config(config(**job(**stopper))), place / "run")
    assert 0 < outcome.summary["mrr"] <= 1


def test_the_manifest_tells_the_seed_and_the_model(config, place):
    run(load_config(config(**job(random_seed=5))), place / "run")
    manifest = json.loads((place / "run/manifest.json").read_text())
    file = place / "run/model/trained_model.pkl"
    assert manifest["seeds"] == {"training": 5}
    assert manifest["model"]["model"] == "TransE"
    assert manifest["sha256"][str(file)] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert "train" in manifest["seconds"]


def test_the_times_of_one_model_are_not_told_of_the_next(config, place):
    models = {"trained": job()["model"], "read": "model.safetensors"}
    run(load_config(config(model=None, models=models)), place / "run")
    manifests = [json.loads((place / "run" / name / "manifest.json").read_text()) for name in models]
    common = {"load dataset", "rank", "summarize"}
    assert [set(manifest["seconds"]) - common for manifest in manifests] == [{"train"}, {"load model"}]


def test_a_seed_is_always_the_same_model(config, place):
    run(load_config(config(**job(random_seed=5))), place / "one")
    run(load_config(place / "one/config.yaml"), place / "two")
    assert same_ranks(place / "one", place / "two")


def test_a_model_without_a_formula_is_evaluated_live(config, place):
    cubic = {"embedding_dim": 4, "scoring_fct_norm": 3}
    (outcome,) = run(load_config(config(**job(model_kwargs=cubic))), place / "run")
    assert outcome.ranks.num_triples == 5
    assert json.loads((place / "run/manifest.json").read_text())["model"] == {"live": "PyKEENScorer"}


def test_what_pykeen_refuses_is_one_message_and_leaves_the_folder_free(config, place):
    refused = job(training_kwargs={"num_epochs": 1, "batch_size": -1})
    with pytest.raises(RunError, match="could not train TransE"):
        run(load_config(config(**refused)), place / "run")
    assert not (place / "run/ranks.parquet").exists()
    run(load_config(config()), place / "run")
    assert (place / "run/manifest.json").is_file()


ARGUMENTS = {
    "of another framework": ({"model_kwargs": {"dim": 4}}, r"model_kwargs\.dim: unknown argument 'dim' .*'embedding"),
    "of the pipeline": ({"training_kwargs": {"epochs": 3}}, r"epochs: unknown argument .* Did you mean 'num_epochs'"),
    "a number that is text": ({"optimizer_kwargs": {"lr": "1e-3"}}, r"lr: expected a number.*Write .*1\.0e-3"),
    "of a loss": ({"loss": "nssa", "loss_kwargs": {"margn": 1}}, r"margn: unknown argument .* Did you mean 'margin'"),
    "of the model's own loss": ({"loss_kwargs": {"margn": 1}}, r"margn: unknown argument .* Did you mean 'margin'"),
    "of a stopper": ({"stopper": "early", "stopper_kwargs": {"patients": 1}}, "patients: unknown argument"),
    "a stopper's metric": ({"stopper": "early", "stopper_kwargs": {"metric": "nope"}}, "metric: unknown metric 'nope'"),
    "a checkpoint": ({"training_kwargs": {"checkpoint_directory": "x"}}, "checkpoint_directory: it .*Leave it out"),
    "a checkpoint's name": ({"training_kwargs": {"checkpoint_name": "/x/y.pt"}}, "checkpoint_name: it lets PyKEEN"),
    "a checkpoint in need": ({"training_kwargs": {"checkpoint_on_failure": True}}, "checkpoint_on_failure: it lets"),
    "a callback": ({"training_kwargs": {"callbacks": ["check-point"]}}, "callbacks: it lets PyKEEN work with files"),
    "a best model": ({"stopper": "early", "stopper_kwargs": {"best_model_path": "x"}}, "best_model_path: it lets"),
    "pickled": ({"model": "NodePiece", "model_kwargs": {"tokenizers": "PrecomputedPool"}}, "tokenizers: it lets"),
}


@pytest.mark.parametrize(("keys", "message"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_are_checked_before_anything_is_loaded(config, keys, message):
    path = config(model=None, models={"a": "model.safetensors", "b": job(**keys)["model"]})
    with pytest.raises(ConfigError, match=message) as refusal:
        load_config(path)
    (argument,) = [*keys.values()][-1]
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if f" {argument}:" in text)
    assert f"models.b.{[*keys][-1]}.{argument}: " in str(refusal.value)
    assert f"(config line {line})" in str(refusal.value)


@pytest.mark.parametrize("name", ["TransE", "ComplEx", "RotatE", "TuckER", "ConvE", "MuRE", "NodePiece", "ERMLP"])
def test_every_argument_with_its_own_default_is_taken(config, name):
    """Independently of how arguments are checked: what PyKEEN itself has there cannot be wrong."""
    signature = inspect.signature(model_resolver.lookup(name).__init__).parameters
    kwargs = {key: given.default for key, given in signature.items() if isinstance(given.default, int | float | str)}
    assert kwargs
    load_config(config(**job(name, model_kwargs=kwargs)))


def test_training_is_quiet_and_leaves_the_garbage_collector_as_it_was(config, place, capsys, caplog):
    before = gc.get_freeze_count()
    with caplog.at_level(logging.INFO):
        run(load_config(config(**job())), place / "run")
    assert capsys.readouterr().out == ""
    assert [record.message for record in caplog.records if record.name.startswith("pykeen")] == []
    assert gc.get_freeze_count() == before


@pytest.mark.parametrize("device", [{}, {"device": None}], ids=str)
def test_a_device_that_nobody_chose_is_nothing_to_warn_of(config, place, caplog, device):
    keys = {name: value for name, value in job()["model"].items() if name != "device"}
    with caplog.at_level(logging.WARNING):
        run(load_config(config(model={**keys, **device})), place / "run")
    assert [record.message for record in caplog.records if "cuda" in record.message] == []


def half_saved(error):
    """Let PyKEEN fail when half of a model is saved."""

    def save(result, directory):
        Path(directory, "trained_model.pkl").write_bytes(b"half")
        raise error

    return save


SAVING_FAILS = {
    "full disk": (OSError(errno.ENOSPC, "No space left on device"), RunError),
    "full disk, in torch": (RuntimeError("PytorchStreamWriter failed writing file"), RunError),
    "interrupt": (KeyboardInterrupt(), KeyboardInterrupt),
}


@pytest.mark.parametrize(("error", "outcome"), SAVING_FAILS.values(), ids=SAVING_FAILS)
def test_a_model_that_is_half_saved_is_not_there_and_leaves_the_earlier_one(config, place, monkeypatch, error, outcome):
    def files():
        return {path: path.read_bytes() for path in (place / "run/model").iterdir() if path.is_file()}

    run(load_config(config(**job())), place / "run")
    before = files()
    with monkeypatch.context() as patch:
        patch.setattr("pykeen.pipeline.PipelineResult.save_to_directory", half_saved(error))
        for folder in ("new", "run"):
            with pytest.raises(outcome):
                run(load_config(config(**job(random_seed=1))), place / folder, force=True)
    assert not (place / "new").exists()
    assert files() == before
    run(load_config(config(**job(random_seed=1))), place / "run", force=True)
    assert files() != before
    assert [path.name for path in (place / "run").iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("again", [5, 6], ids=["the same", "another training"])
def test_a_model_that_was_trained_before_an_interruption_is_taken_if_it_is_the_same(config, place, replaces, again):
    first, then = (load_config(config(**job(random_seed=seed))) for seed in (5, again))
    run(then, place / "whole")
    if replaces:
        run(load_config(config(**job())), place / "run")
    before = {path: path.read_bytes() for path in (place / "run").rglob("*") if path.is_file()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgeval.ranking.engine.Engine.rank", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(first, place / "run", force=replaces)
    assert is_run(place / "run") == replaces
    assert {path: path.read_bytes() for path in before} == before
    with pytest.MonkeyPatch.context() as patch:
        if again == 5:
            patch.setattr("pykeen.pipeline.pipeline", lambda **_: pytest.fail("it was trained again"))
        run(then, place / "run", force=replaces)
    assert same_ranks(place / "whole", place / "run")
    assert {path.name for path in (place / "run").iterdir()} == {path.name for path in (place / "whole").iterdir()}


def test_a_folder_of_that_name_is_not_replaced_by_the_trained_model(config, place):
    (place / "run/model").mkdir(parents=True)
    (place / "run/model/mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"run/model.* exists already, but the trained model must be saved there"):
        run(load_config(config(**job())), place / "run")
    assert (place / "run/model/mine.txt").read_text() == "mine"


def test_a_device_that_is_not_there_is_told_before_anything_is_trained(config, place):
    there = pytest.importorskip("torch").cuda.device_count()
    settings = load_config(config(**job(device=f"cuda:{there}")))
    with pytest.raises(ConfigError, match=rf"device: .*no device 'cuda:{there}' \(config line \d+\)\. Leave it out"):
        run(settings, place / "run")
    assert not (place / "run").exists()
