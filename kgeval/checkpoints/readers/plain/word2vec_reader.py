"""Vectors of word2vec, gensim and RDF2Vec, as text, binary or gensim's pickle: one table of entities and relations.

The first line of a text is how many rows follow and how wide they are; a row is a label (often a URI) and its numbers.
Any label may be an entity or a relation: the dataset tells. Nothing says how two vectors make a score: the option
``model`` names a family of ``kgeval list models`` whose entities and relations are equally wide, and its options.
"""

from __future__ import annotations

import re
from itertools import islice
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
        raise CheckpointError(f"{file}, line 1: expected the numbers of rows and of columns.")
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
    except OSError:  # a file of others beside it, that may not be opened
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


READER = Reader(
    name="word2vec",
    summary="vectors of word2vec or RDF2Vec: text (.txt, .vec, .w2v, .kv, .emb), binary (.bin), gensim's (.kv, .model)",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
)
