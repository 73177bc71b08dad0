"""Shards: the same table as at once, whatever an interrupted run left of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from kgeval import RankTable, load_dataset
from kgeval.base.errors import ConfigError, InputError, Interrupted, RunError
from kgeval.base.files import ReadFiles
from kgeval.data.queries import Queries
from kgeval.models.alignment import align
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.corruption import AllEntities, TypeConstrained, Uniform
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import ranking_of
from kgeval.reports.evaluated_models import read_models
from kgeval.runs.compared_runs import read_compared
from kgeval.runs.config.load import load_config
from kgeval.runs.jobs import Job
from kgeval.runs.resume import Fingerprint, leaves
from kgeval.runs.runner import run
from kgeval.runs.shards import KEY, OPERATIONS_A_MINUTE, ShardStore, divide, divide_exactly, usual_count
from kgeval.runs.stored import read_outcome, read_outcomes
from kgeval.stored.contents import SHARDS, STAGE
from kgeval.stored.folders import Place, look_at
from tests.conftest import random_dataset
from tests.ranking.test_kernels import Vectors
from tests.runs.conftest import table

SHARDED = {"shards": 5}


def distmult(dataset, dim=4):
    rng = np.random.default_rng(0)
    sizes = (len(dataset.entities), len(dataset.relations))
    return DistMult(*(rng.normal(size=(size, dim)) for size in sizes))


class ManyDimensions(Vectors):
    """Vectors of 10¹¹ dimensions, which share their memory."""

    def entity_vectors(self, side, ids):
        return np.broadcast_to(np.float32(0), (len(ids), 10**11))


@pytest.fixture
def ranking():
    """Prepare the ranking of a random graph."""

    def prepare(**settings):
        dataset = random_dataset()
        return ranking_of(align(distmult(dataset), dataset), dataset, Evaluation(**settings))

    return prepare


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_shards_hold_whole_queries_and_each_triple_once(ranking, count):
    whole = ranking()
    shards = divide(whole, count)
    assert [shard.number for shard in shards] == [*range(1, max(count, 2) + 1)]  # a shard is of one side
    for side in whole.sides:
        of_side = [shard.rows for shard in shards if shard.side == side]
        assert sorted(np.concatenate(of_side)) == [*range(len(whole.known))]
        queries = Queries.of(whole.dataset.test, side)
        owner = np.empty(len(whole.known), np.int64)
        owner[queries.triples] = queries.owners
        owners = [set(owner[rows]) for rows in of_side]
        assert sum(map(len, owners)) == len(queries)  # no query is in two
        assert max(map(len, owners)) - min(map(len, owners)) <= 1


def test_there_are_no_more_shards_than_queries(ranking):
    whole = ranking(sides=("tail",))
    queries = len(Queries.of(whole.dataset.test, "tail"))
    assert len(divide(whole, 10**6)) == queries
    with pytest.raises(InputError, match=f"into 1000000 shards, but into {queries}: it has no more queries"):
        divide_exactly(whole, 10**6)


def test_candidates_of_a_type_are_chosen_for_a_whole_side(ranking):
    whole = ranking(corruption=TypeConstrained())
    assert [shard.side for shard in divide(whole, 7)] == ["head", "tail"]
    with pytest.raises(InputError, match="the queries of a side are ranked together"):
        divide_exactly(whole, 7)
    assert usual_count(whole) == 1


@pytest.mark.parametrize(("corruption", "candidates"), [(AllEntities(), 30), (Uniform(count=7), 7)])
def test_shards_are_as_many_as_make_a_minute(ranking, corruption, candidates):
    whole = ranking(corruption=corruption)
    assert usual_count(whole) == 1
    queries = sum(len(Queries.of(whole.dataset.test, side)) for side in whole.sides)
    slow = ranking_of(align(ManyDimensions("dot"), whole.dataset), whole.dataset, whole.evaluation)
    assert usual_count(slow) == queries * candidates * 10**11 // OPERATIONS_A_MINUTE > 1


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


SETTINGS = {
    "all entities": {},
    "drawn": {"evaluation": {"corruption": {"kind": "uniform", "count": 3}}},
    "by type": {"evaluation": {"corruption": {"kind": "typed"}}},
    "one side": {"evaluation": {"sides": ["tail"]}},
    "relations": {"evaluation": {"sides": ["head", "relation"]}, "metrics": ["mrr", "relation_side.map"]},
    "with test known too": {"protocol": "libkge", "evaluation": {"split": "valid"}},
    "as PyKEEN": {"protocol": "pykeen", "by": ["relation"]},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_files_are_those_of_a_ranking_at_once(config, place, monkeypatch, settings):
    run(load_config(config(**settings)), place / "whole")
    for count in (2, 5):
        evaluation = {**settings.get("evaluation", {}), "shards": count}
        run(load_config(config(**{**settings, "evaluation": evaluation})), place / f"in {count}")
        assert table(place / f"in {count}") == table(place / "whole")
        sides = 2 if "corruption" in evaluation and evaluation["corruption"]["kind"] == "typed" else count
        assert manifest(place / f"in {count}")["ranking"]["shards"] == sides
        assert not (place / f"in {count}" / STAGE).exists()
    again = load_config(place / "experiment.yaml", ["evaluation.shards=2"])
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        with pytest.raises(Interrupted):
            run(again, place / "interrupted")
    run(again, place / "interrupted")
    assert manifest(place / "interrupted")["continued"] == {"kept": 1, "computed": 1}
    assert table(place / "interrupted") == table(place / "whole")


@pytest.mark.parametrize("unseen", ["drop", "worst"])
def test_triples_that_the_model_does_not_know_are_where_they_were(config, place, unseen):
    with (place / "graph/test.txt").open("a") as file:
        file.write("e1\teats\tnobody\nnobody\tlikes\te2\n")
    run(load_config(config(evaluation={"unseen": unseen})), place / "whole")
    run(load_config(config(evaluation={"unseen": unseen, "shards": 5})), place / "run")
    ours, whole = (RankTable.from_parquet(place / name).to_pandas() for name in ("run", "whole"))
    labels = [name for name in ours if ours[name].dtype == "category"]  # whose codes may differ
    pd.testing.assert_frame_equal(ours.astype(dict.fromkeys(labels, str)), whole.astype(dict.fromkeys(labels, str)))
    assert table(place / "run")["metrics.json"] == table(place / "whole")["metrics.json"]


def interrupt_after(monkeypatch, shards, error=KeyboardInterrupt):
    """Let the writing of a shard fail, after some were written."""
    write, written = ShardStore.write, []

    def stop(store, shard, ranked):
        if len(written) == shards:
            raise error
        written.append(shard.number)
        write(store, shard, ranked)

    monkeypatch.setattr(ShardStore, "write", stop)
    return written


@pytest.fixture
def interrupted(config, place, monkeypatch):
    """Run until three of five shards are done; return the configuration."""
    settings = load_config(config(evaluation=SHARDED))
    run(settings, place / "whole")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        with pytest.raises(Interrupted, match=r"interrupted after 3 of 5 shards\. The same command continues it"):
            run(settings, place / "run")
    return settings


def shards_in(folder):
    return sorted((folder / STAGE / SHARDS).glob("*.parquet"))


def test_shards_that_are_done_are_not_ranked_again(interrupted, place, monkeypatch):
    assert len(shards_in(place / "run")) == 3
    written = interrupt_after(monkeypatch, 100)
    run(interrupted, place / "run")
    assert written == [4, 5]
    assert manifest(place / "run")["continued"] == {"kept": 3, "computed": 2}
    assert "continued" not in manifest(place / "whole")
    assert table(place / "run") == table(place / "whole")
    assert {path.name for path in (place / "run").iterdir()} == {path.name for path in (place / "whole").iterdir()}


@pytest.mark.parametrize(
    "keys", [{"evaluation": {**SHARDED, "threads": 1}, "executor": {"kind": "local"}}, {}], ids=["threads", "open"]
)
def test_other_threads_or_place_or_no_number_of_shards_continue_it(interrupted, config, place, keys):
    (place / "run").rename(place / "moved")
    run(load_config(config(**keys)), place / "moved")
    assert manifest(place / "moved")["continued"] == {"kept": 3, "computed": 2}


def test_who_reads_an_interrupted_run_is_told_how_far_it_is(interrupted, place):
    """Also of several models, in the folder that theirs are in."""
    message = r"holds no run.* 3 of 5 shards are ranked\. Repeat its command to continue it"
    for read in (
        read_models,
        lambda places: read_compared(places, {}),
        lambda places: read_outcome(places[0][1].runs[""]),
    ):
        with pytest.raises(InputError, match=message):
            read(look_at([("", place / "run")]))
    (place / "all").mkdir()
    (place / "run").rename(place / "all/one")
    with pytest.raises(InputError, match=message.replace("no run", "no finished run")):
        read_outcomes(Place(place / "all"))


def test_a_run_whose_stored_configuration_named_both_sides_is_the_same(interrupted, place):
    """As it was stored when sides that nobody named were written down."""
    config = yaml.safe_load((place / "whole/config.yaml").read_text())
    assert "sides" not in config["evaluation"]
    current = Fingerprint(leaves(config), None, {}, "1")
    config["evaluation"]["sides"] = ["head", "tail"]
    assert [*current.changes(replace(current, config=leaves(config)))] == []
    config["evaluation"]["sides"] = ["tail"]
    (change,) = current.changes(replace(current, config=leaves(config)))
    assert change == "evaluation.sides is ['tail'] there, and not set now"


DAMAGE = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "a bit": lambda path: path.write_bytes(path.read_bytes()[:200] + b"\x00" + path.read_bytes()[201:]),
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_shard_is_computed_again(interrupted, place, damage):
    damage(shards_in(place / "run")[1])
    run(interrupted, place / "run")
    assert manifest(place / "run")["continued"] == {"kept": 2, "computed": 3}
    assert table(place / "run") == table(place / "whole")


CHANGES = {
    "a setting": (["evaluation.filter=[train]"], r"evaluation\.filter is \['train', .*\] there, and \['train'\] now"),
    "the division": (["evaluation.shards=4"], r"evaluation\.shards is 5 there, and 4 now"),
    "nothing divided": (["evaluation.shards=1"], r"evaluation\.shards is 5 there, and 2 now"),
}


@pytest.mark.parametrize(("overrides", "message"), CHANGES.values(), ids=CHANGES)
def test_another_configuration_is_refused_or_begun_anew(interrupted, place, overrides, message):
    changed = load_config(place / "experiment.yaml", overrides)
    with pytest.raises(InputError, match=rf"run' holds . of the . shards .* not finished.*: {message}\. .*--force"):
        run(changed, place / "run")
    assert len(shards_in(place / "run")) == 3
    run(changed, place / "run", force=True)
    assert "continued" not in manifest(place / "run")
    run(changed, place / "new")
    assert table(place / "run") == table(place / "new")


def test_another_dataset_checkpoint_or_version_is_refused(interrupted, place, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("kgeval.runs.jobs.version", lambda _: "9.9")
        with pytest.raises(InputError, match=r"kgeval is .* there, and 9\.9 now"):
            run(interrupted, place / "run")
    (place / "spare/other.safetensors").rename(place / "model.safetensors")
    with pytest.raises(InputError, match=r"model\.safetensors has changed"):
        run(interrupted, place / "run")
    (place / "graph/train.txt").write_text("e1\teats\te2\n" * 2)
    with pytest.raises(InputError, match="the triples of the dataset have changed"):
        run(interrupted, place / "run")


def test_a_shard_of_another_run_is_refused(interrupted, config, place, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        with pytest.raises(Interrupted):
            run(load_config(config(evaluation={**SHARDED, "filter": []})), place / "other")
    for path in shards_in(place / "run")[:1]:
        path.unlink()
    foreign = shards_in(place / "other")[0]
    foreign.rename(place / "run" / STAGE / SHARDS / foreign.name)
    with pytest.raises(InputError, match=r"00001-.*it belongs to another run\. Delete this file and repeat"):
        run(interrupted, place / "run")


def rewrite(path, *, number, key=KEY):
    """Write a shard's file again with other metadata, under the SHA-256 of its new content."""
    found = pq.read_table(path)
    about = {**json.loads(found.schema.metadata[KEY]), "number": number}
    pq.write_table(found.replace_schema_metadata({key: json.dumps(about)}), path)
    path.rename(path.with_name(f"{path.name[:5]}-{hashlib.sha256(path.read_bytes()).hexdigest()}.parquet"))


