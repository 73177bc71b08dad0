"""The corruption generators by kind: kgeval's own, and those that installed packages bring."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal, get_args, get_origin

import kgeval.corruption
from kgeval.corruption.generator import CorruptionGenerator
from kgeval.discovery import brought
from kgeval.errors import InputError
from kgeval.settings.by_kind import ByKind


@cache
def generators() -> dict[str, type[CorruptionGenerator]]:
    own = [vars(kgeval.corruption)[name] for name in kgeval.corruption.__all__ if name != "CorruptionGenerator"]
    found: dict[str, type[CorruptionGenerator]] = {}
    for generator in (*own, *brought("kgeval.corruptions", CorruptionGenerator, classes=True)):
        kind = generator.model_fields["kind"].annotation
        if get_origin(kind) is not Literal:
            raise InputError(
                f"the corruption {generator.__name__} has no kind of its own. Declare kind: Literal['name'] = 'name'."
            )
        for name in get_args(kind):
            if name in found:
                raise InputError(f"two corruptions are of the kind {name!r}. Rename the one that a package brings.")
            found[name] = generator
    return found


Corruption = Annotated[CorruptionGenerator, ByKind(CorruptionGenerator, generators)]
"""Any corruption generator: the type of the configuration's ``corruption`` block."""
