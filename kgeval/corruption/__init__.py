"""Corruptions: the rules that choose the candidates of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

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

__getattr__, __dir__, __all__ = on_first_use(__name__)
