"""Another package brings one member of each registry: used by name on the command line, and as an object in Python."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgeval.base.errors import BrokenPackage, InputError
from kgeval.base.registries import GROUPS, by_name, find_plugin_of, load_entry_points
from kgeval.metrics.metric import Metric
from kgeval.ranking.protocols.protocol import Protocol, protocols
from tests.cli.conftest import invoke

FOREIGN = Path(__file__).with_name("foreign")
ROOT = Path(__file__).parents[2]

ENTITIES, RELATIONS = [f"e{index}" for index in range(9)], ["r0", "r1"]


def run(*words, path=()):
    """Run Python with further places to import from."""
    places = os.pathsep.join(map(str, (*path, ROOT)))
    return subprocess.run(
        [sys.executable, *map(str, words)],
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install the package into a folder of its own, from a copy, since a build leaves files behind."""
    source, target = tmp_path_factory.mktemp("source") / "foreign", tmp_path_factory.mktemp("installed")
    shutil.copytree(FOREIGN, source)
    flags = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    done = run("-m", "pip", "install", *flags, "--target", target, source)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def graph():
    """The triples of each split, int64[triple, 3]; every entity and relation occurs."""
    rng = np.random.default_rng(4)
    triples = rng.permutation(list(itertools.product(range(9), range(2), range(9))))
    return {"train": triples[:40], "valid": triples[40:50], "test": triples[50:70]}


@pytest.fixture(scope="module")
def arrays():
    """Small whole numbers, so that many scores tie."""
    rng = np.random.default_rng(5)
    return {
        "entity": rng.integers(-2, 3, (9, 3)),
        "relation": rng.integers(-1, 2, (2, 3)),
        "weight": np.array([0.5, 2.0]),
    }


@pytest.fixture(scope="module")
def outcomes(installed, graph, arrays, tmp_path_factory):
    """What came of each use, in one process: use -> (result, error)."""
    folder = tmp_path_factory.mktemp("graph")
    labelled = {
        split: [(ENTITIES[h], RELATIONS[r], ENTITIES[t]) for h, r, t in triples] for split, triples in graph.items()
    }
    (folder / "graph.json").write_text(json.dumps(labelled))
    model = {name: array.tolist() for name, array in arrays.items()}
    (folder / "model.transm").write_text(json.dumps({**model, "norm": 1, "entities": ENTITIES, "relations": RELATIONS}))
    (folder / "table").mkdir()
    names = zip(("points", "shifts", "weights"), arrays.values(), strict=True)
    tensors = {name: np.asarray(array, np.float64) for name, array in names}
    (folder / "table/model.pkl").write_bytes(pickle.dumps(tensors))
    for name, labels in (("entities.tsv", ENTITIES), ("relations.tsv", RELATIONS)):
        (folder / "table" / name).write_text("".join(f"{row}\t{label}\n" for row, label in enumerate(labels)))
    done = run(FOREIGN / "uses.py", folder, path=[installed])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def counts(graph, arrays):
    """Count greater and tied candidates by the formula, in plain Python: a function of (filtered, competes)."""
    entity, relation, weight = arrays.values()
    known = {tuple(triple) for triples in graph.values() for triple in triples.tolist()}

    def score(h, r, t):
        return -weight[r] * np.abs(entity[h] + relation[r] - entity[t]).sum()

    def count(*, filtered=True, competes=lambda anchor, candidate: True, score=score):
        greater, tied = [], []
        for h, r, t in graph["test"].tolist():
            tails, heads = [(h, r, e) for e in range(9)], [(e, r, t) for e in range(9)]
            for anchor, triples, answer in ((h, tails, t), (t, heads, h)):
                rivals = [
                    score(*triple)
                    for e, triple in enumerate(triples)
                    if e != answer and competes(anchor, e) and not (filtered and triple in known)
                ]
                own = score(h, r, t)
                greater.append(sum(rival > own for rival in rivals))
                tied.append(sum(rival == own for rival in rivals))
        return np.array(greater), np.array(tied)

    return count


def result(outcomes, use, metric="mr"):
    value, error = outcomes[use]
    assert error is None, error
    return value[metric] if isinstance(value, dict) else value


def realistic(greater, tied):
    return 1 + greater + tied / 2


def other_parity(anchor, candidate):
    return candidate % 2 == (anchor + 1) % 2


BY_NAME_OR_OBJECT = [
    "layout by name",
    "format by name",
    "format that is a table",
    "family and layout as objects",
    "reader as an object",
]


@pytest.mark.parametrize("use", BY_NAME_OR_OBJECT)
def test_its_files_and_its_family_are_ranked_by_the_formula(use, outcomes, counts):
    assert result(outcomes, use) == pytest.approx(realistic(*counts()).mean())


