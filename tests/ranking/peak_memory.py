"""Rank a made graph in several ways, and print by how many bytes the resident memory of this process grew at the peak.

``python -m tests.ranking.peak_memory LIMIT …`` writes a line of JSON for each limit: the bytes of each case.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from kgeval import CallableScorer, Dataset, Triples, Vocabulary, evaluate, predict
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.corruption import TypeConstrained, Uniform

ENTITIES, RELATIONS, QUERIES, DIM = 5_000, 3, 3_000, 256

DRAWN = Uniform(count=500)

CASES = {
    "all entities": ("vectors", {}),
    "finished scores": ("function", {}),
    "uniform": ("vectors", {"corruption": DRAWN}),
    "finished scores, uniform": ("function", {"corruption": DRAWN}),
    "typed": ("vectors", {"corruption": TypeConstrained()}),
    "nan worst": ("vectors", {"nan": "worst"}),
    "nan worst, uniform": ("vectors", {"nan": "worst", "corruption": DRAWN}),
    "predictions": ("vectors", {"k": 10}),
}

FEWER = {"typed": 1_000}
"""queries of a case that takes long for each"""


def graph(entities: int, queries: int) -> Dataset:
    """Make a graph of few relations, so that nearly every entity is of every type."""
    rng = np.random.default_rng(0)
    sizes = {"train": 12 * entities, "test": queries}
    bounds = [entities, RELATIONS, entities]
    splits = {name: Triples(rng.integers(0, bounds, (size, 3))) for name, size in sizes.items()}
    names = Vocabulary.numbered(entities, "entity"), Vocabulary.numbered(RELATIONS, "relation")
    return Dataset.build("made", splits, entities=names[0], relations=names[1])


def scorers(entities: int):
    """Make a model of vectors, one of which is no number, and a function without memory of its own to speak of."""
    rng = np.random.default_rng(1)
    shapes = {"entity": (entities, DIM), "relation": (RELATIONS, DIM)}
    vectors = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    function = CallableScorer(lambda h, r, t: (h * 7 + r * 3 + t * 5) % 11, entities, RELATIONS)
    return {"vectors": DistMult(**vectors), "function": function}


def status(name: str) -> int:
    """Read a size of this process, in bytes: ``VmRSS`` is the resident memory, ``VmHWM`` the most it ever was."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def growth(work) -> int:
    """Measure by how many bytes the resident memory grows at the peak of some work."""
    # What is garbage, or free but kept, would hide what the work takes.
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    before = status("VmRSS")
    work()
    return status("VmHWM") - before


def main(*limits: str) -> None:
    """Warm up on a small graph, which loads and compiles everything, and measure on the large one."""
    small, warm, large = graph(200, 20), scorers(200), scorers(ENTITIES)
    graphs = {queries: graph(ENTITIES, queries) for queries in (QUERIES, *FEWER.values())}
    for limit in limits:
        found = {}
        for name, (model, case) in CASES.items():
            rank = partial(predict if "k" in case else evaluate, sides=("tail",), threads=1, memory_limit=limit, **case)
            for kernel in ("compiled", "float32"):  # which so little work would not take by itself
                rank(warm[model], small, kernel=kernel)
            found[name] = growth(partial(rank, large[model], graphs[FEWER.get(name, QUERIES)]))
        print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
