"""Whether a stored run is the current one: then it is taken, and a tighter estimate goes on with its sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kgeval.errors import InputError, first_few
from kgeval.run_directory.stored_run import StoredRun
from kgeval.runs.shards.fingerprint import Fingerprint, leaves

SIZES = ERROR, TRIPLES = "evaluation.estimate.error", "evaluation.estimate.triples"
"""the keys of an estimate that say how many triples are ranked, in an order that does not depend on them"""


def refuse_changes(run: StoredRun, current: Fingerprint) -> None:
    """Refuse a stored run that differs from the current one, and name what has changed.

    An estimate that has become tighter is no change: its sample is gone on with.
    """
    damaged, stored = [f"{name} is not as it was written" for name in run.altered], _fingerprint(run)
    if _is_tighter(stored.config, current.config):
        sizes = {key: current.config[key] for key in SIZES if key in current.config}
        stored = replace(stored, config={**stored.config, **sizes})
    changed = [*damaged, *current.changes(stored)]
    if changed:
        what = f"{str(run.path)!r} already holds a run, and this would be another: {first_few(changed)}"
        raise InputError(f"{what}. Choose another folder, or add --force.")


def goes_on(run: StoredRun, current: Fingerprint) -> bool:
    """Whether a stored run is an estimate that is now wanted tighter."""
    old, new = _fingerprint(run).config, current.config
    return _is_tighter(old, new) and any(old.get(key) != new.get(key) for key in SIZES)


def _fingerprint(run: StoredRun) -> Fingerprint:
    try:
        config = leaves(run.config)
    except InputError as error:
        raise InputError(f"{error} Add --force.") from error
    versions, files, variables = (run.facts(name) for name in ("versions", "sha256", "variables"))
    return Fingerprint(config, run.fingerprint, files, versions.get("kgeval"), variables)


def _is_tighter(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether an estimate needs no fewer triples than another, both of an error or both of a number of triples."""
    if ERROR in old and ERROR in new:
        return float(new[ERROR]) <= float(old[ERROR])
    return TRIPLES in old and TRIPLES in new and int(new[TRIPLES]) >= int(old[TRIPLES])
