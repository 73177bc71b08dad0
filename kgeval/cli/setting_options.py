"""Options, declared in classes or made of settings, whose fields give them names, types, defaults and help."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from inspect import getdoc
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from kgeval.base.settings import descriptions, plain

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from kgeval.base.settings import Settings
    from kgeval.runs.config.yaml_document import Place


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

Listing = tuple[list[str], list[list[str]]]
"""columns and rows"""


def by_name(rows: list[list[str]]) -> list[list[str]]:
    return sorted(rows, key=lambda row: row[0].lower())


def _metrics() -> Listing:
    from kgeval.metrics.averages import WEIGHINGS
    from kgeval.metrics.metric import metrics
    from kgeval.metrics.ranks.ties import tie_policies

    cutoffs = {"none": "", "optional": "[@k]", "required": "@k"}
    better = {True: "higher", False: "lower", None: "—"}
    columns = ["name", "title", "needs", "formula", "range", "better", "undefined", "synonyms", "source"]

    def row(entry: Any, ending: str, **facts: str) -> list[str]:
        """The fields of an entry with the names of the columns, and further facts; what it does not have is empty."""
        facts["name"] = entry.name + ending
        return [facts.get(column, getattr(entry, column, "")) for column in columns]

    rows = [
        row(
            metric,
            cutoffs[metric.cutoff],
            range=f"{metric.lowest:g} … {metric.highest:g}",
            better=better[metric.increasing],
            synonyms=", ".join(metric.synonyms),
        )
        for metric in [*metrics().values(), *metrics("labels").values(), *metrics("confidences").values()]
    ]
    averages = [row(it, ".", needs="ranks, lists" if it.lists else "ranks") for it in WEIGHINGS.values()]
    prefixes = [*averages, *(row(policy, ".", needs="ranks") for policy in tie_policies().values())]
    return columns, [*by_name(rows), *by_name(prefixes)]


def _models() -> Listing:
    from kgeval.models.family import families

    columns = ["name", "score", "arrays", "options"]
    return columns, [
        [name, family.formula, ", ".join(family.array_names()), ", ".join(family.option_names())]
        for name, family in sorted(families().items(), key=lambda named: named[0].lower())
    ]


def _baselines() -> Listing:
    from kgeval.models.baselines import Baseline, baselines

    columns = ["name", "title", "rule", "tasks", "settings", "source"]
    return columns, [
        [name, entry.title, entry.rule, ", ".join(entry.tasks), _own_fields(entry, Baseline.model_fields), entry.source]
        for name, entry in sorted(baselines().items())
    ]


def _own_fields(settings: type[BaseModel], others: Container[str]) -> str:
    return ", ".join(name for name in settings.model_fields if name not in others)


def _first_paragraph(described: object) -> str:
    return plain((getdoc(described) or "").partition("\n\n")[0])


def _formats() -> Listing:
    from kgeval.models.checkpoints.readers import formats

    rows = [[name, entry.summary, _first_paragraph(entry.read)] for name, entry in sorted(formats().items())]
    return ["name", "files", "reading"], rows


def _protocols() -> Listing:
    from kgeval.ranking.protocols.protocol import protocols

    return ["name", "rules"], [[name, protocol.summary] for name, protocol in sorted(protocols().items())]


def _corruptions() -> Listing:
    from kgeval.ranking.corruption.generator import generators

    rows = [[kind, _first_paragraph(item), _own_fields(item, {"kind"})] for kind, item in sorted(generators().items())]
    return ["kind", "candidates", "options"], rows


def _slices() -> Listing:
    from kgeval.analysis.slices.slice import WRITTEN, slices

    rows = [[entry.name, entry.title, entry.rule, entry.source] for entry in slices().values()]
    return ["name", "title", "rule", "source"], [*by_name(rows), *map(list, WRITTEN)]


def _datasets() -> Listing:
    from kgeval.data.layouts import layouts
    from kgeval.data.layouts.pykeen import names

    folders = [["folder", name, layout.summary] for name, layout in sorted(layouts().items())]
    return ["kind", "name", "files"], [*folders, *(["PyKEEN", name, ""] for name in names())]


LISTINGS: dict[str, Callable[[], Listing]] = {
    "metrics": _metrics,
    "models": _models,
    "baselines": _baselines,
    "formats": _formats,
    "protocols": _protocols,
    "corruptions": _corruptions,
    "slices": _slices,
    "datasets": _datasets,
}


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


def _listed(listing: str) -> list[str]:
    """The names of a list; metrics with a cutoff of 10 if they need one, without averages and tie policies."""
    if listing == "ties":
        from kgeval.metrics.ranks.ties import tie_policies

        return list(tie_policies())
    if listing == "layouts":
        from kgeval.data.layouts import layouts

        return list(layouts())
    columns, rows = LISTINGS[listing]()
    place = columns.index("name" if "name" in columns else "kind")
    names = (re.sub(r"\[@k\]$", "", row[place]).replace("@k", "@10") for row in rows)
    return [name for name in names if not re.search(r"\.$|PATTERN|FILE", name)]


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
    ("model", "format"): "--checkpoint-format",
    ("model", "options"): "--option",
    ("task", "kind"): "--task",
    ("task", "sides"): "--sides",
    ("task", "unseen"): "--unseen",
    ("evaluation", "estimate", "level"): "--level",
    ("intervals",): "--intervals",
}
"""the option of each key of the configuration, which messages name; options of settings are added"""

OF_EVALUATION = (
    *("split", "sides", "filter", "times", "corruption", "unseen", "nan"),
    *("restrict_entities_to", "restrict_relations_to", "batch_size", "memory_limit", "threads", "device"),
)
"""the settings of evaluations and predictions that have options"""

SUCH_AS, ALL_KINDS = ", such as uniform:count=500", "'kgeval list corruptions' shows all"

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
"""by place or by name, the defaults that the fields do not have"""

LISTED = {"metrics": "metrics", "by": "slices", "ties": "ties", "protocol": "protocols", "corruption": "corruptions"}
"""the ``kgeval list`` that has the names of a field"""

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


class DescribedOption(click.Option):
    """An option whose help is written when it is shown; that of a setting has a place in the configuration."""

    def __init__(self, *args: Any, explain: Callable[[], str], place: Place = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.explain, self.place = explain, place
        if place:
            OPTIONS[place] = self.opts[0]

    @property
    def help(self) -> str:
        return self.explain()

    @help.setter  # noqa: A003  # click calls it so
    def help(self, text: str | None) -> None:
        """Click sets what it was given, which is nothing."""


class option:  # noqa: N801  # used as click.option
    """An option as an attribute of a class, which names it; the docstring below it is its help.

    Further names, and what click takes of an option, are arguments. A setting has a ``place`` in the configuration.

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
        return plain(descriptions(self._declared_in).get(self._name, "")).replace(" [default: ", "  [default: ")


