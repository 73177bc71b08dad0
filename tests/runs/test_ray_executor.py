"""Shards as tasks of Ray: the bytes of one process, whatever the number of workers, and whoever of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgeval.base.errors import ConfigError, Interrupted, RunError, ScoreError
from kgeval.models.alignment import align
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import ranking_of
from kgeval.runs.config.load import load_config
from kgeval.runs.executors import LocalExecutor, RayExecutor, _rank_shard
from kgeval.runs.runner import run
from kgeval.runs.shards import ShardStore, divide, join_shards
from kgeval.stored.contents import num_shards
from tests.conftest import random_dataset
from tests.runs.conftest import table
from tests.runs.test_shards import distmult


def test_an_option_that_ray_does_not_know_is_refused():
    pytest.importorskip("ray", reason="needs the extra kgeval[ray]")
    executor = RayExecutor(address="local", options={"procesors": 2})
    with (
        pytest.raises(ConfigError, match=r"executor\.options: Ray does not start .*procesors"),
        executor._connected(1, print),
    ):
        pass


@pytest.fixture(scope="module")
def cluster():
    """Ray on this machine, started as a run starts it; the notes that it gave."""
    pytest.importorskip("ray", reason="needs the extra kgeval[ray]")
    notes = []
    executor = RayExecutor(workers=4, options={"object_store_memory": 80_000_000})
    with executor._connected(1, notes.append):
        yield notes


def ray_of(workers):
    return {"executor": {"kind": "ray", "workers": workers}, "evaluation": {"shards": 5}}


def test_where_no_cluster_is_one_is_started_and_said(cluster):
    assert cluster == ["no Ray cluster was found; one was started on this machine, for this run."]


def test_the_cluster_of_another_run_is_not_joined(cluster):
    """It would end with that run."""
    code = "from kgeval.runs.executors import RayExecutor as R\nwith R(workers=1)._connected(1, print): pass"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == cluster


def test_workers_give_the_bytes_of_one_process(cluster, config, place):
    run(load_config(config()), place / "whole")
    run(load_config(config(**ray_of(3))), place / "run")
    assert table(place / "run") == table(place / "whole")


def test_a_run_that_was_interrupted_goes_on_without_ray(cluster, config, place, monkeypatch):
    run(load_config(config()), place / "whole")
    settings, write = load_config(config(**ray_of(2))), ShardStore.write

    def interrupt(store, shard, ranked):
        if num_shards(store.folder) == 2:
            raise KeyboardInterrupt
        write(store, shard, ranked)

    with monkeypatch.context() as patch:
        patch.setattr(ShardStore, "write", interrupt)
        with pytest.raises(Interrupted, match="2 of 5 shards"):
            run(settings, place / "run")
    run(load_config(config()), place / "run")
    assert table(place / "run") == table(place / "whole")


def slow_scores(folder):
    """A model that tells which process asks it, and takes its time."""

    def score(heads, relations, tails):
        Path(folder, str(os.getpid())).touch()
        time.sleep(0.05)
        return (heads * 31 + relations * 7 + tails * 13) % 11

    return score


def prepared(model):
    dataset = random_dataset(triples=120)
    labels = {"entities": dataset.entities, "relations": dataset.relations}
    return ranking_of(align(model, dataset, **labels), dataset, Evaluation(threads=1))


def table_of(ranking, executor, count=6):
    done = list(executor.rank(ranking, divide(ranking, count), pytest.fail))
    parts = [join_shards(ranking, side, [part for shard, part in done if shard.side == side]) for side in ranking.sides]
    return ranking.table(parts, "a model").data


def test_a_worker_that_is_killed_is_replaced(cluster, tmp_path):
    ranking, killed = prepared(slow_scores(str(tmp_path))), []

    def kill():
        deadline = time.monotonic() + 60
        while not (there := [*tmp_path.iterdir()]) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(int(there[0].name), signal.SIGKILL)
        killed.append(there[0].name)

    killer = threading.Thread(target=kill)
    killer.start()
    ours = table_of(ranking, RayExecutor(workers=2))
    killer.join()
    assert killed
    assert {path.name for path in tmp_path.iterdir()} > set(killed)
    assert ours.equals(table_of(ranking, LocalExecutor()))


def test_a_worker_chooses_the_kernel_that_is_right_on_its_machine(cluster):
    """Eight-bit products that are exact where the command was given need not be so elsewhere."""
    dataset = random_dataset()
    ranking = ranking_of(align(distmult(dataset), dataset), dataset, Evaluation(threads=1))
    foreign = replace(ranking, engine=replace(ranking.engine, kernel=None))
    done = list(RayExecutor(workers=1).rank(foreign, divide(ranking, 3), pytest.fail))
    parts = [join_shards(ranking, side, [part for shard, part in done if shard.side == side]) for side in ranking.sides]
    assert ranking.table(parts, "a model").data.equals(ranking.rank("a model").data)


def undefined(heads, relations, tails):
    return np.where(tails == 3, np.nan, 1.0)


def test_an_error_in_a_worker_is_that_of_one_process(cluster):
    ranking, messages = prepared(undefined), []
    for executor in (LocalExecutor(), RayExecutor(workers=1)):
        with pytest.raises(ScoreError, match="NaN") as error:
            table_of(ranking, executor, count=2)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_without_ray_the_command_that_installs_it_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ConfigError, match=r"executor\.kind: ray needs Ray, .* pip install 'kgeval\[ray\]'"):
        table_of(prepared(undefined), RayExecutor())


def test_a_worker_with_another_version_is_refused():
    with pytest.raises(RunError, match=r"a worker of Ray has kgeval .*, but here it is 0\.0"):
        _rank_shard([None], "head", np.arange(1), 1, "0.0")
