"""Completion: the names that an option takes, for the shell; the value is checked by the settings, not here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

TURN_ON = (
    """Completion in bash: eval "$(_KGEVAL_COMPLETE=bash_source kgeval)"; in zsh and fish, zsh_source, fish_source"""
)


class _Path(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5 only
    """A file or folder, or the name of something else."""

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

    def names(self) -> Sequence[str]:
        return _listed(self._names) if isinstance(self._names, str) else self._names

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{name}") for name in self.names() if name.startswith(last)]


def _listed(what: str) -> list[str]:
    """The names of a list; metrics with a cutoff of 10 if they need one, without averages and tie policies."""
    if what == "ties":
        from kgeval.metrics.ranks.ties import tie_policies

        return list(tie_policies())
    if what == "layouts":
        from kgeval.data.layouts import layouts

        return list(layouts())
    from kgeval.cli.listings import LISTINGS

    columns, rows = LISTINGS[what]()
    place = columns.index("name" if "name" in columns else "kind")
    names = (re.sub(r"\[@k\]$", "", row[place]).replace("@k", "@10") for row in rows)
    return [name for name in names if not re.search(r"\.$|PATTERN|FILE", name)]
