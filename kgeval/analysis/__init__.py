"""Analysis: what the numbers of a rank table mean, and of which of its triples they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval.analysis.answer_sets.answer_sets import AnswerSets as AnswerSets
    from kgeval.analysis.audits.audit import Audit as Audit
    from kgeval.analysis.audits.audit import audit as audit
    from kgeval.analysis.comparison.compare_grid import compare_grid as compare_grid
    from kgeval.analysis.comparison.comparison import Comparison as Comparison
    from kgeval.analysis.comparison.dataset_ranks import DatasetRanks as DatasetRanks
    from kgeval.analysis.comparison.dataset_ranks import rank_models as rank_models
    from kgeval.analysis.comparison.model_grid import ModelGrid as ModelGrid
    from kgeval.analysis.comparison.same_ranks import SameRanks as SameRanks
    from kgeval.analysis.comparison.same_ranks import same_ranks as same_ranks
    from kgeval.analysis.comparison.seed_differences import seed_differences as seed_differences
    from kgeval.analysis.slices.slice import Categories as Categories
    from kgeval.doors.answers import answers_of_ranks as answers_of_ranks

__getattr__, __dir__, __all__ = on_first_use(__name__)
