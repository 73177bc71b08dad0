"""The differences of models over seeds, as ``kgeval.compare`` tests them."""

from __future__ import annotations

from kgeval import compare


def seed_differences(runs, metrics, *, options=None, **how):
    if options is not None:
        how |= {"intervals": options.unit, "level": options.level, "reference": options.reference}
    return compare(runs, metrics, spread="sd", **how).pairs