def together(*options: Decorator) -> Decorator:
    """Join options and arguments to one decorator, in the order in which help lists them."""
    return lambda command: functools.reduce(lambda made, one: one(made), reversed(options), command)


def options_of(declared_in: type, *names: str) -> Decorator:
    """Join options of a class and of those above it; by default all of them."""
    classes = reversed(declared_in.__mro__)
    declared = {name: one for part in classes for name, one in vars(part).items() if isinstance(one, option)}
    return together(*(declared[name] for name in names or declared))


def setting_options(
    settings: type[Settings],
    *names: str,
    place: Place = (),
    stored: bool = False,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    **words: str,
) -> Callable[..., Any]:
    """Add options for fields of settings, which stand at a place of the configuration.

    If a command uses a field in a narrower sense, ``words`` has another description of it, by name, and ``defaults``
    another default. A command that reads a ``stored`` run has the values of the run as defaults.

    An option of a field with several values may be repeated, or its values joined by commas. The settings check the
    values, and their messages name the option.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            flags = SPELLINGS.get((*place, name), (f"--{name.replace('_', '-')}",))
            if name in defaults:
                shown = f"  [default: {defaults[name]}]"
            else:
                shown = _default(settings, (*place, name), stored=stored)
            about = _option(settings.model_fields[name], name, words.get(name, ""), stored=stored)
            end = f" {REPEATED}{shown}" if about.get("multiple") else shown
            explain = functools.partial(_help, settings, name, words.get(name, ""), end)
            described = click.option(*flags, name, cls=DescribedOption, explain=explain, place=(*place, name), **about)
            command = described(command)
        return command

    return add


def _option(field: FieldInfo, name: str, words: str, *, stored: bool) -> dict[str, Any]:
    parts = list(_parts(field.annotation))
    choices = [choice for part in parts if get_origin(part) is Literal for choice in get_args(part)]
    choices = [choice for choice in choices if choice in words] or choices
    known = LISTED.get(name, choices)
    about: dict[str, Any] = {"metavar": METAVARS.get(name, "|".join(choices)) or None}
    about["type"] = OneOf(known) if known else None
    if name == "corruption":
        return {**about, "callback": _corruption}
    if METAVARS.get(name) in ("FILE", "FILE|LABEL"):
        return {**about, "type": PATH}
    if any(get_origin(part) is tuple and Ellipsis in get_args(part) for part in parts):
        limited = any(hasattr(rule, "min_length") for rule in field.metadata)
        may_be_empty = bool(choices or name == "filter") and not limited
        metavar = METAVARS.get(name) or "|".join([*choices, "none"] if may_be_empty else choices)
        read = functools.partial(_values, may_be_empty=may_be_empty)
        return {**about, "multiple": True, "callback": read, "metavar": metavar}
    kinds = {tuple[float, float]: (float, float), int: int, float: float}
    if numeric := next((kinds[part] for part in parts if part in kinds), None):
        about |= {"type": numeric, "metavar": about["metavar"] or "NUMBER"}
    return {**about, "callback": _checked(field) if stored else None}


def _help(settings: type[Settings], name: str, words: str, end: str) -> str:
    """Explain an option in the words of its field, if it has no others."""
    words = words or plain(descriptions(settings).get(name, "")).partition(". ")[0].rstrip(".")
    words = words.removeprefix("the ")
    sentence = f"{words[:1].upper()}{words[1:]}"
    if name == "corruption":
        sentence += f"{'' if 'such as' in words else SUCH_AS}; {ALL_KINDS}"
    return f"{sentence}.{end}"


def _checked(field: FieldInfo) -> Callable[..., Any]:
    """Check a value that is for a stored run: no configuration has it, whose check would find that it is wrong."""
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


def _parts(annotation: Any) -> Iterable[Any]:
    """Yield a type and the types inside it."""
    yield annotation
    if get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _parts(part)


def split_at_commas(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split the values of a repeatable option at commas."""
    from kgeval.runs.config.metric_request import names_in

    return tuple(name for value in values for name in names_in(value))


