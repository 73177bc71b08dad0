"""Synonyms: the words of earlier versions, which work for one more version, and appear in no help and no schema.

Options of the command line and keywords in Python are noted when they are used. Values are replaced silently, since
stored runs have them.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

NOW: dict[str, dict[str, tuple[str, ...]]] = {
    "option": {
        "--unit": ("--intervals",),
        "--error": ("--estimate",),
        "--format": ("--out-format", "--checkpoint-format"),
    },
    "keyword": {"unit": ("intervals",)},
    "times": {"same": ("time-aware",), "all": ("static",)},
    "format": {"dgl-ke": ("dglke",), "ampligraph-1": ("ampligraph1",)},
    "checkpoint option": {"unknown": ("unmatched",)},
}
"""for each kind of word, the former words and what they are called now"""


class Renamed(FutureWarning):
    """A former word was used."""


def current(kind: str, word: Any) -> Any:
    """Return the present word for a former one, and any other value unchanged.

    >>> current("times", "same"), current("times", "static")
    ('time-aware', 'static')
    """
    return NOW[kind].get(word, (word,))[0] if isinstance(word, str) else word


def renamed(former: str, now: str) -> str:
    return f"{former} is now called {now}."


Function = TypeVar("Function", bound=Callable[..., Any])


def accepts_former_keywords(function: Function) -> Function:
    """Let a function take its keywords by their former names too, each with a warning.

    >>> @accepts_former_keywords
    ... def interval(*, intervals="triple"):
    ...     return intervals
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     interval(unit="query"), str(found[0].message)
    ('query', 'unit is now called intervals.')
    """

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        for former, (now, *_) in NOW["keyword"].items():
            if former in named and now not in named:
                warnings.warn(renamed(former, now), Renamed, stacklevel=_depth_of_caller())
                named[now] = named.pop(former)
        return function(*args, **named)

    return cast("Function", call)


def _depth_of_caller() -> int:
    """Count the frames up to the first outside kgeval, to which a warning belongs."""
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").partition(".")[0] == "kgeval":
        depth += 1
    return depth
