"""Options made of settings: a field of a settings class gives its option the name, the type, the default and the help.

A command adds them with ``@setting_options(Evaluation, "split", …)``, and ``blocks`` or ``given`` turns the values back
into blocks of a configuration, which the settings check. What a field does not say stands in the tables below.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import click

from kgeval.base.settings import descriptions, plain
from kgeval.cli.options import PATH, Decorator, DescribedOption, OneOf, split_at_commas, together

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from kgeval.base.settings import Settings
    from kgeval.runs.config.yaml_document import Place


OF_EVALUATION = (
    *("split", "sides", "filter", "times", "history", "corruption", "unseen", "nan"),
    *("restrict_entities_to", "restrict_relations_to", "batch_size", "memory_limit", "threads", "device"),
)
"""the settings of evaluations and predictions that have options"""

SPELLINGS: dict[Place, tuple[str, ...]] = {
    ("metrics",): ("--metric", "-m"),
    ("intervals", "unit"): ("--intervals",),
    ("evaluation", "estimate", "error"): ("--estimate",),
    ("evaluation", "sides"): ("--sides", "--side"),
    ("evaluation", "split"): ("--split", "--triples"),
}
"""options with other names than their fields"""

DEFAULTS = {
    ("intervals", "unit"): "no intervals",
    ("evaluation", "estimate", "error"): "rank all triples",
    ("task", "negatives", "corruption"): "uniform:count=1",
    ("memory_limit",): "a quarter of the free memory",
    ("threads",): "all cores",
}
"""by place in the configuration or by name, the defaults that help shows in place of those of the fields"""

LISTED = {"metrics": "metrics", "by": "slices", "ties": "ties", "protocol": "protocols", "corruption": "corruptions"}
"""by field, the list of ``kgeval list`` that has the names for it"""

METAVARS = {
    "restrict_entities_to": "FILE|LABEL",
    "restrict_relations_to": "FILE|LABEL",
    "split": "SPLIT|FILE",
    "filter": "train|valid|test|FILE|none",
    "memory_limit": "BYTES",
    "device": "DEVICE",
    "metrics": "METRIC",
    "by": "COLUMN",
    "corruption": "KIND[:K=V,…]",
    "ties": "POLICY",
    "popularity": "E R",
}

REPEATED = "May be repeated or joined by commas."

OUTSIDE_BRACKETS = re.compile(r",(?![^\[\]]*\])")
"""a comma that is not inside brackets"""


def setting_options(
    settings: type[Settings],
    *names: str,
    place: Place = (),
    stored: bool = False,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    **words: str,
) -> Decorator:
    """Add options for the named fields of settings; ``place`` is the block of the configuration that they are in.

    If a command uses a field in a narrower sense, ``words`` has another description of it, by name, and ``defaults``
    another default. A command that reads a ``stored`` run has the values of the run as defaults.

    An option of a field with several values may be repeated, or its values joined by commas. The settings check the
    values, and their messages name the option.
    """

    def option_of(name: str) -> Decorator:
        path, described = (*place, name), words.get(name, "")
        flags = SPELLINGS.get(path, (f"--{name.replace('_', '-')}",))
        shown = f"  [default: {defaults[name]}]" if name in defaults else _default(settings, path, stored=stored)
        about = _click_arguments(settings.model_fields[name], name, described, stored=stored)
        end = f" {REPEATED}{shown}" if about.get("multiple") else shown
        explain = functools.partial(_help, settings, name, described, end)
        return click.option(*flags, name, cls=DescribedOption, explain=explain, place=path, **about)

    return together(*map(option_of, names))


def _default(settings: type[Settings], place: Place, *, stored: bool) -> str:
    """Say the default of an option after its help, if it has one."""
    name = place[-1]
    default = settings.decided_later.get(name, settings.model_fields[name].default)
    default = DEFAULTS.get(place, DEFAULTS.get((name,), default))
    if stored and (default in (None, ()) or place in DEFAULTS):
        return "  [default: as in the run]"
    if default in (None, ()):
        return ""
    spelled = " ".join(f"{number:g}" for number in default) if isinstance(default, tuple) else default
    return f"  [default: {'as in the run, or ' if stored else ''}{spelled}]"


def _click_arguments(field: FieldInfo, name: str, words: str, *, stored: bool) -> dict[str, Any]:
    """The arguments of ``click.option`` for an option, by the type of its field."""
    parts = list(_parts(field.annotation))
    choices = [choice for part in parts if get_origin(part) is Literal for choice in get_args(part)]
    choices = [choice for choice in choices if choice in words] or choices
    known = LISTED.get(name, choices)
    about: dict[str, Any] = {"metavar": METAVARS.get(name, "|".join(choices)) or None}
    about["type"] = OneOf(known) if known else None
    if name == "corruption":
        return {**about, "callback": _corruption}
    if METAVARS.get(name) == "FILE|LABEL":
        return {**about, "type": PATH}
    if any(get_origin(part) is tuple and Ellipsis in get_args(part) for part in parts):
        limited = any(hasattr(rule, "min_length") for rule in field.metadata)
        may_be_empty = bool(choices or name == "filter") and not limited
        metavar = METAVARS.get(name) or "|".join([*choices, "none"] if may_be_empty else choices)
        read = functools.partial(_names_or_none, may_be_empty=may_be_empty)
        return {**about, "multiple": True, "callback": read, "metavar": metavar}
    kinds = {tuple[float, float]: (float, float), int: int, float: float}
    if numeric := next((kinds[part] for part in parts if part in kinds), None):
        about |= {"type": numeric, "metavar": about["metavar"] or "NUMBER"}
    return {**about, "callback": _checked(field) if stored else None}


def _parts(annotation: Any) -> Iterable[Any]:
    """Yield a type and the types inside it."""
    yield annotation
    if get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _parts(part)


def _corruption(_: click.Context, __: click.Parameter, text: str | None) -> dict[str, Any] | None:
    return None if text is None else corruption_block(text)


def corruption_block(text: str) -> dict[str, Any]:
    """Parse ``KIND:K=V,…`` as a block of a configuration; lists are in brackets.

    >>> corruption_block("uniform:count=500,seed=3"), corruption_block("typed:splits=[train,valid]")
    ({'kind': 'uniform', 'count': 500, 'seed': 3}, {'kind': 'typed', 'splits': ['train', 'valid']})
    """
    kind, _, options = text.partition(":")
    return {"kind": kind, **pairs(filter(None, OUTSIDE_BRACKETS.split(options)), "--corruption")}


def _names_or_none(
    context: click.Context, option: click.Parameter, values: tuple[str, ...], *, may_be_empty: bool
) -> list[str] | None:
    """Read several values, or the word ``none`` as no values, if it is allowed; None if the option is not given."""
    names = list(split_at_commas(context, option, values)) or None
    return [] if may_be_empty and names == ["none"] else names


def _checked(field: FieldInfo) -> Callable[..., Any]:
    """Return a check of a value for a stored run: no configuration is made, the check of which would refuse it."""
    from pydantic import TypeAdapter, ValidationError

    from kgeval.base.setting_problems import problems_of

    annotation: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation

    def check(_: click.Context, __: click.Parameter, value: Any) -> Any:
        try:
            return None if value is None else TypeAdapter(annotation).validate_python(value)
        except ValidationError as error:
            problem = problems_of(error, value, annotation)[0]
            raise click.BadParameter(f"{problem.message}. {problem.hint}".strip()) from error

    return check


def _help(settings: type[Settings], name: str, words: str, end: str) -> str:
    """Explain an option in the words of its field, if it has no others."""
    words = words or plain(descriptions(settings).get(name, "")).partition(". ")[0].rstrip(".")
    words = words.removeprefix("the ")
    sentence = f"{words[:1].upper()}{words[1:]}"
    if name == "corruption":
        example = "" if "such as" in words else ", such as uniform:count=500"
        sentence += f"{example}; 'kgeval list corruptions' shows all"
    return f"{sentence}.{end}"


def blocks(options: Mapping[str, Any]) -> dict[str, Any]:
    """Nest the settings that were given to this command by their places in the configuration."""
    content: dict[str, Any] = {}
    for option in _options_of_settings():
        if (value := options.get(str(option.name))) is not None:
            *path, name = option.place
            block = content
            for key in path:
                block = block.setdefault(key, {})
            block[name] = list(value) if isinstance(value, tuple) else value
    return content


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, settings in their blocks; an empty ``filter`` was: ``--filter none``."""
    settings = {option.name for option in _options_of_settings()}
    others = {name: value for name, value in options.items() if name not in settings and value is not None}
    return {name: value for name, value in others.items() if value != () or name == "filter"} | blocks(options)


def _options_of_settings() -> list[DescribedOption]:
    command = click.get_current_context().command
    return [one for one in command.params if isinstance(one, DescribedOption) and one.place]


def pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` texts; values are YAML, so ``norm=1`` is a number and ``clamp=true`` a truth value."""
    from kgeval.base.errors import ConfigError
    from kgeval.runs.config.yaml_document import parse_value

    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} {text!r}: expected KEY=VALUE, for example model=ComplEx.")
        values[key] = parse_value(value, f"{option} {text!r}")
    return values
