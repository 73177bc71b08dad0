"""The graph that is ranked: FB15k-237 where it lies beside the project, and a synthetic one of its shape otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval import Dataset, Triples, Vocabulary, load_dataset

SHARED = Path(__file__).resolve().parents[2].parent / "shared"

FB15K237 = SHARED / "data/fb15k-237"

ENTITIES, RELATIONS = 14_541, 237
SIZES = {"train": 272_115, "valid": 17_535, "test": 20_466}


def everyday_graph() -> Dataset:
    """Load FB15k-237, or make something like it."""
    return load_dataset(FB15K237) if FB15K237.is_dir() else synthetic(ENTITIES, SIZES)


def small_graph(test: int) -> Dataset:
    return synthetic(500, {"train": 20 * test, "valid": test, "test": test})


def synthetic(entities: int, sizes: dict[str, int], seed: int = 0) -> Dataset:
    """Draw triples whose entities and relations are as unevenly used as in real graphs (Zipf's law)."""
    rng = np.random.default_rng(seed)
    total = sum(sizes.values())
    drawn = np.empty((0, 3), np.int64)
    while len(drawn) < total:
        heads, tails = (_zipf(rng, entities, 2 * total) for _ in range(2))
        more = np.stack([heads, _zipf(rng, RELATIONS, 2 * total), tails], axis=1)
        drawn = np.unique(np.concatenate([drawn, more]), axis=0)
    parts = np.split(rng.permutation(drawn)[:total], np.cumsum(list(sizes.values()))[:-1])
    return Dataset.build(
        f"synthetic-{entities}",
        {name: Triples(part) for name, part in zip(sizes, parts, strict=True)},
        entities=Vocabulary([f"e{i}" for i in range(entities)]),
        relations=Vocabulary([f"r{i}" for i in range(RELATIONS)], "relation"),
    )


def _zipf(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    weights = 1 / (10 + np.arange(size))
    return rng.choice(size, count, p=weights / weights.sum())
