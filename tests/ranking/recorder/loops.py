"""A model that is a function, its scores in batches as a loop computes them, and two processes that share the work."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import kgeval
from tests.conftest import random_dataset


def score(h, r, t):
    return (h * 31 + r * 3 + t * 7) % 11 / 4


def scores_of(data, rows, side):
    """float32[row, candidate] of rows of test."""
    heads, relations, tails = (column[rows, None] for column in data.test.ids.T)
    every = np.arange(len(data.answers_of(side)))[None]
    places = {"head": (every, relations, tails), "relation": (heads, every, tails), "tail": (heads, relations, every)}
    return score(*places[side]).astype(np.float32)


def batches(number, sides, *, seed):
    """Rows of each side in random order, in batches of random sizes, side after side or mixed."""
    rng = np.random.default_rng(seed)
    found = []
    for side in sides:
        order = rng.permutation(number)
        cuts = np.sort(rng.integers(0, number + 1, 5))
        found += [(side, part) for part in np.split(order, cuts)]
    rng.shuffle(found)
    return found


def evaluated(data, **settings):
    def a_model(h, r, t):
        return score(h, r, t)

    table = kgeval.evaluate(a_model, data, entities=data.entities, relations=data.relations, **settings)
    return replace(table, model="a model")


def half_of_the_work(rank, address, folder):
    """One of two processes: records its batches, and one that both have; then gathers, and stores the table."""
    import torch.distributed

    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    data = random_dataset(5)
    recorder = kgeval.Recorder(data, model="a model")
    for number, (side, rows) in enumerate(batches(len(data.test), ("head", "tail"), seed=2)):
        if number % 2 == rank or number == 3:
            recorder.update(data.test.ids[rows], scores_of(data, rows, side), side=side)
    recorder.gather().table().to_parquet(folder / f"process{rank}")
    recorder.reset()
    rows = np.arange(3)
    recorder.update(data.test.ids[rows], scores_of(data, rows, "tail") + rank * np.eye(3, 30), side="tail")
    try:
        recorder.gather()
    except kgeval.KgevalError as error:
        (folder / f"error{rank}").write_text(str(error), encoding="utf-8")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    half_of_the_work(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
