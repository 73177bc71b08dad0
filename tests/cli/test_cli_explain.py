"""``kgeval explain``."""

from __future__ import annotations

import pytest

from kgeval import explain, load_checkpoint

EXPLAIN = ["explain", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1", "--protocols"]


@pytest.fixture
def told(place):
    return explain(load_checkpoint("model", model="TransE", norm=1), "graph/", ["libkge", "bordes-raw"])


def test_the_explanation_is_that_of_the_library(data, told):
    assert data(*EXPLAIN, "libkge, bordes-raw") == told.to_dict()


def test_people_get_one_table(done, told):
    printed = done(*EXPLAIN, "libkge,bordes-raw").splitlines()
    assert printed[0].split()[:2] == ["protocol", "mrr"]
    rows = {line.split()[0]: line.split() for line in printed[1:] if line[:1].isalpha()}
    assert list(rows.values()) == told.table()[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["libkeg"], "unknown protocol 'libkeg'. Did you mean 'libkge'?"),
        (["libkge", "--metric", "map"], "cannot explain 'map'"),
        (["libkge", "--split", "tset"], "split: unknown value 'tset'. Did you mean 'test'?"),
    ],
)
def test_bad_input_is_one_clear_message(refused, arguments, message):
    assert message in refused(*EXPLAIN, *arguments)
