"""Display: results on standard output, in the order that ``--sort`` wants; notes and progress on standard error.

Commands call ``show`` for any result, ``show_outcomes`` and ``show_remarks`` for evaluated models, ``show_notes`` for
notes, and ``watching`` around work that takes time. Options on printing are read from the context of the command.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kgeval.base.errors import ConfigError, MetricError, RunError, counted, did_you_mean, visible
from kgeval.base.notes import Note
from kgeval.base.progress import CLEARED
from kgeval.base.tables.text_layout import wrap_lines
from kgeval.cli.streams import encodable, say, say_json, width

if TYPE_CHECKING:
    from kgeval.base.progress import Progress
    from kgeval.base.tables.shown import Page, Shown
    from kgeval.base.tables.table import Cell, Table
    from kgeval.metrics.names import MetricName
    from kgeval.runs.config.run_config import RunConfig
    from kgeval.runs.outcome import Outcome

NONE: Mapping[str, str] = MappingProxyType({})


def show(result: Shown, form: str = "text") -> None:
    """Print a result in a form that ``--format`` names, with as many decimals as ``--digits`` says."""
    digits = _kept().get("kgeval.digits")
    record(result)
    if form == "json":
        return say_json(result.to_dict())
    if form == "csv":
        tables = arranged_as_wanted(result.csv_tables())
        say("\n".join(table.csv() for table in tables).rstrip("\n"))
        return show_notes(note for table in tables for note in table.notes)
    if form != "text":
        written = [getattr(table, form)(digits) for table in arranged_as_wanted(result.papers())]
        return say("\n".join(written).rstrip("\n"))
    for head in result.heads:
        for line in wrap_lines(head, width()):
            say(line)
    for index, table in enumerate(arranged_as_wanted(result.tables())):
        if index or result.heads:
            say("")
        for line in table.lines(width(), digits, spell=_encodable):
            say(line)
    return None


def _encodable(text: str) -> str:
    return text if sys.stdout is None else encodable(text, sys.stdout)


def show_outcomes(
    outcomes: Sequence[Outcome], form: str, failures: Mapping[str, str] = NONE, **further: Sequence[str]
) -> None:
    """Print the metrics of one model, a table with a row for each of several models, or a table of groups for each."""
    from kgeval.base.tables.shown import Page
    from kgeval.runs.outcome import results_of, with_common_ties

    if form == "json":
        for outcome in outcomes:
            record(outcome.summary)
        say_json(results_of(outcomes, failures, **further))
        return
    for index, page in enumerate(_pages(with_common_ties(outcomes))):
        if index:
            say("")
        show(page, form)
        show_notes(page.notes if isinstance(page, Page) else ())


def _pages(outcomes: Sequence[Outcome]) -> Iterator[Shown]:
    from kgeval.base.tables.shown import Page
    from kgeval.metrics.labels.label_summary import LabelSummary, label_table
    from kgeval.metrics.rank_summary import RankSummary
    from kgeval.metrics.summary import MODEL
    from kgeval.runs.outcome import comparability_notes

    of_labels = {one.name or MODEL: one.summary for one in outcomes if isinstance(one.summary, LabelSummary)}
    of_ranks = {one.name: one.summary for one in outcomes if isinstance(one.summary, RankSummary)}
    if of_labels:
        from kgeval.analysis.comparison.words import common_head

        # Models share baselines only if they were evaluated on the same triples.
        alone = ({name: summary} for name, summary in of_labels.items())
        for part in alone if comparability_notes(outcomes) else [of_labels]:
            head, _ = common_head([summary.provenance for summary in part.values()], [*part])
            yield Page((head, *next(iter(part.values())).heads[1:]), (label_table(part),))
    elif len(outcomes) == 1:
        yield _page_of(outcomes[0])
    elif of_ranks:
        from kgeval.analysis.comparison.comparison import Comparison

        yield Comparison({"": of_ranks})


def _page_of(outcome: Outcome) -> Page:
    """Lay out the framework's own metrics if its protocol applies and no others are requested; else the summary."""
    from kgeval.base.tables.shown import Page
    from kgeval.base.tables.table import Table

    framework, tables = outcome.framework, outcome.summary.tables()
    if framework is None or not outcome.follows_protocol:
        return Page(outcome.summary.heads, tables)
    headline = Table([framework.protocol, ""], [*framework.headline.items()])
    left_out = len(framework.headline) < len(framework.texts)
    counts = f"{len(framework.headline)} of {len(framework.texts)} numbers"
    shown = Note("terms", f"{counts} are shown; metrics.json and --json have the others.")
    notes = (shown,) if left_out else ()
    return Page(outcome.summary.provenance.heads, (headline, *tables[1:]), notes)


