"""The analysis: what the numbers of a rank table mean, of which of its triples they hold, and which model is better.

``comparison`` tests the differences of models on the same rows, over datasets and seeds; ``slices`` divide rows by what
the dataset says of them; ``audits`` look at a dataset before any model; ``answer_sets`` hold the answer with a chosen
probability.

Called by ``kgeval.reports``, ``kgeval.runs``, the command line and the user. No list names the slices:
``slices.slice.slices()`` finds them, so a new one is a ``Slice`` in a file there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval.analysis.answer_sets.answer_sets import AnswerSets as AnswerSets
    from kgeval.analysis.answer_sets.answers import answers_of_ranks as answers_of_ranks
    from kgeval.analysis.audits.audit import Audit as Audit
    from kgeval.analysis.audits.audit import audit as audit
    from kgeval.analysis.comparison.comparison import Comparison as Comparison
    from kgeval.analysis.comparison.dataset_ranks import DatasetRanks as DatasetRanks
    from kgeval.analysis.comparison.dataset_ranks import rank_models as rank_models
    from kgeval.analysis.comparison.same_ranks import SameRanks as SameRanks
    from kgeval.analysis.comparison.same_ranks import same_ranks as same_ranks
    from kgeval.analysis.slices.slice import Categories as Categories

__getattr__, __dir__, __all__ = on_first_use(__name__)
