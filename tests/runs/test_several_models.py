"""Several models: all are read before one is ranked, done ones stay done, and one that fails hides no other."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from kgeval import Vocabulary, save_checkpoint
from kgeval.base.errors import ConfigError, InputError, ScoreError
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.engine import Engine
from kgeval.runs.config.load import load_config
from kgeval.runs.outcome import ModelsFailed
from kgeval.runs.runner import run
from kgeval.runs.stored import read_outcomes
from kgeval.stored.contents import is_run
from kgeval.stored.folders import Place
from tests.cli.conftest import invoke
from tests.runs.conftest import ENTITIES, RELATIONS

MODELS = {"a": "model.safetensors", "b": "spare/other.safetensors", "c": "model.safetensors"}


@pytest.fixture
def several(config):
    """Write a configuration of several models; keys of it may be replaced."""
    return lambda **keys: config(model=None, **{"models": MODELS, **keys})


@pytest.fixture
def ranked(monkeypatch):
    """Count how many contests are ranked."""
    calls = []
    rank = Engine.rank
    monkeypatch.setattr(Engine, "rank", lambda *arguments: calls.append(arguments) or rank(*arguments))
    return calls


def fail_at(monkeypatch, error, number=2):
    """Let a ranking fail, by default the first of the second model: each has two sides."""
    calls, rank = iter(range(100)), Engine.rank

    def fail(*arguments):
        if next(calls) == number:
            raise error
        return rank(*arguments)

    monkeypatch.setattr(Engine, "rank", fail)


def save(path, entity, relation):
    labels = {"entities": Vocabulary(ENTITIES[: len(entity)]), "relations": Vocabulary(RELATIONS, "relation")}
    save_checkpoint(DistMult(entity=entity, relation=relation), path, **labels)


def names_of(outcomes, *, stored):
    return [outcome.name for outcome in outcomes if outcome.stored == stored]


# All inputs before the first rank


UNREADABLE = {
    "no labels": ({"path": "unlabelled.npz", "options": {"model": "DistMult"}}, "the model has 4"),
    "an option that is not its own": ({"path": "model.safetensors", "options": {"nrom": 1}}, "nrom"),
    "no model": ("graph", "is in no known checkpoint format"),
    "another graph's": ("foreign.safetensors", "with an entity or relation that the model does not know"),
}


@pytest.mark.parametrize(("model", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_model_that_cannot_be_evaluated_is_named_before_any_is_ranked(several, place, ranked, model, message):
    np.savez(place / "unlabelled.npz", entity=np.ones((4, 2)), relation=np.ones((2, 2)))
    save("foreign.safetensors", np.ones((5, 2)), np.ones((2, 2)))
    settings = load_config(several(models={"a": "model.safetensors", "b": model, "c": "model.safetensors"}))
    with pytest.raises(ConfigError) as refusal:
        run(settings, place / "run")
    told = str(refusal.value)
    written = f"  b: {model}" if isinstance(model, str) else "  b:"
    line = 1 + (place / "experiment.yaml").read_text().splitlines().index(written)
    for part in ("1 problem", "models.b: ", message, f"(config line {line})"):
        assert part in told
    assert not ranked
    assert not (place / "run").exists()


def test_all_that_cannot_be_read_are_named_at_once(several, place):
    with pytest.raises(ConfigError, match=r"2 problems(.|\n)*models\.a: (.|\n)*models\.c: "):
        run(load_config(several(models={"a": "graph", "b": "model.safetensors", "c": "graph"})), None)


# Done is done


@pytest.mark.parametrize("protocol", ["standard", "libkge", "pykeen"])
def test_what_is_taken_is_what_was_computed(several, place, protocol, ranked):
    keys = {"protocol": protocol, "metrics": ["mrr", "head.hits@3"]}
    first = run(load_config(several(**keys)), place / "run")
    before = {path: path.stat().st_mtime_ns for path in (place / "run").glob("*/*")}
    ranked.clear()
    again = run(load_config(several(**keys)), place / "run")
    assert not ranked
    assert names_of(again, stored=True) == ["a", "b", "c"]
    assert {path: path.stat().st_mtime_ns for path in (place / "run").glob("*/*")} == before
    assert [outcome.to_dict() for outcome in again] == [outcome.to_dict() for outcome in first]
    assert [outcome.notes for outcome in again] == [outcome.notes for outcome in first]


CHANGES = {
    "a metric": ({"metrics": ["mr"]}, r"metrics is .*'mrr'.* there, and \['mr'\] now"),
    "a split": ({"evaluation": {"split": "valid"}}, "evaluation.split is test there, and valid now"),
    "a seed": ({"seed": 4}, "seed is 0 there, and 4 now"),
}


@pytest.mark.parametrize(("keys", "message"), CHANGES.values(), ids=CHANGES)
def test_another_configuration_is_refused_by_what_it_changes(several, place, ranked, keys, message):
    run(load_config(several()), place / "run")
    ranked.clear()
    with pytest.raises(InputError, match=rf"run/a.* already holds a different run: .*{message}"):
        run(load_config(several(**keys)), place / "run")
    assert not ranked


def other_weights(place):
    save("spare/other.safetensors", np.ones((9, 4)), np.ones((2, 4)))


def one_triple_less(place):
    lines = (place / "graph/train.txt").read_text().splitlines(keepends=True)
    (place / "graph/train.txt").write_text("".join(lines[:-1]))


def other_ranks(place):
    (place / "run/b/ranks.parquet").write_bytes((place / "run/a/ranks.parquet").read_bytes())


ALTERED = {
    other_weights: "run/b.*: spare/other.safetensors has changed",
    one_triple_less: "run/a.*: the triples of the dataset have changed, graph/train.txt has changed",
    other_ranks: "run/b.*: ranks.parquet is not as the run wrote it",
}


@pytest.mark.parametrize(("alter", "message"), ALTERED.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_other_inputs_are_refused_by_what_has_changed_and_replaced_by_force(several, place, ranked, alter, message):
    run(load_config(several()), place / "run")
    alter(place)
    ranked.clear()
    with pytest.raises(InputError, match=message):
        run(load_config(several()), place / "run")
    assert not ranked
    assert names_of(run(load_config(several()), place / "run", force=True), stored=True) == []


def test_how_fast_it_is_computed_is_no_change(several, place):
    run(load_config(several()), place / "run")
    slower = several(evaluation={"threads": 1, "kernel": "reference", "memory_limit": "1GB"})
    assert names_of(run(load_config(slower), place / "run"), stored=True) == ["a", "b", "c"]


def test_a_model_that_was_trained_is_not_trained_again(several, place, monkeypatch):
    training = {"kind": "pykeen", "model": "DistMult", "device": "cpu"}
    kwargs = {"model_kwargs": {"embedding_dim": 4}, "training_kwargs": {"num_epochs": 1}}
    models = {"trained": {**training, **kwargs}, "read": "model.safetensors"}
    first = run(load_config(several(models=models)), place / "run")
    monkeypatch.setattr("pykeen.pipeline.pipeline", lambda **_: pytest.fail("it was trained again"))
    again = run(load_config(several(models=models)), place / "run")
    assert names_of(again, stored=True) == ["trained", "read"]
    assert [outcome.to_dict() for outcome in again] == [outcome.to_dict() for outcome in first]
    (place / "run/trained/model/trained_model.pkl").write_bytes(b"")
    with pytest.raises(InputError, match="trained"):
        run(load_config(several(models=models)), place / "run")


def test_a_task_is_taken_too(several, place, monkeypatch):
    keys = {"task": {"kind": "classification", "negatives": {"kind": "generated"}}}
    first = run(load_config(several(**keys)), place / "run")
    monkeypatch.setattr("kgeval.runs.jobs.Job.evaluate", lambda *_, **__: pytest.fail("judged again"))
    again = run(load_config(several(**keys)), place / "run")
    assert [outcome.to_dict() for outcome in again] == [outcome.to_dict() for outcome in first]


# One that fails


FAILURES = {
    ScoreError("the model's score is NaN."): "the model's score is NaN.",
    MemoryError(): "MemoryError: ",
    OSError(28, "No space left on device"): "OSError: ",
}


@pytest.fixture
def failing(monkeypatch):
    fail_at(monkeypatch, next(iter(FAILURES)))


@pytest.mark.parametrize(("error", "message"), FAILURES.items(), ids=repr)
def test_a_model_that_fails_hides_no_other(several, place, monkeypatch, error, message):
    fail_at(monkeypatch, error)
    with pytest.raises(ModelsFailed, match=f"1 of 3 models failed\n  b: {message}") as failure:
        run(load_config(several()), place / "run")
    assert [outcome.name for outcome in failure.value.outcomes] == ["a", "c"]
    assert [is_run(place / "run" / name) for name in MODELS] == [True, False, True]
    table = json.loads((place / "run/metrics.json").read_text())
    assert [*table["models"]] == ["a", "c"]
    assert table["failed"]["b"].startswith(message)
    outcomes = run(load_config(several()), place / "run")
    assert names_of(outcomes, stored=False) == ["b"]
    assert json.loads((place / "run/metrics.json").read_text())["failed"] == {}


def test_the_command_shows_the_others_and_ends_with_what_failed(several, failing):
    result = invoke("run", several(), "--out", "run")
    assert result.exit_code == 1
    assert [line.split()[0] for line in result.stdout.splitlines()[-2:]] == ["a", "c"]
    assert result.stderr.splitlines()[-2:] == [
        "Error: experiment.yaml: 1 of 3 models failed".replace("experiment.yaml", str(several())),
        "  b: the model's score is NaN.",
    ]


def cut_short(path):
    path.write_bytes(path.read_bytes()[:200])


def not_a_number(path):
    entity = np.ones((9, 4))
    entity[3, 1] = np.nan
    save(path, entity, np.ones((2, 4)))


BROKEN = {cut_short: "not a readable .safetensors file", not_a_number: "the array 'entity' holds nan at row 3"}


@pytest.mark.parametrize(("damage", "message"), BROKEN.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_model_whose_files_cannot_be_read_is_told_first_and_hides_no_other(several, place, ranked, damage, message):
    damage(place / "spare/other.safetensors")
    told = []
    with pytest.raises(ModelsFailed, match=rf"1 of 3 models failed\n  b: .*{message}") as failure:
        run(load_config(several()), place / "run", warn=lambda text: told.append((text, len(ranked))))
    assert [outcome.name for outcome in failure.value.outcomes] == ["a", "c"]
    ((text, before),) = told
    assert text.startswith("b cannot be read and is left out: ")
    assert (message in text, before) == (True, 0)
    assert message in json.loads((place / "run/metrics.json").read_text())["failed"]["b"]
    result = invoke("run", several(), "--out", "run")
    assert result.exit_code == 1
    assert [line.split()[0] for line in result.stdout.splitlines()[-2:]] == ["a", "c"]
    assert message in result.stderr.splitlines()[0]
    assert f"  b: spare/other.safetensors: {message}" in result.stderr.splitlines()[-1]


def test_a_mistake_of_the_configuration_stops_all_though_another_model_is_broken(several, place, ranked):
    cut_short(place / "spare/other.safetensors")
    models = {**MODELS, "c": {"path": "model.safetensors", "options": {"nrom": 1}}}
    with pytest.raises(ConfigError, match=r"1 problem\n.*models\.c: .*nrom"):
        run(load_config(several(models=models)), place / "run")
    assert not ranked


# The common table


def test_a_note_on_all_models_is_said_once(several, place):
    """The test split repeats a train triple: that is no fault of one model."""
    with (place / "graph/test.txt").open("a") as file:
        file.write((place / "graph/train.txt").read_text().splitlines(keepends=True)[0])
    save("spare/other.safetensors", np.ones((9, 4)), np.ones((2, 4)))
    for shown in (invoke("run", several(), "--out", "run"), invoke("summarize", "run")):
        notes = [line for line in shown.stderr.splitlines() if line.startswith("Note: ")]
        assert sum("of the ranked triples are in train" in line for line in notes) == 1
        assert any(line.startswith("Note: b: ") for line in notes)
        assert len(notes) == len(set(notes))


def test_the_folder_holds_the_common_table(several, place):
    run(load_config(several()), place / "run")
    table = json.loads((place / "run/metrics.json").read_text())
    assert [*Place(place / "run").table["models"]] == [*MODELS]
    own = {name: json.loads((place / "run" / name / "metrics.json").read_text()) for name in MODELS}
    assert table["models"] == own


@pytest.mark.parametrize("metrics", [(), ("mr", "head.hits@1")])
def test_the_metrics_of_all_are_read_from_the_folder(several, place, metrics):
    run(load_config(several()), place / "run")
    options = [part for metric in metrics for part in ("--metric", metric)]
    table = json.loads(invoke("summarize", "run", *options, "--json").stdout)
    alone = {name: json.loads(invoke("summarize", f"run/{name}", *options, "--json").stdout) for name in MODELS}
    assert table["models"] == alone
    shown = invoke("summarize", "run", *options).stdout.splitlines()
    assert [line.split()[0] for line in shown[shown.index("") + 1 :] if "─" not in line] == ["model", *MODELS]


def test_a_run_that_is_gone_is_named_and_hides_no_other(several, place):
    run(load_config(several()), place / "run")
    shutil.rmtree(place / "run/b")
    (place / "run/c/manifest.json").unlink()
    assert [outcome.name for outcome in read_outcomes(Place(place / "run"))] == ["a"]
    why = {"b": "its folder is missing", "c": "manifest.json is missing"}
    assert Place(place / "run").unfinished == why
    result = invoke("summarize", "run")
    assert result.exit_code == 0
    assert result.stdout.startswith("a ")
    assert "mrr" in result.stdout
    said = "left out of 'run': b (its folder is missing); c (manifest.json is missing). Run them again, with --force"
    assert f"Note: {said} if that is refused." in result.stderr.splitlines()
    assert json.loads(invoke("summarize", "run", "--json").stdout)["unfinished"] == ["b", "c"]


def test_a_kill_leaves_a_table_that_names_what_is_unfinished(several, place, monkeypatch):
    """What is written while the second model is ranked is all that a killed process leaves."""
    fail_at(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(load_config(several()), place / "run")
    table = json.loads((place / "run/metrics.json").read_text())
    assert ([*table["models"]], table["unfinished"]) == (["a"], ["b", "c"])
    assert "Note: left out of 'run': b, c (its folder is missing)." in invoke("summarize", "run").stderr
    assert json.loads(invoke("inspect", "run", "--json").stdout)["unfinished"] == ["b", "c"]
    monkeypatch.undo()
    monkeypatch.chdir(place)
    run(load_config(several()), place / "run")
    assert json.loads((place / "run/metrics.json").read_text())["unfinished"] == []


def test_the_folder_of_one_run_is_not_taken_for_several(several, config, place):
    run(load_config(config()), place / "run")
    before = (place / "run/metrics.json").read_bytes()
    with pytest.raises(InputError, match=r"holds a run of one model\. Choose another folder for several models"):
        run(load_config(several()), place / "run", force=True)
    assert (place / "run/metrics.json").read_bytes() == before
