"""Filters by split: the splits whose triples are known answers, for each split that a framework evaluates."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kgeval.data.dataset import SPLITS, Split

SplitFilter = Mapping[Split, tuple[Split, ...]]
"""the evaluated split -> the splits that it is filtered by"""

EVERY_SPLIT: SplitFilter = MappingProxyType(dict.fromkeys(SPLITS, SPLITS))
"""train, valid and test, whichever of them is evaluated"""

NOTHING: SplitFilter = MappingProxyType(dict.fromkeys(SPLITS, ()))
"""no split: the raw setting"""
