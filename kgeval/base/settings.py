"""Settings: frozen pydantic models, blocks whose ``kind`` names their class, and messages of their errors.

Bad arguments raise kgeval's own errors, which say where, what, and the nearest valid choice.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import Self

from kgeval.base.errors import InputError, NoPathError, did_you_mean, nearest, refuse_unknown
from kgeval.base.files import exists_safely, no_file


class Settings(BaseModel):
    """A part of a configuration: unknown keys are refused, and no value is converted silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    display_name: ClassVar[str] = ""
    """the name in messages, where it is not that of the class"""

    decided_later: ClassVar[Mapping[str, str]] = {}
    """the fields that another part decides where they are not given, and who: the protocol its filter"""

    def __init__(self, /, *args: Any, **values: Any) -> None:
        if args:
            names = ", ".join(name for name in type(self).model_fields if name != "kind")
            raise InputError(f"{type(self).__name__} takes its settings by name ({names}), found {args[0]!r:.60}.")
        try:
            super().__init__(**values)
        except ValidationError as error:
            name, problems = self.display_name or type(self).__name__, problems_of(error, values, type(self))
            raise InputError("\n  ".join([f"{name}:", *map(str, problems)])) from None

    # Pydantic makes nested models without this __init__, so that one message has the problems of all.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        shown = handler(schema)
        whole = handler.resolve_ref_schema(shown)
        for block in (whole, *whole.get("anyOf", ())):
            for name, field in block.get("properties", {}).items():
                if name in descriptions(cls):
                    field["description"] = descriptions(cls)[name]
        return shown

    @classmethod
    def of_keywords(cls, keywords: Mapping[str, object]) -> Self:
        """Make settings of the keywords of a function, whose types are wider: a path or a name, one or several."""
        return cls(**keywords)


@contextmanager
def as_validation_error() -> Iterator[None]:
    """Turn an InputError into a ValueError, which pydantic collects with the errors of all other values."""
    try:
        yield
    except InputError as error:
        raise ValueError(str(error)) from error


def writable(path: str) -> str:
    """Refuse a path that cannot be written to a configuration or a manifest."""
    if not path:
        raise ValueError("the path is empty. Name a file or a folder; '.' is the current one")
    if "\0" in path:
        raise ValueError("a path has no null byte")
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the path {short_repr(path)} is not UTF-8 text. Give it another name") from error
    return path


def is_file(path: str) -> bool:
    return exists_safely(Path(path)) and Path(path).is_file()


def existing(path: str) -> str:
    if not is_file(path):
        raise NoPathError(no_file(Path(path)))
    return path


PathText = Annotated[str, AfterValidator(writable)]

ExistingFile = Annotated[PathText, AfterValidator(existing)]


