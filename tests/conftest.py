"""What all tests share: small graphs that they make themselves, and the real ones where they are there."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from itertools import chain, product
from math import inf
from pathlib import Path

# Torch and BLAS in one thread, unless the environment says otherwise: the runs of tests already take all cores, and
# threads that wait for each other's small pieces spin. They read it when they are loaded, so it stands before imports.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from tests.reports.browser import SILENT, find_browser
from tests.simulated import draws

# A busy machine draws examples slowly, which says nothing about a test.
settings.register_profile("kgeval", suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=draws(50))
settings.load_profile("kgeval")

SLOW, LIGHT = ({*Path(__file__).with_name(name).read_text("utf-8").splitlines()} for name in ("slow.txt", "light.txt"))
"""tests that ``scripts/test quick`` leaves out, and files of tests that need neither torch nor PyKEEN"""

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real graphs and checkpoints that lies beside a development checkout."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder of real graphs and checkpoints beside the checkout")
    return SHARED


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Torch and BLAS compute in two threads, where a test is about threads."""
    import torch
    from threadpoolctl import threadpool_limits

    torch_threads = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        yield
        torch.set_num_threads(torch_threads)


@pytest.fixture(scope="session")
def nations() -> Dataset:
    from kgeval import load_dataset

    return load_dataset("nations")


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if (path := find_browser()) is None:
        pytest.skip("needs a Chromium: apt-get install chromium, or name one in CHROMIUM")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=[*SILENT])
        yield found
        found.close()


def random_dataset(seed: int = 0, *, entities: int = 30, relations: int = 4, triples: int = 200) -> Dataset:
    """A random graph, cut into three splits that share no triple."""
    rng = np.random.default_rng(seed)
    high = (entities, relations, entities)
    ids = Triples.of(np.stack([rng.integers(0, top, triples) for top in high], 1)).distinct().triples.ids
    rng.shuffle(ids)
    first, second = int(len(ids) * 0.7), int(len(ids) * 0.85)
    return Dataset.build(
        "random",
        {"train": Triples(ids[:first]), "valid": Triples(ids[first:second]), "test": Triples(ids[second:])},
        entities=Vocabulary([f"e{index:04}" for index in range(entities)]),
        relations=Vocabulary([f"r{index:02}" for index in range(relations)], "relation"),
    )


def unwrapped(text: object) -> str:
    """A text in one line, for sentences that are longer than a line of it."""
    return " ".join(str(text).split())


def pytest_addoption(parser):
    parser.addoption("--write-slow", type=float, metavar="SECONDS", help="write the slower tests into tests/slow.txt")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Give the tests of ``slow.txt`` the mark ``slow``, and those in the files of ``light.txt`` the mark ``light``."""
    for item, (mark, listed, end) in product(items, (("slow", SLOW, "["), ("light", LIGHT, "::"))):
        if item.nodeid.partition(end)[0] in listed:
            item.add_marker(mark)


def pytest_collection_finish():
    """What was collected stays to the end: the garbage collector need not look through it again and again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter, config):
    """Keep the names of the tests that took long, all cases of one together."""
    if not config.getoption("write_slow"):
        return
    seconds = Counter()
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.partition("[")[0]] += report.duration
    slow = sorted(name for name in {*seconds} | SLOW if seconds.get(name, inf) > config.getoption("write_slow"))
    Path(__file__).with_name("slow.txt").write_text("".join(f"{name}\n" for name in slow), encoding="utf-8")


def pytest_runtest_setup(item):
    """Skip tests that need a GPU where torch sees none."""
    if item.get_closest_marker("cuda") and not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("needs a GPU that torch sees")
