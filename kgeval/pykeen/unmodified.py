"""Whether a live model scores by PyKEEN's own code; if methods are overridden, no sample of scores proves a formula."""

from __future__ import annotations

from abc import ABC
from typing import Any, Generic

SCORING = ("score", "predict", "forward", "representations", "prepare")
"""parts of the names of the methods by which a model scores"""


def has_unmodified_scoring(model: Any) -> bool:
    """Whether the interaction is one of PyKEEN's, and neither a class nor an object overrides a method of scoring.

    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> class Clamped(DistMult):
    ...     def score_t(self, hr_batch, **kwargs):
    ...         return super().score_t(hr_batch, **kwargs).clamp(max=1)
    >>> graph = Nations().training
    >>> has_unmodified_scoring(DistMult(triples_factory=graph)), has_unmodified_scoring(Clamped(triples_factory=graph))
    (True, False)
    """
    interaction = getattr(model, "interaction", None)
    if interaction is None or not _is_pykeens(type(interaction)):
        return False
    classes = [base for base in type(model).__mro__ if not _is_pykeens(base)]
    return not any(map(_is_hooked, (model, interaction))) and not any(_overrides(vars(base)) for base in classes)


def _is_pykeens(base: type) -> bool:
    # Not all of "abc" and "typing": a class that is made by calling a metaclass has one of them as its module.
    return base.__module__.partition(".")[0] in {"pykeen", "torch", "builtins"} or base in {ABC, Generic}


def _is_hooked(module: Any) -> bool:
    """Whether a module has hooks, or instance attributes that replace its methods of scoring."""
    return _overrides(vars(module)) or bool(module._forward_hooks or module._forward_pre_hooks)


def _overrides(names: Any) -> bool:
    return any(callable(value) and any(word in name for word in SCORING) for name, value in names.items())
