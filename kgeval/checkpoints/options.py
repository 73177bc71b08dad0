"""What the user says about a checkpoint, reconciled with what its files say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgeval.data.dataset import Dataset
from kgeval.errors import UsageError, did_you_mean
from kgeval.scorers.family import Family


class Options:
    """The options of a checkpoint, each of which its reader must use.

    Parameters
    ----------
    values
        what the user says
    dataset
        the graph that the model will be evaluated on, if it is known

    Examples
    --------
    >>> options = Options({"norm": 2})
    >>> options.resolve("norm", None, "model.pt"), options.resolve("model", "TransE", "model.pt")
    (2, 'TransE')
    >>> options.origins
    {'norm': 'option', 'model': 'model.pt'}
    """

    def __init__(self, values: Mapping[str, Any], dataset: Dataset | None = None) -> None:
        self._values = dict(values)
        self.dataset = dataset
        """the graph that the model will be evaluated on, if it is known"""
        self.origins: dict[str, str] = {}
        """where each option came from"""
        self.resolved: dict[str, Any] = {}
        """what each option is"""
        self._known: list[str] = []

    def resolve(self, name: str, stored: Any, where: str) -> Any:
        """Take an option from the user or from the file, which must not contradict each other.

        Returns ``None`` where neither says anything.

        Raises
        ------
        UsageError
            if they differ
        """
        self._known.append(name)
        if name not in self._values:
            if stored is not None:
                self.origins[name], self.resolved[name] = where, stored
            return stored
        value = self._values.pop(name)
        if stored is not None and _as_text(stored) != _as_text(value):
            raise UsageError(
                f"option {name}={value!r} contradicts {where}, which says {stored!r}. Leave the option out."
            )
        self.origins[name], self.resolved[name] = "option", value if stored is None else stored
        return self.resolved[name]

    def require(self, name: str, stored: Any, where: str, choices: Sequence[Any]) -> Any:
        """Take an option as :meth:`resolve` does, which must be one of some values.

        Raises
        ------
        UsageError
            if neither the user nor the file says it, or if it is none of them
        """
        value = self.resolve(name, stored, where)
        texts = [str(choice).lower() if isinstance(choice, bool) else choice for choice in choices]
        expected = " or ".join(f"{name}={text}" for text in texts)
        if value is None:
            raise UsageError(f"{where} does not say {name}, which the scores depend on: give the option {expected}.")
        for choice in choices:
            if _as_text(value) == _as_text(choice):
                self.resolved[name] = choice
                return choice
        raise UsageError(f"{where}: {name}={value!r}: expected {expected}.")

    def record_origins(self, family: Family, framework: str, **sources: str) -> None:
        """Record where a family's options came from: a setting of the framework's, or else its code.

        ``sources`` names the setting behind each of them; it has been resolved.
        """
        for name in family.options:
            source = sources.get(name, "")
            origin = f"{source} ({self.origins[source]})" if source in self.origins else f"the code of {framework}"
            self.origins.setdefault(name, origin)

    def refuse_unused(self, path: Path) -> None:
        """Refuse options that the reader has not used.

        Raises
        ------
        UsageError
            with the nearest known option
        """
        for name in self._values:
            raise UsageError(
                f"{path}: unknown option {name!r} for this checkpoint. {did_you_mean(name, self._known)}".strip()
            )


def _as_text(value: Any) -> str:
    """Write a value so that equal values are the same text: ``True`` is ``"true"``, and 2.0 is ``"2"``."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).lower()
