"""Tasks on labelled triples: classification, and the prediction of confidences."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgeval.tasks.classification import Classification as Classification
    from kgeval.tasks.confidences import Confidences as Confidences
    from kgeval.tasks.label_table import LabelTable as LabelTable
    from kgeval.tasks.negatives import GeneratedNegatives as GeneratedNegatives
    from kgeval.tasks.negatives import NegativesFromFiles as NegativesFromFiles

_HOMES = {
    "Classification": "classification",
    "Confidences": "confidences",
    "GeneratedNegatives": "negatives",
    "LabelTable": "label_table",
    "NegativesFromFiles": "negatives",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kgeval.tasks' has no attribute {name!r}")
    return getattr(importlib.import_module(f"kgeval.tasks.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
