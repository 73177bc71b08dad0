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
        yield f"{'not tested' if of[0].p is None else 'no difference'}: {names}{where}: {reason}."


def _notes_on_family(tested: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    """Say what the tests and intervals are of."""
    units = " or ".join(_counted(tested, unit) for unit in dict.fromkeys(pair.unit for pair in tested))
    yield (
        f"a difference is that of model less other. {100 * options.level:g} % intervals, each by itself: had the {units} "
        "been drawn again."
    )
    metrics, groups = (
        len(set(values)) for values in ([pair.name for pair in tested], [str(pair.group) for pair in tested])
    )
    pairs = len({(pair.model, pair.other) for pair in tested})
    parts = [_count(pairs, "pair"), _count(metrics, "metric"), *([_count(groups, "group")] if tested[0].group else [])]
    kinds = " or ".join(dict.fromkeys(pair.unit for pair in tested))
    yield (
        f"p: {options.draws:,} sign flips per {kinds} (seed {options.seed}), adjusted for the family of "
        f"{_count(len(tested), 'test')} ({' × '.join(parts)}; Holm, 1979)."
    )
    yield (
        "none: no difference seen. One as large as the detectable would be seen, by a single test, on 4 of 5 test "
        "sets; smaller ones cannot be relied on to show."
    )
    least = len(tested) / (1 + options.draws)
    if least > options.alpha:
        needed = math.ceil(len(tested) / options.alpha - 1e-9) - 1
        yield (
            f"{options.draws:,} draws are too few for {len(tested):,} tests: no adjusted p-value can be below "
            f"{least:.2g}. Take at least {needed:,} draws, or fewer metrics, pairs or groups."
        )


def _counted(tested: Sequence[PairedDifference], unit: str) -> str:
    """Name units with their number, where that is one."""
    numbers = sorted({pair.units for pair in tested if pair.unit == unit})
    plural = PLURAL[next(pair.unit for pair in tested if pair.unit == unit)]
    return f"{numbers[0]:,} {plural}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,} {plural}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
