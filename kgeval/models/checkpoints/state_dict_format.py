"""A checkpoint format as a table: its files, its models, and which tensors make the arrays of each model.

Readers of libraries declare such tables, and packages may (``docs/guides/add-your-own.md``); ``StateDictFormat`` reads
by them. Formats that no table can describe have a ``read`` function of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import InputError, refuse_unknown
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import labelled_checkpoint
from kgeval.models.checkpoints.locate import contains_file, find_checkpoint_file
from kgeval.models.checkpoints.options import Options, spelled
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.tensors import Tensors, names_in
from kgeval.models.family import Family
from kgeval.models.ordered import normalized
from kgeval.models.scorer import Numbering


@dataclass(frozen=True)
class StateDictFormat:
    """A checkpoint format whose files are named tensors, given as a table of models.

    ``reader()`` returns the :class:`kgeval.Reader` of the format. A file is recognised by the first test in ``files``
    that it passes; the models then take their tensors by name. Every tensor must be used or be ``ignored``.
    """

    name: str
    framework: str
    summary: str
    what: str
    """the kind of file, for the message that a folder has none"""
    files: tuple[Callable[[Path], bool], ...]
    """tests of files; in a folder, the file that passes the first test is read. A test needs only the tensors that
    identify the format: if another one is missing, the model names it"""
    models: Mapping[str, Model]
    tables: Mapping[str, Take] = field(default_factory=dict)
    """the tensors of every model without a marker (``Model.marker``): refused if they are missing, before the user is
    asked which model it is"""
    ignored: tuple[str, ...] = ()
    """patterns of tensors that do not affect scores, such as ``loss.*``"""
    numbering: Numbering = "unknown"
    """the ids of a model without labels: those of the dataset (``"dataset"``), of its sorted labels (``"sorted"``), of
    the framework's files (``"files"``), or ``"unknown"``; with the last, a model without labels is refused"""
    layouts: tuple[str, ...] = ()
    """the dataset layouts whose files have the same ids, if ``numbering`` is ``"files"``"""
    reciprocal: bool = False
    """whether relations are followed by their inverses, which predict heads"""
    tensors: Callable[[Path, Options], Tensors] = Tensors.read
    """opens a file as named tensors"""
    known_by: tuple[frozenset[str], ...] = ()
    """for hints where no reader recognises the files: groups of tensors or files, each of which tells the format"""

    def __post_init__(self) -> None:
        place = f"format {self.name!r}"
        _refuse_text(place, ignored=self.ignored, files=self.files)
        refuse_unknown(f"{place}: unknown numbering", self.numbering, get_args(Numbering))

    def read(self, path: Path, options: Options) -> Checkpoint:
        """Read the tensors of a model, which its marker or the option ``model`` tells among those of the table."""
        file = find_checkpoint_file(path, self.files, self.what)
        tensors = self.tensors(file, options)
        marked = [name for name, model in self.models.items() if model.marker and model.marker in tensors]
        choices = marked[:1] or self.unmarked
        for take in () if marked else self.tables.values():
            take.make(tensors)  # a missing table is refused before the user is asked which model it is
        name = options.require("model", choices[0] if len(choices) == 1 else None, file.name, choices)
        family = self.models[name].build(name, self.framework, tensors, options, *self.ignored)
        ids: dict[str, Any] = {"reciprocal": self.reciprocal, "numbering": self.numbering, "layouts": self.layouts}
        known_as = None if name == family.name else name
        return labelled_checkpoint(family, self.name, [file], options, name=known_as, **ids)

    @property
    def unmarked(self) -> list[str]:
        """The models that tensors alone do not identify."""
        return [name for name, model in self.models.items() if not model.marker]

    def reader(self) -> Reader:
        """Return the reader of the format, for ``load_checkpoint``."""
        return Reader(
            self.name,
            self.summary,
            recognises=lambda path: contains_file(path, lambda file: any(fits(file) for fits in self.files)),
            read=self.read,
            known_by=self.known_by,
            models=describe(self.models, self.unmarked),
        )


