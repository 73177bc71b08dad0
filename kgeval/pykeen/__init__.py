"""At home in PyKEEN: importing this registers the evaluator ``"kgeval"``, and ``evaluate`` takes a live model.

import kgeval.pykeen
pipeline(dataset="umls", model="ComplEx", evaluator="kgeval")
"""

from __future__ import annotations

from pykeen.evaluation import evaluator_resolver

from kgeval.pykeen.evaluator import KGEvalEvaluator
from kgeval.pykeen.once import evaluate
from kgeval.pykeen.results import KGEvalMetricResults
from kgeval.pykeen.scoring import scorer_of
from kgeval.pykeen.versions import warn_of_untested

__all__ = ["KGEvalEvaluator", "KGEvalMetricResults", "evaluate", "scorer_of"]

warn_of_untested()
evaluator_resolver.register(KGEvalEvaluator, raise_on_conflict=False)
