"""Settings: frozen pydantic models, whose bad arguments raise kgeval's own errors."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kgeval.errors import InputError
from kgeval.settings.messages import complaints


class Settings(BaseModel):
    """A part of a configuration: unknown names are refused, and nothing is converted silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

    display_name: ClassVar[str] = ""
    """what messages call it where users know it by another name than that of its class"""

    def __init__(self, /, *unnamed: Any, **values: Any) -> None:
        if unnamed:
            names = ", ".join(name for name in type(self).model_fields if name != "kind")
            raise InputError(f"{type(self).__name__} takes its settings by name ({names}), found {unnamed[0]!r:.60}.")
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = complaints(error, values, type(self))
            raise InputError(
                "\n  ".join([f"{self.display_name or type(self).__name__}:", *map(str, problems)])
            ) from None

    # Nested models are made without this, so that one message has the problems of all.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


def listed(value: Any) -> Any:
    """Wrap a bare string in a tuple.

    >>> listed("tail"), listed(["head", "tail"])
    (('tail',), ['head', 'tail'])
    """
    return (value,) if isinstance(value, str) else value
