"""Configurations with environment variables: YAML read with their values, which nothing that is written shows."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kgeval.base.errors import ConfigError, KgevalError
from kgeval.base.settings_text import VARIABLE, CountingLoader, QuotedText, escaped, look_up

HIDDEN = re.compile("\ue000([^\ue000\ue001]*)\ue001")


class ExpandingLoader(CountingLoader):
    """Reads YAML with variables. A variable expands to a value or a part of a value, never to structure.

    Braces have another meaning in YAML inside ``{…}`` and ``[…]``, so variables are hidden from its scanner. A value
    without quotes is read as a number or a truth value if it is one after expansion.
    """

    def __init__(self, text: str) -> None:
        super().__init__(VARIABLE.sub(lambda match: f"\ue000{match[1]}{match[2]}{match[3] or ''}\ue001", text))
        self._unset: dict[str, list[int]] = {}
        self.values: dict[yaml.Node, dict[str, str]] = {}
        """for each scalar, the values of the variables in it that are set, and the variables as they were written"""

    def get_single_node(self) -> yaml.Node | None:
        """Compose the document; refuse variables that are not set, each with all of its lines."""
        root: yaml.Node | None = super().get_single_node()
        messages = []
        for name, lines in self._unset.items():
            distinct = sorted(set(lines))
            where = f"config line{'s' if len(distinct) > 1 else ''} {', '.join(map(str, distinct))}"
            hint = f"Set it, give ${{{name}:-a default}}, or write $${{{name}}} for the text itself."
            messages.append(f"the environment variable {name} is not set ({where}). {hint}")
        if messages:
            raise ConfigError("\n".join(messages))
        return root

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        hidden, line = node.value, node.start_mark.line + 1
        node.value = HIDDEN.sub(lambda match: self._value(match[1], line), hidden)
        if node.value != hidden and node.style is None:
            node.tag = self.resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]
        found = ((name, os.environ.get(name.partition(":-")[0])) for name in HIDDEN.findall(hidden))
        self.values[node] = {value: f"${{{name}}}" for name, value in found if value}
        return node

    def _value(self, variable: str, line: int) -> str:
        """Look up ``NAME`` or ``NAME:-default``; the default also replaces an empty variable, as in a shell."""
        value = look_up(variable)
        if value is None:
            self._unset.setdefault(variable, []).append(line)
        return value or ""


Place = tuple[str, ...]
"""the path to a value: its keys and positions, as they are written"""

SHORTEST = 3
"""the least length of a value that is replaced inside a longer text; shorter ones occur by chance"""

NAMED = {
    *("name", "layout", "kind", "format", "baseline", "protocol", "device", "kernel"),
    *("model", "loss", "regularizer", "optimizer", "lr_scheduler", "training_loop", "negative_sampler", "stopper"),
    *("split", "sides", "filter", "times", "unseen", "nan", "metrics", "ties", "chance", "unit", "intervals", "by"),
    *("calibration", "mapping"),
}
"""keys whose text is a name that kgeval or PyKEEN knows: a run stores it, so that it does not need the variable"""

SERVICES = ("tracker", "executor")
"""blocks for services: numbers may also be secret in them"""


@dataclass(frozen=True)
class Variables:
    """The values of variables that are not shown, and each variable as it was written."""

    hidden: dict[str, str] = field(default_factory=dict)

    def add(self, place: Place, loader: ExpandingLoader, node: yaml.ScalarNode) -> None:
        """Add the variables of a scalar at a place of a configuration, unless its value is stored."""
        values = loader.values[node]
        if _is_hidden(place, loader.construct_object(node)):
            self.hidden.update(values)
        if place[0] in SERVICES and node.value in values:  # maybe a number
            self.hidden[str(loader.construct_object(node))] = values[node.value]

    def conceal(self, words: Any) -> Any:
        """Replace the values of variables by the variables, in a text or in each text of a block or list."""
        if isinstance(words, dict):
            return type(words)((name, self.conceal(part)) for name, part in words.items())
        if isinstance(words, list | tuple):
            return type(words)(map(self.conceal, words))
        for value in sorted(self.hidden, key=len, reverse=True) if isinstance(words, str) else ():
            for form in dict.fromkeys((value, value.rstrip("/"), str(Path(value)), escaped(value))):
                if len(form) >= SHORTEST:
                    # A word or a number is not replaced inside a longer one.
                    edges = r"(?<![^\W_]){}(?![^\W_])" if form.isalpha() or form.isdecimal() else "{}"
                    words = self.hidden[value].join(re.split(edges.format(re.escape(form)), words))
        return words

    def conceal_in_name(self, name: str) -> str:
        """Likewise in the name of a dataset, unless the variable is the whole name, which distinguishes results."""
        return name if name in self.hidden else str(self.conceal(name))

    @contextmanager
    def concealed(self) -> Iterator[None]:
        try:
            yield
        except (KgevalError, OSError) as error:
            error.args = tuple(self.conceal(part) if isinstance(part, str) else part for part in error.args)
            if isinstance(error, OSError) and isinstance(error.filename, str):
                error.filename = self.conceal(error.filename)
            raise

    def as_written(self, content: Any, place: Place = ()) -> Any:
        """Write the variables at a place of a configuration again, and escape texts that only look like variables."""
        if isinstance(content, dict):
            return {escaped(key): self.as_written(value, (*place, key)) for key, value in content.items()}
        if isinstance(content, list | tuple):
            return [self.as_written(value, (*place, str(step))) for step, value in enumerate(content)]
        if not _is_hidden(place, content):
            return escaped(content)
        whole = self.hidden.get(str(content)) if place[0] in SERVICES else None
        written = whole or self.conceal(escaped(content))
        return QuotedText(written) if isinstance(content, str) and written != escaped(content) else written


def innermost(place: Place, known: Container[Place]) -> Place | None:
    """The longest known beginning of a place: the place itself, or a block around it."""
    return next((place[:depth] for depth in range(len(place), -1, -1) if place[:depth] in known), None)


def _is_hidden(place: Place, value: Any) -> bool:
    """Whether a value is stored as it was written: any text except known names, and everything for services."""
    if place[0] in SERVICES:
        return True
    *blocks, key = [step for step in place if not step.isdecimal()] or [""]
    is_path = place == ("model",) or blocks == ["models"]
    is_free = any(step == "options" or step.endswith("_kwargs") for step in blocks)
    return isinstance(value, str) and (is_path or is_free or key not in NAMED)
