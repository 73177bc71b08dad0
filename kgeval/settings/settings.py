"""Settings: frozen pydantic models, whose bad arguments raise kgeval's own errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import Self

from kgeval.errors import InputError
from kgeval.settings.messages import problems_of


class Settings(BaseModel):
    """A part of a configuration: unknown keys are refused, and no value is converted silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

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
            problems = [
                f"{self.display_name or type(self).__name__}:",
                *map(str, problems_of(error, values, type(self))),
            ]
            raise InputError("\n  ".join(problems)) from None

    # Pydantic makes nested models without this __init__, so that one message has the problems of all.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def of_keywords(cls, keywords: Mapping[str, object]) -> Self:
        """Make settings of the keywords of a function, whose types are wider: a path or a name, one or several."""
        return cls(**keywords)


def listed(value: Any) -> Any:
    """Wrap a bare string in a tuple.

    >>> listed("tail"), listed(["head", "tail"])
    (('tail',), ['head', 'tail'])
    """
    return (value,) if isinstance(value, str) else value
