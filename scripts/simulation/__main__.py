"""Simulate how often 95 % intervals hold the truth, and tests at 5 % reject it; print tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import click

from scripts.simulation import differences, flips, grid, labels, units
from scripts.simulation.design import Cell
from scripts.simulation.methods import (
    Method,
    independent_rows,
    pigeonhole,
    pooled,
    random_effects,
    satterthwaite,
    seeds_only,
    shares_missed,
    triples_only,
)

NAIVE: dict[str, Method] = {"triples only": triples_only, "seeds only": seeds_only, "rows": independent_rows}

OF_ONE: dict[str, Method] = {
    "kgeval": random_effects,
    "Satterthwaite": satterthwaite,
    "pigeonhole": pigeonhole,
    **NAIVE,
}

OF_TWO: dict[str, Method] = {"kgeval": random_effects, "Satterthwaite": satterthwaite, "pooled": pooled, **NAIVE}

GRID = [Cell((runs, runs), (effect, effect)) for runs in (3, 5, 10) for effect in (0.0, 1.0, 3.0)]

HITS = [Cell((runs, runs), (1.0, 1.0), "hits@10") for runs in (3, 5, 10)]

UNLIKE = [
    *(Cell((runs, 1), (effect, 0.0)) for runs in (3, 5, 10) for effect in (1.0, 3.0)),
    *(Cell((runs, runs), (3.0, 0.0)) for runs in (3, 5, 10)),
    *(Cell(seeds, (effect, effect)) for seeds in ((3, 5), (3, 10), (5, 10)) for effect in (1.0, 3.0)),
]
"""a baseline of one run; seeds that matter to one model alone; more runs of one model than of the other"""


def held(cell: Cell, draws: int) -> dict[str, float]:
    """The share of 95 % intervals over the runs of the first model that hold its expectation."""
    runs, (means, covariance) = cell.seeds[0], cell.statistics(draws)
    arguments = means[:, :runs], covariance[:, :runs, :runs], (runs,), cell.triples
    return {name: 1 - shares_missed(method, *arguments, cell.expectations[0]) for name, method in OF_ONE.items()}


def rejected(cell: Cell, draws: int) -> dict[str, float]:
    """The share of tests that reject the true difference of both models: 0, where they are alike."""
    one, other = cell.expectations
    means, covariance = cell.statistics(draws, seed=1)
    arguments = means, covariance, cell.seeds, cell.triples
    return {name: shares_missed(method, *arguments, one - other) for name, method in OF_TWO.items()}


def rows(draws: int) -> Iterator[str]:
    """The tables, line by line, as they come."""
    yield f"Percent of {draws:,} draws in which the 95 % interval of one model holds its expectation\n"
    yield from _head(["metric", "seeds", "seed effect"], OF_ONE)
    for cell in (*GRID, *HITS):
        yield _row([cell.metric, cell.seeds[0], f"{cell.effects[0]:g}"], held(cell, draws))
    yield f"\nPercent of {draws:,} draws in which the test at 5 % rejects the true difference of two models\n"
    yield from _head(["metric", "seeds", "seed effects"], OF_TWO)
    for cell in (*GRID, *HITS, *UNLIKE):
        seeds, effects = (" and ".join(f"{one:g}" for one in pair) for pair in (cell.seeds, cell.effects))
        yield _row([cell.metric, seeds, effects], rejected(cell, draws))


def _head(keys: list[str], methods: dict[str, Method]) -> Iterator[str]:
    yield "| " + " | ".join([*keys, *methods]) + " |"
    yield "|---" * (len(keys) + len(methods)) + "|"


def _row(keys: list[object], shares: dict[str, float]) -> str:
    return "| " + " | ".join([*map(str, keys), *(f"{100 * share:.1f}" for share in shares.values())]) + " |"


WHAT = {
    "seeds": rows,
    "units": lambda draws: chain(units.rows(draws), differences.rows(draws)),
    "flips": flips.rows,
    "grid": grid.rows,
    "labels": labels.rows,
}


@click.command()
@click.argument("what", type=click.Choice([*WHAT]), default="seeds")
@click.option("--draws", default=10_000, show_default=True, help="How often each cell is drawn.")
def main(what: str, draws: int) -> None:
    """Simulate how often intervals and tests are right.

    seeds: over seeds × triples; units: over relations of unequal sizes; flips: tests by sign flips; grid: over triples,
    by metric, number and rarity, also of estimates; labels: of classified triples.
    """
    for line in WHAT[what](draws):
        click.echo(line)


if __name__ == "__main__":
    main()