def _values(
    context: click.Context, option: click.Parameter, values: tuple[str, ...], *, may_be_empty: bool
) -> list[str] | None:
    """Read several values, or where there may be none the word ``none``; None where the option is not given."""
    names = list(split_at_commas(context, option, values)) or None
    return [] if may_be_empty and names == ["none"] else names


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
    from kgeval.base.errors import ConfigError
    from kgeval.runs.config.yaml_document import parse_value

    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} {text!r}: expected KEY=VALUE, for example model=ComplEx.")
        values[key] = parse_value(value, f"{option} {text!r}")
    return values


def blocks(options: Mapping[str, Any]) -> dict[str, Any]:
    """Nest the settings that were given to this command by their places in the configuration."""
    content: dict[str, Any] = {}
    for option in _setting_options():
        if (value := options.get(str(option.name))) is not None:
            *path, name = option.place
            block = content
            for key in path:
                block = block.setdefault(key, {})
            block[name] = list(value) if isinstance(value, tuple) else value
    return content


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, settings in their blocks; an empty ``filter`` was: ``--filter none``."""
    settings = {option.name for option in _setting_options()}
    others = {name: value for name, value in options.items() if name not in settings and value is not None}
    return {name: value for name, value in others.items() if value != () or name == "filter"} | blocks(options)


def _setting_options() -> list[DescribedOption]:
    command = click.get_current_context().command
    return [one for one in command.params if isinstance(one, DescribedOption) and one.place]
