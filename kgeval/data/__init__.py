"""The data: a graph as triples of ids, the labels of the ids, and the files that graphs are read from.

``load_dataset`` (``loading.py``) finds the layout of a folder, reads its files by the names of their columns
(``columns.py``, ``tables.py``), numbers the labels and makes a ``Dataset``. ``queries.py`` makes queries of its test
triples, ``known.py`` finds the answers that a filter removes, ``leaks.py`` the triples that train gives away.

Every room (package of kgeval) above calls it. ``layouts.layouts()`` finds the layouts in its folder, so a new one is a
``Layout`` in a file there, which no list names. This file has the names of splits and sides, which need no arrays.
"""

from __future__ import annotations

from typing import Literal, get_args

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

EntitySide = Literal["head", "tail"]
"""A side of a triple, where an entity may be."""

Side = Literal["head", "tail", "relation"]
"""What is predicted of a triple: the entity on one of its sides, or the relation between them."""

SIDES: tuple[Side, ...] = get_args(EntitySide)
TARGETS: tuple[Side, ...] = get_args(Side)

KnownTimes = Literal["time-aware", "static"]
"""the facts of a temporal graph that are known to a query: facts of the same time, or of all times"""

History = Literal["train", "train+valid", "observed"]
"""the facts of a temporal graph that a model sees before the time of a query: facts of train, of train and valid
(forecasting in several steps), or of any split (in single steps)"""