def show_remarks(outcomes: Sequence[Outcome], *, places: bool = True) -> None:
    """Print the notes on outcomes, and their folders."""
    from kgeval.runs.outcome import comparability_notes, notes_by_model

    show_notes(notes_by_model(outcomes), early=not places)
    for outcome in outcomes:
        if places and outcome.folder is not None:
            show_place(outcome.folder, stored=outcome.stored)
    if places:
        show_pages(outcomes)
    show_notes(comparability_notes(outcomes), early=not places)


def show_pages(outcomes: Sequence[Outcome]) -> None:
    """Print the path of the page of each run, or of the runs of several models."""
    from kgeval.stored.stored_run import StoredRun

    folders = [
        outcome.folder.parents[outcome.name.count("/")] if outcome.name else outcome.folder
        for outcome in outcomes
        if outcome.folder
    ]
    for page in dict.fromkeys(StoredRun(folder).page for folder in folders):
        if page.is_file():
            show_page(page)


def show_notes(notes: Iterable[str], *, early: bool = False) -> None:
    """Print notes on results, without those that were printed before; ``early`` if a common table follows."""
    notes, printed = [*notes], _kept().setdefault("kgeval.notes", [])
    _record(notes)
    for note in notes:
        if note not in printed:
            _remark(f"Note: {note}")
            printed.append(note)
        if not early:
            printed.remove(note)


def record(result: Shown) -> None:
    """Remember the kinds of the notes above and below a result, for ``--fail-on``: not every form prints them."""
    _record([*(head for head in result.heads if isinstance(head, Note)), *getattr(result, "notes", ())])


def _record(notes: Iterable[str]) -> None:
    _kept().setdefault("kgeval.kinds", {}).update((Note.of(note).kind, note) for note in notes)


def refuse_noted() -> None:
    """Let a command fail (``--fail-on``) if a result has a note of a named kind, or a note whose kind nobody knows."""
    kinds, shown = _kept().get("kgeval.fail_on", ()), _kept().get("kgeval.kinds", {})
    faults = [f"--fail-on {kind}: {shown[kind]}" for kind in kinds if kind in shown]
    if kinds and "" in shown:
        faults.append(f"--fail-on: an older version or another package wrote this note, without a kind: {shown['']}")
    if faults:
        raise RunError("\n  ".join(faults))


def show_note(note: str) -> None:
    """Print a note during the work; it is not printed again with the results."""
    _record([note])
    _remark(f"Note: {note}")
    _kept().setdefault("kgeval.notes", []).append(note)


def show_place(path: Any, *, stored: bool = False) -> None:
    """Print where results were written, or the earlier run that they come from."""
    _remark(f"Taken from the earlier run {path}: same configuration and inputs" if stored else f"Written to {path}")


def show_file(path: Path, *, as_json: bool) -> None:
    """Say where a file was written."""
    if as_json:
        say_json({"path": str(path), "bytes": path.stat().st_size})
    else:
        show_place(path)


def show_page(path: Any) -> None:
    """Say where a page is."""
    _remark(f"Report for the browser: {path}")


def _remark(text: str) -> None:
    if not _kept().get("kgeval.quiet"):
        if width(err=True) is not None:
            click.echo(CLEARED, nl=False, err=True)
        for line in wrap_lines(text, width(err=True)):
            say(line, err=True)


@contextmanager
def watching(what: str, total: int | None = None, *, unit: str = "ranks") -> Iterator[Progress]:
    """Show the progress of some work, and say why it takes long the first time."""
    from kgeval.base import progress
    from kgeval.base.compiling import telling

    quiet = _kept().get("kgeval.quiet")
    report = nullcontext(progress.unreported) if quiet else progress.watching(visible(what), total, unit=unit)
    with telling(partial(_remark, "Compiling the counting loops, only once on this machine.")), report as shown:
        yield shown


def _kept() -> dict[str, Any]:
    """What the context of a command keeps: the values of options on printing, and the notes printed before results."""
    kept: dict[str, Any] = getattr(click.get_current_context(silent=True), "meta", {})
    return kept


def arranged_as_wanted(tables: Sequence[Table]) -> list[Table]:
    """Sort and cut tables as the options of the command want."""
    from kgeval.metrics.names import POINT

    sort, shown = _kept().get("kgeval.sort"), [table for table in tables if table.item]
    if sort is not None and shown and all(sort.column(table) is None for table in shown):
        columns = [_metric_of(column) for table in shown for column in table.columns[table.keys :]]
        sort.refuse_other({POINT.split(column)[-1] for column in columns if " " not in column})
    return [arranged(table, sort, _kept().get("kgeval.limit")) for table in tables]


