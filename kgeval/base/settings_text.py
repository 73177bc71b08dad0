"""Text of settings: YAML with a bound on its values, and environment variables in it.

Configurations, stored runs and the settings of datasets are read with :func:`read_yaml`. The bound counts values also
where aliases and merge keys repeat them. Variables are ``${NAME}`` and ``${NAME:-default}``; ``$${NAME}`` is the text
``${NAME}``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from kgeval.base.errors import ConfigError, KgevalError

MAX_VALUES = 20_000
"""the most values of a text; the values of an alias are counted wherever it is used"""

MAX_SCALAR, MAX_KEY = 100, 17
"""the most characters of a number or a date, and of a key that is a number: larger ones can have colliding hashes"""

TEXT = "tag:yaml.org,2002:str"
"""YAML's tag of text"""


def read_yaml(text: str, loader: type[CountingLoader] | None = None) -> Any:
    r"""Read YAML as Python values; a ``loader`` may do more than count them. Raise ValueError if it is invalid."""
    try:
        document = (loader or CountingLoader)(text)
        root = document.get_single_node()
        if root is None:
            return None
        _expanded_size(root, {})
        return document.construct_document(root)
    except KgevalError:  # of a loader with checks of its own
        raise
    except Exception as error:
        raise ValueError(str(error)) from error


class CountingLoader(yaml.SafeLoader):
    """Counts values while it reads them, which takes most of the time."""

    count = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.count += 1
        if self.count > MAX_VALUES:
            raise ValueError(f"it has more than {MAX_VALUES} values")
        return super().compose_node(parent, index)


def _expanded_size(node: yaml.Node, sizes: dict[int, int | None]) -> int:
    """Count the values of a node, those of an alias wherever it is used; refuse too many, and cycles of aliases."""
    if id(node) not in sizes:
        sizes[id(node)] = None
        size = 1 + sum(_expanded_size(child, sizes) for child in _children(node))
        if size > MAX_VALUES:
            raise ValueError(f"its aliases expand to more than {MAX_VALUES} values")
        sizes[id(node)] = size
    if (total := sizes[id(node)]) is None:
        raise ValueError("a block contains itself")
    return total


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        if any(key.tag != TEXT and isinstance(key.value, str) and len(key.value) > MAX_KEY for key, _ in node.value):
            raise ValueError(f"a key is a number of more than {MAX_KEY} characters")
        return [child for pair in node.value for child in pair]
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if node.tag != TEXT and len(node.value) > MAX_SCALAR:
        raise ValueError(f"a value of {len(node.value)} characters is too long")
    return []


class QuotedText(str):
    """Text that is written in quotes, so that it is read as text whatever its variables hold."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes some text in quotes."""


_Dumper.add_representer(QuotedText, lambda dumper, text: dumper.represent_scalar(TEXT, str(text), style="'"))


def dump_yaml(content: Mapping[str, Any]) -> str:
    r"""Format keys and values as YAML.

    >>> dump_yaml({"path": QuotedText("${NUMBER}"), "count": 3})
    "path: '${NUMBER}'\ncount: 3\n"
    """
    # A text on several lines could be cut within a variable.
    return str(yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")))


DEEPEST = 4
"""how deep dictionaries may be nested for :func:`flat`"""


def flat(content: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of nested dictionaries, the names joined as in ``net.ent.weight``.

    >>> dict(flat({"net": {"E": 1, "R": 2}, "epoch": 5}))
    {'net.E': 1, 'net.R': 2, 'epoch': 5}
    """
    for name, value in content.items() if isinstance(content, Mapping) else ():
        if isinstance(value, Mapping) and depth < DEEPEST:
            yield from flat(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value


VARIABLE = re.compile(r"""\$(\$?)\{([A-Za-z_]\w*)(:-(?:[^{}\n'":]|:(?!\s))*)?\}""")
"""a variable in a text, escaped by a second ``$`` or not; a default contains no syntax of YAML"""


def look_up(variable: str) -> str | None:
    """Return the value of ``NAME`` or ``NAME:-default``, None if not set; for ``$NAME``, the text ``${NAME}``."""
    if variable.startswith("$"):
        return f"${{{variable[1:]}}}"
    name, has_default, default = variable.partition(":-")
    return os.environ.get(name) or default if has_default else os.environ.get(name)


def escaped(content: Any) -> Any:
    """Escape text that looks like a variable.

    >>> escaped({"path": "a/${b}", "count": 3})
    {'path': 'a/$${b}', 'count': 3}
    """
    return map_texts(content, lambda text: VARIABLE.sub(lambda match: f"${match[0]}", text))


def expanded(content: Any) -> Any:
    """Expand the variables in the text of a stored configuration."""
    return map_texts(content, lambda text: VARIABLE.sub(_value_of, text))


def map_texts(content: Any, change: Callable[[str], Any]) -> Any:
    """Change each text of a block or list, also the keys.

    >>> map_texts({"mark": ["a", 3]}, str.upper)
    {'MARK': ['A', 3]}
    """
    if isinstance(content, dict):
        return {map_texts(key, change): map_texts(value, change) for key, value in content.items()}
    if isinstance(content, list):
        return [map_texts(value, change) for value in content]
    return change(content) if isinstance(content, str) else content


def _value_of(match: re.Match[str]) -> str:
    value = look_up(f"{match[1]}{match[2]}{match[3] or ''}")
    if value is None:
        raise ConfigError(f"a stored configuration uses the environment variable {match[2]}, which is not set.")
    return value
