"""Settings: frozen models that are their own configuration, and refuse bad arguments as the rest of kgeval does."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kgeval.errors import InputError
from kgeval.settings.messages import complaints


class Settings(BaseModel):
    """A part of a configuration: unknown names are refused, and nothing is converted silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

    called: ClassVar[str] = ""
    """what messages call it where people know it by another name than that of its class"""

    def __init__(self, /, *unnamed: Any, **given: Any) -> None:
        if unnamed:
            names = ", ".join(name for name in type(self).model_fields if name != "kind")
            raise InputError(f"{type(self).__name__} takes its settings by name ({names}), found {unnamed[0]!r:.60}.")
        try:
            super().__init__(**given)
        except ValidationError as error:
            told = complaints(error, given, type(self))
            raise InputError("\n  ".join([f"{self.called or type(self).__name__}:", *map(str, told)])) from None

    # Blocks inside other blocks are made without this, so that all their problems are told in one message.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


def listed(value: Any) -> Any:
    """Take a bare string for a list of one.

    >>> listed("tail"), listed(["head", "tail"])
    (('tail',), ['head', 'tail'])
    """
    return (value,) if isinstance(value, str) else value
