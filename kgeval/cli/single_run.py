"""Run the configuration that the options of a command make, and print its result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgeval.runs.config.run_config import RunConfig
    from kgeval.runs.metric_bounds import Threshold
    from kgeval.runs.outcome import Outcome


def run_and_show(
    config: RunConfig, out: Path | None, *, force: bool, as_json: bool, limits: Sequence[Threshold] = ()
) -> Outcome:
    """Evaluate one model, and print its metrics and its run directory."""
    from kgeval.cli.display import show_note, watching
    from kgeval.cli.outcomes import show_outcome, show_remarks
    from kgeval.cli.streams import say_json
    from kgeval.runs.runner import run

    (outcome,) = run(config, out or config.folder, force=force, watch=watching, warn=show_note, limits=limits)
    if as_json:
        say_json(outcome.to_dict())
    else:
        show_outcome(outcome)
    show_remarks([outcome])
    return outcome
