"""Environment variables in text: ``${NAME}``, ``${NAME:-default}``, and ``$${NAME}`` for the text ``${NAME}``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from kgeval.errors import ConfigError

VARIABLE = re.compile(r"""\$(\$?)\{([A-Za-z_]\w*)(:-(?:[^{}\n'":]|:(?!\s))*)?\}""")
"""with or without a default, which contains no structure of YAML"""


def look_up(variable: str) -> str | None:
    """Return the value of ``NAME`` or ``NAME:-default``, if there is one; of ``$NAME`` the text ``${NAME}``."""
    if variable.startswith("$"):
        return f"${{{variable[1:]}}}"
    name, has_default, default = variable.partition(":-")
    return os.environ.get(name) or default if has_default else os.environ.get(name)


def escaped(content: Any) -> Any:
    """Escape text that looks like a variable.

    >>> escaped({"path": "a/${b}", "count": 3})
    {'path': 'a/$${b}', 'count': 3}
    """
    return _replaced(content, lambda match: f"${match[0]}")


def expanded(content: Any) -> Any:
    """Expand the variables in the text of a stored configuration."""
    return _replaced(content, _value)


def _replaced(content: Any, by: Callable[[re.Match[str]], str]) -> Any:
    if isinstance(content, dict):
        return {_replaced(key, by): _replaced(value, by) for key, value in content.items()}
    if isinstance(content, list):
        return [_replaced(value, by) for value in content]
    return VARIABLE.sub(by, content) if isinstance(content, str) else content


def _value(match: re.Match[str]) -> str:
    value = look_up(f"{match[1]}{match[2]}{match[3] or ''}")
    if value is None:
        raise ConfigError(f"the environment has no variable {match[2]}, which a stored configuration names. Set it.")
    return value
