"""Notes on a comparison: what was resampled, for how many pairs p-values are adjusted, and what was not tested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference
from kgeval.metrics.intervals.interval import PLURAL


def notes_on_tests(pairs: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    tested = [pair for pair in pairs if pair.adjusted_p is not None]
    if tested:
        yield from _notes_on_family(tested, options)
        yield from _notes_on_secondary(pairs)
    for reason in dict.fromkeys(pair.reason for pair in pairs if pair.reason):
        of = [pair for pair in pairs if pair.reason == reason]
        names = ", ".join(dict.fromkeys(pair.name for pair in of))
        where = f" in {len(of)} of {len(pairs)} differences, the first" if len(of) < len(pairs) and of[0].group else ""
        yield f"{'not tested' if of[0].p is None else 'no interval'}: {names}{where}: {reason}."


def _notes_on_family(tested: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    kinds = list(dict.fromkeys(pair.unit for pair in tested))
    units = " or ".join(_counted(tested, unit) for unit in kinds)
    yield (
        f"difference: the metric of model minus that of other. {100 * options.level:g} % intervals, one difference at "
        f"a time: resampling the {units}."
    )
    holm = ", of the pair or of one before it in Holm's order" if any(pair.family > 1 for pair in tested) else ""
    bound = f' "≤": no draw gave a difference as large{holm}.' if any(pair.is_bound for pair in tested) else ""
    yield (
        f"p: {options.draws:,} sign flips per {' or '.join(kinds)} (seed {options.seed}), two-sided, "
        f"{adjustment(tested)}.{bound}"
    )
    none = "none: no difference is seen. " if any(pair.seen == "none" for pair in tested) else ""
    yield f"{none}detectable: a difference as large is seen, by a single test, on 4 of 5 test sets."
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
    worst = max(tested, key=lambda pair: pair.family / (1 + pair.draws))
    least = worst.family / (1 + worst.draws)
    if least > options.alpha:
        needed = math.ceil(worst.family / options.alpha - 1e-9) - 1
        fewer_pairs = "" if options.reference or worst.family == 1 else ", or compare with one --reference"
        yield (
            f"{worst.draws:,} draws are too few for {worst.family:,} pairs: no adjusted p-value can be below "
            f"{least:.2g}. Take at least {needed:,} draws{fewer_pairs}."
        )


def adjustment(tested: Sequence[PairedDifference]) -> str:
    """Say for how many pairs of models p-values are adjusted."""
    sizes = sorted({pair.family for pair in tested})
    if sizes[-1] == 1:
        return "not adjusted, as one pair of models is compared"
    number = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    of_metric = " tested by each metric" if len({pair.metric for pair in tested}) > 1 else ""
    of_group = f" {'and ' if of_metric else 'tested '}in each group" if tested[0].group else ""
    return f"adjusted by Holm's method (1979) for the {number} pairs of models{of_metric}{of_group}"


def _notes_on_secondary(pairs: Sequence[PairedDifference]) -> Iterator[str]:
    first, *others = dict.fromkeys(pair.name for pair in pairs)
    groups = len({str(pair.group) for pair in pairs if pair.p is not None})
    if others:
        yield (
            f"{first}, named first, decides. {', '.join(others)}: secondary; no p-value is adjusted for the number of "
            "metrics."
        )
    if groups > 1:
        yield f"no p-value is adjusted for the {groups:,} groups: of many groups, a few show a difference by chance."


def _counted(tested: Sequence[PairedDifference], unit: str) -> str:
    numbers = sorted({pair.units for pair in tested if pair.unit == unit})
    plural = PLURAL[next(pair.unit for pair in tested if pair.unit == unit)]
    return f"{numbers[0]:,} {plural}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,} {plural}"
