"""Environment variables in YAML: ``${NAME}``, ``${NAME:-default}``, and ``$${NAME}`` for the text ``${NAME}``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import yaml

from kgeval.errors import ConfigError
from kgeval.files.yaml_text import CountingLoader

VARIABLE = re.compile(r"""\$(\$?)\{([A-Za-z_]\w*)(:-(?:[^{}\n'":]|:(?!\s))*)?\}""")
"""with or without a default, which contains no structure of YAML"""

HIDDEN = re.compile("\ue000([^\ue000\ue001]*)\ue001")


class ExpandingLoader(CountingLoader):
    """Reads YAML with variables, which expand to a value or a part of one, never to structure.

    Braces have another meaning in YAML inside ``{…}`` and ``[…]``, so variables are hidden from its scanner. A value
    without quotes is read as a number or a truth value if it is one after expansion.
    """

    def __init__(self, text: str) -> None:
        super().__init__(VARIABLE.sub(lambda match: f"\ue000{match[1]}{match[2]}{match[3] or ''}\ue001", text))
        self._unset: dict[str, list[int]] = {}

    def get_single_node(self) -> yaml.Node | None:
        """Compose the document; refuse variables that are not set, each with all of its lines."""
        root: yaml.Node | None = super().get_single_node()
        if self._unset:
            raise ConfigError("\n".join(_unset_message(name, lines) for name, lines in self._unset.items()))
        return root

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """Expand the variables of a value or a key."""
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        line = node.start_mark.line + 1
        expanded = HIDDEN.sub(lambda match: self._value(match[1], line), node.value)
        if expanded != node.value and node.style is None:
            node.tag = self.resolve(yaml.ScalarNode, expanded, (True, False))  # type: ignore[no-untyped-call]
        node.value = expanded
        return node

    def _value(self, variable: str, line: int) -> str:
        """Look up ``NAME`` or ``NAME:-default``; the default also replaces an empty variable, as in a shell."""
        if variable.startswith("$"):
            return f"${{{variable[1:]}}}"
        name, has_default, default = variable.partition(":-")
        value = os.environ.get(name)
        if value is None and not has_default:
            self._unset.setdefault(name, []).append(line)
        return value or default


def _unset_message(name: str, lines: Sequence[int]) -> str:
    distinct = sorted(set(lines))
    where = f"config line{'s' if len(distinct) > 1 else ''} {', '.join(map(str, distinct))}"
    hint = f"Set it, give ${{{name}:-a default}}, or write $${{{name}}} for the text itself."
    return f"the environment has no variable {name} ({where}). {hint}"


def escaped(content: Any) -> Any:
    """Escape text that looks like a variable.

    >>> escaped({"path": "a/${b}", "count": 3})
    {'path': 'a/$${b}', 'count': 3}
    """
    if isinstance(content, dict):
        return {escaped(key): escaped(value) for key, value in content.items()}
    if isinstance(content, list):
        return [escaped(value) for value in content]
    return VARIABLE.sub(lambda match: f"${match[0]}", content) if isinstance(content, str) else content
