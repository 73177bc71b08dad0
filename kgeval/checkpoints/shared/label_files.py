"""Read the labels that lie beside a model: ``id<TAB>label`` lines in any order of the ids, or the ids as JSON."""

from __future__ import annotations

from pathlib import Path

from kgeval.data.io.id_files import vocabulary_by_id
from kgeval.data.io.text import first_line, read_columns
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError, InputError, reason
from kgeval.files.opening import read_json


def read_labels(path: Path, kind: str, *, quoted: bool = False) -> Vocabulary:
    """Read a vocabulary; a header ``id<TAB>label`` is skipped.

    Parameters
    ----------
    path
        the file
    kind
        what is labelled: ``"entity"`` or ``"relation"``
    quoted
        whether a label that has a double quote, a tab or a line end in it stands in quotes, as pandas writes it

    Raises
    ------
    CheckpointError
        if the file is malformed, or its ids are not 0 … n − 1, each once
    """
    try:
        header = int(first_line(path).lower().split("\t") == ["id", "label"])
        table = read_columns(path, ["id", "label"], skip=header, quoted=quoted)
        return vocabulary_by_id(path, table, kind, skip=header)
    except InputError as error:
        raise CheckpointError(str(error)) from error


def read_ids(path: Path, kind: str) -> Vocabulary:
    """Read a vocabulary from one JSON object, ``{label: id}``.

    Raises
    ------
    CheckpointError
        if it is something else, or its ids are not 0 … n − 1, each once
    """
    try:
        ids = read_json(path)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read ({reason(error)}).") from error
    if not isinstance(ids, dict) or not all(type(row) is int for row in ids.values()):
        raise CheckpointError(f"{path}: expected one object with the id of each label.")
    if sorted(ids.values()) != list(range(len(ids))):
        raise CheckpointError(f"{path}: its {len(ids)} ids are not 0 to {len(ids) - 1}, each once.")
    try:
        return Vocabulary(sorted(ids, key=ids.__getitem__), kind)
    except InputError as error:
        raise CheckpointError(f"{path}: {error}") from error
