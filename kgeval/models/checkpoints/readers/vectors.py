"""Vectors without a model: files of word2vec, gensim and RDF2Vec (text, binary or a pickle), and text files of KB2E.

``load_checkpoint`` calls the readers: a path and the user's options become a ``Checkpoint``.

The files
---------
In the files of word2vec, entities and relations share one array without a name. The first line of a text is how many
rows follow and how wide they are; a row is a label (often a URI) and its numbers. Any label may be an entity or a
relation, as the dataset has it. The files do not say how two vectors make a score: the option ``model`` names a family
of ``kgeval list models`` whose entities and relations are equally wide; the user also gives the family's options.
gensim stores large arrays beside the pickle, each in an ``.npy`` called after the pickle and the attribute.

KB2E and Fast-TransX write ``entity2vec.bern`` and ``relation2vec.bern`` (``.unif``, ``.vec``), rows by id: a TransE,
whose distance is L1 or L2 (``L1_flag``); no file says which. The programs for TransH, TransR and TransD write matrices
beside them (``A.bern``, ``A.vec``), which are not read.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.base.files import beginning_of, read_bytes
from kgeval.base.pickled import read_pickled
from kgeval.base.unpickle import StubObject
from kgeval.data.text import UNIT_SEPARATOR, line_of, read_columns
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.building import model_of_arrays
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import labelled_checkpoint
from kgeval.models.checkpoints.locate import contains_file, find_checkpoint_file, first_lines, naming
from kgeval.models.checkpoints.mapped_arrays import mapped_array
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.tensors import check_shape
from kgeval.models.families.translations import TransE

BINARY = ".bin"

SUFFIXES = {".txt", ".vec", ".w2v", ".word2vec", ".kv", ".emb"}


def read_word2vec(path: Path, options: Options) -> Checkpoint:
    """Read one table of vectors, of entities and relations, as the family that the option ``model`` names."""
    file = find_checkpoint_file(path, [_is_word2vec], "vectors of word2vec or gensim")
    if _is_of_gensim(file):
        labels, table, files = _read_gensim(file)
    else:
        read_own = _read_binary if file.suffix == BINARY else _read_text
        (labels, table), files = read_own(file), (file,)
    with naming(file):
        entities, relations = Vocabulary(labels), Vocabulary(labels, "relation")
    model = model_of_arrays(file, {"entity": table, "relation": table}, options)
    return Checkpoint(model, "word2vec", files, entities, relations, options.origins)


def _is_word2vec(file: Path) -> bool:
    """Whether gensim wrote it, or its first line has two sizes; in a text, line 2 has more cells than columns."""
    with suppress(OSError):  # the user may not open a file beside it
        if _is_of_gensim(file):
            return True
        sizes = _sizes_in(file) if file.suffix in {*SUFFIXES, BINARY} else None
        if sizes is None or file.suffix == BINARY:
            return sizes is not None
        return len(first_lines(file, 2)[1].split()) > int(sizes[2]) > 0
    return False


WORD2VEC = Reader(
    name="word2vec",
    summary="vectors of word2vec or RDF2Vec: text (.txt, .vec, .w2v, .kv, .emb), binary (.bin), gensim's (.kv, .model)",
    recognises=lambda path: contains_file(path, _is_word2vec),
    read=read_word2vec,
)

LABELS, TABLES = ("index_to_key", "index2word"), ("vectors", "syn0")
"""the attributes of gensim 4, and of versions before"""

APART = "__numpys"
"""the attribute that names the attributes whose arrays lie beside the pickle"""

LONGEST_PICKLE = 64
"""the number of bytes at the beginning of a pickle that hold its first name"""


def _is_of_gensim(file: Path) -> bool:
    """Whether a file is a pickle of gensim."""
    beginning = beginning_of(file, LONGEST_PICKLE)
    return beginning[:1] == b"\x80" and b"gensim.models." in beginning


def _read_gensim(file: Path) -> tuple[list[str], FloatArray, tuple[Path, ...]]:
    """Read the labels, the table as float[row, width], and the files that it was read from."""
    saved = read_pickled(file)
    attributes, prefix = _state(saved), file.name
    if "wv" in attributes:
        attributes, prefix = _state(attributes["wv"]), f"{prefix}.wv"
    labels = next((attributes[name] for name in LABELS if name in attributes), None)
    table, files = _table(file, attributes, prefix)
    if not isinstance(labels, list) or not isinstance(table, np.ndarray):
        fault = f"{getattr(saved, 'origin', type(saved).__name__)} without a table of vectors and its labels"
        advice = "In gensim, save it with save_word2vec_format."
        raise CheckpointError(f"{file}: it is a {fault} ({' and '.join(LABELS[:1] + TABLES[:1])}). {advice}")
    if not all(isinstance(label, str) and label for label in labels):
        raise CheckpointError(f"{file}: its labels are not all texts.")
    width = attributes.get("vector_size")  # gensim 3 may not say it
    with naming(files[-1]):
        return labels, check_shape("vectors", table, len(labels), width if isinstance(width, int) else None), files


def _state(value: Any) -> dict[str, Any]:
    return value.state if isinstance(value, StubObject) else {}


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


def _read_binary(file: Path) -> tuple[list[str], FloatArray]:
    """Read labels, which hold no spaces, and the table as little-endian float32[row, width]."""
    content = read_bytes(file)
    with suppress(UnicodeDecodeError):
        # Text can look like binary rows: a number such as '0.1 ' has four characters, as many as float32 has bytes.
        if "\0" not in content.decode("utf-8"):
            raise CheckpointError(f"{file}: it is text, but {BINARY} means the binary format. Rename it to .txt.")
    count, width, position = _announced_sizes(file)
    view, size = memoryview(content), 4 * width
    labels, rows = [], []
    for row in range(1, count + 1):  # one by one: each begins where the one before ends
        space = content.find(b" ", position)
        if space < 0 or space + 1 + size > len(content):
            raise CheckpointError(f"{file}: line 1 announces {count} rows of {width}, but it ends in row {row}.")
        labels.append(_label(file, row, content[position:space]))
        position = space + 1 + size
        rows.append(view[space + 1 : position])
    if content[position:].strip():
        raise CheckpointError(f"{file}: line 1 announces {count} rows of {width} numbers, but more bytes follow.")
    return labels, np.frombuffer(b"".join(rows), "<f4").reshape(count, width)


NO_TEXT = re.compile("[\0-\x1f\ufffd]|^$")
"""characters that no label has, but numbers that are read as a label mostly have; or no character at all"""


def _label(file: Path, row: int, content: bytes) -> str:
    """Decode a label; the C code ends each row with a newline, gensim does not."""
    label = content.lstrip(b"\n").decode("utf-8", "replace")
    if NO_TEXT.search(label):
        fault = f"row {row} begins with {short(content)}, which is not a label"
        raise CheckpointError(f"{file}: {fault}. The file may be damaged, or an earlier label may contain a space.")
    return label


def _read_text(file: Path) -> tuple[list[str], FloatArray]:
    """Read rows of a label, which may hold spaces, and as many numbers as the first line says."""
    count, width, _ = _announced_sizes(file)
    cells = pc.ascii_split_whitespace(_rows(file, 1), max_splits=width, reverse=True)
    labels, table = pc.list_element(cells, 0).to_pylist(), _numbers(file, pc.list_slice(cells, 1), 1, width)
    if len(labels) != count:
        raise CheckpointError(f"{file}: line 1 announces {count} rows, but {len(labels)} follow. It may be cut short.")
    return labels, table


SIZES = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*([0-9]{1,9})[ \t]([0-9]{1,6})[ \t\r]*(?:\n|$)")
"""the first line: the numbers of rows and of columns, perhaps after a byte order mark"""

LONGEST = 32
"""the number of bytes at the beginning of a file that hold this line"""


def _announced_sizes(file: Path) -> tuple[int, int, int]:
    """Read how many rows follow and how wide they are, and the place where the first of them begins."""
    sizes = _sizes_in(file)
    if sizes is None:
        raise CheckpointError(f"{file}, line 1: expected the numbers of rows and of columns, such as '1000 50'.")
    return int(sizes[1]), int(sizes[2]), sizes.end()


def _sizes_in(file: Path) -> re.Match[bytes] | None:
    """Find the numbers of rows and of columns in the first line of a file."""
    return SIZES.match(beginning_of(file, LONGEST))


ENTITY, RELATION, MATRICES = "entity2vec", "relation2vec", "A"
"""the beginnings of the names of the files of KB2E"""

TRANSX_SUFFIXES = {".bern", ".unif", ".vec", ".txt"}


def read_transx(path: Path, options: Options) -> Checkpoint:
    """Read a TransE; the option L1_flag says whether its distance is L1, as in the programs."""
    table = find_checkpoint_file(path, [lambda file: _is_transx(file) and file.name.startswith(ENTITY)], ENTITY)
    files = [_sibling(table, name) for name in (ENTITY, RELATION)]
    if (matrices := _sibling(table, MATRICES)).is_file():
        fault = "it holds the matrices of a TransH, TransR or TransD, which kgeval does not read as text"
        raise CheckpointError(f"{matrices}: {fault}. In Python, kgeval.evaluate takes any function of ids.")
    options.resolve("model", "TransE", files[0].name)
    norm = 1 if options.require("L1_flag", None, files[0].name, [True, False]) else 2
    family = TransE(_read_numbers(files[0]), _read_numbers(files[1]), norm)  # type: ignore[arg-type]
    options.record_origins(family, "KB2E", norm="L1_flag")
    return labelled_checkpoint(family, "transx", files, options, numbering="files", layouts=("openke",))


def _is_transx(file: Path) -> bool:
    """Whether a file holds one of the two tables, and the other lies beside it."""
    named = file.suffix in TRANSX_SUFFIXES and file.name.startswith((ENTITY, RELATION))
    return named and all(_sibling(file, name).is_file() for name in (ENTITY, RELATION))


TRANSX = Reader(
    name="transx",
    summary="text vectors of KB2E or Fast-TransX: entity2vec and relation2vec (.bern, .unif, .vec), and their id files",
    recognises=lambda path: contains_file(path, _is_transx),
    read=read_transx,
    known_by=(frozenset({"entity2vec.bern", "relation2vec.bern"}), frozenset({"entity2vec.vec", "relation2vec.vec"})),
)


def _sibling(file: Path, name: str) -> Path:
    """Return the file of another name that was written with this one: ``entity2vec.bern`` has ``relation2vec.bern``."""
    stem = next(prefix for prefix in (ENTITY, RELATION) if file.name.startswith(prefix))
    return file.with_name(name + file.name.removeprefix(stem))


def _read_numbers(path: Path) -> Float64Array:
    """Read rows of numbers, between tabs or spaces; float64[row, width]."""
    return _numbers(path, pc.ascii_split_whitespace(_rows(path, 0)), 0)


def _rows(path: Path, skip: int) -> pa.Array:
    """Read the lines after those that are skipped, without white space around them; string[row]."""
    table = read_columns(path, ["row"], skip=skip, delimiter=UNIT_SEPARATOR)
    rows = pc.ascii_trim_whitespace(table["row"]).combine_chunks()
    if not len(rows):
        raise CheckpointError(f"{path}: holds no vectors.")
    return rows


def _numbers(path: Path, cells: pa.ListArray, skip: int, width: int | None = None) -> Float64Array:
    """Convert cells of text to numbers, in each row by default as many as in the first; float64[row, width]."""
    lengths = np.asarray(pc.list_value_length(cells))
    width = int(lengths[0]) if width is None else width
    if (lengths != width).any():
        row = int(np.argmax(lengths != width))
        line = line_of(path, row, skip, delimiter=UNIT_SEPARATOR)
        raise CheckpointError(f"{path}, line {line}: {lengths[row]} numbers, where {width} are expected.")
    try:
        return np.asarray(pc.cast(cells.flatten(), pa.float64())).reshape(len(cells), width)
    except pa.ArrowInvalid as error:
        raise CheckpointError(f"{path}: a cell is not a number ({str(error)[:80]}).") from error
