"""TensorFlow's tensor bundles and Keras's metadata, read without TensorFlow.

``variables.index`` is a LevelDB table: blocks of sorted keys, a block of handles to them, and a footer. Its values are
protocol buffers that say where in ``variables.data-…`` a tensor lies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.files import Budget, checked, read_bytes
from kgeval.models.checkpoints.shared.layers import readable

MAGIC = 0xDB4775248B80FB57
FOOTER = 48
BLOCKS = 2
"""how many times the size of a table its blocks may have in all"""

KEY = 2**12
"""bytes that a key may have: each may repeat the one before it"""

FLOAT = 1
"""TensorFlow's number for float32"""

Message = dict[int, list[Any]]
"""the fields of a protocol buffer, by number: whole numbers, and bytes"""


def read_bundle(folder: Path) -> dict[str, FloatArray]:
    """Read the float32 tensors of a ``variables`` folder, by name."""
    index, data = folder / "variables.index", folder / "variables.data-00000-of-00001"
    with readable(data, "tensors of TensorFlow"):
        checked(data)
        numbers = np.memmap(data, np.uint8, "r")
    with readable(index, "table of TensorFlow"):
        entries = dict(_table(read_bytes(index), Budget(index, times=BLOCKS)))
        floats = {name: value for name, value in entries.items() if name and message(value).get(1) == [FLOAT]}
        return {name.decode(): _tensor(value, numbers) for name, value in floats.items()}


def keras_settings(path: Path) -> dict[str, Any]:
    """Read the configuration of the model from ``keras_metadata.pb``: the first that there is."""
    with readable(path, "metadata of Keras"):
        for node in message(read_bytes(path)).get(1, []):
            for text in message(node).get(5, []):
                config = json.loads(text).get("config")
                if isinstance(config, dict):
                    return config
        raise ValueError("it holds no configuration of a model")


def message(data: bytes) -> Message:
    """Read the fields of a protocol buffer: integers, and what has a length.

    >>> message(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69]))
    {1: [150], 2: [b'hi']}
    """
    fields: Message = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: int | bytes
        if kind == 0:
            value, at = _varint(data, at)
        else:
            size, at = (8, at) if kind == 1 else (4, at) if kind == 5 else _varint(data, at)
            if kind not in (1, 2, 5) or at + size > len(data):
                raise ValueError("a protocol buffer is cut short")
            value, at = data[at : at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _table(data: bytes, budget: Budget) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a LevelDB table; several of its handles may lead to the same block."""
    if len(data) < FOOTER or int.from_bytes(data[-8:], "little") != MAGIC:
        raise ValueError("no table")
    _, at = _handle(data, len(data) - FOOTER)
    index, _ = _handle(data, at)
    for _, value in _block(data, *index):
        handle, _ = _handle(value, 0)
        budget.take(handle[1])
        yield from _block(data, *handle)


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return (offset, size), at


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    block = data[offset : offset + size]
    if len(block) != size or size < 4 or data[offset + size] != 0:
        raise ValueError("a block of the table is cut short or compressed")
    end = size - 4 * (1 + int.from_bytes(block[-4:], "little"))
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + own + length > end or shared + own > KEY:
            raise ValueError("an entry of the table reaches beyond it")
        key = key[:shared] + block[at : at + own]
        yield key, block[at + own : at + own + length]
        at += own + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError("a number has no end")


def _tensor(value: bytes, numbers: Any) -> FloatArray:
    """Take the numbers of a tensor: fields 2 shape, 3 file, 4 offset, 5 size."""
    fields = message(value)
    dimensions = [part for shape in fields.get(2, []) for part in message(shape).get(2, [])]
    shape = [int(message(dimension).get(1, [0])[0]) for dimension in dimensions]
    offset, size = (int(fields.get(number, [0])[0]) for number in (4, 5))
    if fields.get(3, [0]) != [0] or size != 4 * int(np.prod(shape, dtype=object)) or offset + size > len(numbers):
        raise ValueError(f"a tensor of shape {shape} is not where the table says")
    array: FloatArray = numbers[offset : offset + size].view("<f4").reshape(shape)
    return array
