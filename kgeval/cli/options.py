"""Options of commands, declared as attributes of classes, and the kinds of values that the shell completes.

A command takes them as decorators: one (``@Printing.quiet``) or several (``@options_of(Printing)``). Options that are
made of the fields of settings are in :mod:`kgeval.cli.setting_options`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kgeval.base.settings import descriptions, plain

if TYPE_CHECKING:
    from kgeval.runs.config.yaml_document import Place

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class option:  # noqa: N801  # used as click.option
    """An option as an attribute of a class, which names it; the docstring below it is its help.

    Arguments are other names of the option, and what ``click.option`` takes. The option of a setting also has a
    ``place``: the keys under which the setting stands in the configuration.

    >>> class Cut:
    ...     first_rows = option(type=int, metavar="NUMBER")
    >>> click.command(Cut.first_rows(lambda first_rows: None)).params[0].opts
    ['--first-rows']
    """

    def __init__(self, *flags: str, **about: Any) -> None:
        self._flags, self._about = flags, about

    def __set_name__(self, declared_in: type, name: str) -> None:
        self._declared_in, self._name = declared_in, name

    def __call__(self, command: Callable[..., Any]) -> Callable[..., Any]:
        flags = self._flags or (f"--{self._name.replace('_', '-')}",)
        return click.option(*flags, self._name, cls=DescribedOption, explain=self._help, **self._about)(command)

    def _help(self) -> str:
        # Two spaces before the default, as click writes it.
        return plain(descriptions(self._declared_in).get(self._name, "")).replace(" [default: ", "  [default: ")


def options_of(declared_in: type, *names: str) -> Decorator:
    """Join the named options of a class and of its base classes to one decorator; by default all of them."""
    classes = reversed(declared_in.__mro__)
    declared = {name: one for part in classes for name, one in vars(part).items() if isinstance(one, option)}
    return together(*(declared[name] for name in names or declared))


def together(*options: Decorator) -> Decorator:
    """Join options and arguments to one decorator, in the order in which help lists them."""
    return lambda command: functools.reduce(lambda made, one: one(made), reversed(options), command)


class DescribedOption(click.Option):
    """An option whose help is written when it is shown; the option of a setting has a place in the configuration."""

    def __init__(self, *args: Any, explain: Callable[[], str], place: Place = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.explain, self.place = explain, place
        if place:
            OPTIONS[place] = self.opts[0]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self.explain()
        return super().get_help_record(ctx)


OPTIONS: dict[Place, str] = {
    ("dataset",): "--dataset",
    ("dataset", "path"): "--dataset",
    ("dataset", "name"): "--dataset",
    ("dataset", "layout"): "--layout",
    ("dataset", "names"): "--names",
    ("dataset", "columns"): "--columns",
    ("model",): "CHECKPOINT",
    ("model", "path"): "CHECKPOINT",
    ("model", "baseline"): "CHECKPOINT",
    ("model", "base"): "--option base",
    ("model", "format"): "--checkpoint-format",
    ("model", "options"): "--option",
    ("task", "kind"): "--task",
    ("task", "sides"): "--sides",
    ("task", "unseen"): "--unseen",
    ("evaluation", "estimate", "level"): "--level",
    ("intervals",): "--intervals",
}
"""the option of each key of the configuration, which messages name; options of settings are added"""


class _Path(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5 only
    """A file or folder, or the name of something else; unlike click.Path, it is not looked at before the command."""

    name = "path"

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


PATH = _Path()


class OneOf(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5 only
    """Some names, or those that ``kgeval list`` shows; several may be joined by commas.

    >>> [item.value for item in OneOf(["head", "tail"]).shell_complete(None, None, "head,t")]
    ['head,tail']
    """

    name = "name"

    def __init__(self, names: Sequence[str] | str) -> None:
        self._names = names

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        names = _listed(self._names) if isinstance(self._names, str) else self._names
        return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(last)]


def _listed(listing: str) -> list[str]:
    """The names of a list; metrics with a cutoff of 10 if they need one, without averages and tie policies."""
    from kgeval.cli.listings import LISTS
    from kgeval.data.layouts import layouts
    from kgeval.metrics.ranks.ties import tie_policies

    others: dict[str, Callable[[], Mapping[str, Any]]] = {"ties": tie_policies, "layouts": layouts}
    if listing in others:
        return list(others[listing]())
    columns, rows = LISTS[listing]()
    place = columns.index("name" if "name" in columns else "kind")
    names = (re.sub(r"\[@k\]$", "", row[place]).replace("@k_n", "@10_50").replace("@k", "@10") for row in rows)
    return [name for name in names if not re.search(r"\.$|PATTERN|FILE", name)]


def split_at_commas(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split the values of a repeatable option at commas."""
    from kgeval.runs.config.metric_request import names_in

    return tuple(name for value in values for name in names_in(value))