def test_its_family_is_listed_with_its_arrays_and_options(outcomes):
    (listed,) = [row for row in json.loads(result(outcomes, "family in the list")) if row["name"] == "TransM"]
    assert listed["arrays"] == "entity, relation, weight"
    assert listed["options"] == "norm"


def test_its_table_is_listed_with_its_tensors_and_options(outcomes):
    (listed,) = json.loads(result(outcomes, "table in the list"))
    (model,) = listed["models"]
    assert model["tensors"] == "entity = points; relation = shifts; weight = weights"
    assert model["options"] == "p = 1 or 2"


@pytest.mark.parametrize("use", ["metric by name", "metric as an object"])
def test_its_metric(use, outcomes, counts):
    expected = np.log2(realistic(*counts())).mean()
    assert result(outcomes, use, "mean-log-rank") == pytest.approx(expected)


@pytest.mark.parametrize("use", ["protocol by name", "protocol as an object"])
def test_its_protocol(use, outcomes, counts):
    greater, tied = counts(filtered=False)
    assert result(outcomes, use) == pytest.approx((1 + greater + tied).mean())


@pytest.mark.parametrize("use", ["ties by name", "ties as an object"])
def test_its_tie_policy(use, outcomes, counts):
    greater, tied = counts()
    assert tied.any()
    assert result(outcomes, use) == pytest.approx(np.sqrt((1 + greater) * (1 + greater + tied)).mean())


@pytest.mark.parametrize("use", ["corruption by name", "corruption in a configuration", "corruption as an object"])
def test_its_corruption(use, outcomes, counts):
    assert result(outcomes, use) == pytest.approx(realistic(*counts(competes=other_parity)).mean())


BASELINE = [
    "baseline by name",
    "baseline in a configuration",
    "baseline as an object",
    "baseline by its name in Python",
]


@pytest.mark.parametrize("use", BASELINE)
def test_its_baseline(use, outcomes, counts):
    expected = counts(score=lambda h, r, t: (h + t) % 3)
    assert result(outcomes, use) == pytest.approx(realistic(*expected).mean())


@pytest.mark.parametrize("use", ["slice by name", "slice as an object"])
def test_its_slice(use, outcomes, counts, graph):
    groups, error = outcomes[use]
    assert error is None, error
    heads, _, tails = graph["test"].T
    answers, ranks = np.stack([tails, heads], axis=1).ravel(), realistic(*counts())
    assert list(groups) == ["even", "odd"]
    assert groups == {
        name: pytest.approx(ranks[answers % 2 == parity].mean()) for parity, name in enumerate(["even", "odd"])
    }


def package(folder, name, group, value, *lines):
    """Lay a package of one module out as an installer leaves it; it brings one entry point, ``it``."""
    (folder / f"{name}.py").write_text("\n".join([*lines, ""]))
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nit = {value}\n")


IMPORT = "from kgeval.ranking.protocols.protocol import Protocol"

BROKEN = {
    "no module": ("nowhere_at_all:IT", (), "cannot be loaded: ModuleNotFoundError: No module named 'nowhere_at_all'"),
    "no such name": (
        "strange:OTHER",
        (),
        "cannot be loaded: AttributeError: module 'strange' has no attribute 'OTHER'",
    ),
    "an error of its own": (
        "strange:IT",
        ("1 / 0",),
        "cannot be loaded: ZeroDivisionError: division by zero. It is left out. Update",
    ),
    "the end of the process": ("strange:IT", ("import sys", "sys.exit(7)"), "cannot be loaded: SystemExit: 7. It is"),
    "something else": ("strange:IT", ("IT = 'mrr'",), "expected a Metric, found 'mrr'"),
    "a class": (
        "strange:IT",
        ("from kgeval.metrics.metric import Metric as IT",),
        "expected a Metric, found <class 'kgeval.metrics.metric.Metric'>",
    ),
}


@pytest.mark.parametrize(("value", "lines", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_entry_point_is_left_out_with_a_warning(value, lines, message, tmp_path, monkeypatch):
    package(tmp_path, "strange", "kgeval.metrics", value, *lines)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "strange", raising=False)
    with pytest.warns(BrokenPackage) as told:
        assert load_entry_points("kgeval.metrics", Metric) == []
    (warning,) = map(str, (one.message for one in told))
    assert f"entry point 'it' ({value}) in group kgeval.metrics of package strange" in warning
    assert message in warning


def test_an_interruption_while_a_package_is_loaded_is_one(tmp_path, monkeypatch):
    package(tmp_path, "strange", "kgeval.metrics", "strange:IT", "raise KeyboardInterrupt")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "strange", raising=False)
    with pytest.raises(KeyboardInterrupt):
        load_entry_points("kgeval.metrics", Metric)