def or_short(short: Mapping[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Allow a shorthand, by its own schema, in the JSON schema of a block, as the block's validator does."""

    def extend(schema: dict[str, Any]) -> None:
        block = dict(schema)
        schema.clear()
        schema["anyOf"] = [dict(short), block]

    return extend


or_text = or_short({"type": "string"})


def plain(text: str) -> str:
    r"""Write a description in one line, without markup and examples.

    >>> plain("the metrics, such as ``mrr``,\nas :func:`kgeval.summarize` has them.\n\n>>> 1")
    "the metrics, such as 'mrr', as kgeval.summarize has them."
    """
    words = " ".join(re.split(r">>>|\n *Examples\n", text)[0].split())
    return re.sub(r":\w+:`~?([^`]+)`", r"\1", words).replace("``", "'")


def listed(value: Any) -> Any:
    """Wrap a bare string in a tuple.

    >>> listed("tail"), listed(["head", "tail"])
    (('tail',), ['head', 'tail'])
    """
    return (value,) if isinstance(value, str) else value


def names_among(what: str, value: Any, known: Iterable[str], error: type[InputError] = InputError) -> tuple[Any, ...]:
    """Read one name or several; one that is unknown is refused, as :func:`refuse_unknown` does.

    >>> names_among("unknown side", "tail", ["head", "tail"])
    ('tail',)
    """
    names = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    for name in names:
        refuse_unknown(what, name, known, error)
    return names


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
        first = [it for it in signature.parameters.values() if it.kind is not it.VAR_KEYWORD]
        names = [it.name for it in first] + list(fields)

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            for name in given:
                refuse_unknown(f"{function.__name__}: no argument", name, names)
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
        call.__signature__ = signature.replace(parameters=[*first, *further])  # type: ignore[attr-defined]
        listing = "".join(_described(name, descriptions(settings).get(name, "")) for name in fields)
        call.__doc__ = (function.__doc__ or "").replace(PLACEHOLDER, listing)
        return cast("Function", call)

    return decorate


def _described(name: str, description: str) -> str:
    text = textwrap.fill(" ".join(description.split()), 112, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return f"    {name}\n{text}\n"


@functools.cache
def descriptions(settings: type[Any]) -> dict[str, str]:
    """Read the docstrings of the fields of a class and of those above it, by name; without source files there are none.

    Pydantic's own ``use_attribute_docstrings`` reads them whenever a class is made, by each command.
    """
    texts: dict[str, str] = {}
    for part in reversed(settings.__mro__):
        with suppress(OSError, TypeError):  # no source file; a class of the interpreter
            if part is not BaseModel:
                texts.update(_docstrings(inspect.getsource(part)))
    return texts


def _docstrings(source: str) -> dict[str, str]:
    """Find the text below each name of a class that has a type or a value."""
    lines: list[Any] = ast.parse(textwrap.dedent(source)).body[0].body  # type: ignore[attr-defined]
    texts = {}
    for field, below in pairwise(lines):
        if isinstance(field, ast.AnnAssign | ast.Assign) and isinstance(below, ast.Expr):
            name = field.target if isinstance(field, ast.AnnAssign) else field.targets[0]
            texts[ast.unparse(name)] = inspect.cleandoc(ast.literal_eval(below.value))
    return texts


KEYS = ("baseline", "kind")
"""the keys that tell settings apart, the more special one first"""


def names_by(key: str) -> Callable[[type[BaseModel]], tuple[str, ...]]:
    """Return the names of a class of settings: the ``Literal`` of its field ``key``."""

    def names(found: type[BaseModel]) -> tuple[str, ...]:
        kind = found.model_fields[key].annotation
        if get_origin(kind) is not Literal:
            raise InputError(f"{found.__name__} does not declare {key}. Add {key}: Literal['name'] = 'name'.")
        return get_args(kind)

    return names


@dataclass(frozen=True)
class ByKind:
    """The annotation of a field that takes an object of a type, or a block whose ``kind`` names a class of a registry.

    A discriminated union of pydantic would be closed: it takes no class of another package.
    """

    base: type[BaseModel]
    registry: Callable[[], Mapping[str, type[BaseModel]]]
    key: str = "kind"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        union: Any = Annotated[Union[tuple(self.registry().values())], Field(discriminator=self.key)]  # noqa: UP007
        return handler(TypeAdapter(union).core_schema)

    def validate(self, value: Any) -> BaseModel:
        """Return an object unchanged; make one from a block."""
        if isinstance(value, self.base):
            return value
        kind = value.get(self.key) if isinstance(value, Mapping) else None
        if not isinstance(kind, str) or kind not in self.registry():
            raise PydanticCustomError("union_tag_invalid", "unknown kind", {"key": self.key})
        return self.registry()[kind].model_validate(value)


Location = tuple[str | int, ...]
"""the path to a value: its keys and positions"""

MAX_CHARACTERS = 100

MAX_PROBLEMS = 100

UNTRAINED = "a baseline"
"""pydantic's tag for models that learn nothing; the key that names one is called like their kind"""

UNKNOWN_KEY = "unknown key"

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "byte_size": "bytes, such as 2000000000 or 2GB",
    "byte_size_unit": "bytes, such as 2000000000 or 2GB",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a block of keys",
    "model_type": "a block of keys",
    "json_invalid": "JSON ({error})",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "too_short": "at least {min_length} of them",
}


@dataclass(frozen=True)
class Problem:
    location: Location
    message: str
    hint: str = ""
    absent: bool = False
    """whether there is nothing at the location"""
    no_path: bool = False
    """whether it names a file or folder that is not there"""

    @property
    def offers_names(self) -> bool:
        """Whether a name is unknown, other than a key, and the hint says which are known."""
        offers = self.hint.startswith(("Did you mean", "Choose one of", "'kgeval list"))
        return offers and not self.message.startswith(UNKNOWN_KEY)

    def format(self, line: str = "", option: str = "") -> str:
        """Return the message, with the line of the file or the command-line option if that is known."""
        where = option or ".".join(short(step) for step in as_texts(self.location)) or "configuration"
        return f"{where}: {self.message}{f' ({line})' if line else ''}. {self.hint}".rstrip()

    def __str__(self) -> str:
        return self.format()

    @classmethod
    def of(cls, location: Location, error: Exception) -> Problem:
        """Make a problem of an error whose sentences are what is wrong, and what to do about it."""
        message, hint, *_ = [*re.split(r"\.\s(?=[A-Z]|'kgeval )", str(error).rstrip("."), maxsplit=1), ""]
        hint = f"{' '.join(hint.split())}{'' if hint.endswith('?') or not hint else '.'}"
        return cls(location, message, hint, no_path=isinstance(error, NoPathError))


def problems_of(error: ValidationError, content: Any, root: Any) -> list[Problem]:
    """List pydantic's errors about ``content``, which is no valid ``root`` (a model, or a union of models)."""
    items = error.errors(include_url=False)
    problems = _without_misspelt([_problem(item, content, root) for item in items[:MAX_PROBLEMS]], content, root)
    if len(items) > MAX_PROBLEMS:
        problems.append(Problem((), f"{len(items) - MAX_PROBLEMS} more problems"))
    return problems


def _without_misspelt(problems: list[Problem], content: Any, root: Any) -> list[Problem]:
    """Leave out that a key is missing where an unknown one beside it is likely to be that key."""
    unknown = [problem.location for problem in problems if problem.message.startswith(UNKNOWN_KEY)]
    near = {(*block, name) for *block, key in unknown for name in nearest(str(key), _keys(tuple(block), content, root))}
    return [problem for problem in problems if not (problem.absent and problem.location in near)]


def _problem(item: Any, content: Any, root: Any) -> Problem:
    value, context, kind, place = item["input"], item.get("ctx", {}), item["type"], item["loc"]
    if place[-1:] == ("[key]",):  # a block with free keys: the error is about a key, not about its value
        kind, place = "invalid_key", place[:-1]
    location = _in_content(place, content)
    if kind in {"extra_forbidden", "invalid_key", "missing"}:
        return _about_key(kind, location, content, root)
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        return Problem(location, f"unknown value {short_repr(value)}", _nearest(value, choices))
    if kind.startswith("union_tag") or kind == "model_attributes_type":
        key, models = context.get("key", "kind"), _models(_annotation(location, content, root))
        return _unknown_kind(location, value, key, [kind for model in models for kind in _kinds(model, key)])
    if kind == "value_error":
        return Problem.of(location, context["error"])
    expected = _EXPECTED.get(kind, item["msg"].removeprefix("Input should be ")).format(**context)
    return Problem(location, f"expected {expected}, found {short_repr(value)}")


def _about_key(kind: str, location: Location, content: Any, root: Any) -> Problem:
    if kind == "missing":
        return Problem(location, "required, but missing", absent=True)
    if kind == "extra_forbidden":
        known = _keys(location[:-1], content, root)
        return Problem(location, f"{UNKNOWN_KEY} {short_repr(location[-1])}", _nearest(location[-1], known))
    return Problem(location, f"a key is text, found {short_repr(location[-1])}", "Write it in quotes.")


def _unknown_kind(location: Location, value: Any, key: str, kinds: list[str]) -> Problem:
    name: Any = ""
    if not isinstance(value, dict):
        fault = f"expected a block with the key {key!r}, found {short_repr(value)}"
    elif value.get(key) is None:
        fault = f"the key {key!r} is missing"
    else:
        name = value[key]
        fault = f"unknown {key} {short_repr(name)}"
    return Problem(location, fault, _nearest(name, kinds))


def as_texts(location: Location) -> tuple[str, ...]:
    return tuple(step if isinstance(step, str) else short_repr(step) for step in location)


def short_repr(value: Any) -> str:
    """Format a value of any length and type as short text.

    >>> short_repr("x" * 1000)[-3:], short_repr(16**5000)
    ("x…'", 'a very large number')
    """
    if isinstance(value, str):
        return repr(short(value))
    with suppress(ValueError):  # Python formats no integer of more than some thousand digits
        return short(repr(value))
    return "a very large number"


def _nearest(value: Any, choices: list[str]) -> str:
    return did_you_mean(short(value) if isinstance(value, str) else short_repr(value), choices)


def short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _in_content(location: Location, content: Any) -> Location:
    """Remove the tags of unions, which pydantic adds, from a location."""
    if not location:
        return ()
    *inner, last = location
    value: Any = content
    path: list[str | int] = []
    for step in inner:
        item = _item(value, step)
        if item is not None:
            value = item
            path.append(step)
    in_block = isinstance(value, dict) and (last in value or last != value.get("kind", "checkpoint"))
    is_key = last != UNTRAINED and (in_block or isinstance(value, str))
    return (*path, last) if is_key or isinstance(last, int) else tuple(path)


def _item(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, (list, tuple)) and isinstance(step, int) and step < len(value):
        return value[step]
    return None


def _keys(location: Location, content: Any, root: Any) -> list[str]:
    value = content
    for step in location:
        value = _item(value, step)
    block = _block(_annotation(location, content, root), value)
    return list(block.model_fields) if block else []


def _annotation(location: Location, content: Any, root: Any) -> Any:
    value, annotation = content, root
    for step in location:
        block = _block(annotation, value)
        if block and step in block.model_fields:
            field: Any = block.model_fields[str(step)]
            annotation = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        else:  # a block with free keys, or a list
            kinds = (list, tuple) if isinstance(step, int) else (dict,)
            parts = [part for part in _alternatives(annotation) if get_origin(part) in kinds]
            annotation = get_args(parts[0])[0 if isinstance(step, int) else -1] if parts else None
        value = _item(value, step)
    return annotation


def _block(annotation: Any, value: Any) -> type[BaseModel] | None:
    """Find the model of a block, by its ``kind`` or the like where there are several."""
    models = _models(annotation)
    block = value if isinstance(value, dict) else {}
    fitting = [model for key in KEYS for model in models if block.get(key) in _kinds(model, key)]
    return next(iter([*fitting, *models]), None)


def _kinds(model: type[BaseModel], key: str) -> tuple[Any, ...]:
    return get_args(model.model_fields[key].annotation) if key in model.model_fields else ()


def _models(annotation: Any) -> list[type[BaseModel]]:
    return [part for part in _alternatives(annotation) if isinstance(part, type) and issubclass(part, BaseModel)]


def _alternatives(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *marks = get_args(annotation)
        by_kind = next((mark for mark in marks if isinstance(mark, ByKind)), None)
        yield from by_kind.registry().values() if by_kind else _alternatives(inner)
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _alternatives(part)
    else:
        yield annotation
