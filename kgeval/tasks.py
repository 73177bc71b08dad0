"""The tasks on labelled triples, by their public names; ``kgeval.ranking.tasks`` has them."""

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval.ranking.tasks.classification import Classification as Classification
    from kgeval.ranking.tasks.confidences import Confidences as Confidences
    from kgeval.ranking.tasks.label_table import LabelTable as LabelTable
    from kgeval.ranking.tasks.labelled_split import GeneratedNegatives as GeneratedNegatives
    from kgeval.ranking.tasks.labelled_split import NegativesFromFiles as NegativesFromFiles

__getattr__, __dir__, __all__ = on_first_use(__name__)
