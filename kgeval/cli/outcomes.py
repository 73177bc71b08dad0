"""Print the outcomes of runs: one model, or several side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgeval.base.tables.shown import Page, Shown
    from kgeval.runs.outcome import Outcome


def show_outcomes(outcomes: Sequence[Outcome], form: str = "text") -> None:
    """Print the metrics of one model, a table with a row for each of several models, or a table of groups for each."""
    from kgeval.base.tables.shown import Page
    from kgeval.cli.display import show, show_notes
    from kgeval.cli.streams import say
    from kgeval.runs.outcome import with_common_ties

    for index, page in enumerate(_pages(with_common_ties(outcomes))):
        if index:
            say("")
        show(page, form)
        show_notes(page.notes if isinstance(page, Page) else ())


def _pages(outcomes: Sequence[Outcome]) -> Iterator[Shown]:
    from kgeval.analysis.comparison.comparison import Comparison, common_head
    from kgeval.base.tables.shown import Page
    from kgeval.metrics.labels.label_summary import LabelSummary, label_table
    from kgeval.metrics.rank_summary import RankSummary
    from kgeval.metrics.summary import MODEL
    from kgeval.runs.outcome import comparability_notes

    of_labels = {one.name or MODEL: one.summary for one in outcomes if isinstance(one.summary, LabelSummary)}
    of_ranks = {one.name: one.summary for one in outcomes if isinstance(one.summary, RankSummary)}
    if of_labels:
        # Models share baselines only if they were evaluated on the same triples.
        alone = ({name: summary} for name, summary in of_labels.items())
        for part in alone if comparability_notes(outcomes) else [of_labels]:
            head, _ = common_head([summary.provenance for summary in part.values()], [*part])
            yield Page((head,), (label_table(part),))
    elif len(outcomes) == 1:
        yield _page(outcomes[0])
    elif of_ranks:
        yield Comparison({"": of_ranks})


def _page(outcome: Outcome) -> Page:
    """Lay out the framework's own metrics if its protocol applies and no others are requested; else the summary."""
    from kgeval.base.tables.shown import Page
    from kgeval.base.tables.table import Table

    framework, tables = outcome.framework, outcome.summary.tables()
    if framework is None or not outcome.follows_protocol:
        return Page(outcome.summary.heads, tables)
    headline = Table([framework.protocol, ""], [*framework.headline.items()])
    left_out = len(framework.headline) < len(framework.texts)
    counts = f"{len(framework.headline)} of {len(framework.texts)} numbers"
    notes = (f"{counts} are shown; metrics.json and --json have the others.",) if left_out else ()
    return Page(outcome.summary.provenance.heads, (headline, *tables[1:]), notes)


def show_pages(outcomes: Sequence[Outcome]) -> None:
    """Print the path of the page of each run, or of the runs of several models."""
    from kgeval.cli.display import show_page
    from kgeval.ranking.run_directory.stored_run import StoredRun

    folders = [
        outcome.folder.parents[outcome.name.count("/")] if outcome.name else outcome.folder
        for outcome in outcomes
        if outcome.folder
    ]
    for page in dict.fromkeys(StoredRun(folder).page for folder in folders):
        if page.is_file():
            show_page(page)


def show_remarks(
    outcomes: Sequence[Outcome], failures: Mapping[str, object] | None = None, *, places: bool = True
) -> None:
    """Print the notes on outcomes, their folders, and which models failed."""
    from kgeval.cli.display import show_notes, show_place
    from kgeval.runs.outcome import comparability_notes, notes_by_model

    show_notes(notes_by_model(outcomes), early=not places)
    for outcome in outcomes:
        if places and outcome.folder is not None:
            show_place(outcome.folder, stored=outcome.stored)
    if places:
        show_pages(outcomes)
    failed = [f"{name} failed: {why}" for name, why in (failures or {}).items()]
    show_notes([*comparability_notes(outcomes), *failed], early=not places)
