"""Display: results on standard output; notes, progress and paths on standard error, unless ``--quiet``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.errors import visible
from kgeval.base.progress import CLEARED
from kgeval.base.tables.text_layout import wrap_lines
from kgeval.cli.row_order import arranged_as_wanted
from kgeval.cli.streams import encodable, say, say_json, width

if TYPE_CHECKING:
    from kgeval.base.progress import Progress
    from kgeval.base.tables.shown import Shown

NOTES = "kgeval.notes"
"""the key of the notes that a command has printed before its results"""

QUIET = "kgeval.quiet"
"""the key of the flag ``--quiet`` in the context of a command"""

DIGITS = "kgeval.digits"
"""the key of the value of ``--digits`` in the context of a command"""


FORMS = ("text", "markdown", "latex", "csv", "json")

JSON_HELP = "Print the result as JSON."


def format_options(*forms: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--format``, how results are printed, and ``--json``, which is short for one of its values."""

    def chosen(context: click.Context, _: click.Parameter, form: str | None) -> str:
        as_json = context.params.pop("as_json")
        if as_json and form not in (None, "json"):
            raise click.UsageError(f"give either --json or --format {form}.")
        return "json" if as_json else form or "text"

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        form = click.option(
            *("--format", "form"),
            type=click.Choice(FORMS + forms),
            callback=chosen,
            help="How to print the results: text for the terminal, markdown or latex for a paper, csv or json for "
            "programs.  [default: text]",
        )
        return form(
            click.option("--json", "as_json", is_flag=True, is_eager=True, help="Short for --format json.")(command)
        )

    return add


def show(result: Shown, form: str = "text") -> None:
    """Print a result in one of the ``FORMS``."""
    if form == "json":
        return say_json(result.to_dict())
    if form == "csv":
        tables = arranged_as_wanted(result.csv_tables())
        say("\n".join(table.csv() for table in tables).rstrip("\n"))
        return show_notes(note for table in tables for note in table.notes)
    if form != "text":
        written = [getattr(table, form)(wanted_digits()) for table in arranged_as_wanted(result.papers())]
        return say("\n".join(written).rstrip("\n"))
    for head in result.heads:
        for line in wrap_lines(head, width()):
            say(line)
    for index, table in enumerate(arranged_as_wanted(result.tables())):
        if index or result.heads:
            say("")
        for line in table.lines(width(), wanted_digits(), spell=_encodable):
            say(line)
    return None


def _encodable(text: str) -> str:
    return text if sys.stdout is None else encodable(text, sys.stdout)


def show_notes(notes: Iterable[str], *, early: bool = False) -> None:
    """Print notes on results, without those that were printed before; ``early`` if a common table follows."""
    printed = _early_notes()
    for note in notes:
        if note not in printed:
            _remark(f"Note: {note}")
            printed.append(note)
        if not early:
            printed.remove(note)


def show_note(note: str) -> None:
    """Print a note during the work; it is not printed again with the results."""
    _remark(f"Note: {note}")
    _early_notes().append(note)


def _early_notes() -> list[str]:
    context = click.get_current_context(silent=True)
    early: list[str] = [] if context is None else context.meta.setdefault(NOTES, [])
    return early


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


@contextmanager
def watching(what: str, total: int | None = None, *, unit: str = "ranks") -> Iterator[Progress]:
    """Show the progress of some work, and say why it takes long the first time."""
    from kgeval.base import progress
    from kgeval.base.compiling import telling

    report = nullcontext(progress.unreported) if _quiet() else progress.watching(visible(what), total, unit=unit)
    with telling(partial(_remark, "Compiling the counting loops, only once on this machine.")), report as shown:
        yield shown


def _remark(text: str) -> None:
    if not _quiet():
        if width(err=True) is not None:
            click.echo(CLEARED, nl=False, err=True)
        for line in wrap_lines(text, width(err=True)):
            say(line, err=True)


def _quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def wanted_digits() -> int | None:
    """Return how many digits after the point ``--digits`` wants."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(DIGITS)