@pytest.mark.parametrize("altered", [{"number": 2}, {"number": None}, {"number": 1, "key": b"pandas"}])
def test_a_shard_that_is_not_this_part_of_the_ranking_is_refused(interrupted, place, altered):
    rewrite(shards_in(place / "run")[0], **altered)
    told = r"00001-[0-9a-f]+\.parquet: it belongs to another run\. Delete this file and repeat"
    with pytest.raises(InputError, match=told):
        run(interrupted, place / "run")
    shards_in(place / "run")[0].unlink()
    run(interrupted, place / "run")
    assert table(place / "run") == table(place / "whole")


def test_a_shard_that_is_a_link_to_a_device_is_not_read(interrupted, place):
    first = shards_in(place / "run")[0]
    first.unlink()
    first.symlink_to("/dev/zero")
    with pytest.raises(InputError, match="it is a device, not a file"):
        run(interrupted, place / "run")


@pytest.mark.parametrize("content", ["{}", '{"shards": 5, "fingerprint": {"seed": 0}}'])
def test_what_does_not_say_what_the_shards_are_of_is_refused(interrupted, place, content):
    (place / "run" / STAGE / SHARDS / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json' is damaged, or of another version of kgeval\. Delete its folder"):
        run(interrupted, place / "run")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RunError("no space left: 2 of 5")], ids=["interrupt", "disk"])
