"""Settings: frozen pydantic models of what users may set, as keys of a configuration or arguments of a function.

A block of a configuration is a class below ``Settings``. A field ``ByKind`` takes one of several classes. A function
with ``@takes`` has the fields of settings as its keywords. ``setting_problems.py`` writes the messages on wrong values.
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
from numbers import Real
from pathlib import Path
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

from kgeval.base.errors import InputError, NoPathError, refuse_unknown
from kgeval.base.files import exists_safely, no_file
from kgeval.base.setting_problems import problems_of, short_repr


class Settings(BaseModel):
    """A part of a configuration: unknown keys are refused, and no value is converted silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    display_name: ClassVar[str] = ""
    """the name in messages, if it is not the name of the class"""

    decided_later: ClassVar[Mapping[str, str]] = {}
    """a field that another part decides if it is not given -> that default in words: "that of the protocol", say"""

    def __init__(self, /, *args: Any, **values: Any) -> None:
        if args:
            names = ", ".join(name for name in type(self).model_fields if name != "kind")
            raise InputError(f"{type(self).__name__} takes its settings by name ({names}), found {args[0]!r:.60}.")
        values = {key: it.item() if isinstance(it, Real) and hasattr(it, "item") else it for key, it in values.items()}
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
        """Make settings of a function's keywords, whose declared types are wider: a path or a name, one or several."""
        return cls(**keywords)


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


def names_by(key: str) -> Callable[[type[BaseModel]], tuple[str, ...]]:
    """Return the names of a class of settings: the ``Literal`` of its field ``key``."""

    def names(found: type[BaseModel]) -> tuple[str, ...]:
        kind = found.model_fields[key].annotation
        if get_origin(kind) is not Literal:
            raise InputError(f"{found.__name__} does not declare {key}. Add {key}: Literal['name'] = 'name'.")
        return get_args(kind)

    return names


Function = TypeVar("Function", bound=Callable[..., Any])

PLACEHOLDER = "    {settings}\n"
"""the line of a docstring where the descriptions of the fields go"""


def takes(settings: type[Settings], keywords: type) -> Callable[[Function], Function]:
    """Let a function take the fields of settings that a ``TypedDict`` names as its ``**settings``.

    A keyword of ``decided_later`` that is None counts as not given. ``help`` shows the default and the description.

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
        listing = "".join(_listed_field(name, descriptions(settings).get(name, "")) for name in fields)
        call.__doc__ = (function.__doc__ or "").replace(PLACEHOLDER, listing)
        return cast("Function", call)

    return decorate


def _listed_field(name: str, description: str) -> str:
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


@contextmanager
def as_validation_error() -> Iterator[None]:
    """Turn an InputError into a ValueError, which pydantic collects with the errors of all other values."""
    try:
        yield
    except InputError as error:
        raise ValueError(str(error)) from error


def writable(path: str) -> str:
    """Refuse a path whose text cannot be stored in a configuration or a manifest."""
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
    """Whether a path leads to a file; no path raises."""
    return exists_safely(Path(path)) and Path(path).is_file()


def existing(path: str) -> str:
    """Refuse a path that leads to no file."""
    if not is_file(path):
        raise NoPathError(no_file(Path(path)))
    return path


PathText = Annotated[str, AfterValidator(writable)]

ExistingFile = Annotated[PathText, AfterValidator(existing)]


def or_short(short: Mapping[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Let the JSON schema of a block accept a shorthand too, by the schema ``short``, as the block's validator does."""

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
