"""Configuration files: every problem at once, each with its path, its line and the nearest valid name."""

from __future__ import annotations

import pytest

from kgeval.errors import ConfigError
from kgeval.runs.load import load_config
from tests.checkpoints.memory import at_most

WRONG = """\
dataset: {path: graph}
model: {kind: checkpoint, path: modl.safetensors, optons: {}}
protocol: standrad
evaluation:
  split: tst
  sides: [head, tial]
  filter: [train, vlid]
  corruption: {kind: unifrom, count: 5}
  unseen: frop
  batch_size: "many"
  thread: 2
metrics: [mrr, hits@0, mmr]
ties: realistc
outptu: runs/x
"""

EXPECTED = [
    "model.path: no such file or folder 'modl.safetensors' (config line 2). Nearby: 'model.safetensors'.",
    "model.optons: unknown key 'optons' (config line 2). Did you mean 'options'?",
    "protocol: unknown protocol 'standrad' (config line 3). Did you mean 'standard'?",
    "evaluation.split: unknown value 'tst' (config line 5). Did you mean 'test'?",
    "evaluation.sides.1: unknown value 'tial' (config line 6). Did you mean 'tail'?",
    "evaluation.filter.1: unknown value 'vlid' (config line 7). Did you mean 'valid'?",
    "evaluation.corruption: unknown kind 'unifrom' (config line 8). Did you mean 'uniform'?",
    "evaluation.unseen: unknown value 'frop' (config line 9). Did you mean 'drop'?",
    "evaluation.batch_size: expected a valid integer, found 'many' (config line 10).",
    "evaluation.thread: unknown key 'thread' (config line 11). Did you mean 'threads'?",
    "ties: unknown value 'realistc' (config line 13). Did you mean 'realistic'?",
    "outptu: unknown key 'outptu' (config line 14). Did you mean 'output'?",
]


def problems(path, *overrides):
    with pytest.raises(ConfigError) as refusal:
        load_config(path, overrides)
    first, *lines = str(refusal.value).splitlines()
    count = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
    assert first == f"{path}: {count}"
    return [line.strip() for line in lines]


def test_every_problem_is_told_at_once(config):
    told = problems(config(WRONG))
    assert [line for line in told if not line.startswith("metrics")] == EXPECTED


def test_every_metric_that_is_wrong_is_told(config):
    (told,) = (line for line in problems(config(WRONG)) if line.startswith("metrics"))
    assert "(config line 12)" in told
    assert "hits needs a cut-off, a whole number from 1, found '0'" in told
    assert "unknown metric 'mmr'" in told


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("model: model.safetensors", "dataset: missing."),
        ("dataset: {path: graph}", "give either model (one) or models (several, by name)"),
        ("dataset: {path: graph}\nmodel: model.safetensors\nmodels: {a: model.safetensors}", "give either model"),
        ("dataset: {}\nmodel: model.safetensors", "dataset: give either path (a folder) or name (a PyKEEN dataset)"),
        (
            "dataset: {path: graph, name: umls}\nmodel: model.safetensors",
            "dataset: give either path (a folder) or name",
        ),
        ("dataset: {path: grph}\nmodel: model.safetensors", "dataset.path: no such folder 'grph' (config line 1)"),
        ("dataset: {path: model.safetensors}\nmodel: model.safetensors", "dataset.path: no such folder"),
        ("dataset: 5\nmodel: model.safetensors", "dataset: expected a valid dictionary"),
        ("dataset: {path: graph}\nmodel: 5", "model"),
        ("dataset: {path: graph}\nmodel: [model.safetensors]", "model"),
        ("dataset: {path: graph}\nmodel: {}", "model.path: missing (config line 2)."),
        ("dataset: {path: graph}\nmodel: {kind: pykeen}", "model.model: missing (config line 2)."),
        (
            "dataset: {path: graph}\nmodel: {kind: pyken}",
            "unknown kind 'pyken' (config line 2). Did you mean 'pykeen'?",
        ),
        (
            "dataset: {path: graph}\nmodel: {kind: pykeen, model: TransE, random_seed: -1}",
            "model.random_seed: expected",
        ),
        ("dataset: {path: graph}\nmodel: {kind: pykeen, model: TransE, optimiser: x}", "Did you mean 'optimizer'"),
        ("dataset: {path: graph}\nmodels: {}", "models: "),
        (
            "dataset: {path: graph}\nmodels: {a: {path: graph, pth: x}}",
            "models.a.pth: unknown key 'pth' (config line 2)",
        ),
        (
            "dataset: {path: graph}\nmodels: {a: missing}",
            "models.a.path: no such file or folder 'missing' (config line 2)",
        ),
        ("dataset: {path: graph}\nmodels: {1: model.safetensors}", "models.1"),
        ("dataset: {path: graph}\nmodels: [model.safetensors]", "models: expected a valid dictionary"),
        ("dataset: {path: graph}\nmodel: model.safetensors\nmetrics: mrr", "metrics: expected a valid tuple"),
        ("dataset: {path: graph}\nmodel: model.safetensors\nmetrics: [5]", "metrics.0: expected a valid string"),
        ("dataset: {path: graph}\nmodel: model.safetensors\noutput: 5", "output: expected a valid string, found 5"),
        ("dataset: {path: graph}\nmodel: model.safetensors\nevaluation: 5", "evaluation: expected a valid dictionary"),
        ("dataset: {path: graph}\nmodel: model.safetensors\n5: x", "5"),
    ],
)
def test_each_problem_is_one_line(config, content, expected):
    told = problems(config(content))
    assert len(told) == 1
    assert expected in told[0]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("{kind: uniform}", "evaluation.corruption.count: missing (config line 4)."),
        ("{kind: uniform, count: 0}", "evaluation.corruption.count: expected greater than or equal to 1, found 0"),
        ("{kind: uniform, count: 2.5}", "evaluation.corruption.count: expected a valid integer, found 2.5"),
        ("{kind: uniform, count: true}", "evaluation.corruption.count: expected a valid integer, found True"),
        ('{kind: uniform, count: "3"}', "evaluation.corruption.count: expected a valid integer, found '3'"),
        ("{kind: uniform, count: 3, sed: 1}", "unknown key 'sed' (config line 4). Did you mean 'seed'?"),
        ("{kind: uniform, count: 3, seed: -1}", "evaluation.corruption.seed: expected greater than or equal to 0"),
        ("{kind: all, count: 3}", "evaluation.corruption.count: unknown key 'count' (config line 4)."),
        ("{kind: file}", "evaluation.corruption.path: missing (config line 4)."),
        ("{count: 3}", "evaluation.corruption: the key 'kind' is missing (config line 4). Choose one of 'all', 'file'"),
        ("{kind: null}", "evaluation.corruption: "),
        ("{kind: [all]}", "evaluation.corruption: "),
        ("all", "evaluation.corruption: "),
        ("[]", "evaluation.corruption: "),
    ],
)
def test_corruptions_are_checked(config, block, expected):
    content = f"dataset: {{path: graph}}\nmodel: model.safetensors\nevaluation:\n  corruption: {block}\n"
    told = problems(config(content))
    assert len(told) == 1
    assert told[0].startswith(expected) or expected in told[0]


