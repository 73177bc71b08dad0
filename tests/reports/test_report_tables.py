"""The tables of the page: sorting, searching, filtering, Hits@k at any k."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import summarize
from tests.reports.conftest import family, predicting, ranks_of

NAMED = [("first", 0), ("second", 1)]
TABLES = {f"model {number}": ranks_of(family(), skill, seed=number) for number, skill in enumerate([0.2, 0.35, 0.3])}


def cells(page, column):
    return page(
        f"[...document.querySelectorAll('#triple-table tbody tr')].map((row) => row.cells[{column}].textContent)"
    )


def models(page):
    return page("[...document.querySelectorAll('.leaderboard tbody th')].map((one) => one.textContent.trim())")


def test_the_leaderboard_has_the_numbers_of_summarize_and_sorts_by_a_click(opened):
    page = opened("three")
    values = page(
        "[...document.querySelectorAll('.leaderboard tbody tr')].map((row) => [row.cells[0].textContent.trim(), "
        "Number(row.cells[1].dataset.sort)])"
    )
    expected = {model: summarize(table, "mrr")["mrr"] for model, table in TABLES.items()}
    assert dict(values) == expected
    assert models(page) == sorted(expected, key=lambda model: -expected[model])
    page.page.click(".leaderboard thead th:nth-child(2) button")
    page.page.click(".leaderboard thead th:nth-child(2) button")
    assert models(page) == sorted(expected, key=lambda model: expected[model])
    assert page("document.querySelector('.leaderboard thead th:nth-child(2)').ariaSort") == "ascending"
    best = page("document.querySelector('.leaderboard td.best').parentElement.cells[0].textContent.trim()")
    assert best == max(expected, key=lambda model: expected[model])


def test_triples_are_sorted_searched_and_leafed_through(opened):
    page = opened("three")
    first = models(page)[0]
    table = TABLES[first]
    ranks = 1 + table.column("greater") + table.column("tied") / 2
    column = page(
        f"[...document.querySelectorAll('#triple-table thead th')].findIndex((one) => one.textContent === {first!r})"
    )
    shown = [np.mean([float(part) for part in text.split(" – ")]) for text in cells(page, column)]
    assert shown == sorted(ranks.tolist(), reverse=True)[:25]
    page.page.click("#triple-next")
    assert page("document.querySelector('#triple-count').textContent") == f"26–50 of {len(table)}"
    page.page.fill("#triple-search", "e007 R0003")
    labels = [[str(label).lower() for label in table.column(f"{name}_label")] for name in ("head", "relation", "tail")]
    wanted = sum("r0003" in relation and "e007" in head + tail for head, relation, tail in zip(*labels, strict=True))
    found = page("document.querySelector('#triple-count').textContent")
    assert found.endswith(f"of {wanted}") if wanted else found == "No triple matches."
    page.page.fill("#triple-search", "no such thing")
    assert page("document.querySelector('#triple-count').textContent") == "No triple matches."


def test_the_most_different_triples_are_those_of_the_largest_ratio(opened):
    page = opened("three")
    page.page.select_option(
        "#triple-order", label=page("[...document.querySelectorAll('#triple-order option')].at(-1).textContent")
    )
    one, other = models(page)[1:]
    ranks = [1 + TABLES[name].column("greater") + TABLES[name].column("tied") / 2 for name in (one, other)]
    largest = np.sort(np.abs(np.log(ranks[0] / ranks[1])))[::-1][:25]
    columns = page("[...document.querySelectorAll('#triple-table thead th')].map((one) => one.textContent)")
    shown = [
        [np.mean([float(part) for part in text.split(" – ")]) for text in cells(page, columns.index(name))]
        for name in (one, other)
    ]
    np.testing.assert_allclose(np.abs(np.log(np.divide(*shown))), largest)


def test_a_click_on_a_relation_filters_the_triples(opened):
    page = opened("three")
    dots = page.page.locator("[data-chart=relations] path[aria-roledescription=circle]")
    assert dots.count() == len(set(TABLES["model 0"].column("relation").tolist()))
    dots.first.scroll_into_view_if_needed()
    dots.nth(3).click(force=True)
    page.page.wait_for_selector("#relations-picked a")
    name = page("document.querySelector('#relations-picked bdi').textContent")
    assert set(cells(page, 1)) == {name}
    count = int((TABLES["model 0"].column("relation_label") == name).sum())
    assert page("document.querySelector('#triple-count').textContent").endswith(f"of {count}")
    page.page.click("#triple-controls button[type=reset]")
    page.page.wait_for_function(
        f"document.querySelector('#triple-count').textContent.endsWith('of {len(TABLES['model 0'])}')"
    )


def test_the_scatter_shows_any_two_models(opened):
    page = opened("three")
    page.page.select_option("#relations-across", label="model 0")
    title = "document.querySelector('#relations-title').textContent"
    page.page.wait_for_function(f"{title}.includes('model 0')")
    by = {
        name: {
            group.key["relation"]: next(iter(group.values.values()))
            for group in summarize(TABLES[name], "both.mrr", by="relation").groups
        }
        for name in TABLES
    }
    up = models(page)[0]
    ahead = sum(value > by["model 0"][relation] for relation, value in by[up].items())
    assert page(title) == f"{up} has a better MRR than model 0 on {ahead} of {len(by[up])} relations (not tested)"
    assert page.complaints == []


@pytest.mark.parametrize("k", [1, 7, 40])
def test_hits_are_read_off_at_any_k(opened, k):
    page = opened("three")
    page.page.fill("#hits-k", str(k))
    shown = page(
        "[...document.querySelectorAll('#hits-at span')].map((one) => [one.querySelector('bdi').textContent, "
        "Number(one.querySelector('b').textContent)])"
    )
    expected = {model: summarize(table, f"hits@{k}")[f"hits@{k}"] for model, table in TABLES.items()}
    assert {model: pytest.approx(value, abs=5e-5) for model, value in expected.items()} == dict(shown)


def test_a_row_opens_what_was_predicted_above_its_answer(opened):
    page = opened("predicted")
    kept = {model.name: model.predictions.to_pandas() for model in (predicting(family(), *one) for one in NAMED)}
    queries = {
        name: table[["side", "anchor_label", "relation_label"]].astype(str).agg("\t".join, axis=1)
        for name, table in kept.items()
    }
    for row in range(3):
        head, relation, tail, side = (cells(page, column)[row].removeprefix("▸ ") for column in range(4))
        page.page.locator("#triple-table .opens").nth(row).click()
        lists = page(
            "[...document.querySelectorAll('.predicted > td > div')].map((one) => ["
            "one.querySelector('h4').textContent, [...one.querySelectorAll('li bdi')].map((name) => name.textContent)])"
        )
        anchor, answer = (head, tail) if side == "tail" else (tail, head)
        for name, shown in lists:
            of_query = kept[name][queries[name] == f"{side}\t{anchor}\t{relation}"]
            best = of_query["entity_label"].astype(str).tolist()
            assert shown == (best[: best.index(answer) + 1] if answer in best else best)
        assert {name for name, _ in lists} == set(kept)
        page.page.locator("#triple-table .opens").nth(row).click()
        assert page("document.querySelectorAll('.predicted').length") == 0
    assert page.complaints == []
