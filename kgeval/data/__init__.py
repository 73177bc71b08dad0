"""The data: a graph as triples of ids, the labels of the ids, and the files that graphs are read from.

``load_dataset`` (``loading.py``) finds the layout of a folder, reads its files by the names of their columns
(``columns.py``, ``tables.py``), numbers the labels and makes a ``Dataset``. ``queries.py`` asks its test triples,
``known.py`` has the answers that a filter removes, ``leaks.py`` the triples that train gives away.

Called by every room above. Layouts are imported by nobody: ``layouts.layouts()`` finds them in its folder, so a new one
is a ``Layout`` in a file there. Here are the words of settings, which need no arrays.
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
"""the facts of a temporal graph that are known to a query: those of the same time, or those of all times"""

History = Literal["train", "train+valid", "observed"]
"""the facts of a temporal graph that a model sees before the time of a query: those of train, those of train and valid
(forecasting in several steps), or those of any split (in single steps)"""
