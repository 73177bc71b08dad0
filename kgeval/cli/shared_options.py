"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from kgeval.cli.display import DIGITS as NUM_DIGITS
from kgeval.cli.display import QUIET as IS_QUIET
from kgeval.cli.setting_options import split_at_commas
from kgeval.progress import loops_shown


def _set_quiet(context: click.Context, _: click.Parameter, quiet: bool) -> None:
    """Keep that notes and progress are not wanted."""
    context.meta[IS_QUIET] = quiet
    if quiet:
        context.with_resource(loops_shown(wanted=False))


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
QUIET = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=_set_quiet,
    help="Print results and errors only: no notes, no progress.",
)
DIGITS = click.option(
    "--digits",
    type=click.IntRange(0, 15),
    expose_value=False,
    callback=lambda context, _, digits: context.meta.update({NUM_DIGITS: digits}),
    help="Digits after the point in tables.  [default: as many as its interval justifies, else 6]",
)
NAMES = click.option(
    "--names",
    multiple=True,
    metavar="FILE",
    help="Rows label<TAB>name: what people call entities and relations; may be repeated."
    "  [default: entity2text.txt and relation2text.txt of the dataset]",
)
METRIC = click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    callback=split_at_commas,
    metavar="METRIC",
    help="A metric, [side.][ties.][average.]name[@k]; may be repeated. 'kgeval list metrics' shows all.",
)
BY = click.option(
    "--by",
    multiple=True,
    callback=split_at_commas,
    metavar="COLUMN",
    help="Group by a column, such as relation, or by a slice, such as cardinality; may be repeated. "
    "'kgeval list slices' shows all.",
)
UNIT = click.option(
    "--unit",
    type=click.Choice(["triple", "query", "relation"]),
    default="triple",
    show_default=True,
    help="What might have been others: the test triples, the queries, or the relations.",
)
ALLOW = click.option(
    "--allow",
    multiple=True,
    callback=split_at_commas,
    metavar="FIELD",
    help="In what the ranks may differ: triples (which compares the common rows), candidates, filter, protocol, "
    "split, dataset; may be repeated.",
)
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set any key of the configuration, such as evaluation.split=valid; may be repeated.",
)
CHECKPOINT_FORMAT = click.option("--format", default="auto", help="How the checkpoint was written.  [default: auto]")
_DATASET = click.option(
    "--dataset", help="A folder in any known layout, or a PyKEEN name.  [default: of a run, the one that it tells]"
)


