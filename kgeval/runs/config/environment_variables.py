"""Variables of the environment in YAML: ``${NAME}``, ``${NAME:-default}``, and ``$${NAME}`` for that text itself."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import yaml

from kgeval.errors import ConfigError
from kgeval.files.yaml_text import CountingLoader

VARIABLE = re.compile(r"""\$(\$?)\{([A-Za-z_]\w*)(:-(?:[^{}\n'":]|:(?!\s))*)?\}""")
"""with or without a default, which holds nothing that would be structure in YAML"""

HIDDEN = re.compile("\ue000([^\ue000\ue001]*)\ue001")


class ExpandingLoader(CountingLoader):
    """Reads YAML with variables; what they say is a value, or a part of one, and never structure.

    Braces mean something else to YAML inside ``{…}`` and ``[…]``, so variables are hidden from its scanner. A value
    without quotes is read as a number or a truth value if it is one after expansion.
    """

    def __init__(self, text: str) -> None:
        super().__init__(VARIABLE.sub(lambda found: f"\ue000{found[1]}{found[2]}{found[3] or ''}\ue001", text))
        self._unset: dict[str, list[int]] = {}

    def get_single_node(self) -> yaml.Node | None:
        """Compose everything; refuse variables that are not set, each with all of its lines."""
        root: yaml.Node | None = super().get_single_node()
        if self._unset:
            raise ConfigError("\n".join(_unset(name, lines) for name, lines in self._unset.items()))
        return root

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """Expand the variables of a value or a key."""
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        line = node.start_mark.line + 1
        expanded = HIDDEN.sub(lambda found: self._value(found[1], line), node.value)
        if expanded != node.value and node.style is None:
            node.tag = self.resolve(yaml.ScalarNode, expanded, (True, False))  # type: ignore[no-untyped-call]
        node.value = expanded
        return node

    def _value(self, variable: str, line: int) -> str:
        """Look up ``NAME`` or ``NAME:-default``; a default stands for an empty variable too, as in a shell."""
        if variable.startswith("$"):
            return f"${{{variable[1:]}}}"
        name, has_default, default = variable.partition(":-")
        value = os.environ.get(name)
        if value is None and not has_default:
            self._unset.setdefault(name, []).append(line)
        return value or default


def _unset(name: str, lines: Sequence[int]) -> str:
    where = sorted(set(lines))
    place = f"config line{'s' if len(where) > 1 else ''} {', '.join(map(str, where))}"
    cure = f"Set it, give ${{{name}:-a default}}, or write $${{{name}}} for the text itself."
    return f"the environment has no variable {name} ({place}). {cure}"


def escaped(content: Any) -> Any:
    """Write what looks like a variable so that it is read as the text that it is.

    >>> escaped({"path": "a/${b}", "count": 3})
    {'path': 'a/$${b}', 'count': 3}
    """
    if isinstance(content, dict):
        return {escaped(key): escaped(value) for key, value in content.items()}
    if isinstance(content, list):
        return [escaped(value) for value in content]
    return VARIABLE.sub(lambda found: f"${found[0]}", content) if isinstance(content, str) else content