@dataclass(frozen=True)
class Model:
    """How a family is built from tensors."""

    family: type[Family]
    arguments: Mapping[str, Any]
    """the family's arguments: each is a Take, an Option, or a constant"""
    marker: str = ""
    """the name of a tensor that none of the later models of the table has, so that it identifies the model; without a
    marker, only the user can say that it is this model"""
    records: str = ""
    """the name of a tensor with one number, which is recorded as the value of an option"""
    ignored: tuple[str, ...] = ()
    """patterns of tensors that scores of this model do not depend on"""

    def __post_init__(self) -> None:
        place = f"a model of {self.family.name}"
        _refuse_text(place, ignored=self.ignored)
        try:
            inspect.signature(self.family).bind(**self.arguments)
        except TypeError as error:
            names = ", ".join(inspect.signature(self.family).parameters)
            raise InputError(f"{place}: {error}. Its arguments are {names}.") from None
        if functions := [name for name, source in self.arguments.items() if inspect.isfunction(source)]:
            made = "Take('the tensors that it reads', the function)"
            raise InputError(f"{place}: the argument {functions[0]!r} is a function. Write {made}.")

    def build(self, name: str, framework: str, tensors: Tensors, options: Options, *ignored: str) -> Family:
        """Make the formula, record where its options came from, and refuse tensors that it does not use."""
        file, settings, chosen = tensors.path.name, self.settings, dict(self.arguments)
        for key, option in settings.items():
            chosen[key] = option.choices[options.require(option.name, None, file, list(option.choices))]
        built = {key: source.make(tensors) if isinstance(source, Take) else source for key, source in chosen.items()}
        family = self.family(**built)
        if self.records:
            options.resolve(self.records, tensors.number(self.records), file)
        options.record_origins(family, framework, **{key: option.name for key, option in settings.items()})
        tensors.refuse_unused(name, *ignored, *self.ignored)
        return family

    @property
    def settings(self) -> dict[str, Option]:
        return {key: source for key, source in self.arguments.items() if isinstance(source, Option)}

    def describe(self) -> dict[str, str]:
        """Return what ``kgeval list formats`` shows: the family, its tensors, and the options that the user gives."""
        takes: dict[str, list[str]] = {}
        for key, source in self.arguments.items():
            sources = source.choices.values() if isinstance(source, Option) else [source]
            takes[key] = list(dict.fromkeys(take.text for take in sources if isinstance(take, Take)))
        choices = {option.name: " or ".join(map(spelled, option.choices)) for option in self.settings.values()}
        return {
            "family": self.family.name,
            "tensors": "; ".join(f"{key} = {' or '.join(texts)}" for key, texts in takes.items() if texts),
            "options": "; ".join(f"{name} = {text}" for name, text in choices.items()),
        }


@dataclass(frozen=True)
class Option:
    """An argument of a family that the files do not contain, so the user must give it."""

    name: str
    """the framework's name of the option"""
    choices: Mapping[Any, Any]
    """for each value that the framework knows, the value of the argument: a Take or a constant"""


@dataclass(frozen=True)
class Take:
    """How an array of a family is made from tensors."""

    text: str
    """the names of the tensors, as ``kgeval list formats`` shows them"""
    make: Callable[[Tensors], FloatArray]


def named(name: str) -> Take:
    """Take a tensor as it is."""
    return Take(name, lambda tensors: tensors.matrix(name))


def halves(*names: str) -> Take:
    """Take tensors side by side."""
    return Take(" | ".join(names), lambda tensors: tensors.side_by_side(*names))


def unit_rows(take: Take) -> Take:
    """Take rows, scaled to length 1."""
    return Take(f"{take.text}, rows of length 1", lambda tensors: normalized(take.make(tensors)))


def holds(suffixes: Collection[str], *groups: Collection[str]) -> Callable[[Path], bool]:
    """Make a test of files: the ending is one of ``suffixes``, and all tensors of one of the ``groups`` are there.

    The files were written by ``torch.save`` or ``pickle``, or hold named arrays (``.npz``, ``.safetensors``).
    """

    def fits(file: Path) -> bool:
        names = names_in(file) if file.suffix in suffixes else frozenset()
        return any(names.issuperset(group) for group in groups)

    return fits


def describe(models: Mapping[str, Model], unmarked: Sequence[str] = ()) -> tuple[dict[str, str], ...]:
    """Describe the models of a format, a row each; where several are unmarked, the option ``model`` names one."""
    rows = {name: {"model": name, **model.describe()} for name, model in models.items()}
    for name in unmarked if len(unmarked) > 1 else ():
        rows[name]["options"] = "; ".join(filter(None, (f"model = {name}", rows[name]["options"])))
    return tuple(rows.values())


def _refuse_text(what: str, **collections: Any) -> None:
    """Refuse a single value instead of a tuple: the letters of a text would be read as patterns."""
    for name, value in collections.items():
        if not isinstance(value, Collection) or isinstance(value, str):
            raise InputError(f"{what}: {name}: expected a tuple, found {value!r:.60}. Write ({value!r:.60},).")
