"""Display: results on standard output; notes, progress and paths on standard error, unless ``--quiet``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.streams import say, transliterate, width
from kgeval.cli.terminal_tables import Table, wrap_lines
from kgeval.errors import visible
from kgeval.provenance import shared_description

if TYPE_CHECKING:
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.metrics.names import MetricName
    from kgeval.metrics.rank_summary import RankSummary
    from kgeval.metrics.summary import Summary
    from kgeval.progress import Progress
    from kgeval.protocols.explanation import Explanation
    from kgeval.provenance import LabelProvenance, Provenance

QUIET = "kgeval.quiet"
"""the key of the flag ``--quiet`` in the context of a command"""

DIGITS = "kgeval.digits"
"""where it keeps how many digits after the point ``--digits`` wants"""


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
    # Transliterated text may be longer, and the layout depends on its length.
    def cells(row: Sequence[str]) -> tuple[str, ...]:
        return tuple(row if sys.stdout is None else (transliterate(text, sys.stdout) for text in row))

    return Table(cells(columns), tuple(map(cells, rows)), keys, tuple(parts))


def show_summary(summary: Summary) -> None:
    """Print a summary: a row per metric and a column per side, or with groups a row per group."""
    from kgeval.metrics.labels.label_summary import LabelSummary

    if isinstance(summary, LabelSummary):
        show_labels({"": summary})
    elif summary.by:
        show_head(*summary.heads)
        _show_rows(summary)
    else:
        show_head(*summary.heads)
        (group,) = summary.groups
        sides = list(dict.fromkeys(str(name.side) for name in group.values))
        show_table(["", *sides], group.cells(sides, wanted_digits()))


def show_groups(groups: Summary | None) -> None:
    """Print the groups of a summary, a row each, if there are any."""
    if groups is not None:
        say("")
        _show_rows(groups)


def _show_rows(summary: Summary) -> None:
    keys = [[str(group.key[key]) for key in summary.by] for group in summary.groups]
    cells = [{name: group.cell(name, wanted_digits()) for name in group.values} for group in summary.groups]
    _show_sides(summary.by, keys, cells)


def show_comparison(summaries: Mapping[str, RankSummary]) -> None:
    """Print a row for each of several models: its requested metrics, and its provenance where models differ.

    A metric without a side is of both sides, or of the one that was ranked.
    """
    from kgeval.metrics.rank_summary import shared_columns

    further = {model: summary.heads[1:] for model, summary in summaries.items()}
    ties = f", ties: {next(iter(summaries.values())).ties}"
    common = next(iter(further.values()))
    if any(heads != common for heads in further.values()):  # estimates from samples of various sizes
        common = tuple(f"{model}: {head}" for model, heads in further.items() for head in heads)
    different = _show_common_head([summary.provenance for summary in summaries.values()], *common, ties=ties)
    keys = [
        [model, *(_text(getattr(summary.provenance, name)) for name in different)]
        for model, summary in summaries.items()
    ]
    names = shared_columns(summaries)
    values = [
        {name: summary.groups[0].cell(name.of_part(summary.pooled), wanted_digits()) for name in names}
        for summary in summaries.values()
    ]
    _show_sides(["model", *different], keys, values, pooled="")


def _show_common_head(provenances: Sequence[Provenance | LabelProvenance], *further: str, ties: str = "") -> list[str]:
    """Print the provenance that several models have in common, and further heads; return its parts that differ."""
    first, *others = provenances
    values = {field.name: getattr(first, field.name) for field in fields(first) if field.name != "model"}
    different = [name for name, value in values.items() if any(getattr(other, name) != value for other in others)]
    if different:
        common = shared_description(len(provenances), first, different)
    else:
        common = str(replace(first, model=f"{len(provenances)} models") if others else first)
    show_head(f"{common}{ties}", *further)
    return different


def _text(value: Any) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else "" if value is None else str(value)


def _show_sides(
    columns: Sequence[str],
    keys: Sequence[Sequence[str]],
    values: Sequence[Mapping[MetricName, str]],
    *,
    pooled: str = "both.",
) -> None:
    """Print a row for each model or group, and a column for each metric, one side after the other."""
    from kgeval.metrics.names import PARTS

    names = sorted(values[0], key=lambda name: PARTS.index(name.side or "both")) if values else []
    titles = [f"{pooled}{name.base}" if name.side == "both" else str(name) for name in names]
    rows = [[*key, *(row[name] for name in names)] for key, row in zip(keys, values, strict=True)]
    show_table([*columns, *titles], rows, keys=len(columns), parts=[str(name.side) for name in names])


def show_labels(summaries: Mapping[str, LabelSummary]) -> None:
    """Print summaries of labelled triples: a row per model, baseline and group, a column per metric.

    The baselines are the same for every model, and are shown once, at the end.
    """
    from kgeval.metrics.summary import MODEL

    _show_common_head([summary.provenance for summary in summaries.values()])
    first = next(iter(summaries.values()))
    models = [(model or MODEL, group) for model, summary in summaries.items() for group in summary.groups]
    lines = [(model, group) for model, group in models if group.predictor == MODEL]
    lines += [(group.predictor, group) for group in first.groups if group.predictor != MODEL]
    names = list(first.groups[0].values)
    keys = list(dict.fromkeys(key for _, group in lines for key in group.key))
    rows = [
        [
            name,
            *(str(group.key.get(key, "all")) for key in keys),
            *(group.cell(metric, wanted_digits()) if metric in group.values else "" for metric in names),
        ]
        for name, group in lines
    ]
    show_table(["", *keys, *map(str, names)], rows, keys=1 + len(keys))


def show_head(*heads: str) -> None:
    """Print above a table what its numbers are of."""
    for head in heads:
        for line in wrap_lines(head, width()):
            say(line)
    say("")


def show_explanation(explanation: Explanation) -> None:
    """Print a row per protocol, below the value of the standard one."""
    columns, rows = explanation.table()
    show_head(f"{explanation.provenance}: {explanation.metric} {explanation.standard:.6f}")
    show_table(columns, rows)


def show_notes(notes: Iterable[str]) -> None:
    """Print notes on results."""
    for note in notes:
        show_note(note)


def show_note(note: str) -> None:
    """Print a note on results, which may come before them."""
    _remark(f"Note: {note}")


def show_place(path: Any, *, stored: bool = False) -> None:
    """Print where results were written, or which earlier run they were read from."""
    _remark(f"Taken from {path}, an earlier run of the same" if stored else f"Written to {path}")


def show_page(path: Any) -> None:
    """Say where a page is."""
    _remark(f"To be read in a browser: {path}")


def watching(what: str, total: int | None = None, *, unit: str = "ranks") -> AbstractContextManager[Progress]:
    """Show the progress of some work."""
    from kgeval import progress

    if total is not None and not _quiet():
        import kgeval.ranking.kernels.screening.screened_kernel  # noqa: F401  # what was compiled of it is looked for
        from kgeval.compiling import is_cache_cold

        if is_cache_cold():
            _remark("Compiling the counting loops, once on this machine.")
    return nullcontext(progress.unreported) if _quiet() else progress.watching(visible(what), total, unit=unit)


def _remark(text: str) -> None:
    if not _quiet():
        for line in wrap_lines(text, width(err=True)):
            say(line, err=True)


def _quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def wanted_digits() -> int | None:
    """Return how many digits after the point ``--digits`` wants."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(DIGITS)
