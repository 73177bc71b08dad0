"""``kgeval report`` and ``kgeval plot``: an HTML page, or one chart, of runs.

Both give runs to :mod:`kgeval.reports`. A kind of chart is a function in ``kgeval.reports.plots.PLOTS``, whose
parameters say which options go with it.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import click

from kgeval.base.errors import ConfigError
from kgeval.base.extras import OF_REPORT, refuse_missing
from kgeval.base.storage import write_text
from kgeval.cli.options import PATH, OneOf, option, options_of, split_at_commas
from kgeval.cli.shared_options import UNITS, Comparing, JsonAlone, Replacing, named_runs, refuse_file
from kgeval.cli.streams import say, say_json


class Drawing(Comparing, Replacing):
    """What pages and charts have in common."""

    dataset = option(type=PATH, metavar="DATASET")
    """Dataset of the ranks, if a run does not name it or the dataset was moved."""
    ties = option(type=OneOf("ties"), metavar="POLICY")
    """Tie policy, such as realistic or expected. [default: that of the runs]"""


class PageOrText(Drawing):
    """What is written."""

    out = option(type=click.Path(path_type=Path))
    """File to write. [default: report.html]"""
    form = option("--format", type=click.Choice(["html", "methods"]), default="html")
    """What to write: a page (html), or a paragraph for a paper with its BibTeX (methods), printed without --out."""


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=PATH)
@options_of(PageOrText, "out", "form", "dataset", "intervals", "ties", "allow", "force")
@options_of(JsonAlone, "quiet", "as_json")
def report_command(
    runs: tuple[str, ...], out: Path | None, form: str, *, force: bool, as_json: bool, **options: Any
) -> None:
    """Write an HTML page that compares runs: leaderboard, significance, warnings, slices, hard triples, provenance.

    A RUN is PATH or NAME=PATH: a run directory, a folder of runs, or a file of ranks. The page is one file that
    needs no network. No model is needed.

    Example: kgeval report runs/TransE runs/ComplEx --out report.html
    """
    from kgeval.cli.display import show_file, show_notes
    from kgeval.reports.methods import methods
    from kgeval.reports.page import report
    from kgeval.stored.folders import look_at, notes_on

    refuse_missing("a report needs", *OF_REPORT)
    if form == "methods" and options.pop("allow"):
        raise ConfigError("--format methods describes runs that were made by the same rules. Leave out --allow.")
    if out is not None or form != "methods":
        refuse_file(out := out or Path("report.html"), force=force)
    show_notes(notes_on(places := look_at(named_runs(runs))), early=True)
    text = methods(places, **options) if form == "methods" else report(places, **options).html
    if out is None:
        return say_json({"text": text.rstrip()}) if as_json else say(text.rstrip())
    write_text(out, text)
    return show_file(out, as_json=as_json)


NAMED_APART = {"metrics": ("--metric", ("metrics", "metric")), "by": ("--by", ("slices",))}
"""the options that are called otherwise than the arguments of charts: their spelling, and these arguments"""


KINDS = "leaderboard", "slices", "relations", "times", "distribution", "critical-difference", "roc", "precision-recall"


class Chart(Drawing):
    """What is drawn, and how."""

    kind = option(required=True, type=click.Choice(KINDS))
    """Kind of chart. critical-difference needs runs of several datasets, roc those of classifications."""
    out = option(type=click.Path(path_type=Path))
    """File to write (.svg, .png, .pdf or .html)."""
    form = option("--format", type=click.Choice(["csv"]))
    """Print the points of the curves instead, for --kind roc and precision-recall."""
    metrics = option(
        *("--metric", "-m"), multiple=True, callback=split_at_commas, type=OneOf("metrics"), metavar="METRIC"
    )
    """Metric to draw; a leaderboard may have several. May be repeated or joined by commas.
    [default: mrr; for a leaderboard mrr, hits@1, hits@3, hits@10, amri]"""
    by = option(multiple=True, callback=split_at_commas, metavar="COLUMN", type=OneOf("slices"))
    """Slice or column to draw, for --kind slices; 'kgeval list slices' shows all. May be repeated or joined by
    commas."""
    width = option(type=float, metavar="INCHES")
    """Exact width for print, with text of 8 points and no title: about 3.3 for a column of a paper, 7 for a page."""
    intervals = option(type=UNITS)
    """Unit that is resampled for the intervals, for --kind leaderboard, slices, times and precision-recall (of ranks).
    [default: triple]"""


@click.command("plot")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=PATH)
@options_of(Chart, "kind", "out", "form", "metrics", "by", "width", "intervals", "dataset", "ties", "allow", "force")
@options_of(JsonAlone, "quiet", "as_json")
def plot_command(
    runs: tuple[str, ...], kind: str, out: Path | None, form: str | None, *, force: bool, as_json: bool, **options: Any
) -> None:
    """Draw a chart of runs, each given as PATH or NAME=PATH.

    The kinds are: leaderboard (metrics with intervals), slices (a metric by slice), relations (a dot for each
    relation), times (a metric over the times of a temporal graph), distribution (Hits@k for every k),
    critical-difference (average ranks of models over datasets), roc (of classifications) and precision-recall (of
    classifications over all thresholds, of ranks over every k).

    Example: kgeval plot runs/TransE runs/ComplEx --kind slices --by cardinality --out slices.pdf
    """
    from kgeval.cli.display import show_file, show_notes, watching
    from kgeval.reports.plots import PLOTS, about, check_picture, points_of, save_picture
    from kgeval.stored.folders import look_at, notes_on

    refuse_missing("a chart needs", *OF_REPORT)
    of_picture = kind not in ("roc", "precision-recall") or out or force or as_json or options["width"]
    if (form and of_picture) or not (form or out):
        raise ConfigError("give --out FILE for a picture, or --format csv alone for points (roc, precision-recall).")
    if out is not None:
        check_picture(out)
        refuse_file(out, force=force)
    arguments = _arguments(kind, options, list(signature(PLOTS[kind]).parameters))
    show_notes(notes_on(places := look_at(named_runs(runs))), early=True)
    with watching("drawing", None):
        picture = PLOTS[kind](places, **arguments)
        if out is not None:
            save_picture(picture, out)
    say(points_of(picture).rstrip()) if out is None else show_file(out, as_json=as_json)
    show_notes(about(picture).get("notes", ()))


def _arguments(kind: str, options: dict[str, Any], taken: list[str]) -> dict[str, Any]:
    """Turn the options into arguments, and refuse options that a kind does not have."""
    arguments = {"width": options.pop("width")}
    for name, value in options.items():
        if not value:
            continue
        spelled, names = NAMED_APART.get(name, (f"--{name}", (name,)))
        argument = next((name for name in names if name in taken), None)
        if argument is None:
            raise ConfigError(f"{spelled} does not go with --kind {kind}. Leave it out.")
        if argument == "metric" and len(value) > 1:
            raise ConfigError(f"{spelled}: --kind {kind} draws one metric, found {', '.join(value)}.")
        arguments[argument] = value[0] if argument == "metric" else value
    return arguments
