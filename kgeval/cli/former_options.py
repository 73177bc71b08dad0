"""Former options: a command line with names of earlier versions is read as one with the present names."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kgeval.cli.completion import OneOf
from kgeval.synonyms import NOW, current, renamed


def with_present_options(command: click.Command, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Replace former options by the present ones, each with a note.

    An option that has another meaning now, as ``--format`` has, is replaced only before a value that the present one
    takes.
    """
    options = {flag: option for option in command.params for flag in option.opts}
    found, notes = list(arguments), list[str]()
    for place, argument in enumerate(arguments):
        if argument == "--":
            break
        flag, equals, value = argument.partition("=")
        value = value if equals else next(iter(arguments[place + 1 : place + 2]), "")
        if flag in options and (flag not in NOW["option"] or _takes(options[flag], value)):
            continue
        for now in NOW["option"].get(flag, ()):
            if now in options and (flag not in options or _takes(options[now], value)):
                found[place] = f"{now}{equals}{value}" if equals else now
                notes.append(renamed(f"{flag} {value}" if flag in options else flag, now))
                break
    return found, notes


def _takes(option: click.Parameter, value: str) -> bool:
    kind, name = option.type, current("format", value.lower())
    return name in ((*kind.names(), "auto") if isinstance(kind, OneOf) else getattr(kind, "choices", ()))
