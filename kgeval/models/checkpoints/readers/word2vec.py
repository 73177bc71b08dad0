"""Vectors of word2vec, gensim and RDF2Vec, as text, binary or a pickle: one array without a name, no table of tensors.

Entities and relations share the array. The first line of a text is how many rows follow and how wide they are; a row is
a label (often a URI) and its numbers. Any label may be an entity or a relation, as the dataset has it. The files do not
say how two vectors make a score: the option ``model`` names a family of ``kgeval list models`` whose entities and
relations are equally wide; its options are given too.

Arrays that gensim holds to be large lie beside the pickle, each in an ``.npy`` called after it and the attribute.
"""

from __future__ import annotations

import re
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.base.files import read_bytes
from kgeval.base.pickled import read_pickle
from kgeval.base.unpickle import StubObject
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.reader import Reader
from kgeval.models.checkpoints.readers.transx import read_labelled_vectors
from kgeval.models.checkpoints.shared.layers import check_shape, naming
from kgeval.models.checkpoints.shared.locate import contains_file, find_checkpoint_file, first_lines
from kgeval.models.checkpoints.shared.mapped_arrays import mapped_array
from kgeval.models.checkpoints.shared.tensors import model_of_arrays

BINARY = ".bin"

SIZES = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*([0-9]{1,9})[ \t]([0-9]{1,6})[ \t\r]*(?:\n|$)")
"""the first line, of rows and width, perhaps after a byte order mark"""

LONGEST = 32
"""bytes that have room for it"""

NO_TEXT = re.compile(r"[\0-\x1f]|^$")
"""what no label has, and what numbers read as a label mostly have"""


def sizes_in(file: Path) -> re.Match[bytes] | None:
    with file.open("rb") as opened:
        return SIZES.match(opened.read(LONGEST))


def announced_sizes(file: Path) -> tuple[int, int, int]:
    """Read how many rows follow and how wide they are, and the place where the first of them begins."""
    sizes = sizes_in(file)
    if sizes is None:
        raise CheckpointError(f"{file}, line 1: expected the numbers of rows and of columns, such as '1000 50'.")
    return int(sizes[1]), int(sizes[2]), sizes.end()


def read_binary_vectors(file: Path) -> tuple[list[str], FloatArray]:
    """Read labels, which hold no spaces, and float32[row, width], of a little-endian machine."""
    content = read_bytes(file)
    if _is_text(content):
        raise CheckpointError(f"{file}: it is text, but {BINARY} means the binary format. Rename it to .txt.")
    count, width, position = announced_sizes(file)
    view, size = memoryview(content), 4 * width
    labels, rows = [], []
    for row in range(1, count + 1):  # one by one: each begins where the one before ends
        space = content.find(b" ", position)
        if space < 0 or space + 1 + size > len(content):
            what = f"announces {count} rows of {width} numbers, but the file ends in row {row}"
            raise CheckpointError(f"{file}: line 1 {what}. It may be cut short.")
        labels.append(_label(file, row, content[position:space]))
        position = space + 1 + size
        rows.append(view[space + 1 : position])
    if content[position:].strip():
        raise CheckpointError(f"{file}: line 1 announces {count} rows of {width} numbers, but more bytes follow.")
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
        what = f"row {row} begins with {short(content)}, which is not a label"
        raise CheckpointError(f"{file}: {what}. The file may be damaged, or an earlier label may contain a space.")
    return label


LABELS, TABLES = ("index_to_key", "index2word"), ("vectors", "syn0")
"""the attributes of gensim 4, and of versions before"""

APART = "__numpys"
"""the attribute with the names of those whose arrays lie beside the pickle"""

LONGEST_PICKLE = 64
"""bytes that have room for the first name in a pickle"""


def is_of_gensim(file: Path) -> bool:
    with file.open("rb") as opened:
        beginning = opened.read(LONGEST_PICKLE)
    return beginning[:1] == b"\x80" and b"gensim.models." in beginning


