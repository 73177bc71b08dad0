"""Seeds, units and estimates: what a page says of several runs of one model, of other relations, and of samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kgeval
from kgeval import Estimate
from kgeval.errors import MetricError
from kgeval.metrics import interval_over_seeds
from kgeval.metrics.estimates.sampling import Sampling
from kgeval.reports.breakdown import slice_scores
from kgeval.reports.evaluated_model import EvaluatedModel
from kgeval.reports.reading import read_models
from kgeval.reports.sections.making import making
from kgeval.reports.sections.standings import standings
from kgeval.reports.sections.trust import exactness
from kgeval.reports.sections.verdict import verdicts
from kgeval.reports.study import study_of
from tests.reports.conftest import family, ranks_of, seeded

pytest.importorskip("altair")

DATA = family()


def study(models, **options):
    return study_of(read_models(models), None, **options)


def names(models):
    return [(model.name, len(model.seeds)) for model in read_models(models)]


def test_runs_that_differ_in_the_seed_alone_are_one_model():
    (low, other), (middle, high) = seeded(DATA, "strong", [0.2, 0.9]), seeded(DATA, "strong", [0.3, 0.4], first=2)
    (model,) = read_models([low, other, middle, high])
    assert (model.name, [run.name for run in model.seeds]) == ("strong", ["seed 0", "seed 1", "seed 2", "seed 3"])
    # Of 0.2, 0.3, 0.4 and 0.9 the lower of the two in the middle.
    assert model.table is middle.table
    apart = replace(low, config={**low.config, "model": {**low.config["model"], "model_kwargs": {"dim": 2}}})
    assert names({"a": low, "b": other}) == [("a", 0), ("b", 0)]
    assert names([("", low), ("", other), ("wider", apart)]) == [("strong", 2), ("wider", 0)]
    wider = replace(apart, table=replace(apart.table, model="wider"))
    assert names([low, wider, high]) == [("strong", 2), ("wider", 0)]
    assert names([("", low), ("x", other), ("", high)]) == [("strong", 2), ("x", 0)]


def test_the_same_seed_twice_and_models_without_a_seed_stay_as_they_are():
    (run,) = seeded(DATA, "strong", [0.2])
    again = replace(run, table=replace(run.table, model="again"))
    assert names([run, again]) == [("strong", 0), ("again", 0)]
    checkpoint = {"model": {"kind": "checkpoint", "path": "m"}}
    tables = [ranks_of(DATA, 0.3, seed=seed, model=f"m{seed}") for seed in range(2)]
    assert names([EvaluatedModel("", table, checkpoint) for table in tables]) == [("m0", 0), ("m1", 0)]


def test_of_seeds_the_mean_is_shown_with_the_interval_over_seeds():
    runs = seeded(DATA, "strong", [0.2, 0.35, 0.3])
    found = study([*runs, ("alone", ranks_of(DATA, 0.1))])
    assert found.names == ["strong", "alone"]
    for metric in ("mrr", "hits@10", "amri"):
        row = found.scores[(found.scores["metric"] == metric) & (found.scores["model"] == "strong")].iloc[0]
        values = [kgeval.summarize(run.table, metric)[metric] for run in runs]
        expected = interval_over_seeds([run.table for run in runs], metric).interval
        assert row["seeds"] == tuple(values)
        assert row["value"] == pytest.approx(np.mean(values))
        assert (row["low"], row["high"]) == (expected.low, expected.high)
        alone = kgeval.summarize(runs[2].table, metric, intervals="triple").interval(metric)
        assert row["high"] - row["low"] > alone.high - alone.low
    section = standings(found)
    assert [row["seeds"] for row in section.content["rows"]] == [3, 0]
    assert "of several seeds the mean" in section.content["note"]
    assert ("Seeds", "seed 0, seed 1, seed 2; all else here is of the run in the middle") in [
        fact for model in making(found).content["models"] for fact in model["facts"]
    ]


def test_verdicts_count_the_pairs_of_seeds():
    found = study([*seeded(DATA, "strong", [0.3, 0.5, 0.4]), ("weak", ranks_of(DATA, 0.1))])
    assert found.ahead("strong", "weak") == (3, 3)
    assert found.ahead("weak", "strong") == (0, 3)
    assert verdicts(found)[0].sentence.startswith("strong is better than weak, with every seed: MRR +")
    assert standings(found).title.startswith("strong leads with an MRR")
    assert "chance" not in standings(found).title
    mixed, even = seeded(DATA, "mixed", [0.05, 0.6]), seeded(DATA, "even", [0.2, 0.22])
    found = study([*mixed, *even])
    values = [[kgeval.summarize(run.table, "mrr")["mrr"] for run in runs] for runs in (mixed, even)]
    ahead = sum(one > other for one in values[0] for other in values[1])
    assert 0 < ahead < 4
    assert f"mixed is ahead in {ahead} of 4 pairs of seeds." in verdicts(found)[0].sentence
    assert standings(found).title.endswith("but not with every seed")


def test_seeds_are_cut_to_the_rows_that_all_models_have():
    whole = seeded(DATA, "strong", [0.2, 0.4])
    part = ranks_of(DATA, 0.1).where(ranks_of(DATA, 0.1).column("triple") < 250)
    found = study([*whole, ("part", part)], allow="triples")
    assert [len(run.table) for run in found.runs] == [500, 500, 500]
    cut = [run.table.where(run.table.column("triple") < 250) for run in whole]
    assert found.scores["seeds"][0] == tuple(kgeval.summarize(table, "mrr")["mrr"] for table in cut)


def test_a_model_that_is_no_better_than_chance_is_said_to_be_so(nations):
    table = kgeval.evaluate(lambda h, r, t: (h * 31 + r * 13 + t * 7) % 11, nations)
    value = kgeval.summarize(table, "mrr")["mrr"]
    expected = f"toy reaches an MRR of {value:.3f}, not seen to be more than chance"
    assert standings(study({"toy": table})).title == expected


def test_runs_of_other_rows_are_no_seeds():
    low, high = seeded(DATA, "strong", [0.2, 0.4])
    part = replace(high, table=high.table.where(high.table.column("triple") < 250))
    with pytest.raises(MetricError, match="no runs of one model"):
        study([low, part])


@pytest.mark.parametrize("unit", ["triple", "query", "relation"])
def test_intervals_tests_and_slices_are_of_the_unit(unit):
    tables = {f"m{seed}": ranks_of(DATA, skill, seed=seed) for seed, skill in enumerate([0.2, 0.35])}
    found = study(tables, unit=unit)
    plural = {"triple": "triples", "query": "queries", "relation": "relations"}[unit]
    for name, table in tables.items():
        expected = kgeval.summarize(table, "mrr", intervals=unit).interval("mrr")
        row = found.scores[(found.scores["metric"] == "mrr") & (found.scores["model"] == name)].iloc[0]
        assert (row["low"], row["high"]) == (expected.low, expected.high)
    (pair,) = kgeval.compare({"m1": tables["m1"], "m0": tables["m0"]}, ["mrr"], unit=unit).pairs
    assert (found.comparison.pairs[0].p, found.comparison.pairs[0].interval) == (pair.p, pair.interval)
    section = standings(found)
    assert f"had the {plural} been drawn again. p: by 9,999 sign flips per {unit}" in section.content["basis"]
    assert section.content["note"].startswith(f"Below each number its 95 % interval, had the {plural} been drawn again")
    (side, *_) = [row for row in slice_scores(found, ["side"]).itertuples() if row.model == "m1"]
    summary = kgeval.summarize(tables["m1"], "mrr", by="side", intervals=unit)
    expected = next(group for group in summary.groups if group.key["side"] == side.group)
    (interval,) = expected.intervals.values()
    assert (side.low, side.high) == (interval.low, interval.high)


def test_where_there_are_too_few_units_the_page_says_so():
    few = family(2, entities=9, relations=2, triples=20)
    page = kgeval.report({"m": ranks_of(few, 0.3)}, dataset=few, unit="relation").html
    assert "No intervals, had the relations been drawn again: 2 relations" in page
    assert "Whiskers: 95 % intervals, had the relations been drawn again; no category has enough of them" in page
    with pytest.raises(MetricError, match=r"unknown unit 'relations'. Did you mean 'relation'\?"):
        kgeval.report({"m": ranks_of(few, 0.3)}, unit="relations")


def test_a_lamp_tells_exact_from_drawn_from_estimated():
    table = ranks_of(DATA, 0.3)
    lamp = exactness(study({"m": table}))
    assert (lamp.name, lamp.state) == ("Exact", "good")
    lamp = exactness(study({"m": replace(table, candidates="5 uniform (seed 0)")}))
    assert (lamp.name, lamp.state) == ("Candidates", "warning")
    assert "competed with 5 uniform (seed 0), and not with all entities" in lamp.warning
    assert exactness(study({"m": replace(table, candidates="unknown")})).state == "unknown"
    data = table.data.append_column("stratum", pa.array(np.zeros(len(table), np.int64)))
    sampling = Sampling(Estimate(triples=1000), counts=(table.num_triples,), sizes=(20_466,))
    sample = replace(table, data=data, sampling=sampling)
    lamp = exactness(study([("drawn", sample), ("exact", table)]))
    assert (lamp.name, lamp.state) == ("Estimated", "warning")
    assert f"drawn is estimated from {table.num_triples} of 20,466 triples (95 %), stratified" in lamp.warning
