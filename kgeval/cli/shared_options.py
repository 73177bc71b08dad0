"""Options that several commands share, in classes by what they are for; and how the runs that they name are read.

A command takes one option (``@Printing.quiet``) or all of a class (``@options_of(Printing)``). The docstring below an
option is its help. Options of one command alone stand in its file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any, get_args

import click

from kgeval.base.errors import ConfigError, InputError, refuse_unknown
from kgeval.base.files import exists_safely, refuse_remote
from kgeval.base.notes import KINDS
from kgeval.base.progress import loops_shown
from kgeval.base.storage import refuse_to_replace_special
from kgeval.cli.display import SortKey
from kgeval.cli.options import PATH, OneOf, option, options_of, split_at_commas, together
from kgeval.metrics.intervals.interval import Unit

SPLITS = ("train", "valid", "test")

FORMS = ("text", "markdown", "latex", "csv", "json")


def chosen_form(context: click.Context, _: click.Parameter, form: str | None) -> str:
    """Join ``--format`` and ``--json``, which is short for one of its values."""
    as_json = context.params.pop("as_json")
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"give either --json or --format {form}.")
    return "json" if as_json else form or "text"


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep the value of an option on printing in the context, where ``display`` reads it, not as an argument."""
    context.meta[f"kgeval.{option.name}"] = value
    if option.name == "quiet" and value:
        context.with_resource(loops_shown(None))


KEPT: dict[str, Any] = {"expose_value": False, "callback": _keep}
"""the arguments of an option that :func:`_keep` keeps"""


class Printing:
    """How results are printed."""

    form = option("--format", type=click.Choice(FORMS), callback=chosen_form)
    """How to print the results: text for the terminal, markdown or latex for a paper, csv or json for programs.
    [default: text]"""
    as_json = option("--json", is_flag=True, is_eager=True)
    """Short for --format json."""
    sort = option(type=SortKey.read, metavar="METRIC", **KEPT)
    """Sort groups (--by) by a metric, worst first, or models, best first. -METRIC reverses the order."""
    limit = option(type=click.IntRange(min=1), metavar="NUMBER", **KEPT)
    """Show at most this many groups or models. JSON and files have all of them."""
    digits = option(type=click.IntRange(0, 15), metavar="NUMBER", **KEPT)
    """Decimals in tables. [default: as many as the interval of the metric justifies, otherwise 6]"""
    quiet = option("--quiet", "-q", is_flag=True, **KEPT)
    """Print only results and errors: no notes, no progress."""


class JsonAlone(Printing):
    """How a result is printed that is one sentence."""

    as_json = option("--json", is_flag=True)
    """Print the result as JSON."""


class Reading:
    """How a dataset and a checkpoint are read."""

    layout = option(default="auto", type=OneOf("layouts"))
    """Layout of the dataset's folder; 'kgeval list datasets' shows all."""
    columns = option(metavar="ROLE=COLUMN,…")
    """Columns of the dataset's files, such as head=gene,relation='binds',tail=drug, where quotes mark a constant; or,
    if there is no header, what they hold in order, such as relation,head,tail. [default: by their names]"""
    names = option(multiple=True, metavar="FILE", type=PATH)
    """File of readable names of entities and relations, with rows label<TAB>name. May be repeated.
    [default: entity2text.txt and relation2text.txt of the dataset]"""
    format = option("--checkpoint-format", default="auto", type=OneOf("formats"))
    """Format of the checkpoint; 'kgeval list formats' shows all."""
    options = option("--option", multiple=True, metavar="K=V")
    """Option that the checkpoint's files do not store, such as model=ComplEx: short for --set model.options.K=V. May be
    repeated."""


class Labels:
    """The labels that a checkpoint lacks."""

    dataset = option(type=PATH, metavar="DATASET")
    """Dataset with the labels of a checkpoint that stores none."""


class Source:
    """A dataset beside a checkpoint, and other keys of the configuration."""

    dataset = option(type=PATH, metavar="DATASET")
    """Dataset: a folder, or the name of a PyKEEN dataset. [default: for a run, its dataset]"""
    overrides = option("--set", multiple=True, metavar="KEY=VALUE")
    """Set any key of the configuration, such as evaluation.split=valid; 'kgeval schema' shows all keys. May be
    repeated."""


_SOURCE = together(Source.dataset, options_of(Reading), Source.overrides)
model_and_dataset = together(click.argument("checkpoint", metavar="CHECKPOINT", type=PATH), _SOURCE)
run_or_model_and_dataset = together(click.argument("source", metavar="RUN_OR_CHECKPOINT", type=PATH), _SOURCE)


