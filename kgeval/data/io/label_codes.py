"""Codes of labels: the distinct labels of columns, numbered by their first occurrence, and the code of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kgeval.arrays import IntArray

MANY = 2**20
"""labels from which on the table below is faster than Arrow's own, whatever it costs to have it compiled"""

PIECE = 2**16
"""labels that enter the table at a time"""

FILLED = 0.7
"""the share of the slots that may be taken"""

WORD = 8
"""bytes of a word"""

Int32Array = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]


class LabelCodes(NamedTuple):
    """The distinct labels of some columns, and where they stand."""

    columns: list[Int32Array]
    """the code of each row, int32[row], column by column"""
    labels: pa.Array
    """string[code], by their first occurrence"""


def encode(columns: Sequence[pa.ChunkedArray]) -> LabelCodes:
    """Number the distinct labels of string columns without nulls, over all columns.

    >>> encode([pa.chunked_array([["b", "a"], ["b"]]), pa.chunked_array([["c", "a"]])])
    LabelCodes(columns=[array([0, 1, 0], dtype=int32), array([2, 1], dtype=int32)], labels=<pyarrow...StringArray ...>
    [
      "b",
      "a",
      "c"
    ])
    """
    if sum(map(len, columns)) >= MANY:
        table = CodeTable()
        return LabelCodes([table.encode(column) for column in columns], table.labels)
    encoded = pa.concat_arrays([chunk for column in columns for chunk in column.chunks]).dictionary_encode()
    ends = np.cumsum([len(column) for column in columns])
    return LabelCodes(np.split(np.asarray(encoded.indices), ends[:-1]), encoded.dictionary)


class CodeTable:
    """Distinct labels in a hash table whose slots hold short labels themselves.

    Of millions of labels nearly every look-up waits for memory: Arrow's table waits three times (slot, offset, text),
    this one once. A slot is four words: the code + 1 (0 where it is free), the length, the first eight bytes, and the
    rest; of labels of more than sixteen bytes a hash stands for the rest, and the texts are compared.
    """

    def __init__(self) -> None:
        self._slots: Words = np.zeros((2 * PIECE, 4), np.uint64)
        self._texts = np.empty(PIECE, np.uint8)
        self._begins: IntArray = np.zeros(PIECE, np.int64)
        self._count = 0

    @property
    def labels(self) -> pa.Array:
        """The distinct labels, in the order of their codes; string[code]."""
        offsets = self._begins[: self._count + 1]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._texts[: offsets[-1]])]
        return pa.Array.from_buffers(pa.large_string(), self._count, buffers).cast(pa.string())

    def encode(self, column: pa.ChunkedArray) -> Int32Array:
        """Return the code of each label, and take in those that are new; int32[row]."""
        from kgeval.data.io.code_loops import add_labels

        codes = np.empty(len(column), np.int32)
        start = 0
        for piece in _pieces(column):
            offsets, texts = _words(piece)
            self._make_room(len(piece), texts.nbytes)
            known, found = (self._begins, self._texts), codes[start : start + len(piece)]
            self._count = add_labels(offsets, texts, self._slots, known, self._count, found)
            start += len(piece)
        return codes

    def _make_room(self, labels: int, size: int) -> None:
        """Have slots for so many further labels, and bytes for their texts."""
        from kgeval.data.io.code_loops import move_slots

        if self._count + labels > FILLED * len(self._slots):
            larger: Words = np.zeros((2 * len(self._slots), 4), np.uint64)
            move_slots(self._slots, larger)
            self._slots = larger
        self._begins = _at_least(self._begins, self._count + labels + 1)
        self._texts = _at_least(self._texts, int(self._begins[self._count]) + size)


def _at_least(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Double an array that is too short."""
    if size <= len(array):
        return array
    return np.concatenate([array, np.zeros(max(size - len(array), len(array)), array.dtype)])


def _pieces(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    for chunk in column.chunks:
        for start in range(0, len(chunk), PIECE):
            yield chunk[start : start + PIECE]


def _words(labels: pa.Array) -> tuple[Int32Array, Words]:
    """Return where labels begin in their text, int32[label + 1] from 0, and their text in words."""
    _, offsets, texts = labels.buffers()
    begins = np.frombuffer(offsets, np.int32)[labels.offset : labels.offset + len(labels) + 1]
    text = np.frombuffer(texts or b"", np.uint8)[begins[0] : begins[-1]]
    words: Words = np.zeros(len(text) // WORD + 3, np.uint64)
    words.view(np.uint8)[: len(text)] = text
    return begins - begins[0], words