def read_gensim_vectors(file: Path) -> tuple[list[str], FloatArray, tuple[Path, ...]]:
    """Read the labels, the table as float[row, width], and the files that it was read from."""
    saved = read_pickle(file)
    attributes, prefix = _state(saved), file.name
    if "wv" in attributes:
        attributes, prefix = _state(attributes["wv"]), f"{prefix}.wv"
    labels = next((attributes[name] for name in LABELS if name in attributes), None)
    table, files = _table(file, attributes, prefix)
    if not isinstance(labels, list) or not isinstance(table, np.ndarray):
        what = f"{getattr(saved, 'origin', type(saved).__name__)} without a table of vectors and its labels"
        advice = "In gensim, save it with save_word2vec_format."
        raise CheckpointError(f"{file}: it is a {what} ({' and '.join(LABELS[:1] + TABLES[:1])}). {advice}")
    if not all(isinstance(label, str) and label for label in labels):
        raise CheckpointError(f"{file}: its labels are not all texts.")
    width = attributes.get("vector_size")  # gensim 3 may not say it
    with naming(files[-1]):
        return labels, check_shape("vectors", table, len(labels), width if isinstance(width, int) else None), files


def _table(file: Path, attributes: dict[str, Any], prefix: str) -> tuple[Any, tuple[Path, ...]]:
    """Take the table from the pickle, or else from the file beside it; with the files that it came from."""
    apart = attributes.get(APART)
    for name in TABLES:
        if name in attributes:
            return attributes[name], (file,)
        if isinstance(apart, list) and name in apart:
            beside = file.with_name(f"{prefix}.{name}.npy")
            if not beside.is_file():
                raise CheckpointError(f"{beside.name} is missing beside {file}. It holds the vectors.")
            return mapped_array(beside), (file, beside)
    return None, (file,)


def _state(value: Any) -> dict[str, Any]:
    return value.state if isinstance(value, StubObject) else {}


SUFFIXES = {".txt", ".vec", ".w2v", ".word2vec", ".kv", ".emb"}


def read(path: Path, options: Options) -> Checkpoint:
    """Read one table of vectors, of entities and relations, as the family that the option ``model`` names."""
    file = find_checkpoint_file(path, [_fits], "vectors of word2vec or gensim")
    if is_of_gensim(file):
        labels, table, files = read_gensim_vectors(file)
    else:
        read_own = read_binary_vectors if file.suffix == BINARY else _read_text
        (labels, table), files = read_own(file), (file,)
    with naming(file):
        entities, relations = Vocabulary(labels), Vocabulary(labels, "relation")
    model = model_of_arrays(file, {"entity": table, "relation": table}, options)
    return Checkpoint(model, "word2vec", files, entities, relations, options.origins)


def _read_text(file: Path) -> tuple[list[str], FloatArray]:
    count, width, _ = announced_sizes(file)
    labels, table = read_labelled_vectors(file, width, skip=1)
    if len(labels) != count:
        raise CheckpointError(
            f"{file}: line 1 announces {count} rows, but {len(labels)} follow. The file may be cut short."
        )
    return labels, table


def _fits(file: Path) -> bool:
    """Whether gensim wrote it, or its first line has two sizes; in a text, the second one has as many cells."""
    try:
        if is_of_gensim(file):
            return True
        sizes = sizes_in(file) if file.suffix in {*SUFFIXES, BINARY} else None
        if sizes is None or file.suffix == BINARY:
            return sizes is not None
        return len(first_lines(file, 2)[1].split()) > int(sizes[2]) > 0
    except OSError:  # the user may not open a file beside it
        return False


READER = Reader(
    name="word2vec",
    summary="vectors of word2vec or RDF2Vec: text (.txt, .vec, .w2v, .kv, .emb), binary (.bin), gensim's (.kv, .model)",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
)