class _Folder(click.Path):
    """A folder to write to. An empty name is refused: it may come from an unset shell variable."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty. Give the name of a folder; '.' is the current one.", param, ctx)
        refuse_remote(Path(value))
        return super().convert(value, param, ctx)


FOLDER = _Folder(path_type=Path)


class Written:
    """The run directory that is written."""

    out = option(type=FOLDER)
    """Run directory to write."""
    force = option(is_flag=True)
    """Replace a run that is already there."""


class Replacing:
    """A file that is written."""

    force = option(is_flag=True)
    """Replace a file that is already there."""


UNITS = click.Choice(get_args(Unit))
"""the units that intervals can resample"""


class Comparing:
    """How several models are compared."""

    intervals = option(type=UNITS, default="triple")
    """Unit that is resampled for confidence intervals and tests."""
    allow = option(
        multiple=True,
        callback=split_at_commas,
        metavar="FIELD",
        type=OneOf(["triples", "candidates", "filter", "times", "protocol", "split", "dataset"]),
    )
    """Let the runs differ in this field: triples (then their common rows are compared), candidates, filter, times,
    protocol, split or dataset. May be repeated or joined by commas."""


def _bounds(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> None:
    """Add the bounds of an option to the argument ``bounds`` of the command."""
    bounds = context.params.setdefault("bounds", {"--fail-under": {}, "--fail-over": {}})[option.opts[0]]
    for text in values:
        metric, equals, bound = text.partition("=")
        try:
            bounds[metric.strip()] = float(bound)
        except ValueError:
            equals = ""
        if not equals or not metric.strip() or not math.isfinite(bounds[metric.strip()]):
            raise click.BadParameter(f"{text!r}: expected METRIC=NUMBER, for example mrr=0.3")


def _kinds(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> None:
    """Remember the kinds of notes on which the command fails."""
    kinds = split_at_commas(context, option, values)
    for kind in kinds:
        refuse_unknown("--fail-on: no notes of kind", kind, KINDS, ConfigError, listed="notes")
    context.meta["kgeval.fail_on"] = kinds


BOUND: dict[str, Any] = {"multiple": True, "expose_value": False, "callback": _bounds}


class Failing:
    """When a command fails although it has a result."""

    fail_under = option(metavar="[MODEL.]METRIC=NUMBER", **BOUND)
    """Exit with status 1 if a metric is lower or undefined. MODEL is one of several models; without it, the bound is
    for all models except baselines. May be repeated."""
    fail_over = option(metavar="[MODEL.]METRIC=NUMBER", **BOUND)
    """Exit with status 1 if a metric is higher or undefined. MODEL is one of several models; without it, the bound is
    for all models except baselines. May be repeated."""
    fail_on = option(multiple=True, expose_value=False, callback=_kinds, type=OneOf("notes"), metavar="KIND")
    """Exit with status 1 if there is a note of this kind, such as leaks or unseen; 'kgeval list notes' shows all. May
    be repeated or joined by commas."""


def _splits_or_none(context: click.Context, option: click.Parameter, splits: tuple[str, ...]) -> tuple[str, ...] | None:
    """Read splits, or none of them; return None without the option."""
    if "none" in splits and len(splits) > 1:
        raise click.BadParameter("none excludes all other values.", context, option)
    return None if not splits else () if splits == ("none",) else splits


class Importing:
    """What a text file of ranks from another evaluator does not say."""

    dataset = option(type=PATH, metavar="DATASET")
    """Dataset of the ranks. Needed for a text file of ranks, and for slices if the dataset of the run was moved."""
    split = option(type=OneOf(SPLITS))
    """For a text file of ranks: split that was ranked, or several: valid,test. [default: test]"""
    times = option(type=click.Choice(["time-aware", "static"]))
    """For a text file of ranks of a temporal graph: which facts were filtered, those of the query's time or those of
    all times. For a stored run: static, to use the static ranks of the protocol regcn. [default: not known]"""
    history = option(type=click.Choice(["train", "train+valid", "observed"]))
    """For a text file of ranks of a temporal graph: which facts before a query's time the model had in view.
    [default: not known]"""
    filter = option(multiple=True, type=click.Choice([*SPLITS, "none"]), callback=_splits_or_none)
    """For a text file of ranks: split that was filtered. May be repeated. For a stored run: none, to use the raw ranks.
    [default: train, valid and test]"""
    setting = option(type=click.Choice(["filtered", "raw"]))
    """For a text file of ranks: which ranks to read, and the kind of ranks in columns whose names do not say it.
    [default: filtered]"""
    unmatched = option(type=click.Choice(["error", "drop"]))
    """For a text file of ranks: what to do with rows that match no triple of the split: error, or drop (leave out).
    [default: error]"""
    columns = option(metavar="C,C,…")
    """For a text file of ranks: the columns to read, such as head=subj,relation='binds',tail_rank=rank_o, where quotes
    mark a constant; or, if there is no header, the names of all columns in order."""
    separator = option(metavar="TEXT")
    """For a text file of ranks: column separator. [default: recognised]"""


def named_runs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Split the words of a command line into names, which may be empty, and paths.

    >>> named_runs(["runs/a", "best=runs/b"])
    [('', 'runs/a'), ('best', 'runs/b')]
    """
    return [run for word in words for run in _matching(*_name_and_path(word))]


def _matching(name: str, path: str) -> list[tuple[str, str]]:
    """List the runs that match a path with wildcards, which the shell does not expand after ``NAME=``."""
    if not name or exists_safely(Path(path)) or not has_magic(path):
        return [(name, path)]
    if runs := sorted(glob(path)):  # noqa: PTH207, as the pattern may be absolute
        return [(name, run) for run in runs]
    raise InputError(f"{name}={path}: no run matches the wildcards.")


def _name_and_path(word: str) -> tuple[str, str]:
    name, equals, path = word.partition("=")
    if word and (not equals or exists_safely(Path(word))):
        return "", word
    if not name or not path:
        raise ConfigError(f"{word!r}: expected PATH or NAME=PATH.")
    return name, path


def refuse_file(path: Path, *, force: bool) -> None:
    """Refuse to replace a file without ``force``, and a device, a pipe or a socket in any case."""
    refuse_to_replace_special(path)
    if exists_safely(path) and not force:
        raise InputError(f"{str(path)!r} already exists. Choose another name, or add --force.")
