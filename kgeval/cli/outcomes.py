"""Print the outcomes of runs: one model, or several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgeval.runs.outcome import Outcome


def show_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print one model's numbers; of several, a table with a row each, or where they are grouped, a table each."""
    from kgeval.cli.display import show_comparison, show_labels, show_summary
    from kgeval.cli.streams import say
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.metrics.tables.rank_summary import RankSummary
    from kgeval.runs.outcome import comparability_notes

    judged = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, LabelSummary)}
    ranked = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, RankSummary)}
    if judged:
        # Baselines are counted on the triples of their model: only the same triples give the same baselines.
        parts = [{name: judged[name]} for name in judged] if comparability_notes(outcomes) else [judged]
        for index, part in enumerate(parts):
            if index:
                say("")
            show_labels(part)
    elif len(outcomes) == 1:
        show_outcome(outcomes[0])
    elif any(summary.by for summary in ranked.values()):
        for name, summary in ranked.items():
            say(f"{name}:")
            show_summary(summary)
    elif ranked:
        show_comparison(ranked)
        for outcome in outcomes:
            _show_groups_of(outcome)


def show_outcome(outcome: Outcome) -> None:
    """Print what the framework prints whose protocol was followed, unless metrics were asked for; else the summary."""
    from kgeval.cli.display import show_groups, show_head, show_notes, show_summary, show_table

    framework = outcome.result.framework
    if framework is None or not outcome.result.follows_protocol:
        show_summary(outcome.summary)
    else:
        shown = framework.headline
        show_head(str(outcome.summary.provenance))
        show_table([framework.protocol, ""], [*shown.items()])
        if len(shown) < len(framework.texts):
            show_notes([f"{len(shown)} of {len(framework.texts)} numbers; the others are in metrics.json and --json."])
    show_groups(outcome.result.groups)


def _show_groups_of(outcome: Outcome) -> None:
    """Print the groups of one of several models under its name."""
    from kgeval.cli.display import show_groups
    from kgeval.cli.streams import say

    if outcome.result.groups is not None:
        say(f"\n{outcome.name}:")
        show_groups(outcome.result.groups)


def show_remarks(
    outcomes: Sequence[Outcome], failures: Mapping[str, object] | None = None, *, places: bool = True
) -> None:
    """Print the notes on outcomes, the places where they were written, if they compare, and which models failed."""
    from kgeval.cli.display import show_notes, show_place
    from kgeval.runs.outcome import comparability_notes, notes_by_model

    show_notes(notes_by_model(outcomes))
    for outcome in outcomes:
        if places and outcome.folder is not None:
            show_place(outcome.folder, stored=outcome.stored)
    failed = [f"{name} failed: {why}" for name, why in (failures or {}).items()]
    show_notes([*comparability_notes(outcomes), *failed])
