"""The corruptions, by their public names; ``kgeval.ranking.corruption`` declares them."""

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval.ranking.corruption import AllEntities as AllEntities
    from kgeval.ranking.corruption import CandidateUnion as CandidateUnion
    from kgeval.ranking.corruption import CorruptionGenerator as CorruptionGenerator
    from kgeval.ranking.corruption import DegreeWeighted as DegreeWeighted
    from kgeval.ranking.corruption import EntityList as EntityList
    from kgeval.ranking.corruption import FileNegatives as FileNegatives
    from kgeval.ranking.corruption import OGBNegatives as OGBNegatives
    from kgeval.ranking.corruption import PopularityWeighted as PopularityWeighted
    from kgeval.ranking.corruption import TGBNegatives as TGBNegatives
    from kgeval.ranking.corruption import TypeConstrained as TypeConstrained
    from kgeval.ranking.corruption import Uniform as Uniform

__getattr__, __dir__, __all__ = on_first_use(__name__)
