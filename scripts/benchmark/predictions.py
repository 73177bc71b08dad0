"""Predictions beside ranks: the ten best answers of all queries, in turns with the ranking of the answers."""

from __future__ import annotations

import time
from typing import Any

import click

from kgeval import Dataset, evaluate, predict
from kgeval.models.family import family
from scripts.benchmark.tools import CASES

TIMED = ("ComplEx", "TransE L1", "TransE L2")
"""products, sums of absolute differences, and distances by products"""


def predictions(graph: Dataset, repeat: int) -> list[dict[str, Any]]:
    """Time both, the least of several seconds each."""
    return [
        _timed(case.name, family(case.family).build(case.weights(graph), case.options), graph, repeat)
        for case in CASES
        if case.name in TIMED
    ]


def _timed(name: str, model: Any, graph: Dataset, repeat: int) -> dict[str, Any]:
    click.echo(f"{name}, predictions ...", err=True)
    seconds: dict[str, list[float]] = {"ranking": [], "predicting": []}
    work = {"ranking": evaluate, "predicting": predict}
    for _ in range(repeat + 1):  # the first time compiles
        for what, do in work.items():
            start = time.perf_counter()
            do(model, graph, unseen="worst")
            seconds[what].append(time.perf_counter() - start)
    return {"name": name, "seconds": {what: min(times[1:]) for what, times in seconds.items()}}
