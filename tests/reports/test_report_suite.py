"""The page of a suite: its tables and pictures have the numbers of the comparison."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import kgeval
from tests.conftest import random_dataset

STEPS = {"sums": 29, "products": 5, "rest": 3}
GRAPHS = {name: replace(random_dataset(seed, triples=160), name=name) for seed, name in enumerate("abcde")}


@pytest.fixture(scope="module")
def results():
    return {
        name: {
            model: replace(kgeval.evaluate(lambda h, r, t, step=step: (h * step + t * 7 + r) % 11, data), model=model)
            for model, step in STEPS.items()
        }
        for name, data in GRAPHS.items()
    }


@pytest.fixture(scope="module")
def page(results):
    pytest.importorskip("altair", reason="a page needs the extra [report]")
    return kgeval.report([table for models in results.values() for table in models.values()])


def reciprocal(table):
    return (1 / (1 + table.column("greater") + table.column("tied") / 2)).mean()


def test_graphs_are_rows_with_their_means_below(page, results):
    (table,) = re.findall(
        r'<div data-dataset="" data-metric="MRR ↑">.*?<table class="graphs">(.*?)</table>', page.html, re.S
    )
    rows = re.findall(r'<tr><th scope="row"><bdi class="label" title="([^"]+)">.*?</th>(.*?)</tr>', table)
    shown = {
        label: [float(cell.split(" ±")[0]) for cell in re.findall(r">([^<]+)</td>", cells)] for label, cells in rows
    }
    assert [*shown] == [*GRAPHS, "mean of all (5 graphs)"]
    columns = re.findall(r'<th scope="col" class="number"><bdi>(\w+)</bdi>', table)
    values = np.array([[reciprocal(results[name][model]) for model in columns] for name in GRAPHS])
    assert np.array([*shown.values()]) == pytest.approx(np.vstack([values, values.mean(axis=0)]), abs=6e-4)
    assert page.title == "3 models on 5 graphs"
    assert "Ranks over 5 graphs by" in page.html


def test_pictures_have_a_dot_for_each_graph_and_a_mark_for_each_model(page, results, browser):
    shown = browser.new_page(viewport={"width": 700, "height": 800})
    errors = []
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.set_content(page.html)
    shown.wait_for_function("document.querySelectorAll('[data-chart][data-drawn]').length == 10")
    assert not errors
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.select_option("#grid-metric", "Hits@10 ↑")
    figure = shown.locator('[data-chart="Hits@10 ↑|all"]')
    assert figure.is_visible()
    assert not shown.locator('[data-chart="MRR ↑|all"]').is_visible()
    assert figure.locator("path[aria-roledescription=circle]").count() == len(GRAPHS) * len(STEPS)
    marks = shown.locator('[data-chart="Hits@10 ↑"] path[aria-roledescription=point]')
    assert marks.count() == len(GRAPHS) * len(STEPS)
    expected = (results["c"]["rest"].column("greater") + results["c"]["rest"].column("tied") / 2 < 10).mean()
    label = marks.locator(
        'xpath=self::*[contains(@aria-label, "category: c") and contains(@aria-label, "model: rest")]'
    )
    assert f"{expected:.3f}"[:4] in label.get_attribute("aria-label")
