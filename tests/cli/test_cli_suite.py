"""Suites: many graphs of one configuration, also of ranks from elsewhere, that fail, are interrupted and continued."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

import kgeval
from tests.cli.conftest import invoke
from tests.conftest import random_dataset, unwrapped
from tests.data.folders import write

NAMES = [f"g{number:02d}" for number in range(20)]

BASELINES = {name: f"baseline:{name}" for name in ("popularity", "types", "inverse")}


@pytest.fixture
def graphs(tmp_path, monkeypatch):
    """Twenty small graphs in folders, and the working directory around them."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(NAMES):
        data = random_dataset(seed, entities=12 + seed, triples=120)
        write(
            Path("graphs") / name,
            {
                split: [(data.entities[h], data.relations[r], data.entities[t]) for h, r, t in triples.ids.tolist()]
                for split, triples in data.splits.items()
            },
        )
    return tmp_path


def write_suite(names=NAMES, models=BASELINES, **keys):
    suite = {"graphs": [f"graphs/{name}" for name in names], "groups": {"small": names[:4], "large": names[-3:]}}
    content = {"suite": suite, "models": models, "metrics": ["mrr", "hits@3"], "output": "runs", **keys}
    content = {key: value for key, value in content.items() if value is not None}
    Path("suite.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def mrr_of(folder):
    return json.loads((Path("runs") / folder / "metrics.json").read_text())["metrics"]["both"]["mrr"]


def test_a_suite_is_interrupted_continued_and_compared(graphs):
    write_suite(ties="realistic")
    started = subprocess.Popen([sys.executable, "-m", "kgeval", "run", "suite.yaml"], stdout=-1, stderr=-1)
    while not (graphs / "runs/g03/inverse/manifest.json").exists() and started.poll() is None:
        time.sleep(0.01)
    os.kill(started.pid, signal.SIGKILL)
    started.communicate()
    first = (graphs / "runs/g00/types/manifest.json").read_bytes()
    assert not (graphs / "runs/g19/inverse/manifest.json").exists()
    shown = invoke("run", "suite.yaml")
    assert shown.exit_code == 0, shown.stderr
    assert (graphs / "runs/g00/types/manifest.json").read_bytes() == first
    lines = shown.stdout.split("hits@3:")[0].splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if re.match(r"g\d\d ", line)}
    assert [*rows] == NAMES
    assert all(float(rows[name][1]) == pytest.approx(mrr_of(f"{name}/types"), abs=6e-4) for name in NAMES)
    small = np.mean([mrr_of(f"{name}/types") for name in NAMES[:4]])
    (line,) = (line for line in lines if line.startswith("mean of small (4 graphs)"))
    assert float(line.split()[8]) == pytest.approx(small, abs=6e-4)
    again = invoke("compare", "runs", "-m", "mrr,hits@3")
    assert again.stdout.split("\n\n", 1)[1] == shown.stdout.split("\n\n", 1)[1]
    content = json.loads(invoke("compare", "runs", "-m", "mrr", "--json").stdout)
    assert {one["dataset"] for one in content["means"]} == {"small", "large", "all"}


def test_a_graph_more_keeps_the_runs_that_there_are(graphs):
    write_suite(NAMES[:5])
    assert invoke("run", "suite.yaml").exit_code == 0
    first = (graphs / "runs/g00/types/manifest.json").read_bytes()
    write_suite(NAMES[:6])
    shown = invoke("run", "suite.yaml")
    assert shown.exit_code == 0, shown.stderr
    assert (graphs / "runs/g00/types/manifest.json").read_bytes() == first
    assert "mean of all (6 graphs)" in shown.stdout


def test_a_graph_has_its_name_in_the_suite_also_where_its_folder_is_a_link(graphs):
    Path("graphs/link").symlink_to(Path("graphs/g07").absolute(), target_is_directory=True)
    write_suite([*NAMES[:3], "link"])
    shown = invoke("run", "suite.yaml")
    assert shown.exit_code == 0, shown.stderr
    assert "mean of small (4 graphs)" in shown.stdout
    assert re.search(r"^link +0\.", shown.stdout, re.MULTILINE)