def test_an_interrupted_replacement_is_continued_by_the_same_command(config, place, monkeypatch, error):
    run(load_config(config(evaluation={"split": "valid"})), place / "run")
    before = table(place / "run")
    settings = load_config(config(evaluation=SHARDED))
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2, error)
        with pytest.raises((Interrupted, RunError), match="2 of 5"):
            run(settings, place / "run", force=True)
    assert table(place / "run") == before
    run(settings, place / "run", force=True)
    assert manifest(place / "run")["continued"] == {"kept": 2, "computed": 3}


def test_of_several_models_each_is_continued(config, place, monkeypatch):
    models = {"a": "model.safetensors", "b": "spare/other.safetensors"}
    settings = load_config(config(model=None, models=models, evaluation=SHARDED))
    run(settings, place / "whole")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 7)
        with pytest.raises(Interrupted, match="2 of 5"):
            run(settings, place / "run")
    with pytest.raises(ConfigError, match=r"models\.b: .*holds . of the . shards .*seed is 0 there, and 1 now"):
        run(load_config(place / "experiment.yaml", ["seed=1", "models={b: spare/other.safetensors}"]), place / "run")
    first, second = run(settings, place / "run")
    assert (first.stored, second.stored) == (True, False)
    assert manifest(place / "run/b")["continued"] == {"kept": 2, "computed": 3}
    assert table(place / "run/b") == table(place / "whole/b")


