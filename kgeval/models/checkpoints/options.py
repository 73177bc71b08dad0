"""Options of a checkpoint: what the user says, compared with what the files say.

A reader asks ``Options`` for whatever its files may not say; options that no reader has asked for are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgeval.base.assumptions import Assumption
from kgeval.base.errors import CheckpointError, UsageError, did_you_mean
from kgeval.data.dataset import Dataset
from kgeval.models.family import Family

FEW = 4
"""a missing option with at most this many values is assumed for now, so that one error names all missing options"""

MODEL = ("model", "model_name", "scoring_type")
"""the names that frameworks have for the option that says which model it is, on which further options depend"""


class Options:
    """The options from the user. The reader must use each of them; an unused option is refused.

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
        """the source of each option: a file, the user (``option``), or the framework's code"""
        self.resolved: dict[str, Any] = {}
        """the value of each option"""
        self.assumptions: list[Assumption] = []
        """what the names of files decided"""
        self._known: list[str] = []
        """the names of the options that the reader has asked for"""
        self._missing: dict[str, tuple[str, list[str]]] = {}
        """for each required option that is missing: where it was searched, and how to give it"""

    def resolve(self, name: str, stored: Any, where: str) -> Any:
        """Return the value of an option.

        Parameters
        ----------
        name
            the option's name, as the user gives it
        stored
            the value in the files; ``None`` if they do not have it
        where
            the file or setting that has the stored value, for messages and ``origins``

        Returns
        -------
        Any
            the value of the user or of the files; ``None`` if neither has it

        Raises
        ------
        UsageError
            if the user and the files contradict each other
        """
        self._known.append(name)
        if name not in self._values:
            if stored is not None:
                self.origins[name], self.resolved[name] = where, stored
            return stored
        value = self._values[name]
        if stored is not None and _as_text(stored) != _as_text(value):
            raise UsageError(f"option {name}={value!r} contradicts {where}, which has {stored!r}. Leave it out.")
        self.origins[name], self.resolved[name] = "option", value if stored is None else stored
        return self.resolved[name]

    def hinted(self, name: str, hint: Any, file: str) -> Any:
        """Return what the name of a file says of an option, if the user does not say it."""
        if name in self._values or hint is None:
            return None
        self.assumptions.append(Assumption(name, str(hint), "usual", f"the name of {file}", f"--option {name}=…"))
        return hint

    def given(self, name: str, default: Any = None) -> Any:
        """Return the user's value of an option; this does not count as asking for it, as :meth:`resolve` does."""
        return self._values.get(name, default)

    def require(self, name: str, stored: Any, where: str, choices: Sequence[Any], *, optional: bool = False) -> Any:
        """Return the value of an option as :meth:`resolve` does; it must be one of ``choices``.

        A missing option that is ``optional`` has the first choice. If any other is missing and has few choices, the
        first choice is returned for now: reading continues, and :meth:`refuse_missing` can ask for all missing options
        at once.

        Raises
        ------
        UsageError
            if the value is not one of ``choices``, or if it is missing and has many choices
        """
        value = self.resolve(name, stored, where)
        ways = [f"{name}={spelled(choice)}" for choice in choices]
        if value is None and not optional:
            self._missing[name] = where, ways
            if len(choices) > FEW:
                self.refuse_missing()
        if value is None:
            return choices[0]
        for choice in choices:
            if _as_text(value) == _as_text(choice):
                self.resolved[name] = choice
                return choice
        raise UsageError(f"{where}: {name}={value!r}: expected {' or '.join(ways)}.")

    def needed_dataset(self, path: Path, why: str) -> Dataset:
        """Return the dataset of the evaluation; without it, refuse files that do not name all entities or queries."""
        if self.dataset is None:
            raise CheckpointError(f"{path}: {why}. Give the dataset: --dataset DATASET (in Python dataset=…).")
        return self.dataset

    def refuse_missing(self) -> None:
        """Refuse to continue if required options are missing.

        >>> options = Options({})
        >>> _ = options.require("p_norm", None, "m.ckpt", [1, 2]), options.require("bias", None, "m.ckpt", [True])
        >>> options.refuse_missing()
        Traceback (most recent call last):
        kgeval.base.errors.UsageError: m.ckpt does not contain p_norm and bias, ... Give the options p_norm=1 ...
        """
        if not self._missing:
            return
        places = list(dict.fromkeys(where for where, _ in self._missing.values()))
        ways = [" or ".join(values) for _, values in self._missing.values()]
        first, (_, values) = next(iter(self._missing.items()))
        if first in MODEL and len(ways) > 1:
            ways = [ways[0], f"for {values[0]} also {', and '.join(ways[1:])}"]
        does, option = "does" if len(places) == 1 else "do", "option" if len(ways) == 1 else "options"
        fault = f"{_and(places)} {does} not contain {_and([*self._missing])}, and the scores depend on this"
        raise UsageError(f"{fault}. Give the {option} {'; '.join(ways)}.")

    def record_origins(self, family: Family, framework: str, **sources: str) -> None:
        """Record the origin of a family's options: the framework's setting in ``sources``, or else its code."""
        for name in family.options:
            source = sources.get(name, "")
            origin = f"{source} ({self.origins[source]})" if source in self.origins else f"the code of {framework}"
            self.origins.setdefault(name, origin)

    def refuse_unused(self, path: Path) -> None:
        for name in (name for name in self._values if name not in self._known):
            hint = did_you_mean(name, self._known)
            raise UsageError(f"{path}: unknown option {name!r} for this checkpoint. {hint}".strip())


def spelled(choice: Any) -> str:
    """Write a value as the user gives it."""
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _as_text(value: Any) -> str:
    """Write a value so that equal values are the same text: ``True`` is ``"true"``, and 2.0 is ``"2"``."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).lower()


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def truth_value(where: object, name: str, value: Any) -> bool:
    """Check a setting that is true or false; a missing one is false.

    >>> truth_value("config.json", "bias", "no")
    Traceback (most recent call last):
    kgeval.base.errors.CheckpointError: config.json: its bias is 'no', which is neither true nor false.
    """
    if value is not None and not isinstance(value, bool):
        raise CheckpointError(f"{where}: its {name} is {value!r:.60}, which is neither true nor false.")
    return bool(value)
