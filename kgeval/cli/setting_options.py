"""Options made of settings: name, type, default and help of an option are those of the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

if TYPE_CHECKING:
    from kgeval.runs.config.variables import Place
    from kgeval.settings.settings import Settings

OPTIONS: dict[Place, str] = {
    ("dataset",): "--dataset",
    ("dataset", "path"): "--dataset",
    ("dataset", "name"): "--dataset",
    ("dataset", "layout"): "--layout",
    ("dataset", "names"): "--names",
    ("model",): "CHECKPOINT",
    ("model", "path"): "CHECKPOINT",
    ("model", "baseline"): "CHECKPOINT",
    ("model", "format"): "--format",
    ("model", "options"): "--option",
    ("task", "kind"): "--task",
    ("task", "sides"): "--sides",
    ("task", "unseen"): "--unseen",
    ("task", "negatives", "valid"): "--valid-negatives",
    ("task", "negatives", "test"): "--test-negatives",
    ("task", "negatives", "corruption"): "--corruption",
    ("evaluation", "estimate", "error"): "--error",
    ("evaluation", "estimate", "level"): "--level",
    ("intervals",): "--intervals",
    ("intervals", "unit"): "--intervals",
    ("intervals", "level"): "--level",
    ("metrics",): "--metric",
    **{(name,): f"--{name}" for name in ("by", "protocol", "ties", "seed", "chance", "popularity")},
}
"""the option of each key of the configuration, by which a problem is reported; those of settings are added"""

KINDS = "such as uniform:count=500; 'kgeval list corruptions' shows all"

ALIASES = {"sides": ("--side",)}

OUTSIDE_BRACKETS = re.compile(r",(?![^\[\]]*\])")


def setting_options(settings: type[Settings], *names: str, place: Place = (), **words: str) -> Callable[..., Any]:
    """Add options for fields of settings, which stand at a place of the configuration.

    Where a command uses a field for less, ``words`` has another description of it, by name.

    A field that holds several values may be repeated, or its values joined by commas. The values are checked by the
    settings, whose messages name the option.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            flag = OPTIONS[(*place, name)] = f"--{name.replace('_', '-')}"
            about = _option(settings, name, words.get(name, ""))
            command = click.option(flag, *ALIASES.get(name, ()), name, **about)(command)
        return command

    return add


def _option(settings: type[Settings], name: str, words: str) -> dict[str, Any]:
    field = settings.model_fields[name]
    parts = list(_parts(field.annotation))
    choices = [choice for part in parts if get_origin(part) is Literal for choice in get_args(part)]
    if words:
        choices = [choice for choice in choices if choice in words]
    else:  # without source files, fields have no description
        words = (field.description or "").replace("\n", " ").partition(". ")[0].rstrip(".")
    default = settings.decided_later.get(name, field.default)
    sentence = f"{words[:1].upper()}{words[1:]}"
    shown = "" if default is None else f"  [default: {default}]"
    if name == "corruption":
        return {"metavar": "KIND[:K=V,…]", "callback": _corruption, "help": f"{sentence}, {KINDS}.{shown}"}
    if any(get_origin(part) is tuple for part in parts):
        may_be_empty = not any(hasattr(rule, "min_length") for rule in field.metadata)
        metavar = "|".join([*choices, "none"] if may_be_empty else choices)
        several = f"{sentence}; may be repeated.{shown}"
        return {"multiple": True, "callback": _values, "metavar": metavar, "help": several}
    kinds: dict[str, Any] = {"type": int} if int in parts else {"metavar": "|".join(choices)} if choices else {}
    return {**kinds, "help": f"{sentence}.{shown}"}


def _parts(annotation: Any) -> Iterable[Any]:
    """Yield a type and the types inside it."""
    yield annotation
    if get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _parts(part)


def split_at_commas(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split the values of a repeatable option at commas."""
    return tuple(name.strip() for value in values for name in value.split(","))


def _values(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> list[str] | None:
    """Read several values; none of them is ``none``, and nothing where the option is not given."""
    names = split_at_commas(context, option, values)
    return None if not names else [] if names == ("none",) else list(names)


def _corruption(_: click.Context, __: click.Parameter, text: str | None) -> dict[str, Any] | None:
    return None if text is None else corruption_block(text)


def corruption_block(text: str) -> dict[str, Any]:
    """Parse ``KIND:K=V,…`` as a block of a configuration; lists are in brackets.

    >>> corruption_block("uniform:count=500,seed=3"), corruption_block("typed:splits=[train,valid]")
    ({'kind': 'uniform', 'count': 500, 'seed': 3}, {'kind': 'typed', 'splits': ['train', 'valid']})
    """
    kind, _, options = text.partition(":")
    return {"kind": kind, **pairs(filter(None, OUTSIDE_BRACKETS.split(options)), "--corruption")}


def pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` texts; values are YAML, so ``norm=1`` is a number and ``clamp=true`` a truth value."""
    from kgeval.errors import ConfigError
    from kgeval.runs.config.yaml_document import parse_value

    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} {text!r}: expected KEY=VALUE, for example model=ComplEx.")
        values[key] = parse_value(value, f"{option} {text!r}")
    return values


def present(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return those of the named options that have a value; a repeatable option becomes a list."""
    values = {name: options[name] for name in names if name in options and options[name] not in (None, ())}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def block_of(options: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Return the block at a place of the configuration, of the options that have a value."""
    return present(options, *(name for *at, name in OPTIONS if tuple(at) == place))
