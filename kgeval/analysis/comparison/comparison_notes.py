"""Notes on a comparison: what was drawn again, what is one family of tests, and what could not be tested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference
from kgeval.metrics.intervals.units import PLURAL


def notes_on_tests(pairs: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    """Yield what a reader of differences should know."""
    tested = [pair for pair in pairs if pair.adjusted_p is not None]
    if tested:
        yield from _notes_on_family(tested, options)
    for reason in dict.fromkeys(pair.reason for pair in pairs if pair.reason):
        of = [pair for pair in pairs if pair.reason == reason]
        names = ", ".join(dict.fromkeys(pair.name for pair in of))
        where = f" in {len(of)} of {len(pairs)} differences, the first" if len(of) < len(pairs) and of[0].group else ""
        yield f"{'not tested' if of[0].p is None else 'no interval'}: {names}{where}: {reason}."


def _notes_on_family(tested: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    """Say what the tests and intervals are of."""
    kinds = list(dict.fromkeys(pair.unit for pair in tested))
    units = " or ".join(_counted(tested, unit) for unit in kinds)
    level = f"{100 * options.level:g} % intervals, each by itself"
    yield f"a difference is that of model less other. {level}: had the {units} been drawn again."
    yield (
        f"p: {options.draws:,} sign flips per {' or '.join(kinds)} (seed {options.seed}), adjusted for the family of "
        f"{_count(len(tested), 'test')} ({' × '.join(_sizes(tested))}; Holm, 1979)."
    )
    yield (
        "none: no difference seen. One as large as the detectable would be seen, by a single test, on 4 of 5 test "
        "sets; smaller ones cannot be relied on to show."
    )
    if fewer := [pair for pair in tested if pair.draws < options.draws]:
        names = ", ".join(dict.fromkeys(pair.name for pair in fewer))
        yield (
            f"no function of means: {names}. Intervals are those of a paired bootstrap; sign flips compute the metric "
            f"anew, {fewer[0].draws:,} times."
        )
    if cut := list(dict.fromkeys(pair.name for pair in tested if pair.interval and pair.interval.clipped)):
        yield f"an interval of {', '.join(cut)} ends where the range of its differences does."
    yield from _notes_on_few_draws(tested, options)


def _notes_on_few_draws(tested: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    """Say that no difference could be seen, however large, because the smallest p-value is too large for the family."""
    draws = min(pair.draws for pair in tested)
    least = len(tested) / (1 + draws)
    if least > options.alpha:
        needed = math.ceil(len(tested) / options.alpha - 1e-9) - 1
        yield (
            f"{draws:,} draws are too few for {len(tested):,} tests: no adjusted p-value can be below {least:.2g}. "
            f"Take at least {needed:,} draws, or fewer metrics, pairs or groups."
        )


def _sizes(tested: Sequence[PairedDifference]) -> list[str]:
    """What a family is made of."""
    pairs = _count(len({(pair.model, pair.other) for pair in tested}), "pair")
    metrics = _count(len({pair.name for pair in tested}), "metric")
    groups = _count(len({str(pair.group) for pair in tested}), "group")
    return [pairs, metrics, *([groups] if tested[0].group else [])]


def _counted(tested: Sequence[PairedDifference], unit: str) -> str:
    """Name units with their number, where that is one."""
    numbers = sorted({pair.units for pair in tested if pair.unit == unit})
    plural = PLURAL[next(pair.unit for pair in tested if pair.unit == unit)]
    return f"{numbers[0]:,} {plural}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,} {plural}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
