"""kgeval inside PyKEEN: the evaluator ``"kgeval"``, which this import registers, and ``evaluate`` for live models.

import kgeval.pykeen
pipeline(dataset="umls", model="ComplEx", evaluator="kgeval")

Without this import PyKEEN does not know the name, and raises a KeyError.
"""

from __future__ import annotations

import importlib.metadata
import re
import warnings

from kgeval.base.extras import refuse_missing

refuse_missing("kgeval.pykeen needs", "pykeen")

TESTED = ((1, 11, 1), (1, 12))
"""the first version of PyKEEN that is tested, and the first version after it that is not"""


def warn_of_untested(version: str | None = None) -> None:
    """Warn of a PyKEEN that the plug-in was not tested with; by default of the installed one.

    >>> warn_of_untested("1.11.1")
    """
    try:
        present = version or importlib.metadata.version("pykeen")
    except importlib.metadata.PackageNotFoundError:  # a source folder on the path
        present = "unknown"
    numbers = tuple(int(number) for number in re.findall(r"\d+", present)[:3])
    if not TESTED[0] <= numbers < TESTED[1]:
        first, last = (".".join(map(str, bound)) for bound in TESTED)
        warnings.warn(
            f"kgeval.pykeen was tested with PyKEEN {first} to {last}; this is {present}. Check one evaluation against "
            "evaluator='rankbased'.",
            stacklevel=3,
        )


warn_of_untested()  # before anything is taken from a PyKEEN that may not have it

from pykeen.evaluation import evaluator_resolver  # noqa: E402

from kgeval.pykeen.evaluator import KGEvalEvaluator, evaluate  # noqa: E402
from kgeval.pykeen.results import KGEvalMetricResults  # noqa: E402
from kgeval.pykeen.scoring import scorer_of  # noqa: E402

__all__ = ["KGEvalEvaluator", "KGEvalMetricResults", "evaluate", "scorer_of"]


def __dir__() -> list[str]:
    return __all__


evaluator_resolver.register(KGEvalEvaluator, raise_on_conflict=False)
