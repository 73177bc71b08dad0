"""Datasets: train, valid and test triples over one entity and one relation vocabulary.

``kgeval.load_dataset`` reads one from files (``loading.py``), by a layout that calls :meth:`Dataset.build`. Every
evaluation takes one, and asks it for the triples of splits (:meth:`Dataset.split`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import DatasetError, did_you_mean, first_few, refuse_unknown, visible
from kgeval.data import SPLITS as SPLITS
from kgeval.data import Split as Split
from kgeval.data.columns import ColumnNames, Columns
from kgeval.data.labelled_triples import read_own
from kgeval.data.numbering import number
from kgeval.data.split_names import parts_of
from kgeval.data.tables import from_memory
from kgeval.data.triples import Distinct, LabelledTriples, Side, Triples
from kgeval.data.vocabulary import Labels, Vocabulary, display_label


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with train, valid and test triples.

    Read one with ``kgeval.load_dataset``, or make one with ``Dataset.from_labels`` or ``Dataset.build``.
    """

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: Triples
    valid: Triples
    test: Triples
    multiplicity: Mapping[str, IntArray] = field(default_factory=dict)
    """how often each triple occurs in a split, int64[triple]; only for splits with repeated triples"""
    files: tuple[Path, ...] = ()
    """the files it was read from, if any"""
    confidences: Mapping[str, LabelledTriples] = field(default_factory=dict)
    """for a weighted graph: all rows of each split, also repeated ones, with their confidences"""
    id_source: str | None = None
    """where the ids come from: the layout of the files, ``"kgeval"`` or ``"PyKEEN"``; ``None``: the caller"""
    notes: tuple[str, ...] = ()
    """notes on how it was read"""
    names: Mapping[str, str] = field(default_factory=dict)
    """human names of entities and relations, by label; they are shown in messages and tables"""
    times: Vocabulary | None = None
    """for a temporal graph: the label of each time, in the order of time"""
    training_graph: Dataset | None = None
    """for an inductive dataset: the graph that models learn from, with its own entities; ``train`` is then the
    inference graph, whose entities are the candidates"""
    negatives: Mapping[str, Triples] = field(default_factory=dict)
    """triples that the files call false, by split: they are no facts"""
    layout: str = ""
    """the name of the layout of its files, by which protocols may differ; a converted dataset keeps it"""
    stored_as: str = ""
    """the name and the summary of its layout"""
    assumptions: tuple[Assumption, ...] = ()
    """how its files were read where another reading is possible"""
    _leaks: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """the leaks of each split, once ``leaks.find_leaks`` has searched for them"""
    _others: dict[str, Distinct] | None = field(default=None, init=False, repr=False)
    """in a snapshot: the triples of files and of joined splits that were asked for, by name"""

    @classmethod
    def build(
        cls,
        name: str,
        splits: Mapping[str, Triples],
        *,
        entities: Vocabulary,
        relations: Vocabulary,
        times: Vocabulary | None = None,
        confidences: Mapping[str, Float64Array] | None = None,
        where: Callable[[str, int], str] | None = None,
        **further: Any,
    ) -> Dataset:
        """Check the ids of each split, and keep each of its triples once.

        Parameters
        ----------
        name
            the name of the dataset
        splits
            triples of ids by split: ``train``, ``valid``, ``test``
        entities, relations
            the labels in the order of their ids
        times
            for a temporal graph, the labels of the times in the order of their ids
        confidences
            for a weighted graph, by split: float64[row]
        where
            how messages name a row, given its split and its number from 0
        further
            ``files``, ``id_source``, ``notes``, ``layout``, ``negatives`` and ``assumptions``, as in
            :class:`Dataset`

        Raises
        ------
        DatasetError
            if a split is unknown, an id is outside the vocabularies, or only some triples have times

        Examples
        --------
        >>> data = Dataset.build(
        ...     "tiny",
        ...     {"train": Triples.of([(0, 0, 1), (0, 0, 1)]), "test": Triples.of([(1, 0, 0)])},
        ...     entities=Vocabulary(["a", "b"]),
        ...     relations=Vocabulary(["likes"], "relation"),
        ... )
        >>> len(data.train), len(data.valid), data.repeated
        (1, 0, {'train': 1})
        """
        for kind, labels in (("entity", entities), ("relation", relations)):
            if not isinstance(labels, Vocabulary):
                raise DatasetError(f"{name}: {kind} labels are a Vocabulary, not {type(labels).__name__}.")
        for split in {**splits, **(confidences or {})}:
            refuse_unknown(f"{name}: unknown split", split, SPLITS, DatasetError)
        parts: dict[str, Triples] = {split: Triples.of(splits.get(split, [])) for split in SPLITS}
        where = where or partial("{}, split {}: triple {}".format, name)
        for split, triples in parts.items():
            check_ids(triples, entities, relations, partial(where, split))
            _check_times(triples, times, partial(where, split))
        kept = {split: triples.distinct() for split, triples in parts.items()}
        return cls(
            name=name,
            entities=entities,
            relations=relations,
            multiplicity={split: times for split, (_, times) in kept.items() if times is not None},
            confidences={split: LabelledTriples(parts[split], labels) for split, labels in (confidences or {}).items()},
            times=times,
            train=kept["train"].triples,
            valid=kept["valid"].triples,
            test=kept["test"].triples,
            **further,
        )

    @classmethod
    def from_labels(
        cls,
        *,
        train: Any = None,
        valid: Any = None,
        test: Any = None,
        name: str = "labels",
        entities: Labels | None = None,
        relations: Labels | None = None,
        columns: ColumnNames | None = None,
    ) -> Dataset:
        """Make a dataset of labelled triples in memory.

        Parameters
        ----------
        train, valid, test
            the triples of each split: a list or an array of rows (head, relation, tail), or a data frame whose columns
            have names that the field uses, in any order (``subject``, ``src``, …). Further columns may be ``time``
            (which makes a temporal graph), ``confidence`` (a weighted one) and ``label`` (0: a false triple)
        name
            the name of the dataset
        entities, relations
            the labels in the order of their ids; by default sorted, those of train first, as PyKEEN numbers them
        columns
            which column holds what, if the names do not say it: ``{"head": "gene", "tail": "drug", "relation":
            "'binds'"}``, where quotes mark a constant; or what the columns hold in their order

        Raises
        ------
        DatasetError
            if there is no triple, a row has the wrong length, or a label is not text or not in ``entities`` or
            ``relations``; the message names the split and the row

        Examples
        --------
        >>> data = Dataset.from_labels(train=[("Eve", "parent_of", "Abel")], test=[("Adam", "parent_of", "Abel")])
        >>> data
        Dataset(labels: 3 entities, 1 relations; triples: 1 train, 1 test)
        >>> list(data.entities), data.test.ids
        (['Abel', 'Eve', 'Adam'], array([[2, 0, 0]]))
        """
        named, tables = Columns.of(columns), {}
        for split, rows in {"train": train, "valid": valid, "test": test}.items():
            if rows is not None and len(table := from_memory(rows, f"{name}, split {split}", named)):
                tables[split] = table
        if not tables:
            raise DatasetError(f"{name}: no triples in it. Expected rows of head, relation, tail.")
        graph = number(
            tables,
            entities=None if entities is None else Vocabulary.of(entities),
            relations=None if relations is None else Vocabulary.of(relations, "relation"),
        )
        return cls.build(name, **graph, id_source="kgeval" if entities is None or relations is None else None)

    @property
    def repeated(self) -> dict[str, int]:
        """The number of repeated triples that were left out, by split; only splits that have some."""
        return {split: int((times - 1).sum()) for split, times in self.multiplicity.items()}

    @property
    def splits(self) -> dict[Split, Triples]:
        """The splits that have triples, by name."""
        parts: dict[Split, Triples] = {"train": self.train, "valid": self.valid, "test": self.test}
        return {split: triples for split, triples in parts.items() if len(triples)}

    def split(self, name: str) -> Triples:
        """Return one split; several as ``valid+test``; or the triples of a file, by its path, each once.

        Raises
        ------
        DatasetError
            if the split or file does not exist or is empty, or the file has a label that the dataset does not have
        """
        if name in self.splits:
            return self.splits[name]
        if name in SPLITS:
            raise DatasetError(f"dataset {self.name}: it has no {name} triples. {did_you_mean(name, self.splits)}")
        return self._other(name).triples

    def multiplicity_of(self, name: str) -> IntArray | None:
        """Return how often each triple of :meth:`split` occurs, int64[triple]; ``None`` if each does once."""
        return self._other(name).multiplicity if len(parts_of(name)) > 1 else self.multiplicity.get(name)

    def _other(self, name: str) -> Distinct:
        """Read a file, or join several splits with every repetition of a triple; in a snapshot, once."""
        others = {} if self._others is None else self._others
        if name not in others and not parts_of(name):
            others[name] = Distinct(read_own(name, self.entities, self.relations, self.times), None)
        elif name not in others:
            splits = [(self.split(part), self.multiplicity.get(part, np.int64(1))) for part in parts_of(name)]
            every = [triples[np.repeat(np.arange(len(triples)), times)] for triples, times in splits]
            others[name] = Triples.concatenated(every).distinct()
        return others[name]

    def snapshot(self) -> Dataset:
        """Return the dataset for one evaluation, which reads each file of triples once, when it first needs it."""
        if self._others is not None:
            return self
        copied = copy(self)
        object.__setattr__(copied, "_others", {})
        return copied

    def is_same(self, other: Dataset) -> bool:
        """Whether both are one dataset, or snapshots of one."""
        return self._leaks is other._leaks

    def present(self, names: Iterable[str]) -> tuple[str, ...]:
        """Leave out the splits that the dataset does not have, but keep files."""
        return tuple(name for name in names if name in self.splits or name not in SPLITS)

    def answers_of(self, side: Side) -> Vocabulary:
        """Return the vocabulary of the answers of a side: entities, or relations."""
        return self.relations if side == "relation" else self.entities

    def sha256(self) -> str:
        """Return the SHA-256 of the labels and the triples, in their order.

        >>> len(Dataset.build("d", {}, entities=Vocabulary(["a"]), relations=Vocabulary(["r"])).sha256())
        64
        """
        digest = hashlib.sha256()
        for labels in (self.entities, self.relations, *([self.times] if self.times else [])):
            digest.update(json.dumps(list(labels)).encode())
        for split, triples in self.splits.items():
            digest.update(split.encode() + triples.ids.tobytes())
            digest.update(b"" if triples.contexts is None else triples.contexts.tobytes())
        for name, times in self.multiplicity.items():
            digest.update(name.encode() + times.tobytes())
        for triples in self.negatives.values():
            digest.update(b"negatives" + triples.ids.tobytes())
        for labelled in self.confidences.values():
            digest.update(labelled.triples.ids.tobytes() + labelled.labels.tobytes())
        if self.training_graph is not None:
            digest.update(self.training_graph.sha256().encode())
        return digest.hexdigest()

    def triple(self, head: int, relation: int, tail: int) -> str:
        """Write a triple with its labels and names, and ``?`` for a negative id.

        >>> Dataset.build("d", {}, entities=Vocabulary(["a"]), relations=Vocabulary(["r"])).triple(0, 0, -1)
        '(a, r, ?)'
        """
        cells = ((self.entities, head), (self.relations, relation), (self.entities, tail))
        return f"({', '.join(self.display_label(labels[index]) if index >= 0 else '?' for labels, index in cells)})"

    def examples(self, ids: IntArray) -> str:
        """Write the first three of some triples, int64[triple, 3], and ``…`` in place of the others."""
        return first_few([self.triple(*row) for row in ids[:4].tolist()], 3)

    def display_label(self, label: str) -> str:
        """Write a label with its name before it, if it has one."""
        return display_label(label, self.names)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(triples)} {split}" for split, triples in self.splits.items())
        times = "" if self.times is None else f", {len(self.times)} times"
        vocabularies = f"{len(self.entities)} entities, {len(self.relations)} relations{times}"
        learned = "" if self.training_graph is None else f"; training graph: {self.training_graph!r}"
        return visible(f"Dataset({self.name}: {vocabularies}; triples: {sizes}{learned})")


