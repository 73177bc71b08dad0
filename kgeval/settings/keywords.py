"""Settings as keywords: a function that takes the fields of settings, with their names, defaults and descriptions."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar, cast

from kgeval.errors import InputError, did_you_mean
from kgeval.settings.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])

PLACEHOLDER = "    {settings}\n"
"""the line of a docstring where the descriptions of the fields go"""


def takes(settings: type[Settings], keywords: type) -> Callable[[Function], Function]:
    """Let a function take the fields of settings that a ``TypedDict`` names as its ``**settings``.

    None is not given, where another part then decides. ``help`` lists each keyword with its default and description.

    >>> from typing import TypedDict
    >>> class Cut(Settings):
    ...     first: int = 10
    ...     '''how many rows'''
    >>> Keywords = TypedDict("Keywords", {"first": int}, total=False)
    >>> @takes(Cut, Keywords)
    ... def cut(rows, **settings):
    ...     return rows[: Cut.of_keywords(settings).first]
    >>> cut([1, 2], first=1), str(inspect.signature(cut)).partition(":")[0]
    ([1], '(rows, *, first')
    """
    types = {name: getattr(it, "__forward_arg__", it) for name, it in keywords.__annotations__.items()}
    fields = {name: field for name, field in settings.model_fields.items() if name in types}

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [it for it in signature.parameters.values() if it.kind is not it.VAR_KEYWORD]
        names = [it.name for it in own] + list(fields)

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            for name in given:
                if name not in names:
                    raise InputError(f"{function.__name__}: no argument {name!r}. {did_you_mean(name, names)}")
            undecided = [name for name, it in given.items() if it is None and name in settings.decided_later]
            return function(*args, **{name: it for name, it in given.items() if name not in undecided})

        further = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None if name in settings.decided_later else field.default,
                annotation=types[name],
            )
            for name, field in fields.items()
        ]
        call.__signature__ = signature.replace(parameters=[*own, *further])  # type: ignore[attr-defined]
        call.__doc__ = (function.__doc__ or "").replace(
            PLACEHOLDER, "".join(_described(name, field.description or "") for name, field in fields.items())
        )
        return cast("Function", call)

    return decorate


def _described(name: str, description: str) -> str:
    text = textwrap.fill(" ".join(description.split()), 112, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return f"    {name}\n{text}\n"
