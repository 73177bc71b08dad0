"""Print the outcomes of runs: one model, or several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgeval.runs.outcome import Outcome


def show_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print the metrics of one model; of several, one table with a row each, or with groups a table each."""
    from kgeval.cli.display import show_comparison, show_labels, show_summary
    from kgeval.cli.streams import say
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.metrics.rank_summary import RankSummary
    from kgeval.runs.outcome import comparability_notes, with_common_ties

    outcomes = with_common_ties(outcomes)
    of_labels = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, LabelSummary)}
    of_ranks = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, RankSummary)}
    if of_labels:
        # The baselines of models are the same only where the models were evaluated on the same triples.
        parts = [{name: of_labels[name]} for name in of_labels] if comparability_notes(outcomes) else [of_labels]
        for index, part in enumerate(parts):
            if index:
                say("")
            show_labels(part)
    elif len(outcomes) == 1:
        show_outcome(outcomes[0])
    elif any(summary.by for summary in of_ranks.values()):
        for name, summary in of_ranks.items():
            say(f"{name}:")
            show_summary(summary)
    elif of_ranks:
        show_comparison(of_ranks)
        for outcome in outcomes:
            _show_groups_of(outcome)


def show_outcome(outcome: Outcome) -> None:
    """Print the framework's own metrics if its protocol was followed and no others were requested; else the summary."""
    from kgeval.cli.display import show_groups, show_head, show_notes, show_summary, show_table

    framework = outcome.result.framework
    if framework is None or not outcome.result.follows_protocol:
        show_summary(outcome.summary)
    else:
        headline = framework.headline
        show_head(str(outcome.summary.provenance))
        show_table([framework.protocol, ""], [*headline.items()])
        if len(headline) < len(framework.texts):
            counts = f"{len(headline)} of {len(framework.texts)} numbers"
            show_notes([f"{counts}; the others are in metrics.json and --json."])
    show_groups(outcome.result.groups)


def _show_groups_of(outcome: Outcome) -> None:
    """Print the groups of one of several models under its name."""
    from kgeval.cli.display import show_groups
    from kgeval.cli.streams import say

    if outcome.result.groups is not None:
        say(f"\n{outcome.name}:")
        show_groups(outcome.result.groups)


def show_pages(outcomes: Sequence[Outcome]) -> None:
    """Say where the page of a run is, or the one of several models' runs."""
    from kgeval.cli.display import show_page
    from kgeval.run_directory.contents import REPORT

    folders = [outcome.folder.parent if outcome.name else outcome.folder for outcome in outcomes if outcome.folder]
    for folder in dict.fromkeys(folders):
        if (folder / REPORT).is_file():
            show_page(folder / REPORT)


def show_remarks(
    outcomes: Sequence[Outcome], failures: Mapping[str, object] | None = None, *, places: bool = True
) -> None:
    """Print the notes on outcomes, their folders, whether they compare, and which models failed."""
    from kgeval.cli.display import show_notes, show_place
    from kgeval.runs.outcome import comparability_notes, notes_by_model

    show_notes(notes_by_model(outcomes))
    for outcome in outcomes:
        if places and outcome.folder is not None:
            show_place(outcome.folder, stored=outcome.stored)
    if places:
        show_pages(outcomes)
    failed = [f"{name} failed: {why}" for name, why in (failures or {}).items()]
    show_notes([*comparability_notes(outcomes), *failed])
