"""Corruptions: the rules that choose the candidates of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.discovery import on_first_use

if TYPE_CHECKING:
    from kgeval.corruption.generator import CorruptionGenerator as CorruptionGenerator
    from kgeval.corruption.limited import DegreeWeighted as DegreeWeighted
    from kgeval.corruption.limited import FileNegatives as FileNegatives
    from kgeval.corruption.limited import OGBNegatives as OGBNegatives
    from kgeval.corruption.limited import PopularityWeighted as PopularityWeighted
    from kgeval.corruption.limited import Uniform as Uniform
    from kgeval.corruption.union import CandidateUnion as CandidateUnion
    from kgeval.corruption.unsampled import AllEntities as AllEntities
    from kgeval.corruption.unsampled import EntityList as EntityList
    from kgeval.corruption.unsampled import TypeConstrained as TypeConstrained

_NAMES = {
    "corruption.generator": "CorruptionGenerator",
    "corruption.limited": "DegreeWeighted FileNegatives OGBNegatives PopularityWeighted Uniform",
    "corruption.union": "CandidateUnion",
    "corruption.unsampled": "AllEntities EntityList TypeConstrained",
}
"""the public names of each module"""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOMES)  # noqa: PLE0605

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
