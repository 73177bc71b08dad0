"""YAML with a bound on the number of values, also where aliases and merge keys repeat them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from kgeval.errors import KgevalError

MAX_VALUES = 20_000
"""the most values of a text, those of an alias counted wherever it is used"""

MAX_SCALAR, MAX_KEY = 100, 17
"""the most characters of a number or a date, and of one that is a key: hashes of larger ones can be made to collide"""

TEXT = "tag:yaml.org,2002:str"


def read_yaml(text: str, loader: type[CountingLoader] | None = None) -> Any:
    r"""Read YAML, by a loader that may do more than count values."""
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
    text: str = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


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
    if (found := sizes[id(node)]) is None:
        raise ValueError("a block contains itself")
    return found


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        if any(key.tag != TEXT and isinstance(key.value, str) and len(key.value) > MAX_KEY for key, _ in node.value):
            raise ValueError(f"a key is a number of more than {MAX_KEY} characters")
        return [child for pair in node.value for child in pair]
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if node.tag != TEXT and len(node.value) > MAX_SCALAR:
        raise ValueError(f"a value of {len(node.value)} characters is no text")
    return []
