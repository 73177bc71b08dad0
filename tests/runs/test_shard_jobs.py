"""Shards as jobs of their own: in any order, any number at once; the merge finishes the run or says what it lacks."""

from __future__ import annotations

import threading

import pytest

from kgeval.base.errors import ConfigError, InputError
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import merge, run, run_shard
from kgeval.stored.contents import SHARDS, STAGE, is_run
from kgeval.stored.staging import reserve, reserve_shard
from tests.cli.conftest import invoke
from tests.runs.conftest import table

COUNT = 4


@pytest.fixture
def settings(config, place):
    settings = load_config(config())
    run(settings, place / "whole")
    return settings


def test_jobs_in_any_order_are_merged(settings, place):
    done = [run_shard(settings, place / "run", number, COUNT)[place / "run"] for number in (3, 1, 4, 2)]
    assert sum(done) == 10
    assert not is_run(place / "run")
    (outcome,) = merge(place / "run")
    assert table(place / "run") == table(place / "whole")
    with pytest.raises(InputError, match="holds a finished run: there is nothing to merge"):
        merge(place / "run")
    assert outcome.summary.to_dict()["metrics"]["both"]["count"] == 10


def test_a_shard_that_is_there_is_not_ranked_again(settings, place, monkeypatch):
    run_shard(settings, place / "run", 2, COUNT)
    monkeypatch.setattr("kgeval.ranking.engine.Engine.rank", lambda *_: pytest.fail("it was ranked again"))
    assert run_shard(settings, place / "run", 2, COUNT) == {place / "run": None}


def test_missing_shards_are_named(settings, place):
    with pytest.raises(InputError, match="holds no shards"):
        merge(place / "run")
    run_shard(settings, place / "run", 2, COUNT)
    with pytest.raises(InputError, match=r"missing of the 4 shards in .*run': 1, 3, 4\. .*--shard 1/4' ranks"):
        merge(place / "run")
    path = next((place / "run" / STAGE / SHARDS).glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"missing of the 4 shards .*: 1, 2, 3, 4\."):
        merge(place / "run")


def test_the_whole_command_ranks_what_is_missing(settings, place):
    run_shard(settings, place / "run", 2, COUNT)
    run(settings, place / "run")
    assert table(place / "run") == table(place / "whole")


def test_jobs_of_another_configuration_or_division_are_refused(settings, config, place):
    run_shard(settings, place / "run", 2, COUNT)
    other = load_config(config(evaluation={"filter": []}))
    with pytest.raises(InputError, match=r"evaluation\.filter is .* there, and \[\] now"):
        run_shard(other, place / "run", 3, COUNT)
    again = r"run' holds 1 of the 4 shards .*shards is 4 there, and 5 now\. Divide it into 4 again \(--shard K/4\)"
    with pytest.raises(InputError, match=again):
        run_shard(settings, place / "run", 3, 5)
    with pytest.raises(ConfigError, match=r"--shard says 4 shards, but evaluation\.shards is 8"):
        run_shard(load_config(config(evaluation={"shards": 8})), place / "new", 3, COUNT)
    with pytest.raises(InputError, match="into 100 shards, but into"):
        run_shard(settings, place / "new", 3, 100)


def test_a_folder_with_a_run_takes_no_shards_but_by_force(settings, config, place):
    # A job that is repeated after the merge.
    assert run_shard(settings, place / "whole", 1, 2) == {place / "whole": None}
    assert not (place / "whole" / STAGE).exists()
    with pytest.raises(InputError, match=r"already holds a different run: evaluation\.split"):
        run_shard(load_config(config(evaluation={"split": "valid"})), place / "whole", 1, 2)
    for number in (1, 2):
        run_shard(settings, place / "whole", number, 2, force=True)
    (outcome,) = merge(place / "whole")
    assert outcome.stored
    before = table(place / "whole")
    merge(place / "whole", force=True)
    assert table(place / "whole") == before
    assert not (place / "whole" / STAGE).exists()


def test_two_jobs_of_one_shard_and_a_run_beside_jobs_are_refused(settings, place):
    with reserve_shard(place / "run", 1, force=False):
        with pytest.raises(InputError, match=r"another process is ranking shard 1 in .*run'"):
            run_shard(settings, place / "run", 1, COUNT)
        with pytest.raises(InputError, match="another process is writing a run into"):
            run(settings, place / "run")
        run_shard(settings, place / "run", 2, COUNT)
    run(settings, place / "run")
    assert table(place / "run") == table(place / "whole")


def test_a_job_beside_a_whole_run_is_refused(place):
    with (
        reserve(place / "run", force=False),
        pytest.raises(InputError, match="another process is writing a run into"),
        reserve_shard(place / "run", 1, force=False, patience=0.1),
    ):
        pytest.fail("both write there")


def test_jobs_that_begin_together_wait_for_each_other(settings, place):
    errors = []

    def job(number):
        try:
            run_shard(settings, place / "run", number, COUNT)
        except Exception as error:
            errors.append(error)

    jobs = [threading.Thread(target=job, args=(number,)) for number in range(1, COUNT + 1)]
    for thread in jobs:
        thread.start()
    for thread in jobs:
        thread.join()
    assert not errors
    merge(place / "run")
    assert table(place / "run") == table(place / "whole")


def test_jobs_of_several_models(config, place):
    models = {"a": "model.safetensors", "b": "spare/other.safetensors"}
    settings = load_config(config(model=None, models=models))
    run(settings, place / "whole")
    run_shard(settings, place / "run", 1, 2)
    with pytest.raises(InputError, match=r"shards in .*run/a': 2"):
        merge(place / "run")
    run_shard(settings, place / "run", 2, 2)
    assert [outcome.name for outcome in merge(place / "run")] == ["a", "b"]
    for name in models:
        assert table(place / "run" / name) == table(place / "whole" / name)


def test_a_task_or_a_training_is_not_divided(config, place):
    with pytest.raises(ConfigError, match="--shard divides the ranking of stored models"):
        run_shard(load_config(config(model={"kind": "pykeen", "model": "TransE"})), place / "run", 1, 2)


def test_the_commands(settings, place):
    arguments = ("run", "experiment.yaml", "--out", "run", "--shard")
    for number in (1, 2):
        result = invoke(*arguments, f"{number}/2")
        assert f"run: shard {number} of 2, 5 ranks" in result.output
    assert "already done" in invoke(*arguments, "2/2").output
    result = invoke("merge", "run")
    assert result.exit_code == 0
    assert "mrr" in result.output
    assert table(place / "run") == table(place / "whole")
    for wrong in ("3", "0/2", "3/2", "a/b"):
        result = invoke(*arguments, wrong)
        assert result.exit_code == 2
        assert "expected K/N, such as 3/16" in result.output