def test_one_failed_graph_hides_none_and_is_named(graphs):
    write_suite(NAMES[:5])
    Path("graphs/g02/test.txt").write_text("one\ttwo\n")
    shown = invoke("run", "suite.yaml")
    assert shown.exit_code == 1
    assert "mean of small (3 of 4 graphs)" in shown.stdout
    assert "mean of all (4 of 5 graphs)" in shown.stdout
    said = unwrapped(shown.stderr)
    assert "means leave out the graphs on which a model has no value: g02 (no run)." in said
    assert "suite.yaml/g02: graphs/g02/test.txt" in said


def write_ranks(place, table):
    """Write ranks as another evaluator does, without the numbers of ties."""
    frame = table.data.to_pandas()
    columns = {"head_label": "head", "relation_label": "relation", "tail_label": "tail"}
    frame = frame.assign(rank=1 + frame["greater"] + frame["tied"])[[*columns, "side", "rank"]]
    place.parent.mkdir(parents=True, exist_ok=True)
    frame.rename(columns=columns).to_parquet(place)


@pytest.mark.parametrize("protocol", ["standard", "ultra"])
def test_ranks_from_elsewhere_are_models_beside_others(graphs, protocol):
    names = NAMES[:5]
    for step in (3, 7):
        for name in names:
            table = kgeval.evaluate(lambda h, r, t, step=step: (h * step + t) % 5, f"graphs/{name}")
            write_ranks(Path(f"ranks/m{step}/{name}.parquet"), table)
    Path("ranks/m7/g03.parquet").unlink()
    foreign = {f"m{step}": {"ranks": f"ranks/m{step}/{{dataset}}.parquet"} for step in (3, 7)}
    write_suite(names, {**BASELINES, **foreign}, protocol=protocol)
    shown = invoke("run", "suite.yaml")
    assert shown.exit_code == 1
    assert "no such file 'ranks/m7/g03.parquet'" in unwrapped(shown.stderr)
    assert "mean of all (4 of 5 graphs)" in shown.stdout
    for name in names:
        table = kgeval.evaluate(lambda h, r, t: (h * 3 + t) % 5, f"graphs/{name}")
        pessimistic = (1 / (1 + table.column("greater") + table.column("tied"))).mean()
        assert mrr_of(f"{name}/m3") == pytest.approx(pessimistic)
    stored = yaml.safe_load(Path("runs/g01/m3/config.yaml").read_text())
    assert stored["model"]["ranks"] == "ranks/m3/g01.parquet"
    assert "ranks/m3/g01.parquet" in json.loads(Path("runs/g01/m3/manifest.json").read_text())["sha256"]
    again = invoke("run", "runs/g01/m3/config.yaml", "--out", "again")
    assert again.exit_code == 0, again.stderr
    assert invoke("summarize", "runs/g01/m3").exit_code == 0


def test_a_graph_whose_models_ranked_other_triples_is_left_out(graphs):
    names = NAMES[:4]
    for name in names:
        table = kgeval.evaluate(lambda h, r, t: (h * 3 + t) % 5, f"graphs/{name}")
        write_ranks(Path(f"ranks/{name}.parquet"), table.where(table.column("triple") > 0) if name == "g02" else table)
    write_suite(names, {"types": "baseline:types", "m": {"ranks": "ranks/{dataset}.parquet"}})
    for shown in (invoke("run", "suite.yaml"), invoke("compare", "runs")):
        assert shown.exit_code == 0, shown.stderr
        assert re.findall(r"^g\d\d", shown.stdout.split("mrr:")[1].split("hits")[0], re.MULTILINE) == [
            "g00",
            "g01",
            "g03",
        ]
        assert "mean of small (3 of 4 graphs)" in shown.stdout
        said = unwrapped(shown.stderr)
        assert (
            "g02: left out: these runs cannot be compared. triples: the models rank different triples or sides" in said
        )
        assert "means leave out the graphs on which a model has no value: g02 (left out)." in said


