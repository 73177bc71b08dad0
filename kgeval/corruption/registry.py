"""The corruption generators by kind: kgeval's own, and those that installed packages bring."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import kgeval.corruption
from kgeval.corruption.generator import CorruptionGenerator
from kgeval.discovery import brought, by_name
from kgeval.settings.by_kind import ByKind, names_by


@cache
def generators() -> dict[str, type[CorruptionGenerator]]:
    own = [vars(kgeval.corruption)[name] for name in kgeval.corruption.__all__ if name != "CorruptionGenerator"]
    every = [*own, *brought("kgeval.corruptions", CorruptionGenerator, classes=True)]
    return by_name("corruptions", every, names_by("kind"))


Corruption = Annotated[CorruptionGenerator, ByKind(CorruptionGenerator, generators)]
"""Any corruption generator: the type of the configuration's ``corruption`` block."""
