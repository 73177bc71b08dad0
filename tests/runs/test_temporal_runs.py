"""Runs on temporal graphs: shards and their merge, kept predictions, estimates and pages are of facts at a time."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Dataset, Estimate, RankTable, answers, evaluate, summarize
from kgeval.analysis.answer_sets.answers import answers_of_ranks
from kgeval.base.errors import InputError
from kgeval.models.families.complex import TComplEx
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.reports.evaluated_models import look, read_models
from kgeval.reports.origins import triple_table
from kgeval.reports.study import study_of
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import merge, run, run_shard
from tests.data.folders import write
from tests.runs.conftest import ENTITIES, RELATIONS

DAYS = ["2014-01-01", "2014-01-02", "2014-01-03"]
RNG = np.random.default_rng(0)
SIZES = {"entity": (9, 6), "relation": (2, 6), "time": (3, 6)}


def facts(count, entities=9):
    cells = RNG.integers(0, (entities, 2, entities, 3), (count, 4)).tolist()
    return [(f"e{h}", RELATIONS[r], f"e{t}", DAYS[day]) for h, r, t, day in cells]


@pytest.fixture
def dated(place):
    """Give the graph times, and a model of them."""
    every = [(entity, RELATIONS[0], entity, DAYS[row % 3]) for row, entity in enumerate(ENTITIES)]
    splits = {"train": [*every, *facts(40)], "valid": facts(20), "test": facts(40)}
    write(place / "graph", {split: dict.fromkeys(rows) for split, rows in splits.items()})
    np.savez(place / "timed.npz", **{name: RNG.normal(size=size) for name, size in SIZES.items()})
    return place


MODEL = {"path": "timed.npz", "options": {"model": "TComplEx", "ids": "dataset"}}


def test_shards_and_their_merge_are_the_whole_run(dated, config):
    settings = load_config(config(model=MODEL, by=["time", "seen-time"]))
    run(settings, dated / "whole")
    run(load_config(config(model=MODEL, by=["time", "seen-time"], evaluation={"shards": 3})), dated / "divided")
    for number in (2, 1, 3):
        run_shard(settings, dated / "jobs", number, 3)
    merge(dated / "jobs")
    whole = RankTable.from_parquet(dated / "whole")
    assert sorted({*whole.column("time")}) == DAYS
    for folder in ("divided", "jobs"):
        assert RankTable.from_parquet(dated / folder).data.equals(whole.data)
        assert (dated / folder / "metrics.json").read_bytes() == (dated / "whole/metrics.json").read_bytes()


def test_kept_predictions_name_their_time_on_the_page_too(dated, config):
    run(load_config(config(model=MODEL, evaluation={"keep": {"predictions": 9}})), dated / "run")
    kept = PredictionTable.from_parquet(dated / "run/predictions.parquet").to_pandas()
    assert kept[kept["place"] == 1].groupby(["side", "anchor", "relation", "time"], observed=True).size().max() == 1
    assert sorted(kept["time"].unique()) == DAYS
    study = study_of(read_models(look([dated / "run"])), dated / "graph", ties=None, allow=())
    data, table = triple_table(study).data["triples"], RankTable.from_parquet(dated / "run")
    assert data["time"] == table.column("time").tolist()
    (lists,) = data["predictions"]
    for row, query in enumerate(lists["row"]):  # where its list has the answer, above it are as many as its rank says
        listed = lists["entity"][lists["offset"][query] : lists["offset"][query + 1]]
        place = listed.index(data["tail" if data["side"][row] else "head"][row])
        assert place == table.column("raw_greater")[row]


def test_sets_are_calibrated_by_ranks_at_the_same_time():
    every = [(entity, relation, entity, day) for entity in ENTITIES for relation in RELATIONS for day in DAYS[:1]]
    data = Dataset.from_labels(train=[*every, *facts(30)], valid=facts(60), test=facts(60))
    model = TComplEx(**{name: RNG.normal(size=size) for name, size in (SIZES | {"time": (len(data.times), 6)}).items()})
    valid, test = (evaluate(model, data, split=split) for split in ("valid", "test"))
    ranks = [1 + table.column("greater") + table.column("tied") for table in (valid, test)]
    limit = np.sort(ranks[0])[int(np.ceil(0.8 * (len(valid) + 2))) - 1]  # a triple has two ranks
    found = answers(model, data, coverage=0.8)
    assert found.covered.tolist() == (ranks[1] <= limit).tolist()
    assert answers_of_ranks(valid, test, coverage=0.8).covered.tolist() == found.covered.tolist()
    static = evaluate(model, data, split="valid", times="static")
    with pytest.raises(
        InputError, match="the times of the validation ranks is 'static', that of the test ranks 'time-aware'"
    ):
        answers_of_ranks(static, test)


def test_a_sample_has_the_ranks_of_the_whole():
    data = Dataset.from_labels(train=list(dict.fromkeys(facts(2500, 60))), test=list(dict.fromkeys(facts(2500, 60))))
    sizes = {"entity": len(data.entities), "relation": 2, "time": 3}
    model = TComplEx(**{name: RNG.normal(size=(size, 6)) for name, size in sizes.items()})
    whole, sample = evaluate(model, data), evaluate(model, data, estimate=Estimate(error=0.01))
    assert len(sample) < len(whole)
    one, other = (table.to_pandas().set_index(["side", "triple"]) for table in (sample, whole))
    names = ["greater", "tied", "candidates", "time"]
    assert one[names].equals(other.loc[one.index, names])
    found = summarize(sample, ["mrr"])
    assert found["mrr"] == pytest.approx(summarize(whole, ["mrr"])["mrr"], abs=0.02)