def check_ids(triples: Triples, entities: Vocabulary, relations: Vocabulary, where: Callable[[int], str]) -> None:
    """Refuse ids that the vocabularies do not have."""
    _refuse_beyond(triples.ids, (entities, relations, entities), where)


def _refuse_beyond(ids: IntArray, labels: Sequence[Vocabulary], where: Callable[[int], str]) -> None:
    """Refuse ids, int64[row, column], beyond the labels of their column."""
    sizes = np.array([len(part) for part in labels])
    wrong = ids.view(np.uint64) >= sizes.astype(np.uint64)  # viewed as unsigned, a negative id exceeds any size
    if wrong.any():
        row, column = (int(index) for index in np.argwhere(wrong)[0])
        named = f"{where(row)} names {labels[column].kind} id {ids[row, column]}"
        raise DatasetError(f"{named}, but there are {sizes[column]} of them, and ids start at 0.")


def _check_times(triples: Triples, times: Vocabulary | None, where: Callable[[int], str]) -> None:
    """Refuse missing times in a temporal graph, times in another graph, and unknown times."""
    if (triples.contexts is None) != (times is None) and len(triples):
        has, lacks = ("a time", "no times") if times is None else ("no time", "times")
        raise DatasetError(f"{where(0)} has {has}, but the dataset has {lacks}.")
    if times is not None and triples.contexts is not None:
        _refuse_beyond(triples.contexts[:, None], [times], where)
