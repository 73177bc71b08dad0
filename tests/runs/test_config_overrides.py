"""``--set KEY=VALUE``: keys with dots, values in YAML."""

from __future__ import annotations

import pytest

from kgeval.base.errors import ConfigError
from kgeval.runs.config.load import load_config


@pytest.mark.parametrize(
    ("override", "where", "value"),
    [
        ("evaluation.split=valid", ("evaluation", "split"), "valid"),
        ("evaluation.batch_size=7", ("evaluation", "batch_size"), 7),
        ("evaluation.batch_size=null", ("evaluation", "batch_size"), None),
        ("evaluation.sides=[tail]", ("evaluation", "sides"), ("tail",)),
        ("metrics=[mr, hits@2]", ("metrics",), ("mr", "hits@2")),
        ("evaluation.corruption={kind: uniform, count: 5}", ("evaluation", "corruption", "count"), 5),
        ("output=a=b", ("output",), "a=b"),
        ("output='a: b'", ("output",), "a: b"),
        ("model.format=native", ("model", "format"), "native"),
        ("model=spare/other.safetensors", ("model", "path"), "spare/other.safetensors"),
    ],
)
def test_values_are_yaml(config, override, where, value):
    place = load_config(config(model={"path": "model.safetensors"}), [override])
    for name in where:
        place = getattr(place, name)
    assert place == value


@pytest.mark.parametrize(
    "models", [{"model": "model.safetensors"}, {"model": None, "models": {"a": "model.safetensors"}}]
)
def test_a_bare_path_is_a_block_too(config, models):
    name = "model" if models["model"] else "models.a"
    (job,) = load_config(config(**models), [f"{name}.format=native", f"{name}.options.model=DistMult"]).jobs.values()
    assert (job.path, job.format, job.options) == ("model.safetensors", "native", {"model": "DistMult"})


def test_a_bare_dataset_is_a_block_too(config):
    assert load_config(config(dataset="./graph"), ["dataset.layout=labels"]).dataset.layout == "labels"
    assert load_config(config(dataset="umls"), ["dataset.options.x=1"]).dataset.options == {"x": 1}


def test_an_override_of_one_model_leaves_the_blocks_it_refers_to_alone(config):
    content = "dataset: {path: graph}\nmodels: {a: &a {path: model.safetensors}, b: *a}\n"
    jobs = load_config(config(content), ["models.b.format=native"]).jobs
    assert (jobs["a"].format, jobs["b"].format) == ("auto", "native")


def test_several_models_can_be_reached_by_their_names(config):
    path = config(model=None, models={"a": {"path": "model.safetensors"}, "b": {"path": "model.safetensors"}})
    jobs = load_config(path, ["models.b.path=spare/other.safetensors"]).jobs
    assert [job.path for job in jobs.values()] == ["model.safetensors", "spare/other.safetensors"]


def test_one_model_can_be_replaced_by_several(config):
    overrides = ["model=null", "models={a: model.safetensors, b: spare/other.safetensors}"]
    assert list(load_config(config(), overrides).jobs) == ["a", "b"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("split", r"--set 'split': expected KEY=VALUE"),
        ("=valid", r"--set '=valid': expected KEY=VALUE"),
        ("", r"--set '': expected KEY=VALUE"),
        ("output=[", r"--set 'output=\[': the value is not readable YAML"),
        ("output=!!python/name:os.system x", r"the value is not readable YAML"),
        ("output=2020-99-99", r"--set 'output=2020-99-99'"),
        ("output=" + "9" * 5000, r"--set 'output=9"),
        ("output=" + "[" * 3000, r"--set 'output=\["),
        ("output=a/${SECRET", r"--set 'output=a/\${SECRET': the variable is not closed. Write \${SECRET}."),
        ("dataset.path.x=1", r"--set 'dataset.path.x=1': dataset.path has no keys"),
        ("metrics.0=mrr", r"metrics has no keys"),
        ("evaluatoin.split=valid", r"evaluatoin: unknown key 'evaluatoin' \(--set\). Did you mean 'evaluation'\?"),
        ("evaluation.splt=valid", r"evaluation.splt: unknown key 'splt' \(--set\). Did you mean 'split'\?"),
        (
            "evaluation.split=vlid",
            r"evaluation.split: there is no split and no file 'vlid' \(--set\). Did you mean 'valid'\?",
        ),
        ("evaluation.batch_size='7'", r"evaluation.batch_size: expected a whole number, found '7' \(--set\)"),
        ("metrics=[mmr]", r"metrics.0: unknown metric 'mmr' \(--set\)"),
        ("model=missing.npz", r"model.path: no such file or folder 'missing.npz' \(--set\)"),
        ("model={kind: pyken}", r"unknown kind 'pyken' \(--set\). Did you mean 'pykeen'\?"),
        ("dataset=null", r"dataset: expected a block of keys, found None"),
        ("model=null", r"give either model"),
        ("models.a=model.safetensors", r"give either model"),
        (".=1", r"unknown key"),
        ("evaluation..split=valid", r"unknown key ''"),
        (f"{'a.' * 5000}a=1", r"a: unknown key 'a' \(--set\)"),
        (f"{'a.' * 19}a={'[' * 90}{']' * 90}", r"unknown key 'a' \(--set\)"),
    ],
)
def test_bad_overrides_are_named(config, override, message):
    path = config(metrics=["mrr"])
    with pytest.raises(ConfigError, match=message):
        load_config(path, [override])


def test_problems_of_overrides_and_of_the_file_are_told_together(config):
    path = config("dataset: {path: graph}\nmodel: model.safetensors\nties: realistc\n")
    with pytest.raises(ConfigError) as refusal:
        load_config(path, ["evaluation.split=vlid"])
    assert "ties: unknown value 'realistc' (config line 3)" in str(refusal.value)
    assert "evaluation.split: there is no split and no file 'vlid' (--set)" in str(refusal.value)