def test_keys_of_a_corruption_are_not_confused_with_those_of_the_configuration(config):
    content = "dataset: {path: graph}\nmodel: model.safetensors\nevaluation:\n  corruption: {kind: all, count: 3}\n"
    (told,) = problems(config(content))
    assert told.endswith("Choose one of 'kind'.")


# Files that are no configuration


@pytest.mark.parametrize(
    "content",
    [
        "",
        "5",
        "[]",
        "text",
        "null",
        "a: [",
        "a: b: c",
        "\ta: 1",
        "? [a]\n: b",
        "a: *unknown",
        "a: !!python/object/apply:os.system [true]",
        "a: !unknown x",
        "\0",
        "a: 1\n---\nb: 2",
        "output: 2020-99-99",
        "output: !!int x",
        "output: !!float x",
        "output: !!timestamp x",
        "output: !!binary x",
        "output: " + "9" * 5000,
        "[" * 3000,
        "a: &a {b: *a}",
        "a: &a [*a]",
    ],
    ids=lambda content: repr(content[:30]),
)
def test_what_is_no_configuration_is_refused(config, content):
    path = config(content)
    with pytest.raises(ConfigError, match=r"experiment\.yaml"):
        load_config(path)


def test_references_to_references_are_not_multiplied_out(config):
    """The "billion laughs": short to write down, and too long to read if every reference is followed."""
    levels = [f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 10)}]" for n in range(5)]
    content = "\n".join(["l0: &l0 [x]", *levels, "dataset: {path: graph}", "model: model.safetensors"])
    path = config(content)
    with at_most(8), pytest.raises(ConfigError, match="unknown key 'l0'"):
        load_config(path)


@pytest.mark.parametrize("junk", [b"\xff\xfe\x00", b"dataset: \xff", bytes(range(256))])
def test_what_is_no_text_is_refused(config, junk):
    path = config("")
    path.write_bytes(junk)
    with pytest.raises(ConfigError, match="not readable YAML"):
        load_config(path)


@pytest.mark.parametrize(
    "name", ["experment.yaml", "graph", "none/experiment.yaml", "experiment.yaml/x", "", "x" * 300]
)
def test_a_file_that_is_not_there_is_refused(config, place, name):
    config()
    with pytest.raises(ConfigError, match="no such configuration file"):
        load_config(place / name)


def test_the_neighbour_of_a_mistaken_name_is_told(config):
    with pytest.raises(ConfigError, match=r"Nearby: .*experiment\.yaml"):
        load_config(config().with_name("experment.yaml"))


# What is sound


def test_a_merge_of_blocks_is_sound(config):
    content = "dataset: {path: graph}\nmodels:\n  a: &a {path: model.safetensors}\n  b: {<<: *a, format: native}\n"
    jobs = load_config(config(content)).jobs
    assert (jobs["a"].format, jobs["b"].format) == ("auto", "native")


def test_a_model_may_be_a_bare_path(config):
    assert load_config(config()).jobs[""].path == "model.safetensors"


@pytest.mark.parametrize("dataset", ["./graph", "graph", {"path": "graph"}])
def test_a_dataset_may_be_a_bare_path(config, dataset):
    assert load_config(config(dataset=dataset)).dataset.path in {"graph", "./graph"}


def test_a_protocol_says_what_is_not_said(config):
    resolved = load_config(config(protocol="pykeen")).resolved()
    assert "hits_at_5" in resolved.metrics
    assert resolved.ties == "realistic"


def test_what_is_said_goes_before_the_protocol(config):
    keys = {"metrics": ["mr"], "ties": "expected", "evaluation": {"filter": []}}
    resolved = load_config(config(protocol="pykeen", **keys)).resolved()
    assert (resolved.metrics, resolved.ties, resolved.evaluation.filter) == (("mr",), "expected", ())