@pytest.mark.parametrize("name", ["standard", "mine"])
def test_two_members_of_one_name_are_refused_with_the_packages(name, tmp_path, monkeypatch):
    packages = [f"{one}_{name}" for one in ("another", "one")]
    for one in packages:
        package(tmp_path, one, "kgeval.protocols", f"{one}:IT", IMPORT, f"IT = Protocol(name={name!r}, summary='')")
    own = protocols().values()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=f"two protocols are called '{name}'.*package: {', '.join(packages)}"):
        by_name("protocols", [*own, *load_entry_points("kgeval.protocols", Protocol)])


@pytest.mark.parametrize("line", ["import not_installed_anywhere", "raise SystemExit('bye')"])
def test_a_broken_package_blocks_no_command_and_is_named_once(tmp_path, line):
    package(tmp_path, "strange", "kgeval.protocols", "strange:IT", line)
    done = run("-m", "kgeval", "list", "protocols", path=[tmp_path])
    assert done.returncode == 0
    assert "standard" in done.stdout
    assert done.stderr.count("Note: entry point 'it' (strange:IT) in group kgeval.protocols of package strange") == 1
    assert "Traceback" not in done.stderr


TWO = [
    "import kgeval",
    "IT = kgeval.TiePolicy('thirds', rank=lambda best, worst, draws: (2 * best + worst) / 3)",
    "STRICT = kgeval.Protocol(name='strict', summary='', ties='pessimistic')",
]


def test_a_module_may_bring_several_kinds_of_members(tmp_path):
    package(tmp_path, "strange", "kgeval.tie_policies", "strange:IT", *TWO)
    command = ["evaluate", "baseline:types", "--dataset", "nations", "-m", "thirds.mrr", "--quiet"]
    done = run("-m", "kgeval", *command, path=[tmp_path])
    assert (done.returncode, done.stderr) == (0, "")
    assert "thirds.mrr" in done.stdout


BROUGHT = """
import kgeval
from kgeval.analysis.slices.slice import Categories
METRIC = kgeval.Metric(name="half-rank", title="", formula="", source="", lowest=0, highest=1e9, increasing=False,
                       compute=lambda ranks, k: ranks.mean(ranks.values / 2))
SLICE = kgeval.Slice(name="whole", title="", rule="", source="", needs=(),
                     assign=lambda rows, dataset: Categories(rows.answers * 0, ("all",)))
TIES = kgeval.TiePolicy('thirds', rank=lambda best, worst, draws: (2 * best + worst) / 3)
PROTOCOL = kgeval.Protocol(name='strict', summary='')
"""

POINTS = "".join(
    f"[kgeval.{group}]\nit = strange:{name}\n"
    for group, name in {"metrics": "METRIC", "slices": "SLICE", "tie_policies": "TIES", "protocols": "PROTOCOL"}.items()
)


def test_a_run_is_read_where_its_package_is_missing_or_broken(tmp_path):
    """It is missing in this process; with it, and where it is broken, a process of its own runs."""
    folder = tmp_path / "installed"
    folder.mkdir()
    package(folder, "strange", "kgeval.metrics", "strange:METRIC", BROUGHT)
    (folder / "strange-1.0.dist-info/entry_points.txt").write_text(POINTS)
    wanted = ["-m", "half-rank,mr", "--by", "whole,side", "--ties", "thirds", "--protocol", "strict"]
    evaluated = ["evaluate", "baseline:types", "--dataset", "nations", *wanted, "--out", tmp_path / "run"]
    done = run("-m", "kgeval", *evaluated, path=[folder])
    assert done.returncode == 0, done.stderr
    shown = ["-m", "kgeval", "summarize", tmp_path / "run", "--json"]
    own = json.loads(run(*shown, path=[folder]).stdout)["metrics"]["both"]
    assert own["half-rank"] == own["mr"] / 2
    without = invoke(*shown[2:])
    assert without.exit_code == 0, without.stderr
    found = json.loads(without.stdout)
    assert list(found["metrics"]["both"]) == ["mr"]
    assert found["notes"][0].startswith("unknown here: the tie policy 'thirds'. 'realistic' is used instead; ")
    for what in (
        ", and left out: the metric 'half-rank'",
        ", and left out: the slice 'whole'",
        ": the protocol 'strict'",
    ):
        assert found["notes"].count(f"unknown here{what}. Install the package that has it.") == 1
    (folder / "strange.py").write_text("1 / 0")
    broken = run(*shown, path=[folder])
    assert json.loads(broken.stdout) == found
    assert broken.stderr.count("in group kgeval.metrics of package strange cannot be loaded: ZeroDivisionError") == 1
    for command in (["compare", tmp_path / "run", f"other={tmp_path / 'other'}"], ["inspect", tmp_path / "run"]):
        shutil.copytree(tmp_path / "run", tmp_path / "other", dirs_exist_ok=True)
        done = invoke(*command)
        assert done.exit_code == 0, done.stderr
    drawn = invoke("plot", tmp_path / "run", "--kind", "distribution", "--out", tmp_path / "drawn.svg")
    assert f"Note: baseline types: {found['notes'][0]}" in " ".join(drawn.stderr.split())
    page = invoke("report", tmp_path / "run", "--out", tmp_path / "page.html")
    assert page.exit_code == 0, page.stderr
    assert (
        "the tie policy &#39;thirds&#39;. &#39;realistic&#39; is used instead" in (tmp_path / "page.html").read_text()
    )
    for command in (["run", tmp_path / "run/config.yaml"], ["evaluate", tmp_path / "run"]):
        refused = invoke(*command)
        assert refused.exit_code == 2
        problems = refused.stderr.strip().splitlines()[1:]
        assert {problem.partition(":")[0].strip() for problem in problems} == {"metrics.0", "ties", "by.0", "protocol"}
        assert all(problem.endswith(" Install the package that has it.") for problem in problems)


