"""One of several settings, told apart by their ``kind`` or another key; which there are is found out when needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

KEYS = ("baseline", "kind")
"""the keys that tell settings apart, the more special one first"""


@dataclass(frozen=True)
class ByKind:
    """The mark of a field that takes an object of a type, or a block whose ``kind`` names a class of a registry.

    A union that pydantic tells apart by itself would be closed: it takes no class that somebody brings later.
    """

    base: type[BaseModel]
    registry: Callable[[], Mapping[str, type[BaseModel]]]
    """gives the classes by kind"""
    key: str = "kind"
    """what tells them apart"""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        union: Any = Annotated[Union[tuple(self.registry().values())], Field(discriminator=self.key)]  # noqa: UP007
        return handler(TypeAdapter(union).core_schema)

    def validate(self, value: Any) -> BaseModel:
        """Take an object as it is; make one of a block."""
        if isinstance(value, self.base):
            return value
        kind = value.get(self.key) if isinstance(value, Mapping) else None
        if not isinstance(kind, str) or kind not in self.registry():
            raise PydanticCustomError("union_tag_invalid", "unknown kind", {"key": self.key})
        return self.registry()[kind].model_validate(value)