def arranged(table: Table, sort: SortKey | None, limit: int | None) -> Table:
    """Sort the rows of a table of groups or models, and keep the first ones; other tables are left alone.

    A group keeps the rows of its models together, and takes its place by the first of them in the order. Undefined
    numbers are last.

    >>> from kgeval.base.tables.table import Table
    >>> table = Table(["relation", "both.mrr"], [["eats", 0.5], ["likes", 0.2], ["owns", 0.3]], item="group")
    >>> found = arranged(table, SortKey.read("mrr"), 2)
    >>> found.rows, found.notes
    ([['likes', 0.2], ['owns', 0.3]], ['… and 1 more group'])
    """
    if not table.item:
        return table
    if sort is not None and "difference" in table.columns:  # its title has the metric
        sort = sort._replace(metric=SortKey.read(table.title.split()[0].rstrip(":")).metric)
    heads = [column.lower() for column in table.columns[: table.keys]]
    keys = heads.index("model") if table.item == "group" and "model" in heads else table.keys
    groups = [[*rows] for _, rows in groupby(table.rows, lambda row: [*row[:keys]])]
    if sort is not None and (column := sort.column(table)) is not None:
        increasing = sort.metric.metric.increasing
        best_first = (table.item == "model" or increasing is None) != sort.backwards
        sign = -1 if best_first == (increasing is not False) else 1

        def place(rows: Sequence[Sequence[Cell]]) -> float:
            values = [cell.value if isinstance(cell := row[column], tuple) else cell for row in rows]
            return min((sign * value for value in values if isinstance(value, int | float)), default=math.inf)

        groups.sort(key=place)
    kept, left = groups[:limit], len(groups[limit or len(groups) :])
    more = [Note("terms", f"… and {counted(left, f'more {table.item}')}")] if left else []
    return replace(table, rows=[row for rows in kept for row in rows], notes=[*table.notes, *more])


class SortKey(NamedTuple):
    """A metric by which groups are sorted, the worst first, or models, the best first; or the other way round."""

    metric: MetricName
    backwards: bool = False

    @classmethod
    def read(cls, text: str) -> SortKey:
        """Read a metric of any kind of table, after a minus for the other way round.

        >>> SortKey.read("-hits@10").backwards, str(SortKey.read("relation.accuracy").metric)
        (True, 'relation.accuracy')
        """
        from kgeval.metrics.names import parse

        name = text.removeprefix("-")
        for kind in ("classification", "confidences"):
            with suppress(MetricError):
                return cls(parse(name, kind), name != text)
        return cls(parse(name), name != text)

    def column(self, table: Table) -> int | None:
        """Find the column of the metric, with a side or without one; in a table of differences, their column."""
        from kgeval.metrics.names import PARTS, title_of

        names = [self.metric, *(self.metric.of_part(part) for part in PARTS)]
        spelled = [*map(str, names), *map(title_of, names), "difference"]
        places = {name: place for place, name in reversed([*enumerate(map(_metric_of, table.columns))])}
        return next((places[name] for name in spelled if name in places), None)

    def refuse_other(self, names: Iterable[str]) -> None:
        """Refuse the metric, which is not among some."""
        near = did_you_mean(str(self.metric), [*names])
        raise ConfigError(f"--sort: {self.metric} is not among the metrics of the table. {near}")


def _metric_of(column: str) -> str:
    """Name the metric of a column of means, which begins with the dataset.

    >>> _metric_of("nations head.mrr mean"), _metric_of("mrr")
    ('head.mrr', 'mrr')
    """
    return column.removesuffix(" mean").rpartition(" ")[2] if column.endswith(" mean") else column


def refuse_unrequested(config: RunConfig) -> None:
    """Refuse to sort by a metric that a configuration does not compute, before anything is ranked."""
    from kgeval.metrics.kinds import KINDS
    from kgeval.metrics.names import parse_all
    from kgeval.ranking.protocols.protocol import find_protocol

    usual = find_protocol(config.protocol).metrics if config.task is None else KINDS[config.kind].metrics
    names = [name.base for name in parse_all(config.metrics or usual, config.kind)]
    if (sort := _kept().get("kgeval.sort")) and sort.metric.base not in (*names, "count"):
        sort.refuse_other(names)