def model_and_dataset(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the checkpoint and the dataset of a command, how both are read, and ``--set`` for any further key."""
    return model_and_dataset_alone(CHECKPOINT_FORMAT(command))


def model_and_dataset_alone(command: Callable[..., Any]) -> Callable[..., Any]:
    """Likewise, for a command whose ``--format`` is that of what it writes: ``--set model.format`` is the other."""
    return click.argument("checkpoint", metavar="CHECKPOINT")(_DATASET(how_both_are_read(SET(command))))


def run_or_model_and_dataset(command: Callable[..., Any]) -> Callable[..., Any]:
    """Likewise, for a command that takes a run too, which knows its dataset."""
    return click.argument("source", metavar="RUN_OR_CHECKPOINT")(
        _DATASET(how_both_are_read(SET(CHECKPOINT_FORMAT(command))))
    )


def how_both_are_read(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add how a dataset and the files of a checkpoint are read."""
    options = (
        click.option("--layout", default="auto", help="The layout of the folder.  [default: auto]"),
        NAMES,
        click.option(
            *("--option", "options"),
            multiple=True,
            metavar="K=V",
            help="Settings that its files do not store, such as model=ComplEx; may be repeated.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def thresholds(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that make a command fail where a metric is out of bounds."""
    for option, worse in (("--fail-over", "higher"), ("--fail-under", "lower")):
        command = click.option(
            option,
            multiple=True,
            callback=_bounds,
            metavar="[MODEL.]METRIC=NUMBER",
            help=f"Exit with 1 if a metric is {worse}, or undefined; may be repeated. MODEL is the name of one of "
            "several models; without it, the bound is for every model that is no baseline.",
        )(command)
    return command


def _bounds(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    bounds = {}
    for text in values:
        metric, equals, bound = text.partition("=")
        try:
            bounds[metric.strip()] = float(bound)
        except ValueError:
            equals = ""
        if not equals or not metric.strip() or not math.isfinite(bounds[metric.strip()]):
            raise click.BadParameter(f"{text!r}: expected METRIC=NUMBER, for example mrr=0.3")
    return bounds


class _Folder(click.Path):
    """A folder to write to; an empty name, as of an unset shell variable, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty. Name a folder; '.' is the current one.", param, ctx)
        return super().convert(value, param, ctx)


FOLDER = _Folder(path_type=Path)


def _exponents(_: click.Context, __: click.Parameter, value: tuple[float, float] | None) -> tuple[float, float] | None:
    """Check the exponents of popularity while options are parsed, so that the message names the option."""
    from kgeval.errors import MetricError
    from kgeval.metrics.metric_options import checked_exponents

    try:
        return None if value is None else checked_exponents(value)
    except MetricError as error:
        raise click.BadParameter(str(error)) from error


def intervals(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what would be drawn again, and how often the interval then holds the metric."""
    options = (
        click.option(
            "--intervals",
            type=click.Choice(["triple", "query", "relation"]),
            help="Give every metric the interval in which it would fall, had these been drawn again.",
        ),
        click.option(
            "--level",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            help="How often the interval holds the metric.  [default: 0.95]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def interval_block(options: Mapping[str, Any]) -> dict[str, Any]:
    """Make the configuration's block of intervals of the options; without any, there is none.

    >>> interval_block({"intervals": None, "level": 0.9}), interval_block({"intervals": None, "level": None})
    ({'intervals': {'level': 0.9}}, {})
    """
    keys = {"unit": options.get("intervals"), "level": options.get("level")}
    block = {key: value for key, value in keys.items() if value is not None}
    return {"intervals": block} if block else {}


def policies(*, stored: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that metrics of ranks depend on: ties, seed, chance and popularity; a stored run has its own."""
    run = "as the run says, or " if stored else ""
    options = (
        click.option(
            "--ties",
            metavar="POLICY",
            help="The tie policy: optimistic, realistic, rounded, pessimistic, expected, random."
            f"  [default: {run}as the protocol says]",
        ),
        click.option("--seed", type=int, help=f"The seed of random ties.  [default: {run}0]"),
        click.option(
            "--chance",
            type=click.Choice(["exact", "without-answer"]),
            help="What adjusted metrics compare with: random ranking among N candidates, or N - 1 without the answer."
            f"  [default: {run}exact]",
        ),
        click.option(
            "--popularity",
            type=(float, float),
            metavar="E R",
            callback=_exponents,
            help="What strat metrics weigh against: the exponents of the frequencies of answer and relation."
            f"  [default: {run}1 1]",
        ),
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _splits_or_none(context: click.Context, option: click.Parameter, splits: tuple[str, ...]) -> tuple[str, ...] | None:
    """Read splits, or none of them; nothing where the option is not there."""
    if "none" in splits and len(splits) > 1:
        raise click.BadParameter("none stands alone.", context, option)
    return None if not splits else () if splits == ("none",) else splits


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given; an empty ``filter`` was: ``--filter none``.

    >>> given({"filter": (), "by": (), "split": None, "ties": "expected"})
    {'filter': (), 'ties': 'expected'}
    """
    return {name: value for name, value in options.items() if value is not None and (value != () or name == "filter")}


def import_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what a text file of ranks that were made elsewhere does not tell."""
    split = click.Choice(["train", "valid", "test"])
    options = (
        click.option(
            "--dataset",
            help="The graph that was ranked, for a text file of ranks that were made elsewhere, or for slices where "
            "the run does not tell it, or it has moved.",
        ),
        click.option("--split", type=split, help="The split that was ranked, for such a file.  [default: test]"),
        click.option(
            "--filter",
            multiple=True,
            type=click.Choice(["train", "valid", "test", "none"]),
            callback=_splits_or_none,
            help="A split whose triples were known answers, for such a file; may be repeated.  [default: all three] "
            "Of stored runs, none: their raw ranks.",
        ),
        click.option(
            "--setting",
            type=click.Choice(["filtered", "raw"]),
            help="Which of its ranks are meant, and what those are whose names do not say so.  [default: filtered]",
        ),
        click.option(
            "--unmatched",
            type=click.Choice(["error", "drop"]),
            help="Its rows that are no ranks of the split: refuse the file, or leave them out.  [default: error]",
        ),
        click.option("--columns", metavar="C,C,…", help="Its columns in their order, where it has no header."),
        click.option("--separator", help="What separates its columns, where the file does not tell."),
    )
    for option in reversed(options):
        command = option(command)
    return command
