"""kgeval inside PyKEEN: the evaluator ``"kgeval"``, which this import registers, and ``evaluate`` for live models.

import kgeval.pykeen
pipeline(dataset="umls", model="ComplEx", evaluator="kgeval")

Without this import PyKEEN refuses the name with a KeyError of its own: it looks for evaluators nowhere else.
"""

from __future__ import annotations

from kgeval.pykeen.versions import warn_of_untested

warn_of_untested()  # before anything is taken from a PyKEEN that may not have it

from pykeen.evaluation import evaluator_resolver  # noqa: E402

from kgeval.pykeen.evaluate_model import evaluate  # noqa: E402
from kgeval.pykeen.evaluator import KGEvalEvaluator  # noqa: E402
from kgeval.pykeen.metric_results import KGEvalMetricResults  # noqa: E402
from kgeval.pykeen.scoring import scorer_of  # noqa: E402

__all__ = ["KGEvalEvaluator", "KGEvalMetricResults", "evaluate", "scorer_of"]

evaluator_resolver.register(KGEvalEvaluator, raise_on_conflict=False)
