"""Counts of ranks and the bits of the answers' scores, the same by every kernel, number of threads and memory."""

from __future__ import annotations

import hashlib
import itertools
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from kgeval import evaluate
from kgeval.ranking.corruption import FileNegatives, Uniform
from tests.contracts.frozen.exact_models import GRAPHS, ExactModel, graph

SIMILARITIES = ("dot", "l1", "l2", "modulus", "cosine")
PROTOCOLS = ("standard", "libkge", "ampligraph")
"""the last two have a tolerance"""
CANDIDATES = ("all", "sampled", "listed")
THREADS = (1, 3)
EVERY = {"small": 9, "wide": 45, "tall": 45}
"""every how many cases are counted in little memory too, which is slow"""
LITTLE = {"small": "4096", "wide": "16kB", "tall": "16kB"}
"""4 kB is the least that ranking takes"""
COLUMNS = ("triple", "greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates")


def bits(table, columns, scores=("score",)) -> str:
    """Hash whole columns and the bits of scores, both zeros as one."""
    digest = hashlib.sha256()
    for name in columns:
        digest.update(np.nan_to_num(table.column(name), nan=-1).astype("<i8").tobytes())  # a count that is not kept
    for name in scores:
        digest.update((table.column(name).astype("<f8") + 0.0).tobytes())
    return digest.hexdigest()


@cache
def kernels() -> tuple[str, ...]:
    """The kernels of this machine: one needs torch."""
    names = ("auto", "compiled", "reference", "float32")
    return names if find_spec("torch") is None else (*names, "bfloat16")


def corruption(candidates: str, folder: Path, dataset):
    """Choose the candidates: all, 20 drawn ones, or the five after the answer, from a file."""
    if candidates == "all":
        return None
    if candidates == "sampled":
        return Uniform(count=20, seed=3)
    path, entities = folder / f"{dataset.name}.tsv", dataset.entities
    if not path.exists():
        lines = ["head\trelation\ttail\tside\n"]
        for h, r, t in dataset.test.ids.tolist():
            for step in range(1, 6):
                other_head, other_tail = (entities[(row + step) % len(entities)] for row in (h, t))
                lines.append(f"{other_head}\t{dataset.relations[r]}\t{entities[t]}\thead\n")
                lines.append(f"{entities[h]}\t{dataset.relations[r]}\t{other_tail}\ttail\n")
        path.write_text("".join(lines))
    return FileNegatives(path=str(path))


def compute(name: str) -> dict[str, str]:
    """Hash each case of a graph; kernels that count differently are named in place of the hash.

    Every case is counted by two kernels, by all of them on the three graphs together; in 1 or 3 threads by turns, and
    some in little memory by one kernel after the other.
    """
    dataset, found = graph(name), {}
    cases = itertools.product(SIMILARITIES, (False, True), PROTOCOLS, CANDIDATES)
    with tempfile.TemporaryDirectory() as folder:
        for number, (similarity, biased, protocol, candidates) in enumerate(cases):
            model = ExactModel(dataset, similarity, biased=biased)
            negatives = corruption(candidates, Path(folder), dataset)
            turns = range(first := number + 2 * [*GRAPHS].index(name), first + 2)
            by_turns = [kernels()[turn % len(kernels())] for turn in turns]
            ways_to_count = [(kernel, THREADS[(number + turn) % 2], "1GB") for turn, kernel in enumerate(by_turns)]
            if number % EVERY[name] == 0:
                place = number // EVERY[name]
                ways_to_count.append((kernels()[place % len(kernels())], THREADS[place // 2 % 2], LITTLE[name]))
            hashes = {}
            for kernel, threads, memory in ways_to_count:
                ways = {"kernel": kernel, "threads": threads, "memory_limit": memory, "device": "cpu"}
                table = evaluate(model, dataset, protocol=protocol, corruption=negatives, **ways)
                hashes[f"{kernel}, {threads} threads, {memory}"] = bits(table, COLUMNS)
            case = f"{similarity}{', biases' if biased else ''}, {protocol}, {candidates}"
            found[case] = same(hashes)
    return found


def same(hashes: dict[str, str]) -> str:
    """Give the hash that all ways of counting share, or which of them have which."""
    different = {value: [way for way in hashes if hashes[way] == value] for value in hashes.values()}
    return next(iter(different)) if len(different) == 1 else f"differs by the way of counting: {different}"


CONTRACTS = {f"counts-{name}": (lambda name=name: compute(name)) for name in GRAPHS}
