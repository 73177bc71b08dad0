"""Print the outcomes of runs: one model, or several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.runs.outcome import Outcome
    from kgeval.table import Page


def show_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print the metrics of one model; of several, one table with a row each, or with groups a table each."""
    from kgeval.analysis.comparison.leaderboard import side_by_side
    from kgeval.cli.display import show
    from kgeval.cli.streams import say
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.metrics.rank_summary import RankSummary
    from kgeval.runs.outcome import comparability_notes, with_common_ties
    from kgeval.table import Page

    outcomes = with_common_ties(outcomes)
    of_labels = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, LabelSummary)}
    of_ranks = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, RankSummary)}
    if of_labels:
        # The baselines of models are the same only where the models were evaluated on the same triples.
        parts = [{name: of_labels[name]} for name in of_labels] if comparability_notes(outcomes) else [of_labels]
        for index, part in enumerate(parts):
            if index:
                say("")
            show(_labels(part))
    elif len(outcomes) == 1:
        show_outcome(outcomes[0])
    elif any(summary.by for summary in of_ranks.values()):
        for name, summary in of_ranks.items():
            say(f"{name}:")
            show(summary)
    elif of_ranks:
        page = side_by_side(of_ranks)
        grouped = {outcome.name: outcome.result.groups for outcome in outcomes if outcome.result.groups is not None}
        own = [replace(table, title=f"{name}:") for name, groups in grouped.items() for table in groups.tables()]
        show(Page(page.heads, (*page.parts, *own)))


def _labels(summaries: Mapping[str, LabelSummary]) -> Page:
    from kgeval.analysis.comparison.leaderboard import common_head
    from kgeval.metrics.labels.label_summary import label_table
    from kgeval.metrics.summary import MODEL
    from kgeval.table import Page

    head, _ = common_head([summary.provenance for summary in summaries.values()])
    return Page((head,), (label_table({name or MODEL: summary for name, summary in summaries.items()}),))


def show_outcome(outcome: Outcome) -> None:
    """Print the framework's own metrics if its protocol was followed and no others were requested; else the summary."""
    from kgeval.cli.display import show, show_notes
    from kgeval.table import Page, Table

    framework, groups = outcome.result.framework, outcome.result.groups
    heads, tables = outcome.summary.heads, outcome.summary.tables()
    if framework is not None and outcome.result.follows_protocol:
        heads = (str(outcome.summary.provenance),)
        tables = (Table([framework.protocol, ""], [*framework.headline.items()]),)
    show(Page(heads, (*tables, *(() if groups is None else groups.tables()))))
    if framework is not None and outcome.result.follows_protocol and len(framework.headline) < len(framework.texts):
        counts = f"{len(framework.headline)} of {len(framework.texts)} numbers"
        show_notes([f"{counts}; the others are in metrics.json and --json."])


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
