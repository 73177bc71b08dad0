"""One of several settings, distinguished by their ``kind`` or another key; the registry is read when first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from kgeval.base.errors import InputError

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
