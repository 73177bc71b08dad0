"""Vectors of word2vec, gensim and RDF2Vec, as text, binary or gensim's pickle: one table of entities and relations.

The first line of a text is how many rows follow and how wide they are; a row is a label (often a URI) and its numbers.
Any label may be an entity or a relation: the dataset tells. Nothing says how two vectors make a score: the option
``model`` names a family of ``kgeval list models`` whose entities and relations are equally wide, and its options.
"""

from __future__ import annotations

import re
from itertools import islice, takewhile
from pathlib import Path

from kgeval.arrays import FloatArray
from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.plain.binary_vectors import BINARY, has_binary_sizes, read_binary_vectors
from kgeval.checkpoints.readers.plain.gensim_vectors import is_of_gensim, read_gensim_vectors
from kgeval.checkpoints.readers.plain.text_vectors import read_labelled_vectors
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file
from kgeval.checkpoints.shared.named_arrays import model_of_arrays
from kgeval.data.io.text import open_text
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError, InputError

SUFFIXES = {".txt", ".vec", ".w2v", ".word2vec", ".kv", ".emb"}

SIZES = re.compile(r"([0-9]{1,9})[ \t]([0-9]{1,6})\s*")
"""the first line: rows and width"""

NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?")
"""a cell of a vector"""

FEWEST = 4
"""the least width of rows that are taken for vectors: triples of ids have two numbers after the first"""

LONGEST = 2**20
"""characters of each of the first two lines that are read, to recognise a file"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read the table, as entities and as relations.

    Raises
    ------
    CheckpointError
        if it is malformed, or has fewer or more rows than it announces; if the option ``model`` is missing
    """
    file = find_checkpoint_file(path, [_fits], "vectors of word2vec or gensim")
    if is_of_gensim(file):
        labels, table, files = read_gensim_vectors(file)
    else:
        read_own = read_binary_vectors if file.suffix == BINARY else _read_text
        (labels, table), files = read_own(file), (file,)
    try:
        entities, relations = Vocabulary(labels), Vocabulary(labels, "relation")
    except InputError as error:
        raise CheckpointError(f"{file}: {error}") from error
    model = model_of_arrays(file, {"entity": table, "relation": table}, options)
    return Checkpoint(model, "word2vec", files, entities, relations, options.origins)


def _read_text(file: Path) -> tuple[list[str], FloatArray]:
    sizes = SIZES.fullmatch(_beginning(file)[0])
    if sizes is None:
        raise CheckpointError(f"{file}, line 1: expected the numbers of rows and of columns. {_lacks(file)}".rstrip())
    count, width = map(int, sizes.groups())
    labels, table = read_labelled_vectors(file, width, skip=1)
    if len(labels) != count:
        raise CheckpointError(
            f"{file}: line 1 announces {count} rows, {len(labels)} follow. The file may be cut short."
        )
    return labels, table


def _beginning(file: Path) -> list[str]:
    """Read the first two lines, as far as there are any."""
    with open_text(file) as text:
        return [line.rstrip("\r\n") for line in islice(iter(lambda: text.readline(LONGEST), ""), 2)] or [""]


def _fits(file: Path) -> bool:
    fits_own = has_binary_sizes if file.suffix == BINARY else _is_text
    try:
        return is_of_gensim(file) or fits_own(file)
    except OSError:  # the user may not open a file beside it
        return False


def _is_text(file: Path) -> bool:
    """Whether the first line has two sizes, and the second as many cells as it says."""
    if file.suffix not in SUFFIXES:
        return False
    try:
        sizes, *rows = _beginning(file)
    except InputError:
        return False
    found = SIZES.fullmatch(sizes)
    return found is not None and any(len(row.split()) > int(found[2]) > 0 for row in rows)


def _lacks(file: Path) -> str:
    """Say which first line is missing, where the rows are a label and as many numbers each."""
    if file.suffix not in SUFFIXES or not file.is_file():
        return ""
    try:
        widths = {_num_numbers(row) for row in _beginning(file)}
        if len(widths) != 1 or (width := widths.pop()) < FEWEST:
            return ""
        with open_text(file) as text:
            count = sum(1 for line in iter(lambda: text.readline(LONGEST), "") if line.strip())
    except InputError:
        return ""
    what = f"Its rows are a label and {width} numbers, as of word2vec or gensim, but the first line is missing"
    return f"{what}: put '{count} {width}' (rows and width) before them."


def _num_numbers(row: str) -> int:
    """Count the numbers at the end of a row, after a label."""
    return sum(1 for _ in takewhile(NUMBER.fullmatch, reversed(row.split()[1:])))


READER = Reader(
    name="word2vec",
    summary="vectors of word2vec or RDF2Vec: text (.txt, .vec, .w2v, .kv, .emb), binary (.bin), gensim's (.kv, .model)",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    lacks=_lacks,
)
