"""Analysis: what the numbers of a rank table mean, and of which of its triples they hold."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgeval.analysis.audits.audit import Audit as Audit
    from kgeval.analysis.audits.audit import audit as audit
    from kgeval.analysis.comparison.comparison import Comparison as Comparison
    from kgeval.analysis.comparison.dataset_ranks import DatasetRanks as DatasetRanks
    from kgeval.analysis.comparison.dataset_ranks import rank_models as rank_models
    from kgeval.analysis.slices.slice import Categories as Categories

_HOMES = {
    "Audit": "audits.audit",
    "Categories": "slices.slice",
    "Comparison": "comparison.comparison",
    "DatasetRanks": "comparison.dataset_ranks",
    "audit": "audits.audit",
    "rank_models": "comparison.dataset_ranks",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kgeval.analysis' has no attribute {name!r}")
    return getattr(importlib.import_module(f"kgeval.analysis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
