"""The paragraph of a paper: what the runs say, the numbers of summaries, and the sources that it names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import InputError
from kgeval.models.checkpoints import Checkpoint
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.corruption import Uniform

pytest.importorskip("jinja2")

from kgeval.reports.methods import methods
from kgeval.runs.runner import run
from tests.reports.test_report_sources import check_content


def first(h, r, t):
    return (h * 31 + t * 7 + r) % 11


def second(h, r, t):
    return (h * 5 + t * 3) % 13


@pytest.fixture(scope="module")
def tables():
    return {name: kgeval.evaluate(model, "umls") for name, model in {"first": first, "second": second}.items()}


def test_it_has_the_numbers_and_the_test(tables):
    text = methods(tables)
    pair = kgeval.compare(tables, "mrr").pairs[0]
    for name, table in tables.items():
        summary = kgeval.summarize(table, "mrr", intervals="triple")
        ends = summary.interval("mrr")
        digits = ends.decimals
        half = (ends.high - ends.low) / 2
        assert f"{name} has MRR {summary['mrr']:.{digits}f} ± {half:.{digits}f}" in text
    assert {"better": "is significantly", "none": "does not differ significantly"}[
        pair.seen.replace("worse", "better")
    ] in text
    assert "For each of the 661 test triples, the head and the tail were removed, one at a time" in text
    assert "Competitors of the answer: all 135 entities." in text
    assert "Leaks: 11 of 661 test triples" in text


def test_every_source_is_listed_and_no_other(tables):
    for text in (methods(tables), methods({"raw": kgeval.evaluate(first, "umls", filter=())})):
        paragraph, *entries = text.split("\n\n")
        named = {(name.lower(), year) for name, year in re.findall(r"(\w+)(?: et al\.| and \w+)?, (\d{4})", paragraph)}
        listed = {re.match(r"@\w+\{([a-z]+)(\d*),", entry).groups() for entry in map(str.strip, entries)}
        assert listed == {*named, ("kgeval", "")}
        assert all(entry.count("{") == entry.count("}") for entry in entries)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"filter": ()}, "Other known answers were not left out: raw ranks."),
        ({"sides": ["tail"]}, "the tail was removed, and the answer was ranked."),
        ({"split": "valid"}, "For each of the 652 valid triples"),
        ({"corruption": Uniform(count=20)}, "Competitors of the answer: 20 uniform (seed 0)."),
        ({"protocol": "libkge"}, "the protocol libkge (scores within 1e-5 + 1e-4 |s| tie; the mean of tied ranks is"),
        ({"restrict_relations_to": "causes"}, "Left out (restricted evaluation): 624 test triples"),
    ],
)
def test_it_says_how_the_ranks_were_made(options, words):
    assert words in methods({"m": kgeval.evaluate(first, "umls", **options)})


def test_what_the_model_does_not_know_is_told():
    data = kgeval.load_dataset("umls")
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(100, 4)), rng.normal(size=(len(data.relations), 4))
    labels = kgeval.Vocabulary([*data.entities][:100]), kgeval.Vocabulary([*data.relations], "relation")
    model = Checkpoint(DistMult(*parts), "test", (Path("model"),), *labels)
    worst = methods({"m": kgeval.evaluate(model, data, unseen="worst")})
    known = (
        r"all 135 entities \(only the 100 entities that the model knows compete; \d+ triples that it does not know are"
    )
    assert re.search(known, worst)
    assert re.search(r"Ranked last \(unseen: worst\): \d+ test triples", worst)
    both = methods({"m": kgeval.evaluate(model, data, unseen="worst"), "all": kgeval.evaluate(first, data)})
    assert "Competitors of the answer: all 135 entities. " in both
    assert "m: ranked last (unseen: worst)" in both
    dropped = methods({"m": kgeval.evaluate(model, data, unseen="drop")})
    assert "all 135 entities (only the 100 entities that the model knows compete)" in dropped
    assert re.search(r"Left out \(unseen: drop\): \d+ test triples", dropped)


def test_random_ties_are_those_of_the_run(tmp_path):
    content = {"dataset": "nations", "model": "baseline:symmetric", "metrics": ["mrr"], "ties": "random", "seed": 7}
    (outcome,) = run(check_content(content), tmp_path / "r")
    expected = outcome.summary["mrr"]
    assert f"has MRR {expected:.3f}" in methods(tmp_path / "r")
    assert "here seed 7." in methods(tmp_path / "r")
    assert "ties: random (seed 7)" in kgeval.report(tmp_path / "r").html
    run(check_content({**content, "seed": 8}), tmp_path / "s")
    both = {"a": tmp_path / "r", "b": tmp_path / "s"}
    with pytest.raises(InputError, match="random ties of 2 seeds do not compare"):
        kgeval.report(both)
    assert "ties: realistic" in kgeval.report(both, ties="realistic").html


def test_seeds_are_a_mean(tables):
    runs = [
        (f"m/{seed}", kgeval.evaluate(lambda h, r, t, s=seed: (h * (31 + s) + t * 7) % 53, "nations"))
        for seed in range(4)
    ]
    text = methods(runs)
    assert text.count(" has MRR ") == 4


def test_a_classification_is_refused(tmp_path):
    run(
        check_content({"dataset": "nations", "model": "baseline:popularity", "task": {"kind": "classification"}}),
        tmp_path / "c",
    )
    with pytest.raises(InputError, match="these runs are classifications"):
        methods(tmp_path / "c")