def test_what_cannot_be_read_is_named_and_the_rest_is_shown_in_the_order_of_the_suite(graphs):
    names = ["g04", "g01", "g03", "nowhere"]
    models = {**BASELINES, "scores": {"path": "scores/{dataset}"}}
    suite = {"graphs": {name: f"graphs/{name}" for name in names}, "groups": {"some": ["g01", "nowhere"]}}
    Path("suite.yaml").write_text(
        yaml.safe_dump({"suite": suite, "models": models, "metrics": ["mr", "mrr"], "output": "runs"}, sort_keys=False)
    )
    shown = invoke("run", "suite.yaml")
    assert shown.exit_code == 1
    said = unwrapped(shown.stderr)
    assert "suite.yaml/nowhere: no such folder 'graphs/nowhere'" in said
    assert all(f"no such file or folder 'scores/{name}'" in said for name in names[:3])
    again = invoke("compare", "runs").stdout
    assert again.index("mr:") < again.index("mrr:")  # the metrics of the configuration
    for printed in (shown.stdout, again):
        table = printed.split("mr:")[1].split("mrr:")[0]
        assert re.findall(r"^(g\d\d|mean of \w+ .*?\))", table, re.MULTILINE) == [
            *names[:3], "mean of some (1 of 2 graphs)", "mean of all (3 of 4 graphs)"
        ]  # fmt: skip
    pytest.importorskip("altair", reason="a page needs the extra [report]")
    assert invoke("report", "runs", "--out", "page.html").exit_code == 0
    rows = re.findall(r'<tr><th scope="row"><bdi class="label" title="(g\d\d)"', Path("page.html").read_text())
    assert rows[:3] == names[:3]


WRONG = {
    "suite.groups.small: there is no graph called 'g0'": {
        "suite": {"graphs": ["graphs/g00"], "groups": {"small": ["g0"]}}
    },
    "suite.groups.all: the group of all graphs is always there": {
        "suite": {"graphs": ["graphs/g00"], "groups": {"all": ["g00"]}}
    },
    "give either dataset (one), or datasets or suite.graphs (several)": {"datasets": ["graphs/g00"]},
    "expected a list of datasets, or datasets by name": {"suite": {"graphs": 3}},
    "cannot follow evaluation.corruption": {
        "models": {"m": {"ranks": "ranks.parquet"}}, "evaluation": {"corruption": {"kind": "uniform", "count": 3}}
    },
    "a task needs the scores of a model, and ranks have none": {
        "suite": None,
        "datasets": ["graphs/g00"],
        "models": {"m": {"ranks": "ranks.parquet"}},
        "task": {"kind": "classification"},
        "metrics": ["auc"],
    },
    "suite: its tables are of ranks, and a task has none": {"task": {"kind": "classification"}, "metrics": ["auc"]},
    "it has no head ranks. Leave head out of the sides": {
        "models": {"m": {"ranks": "tails.parquet"}}, "evaluation": {"sides": ["head"]}
    },
    "2 datasets are called 'g-0' or 'g0'": {"suite": {"graphs": {"g-0": "graphs/g00", "g0": "graphs/g01"}}},
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit_is_refused(graphs, message):
    table = kgeval.evaluate(lambda h, r, t: h, "graphs/g00")
    write_ranks(Path("ranks.parquet"), table)
    write_ranks(Path("tails.parquet"), table.where(table.column("side") == "tail"))
    write_suite(NAMES[:4], **WRONG[message])
    shown = invoke("run", "suite.yaml")
    assert shown.exit_code > 0
    assert "Traceback" not in shown.stderr
    assert message in unwrapped(shown.stderr)
