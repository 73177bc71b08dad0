"""Codes of labels: the distinct labels of columns, numbered by their first occurrence, and the code of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class LabelCodes(NamedTuple):
    """The distinct labels of some columns, and where they stand."""

    columns: list[npt.NDArray[np.int32]]
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
    chunks = [chunk for column in columns for chunk in column.chunks]
    encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode()  # its chunks have one dictionary
    codes = np.concatenate([np.empty(0, np.int32), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
    labels = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], pa.string())
    return LabelCodes(np.split(codes, np.cumsum([len(column) for column in columns])[:-1]), labels)
