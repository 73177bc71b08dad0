"""Formats of named tensors as data: which files they are, what tells a model, which tensors make its formula."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors, names_in, normalize_rows, side_by_side
from kgeval.scorers.family import Family
from kgeval.scorers.reciprocal import Reciprocal
from kgeval.scorers.scorer import Numbering

Take = Callable[[Tensors], FloatArray]
"""how an array of a family is made of tensors"""


def named(name: str) -> Take:
    return lambda tensors: tensors.matrix(name)


def halves(*names: str) -> Take:
    return lambda tensors: side_by_side(tensors.path, *map(tensors.matrix, names))


def unit_rows(take: Take) -> Take:
    return lambda tensors: normalize_rows(take(tensors))


def holds(suffixes: Collection[str], *groups: Collection[str]) -> Callable[[Path], bool]:
    """Make a test whether a file has one of some endings, and all tensors of one of some groups."""

    def fits(file: Path) -> bool:
        found = names_in(file) if file.suffix in suffixes else frozenset()
        return any(found.issuperset(group) for group in groups)

    return fits


@dataclass(frozen=True)
class Option:
    """An argument of a family that no file says."""

    name: str
    """what the framework calls it"""
    choices: Mapping[Any, Any]
    """the framework's values, and the family's"""


@dataclass(frozen=True)
class Model:
    """How a family is built from tensors."""

    family: Callable[..., Family]
    arguments: Mapping[str, Any]
    """the family's arguments: each is a Take, an Option, or a constant"""
    told_by: str = ""
    """the tensor that tells it from the models after it; without one, the user must say which model it is"""
    records: str = ""
    """a tensor of one number that is recorded as an option"""
    ignored: tuple[str, ...] = ()
    """patterns of tensors that no score depends on"""

    def build(self, name: str, framework: str, tensors: Tensors, options: Options, *ignored: str) -> Family:
        """Make the formula, record where its options came from, and refuse tensors that it has no use for."""
        file = tensors.path.name
        built = {name: source(tensors) if callable(source) else source for name, source in self.arguments.items()}
        asked = {key: source for key, source in built.items() if isinstance(source, Option)}
        for key, option in asked.items():
            built[key] = option.choices[options.require(option.name, None, file, list(option.choices))]
        family = self.family(**built)
        if self.records:
            options.resolve(self.records, tensors.number(self.records), file)
        options.record_origins(family, framework, **{key: option.name for key, option in asked.items()})
        tensors.refuse_unused(name, *ignored, *self.ignored)
        return family


@dataclass(frozen=True)
class StateDictFormat:
    """A framework's files of named tensors."""

    name: str
    framework: str
    summary: str
    what: str
    """what a folder without such a file lacks"""
    files: tuple[Callable[[Path], bool], ...]
    """tests of files; of a folder, the file that the first fits is read"""
    models: Mapping[str, Model]
    tables: Mapping[str, Take] = field(default_factory=dict)
    """what the models have that no tensor tells"""
    ignored: tuple[str, ...] = ()
    """patterns of tensors that no score depends on"""
    numbering: Numbering = "sorted"
    layouts: tuple[str, ...] = ()
    reciprocal: bool = False
    own_names: bool = False
    """whether its models may have other names than their families"""
    tensors: Callable[[Path], Tensors] = Tensors.read
    known_by: tuple[frozenset[str], ...] = ()

    def read(self, path: Path, options: Options) -> Checkpoint:
        file = find_checkpoint_file(path, self.files, self.what)
        tensors = self.tensors(file)
        told = [name for name, model in self.models.items() if model.told_by and model.told_by in tensors]
        choices = told[:1] or [name for name, model in self.models.items() if not model.told_by]
        for take in () if told else self.tables.values():
            take(tensors)  # without them it is none of those that are asked for
        name = options.require("model", choices[0] if len(choices) == 1 else None, file.name, choices)
        family = self.models[name].build(name, self.framework, tensors, options, *self.ignored)
        found = find_labels(folder_of(path), options)
        return found.checkpoint(
            Reciprocal(family) if self.reciprocal else family,
            self.name,
            [file],
            options,
            name=name if self.own_names else None,
            numbering=self.numbering,
            layouts=self.layouts,
            times=None if family.num_times is None else found.times,
        )

    def reader(self) -> Reader:
        return Reader(
            self.name,
            self.summary,
            recognises=lambda path: contains_file(path, lambda file: any(fits(file) for fits in self.files)),
            read=self.read,
            known_by=self.known_by,
        )
