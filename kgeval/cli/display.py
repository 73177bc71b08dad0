"""What people see: tables, notes and progress bars. Results go to standard output, all else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from kgeval.metrics.label_summary import LabelSummary
    from kgeval.metrics.summary import Summary
    from kgeval.runs.outcome import Outcome


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: int | None = None) -> None:
    """Print a table; the columns from ``right`` on are aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(columns):
        justified = right is not None and index >= right
        table.add_column(name, justify="right" if justified else "left", no_wrap=justified, overflow="fold")
    for row in rows:
        table.add_row(*row)
    # Where nobody watches (a pipe, a file), lines are as long as they need to be.
    width = None if _watched(sys.stdout) else 100_000
    Console(width=width, markup=False, highlight=False).print(table)


def show_summary(summary: Summary | LabelSummary) -> None:
    """Print a summary: a row per metric, a column per side; groups get a row each."""
    from kgeval.metrics.label_summary import LabelSummary
    from kgeval.metrics.summary import number

    if isinstance(summary, LabelSummary):
        show_labels({"": summary})
        return

    if summary.by:
        names = list(summary.groups[0].values) if summary.groups else []
        rows = [
            [*(str(group.key[key]) for key in summary.by), *(number(group.values[name]) for name in names)]
            for group in summary.groups
        ]
        show_table([*summary.by, *map(str, names)], rows, right=len(summary.by))
        return
    show_undefined(summary)
    (group,) = summary.groups
    sides = list(dict.fromkeys(str(name.side) for name in group.values))
    rows = [
        [base, *("" if side not in values else number(values[side]) for side in sides)] for base, values in group.rows()
    ]
    show_table(["", *sides], rows, right=1)


def show_labels(summaries: dict[str, LabelSummary]) -> None:
    """Print summaries of labelled triples: a row per model, floor and group, a column per metric.

    The floors are the same beside every model, and are shown once, at the end.
    """
    from kgeval.metrics.label_summary import MODEL
    from kgeval.metrics.summary import number

    whole = next(iter(summaries.values()))
    own = [(name or MODEL, line) for name, summary in summaries.items() for line in summary.of_model]
    lines = [*own, *((line.predictor, line) for line in whole.lines if line.predictor != MODEL)]
    names = list(whole.lines[0].values)
    groups = list(dict.fromkeys(key for _, line in lines for key in line.group))
    rows = [
        [
            name,
            *(str(line.group.get(key, "all")) for key in groups),
            *(number(line.values[metric]) if metric in line.values else "" for metric in names),
        ]
        for name, line in lines
    ]
    show_table(["", *groups, *names], rows, right=1 + len(groups))


def show_outcome(outcome: Outcome) -> None:
    """Print what the framework prints whose protocol was followed, unless metrics were asked for; else the summary."""
    if outcome.printed is None or outcome.asked:
        show_summary(outcome.summary)
    else:
        printed, shown = outcome.printed, outcome.printed.headline
        show_table([printed.protocol, ""], shown.items(), right=1)
        if len(shown) < len(printed.texts):
            show_notes([f"{len(shown)} of {len(printed.texts)} numbers; the others are in metrics.json and --json."])


def show_undefined(summary: Summary) -> None:
    """Say why there is no value where there is none, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in summary.groups[0].undefined.items():
        reasons.setdefault(reason, []).append(name)
    show_notes(f"{', '.join(names)}: undefined, because {reason}." for reason, names in reasons.items())


def show_notes(notes: Iterable[str]) -> None:
    """Print what a reader of the results should know."""
    for note in notes:
        click.echo(f"Note: {note}", err=True)


@contextmanager
def watching(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar with rate and time left, if standard error is a terminal."""
    if not _watched(sys.stderr):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.finished_speed or task.speed or 0:,.0f} ranks/s")

    bar = Progress(
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn()),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def _watched(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; a closed one is none."""
    return stream is not None and stream.isatty()
