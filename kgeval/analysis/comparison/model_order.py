"""The order of models that tests support, in one line: ``A > B ≈ C > D``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

MOST_EXCEPTIONS = 3
"""pairs that a line names, beside what its signs say"""

SIGNS = {"better": ">", "worse": "<", "none": "≈", "": ","}


def order_of(models: Sequence[str], seen: Callable[[str, str], str]) -> str:
    """Write models, the best first, with a sign between neighbours.

    ``seen`` of two models is ``"better"`` (the first is significantly better: ``>``), ``"none"`` (no significant
    difference: ``≈``) or empty (not tested). A ``>`` between two models that are not neighbours means a significant
    difference too; pairs for which this does not hold follow in parentheses.

    >>> better = {("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")}
    >>> order_of("abcd", lambda one, other: "better" if (one, other) in better else "none")
    'a > b ≈ c > d'
    >>> better -= {("c", "d"), ("a", "c")}
    >>> order_of("abcd", lambda one, other: "better" if (one, other) in better else "none")
    'a > b ≈ c ≈ d (but a ≈ c, b > d)'
    """
    signs = [SIGNS[seen(one, other)] for one, other in pairwise(models)]
    line = models[0] if models else ""
    for sign, model in zip(signs, models[1:], strict=True):
        line += f"{'' if sign == ',' else ' '}{sign} {model}"
    unlike = []
    for first, second in combinations(range(len(models)), 2):
        between = signs[first:second]
        said = ">" if ">" in between else "," if "," in between else "≈"
        found = SIGNS[seen(models[first], models[second])]
        if found not in (said, ","):
            unlike.append(f"{models[first]} {found} {models[second]}")
    if not unlike:
        return line
    further = f" and {len(unlike) - MOST_EXCEPTIONS} more pairs" if len(unlike) > MOST_EXCEPTIONS else ""
    return f"{line} (but {', '.join(unlike[:MOST_EXCEPTIONS])}{further})"
