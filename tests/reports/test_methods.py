"""The paragraph of a paper: what the runs say, the numbers of summaries, and the sources that it names."""

from __future__ import annotations

import re

import pytest

import kgeval
from kgeval.base.errors import InputError
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
    assert "Candidates: all 135 entities." in text
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
        ({"corruption": Uniform(count=20)}, "Candidates: 20 uniform (seed 0)."),
    ],
)
def test_it_says_how_the_ranks_were_made(options, words):
    assert words in methods({"m": kgeval.evaluate(first, "umls", **options)})


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
