"""Answer sets on the terminal: what they are calibrated on, how often they have the answer, how large they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kgeval.cli.display import show_head, show_table, wanted_digits

if TYPE_CHECKING:
    from kgeval.analysis.answer_sets.answer_sets import AnswerSets
    from kgeval.analysis.answer_sets.set_groups import SetGroup


def show_answer_sets(found: AnswerSets, groups: Sequence[SetGroup]) -> None:
    """Print a row for all sets, and one for each group."""
    show_head(str(found.ranks.provenance), _calibration(found))
    by = list(groups[0].key) if groups else []
    rows = [[*(str(group.key.get(name, "all")) for name in by), *_cells(group)] for group in (*found.groups(), *groups)]
    show_table([*by, "coverage", "mean size", "median size", "ranks"], rows, keys=len(by))


def as_plain(found: AnswerSets, groups: Sequence[SetGroup]) -> dict[str, Any]:
    """Return the content as plain data."""
    return {**found.to_dict(), **({"groups": [{"key": g.key, **g.to_dict()} for g in groups]} if groups else {})}


def _cells(group: SetGroup) -> list[str]:
    from kgeval.metrics.tables.rendering import cell

    coverage, size = (
        cell(value, interval, wanted_digits())
        for value, interval in (
            (group.coverage, group.coverage_interval),
            (group.mean_size, group.size_interval),
        )
    )
    return [coverage, size, f"{group.median_size:g}", str(group.rows)]


def _calibration(found: AnswerSets) -> str:
    """Say what the sets are to cover, and up to which nonconformity candidates are in them."""
    from kgeval.analysis.answer_sets.nonconformity import find_nonconformity

    formula, valid = find_nonconformity(found.nonconformity).formula, sum(limit.valid for limit in found.limits)
    limits = [limit.limit for limit in found.limits]
    finite = [limit for limit in limits if math.isfinite(limit)]
    ends = dict.fromkeys(f"{limit:.6g}" for limit in (min(finite), max(finite))) if finite else {}
    sets = [f"{formula} ≤ {'–'.join(ends)}"] if finite else []
    sets += ["all candidates (no finite limit covers as many)"] if len(finite) < len(limits) else []
    how = found.nonconformity + (f" per {' and '.join(found.per)}" if found.per else "")
    return f"{found.target:g} coverage by {how}, {' or '.join(sets)}, of {valid:,} valid ranks"
