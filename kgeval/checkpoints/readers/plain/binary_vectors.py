"""word2vec's binary format: the numbers of rows and of columns, then of each row its label, a space and float32."""

from __future__ import annotations

import re
from pathlib import Path
from reprlib import repr as short

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.errors import CheckpointError
from kgeval.files.opening import read_bytes

BINARY = ".bin"

SIZES = re.compile(rb"([0-9]{1,9})[ \t]([0-9]{1,6})[ \t\r]*\n")
"""the first line: rows and width"""

LONGEST = 32
"""bytes that have room for it"""

NO_TEXT = re.compile(r"[\0-\x1f]|^$")
"""what no label has, and what numbers read as a label mostly have"""


def has_binary_sizes(file: Path) -> bool:
    """Whether a file begins with a line of two sizes."""
    with file.open("rb") as opened:
        return SIZES.match(opened.read(LONGEST)) is not None


def read_binary_vectors(file: Path) -> tuple[list[str], FloatArray]:
    """Read labels, which hold no spaces, and float32[row, width], of a little-endian machine.

    Raises
    ------
    CheckpointError
        if it is malformed or text, or has fewer or more rows than it announces
    """
    content = read_bytes(file)
    if _is_text(content):
        raise CheckpointError(f"{file}: it is text, and {BINARY} stands for the binary format. Call it .txt.")
    sizes = SIZES.match(content)
    if sizes is None:
        raise CheckpointError(f"{file}, line 1: expected the numbers of rows and of columns.")
    count, width = map(int, sizes.groups())
    view, position, size = memoryview(content), sizes.end(), 4 * width
    labels, rows = [], []
    for row in range(1, count + 1):  # one by one: each begins where the one before ends
        space = content.find(b" ", position)
        if space < 0 or space + 1 + size > len(content):
            what = f"announces {count} rows of {width} numbers, and the file ends in row {row}"
            raise CheckpointError(f"{file}: line 1 {what}. It may be cut short.")
        labels.append(_label(file, row, content[position:space]))
        position = space + 1 + size
        rows.append(view[space + 1 : position])
    if content[position:].strip():
        raise CheckpointError(f"{file}: line 1 announces {count} rows of {width} numbers, and more bytes follow them.")
    return labels, np.frombuffer(b"".join(rows), "<f4").reshape(count, width)


def _is_text(content: bytes) -> bool:
    """Whether bytes are characters: numbers of one digit after the point have four, as many as float32 has bytes."""
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _label(file: Path, row: int, content: bytes) -> str:
    """Decode a label; the C code ends each row with a newline, gensim does not."""
    try:
        label = content.lstrip(b"\n").decode("utf-8")
    except UnicodeDecodeError:
        label = ""
    if NO_TEXT.search(label):
        what = f"row {row} begins with {short(content)}, which is no label"
        raise CheckpointError(f"{file}: {what}. The file may be damaged, or a label before may hold a space.")
    return label
