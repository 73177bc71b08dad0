"""Rank tables that are made up, the pages of them, and one browser for all tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kgeval
from kgeval.data.dataset import Dataset
from kgeval.ranking.rank_table import SCHEMA, RankTable
from tests.reports.browser import open_page

HOSTILE = [
    "<script>window.pwned = 1; alert(1)</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "</script><script>window.pwned = 1</script>",
    "{{ 7 * 7 }} {% raw %}",
    "שלום עולם",
    "كلب\u202e reversed",
    "👩‍🚀 rocket 🚀",
    "long " * 40,
    'quote\'s & "ampersand" \\ backslash',
    "%_#$&~^{}",
]


def family(seed: int = 0, *, entities: int = 60, relations: int = 25, triples: int = 300, labels=None) -> Dataset:
    """A random graph with train and test, whose entities may have any labels."""
    rng = np.random.default_rng(seed)
    names = [*(labels or []), *(f"e{number:03}" for number in range(entities))]
    rows = {
        (names[head], f"r{relation:04}", names[tail])
        for head, relation, tail in zip(
            rng.integers(0, len(names), 3 * triples),
            rng.integers(0, relations, 3 * triples),
            rng.integers(0, len(names), 3 * triples),
            strict=True,
        )
    }
    ordered = sorted(rows)
    rng.shuffle(ordered)
    ordered = [tuple(map(str, row)) for row in ordered]
    return Dataset.from_labels(train=ordered[triples:], test=ordered[:triples], name="made up")


def ranks_of(data: Dataset, skill: float, *, seed: int = 0, model: str = "made up") -> RankTable:
    """Ranks of the test triples: the more skill, the lower, and in part tied."""
    rng = np.random.default_rng(seed)
    ids, count = np.repeat(data.test.ids, 2, axis=0), len(data.entities)
    rows = len(ids)
    greater = np.minimum(rng.geometric(skill, rows) - 1, count - 3)
    tied = (rng.random(rows) < 0.1).astype(np.int64)
    columns = {
        "triple": np.repeat(np.arange(len(data.test)), 2),
        **dict(zip(("head", "relation", "tail"), ids.T, strict=True)),
        "side": ["head", "tail"] * (rows // 2),
        "score": -greater.astype(np.float64),
        **{f"{prefix}greater": greater for prefix in ("", "raw_")},
        **{f"{prefix}tied": tied for prefix in ("", "raw_")},
        **{f"{prefix}candidates": np.full(rows, count) for prefix in ("", "raw_")},
        "head_label": [data.entities[head] for head in ids[:, 0].tolist()],
        "relation_label": [data.relations[relation] for relation in ids[:, 1].tolist()],
        "tail_label": [data.entities[tail] for tail in ids[:, 2].tolist()],
    }
    data_of = pa.table({name: pa.array(columns[name]).cast(SCHEMA.field(name).type) for name in SCHEMA.names})
    about = {"protocol": "standard", "dataset": data.name, "filter": ("train", "test")}
    return RankTable(data_of, model=model, candidates=f"all {count} entities", **about)


def seeded(data: Dataset, model: str, skills: list[float], *, first: int = 0):
    """Runs of one training with several seeds, from the first on, as their configurations tell."""
    from kgeval.reports.evaluated_models import EvaluatedModel

    trained = {"kind": "pykeen", "model": model, "model_kwargs": {"dim": 4}}
    return [
        EvaluatedModel(
            "",
            ranks_of(data, skill, seed=seed, model=model),
            {"model": {**trained, "random_seed": seed}, "dataset": {}},
        )
        for seed, skill in enumerate(skills, first)
    ]


def predicting(data: Dataset, name: str, seed: int):
    """A model with the five best answers of each query of test."""
    from kgeval.reports.evaluated_models import EvaluatedModel

    def score(h, r, t):
        return (h * (31 + seed) + r * 7 + t * (13 - seed)) % 53

    names = {"entities": data.entities, "relations": data.relations}
    table = kgeval.evaluate(score, data, filter=["train", "test"], **names)
    return EvaluatedModel(name, table, predictions=kgeval.predict(score, data, k=5, **names))


def runs_of(name: str, data: Dataset):
    """Make the runs of a page: of one, three or six models, or of other kinds."""
    if name == "hostile":  # their labels would run if they could
        return {label: ranks_of(data, 0.3, seed=place) for place, label in enumerate(HOSTILE[:3])}
    if name == "predicted":
        return {model: predicting(data, model, seed) for seed, model in enumerate(["first", "second"])}
    if name == "seeds":
        return [*seeded(data, "seeded", [0.25, 0.3, 0.4]), ("alone", ranks_of(data, 0.2))]
    skills = [0.2, 0.35, 0.3, 0.25, 0.15, 0.1][: {"one": 1, "three": 3, "six": 6}[name]]
    return {f"model {number}": ranks_of(data, skill, seed=number) for number, skill in enumerate(skills)}


@pytest.fixture(scope="session")
def page_of(tmp_path_factory) -> Callable[[str], Path]:
    """Make a page by name, once for all tests."""
    pytest.importorskip("altair")
    from kgeval.reports.page import report

    folder = tmp_path_factory.mktemp("pages")

    @cache
    def make(name: str) -> Path:
        data = family(1, labels=HOSTILE) if name == "hostile" else family()
        path = folder / f"{name}.html"
        report(runs_of(name, data), dataset=data).save(path)
        return path

    return make


@pytest.fixture
def opened(browser, page_of):
    """Open a page by name; it is closed after the test."""
    found = []

    def opening(name, **options):
        found.append(open_page(browser, page_of(name), **options))
        return found[-1]

    yield opening
    for one in found:
        one.page.close()
