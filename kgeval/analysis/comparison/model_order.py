"""The order of models that tests support, in one line: ``A > B ≈ C > D``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

MOST_EXCEPTIONS = 3
"""pairs that a line names, beside what its signs say"""

SIGNS = {"better": ">", "worse": "<", "none": "≈", "": ","}


def order_of(models: Sequence[str], seen: Callable[[str, str], str]) -> str:
    """Write models, the best first, with what the test of each two neighbours saw, and then what this leaves open.

    ``seen`` says of two models whether the first is seen to be ``"better"``, ``"none"`` where no difference is seen,
    and nothing where it was not tested. Of two models that are not neighbours, the line says that a difference is seen
    where it has a ``>`` between them; pairs of which that is not so are named behind it.

    >>> better = {("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")}
    >>> order_of("abcd", lambda one, other: "better" if (one, other) in better else "none")
    'a > b ≈ c > d'
    >>> better -= {("c", "d"), ("a", "c")}
    >>> order_of("abcd", lambda one, other: "better" if (one, other) in better else "none")
    'a > b ≈ c ≈ d (and a ≈ c, b > d)'
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
    return f"{line} (and {', '.join(unlike[:MOST_EXCEPTIONS])}{further})"