IMPORTED = """
import importlib, pkgutil, traceback
import kgeval, kgeval.base.registries as discovery
asked = []
discovery.entry_points = lambda **_: asked.append(traceback.format_stack()[-4:-1]) or ()
for module in pkgutil.walk_packages(kgeval.__path__, "kgeval."):
    if not module.name.endswith("__main__") and ".device." not in module.name:
        importlib.import_module(module.name)
print(*asked)
"""


def test_no_import_of_kgeval_loads_packages():
    """A package imports kgeval, and would meet modules that are not complete."""
    done = run("-c", IMPORTED)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


READER = [
    "from kgeval import Reader",
    "import sys",
    "def fail(*_): {failure}",
    "IT = Reader('odd', 'odd files', recognises={recognises}, read={read})",
]


@pytest.mark.parametrize(
    ("recognises", "read", "failure", "code", "message"),
    [
        (
            "fail",
            "fail",
            "1 / 0",
            2,
            "model.odd': ZeroDivisionError: division by zero. Update",
        ),
        ("lambda _: True", "fail", "1 / 0", 1, "package strange raised ZeroDivisionError: division by zero. Repair or"),
        ("lambda _: True", "fail", "sys.exit(0)", 1, "package strange raised SystemExit: 0. Repair or uninstall the p"),
        ("lambda _: True", "lambda *_: 3", "pass", 2, "the reader 'odd' returned 3; expected a Checkpoint."),
    ],
)
def test_a_reader_that_raises_ends_or_lies_is_named_without_a_traceback(
    tmp_path, recognises, read, failure, code, message
):
    lines = [line.format(failure=failure, recognises=recognises, read=read) for line in READER]
    package(tmp_path, "strange", "kgeval.checkpoints", "strange:IT", *lines)
    (tmp_path / "model.odd").write_text("odd")
    done = run("-m", "kgeval", "inspect", tmp_path / "model.odd", path=[tmp_path])
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


SEVERAL = [
    "from kgeval import Reader",
    "from kgeval import Slice",
    "def fail(*_): 1 / 0",
    "def shared(*_): 1 / 0",
    "NAMES = Slice(name='names', title='', rule='', source='', assign=lambda *_: helper(), needs=())",
    "BOOM = Reader('boom', '', recognises=shared, read=fail)",
    "BANG = Reader('bang', '', recognises=shared, read=lambda *_: fail())",
    "def helper(): shared()",
]


@pytest.mark.parametrize(
    "call",
    [lambda it: it.BOOM.read(), lambda it: it.NAMES.assign(), lambda it: it.BOOM.recognises(), lambda it: it.helper()],
    ids=["reader", "slice", "of two", "of none"],
)
def test_a_package_of_several_entry_points_is_blamed(call, tmp_path, monkeypatch):
    package(tmp_path, "several", "kgeval.slices", "several:NAMES", *SEVERAL)
    points = "[kgeval.slices]\nnames = several:NAMES\n[kgeval.checkpoints]\nboom = several:BOOM\nbang = several:BANG\n"
    (tmp_path / "several-1.0.dist-info/entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "several", raising=False)
    with pytest.raises(ZeroDivisionError) as raised:
        call(importlib.import_module("several"))
    assert find_plugin_of(raised.value) == "package several"


def test_the_package_brings_a_member_of_every_group(installed):
    (points,) = installed.glob("*.dist-info/entry_points.txt")
    assert sorted(re.findall(r"\[(.+)\]", points.read_text())) == sorted(GROUPS)
