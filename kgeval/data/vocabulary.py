"""Vocabularies: the labels of the entities or the relations, where the id of a label is its row.

A dataset has one for its entities and one for its relations; a checkpoint has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.errors import InputError, did_you_mean


class Vocabulary:
    """Distinct labels in id order, kept compactly (an Arrow string array).

    Parameters
    ----------
    labels
        the labels, in the order of their ids; each may occur once
    kind
        ``"entity"``, ``"relation"`` or ``"time"``, for messages

    Raises
    ------
    InputError
        if a label occurs twice, is missing or is not text

    Examples
    --------
    >>> countries = Vocabulary(["Italy", "Germany"])
    >>> countries[1], len(countries), "Italy" in countries
    ('Germany', 2, True)
    >>> countries.ids(["Germany", "Atlantis"])
    array([ 1, -1])
    """

    def __init__(self, labels: Iterable[str] | pa.Array, kind: str = "entity") -> None:
        self.kind = kind
        self.labels: pa.Array = _as_strings(labels, kind)
        if len(pc.unique(self.labels)) != len(self.labels):  # several times faster than count_distinct
            counts = pc.value_counts(self.labels)
            twice = next(row["values"].as_py() for row in counts if row["counts"].as_py() > 1)
            raise InputError(f"two ids carry the {kind} label {twice!r}. Labels must be unique: rename one of them.")

    @classmethod
    def numbered(cls, size: int, kind: str = "entity") -> Vocabulary:
        """Use the ids 0 to ``size`` − 1 as labels, for graphs without labels."""
        return cls(pa.array(range(size), pa.int64()).cast(pa.string()), kind)

    @classmethod
    def of_distinct(cls, labels: pa.Array, kind: str = "entity") -> Vocabulary:
        """Make a vocabulary of labels, string[id], that are known to be distinct; this skips a slow check."""
        vocabulary = cls.__new__(cls)
        vocabulary.kind, vocabulary.labels = kind, labels
        return vocabulary

    @classmethod
    def of(cls, labels: Labels, kind: str = "entity") -> Vocabulary:
        """Make a vocabulary of labels in the order of their ids, or of a dictionary of ids.

        Parameters
        ----------
        labels
            a list, an array or a vocabulary with a label for each id; or a dictionary ``{label: id}``
        kind
            what is labelled

        Raises
        ------
        InputError
            if a label is not text or occurs twice, or if the ids of a dictionary are not 0, 1, 2 and so on

        Examples
        --------
        >>> list(Vocabulary.of({"Germany": 1, "Italy": 0}))
        ['Italy', 'Germany']
        """
        if isinstance(labels, Vocabulary):
            return labels if labels.kind == kind else cls(labels.labels, kind)
        if not isinstance(labels, Mapping):
            return cls(labels, kind)
        ids = list(labels.values())
        if not all(isinstance(index, int | np.integer) for index in ids) or sorted(ids) != list(range(len(ids))):
            expected = f"a dictionary {{label: id}} of {kind} labels, with the ids 0 to {len(ids) - 1}, each once"
            raise InputError(f"expected {expected}; found {dict(labels)!r:.60}.")
        return cls(sorted(labels, key=lambda label: labels[label]), kind)

    @property
    def is_numbered(self) -> bool:
        """Whether the labels are the ids, as :meth:`numbered` makes them."""
        return self == Vocabulary.numbered(len(self), self.kind)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels.to_pylist())

    def __contains__(self, label: object) -> bool:
        return isinstance(label, str) and bool(self.ids([label])[0] >= 0)

    def __getitem__(self, index: int | str) -> str:
        if isinstance(index, str):
            raise InputError(f"a vocabulary gives the label of an id. For the id of a label, call .id({index!r}).")
        return str(self.labels[int(index)].as_py())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and bool(self.labels.equals(other.labels))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} {self.kind} labels)"

    def ids(self, labels: Iterable[str] | pa.Array) -> IntArray:
        """Return the id of each label, -1 where it is unknown; int64[label]."""
        rows = pc.index_in(_as_strings(labels, self.kind), value_set=self.labels)
        return np.asarray(pc.fill_null(rows, -1).cast(pa.int64()))

    def id(self, label: str) -> int:
        """Return the id of one label.

        Raises
        ------
        InputError
            if the label is unknown; the message names the nearest ones
        """
        index = int(self.ids([label])[0])
        if index < 0:
            hint = did_you_mean(label, self) if len(self) <= 100_000 else ""
            raise InputError(f"unknown {self.kind} {label!r}. {hint}".strip())
        return index

    def take(self, ids: IntArray) -> pa.Array:
        """Return the labels of ids; string[id]."""
        return self.labels.take(pa.array(ids))

    def column(self, ids: IntArray) -> pa.DictionaryArray:
        """Return the labels of ids as a column of a table, which holds each label once; dictionary[id]."""
        used, codes = np.unique(ids, return_inverse=True)
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), self.take(used))


Labels: TypeAlias = Vocabulary | Iterable[str] | Mapping[Any, Any]
"""labels: a list, an array or a vocabulary in the order of their ids, or a dictionary ``{label: id}``"""


def display_label(label: str, names: Mapping[str, str]) -> str:
    """Write a label with its name before it, if it has one.

    >>> display_label("Q42", {"Q42": "Douglas Adams"}), display_label("Q1", {})
    ('Douglas Adams (Q42)', 'Q1')
    """
    name = names.get(label, label)
    return label if name == label else f"{name} ({label})"


def _as_strings(labels: Any, kind: str) -> pa.Array:
    """Convert labels to a string array; refuse numbers and None."""
    if isinstance(labels, pa.ChunkedArray):
        labels = labels.combine_chunks()
    if not isinstance(labels, pa.Array):
        labels = _listed(labels, kind)
    if labels.type != pa.string():
        values = labels.type.value_type if pa.types.is_dictionary(labels.type) else labels.type
        if not (pa.types.is_string(values) or pa.types.is_large_string(values)) and len(labels):
            raise InputError(f"{kind} labels are text, not {labels.type}. Cast them to strings first.")
        labels = labels.cast(pa.string())
    if labels.null_count:
        row = int(np.argmax(np.asarray(labels.is_null())))
        raise InputError(f"{kind} label {row} is missing. Every {kind} needs a label.")
    return labels


def _listed(labels: Any, kind: str) -> pa.Array:
    if isinstance(labels, set | frozenset):
        raise InputError(f"{kind} labels are in the order of their ids, and a set has no order. Give a list.")
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InputError(f"expected {kind} labels as a list of text, not {type(labels).__name__}.")
    listed = list(labels)
    for row, label in enumerate(listed):
        if not isinstance(label, str) and label is not None:
            fault = f"{kind} label {row} is {label!r} of type {type(label).__name__}"
            raise InputError(f"{fault}: labels are text. Give str(label) of each.")
    try:
        return pa.array(listed, pa.string())
    except UnicodeEncodeError as error:
        raise InputError(f"{kind} label {error.object!r} is not Unicode text ({error.reason}).") from error
