"""The page of runs on several datasets: its numbers are those of the comparison, and each dataset has its parts."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

import kgeval
from kgeval import compare

STEPS = {"sums": 29, "products": 5}


def test_the_page_of_two_datasets_has_the_numbers_of_the_comparison_and_the_checks_of_each():
    pytest.importorskip("altair", reason="a page needs the extra [report]")
    results = {
        name: {
            model: replace(kgeval.evaluate(lambda h, r, t, step=step: (h * step + t * 7 + r) % 11, name), model=model)
            for model, step in STEPS.items()
        }
        for name in ("nations", "umls")
    }
    page = kgeval.report([table for models in results.values() for table in models.values()]).html
    rows = re.findall(r'<tr><th scope="row" data-sort="(\w+)">(.*?)</tr>', page, re.DOTALL)
    cell = r'<td class="number( best)?" data-sort="([^"]+)" data-dataset="(\w+)" data-metric="([^"]+) ↑">'
    shown = {
        (model, *place): (float(value), bool(best))
        for model, row in rows
        for best, value, *place in re.findall(cell, row)
    }
    assert len(shown) == 2 * 2 * 5
    for name, models in results.items():
        ranks = {model: 1 + table.column("greater") + table.column("tied") / 2 for model, table in models.items()}
        for metric, mean in (("MRR", lambda r: (1 / r).mean()), ("Hits@3", lambda r: (r <= 3).mean())):
            values = {model: mean(of_model) for model, of_model in ranks.items()}
            for model, value in values.items():
                number, is_best = shown[model, name, metric]
                assert number == pytest.approx(value, abs=1e-12)
                assert is_best == (value == max(values.values()))
    orders = compare(results, ["hits@1"])
    for block, metric in ((block, orders.metrics[0]) for block in orders.blocks):
        order = html.escape(block.order(metric))
        assert f'<th scope="row">{block.title}</th><td>Hits@1</td><td><bdi>{order}</bdi></td>' in page
        assert f"<bdi>{block.title}: How the results were made</bdi>" in page
