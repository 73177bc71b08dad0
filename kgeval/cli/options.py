"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
METRIC = click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    metavar="METRIC",
    help="A metric, [side.][ties.][average.]name[@k]; may be repeated. 'kgeval list metrics' shows all.",
)
TIES = click.option(
    "--ties",
    type=click.Choice(["optimistic", "realistic", "rounded", "pessimistic", "expected", "random"]),
    help="How ties are ranked.  [default: as the run or the protocol says]",
)
_FURTHER = (
    click.option("--seed", type=int, help="The seed of random ties.  [default: as the run says, or 0]"),
    click.option(
        "--chance",
        type=click.Choice(["exact", "pykeen"]),
        help="What adjusted metrics compare with: random ranking among N candidates, or N - 1 as PyKEEN counts them."
        "  [default: as the run says, or exact]",
    ),
    click.option(
        "--popularity",
        type=(float, float),
        metavar="E R",
        help="What strat metrics weigh against: the exponents of the frequencies of answer and relation."
        "  [default: as the run says, or 1 1]",
    ),
)


def policies(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what metrics of ranks depend on: ties, seed, chance and popularity."""
    for option in reversed((TIES, *_FURTHER)):
        command = option(command)
    return command


def pairs(given: tuple[str, ...], option: str) -> dict[str, Any]:
    """Read KEY=VALUE options; values are YAML, so that ``norm=1`` is a number and ``clamp=true`` a truth value."""
    from kgeval.errors import ConfigError
    from kgeval.runs.document import parse_value

    values = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} {text!r}: expected KEY=VALUE, for example model=ComplEx.")
        values[key] = parse_value(value, f"{option} {text!r}")
    return values
