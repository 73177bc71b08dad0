"""YAML with a bound on the number of values, also where aliases and merge keys repeat them."""

from __future__ import annotations

from typing import Any

import yaml

from kgeval.errors import KgevalError

MOST = 20_000
"""values that a text may have, those of an alias wherever it is used"""

LONGEST = 100
"""characters of a number or a date"""

KEY = 17
"""characters of a number that is a key: larger ones can be chosen so that a dictionary takes forever"""

TEXT = "tag:yaml.org,2002:str"


def read_yaml(text: str, loader: type[CountingLoader] | None = None) -> Any:
    r"""Read YAML, by a loader that may do more than count values.

    Raises
    ------
    ValueError
        if it is not readable, for whichever of the library's many reasons; if it has too many values, or its aliases
        lead back to themselves

    Examples
    --------
    >>> read_yaml("a: &a {norm: 1}\nb: {<<: *a, bias: true}")
    {'a': {'norm': 1}, 'b': {'norm': 1, 'bias': True}}
    """
    try:
        document = (loader or CountingLoader)(text)
        root = document.get_single_node()
        if root is None:
            return None
        _refuse_unfolding(root)
        return document.construct_document(root)
    except KgevalError:  # of a loader that refuses more
        raise
    except Exception as error:
        raise ValueError(str(error)) from error


class CountingLoader(yaml.SafeLoader):
    """Counts values as they are read, for reading them takes most of the time."""

    count = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose one value."""
        self.count += 1
        if self.count > MOST:
            raise ValueError(f"it has more than {MOST} values")
        return super().compose_node(parent, index)


def _refuse_unfolding(root: yaml.Node) -> None:
    """Count the values under each node, those of an alias wherever it is used."""
    sizes: dict[int, int | None] = {}
    waiting = [(root, False)]
    while waiting:
        node, is_counted = waiting.pop()
        inside = _inside(node)
        if is_counted:
            size = 1 + sum(sizes[id(part)] or 0 for part in inside)
            if size > MOST:
                raise ValueError(f"its aliases unfold to more than {MOST} values")
            sizes[id(node)] = size
        elif id(node) not in sizes:
            sizes[id(node)] = None
            waiting.append((node, True))
            waiting.extend((part, False) for part in inside)
            if any(sizes.get(id(part), 0) is None for part in inside):
                raise ValueError("a block holds itself")


def _inside(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        if any(key.tag != TEXT and isinstance(key.value, str) and len(key.value) > KEY for key, _ in node.value):
            raise ValueError(f"a key is a number of more than {KEY} characters")
        return [part for pair in node.value for part in pair]
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if node.tag != TEXT and len(node.value) > LONGEST:
        raise ValueError(f"a value of {len(node.value)} characters is no text")
    return []
