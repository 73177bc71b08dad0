"""The site that scripts/docs builds, as a reader's browser shows it: nothing is cut or broken."""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("mkdocs", "material", "mkdocs_gen_files", "mkdocstrings", "mkdocstrings_handlers.python")

# What a reader cannot see whole. The page never scrolls sideways; code and tables do so on a phone only.
CUT = """phone => {
    const found = []
    const excess = document.documentElement.scrollWidth - innerWidth
    if (excess > 0) found.push(`the page scrolls by ${excess} px`)
    for (const box of phone ? [] : document.querySelectorAll("article *")) {
        const scrolls = ["auto", "scroll"].includes(getComputedStyle(box).overflowX)
        const excess = box.scrollWidth - box.clientWidth
        if (scrolls && excess > 0) found.push(`${excess} px are cut: ${box.textContent.trim().slice(0, 60)}`)
    }
    for (const image of document.images) {
        if (!image.naturalWidth) found.push(`no image: ${image.src}`)
        else if (image.src.endsWith(".svg")) continue
        else if (image.clientWidth > image.naturalWidth) found.push(`unsharp: ${image.src}`)
    }
    return found
}"""
RESULTS = """[...document.querySelectorAll(".md-search-result__item")].slice(0, 5).map(
    item => [...item.querySelectorAll("h1, h2")].map(title => title.textContent.trim()).join(" > "))"""

# What readers look for, and a title that is among the first results.
SEARCHES = {
    "mrr": "mrr · mean reciprocal rank",
    "hits@10": "Metrics and ties",
    "relative path": "Relative paths",
    "ties": "Metrics and ties",
    "--estimate": "Estimates",
    "--fail-under": "Stop a script if a metric is too low",
    "exit code": "Exit codes",
    "completion": "Completion in the shell",
    "kgeval.load_dataset": "kgeval.load_dataset",
    "RankTable": "kgeval.RankTable",
}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, and the address under which it is served."""
    for name in NEEDED:
        if not importlib.util.find_spec(name.partition(".")[0]):
            pytest.skip("needs the libraries of the documentation: pip install --group docs")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    done = subprocess.run(build, cwd=ROOT, env=os.environ | quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def _pages(site):
    folder, address = site
    return {address + file.relative_to(folder).as_posix().removesuffix("index.html") for file in folder.rglob("*.html")}


def _file(site, address):
    """The file that is served under an address."""
    place = site[0] / address.removeprefix(site[1])
    return place / "index.html" if place.is_dir() else place


def test_every_page_is_whole(site, browser):
    """Each page is loaded once, on a desk, and then seen as on a phone; the index for searches is empty."""
    page, index = browser.new_page(), json.loads((site[0] / "search" / "search_index.json").read_text("utf-8"))
    page.route("**/search_index.json", lambda route: route.fulfill(json=index | {"docs": []}))
    asked, problems = set(), []
    page.on("request", lambda request: asked.add(request.url))
    page.on("console", lambda message: problems.append((page.url, message.text)))
    page.on("pageerror", lambda error: problems.append((page.url, str(error))))
    for address in sorted(_pages(site)):
        for width, scheme in ((1280, "light"), (390, "dark")):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            if scheme == "light":
                page.goto(address)
            cut = page.evaluate(CUT, width < 600)
            problems += [(address.removeprefix(site[1]), width, found) for found in cut]
    page.close()
    assert not problems, "\n".join(map(str, problems))
    assert not {url for url in asked if not url.startswith((site[1], "data:", "blob:"))}


def test_every_link_leads_somewhere(site):
    texts = {address: _file(site, address).read_text(encoding="utf-8") for address in _pages(site)}
    broken = set()
    for address, text in texts.items():
        for link in re.findall(r'<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]+)"', text):
            target, _, name = urljoin(address, html.unescape(link)).partition("#")
            if target.startswith(site[1]) and address != f"{site[1]}404.html":
                there = target in texts and (not name or f'id="{unquote(name)}"' in html.unescape(texts[target]))
                if not there and (name or not _file(site, target).is_file()):
                    broken.add((address.removeprefix(site[1]), link))
    assert not broken, "\n".join(map(str, sorted(broken)))


def test_the_search_finds_what_readers_look_for(site, browser):
    from playwright.sync_api import Error

    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(site[1])
    page.click(".md-search__input")
    missed = {}
    for query, title in SEARCHES.items():
        page.fill(".md-search__input", "")
        page.keyboard.type(query)
        try:
            page.wait_for_function(f"title => {RESULTS}.join().includes(title)", arg=title, timeout=10_000)
        except Error:  # its time is over
            missed[query] = page.evaluate(RESULTS)
    page.close()
    assert not missed
