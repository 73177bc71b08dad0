"""Names of queries in files of TREC: the side, and the ids of anchor, relation and, where there is one, time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from kgeval.arrays import IntArray

ID = "[0-9]{1,18}"

NAME = rf"^(?P<side>head|tail)-(?P<anchor>{ID})-(?P<relation>{ID})(?:-(?P<time>{ID}))?$"
"""what a name looks like"""


def query_names(sides: Iterable[str], *ids: IntArray) -> npt.NDArray[np.object_]:
    """Name each query; object[query].

    Parameters
    ----------
    sides
        the side that each query seeks
    ids
        int64[query], the anchors and the relations, and of a temporal graph the times

    Examples
    --------
    >>> query_names(["tail", "head"], np.array([12, 5]), np.array([3, 0]))
    array(['tail-12-3', 'head-5-0'], dtype=object)
    """
    columns = (column.tolist() for column in ids)
    return np.array(["-".join(map(str, parts)) for parts in zip(sides, *columns, strict=True)], object)
