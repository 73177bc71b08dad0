"""``kgeval evaluate`` and ``kgeval explain``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from kgeval import RankTable, evaluate, explain, framework_metrics, load_checkpoint, load_dataset, summarize
from kgeval.base.notes import in_json
from kgeval.data.provenance import Provenance
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.protocols.explain import Explanation, ProtocolExplanation
from tests.cli.conftest import invoke, write_model

EVALUATE = ["evaluate", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]


@pytest.fixture
def table(place):
    graph = load_dataset("graph/")
    return evaluate(load_checkpoint("model", dataset=graph, model="TransE", norm=1), graph)


def test_the_metrics_are_those_of_the_library(data, table):
    assert data(*EVALUATE) == summarize(table).to_dict()


def test_metrics_ties_and_split_can_be_chosen(data):
    result = data(*EVALUATE, "--metric", "hits_at_2", "-m", "head.mrr", "--ties", "pessimistic", "--split", "valid")
    assert (result["split"], result["ties"], result["num_triples"]) == ("valid", "pessimistic", 4)
    assert set(result["metrics"]["head"]) == {"hits@2", "mrr"}
    assert set(result["metrics"]["tail"]) == {"hits@2"}


def test_relations_are_predicted_where_that_is_said(place, data):
    sides = ["--sides", "head", "--side", "relation", "--by", "relation", "--out", "relations"]
    result = data(*EVALUATE, *sides, "-m", "mrr", "-m", "relation.mrr", "-m", "relation_side.map")
    table = evaluate(load_checkpoint("model", dataset="graph/", model="TransE", norm=1), "graph/", sides="relation")
    expected = summarize(table, ["mrr", "relation.mrr", "map"])
    assert result["metrics"]["relation"] == {name: expected[name] for name in ("mrr", "relation.mrr", "map")}
    assert set(result["metrics"]) == {"head", "relation"}
    assert {group["key"]["relation"] for group in result["groups"]} == set(table.column("relation_label"))
    again = data("summarize", "relations", "-m", "relation_side.mrr")
    assert again["metrics"] == {"relation": {"mrr": expected["mrr"]}}


def test_policies_of_ranks_can_be_chosen(place, data):
    options = ("--ties", "random", "--seed", "2", "--chance", "without-answer", "--popularity", "0.5", "2")
    told = data(*EVALUATE, *options, "-m", "strat.mrr", "-m", "z-mr", "--out", "chosen")
    policies = {"ties": "random", "seed": 2, "chance": "without-answer", "popularity": (0.5, 2)}
    table = RankTable.from_parquet(place / "chosen/ranks.parquet")
    assert told == summarize(table, ["strat.mrr", "z-mr"], **policies).to_dict() == data("summarize", "chosen")


def test_the_report_has_the_frameworks_names_and_digits(data, done, table):
    found = data(*EVALUATE, "--protocol", "torchkge")["protocol"]
    expected = framework_metrics(
        evaluate(load_checkpoint("model", model="TransE", norm=1), "graph/", protocol="torchkge")
    )
    assert found == {"name": "torchkge", "metrics": expected.values, **in_json(expected.notes)}
    printed = done(*EVALUATE, "--protocol", "torchkge")
    assert all(name in printed and text in printed for name, text in expected.texts.items())
    assert "mrr, filtered" not in done(*EVALUATE, "--protocol", "torchkge", "--metric", "mr")


def test_a_run_keeps_what_the_framework_prints(data, place):
    told = data(*EVALUATE, "--protocol", "libkge", "--out", "run2")
    assert json.loads((place / "run2/metrics.json").read_text()) == told
    assert framework_metrics(RankTable.from_parquet(place / "run2/ranks.parquet")).to_dict() == told["protocol"]


@pytest.mark.parametrize(
    "how",
    [
        ("--batch-size", 1),
        ("--threads", 1),
        ("--device", "torch:cpu"),
        ("--layout", "labels"),
        ("--checkpoint-format", "auto"),
    ],
)
def test_how_it_is_computed_changes_nothing(data, how):
    assert data(*EVALUATE, *how) == data(*EVALUATE)


def test_out_writes_a_run(data, place, table):
    printed = data(*EVALUATE, "--out", "new/run")
    assert {path.name for path in (place / "new/run").iterdir()} == {
        *("config.yaml", "manifest.json", "metrics.json", "ranks.parquet")
    }
    assert json.loads((place / "new/run/metrics.json").read_text()) == printed
    assert RankTable.from_parquet(place / "new/run/ranks.parquet").data.equals(table.data)


def test_without_out_nothing_is_written(done, place):
    before = sorted(place.rglob("*"))
    done(*EVALUATE)
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("name", ["ranks.parquet", "metrics.json", "config.yaml", "manifest.json"])
def test_a_folder_in_the_way_of_a_file_fails(refused, place, name):
    (place / "new" / name).mkdir(parents=True)
    refused(*EVALUATE, "--out", "new", "--force", code=1)
    assert [path.name for path in (place / "new").glob(".*")] == []


def test_a_model_that_gives_nan_fails(place, refused):
    write_model(
        place / "large", entity=np.full((8, 4), 1e308) * np.array([1, -1, 1, -1]), relation=np.full((3, 4), 1e308)
    )
    arguments = ["large", *EVALUATE[2:4], "--option", "model=ComplEx"]
    with np.errstate(all="ignore"):
        assert "score is NaN for (?, " in refused("evaluate", *arguments, code=1)


def test_parameters_that_are_nan_are_bad_input(place, refused):
    write_model(place / "holes", entity=np.full((8, 4), np.nan))
    told = refused("evaluate", "holes", *EVALUATE[2:])
    assert "the array 'entity' holds nan at row 0 (ant)" in told
    assert "--nan worst" in told


def test_parameters_that_are_nan_can_be_the_worst(place, data):
    entity = np.ones((8, 4))
    entity[3] = np.nan
    write_model(place / "holes", entity=entity)
    result = data("evaluate", "holes", *EVALUATE[2:], "--nan", "worst")
    assert result["metrics"]["both"]["count"] == 12


def test_an_interruption_is_no_traceback(place, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kgeval.ranking.engine.Engine.rank", interrupt)
    result = invoke(*EVALUATE, "--out", "interrupted")
    assert result.exit_code == 130
    assert result.output.endswith("Error: interrupted.\n")
    assert not (place / "interrupted").exists()


def test_notes_go_to_standard_error(place):
    from kgeval.cli import main

    (place / "graph/test.txt").write_text("ant\teats\tbee\nant\teats\tyak\n")
    result = CliRunner().invoke(main, [*EVALUATE, "--unseen", "drop", "--json"])
    assert "1 test triple with an entity or relation that the model does not know" in result.stderr
    assert json.loads(result.stdout)["num_triples"] == 1


def test_unseen_triples_are_refused_with_the_way_out(refused, place):
    (place / "graph/test.txt").write_text("ant\teats\tbee\nant\teats\tyak\n")
    told = refused(*EVALUATE)
    assert "(ant, eats, yak)" in told
    assert "unseen: drop" in told


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (["--split", "valid"], ["evaluation.split=valid"]),
        (["--corruption", "uniform:count=3,seed=5"], ["evaluation.corruption={kind: uniform, count: 3, seed: 5}"]),
        (["--ties", "optimistic", "-m", "mrr"], ["ties=optimistic", "metrics=mrr"]),
        (["--protocol", "openke"], ["protocol=openke"]),
        (["--filter", "none", "--sides", "tail"], ["evaluation.filter=[]", "evaluation.sides=tail"]),
    ],
)
def test_every_key_can_be_set(data, options, keys):
    assert data(*EVALUATE, *(f"--set={key}" for key in keys)) == data(*EVALUATE, *options)


def test_keys_without_an_option_can_be_set(place, done, data):
    done(*EVALUATE, "--set", "evaluation.kernel=reference", "--set", "output=out")
    assert json.loads((place / "out/manifest.json").read_text())["ranking"]["kernel"] == "reference"
    assert "kernel: reference" in (place / "out/config.yaml").read_text()


EXPLAIN = ["explain", *EVALUATE[1:], "--protocols"]


def test_the_explanation_is_that_of_the_library(data):
    told = explain(load_checkpoint("model", model="TransE", norm=1), "graph/", ["libkge", "bordes-raw"])
    assert data(*EXPLAIN, "libkge, bordes-raw") == told.to_dict()


def explained(**causes):
    provenance = Provenance("TransE", "graph", "test", 6, "standard", (), "all 8 entities")
    values = {"value": 0.5 + sum(causes.values()), "optimistic": 0.6, "pessimistic": 0.4, "provenance": provenance}
    return Explanation("mrr", 0.5, provenance, (ProtocolExplanation("libkge", causes=causes, **values),), ())


def test_what_no_digit_shows_is_a_dot_or_no_column():
    """Sums in float32 move a mean by less than half of the last digit."""
    columns, ((*_, difference, best, worst),) = explained(averaging=3e-7).table()
    assert columns == ["protocol", "mrr", "− standard", "if all ties won", "if all ties lost"]
    assert (difference, best, worst) == ("·", "0.600000", "0.400000")
    columns, (row,) = explained(averaging=-4.9e-7, ties=-0.1).table()
    assert columns == ["protocol", "mrr", "− standard", "ties", "if all ties won", "if all ties lost"]
    assert row == ["libkge", "0.400000", "-0.100000", "-0.100000", "0.600000", "0.400000"]
    columns, (row,) = explained(averaging=6e-7).table()
    assert (columns[3], row[3]) == ("averaging", "+0.000001")
    assert explained(averaging=3e-7).to_dict()["protocols"]["libkge"]["causes"] == {"averaging": 3e-7}


def test_keys_of_the_evaluation_can_be_set(data, place):
    drawn = data(*EXPLAIN, "libkge", "--set", "evaluation.corruption={kind: uniform, count: 2}")
    model = load_checkpoint("model", model="TransE", norm=1)
    assert drawn == explain(model, "graph/", ["libkge"], corruption=Uniform(count=2)).to_dict()


def test_a_run_keeps_its_sides_under_other_rules(data, done):
    done("run", "config.yaml", "--set", "evaluation.sides=tail", "--out", "tails")
    model = load_checkpoint("model", model="TransE", norm=1)
    told = data("explain", "tails", "--protocols", "libkge")["protocols"]["libkge"]
    alike = explain(model, "graph/", ["libkge"], sides="tail").to_dict()["protocols"]["libkge"]
    assert (told["value"], told["causes"]) == (alike["value"], alike["causes"])
    assert [*data("evaluate", "tails", "--protocol", "libkge")["metrics"]] == ["tail"]
    assert {query["side"] for query in data("predict", "tails")["queries"]} == {"tail"}


def test_sides_that_a_protocol_chose_are_not_carried_to_another(data, done):
    done("run", "config.yaml", "--set", "protocol=pyg", "--out", "pyg")
    assert [*data("evaluate", "pyg")["metrics"]] == ["tail"]
    assert [*data("evaluate", "pyg", "--protocol", "standard")["metrics"]] == ["both", "head", "tail"]
