"""Options and arguments that several commands share, and the files that they name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import click

from kgeval.base.errors import ConfigError, InputError
from kgeval.base.files import exists_safely
from kgeval.base.progress import loops_shown
from kgeval.base.storage import refuse_special
from kgeval.cli.display import DIGITS as NUM_DIGITS
from kgeval.cli.display import JSON_HELP, SortKey, format_options
from kgeval.cli.display import QUIET as IS_QUIET
from kgeval.cli.setting_options import PATH, REPEATED, OneOf, split_at_commas

SPLITS = ("train", "valid", "test")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Decorator) -> Decorator:
    """Join options and arguments to one decorator, in the order in which help lists them."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def _set_quiet(context: click.Context, _: click.Parameter, quiet: bool) -> None:
    """Remember ``--quiet``."""
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
    help="Print only results and errors: no notes, no progress.",
)
DIGITS = click.option(
    "--digits",
    type=click.IntRange(0, 15),
    expose_value=False,
    callback=lambda context, _, digits: context.meta.update({NUM_DIGITS: digits}),
    metavar="NUMBER",
    help="Decimals in tables.  [default: as many as the interval of the metric justifies, otherwise 6]",
)


def rows_shown(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that sort and cut the rows of tables."""

    def keep(context: click.Context, option: click.Parameter, value: Any) -> None:
        context.meta[f"kgeval.{option.name}"] = value

    shown: dict[str, Any] = {"expose_value": False, "callback": keep}
    first = "Show at most this many groups or models. JSON and files have all of them."
    command = click.option("--limit", type=click.IntRange(min=1), metavar="NUMBER", help=first, **shown)(command)
    order = "Sort groups (--by) by a metric, worst first, or models, best first. -METRIC reverses the order."
    return click.option("--sort", type=SortKey.read, metavar="METRIC", help=order, **shown)(command)


printed = together(FORMAT, rows_shown, DIGITS, QUIET)
"""how results are printed"""
NAMES = click.option(
    "--names",
    multiple=True,
    metavar="FILE",
    type=PATH,
    help="File of readable names of entities and relations, with rows label<TAB>name. May be repeated.  "
    "[default: entity2text.txt and relation2text.txt of the dataset]",
)
INTERVALS = click.option(
    "--intervals",
    type=click.Choice(["triple", "query", "relation"]),
    default="triple",
    help="Unit that is resampled for confidence intervals and tests.",
)
ALLOW = click.option(
    "--allow",
    multiple=True,
    callback=split_at_commas,
    metavar="FIELD",
    type=OneOf(["triples", "candidates", "filter", "times", "protocol", "split", "dataset"]),
    help="Let the runs differ in this field: triples (then their common rows are compared), candidates, filter, "
    f"times, protocol, split or dataset. {REPEATED}",
)
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set any key of the configuration, such as evaluation.split=valid; 'kgeval schema' shows all keys. "
    "May be repeated.",
)
CHECKPOINT_FORMAT = click.option(
    *("--checkpoint-format", "format"),
    default="auto",
    type=OneOf("formats"),
    help="Format of the checkpoint; 'kgeval list formats' shows all.",
)
LAYOUT = click.option(
    "--layout",
    default="auto",
    type=OneOf("layouts"),
    help="Layout of the dataset's folder; 'kgeval list datasets' shows all.",
)
COLUMNS = click.option(
    "--columns",
    metavar="ROLE=COLUMN,…",
    help="Columns of the dataset's files, such as head=gene,relation='binds',tail=drug, where quotes mark a constant; "
    "or, if there is no header, what they hold in order, such as relation,head,tail.  [default: by their names]",
)
_DATASET = click.option(
    "--dataset",
    type=PATH,
    metavar="DATASET",
    help="Dataset: a folder, or the name of a PyKEEN dataset.  [default: for a run, its dataset]",
)


reading_options = together(
    LAYOUT,
    COLUMNS,
    NAMES,
    CHECKPOINT_FORMAT,
    click.option(
        *("--option", "options"),
        multiple=True,
        metavar="K=V",
        help="Option that the checkpoint's files do not store, such as model=ComplEx: short for "
        "--set model.options.K=V. May be repeated.",
    ),
)
"""how a dataset and a checkpoint are read"""

_SOURCE = together(_DATASET, reading_options, SET)
model_and_dataset = together(click.argument("checkpoint", metavar="CHECKPOINT", type=PATH), _SOURCE)
run_or_model_and_dataset = together(click.argument("source", metavar="RUN_OR_CHECKPOINT", type=PATH), _SOURCE)


def thresholds(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that make a command fail if a metric is out of bounds: ``bounds``, by option."""
    for option, worse in (("--fail-over", "higher"), ("--fail-under", "lower")):
        command = click.option(
            option,
            multiple=True,
            expose_value=False,
            callback=_bounds,
            metavar="[MODEL.]METRIC=NUMBER",
            help=f"Exit with status 1 if a metric is {worse} or undefined. MODEL is one of several models; without it, "
            "the bound is for all models except baselines. May be repeated.",
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
    """A folder to write to. An empty name is refused: it may come from an unset shell variable."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty. Give the name of a folder; '.' is the current one.", param, ctx)
        return super().convert(value, param, ctx)


FOLDER = _Folder(path_type=Path)


def _splits_or_none(context: click.Context, option: click.Parameter, splits: tuple[str, ...]) -> tuple[str, ...] | None:
    """Read splits, or none of them; return None without the option."""
    if "none" in splits and len(splits) > 1:
        raise click.BadParameter("none excludes all other values.", context, option)
    return None if not splits else () if splits == ("none",) else splits


def _of_text(name: str, words: str, **about: Any) -> Decorator:
    return click.option(f"--{name}", help=f"For a text file of ranks{words}", **about)


import_options = together(
    click.option(
        "--dataset",
        type=PATH,
        metavar="DATASET",
        help="Dataset of the ranks. Needed for a text file of ranks, and for slices if the dataset of the run was "
        "moved.",
    ),
    _of_text("split", ": split that was ranked, or several: valid,test.  [default: test]", type=OneOf(SPLITS)),
    _of_text(
        "times",
        " of a temporal graph: which facts were filtered, those of the query's time or those of all times.  "
        "[default: not known]",
        type=click.Choice(["time-aware", "static"]),
    ),
    _of_text(
        "filter",
        ": split that was filtered. May be repeated. For a stored run: none, to use the raw ranks.  "
        "[default: train, valid and test]",
        multiple=True,
        type=click.Choice([*SPLITS, "none"]),
        callback=_splits_or_none,
    ),
    _of_text(
        "setting",
        ": which ranks to read, and the kind of ranks in columns whose names do not say it.  [default: filtered]",
        type=click.Choice(["filtered", "raw"]),
    ),
    _of_text(
        "unmatched",
        ": what to do with rows that match no triple of the split: error, or drop (leave out).  [default: error]",
        type=click.Choice(["error", "drop"]),
    ),
    _of_text(
        "columns",
        ": the columns to read, such as head=subj,relation='binds',tail_rank=rank_o, where quotes mark a constant; or, "
        "if there is no header, the names of all columns in order.",
        metavar="C,C,…",
    ),
    _of_text("separator", ": column separator.  [default: recognised]", metavar="TEXT"),
)
"""what a text file of ranks from another evaluator does not say"""


def named_runs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Split the words of a command line into names, which may be empty, and paths.

    >>> named_runs(["runs/a", "best=runs/b"])
    [('', 'runs/a'), ('best', 'runs/b')]
    """
    return [run for word in words for run in _every(*_named(word))]


def _every(name: str, path: str) -> list[tuple[str, str]]:
    """List the runs that match a path with wildcards, which the shell does not expand after ``NAME=``."""
    if not name or exists_safely(Path(path)) or not has_magic(path):
        return [(name, path)]
    if runs := sorted(glob(path)):  # noqa: PTH207, as the pattern may be absolute
        return [(name, run) for run in runs]
    raise InputError(f"{name}={path}: no run matches the wildcards.")


def _named(word: str) -> tuple[str, str]:
    name, equals, path = word.partition("=")
    if word and (not equals or exists_safely(Path(word))):
        return "", word
    if not name or not path:
        raise ConfigError(f"{word!r}: expected PATH or NAME=PATH.")
    return name, path


def refuse_file(path: Path, *, force: bool) -> None:
    """Refuse to replace a file, or what none may replace."""
    refuse_special(path)
    if exists_safely(path) and not force:
        raise InputError(f"{str(path)!r} already exists. Choose another name, or add --force.")