def test_a_trained_model_and_its_shards_are_kept(config, place, monkeypatch):
    model = {"kind": "pykeen", "model": "DistMult", "model_kwargs": {"embedding_dim": 4}}
    training = {"training_kwargs": {"num_epochs": 1, "batch_size": 4}, "device": "cpu"}
    settings = load_config(config(model={**model, **training}, evaluation=SHARDED))
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        with pytest.raises(Interrupted, match="3 of 5"):
            run(settings, place / "run")
    monkeypatch.setattr("pykeen.pipeline.pipeline", lambda **_: pytest.fail("it was trained again"))
    run(settings, place / "run")
    assert manifest(place / "run")["continued"] == {"kept": 3, "computed": 2}


def test_a_task_has_no_executor(config):
    with pytest.raises(ConfigError, match="executor: it ranks shards, and a task has none"):
        load_config(config(task={"kind": "classification"}, executor={"kind": "local"}))
    with pytest.raises(ConfigError, match="executor"):
        load_config(config(executor={"kind": "rai"}))


def test_shards_on_a_device_have_the_bytes_of_the_processor(config, place):
    pytest.importorskip("torch")
    run(load_config(config()), place / "whole")
    run(load_config(config(evaluation={"device": "torch:cpu", "shards": 3})), place / "shards")
    assert table(place / "shards") == table(place / "whole")
    assert manifest(place / "shards")["ranking"]["device"] == "torch:cpu"


@pytest.mark.parametrize(
    ("settings", "sides"),
    [({}, 2), ({"protocol": "pyg"}, 1), ({"protocol": "pyg", "evaluation": {"sides": ["head", "tail"]}}, 2)],
)
def test_as_many_ranks_are_announced_as_there_will_be(config, place, settings, sides):
    dataset = load_dataset(place / "graph")
    job = Job(load_config(config(**settings)), "", None, dataset, ReadFiles())
    assert job.num_ranks(distmult(dataset)) == sides * len(dataset.test)
