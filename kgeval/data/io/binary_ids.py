"""Triples of ids in pickles and binary files, as programs store them; and the YAML that describes such a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.data.io.text import refuse_missing
from kgeval.data.io.triple_files import NO_INTERVALS
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, reason
from kgeval.files import opening as files
from kgeval.files.opening import free_memory
from kgeval.files.yaml_text import read_yaml

LABEL = 2**7
"""bytes that the label of an id may take while it is made"""

MAX_UNUSED_ID_RATIO = 100
"""so many ids without a triple may there be for each id in one"""


def read_settings(path: Path) -> dict[str, Any]:
    """Read the YAML that describes a stored graph."""
    refuse_missing(path)
    try:
        content = read_yaml(files.read_settings(path))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read as YAML ({reason(error)}).") from error
    if not isinstance(content, dict):
        raise DatasetError(f"{path}: describes no dataset: it holds no names and values.")
    return content


def numbered_labels(settings: Path, key: str, size: Any, kind: str) -> Vocabulary:
    """Label ids by themselves, as many as the settings of a graph say, where no file has labels."""
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise DatasetError(f"{settings}: without a file of {kind} labels it must say {key}; found {size!r:.60}.")
    if size > free_memory() // LABEL:
        raise DatasetError(f"{settings}: {key}: {size} are more than the memory has room for.")
    return Vocabulary.numbered(size, kind)


def id_columns(path: Path, columns: Sequence[Any]) -> Triples:
    """Take columns of head, relation and tail ids as triples."""
    arrays = [np.asarray(column) for column in columns]
    if any(array.ndim != 1 or array.dtype.kind not in "iu" for array in arrays) or len({*map(len, arrays)}) > 1:
        found = ", ".join(f"{array.dtype} {list(array.shape)}" for array in arrays)
        raise DatasetError(f"{path}: expected columns of ids, as many heads as relations and tails; found {found}.")
    return Triples(np.stack([_as_int64(path, array) for array in arrays], axis=1))


def stored_triples(path: Path, ids: npt.NDArray[Any], *, may_have_times: bool = False) -> Triples:
    """Take rows of head, relation and tail ids as triples; a fourth id, where there may be one, is that of a time."""
    ids = np.asarray(ids)
    timed = may_have_times and ids.shape[1:] == (4,)
    if ids.ndim != 2 or ids.shape[1] != 3 + timed or ids.dtype.kind not in "iu":
        expected = "three ids, or four with a time" if may_have_times else "three ids"
        hint = f" {NO_INTERVALS}" if may_have_times and ids.shape[1:] == (5,) else ""
        raise DatasetError(f"{path}: expected rows of {expected}; found {ids.dtype} of shape {list(ids.shape)}.{hint}")
    if len(ids) == 0:
        raise DatasetError(f"{path}: no triples in it.")
    whole = _as_int64(path, ids)
    return Triples(np.ascontiguousarray(whole[:, :3]), np.ascontiguousarray(whole[:, 3]) if timed else None)


def labels_of_ids(folder: Path, kind: str, splits: Mapping[str, Triples]) -> Vocabulary:
    """Label ids that have no labels with themselves: 0 to the largest one in any split."""
    columns = {"entity": slice(0, 3, 2), "relation": slice(1, 2)}.get(kind)
    parts = [triples.contexts if columns is None else triples.ids[:, columns].ravel() for triples in splits.values()]
    ids = np.concatenate([part for part in parts if part is not None])
    refuse_sparse(str(folder), kind, ids)
    return Vocabulary.numbered(int(ids.max()) + 1, kind)


def refuse_sparse(name: str, kind: str, ids: npt.NDArray[Any]) -> None:
    """Refuse ids whose largest is far beyond their number: labels for all below it would take any memory."""
    if ids.size and int(ids.max()) > MAX_UNUSED_ID_RATIO * (ids.size + 1):
        raise DatasetError(
            f"{name}: a triple names {kind} id {ids.max()}, though there are only {ids.size}. Is a file damaged?"
        )


def _as_int64(path: Path, ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= 2**62):
        wrong = int(ids.min()) if int(ids.min()) < 0 else int(ids.max())
        raise DatasetError(f"{path}: the id {wrong} is out of place: ids start at 0 and are small.")
    return np.asarray(ids, np.int64)
