"""gensim's own files, of any version since 3: pickles of KeyedVectors, or of a Word2Vec that holds them as ``wv``.

Arrays that gensim holds to be large lie beside the pickle, each in an ``.npy`` called after it and the attribute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.shared.mapped_array import mapped_array
from kgeval.checkpoints.shared.shapes import check_shape
from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_pickle
from kgeval.pickles.unpickle import StubObject

LABELS, TABLES = ("index_to_key", "index2word"), ("vectors", "syn0")
"""the attributes of gensim 4, and of versions before"""

APART = "__numpys"
"""the attribute with the names of those whose arrays lie beside the pickle"""

LONGEST = 64
"""bytes that have room for the first name in a pickle"""


def is_of_gensim(file: Path) -> bool:
    """Whether a file is the pickle of an object of gensim's, by the first name in it."""
    with file.open("rb") as opened:
        beginning = opened.read(LONGEST)
    return beginning[:1] == b"\x80" and b"gensim.models." in beginning


def read_gensim_vectors(file: Path) -> tuple[list[str], FloatArray, tuple[Path, ...]]:
    """Read the labels, the table as float[row, width], and the files that it was read from.

    Raises
    ------
    CheckpointError
        if the pickle is damaged, holds no such table, or one of other rows than labels; if the ``.npy`` is missing
    """
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
    try:
        return labels, check_shape("vectors", table, len(labels), width if isinstance(width, int) else None), files
    except CheckpointError as error:
        raise CheckpointError(f"{files[-1]}: {error}") from error


def _table(file: Path, attributes: dict[str, Any], prefix: str) -> tuple[Any, tuple[Path, ...]]:
    """Take the table from the pickle, or else from the file beside it; with the files that it came from."""
    name = next((name for name in TABLES if name in attributes), None)
    if name is not None:
        return attributes[name], (file,)
    apart = attributes.get(APART)
    name = next((name for name in TABLES if isinstance(apart, list) and name in apart), None)
    if name is None:
        return None, (file,)
    beside = file.with_name(f"{prefix}.{name}.npy")
    if not beside.is_file():
        raise CheckpointError(f"{beside.name} is missing beside {file}, whose vectors it holds.")
    return mapped_array(beside), (file, beside)


def _state(value: Any) -> dict[str, Any]:
    return value.state if isinstance(value, StubObject) else {}
