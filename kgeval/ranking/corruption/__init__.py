"""Corruptions: the rules that choose the candidates of a query, the entities that are ranked with its answer.

Some candidates are drawn (``drawn``), some are negatives of a file (``listed``), the others are ``unsampled``. Ranking
asks a ``CorruptionGenerator`` for ``Candidates``; a new one is a subclass in a file of this folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval.ranking.corruption.drawn import DegreeWeighted as DegreeWeighted
    from kgeval.ranking.corruption.drawn import PopularityWeighted as PopularityWeighted
    from kgeval.ranking.corruption.drawn import Uniform as Uniform
    from kgeval.ranking.corruption.generator import CorruptionGenerator as CorruptionGenerator
    from kgeval.ranking.corruption.listed import FileNegatives as FileNegatives
    from kgeval.ranking.corruption.listed import OGBNegatives as OGBNegatives
    from kgeval.ranking.corruption.listed import TGBNegatives as TGBNegatives
    from kgeval.ranking.corruption.unsampled import AllEntities as AllEntities
    from kgeval.ranking.corruption.unsampled import CandidateUnion as CandidateUnion
    from kgeval.ranking.corruption.unsampled import EntityList as EntityList
    from kgeval.ranking.corruption.unsampled import TypeConstrained as TypeConstrained

__getattr__, __dir__, __all__ = on_first_use(__name__)
