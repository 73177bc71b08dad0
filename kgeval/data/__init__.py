"""Graphs: triples, vocabularies, queries, and files of them; here the words of settings, which need no arrays."""

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
