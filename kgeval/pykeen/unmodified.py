"""Whether a live model scores by PyKEEN's own code: of overridden methods, no probe of some pairs says enough."""

from __future__ import annotations

from abc import ABC
from typing import Any, Generic

SCORING = ("score", "predict", "forward", "representations", "prepare")
"""what the names of the methods have in common by which a model scores"""


def has_unmodified_scoring(model: Any) -> bool:
    """Whether the interaction is one of PyKEEN's, and neither a class nor an object overrides a method of scoring.

    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> class Shy(DistMult):
    ...     def score_t(self, hr_batch, **kwargs):
    ...         return super().score_t(hr_batch, **kwargs).clamp(max=1)
    >>> graph = Nations().training
    >>> has_unmodified_scoring(DistMult(triples_factory=graph)), has_unmodified_scoring(Shy(triples_factory=graph))
    (True, False)
    """
    interaction = getattr(model, "interaction", None)
    if interaction is None or not _is_pykeens(type(interaction)):
        return False
    classes = [base for base in type(model).__mro__ if not _is_pykeens(base)]
    return not any(map(_is_hooked, (model, interaction))) and not any(_overrides(vars(base)) for base in classes)


def _is_pykeens(base: type) -> bool:
    # Not "abc" and "typing" as such: a class that is made by calling a metaclass seems to come from there.
    return base.__module__.partition(".")[0] in {"pykeen", "torch", "builtins"} or base in {ABC, Generic}


def _is_hooked(module: Any) -> bool:
    """Whether functions of its own run in the place of an object's methods, or around them."""
    return _overrides(vars(module)) or bool(module._forward_hooks or module._forward_pre_hooks)


def _overrides(names: Any) -> bool:
    return any(callable(value) and any(word in name for word in SCORING) for name, value in names.items())
