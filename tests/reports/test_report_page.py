"""The page in a real browser: it draws everything, asks nobody, and everybody can read it."""

from __future__ import annotations

import pytest

from kgeval import compare, plot_leaderboard
from kgeval.reports.document import comparison_document
from kgeval.reports.plots import save_picture
from tests.reports.browser import open_page
from tests.reports.conftest import HOSTILE, family, ranks_of

CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = channels(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const poor = [], seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.getClientRects().length) continue;
    if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(node.tagName)) continue;
    const style = getComputedStyle(node);
    const ink = node.namespaceURI.endsWith("svg") ? style.fill : style.color;
    if (ink === "none") continue;
    const [one, other] = [light(channels(ink)), light(behind(node))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    seen.add(node);
    if (ratio < 4.5) poor.push([node.tagName, walker.currentNode.textContent.slice(0, 30), ratio]);
  }
  return {poor, seen: seen.size};
}"""

OVERFLOW = """() => ({
  page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  parts: [...document.querySelectorAll("main *")]
    .filter((one) => !one.closest(".scroll, svg, pre") && one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.outerHTML.slice(0, 80)),
})"""


@pytest.mark.parametrize("name", ["one", "three", "six", "hostile"])
def test_all_charts_are_drawn_without_a_complaint_or_a_request(opened, name):
    page = opened(name)
    figures = page(
        "[...document.querySelectorAll('[data-chart]')].map((one) => [one.dataset.chart, one.dataset.drawn])"
    )
    assert {chart for chart, _ in figures} >= {"leaderboard-mrr", "slice-side", "relations", "distribution"}
    assert all(drawn == "yes" for _, drawn in figures)
    marks = "[...document.querySelectorAll('[data-chart]')].map((one) => one.querySelectorAll('svg path').length)"
    assert min(page(marks)) > 0
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith("file:")] == []
    assert len(page.requests) == 1


def test_the_page_may_ask_nobody_even_if_it_wanted(opened):
    page = opened("one")
    assert page("fetch('https://example.org').then(() => 'answered', () => 'refused')") == "refused"
    assert (
        page(
            "new Promise((tell) => { const image = new Image(); image.onerror = () => tell('refused'); "
            "image.onload = () => tell('loaded'); image.src = 'https://example.org/x.png'; })"
        )
        == "refused"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 768, 390])
def test_nothing_overflows_and_all_text_stands_out(opened, width, scheme):
    page = opened("six", width=width, scheme=scheme)
    page("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page(OVERFLOW) == {"page": 0, "parts": []}
    found = page(CONTRAST)
    assert found["poor"] == []
    assert found["seen"] > 200


def test_labels_of_any_kind_are_text(opened):
    page = opened("hostile", width=390)
    assert page("window.pwned") is None
    assert page(OVERFLOW) == {"page": 0, "parts": []}
    assert page("document.querySelectorAll('img, main script').length") == 0
    names = page("[...document.querySelectorAll('.leaderboard tbody th')].map((one) => one.dataset.sort)")
    assert sorted(names) == sorted(HOSTILE[:3])
    page.page.fill("#triple-search", "<script>window")
    assert page("document.querySelectorAll('#triple-table tbody tr').length") > 0
    assert page("window.pwned") is None
    assert page.complaints == []


def test_the_keyboard_reaches_everything(opened):
    page = opened("three")
    wanted = page(
        "document.querySelectorAll('a[href], button:not(:disabled), input, select, summary, [tabindex=\"0\"]').length"
    )
    reached, invisible = set(), 0
    for _ in range(wanted + 5):
        page.page.keyboard.press("Tab")
        reached.add(page("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
        focused = "document.activeElement !== document.body && getComputedStyle(document.activeElement).outlineStyle"
        invisible += page(focused) == "none"
    assert len(reached - {-1}) >= wanted
    assert not invisible


def test_the_colours_change_by_a_click(opened):
    page = opened("one")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page(paper) == "rgb(255, 255, 255)"
    page.page.click("#theme")
    page.page.click("#theme")
    assert page("document.documentElement.dataset.theme") == "dark"
    assert page(paper) == "rgb(20, 23, 26)"
    point = (
        "getComputedStyle(document.querySelector('[data-chart=leaderboard-mrr] path[aria-roledescription=point]')).fill"
    )
    assert page(point) == "rgb(86, 180, 233)"


def test_every_section_has_a_heading_and_every_control_a_name(opened):
    page = opened("three")
    anchors = page("[...document.querySelectorAll('main > section')].map((one) => one.id)")
    assert anchors == ["standings", "trust", "where", "ranks", "triples", "made"]
    assert page("[...document.querySelectorAll('nav a')].map((one) => one.hash.slice(1))") == anchors
    unnamed = "[...document.querySelectorAll('input, select')].filter((one) => !one.labels.length).length"
    assert page(unnamed) == 0
    assert page("[...document.querySelectorAll('button')].filter((one) => !one.textContent.trim()).length") == 0
    assert page(
        "[...document.querySelectorAll('[data-chart] svg')]"
        ".every((one) => one.closest('[aria-label]').ariaLabel.length > 20)"
    )


def test_seeds_are_dots_and_named(opened):
    page = opened("seeds")
    dots = "[data-chart=leaderboard-mrr] path[aria-roledescription=circle]"
    told = page(f"[...document.querySelectorAll('{dots}')].map((one) => one.getAttribute('aria-label'))")
    assert len(told) == 3
    assert all("model: seeded" in label for label in told)
    cell = "document.querySelector('.leaderboard tbody td')"
    values = [float(one) for one in page(f"{cell}.title").removeprefix("seeds: ").split(", ")]
    assert page(f"Number({cell}.dataset.sort)") == pytest.approx(sum(values) / 3, abs=1e-3)
    names = page("[...document.querySelectorAll('.leaderboard tbody th')].map((one) => one.textContent.trim())")
    assert names == ["seeded 3 seeds", "alone"]
    assert page(OVERFLOW) == {"page": 0, "parts": []}
    assert page.complaints == []


@pytest.mark.parametrize("width", [1440, 390])
def test_documents_of_a_comparison_and_of_a_picture_are_pages_too(browser, tmp_path, width):
    tables = {f"m{seed}": ranks_of(family(), skill, seed=seed) for seed, skill in enumerate([0.2, 0.4])}
    named = {HOSTILE[0]: tables["m0"], HOSTILE[7]: tables["m1"]}
    (tmp_path / "compared.html").write_text(comparison_document(compare(named, ["mrr"])), encoding="utf-8")
    save_picture(plot_leaderboard(tables), tmp_path / "picture.html")
    for name, wait in (("compared", "true"), ("picture", "drawn.then(() => true)")):
        page = open_page(browser, tmp_path / f"{name}.html", width=width, scheme="dark", wait=wait)
        assert page(OVERFLOW) == {"page": 0, "parts": []}
        assert page(CONTRAST)["poor"] == []
        assert page.complaints == []
        assert len(page.requests) == 1
        page.page.close()
