"""Configuration files: every problem at once, each with its path, its line and the nearest valid name."""

from __future__ import annotations

import pytest

from kgeval.base.errors import ConfigError, counted
from kgeval.runs.config.load import load_config
from tests.models.checkpoints.memory import at_most

WRONG = """\
dataset: {path: graph, layout: lables}
model: {kind: checkpoint, path: modl.safetensors, optons: {}, format: pyken}
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
    "dataset.layout: unknown dataset layout 'lables' (config line 1). Did you mean 'labels'?",
    "model.path: no such file or folder 'modl.safetensors' (config line 2). Nearby: 'model.safetensors'.",
    "model.format: unknown checkpoint format 'pyken' (config line 2). Did you mean 'pykeen' or 'pykg2vec'?",
    "model.optons: unknown key 'optons' (config line 2). Did you mean 'options'?",
    "protocol: unknown protocol 'standrad' (config line 3). Did you mean 'standard'?",
    "evaluation.split: there is no split and no file 'tst' (config line 5). Did you mean 'test'?",
    "evaluation.sides.1: unknown value 'tial' (config line 6). Did you mean 'tail'?",
    "evaluation.filter.1: there is no split and no file 'vlid' (config line 7). Did you mean 'valid'?",
    "evaluation.corruption: unknown kind 'unifrom' (config line 8). Did you mean 'uniform' or 'union'?",
    "evaluation.unseen: unknown value 'frop' (config line 9). Did you mean 'drop'?",
    "evaluation.batch_size: expected a whole number, found 'many' (config line 10).",
    "evaluation.thread: unknown key 'thread' (config line 11). Did you mean 'threads'?",
    "ties: unknown value 'realistc' (config line 13). Did you mean 'realistic'?",
    "outptu: unknown key 'outptu' (config line 14). Did you mean 'output'?",
]


GRAPH = "dataset: {path: graph}\n"
SOUND = GRAPH + "model: model.safetensors\n"


def problems(path, *overrides):
    with pytest.raises(ConfigError) as refusal:
        load_config(path, overrides)
    first, *lines = str(refusal.value).splitlines()
    assert first == f"{path}: {counted(len(lines), 'problem')}"
    return [line.strip() for line in lines]


def test_every_problem_is_told_at_once(config):
    told = problems(config(WRONG))
    assert [line for line in told if not line.startswith("metrics")] == EXPECTED


def test_every_metric_that_is_wrong_is_told(config):
    content = SOUND + "metrics:\n- hits@0\n- mrr\n- mmr\n"
    first, second = problems(config(content))
    assert first.startswith("metrics.0: metric 'hits@0': hits needs a cut-off, a whole number of at least 1, found '0'")
    assert "(config line 4)" in first
    assert second.startswith("metrics.2: unknown metric 'mmr' (config line 6). Did you mean")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("model: model.safetensors", "dataset: required, but missing."),
        (GRAPH, "give either model (one) or models (several, by name)"),
        (SOUND + "models: {a: model.safetensors}", "give either model"),
        ("dataset: {}\nmodel: model.safetensors", "dataset: give either path (a folder) or name (a PyKEEN dataset)"),
        ("dataset: {path: graph, name: umls}\nmodel: model.safetensors", "give either path (a folder) or name"),
        (
            "dataset: {path: graph, options: {x: 1}}\nmodel: model.safetensors",
            "given by name; a folder has none (config",
        ),
        ("dataset: {name: umls, layout: labels}\nmodel: model.safetensors", "no folder 'umls' (config line 1)"),
        ("dataset: {path: grph}\nmodel: model.safetensors", "dataset.path: no such folder 'grph' (config line 1)"),
        ("dataset: {path: model.safetensors}\nmodel: model.safetensors", "is a file, and no table of triples"),
        ("dataset: 5\nmodel: model.safetensors", "dataset: expected a block of keys"),
        (GRAPH + "model: 5", "model: expected a block of keys, found 5 (config line 2)."),
        (GRAPH + "model: [model.safetensors]", "model: expected a block of keys"),
        (GRAPH + "model: {}", "model.path: required, but missing (config line 2)."),
        (GRAPH + "model: {kind: pykeen}", "model.model: required, but missing (config line 2)."),
        (GRAPH + "model: {kind: pyken}", "unknown kind 'pyken' (config line 2). Did you mean 'pykeen'?"),
        (GRAPH + "model: {kind: pykeen, model: TransE, random_seed: -1}", "random_seed: expected at least 0, found -1"),
        (GRAPH + "model: {kind: pykeen, model: TransE, optimiser: x}", "Did you mean 'optimizer'"),
        (GRAPH + "models: {}", "models: expected at least 1 of them, found {}"),
        (GRAPH + "models: {a: {path: graph, pth: x}}", "models.a.pth: unknown key 'pth' (config line 2)"),
        (GRAPH + "models: {a: missing}", "models.a.path: no such file or folder 'missing' (config line 2)"),
        (SOUND + "metrics: 5", "metrics: expected a list, found 5"),
        (SOUND + "metrics: []", "metrics: the list is empty (config line 3). Leave it out for those of the protocol"),
        (SOUND + "evaluation: {filter: none}", "(config line 3). For raw ranks, write []."),
        (SOUND + "evaluation: {filter: [none]}", "evaluation.filter: 'none' is a word of the command line (config"),
        (SOUND + "metrics: mmr", "metrics.0: unknown metric 'mmr' (config line 3)"),
        (SOUND + "metrics: [5]", "metrics.0: expected text, found 5"),
        (SOUND + "output: 5", "output: expected text, found 5"),
        (SOUND + "evaluation: 5", "evaluation: expected a block of keys"),
        (SOUND + "5: x", "5: a key is text, found 5 (config line 3)."),
        (SOUND + "evaluation: {sides: [tail, tail]}", "sides: a side is repeated in ['tail', 'tail'] (config"),
        (SOUND + "metrics: [head.tail.mrr]", "unexpected 'tail' (config line 3). Names are"),
        (SOUND + "metrics: [realistic.expected.mrr]", "unexpected 'expected' (config line 3). Names are"),
        (SOUND + "metrics: [realistic.head.mrr]", "unexpected 'head' (config line 3). Names are"),
    ],
)
def test_each_problem_is_one_line(config, content, expected):
    (told,) = problems(config(content))
    assert expected in told


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("{kind: uniform}", "evaluation.corruption.count: required, but missing (config line 4)."),
        ("{kind: uniform, count: 0}", "evaluation.corruption.count: expected at least 1, found 0"),
        ("{kind: uniform, count: true}", "evaluation.corruption.count: expected a whole number, found True"),
        ("{kind: uniform, count: 3, sed: 1}", "unknown key 'sed' (config line 4). Did you mean 'seed'?"),
        ("{kind: uniform, count: 3, seed: -1}", "evaluation.corruption.seed: expected at least 0"),
        ("{kind: all, count: 3}", "corruption.count: unknown key 'count' (config line 4). Choose one of 'kind'."),
        ("{kind: file}", "evaluation.corruption.path: required, but missing (config line 4)."),
        ("{kind: ogb, path: test.pt}", "evaluation.corruption.path: no such file 'test.pt' (config line 4)."),
        ("{kind: file, path: modl.safetensors}", "no such file 'modl.safetensors' (config line 4). Nearby: 'model."),
        ("{kind: typed, path: graph}", "corruption.path: 'graph' is a folder; a file is expected (config line 4)."),
        ("{kind: typed, splits: [trian]}", "unknown value 'trian' (config line 4). Did you mean 'train'?"),
        ("{kind: typed, splits: [test], path: graph/train.txt}", "corruption: types come from a file (path) or"),
        ("{kind: entities, path: drugs.txt}", "evaluation.corruption.path: no such file 'drugs.txt' (config line 4)."),
        ("{kind: typed, types: kinds.tsv}", "evaluation.corruption.types: no such file 'kinds.tsv' (config line 4)."),
        ("{kind: typed, types: prefix, path: graph/train.txt}", "corruption: give either path (candidates of"),
        (
            "{kind: union, of: [{kind: all}, {kind: file, path: modl.safetensors}]}",
            "evaluation.corruption.of.1.path: no such file 'modl.safetensors' (config line 4). Nearby: 'model.",
        ),
        ("{kind: union, of: [{kind: al}]}", "evaluation.corruption.of.0: unknown kind 'al' (config line 4). Did you"),
        ("{count: 3}", "corruption: the key 'kind' is missing (config line 4). Choose one of 'all', 'degree'"),
        ("{kind: null}", "evaluation.corruption: the key 'kind' is missing"),
        ("{kind: [all]}", "evaluation.corruption: unknown kind ['all'] (config line 4)."),
        ("all", "expected a block with the key 'kind', found 'all' (config line 4). Choose one of"),
    ],
)
def test_corruptions_are_checked(config, block, expected):
    (told,) = problems(config(SOUND + f"evaluation:\n  corruption: {block}\n"))
    assert told.startswith("evaluation.corruption")
    assert expected in told


# Files that are no configuration


@pytest.mark.parametrize(
    "content",
    [
        *("", "5", "[]", "text", "null", "a: [", "a: b: c", "\ta: 1", "? [a]\n: b"),
        *("a: *unknown", "a: !unknown x", "\0", "[" * 3000, "output: " + "9" * 5000),
        *("a: !!python/object/apply:os.system [true]", "a: 1\n---\nb: 2", "a: &a {b: *a}", "a: &a [*a]"),
        *(f"output: {value}" for value in ("2020-99-99", "!!int x", "!!float x", "!!timestamp x", "!!binary x")),
    ],
    ids=lambda content: repr(content[:30]),
)
def test_what_is_no_configuration_is_refused(config, content):
    path = config(content)
    with pytest.raises(ConfigError, match=r"experiment\.yaml"):
        load_config(path)


def test_a_key_that_is_misspelt_is_one_problem(config):
    assert problems(config("datasett: {path: graph}\nmodel: {pth: model.safetensors}\n")) == [
        "model.pth: unknown key 'pth' (config line 2). Did you mean 'path'?",
        "datasett: unknown key 'datasett' (config line 1). Did you mean 'dataset' or 'datasets'?",
    ]


def test_metrics_may_have_commas_between_them_as_in_the_command(config):
    assert load_config(config(metrics="mrr, hits@10")).metrics == ("mrr", "hits@10")
    assert load_config(config(), ["metrics=mrr,hits@10"]).metrics == ("mrr", "hits@10")


def test_references_to_references_are_not_multiplied_out(config):
    """The "billion laughs": short to write down, and too long to read if every reference is followed."""
    levels = [f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 10)}]" for n in range(5)]
    content = "\n".join(["l0: &l0 [x]", *levels, GRAPH, "model: model.safetensors"])
    path = config(content)
    with at_most(8), pytest.raises(ConfigError, match="its aliases expand to more than 20000 values"):
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
def test_a_file_that_is_not_there_is_refused_with_its_neighbour(config, place, name):
    config()
    nearby = r".*Nearby: .*experiment\.yaml" if name == "experment.yaml" else ""
    with pytest.raises(ConfigError, match=f"no such configuration file{nearby}"):
        load_config(place / name)


# What is sound


def test_a_merge_of_blocks_is_sound(config):
    content = GRAPH + "models:\n  a: &a {path: model.safetensors}\n  b: {<<: *a, format: native}\n"
    jobs = load_config(config(content)).jobs
    assert (jobs["a"].format, jobs["b"].format) == ("auto", "native")


@pytest.mark.parametrize("dataset", ["./graph", "graph", {"path": "graph"}])
def test_a_dataset_may_be_a_bare_path(config, dataset):
    assert load_config(config(dataset=dataset)).dataset.path in {"graph", "./graph"}


# Names that only a reader, a layout or PyKEEN knows


def test_unknown_keys_of_one_of_several_models_are_those_of_its_kind(config):
    content = (
        GRAPH + "models:\n  a: {path: model.safetensors, formt: native}\n"
        "  b: {kind: pykeen, model: TransE, optimiser: adam}\n"
    )
    assert problems(config(content)) == [
        "models.a.formt: unknown key 'formt' (config line 3). Did you mean 'format'?",
        "models.b.optimiser: unknown key 'optimiser' (config line 4). Did you mean 'optimizer' or 'optimizer_kwargs'?",
    ]


COMPONENTS = {
    "model": ("ComplEX2", "Did you mean 'ComplEx'"),
    "loss": ("crossentrop", "Did you mean 'crossentropy'"),
    "regularizer": ("lpp", "Did you mean 'lp'"),
    "optimizer": ("adma", "Did you mean 'adamax' or 'adam'"),
    "lr_scheduler": ("cosineanealing", "Did you mean 'cosineannealing'"),
    "training_loop": ("lcva", "Did you mean 'lcwa'"),
    "negative_sampler": ("bernouli", "Did you mean 'bernoulli'"),
    "stopper": ("erly", "Did you mean 'early'"),
    "device": ("cdua", "Did you mean 'cuda'"),
}


def test_names_that_pykeen_does_not_know_are_all_told_before_anything_is_trained(config):
    lines = [f"  {part}: {name}" for part, (name, _) in COMPONENTS.items()]
    told = problems(config("\n".join(["dataset: nations", "model:", "  kind: pykeen", *lines])))
    assert len(told) == len(COMPONENTS)
    for line, (part, (name, hint)) in enumerate(COMPONENTS.items(), 4):
        (said,) = [problem for problem in told if problem.startswith(f"model.{part}: ")]
        assert f"{name!r} (config line {line}). {hint}" in said


# Values and keys


@pytest.mark.parametrize("value", ["[1]", "null", "2020-01-01"])
def test_an_option_of_another_type_is_one_problem(config, value):
    (told,) = problems(config(GRAPH + f"model:\n  path: graph\n  options: {{norm: {value}}}\n"))
    assert told.startswith("model.options.norm: expected a number, text, true or false, found ")
    assert told.endswith("(config line 4).")


@pytest.mark.parametrize("key", ["1", "yes", "2020-01-01", "1.5", "null"])
@pytest.mark.parametrize(
    "block",
    [
        *("evaluation: {{{}: x}}", "{}: x", "models: {{{}: model.safetensors}}"),
        "model: {{kind: pykeen, model: TransE, loss_kwargs: {{{}: 2}}}}",
    ],
)
def test_keys_are_text(config, key, block):
    (told,) = [line for line in problems(config(f"{block.format(key)}\n")) if "a key is text" in line]
    assert told.endswith("Write it in quotes.")


def test_a_key_that_is_said_twice_is_refused_with_both_lines(config):
    content = SOUND + "evaluation:\n  split: valid\n  split: test\nties: x\n"
    first, second = problems(config(content))
    assert first == "evaluation.split: duplicate key, first in line 4 (config line 5). Keep one of them."
    assert second.startswith("ties: unknown value 'x' (config line 6)")
    assert problems(config(SOUND + "model: spare/other.safetensors\n")) == [
        "model: duplicate key, first in line 2 (config line 3). Keep one of them."
    ]


@pytest.mark.parametrize(
    ("value", "shown"), [("x" * 10**6, "x…"), ("0x" + "F" * 90, "234854258"), ("[" + "1, " * 10**4 + "]", "…")]
)
def test_a_value_or_key_however_long_is_a_short_message(config, value, shown):
    (told,) = problems(config(SOUND + f"ties: {value}\n"))
    assert len(told) < 300
    assert shown in told
    (told,) = problems(config(SOUND + f"? {'k' * 10**6}\n: 1\n"))
    assert len(told) < 600


# Negatives in a file


@pytest.mark.parametrize("keys", [{"sides": "tail"}, {"filter": "train"}], ids=str)
def test_one_side_or_split_may_be_said_bare(config, keys):
    evaluation = load_config(config(evaluation=keys)).evaluation
    ((name, value),) = keys.items()
    assert getattr(evaluation, name) == (value,)


SEVERAL = """\
dataset: {path: graph}
models:
  fresh: {kind: pykeen, model: DistMlt, model_kwargs: {dim: 3}, training_kwargs: {num_epoch: 3}}
  named: {kind: pykeen, model: DistMult, model_kwargs: {dim: 3}, loss: sofplus, optimizer_kwargs: {lr: 1e-3}}
  read: nowhere.npz
metrics: [mrr, mmr]
tracker: {kind: cvs}
"""


def test_mistakes_of_keys_values_and_trainings_are_told_together(config):
    """Only what an unknown model takes is not known."""
    told = problems(config(SEVERAL))
    assert sorted(line.split(": ")[0] for line in told) == [
        "metrics.1",
        "models.fresh.model",
        "models.fresh.training_kwargs.num_epoch",
        "models.named.loss",
        "models.named.model_kwargs.dim",
        "models.named.optimizer_kwargs.lr",
        "models.read.path",
        "tracker.kind",
    ]
    assert (
        "models.fresh.training_kwargs.num_epoch: unknown argument 'num_epoch' (config line 3). Did you mean"
        in "".join(told)
    )


@pytest.mark.parametrize(
    "training", ["pykeen, model: 5", "pykeen", "pykeen, model: TransE, loss: 3, model_kwargs: 4", "5"]
)
def test_trainings_of_odd_values_are_refused_as_such(config, training):
    assert problems(config(GRAPH + f"model: {{kind: {training}}}\n"))
