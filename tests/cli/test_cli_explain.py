"""``kgeval explain``."""

from __future__ import annotations

import pytest

from kgeval import explain, load_checkpoint
from kgeval.corruption import Uniform
from kgeval.protocols.explanation import Explanation, ProtocolExplanation
from kgeval.provenance import Provenance

EXPLAIN = ["explain", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1", "--protocols"]


@pytest.fixture
def told(place):
    return explain(load_checkpoint("model", model="TransE", norm=1), "graph/", ["libkge", "bordes-raw"])


def test_the_explanation_is_that_of_the_library(data, told):
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
