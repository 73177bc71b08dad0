"""Rank a made graph in a process of its own, and print by how many bytes its resident memory grew at the peak.

``python -m tests.ranking.peak_memory CASE LIMIT``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from kgeval import CallableScorer, Dataset, Triples, Vocabulary, evaluate, predict
from kgeval.corruption import TypeConstrained, Uniform
from kgeval.scorers.families.products.distmult import DistMult

RELATIONS = 3

CASES = {
    "all entities": {},
    "finished scores": {"model": "function"},
    "uniform": {"corruption": Uniform(count=500)},
    "uniform, finished scores": {"model": "function", "corruption": Uniform(count=500)},
    "typed": {"corruption": TypeConstrained()},
    "nan worst": {"nan": "worst"},
    "nan worst, uniform": {"nan": "worst", "corruption": Uniform(count=500)},
    "predictions": {"k": 50},
}


def graph(entities: int, triples: int) -> Dataset:
    """Make a graph of few relations: every entity is of nearly every type."""
    rng = np.random.default_rng(0)
    sizes = {"train": 12 * entities, "test": triples}
    splits = {
        name: Triples(rng.integers(0, [entities, RELATIONS, entities], (size, 3))) for name, size in sizes.items()
    }
    vocabularies = {
        "entities": Vocabulary.numbered(entities, "entity"),
        "relations": Vocabulary.numbered(RELATIONS, "relation"),
    }
    return Dataset.build("made", splits, **vocabularies)


def score(heads, relations, tails):
    """Score without memory of its own to speak of."""
    return (heads * 7 + relations * 3 + tails * 5) % 11


def rank(dataset: Dataset, limit: str, *, dim: int = 128, model: str = "vectors", k: int | None = None, **settings):
    """Evaluate or predict."""
    rng = np.random.default_rng(1)
    shapes = {"entity": (len(dataset.entities), dim), "relation": (RELATIONS, dim)}
    made = (
        CallableScorer(score, len(dataset.entities), RELATIONS)
        if model == "function"
        else DistMult(**{name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()})
    )

    def work():
        if k is not None:
            return predict(made, dataset, k=k, memory_limit=limit, threads=1, **settings)
        return evaluate(made, dataset, memory_limit=limit, threads=1, **settings)

    return work


def status(name: str) -> int:
    """Read a size of this process, in bytes: ``VmRSS`` is the resident memory, ``VmHWM`` the most it ever was."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def main(case: str, limit: str) -> None:
    """Warm up on a small graph, and measure on the large one."""
    rank(graph(200, 50), limit, **CASES[case])()
    work = rank(graph(20_000, 3_000), limit, **CASES[case])
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    before = status("VmRSS")
    work()
    print(status("VmHWM") - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
