"""What people see: results on standard output; notes, progress and places on standard error, unless ``--quiet``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.streams import say, spelled, width
from kgeval.cli.terminal_tables import Table, wrapped

if TYPE_CHECKING:
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.metrics.summary import Summary
    from kgeval.metrics.tables.names import MetricName
    from kgeval.metrics.tables.rank_summary import RankSummary
    from kgeval.progress import Progress
    from kgeval.protocols.explain import Explanation
    from kgeval.provenance import LabelProvenance, Provenance

QUIET = "kgeval.quiet"
"""where the context of a command keeps whether ``--quiet`` was said"""


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, keys: int = 1, parts: Sequence[str] = ()
) -> None:
    """Print a table of numbers; ``keys`` and ``parts`` are those of a ``Table``."""
    for line in _table(columns, rows, keys=keys, parts=parts).numbers(width()):
        say(line)


def show_prose(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of text."""
    for line in _table(columns, rows).prose(width()):
        say(line)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, keys: int = 1, parts: Sequence[str] = ()) -> Table:
    # The spelling of the stream may be longer: a table is laid out as it will be written.
    def cells(row: Sequence[str]) -> tuple[str, ...]:
        return tuple(row if sys.stdout is None else (spelled(text, sys.stdout) for text in row))

    return Table(cells(columns), tuple(map(cells, rows)), keys, tuple(parts))


def show_summary(summary: Summary) -> None:
    """Print a summary: a row per metric, a column per side; groups get a row each."""
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.metrics.tables.rendering import number

    if isinstance(summary, LabelSummary):
        show_labels({"": summary})
    elif summary.by:
        show_head(str(summary.provenance))
        _show_rows(summary)
    else:
        show_head(str(summary.provenance))
        (group,) = summary.groups
        sides = list(dict.fromkeys(str(name.side) for name in group.values))
        rows = [
            [base, *("" if side not in values else number(values[side]) for side in sides)]
            for base, values in group.rows()
        ]
        show_table(["", *sides], rows)


def show_groups(groups: Summary | None) -> None:
    """Print the groups of what was printed before, if there are any: a row each."""
    if groups is not None:
        say("")
        _show_rows(groups)


def _show_rows(summary: Summary) -> None:
    keys = [[str(group.key[key]) for key in summary.by] for group in summary.groups]
    # Where a group has one side only, that side's metrics are those of both.
    each = [
        {name: value for name, value in group.values.items() if not _said_by_both(name, summary)}
        for group in summary.groups
    ]
    _show_sides(summary.by, keys, each)


def show_comparison(summaries: Mapping[str, RankSummary]) -> None:
    """Print a row for each of several models, with the metrics that were requested, and what they are not alike in.

    A metric that was requested without a side is that of both.
    """
    apart = _show_common_head([summary.provenance for summary in summaries.values()])
    keys = [
        [model, *(_value(getattr(summary.provenance, name)) for name in apart)] for model, summary in summaries.items()
    ]
    values = [
        {name: summary.groups[0].values[name] for name in summary.requested_columns} for summary in summaries.values()
    ]
    _show_sides(["model", *apart], keys, values, pooled="")


def _show_common_head(provenances: Sequence[Provenance | LabelProvenance]) -> list[str]:
    """Print what the numbers of several models are of, as far as it is the same; name what is not."""
    first, *others = provenances
    of = {field.name: getattr(first, field.name) for field in fields(first) if field.name != "model"}
    apart = [name for name, value in of.items() if any(getattr(other, name) != value for other in others)]
    if apart:
        show_head(", ".join(f"{name} {_value(value)}" for name, value in of.items() if name not in apart))
    elif others:
        show_head(str(replace(first, model=f"{len(provenances)} models")))
    else:
        show_head(str(first))
    return apart


def _value(value: Any) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _said_by_both(name: MetricName, summary: Summary) -> bool:
    return "side" in summary.by and replace(name, side="both") in summary.groups[0].values and name.side != "both"


def _show_sides(
    columns: Sequence[str],
    keys: Sequence[Sequence[str]],
    values: Sequence[Mapping[MetricName, float | None]],
    *,
    pooled: str = "both.",
) -> None:
    """Print a row for each model or group, and a column for each metric, one side after the other."""
    from kgeval.metrics.tables.names import PARTS
    from kgeval.metrics.tables.rendering import number

    names = sorted(values[0], key=lambda name: PARTS.index(name.side or "both")) if values else []
    titles = [f"{pooled}{name.base}" if name.side == "both" else str(name) for name in names]
    rows = [[*key, *(number(mine[name]) for name in names)] for key, mine in zip(keys, values, strict=True)]
    show_table([*columns, *titles], rows, keys=len(columns), parts=[str(name.side) for name in names])


def show_labels(summaries: Mapping[str, LabelSummary]) -> None:
    """Print summaries of labelled triples: a row per model, baseline and group, a column per metric.

    The baselines are the same beside every model, and are shown once, at the end.
    """
    from kgeval.metrics.summary import MODEL
    from kgeval.metrics.tables.rendering import number

    _show_common_head([summary.provenance for summary in summaries.values()])
    whole = next(iter(summaries.values()))
    every = [(name or MODEL, group) for name, summary in summaries.items() for group in summary.groups]
    own = [(name, group) for name, group in every if group.predictor == MODEL]
    lines = [*own, *((group.predictor, group) for group in whole.groups if group.predictor != MODEL)]
    names = list(whole.groups[0].values)
    keys = list(dict.fromkeys(key for _, group in lines for key in group.key))
    rows = [
        [
            name,
            *(str(group.key.get(key, "all")) for key in keys),
            *(number(group.values[metric]) if metric in group.values else "" for metric in names),
        ]
        for name, group in lines
    ]
    show_table(["", *keys, *map(str, names)], rows, keys=1 + len(keys))


def show_head(told: str) -> None:
    """Print what the numbers of a table are of."""
    for line in wrapped(told, width()):
        say(line)
    say("")


def show_explanation(told: Explanation) -> None:
    """Print a row per protocol, under what the standard one gives."""
    columns, rows = told.table()
    show_head(f"{told.provenance}: {told.metric} {told.standard:.6f}")
    show_table(columns, rows)


def show_notes(notes: Iterable[str]) -> None:
    """Print what a reader of the results should know."""
    for note in notes:
        show_note(note)


def show_note(note: str) -> None:
    """Print what a reader of the results should know, or somebody who waits for them."""
    _remark(f"Note: {note}")


def show_place(path: Any, *, stored: bool = False) -> None:
    """Say where results were written, or where an earlier run had written them."""
    _remark(f"Taken from {path}, an earlier run of the same" if stored else f"Written to {path}")


def watching(what: str, total: int | None = None) -> AbstractContextManager[Progress]:
    """Show how far a piece of work is."""
    from kgeval import progress

    if total is not None and not _quiet():
        from kgeval.compiling import is_cache_cold

        if is_cache_cold():
            _remark("Compiling the loops that count, which later runs on this machine find compiled.")
    return nullcontext(lambda _: None) if _quiet() else progress.watching(what, total)


def _remark(text: str) -> None:
    if not _quiet():
        for line in wrapped(text, width(err=True)):
            say(line, err=True)


def _quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))
