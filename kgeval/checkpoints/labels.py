"""Read the labels that lie beside a model: ``id<TAB>label`` lines, in any order of the ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.errors import CheckpointError, InputError
from kgeval.graph.columns import first_line, read_columns
from kgeval.graph.vocabulary import Vocabulary


def read_labels(path: Path, kind: str) -> Vocabulary:
    """Read a vocabulary; a header ``id<TAB>label`` is skipped.

    Raises
    ------
    CheckpointError
        if the file is malformed, or its ids are not 0 … n − 1, each once
    """
    try:
        header = first_line(path).lower().split("\t") == ["id", "label"]
        table = read_columns(path, ["id", "label"], skip=int(header))
        ids = np.asarray(pc.cast(table["id"], pa.int64()))
        if not np.array_equal(np.sort(ids), np.arange(len(ids))):
            raise CheckpointError(f"{path}: its {len(ids)} ids are not 0 to {len(ids) - 1}, each once.")
        return Vocabulary(table["label"].take(pa.array(np.argsort(ids))), kind)
    except pa.ArrowInvalid as error:
        raise CheckpointError(f"{path}: an id is not a whole number. Lines are id<TAB>label.") from error
    except InputError as error:
        raise CheckpointError(str(error)) from error
