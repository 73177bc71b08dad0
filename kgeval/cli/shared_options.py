"""Options and arguments that several commands share, and the files that they name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import click

from kgeval.cli.display import DIGITS as NUM_DIGITS
from kgeval.cli.display import JSON_HELP, format_options
from kgeval.cli.display import QUIET as IS_QUIET
from kgeval.cli.row_order import SortKey
from kgeval.cli.setting_options import split_at_commas
from kgeval.errors import ConfigError, InputError
from kgeval.paths import exists_safely
from kgeval.progress import loops_shown


def _set_quiet(context: click.Context, _: click.Parameter, quiet: bool) -> None:
    """Keep that notes and progress are not wanted."""
    context.meta[IS_QUIET] = quiet
    if quiet:
        context.with_resource(loops_shown(None))


JSON = click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
FORMAT = format_options()
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
    help="Digits after the point in tables.  [default: as many as the interval of the metric justifies, else 6]",
)


def rows_shown(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that sort and cut the rows of the tables that are shown."""

    def keep(context: click.Context, option: click.Parameter, value: Any) -> None:
        context.meta[f"kgeval.{option.name}"] = value

    shown: dict[str, Any] = {"expose_value": False, "callback": keep}
    first = "Show only the first groups or models, at most this many. JSON and files have all."
    command = click.option("--limit", type=click.IntRange(min=1), help=first, **shown)(command)
    order = "Sort groups (--by) by a metric, the worst first; models, the best first. -METRIC turns the order round."
    return click.option("--sort", type=SortKey.read, metavar="METRIC", help=order, **shown)(command)


NAMES = click.option(
    "--names",
    multiple=True,
    metavar="FILE",
    help="A file of rows label<TAB>name: readable names of entities and relations; may be repeated."
    "  [default: entity2text.txt and relation2text.txt of the dataset]",
)
UNIT = click.option(
    "--unit",
    type=click.Choice(["triple", "query", "relation"]),
    default="triple",
    show_default=True,
    help="The unit that is resampled for confidence intervals: triples, queries or relations.",
)
ALLOW = click.option(
    "--allow",
    multiple=True,
    callback=split_at_commas,
    metavar="FIELD",
    help="Allow the runs to differ in: triples (the common rows are compared), candidates, filter, protocol, split, "
    "dataset; may be repeated.",
)
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a key of the configuration, such as evaluation.split=valid; may be repeated. 'kgeval schema' shows all.",
)
CHECKPOINT_FORMAT = click.option(
    "--format", default="auto", help="The format of the checkpoint; 'kgeval list formats' shows all.  [default: auto]"
)
_DATASET = click.option(
    "--dataset",
    help="A folder in any known layout, or a PyKEEN name.  [default: the dataset of the run, if it is a run]",
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
        click.option(
            "--layout",
            default="auto",
            help="The layout of the dataset's folder; 'kgeval list datasets' shows all.  [default: auto]",
        ),
        NAMES,
        click.option(
            *("--option", "options"),
            multiple=True,
            metavar="K=V",
            help="A setting that the checkpoint files do not store, such as model=ComplEx; may be repeated.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def thresholds(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that make a command fail where a metric is out of bounds: ``bounds``, by option."""
    for option, worse in (("--fail-over", "higher"), ("--fail-under", "lower")):
        command = click.option(
            option,
            multiple=True,
            expose_value=False,
            callback=_bounds,
            metavar="[MODEL.]METRIC=NUMBER",
            help=f"Exit with 1 if a metric is {worse}, or undefined; may be repeated. MODEL is the name of one of "
            "several models; without it, the bound holds for every model, but not for baselines beside models.",
        )(command)
    return command


def _bounds(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> None:
    bounds = context.params.setdefault("bounds", {"--fail-under": {}, "--fail-over": {}})[option.opts[0]]
    for text in values:
        metric, equals, bound = text.partition("=")
        try:
            bounds[metric.strip()] = float(bound)
        except ValueError:
            equals = ""
        if not equals or not metric.strip() or not math.isfinite(bounds[metric.strip()]):
            raise click.BadParameter(f"{text!r}: expected METRIC=NUMBER, for example mrr=0.3")


class _Folder(click.Path):
    """A folder to write to; an empty name, as of an unset shell variable, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty. Name a folder; '.' is the current one.", param, ctx)
        return super().convert(value, param, ctx)


FOLDER = _Folder(path_type=Path)


def _splits_or_none(context: click.Context, option: click.Parameter, splits: tuple[str, ...]) -> tuple[str, ...] | None:
    """Read splits, or none of them; nothing where the option is not there."""
    if "none" in splits and len(splits) > 1:
        raise click.BadParameter("none stands alone.", context, option)
    return None if not splits else () if splits == ("none",) else splits


def import_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what a text file of ranks that were made elsewhere does not tell."""
    split = click.Choice(["train", "valid", "test"])
    options = (
        click.option(
            "--dataset",
            help="The dataset that was ranked: for a text file of ranks of another evaluator, and for slices if the "
            "run does not name its dataset or the folder was moved.",
        ),
        click.option(
            "--split", type=split, help="For a text file of ranks: the split that was ranked.  [default: test]"
        ),
        click.option(
            "--filter",
            multiple=True,
            type=click.Choice(["train", "valid", "test", "none"]),
            callback=_splits_or_none,
            help="For a text file of ranks: a split whose triples were filtered; may be repeated. For a stored run: "
            "none, which takes the raw ranks.  [default: all three]",
        ),
        click.option(
            "--setting",
            type=click.Choice(["filtered", "raw"]),
            help="For a text file of ranks: which of its ranks are read, and what ranks are whose column does not "
            "say it.  [default: filtered]",
        ),
        click.option(
            "--unmatched",
            type=click.Choice(["error", "drop"]),
            help="For a text file of ranks: rows that fit no triple of the split: error or drop.  [default: error]",
        ),
        click.option(
            "--columns",
            metavar="C,C,…",
            help="For a file of ranks of another evaluator: which column holds what, such as "
            "head=subj,tail_rank=filt_rank_o,…; without a header, the names of the columns in "
            "their order.",
        ),
        click.option(
            "--separator", help="For a text file of ranks: what separates its columns, if kgeval does not recognise it."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def named_runs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Split the words of a command line into names, empty where there is none, and paths.

    >>> named_runs(["runs/a", "best=runs/b"])
    [('', 'runs/a'), ('best', 'runs/b')]
    """
    return [run for word in words for run in _every(*_named(word))]


def _every(name: str, path: str) -> list[tuple[str, str]]:
    """List the runs that a path with wildcards names, which the shell leaves as it is behind ``NAME=``."""
    if not name or exists_safely(Path(path)) or not has_magic(path):
        return [(name, path)]
    if found := sorted(glob(path)):  # noqa: PTH207, as the pattern may be absolute
        return [(name, run) for run in found]
    raise InputError(f"{name}={path}: no such run. Nothing fits the wildcards.")


def _named(word: str) -> tuple[str, str]:
    name, equals, path = word.partition("=")
    if word and (not equals or exists_safely(Path(word))):
        return "", word
    if not name or not path:
        raise ConfigError(f"{word!r}: expected PATH or NAME=PATH.")
    return name, path


def refuse_file(path: Path, *, force: bool) -> None:
    """Refuse to replace a file."""
    if exists_safely(path) and not force:
        raise InputError(f"{str(path)!r} already exists. Choose another name, or add --force.")
