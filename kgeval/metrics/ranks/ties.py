"""Tie policies: the rank of an answer that ties with other candidates.

Each policy is a :class:`TiePolicy` here, or in an installed package; ``tie_policy`` finds one by its name.
:class:`Ranks` calls its function ``rank``. Several models in a table share a policy: ``common_ties`` chooses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.base.notes import Note
from kgeval.base.registries import by_name, load_entry_points
from kgeval.base.tables.shown import Brief
from kgeval.metrics.metric import NoExpectation, check_name


@dataclass(frozen=True, eq=False, repr=False)
class TiePolicy(Brief):
    """A tie policy: its name, what ``kgeval list metrics`` prints of it, and its function.

    An answer that ties with others may have any rank from a = 1 + greater to b = 1 + greater + tied.

    Raises
    ------
    MetricError
        if its name cannot be the prefix of a metric's name

    Examples
    --------
    >>> thirds = TiePolicy("thirds", rank=lambda optimistic, pessimistic, draws: (2 * optimistic + pessimistic) / 3)
    >>> thirds.rank(np.array([1]), np.array([4]), np.zeros(1))
    array([2.])
    """

    name: str
    rank: Callable[[IntArray, IntArray, Float64Array], Float64Array]
    """(a, b, draws) -> ranks from a to b; draws are uniform on [0, 1), zeros unless ``random``; [row] each"""
    title: str = ""
    formula: str = "—"
    """the formula of the rank, which is from a to b"""
    source: str = "—"
    random: bool = False
    """whether the rank depends on the draws, and so on the seed"""
    undefined: str = "never"

    def __post_init__(self) -> None:
        check_name("tie policy", self.name)


Ties = str | TiePolicy
"""a tie policy, or the name of one"""


def _untied(optimistic: IntArray, pessimistic: IntArray) -> Float64Array:
    """Return the ranks if nothing ties: the policy ``expected`` has no single rank for a tie."""
    if (optimistic < pessimistic).any():
        raise NoExpectation("its expectation over ties has no closed form; choose another tie policy")
    return optimistic.astype(np.float64)


def _policy(
    name: str, text: str, rank: Callable[..., Float64Array], *, source: str = "Berrendorf et al., 2020", **further: Any
) -> TiePolicy:
    """Make a tie policy; ``text`` is "title: formula"."""
    title, _, formula = text.partition(": ")
    return TiePolicy(name, rank, title, formula, source, **further)


OPTIMISTIC = _policy("optimistic", "the best of the tied ranks: a = 1 + greater", lambda a, _, __: a.astype(np.float64))
REALISTIC = _policy("realistic", "the mean of the tied ranks, such as 2.5: (a + b) / 2", lambda a, b, _: (a + b) / 2)

ROUNDED = _policy(
    "rounded",
    "the mean of the tied ranks, rounded up: ⌈(a + b) / 2⌉",
    lambda a, b, _: np.ceil((a + b) / 2),
    source="Broscheit et al., 2020 (LibKGE)",
)

ROUNDED_DOWN = _policy(
    "rounded-down",
    "the mean of the tied ranks, rounded down: ⌊(a + b) / 2⌋",
    lambda a, b, _: np.floor((a + b) / 2),
    source="Lee et al., 2023 (InGram)",
)

PESSIMISTIC = _policy(
    "pessimistic", "the worst of the tied ranks: b = 1 + greater + tied", lambda _, b, __: b.astype(np.float64)
)

EXPECTED = _policy(
    "expected",
    "the exact mean of the metric over all orders of the ties: Σ metric(r) / (b − a + 1) over r = a … b",
    lambda a, b, _: _untied(a, b),
    source="Sun et al., 2020",
    undefined="a tie, where there is no closed form: median, inverse-median, std, mad, imr, hmr",
)

RANDOM = _policy(
    "random",
    "a random one of the tied ranks, decided by the seed and the triple: a + ⌊u (b − a + 1)⌋, u uniform on [0, 1)",
    lambda a, b, u: np.asarray(a + np.floor(u * (b - a + 1)), np.float64),
    source="Sun et al., 2020",
    random=True,
)

OWN = {it.name: it for it in (OPTIMISTIC, REALISTIC, ROUNDED, ROUNDED_DOWN, PESSIMISTIC, EXPECTED, RANDOM)}


def tie_policy(ties: Ties) -> TiePolicy:
    if isinstance(ties, TiePolicy):
        return ties
    if isinstance(ties, str) and ties in OWN:  # without loading packages, which may need modules still being imported
        return OWN[ties]
    refuse_unknown("unknown tie policy", ties, tie_policies(), MetricError)
    return tie_policies()[ties]


@cache
def tie_policies() -> dict[str, TiePolicy]:
    return by_name("tie policies", [*OWN.values(), *load_entry_points("kgeval.tie_policies", TiePolicy)])


def common_ties(policies: Iterable[Ties]) -> Ties:
    """Choose the tie policy of a table of several models: the one of all models or, if they differ, ``expected``.

    The exact mean over all orders favours no model; without ties it is the same number under every policy.

    >>> common_ties(["realistic", "realistic"]), common_ties(["realistic", "expected"]), common_ties([])
    ('realistic', 'expected', 'expected')
    """
    distinct = {tie_policy(ties).name: ties for ties in policies}
    return next(iter(distinct.values())) if len(distinct) == 1 else EXPECTED.name


def note_on_ties(policies: Iterable[Ties], shown: Ties) -> Iterator[str]:
    """Warn that runs have different tie policies, and name the policy of the table.

    >>> [note.partition(": ")[2] for note in note_on_ties(["realistic", "expected"], "expected")]
    ["all numbers here use the tie policy 'expected'. --ties sets another."]
    >>> [*note_on_ties(["expected", "expected"], "expected")]
    []
    """
    distinct = list(dict.fromkeys(tie_policy(ties).name for ties in policies))
    if len(distinct) > 1:
        here = f"all numbers here use the tie policy {tie_policy(shown).name!r}. --ties sets another."
        yield Note("ties", f"the runs have different tie policies ({', '.join(distinct)}): {here}")


def note_on_missing(ties: str, used: Ties) -> Note:
    """Say that no installed package has the tie policy of a stored run, and which one its numbers have here.

    >>> note_on_missing("thirds", "realistic").split(". ")[1]
    "'realistic' is used instead; the numbers under 'thirds' are in the run's metrics.json"
    """
    instead = f"{tie_policy(used).name!r} is used instead; the numbers under {ties!r} are in the run's metrics.json"
    return Note("ties", f"unknown here: the tie policy {ties!r}. {instead}. Install the package that has it.")


def uniform(seed: int, *keys: IntArray) -> Float64Array:
    """Draw a number from [0, 1) for each row, for random ties; float64[row].

    It is a function of the seed and of the row's keys, by SplitMix64 (Steele, Lea and Flood, 2014): a triple has the
    same draw in every table.

    >>> first, second = np.array([3, 4]), np.array([0, 0])
    >>> bool((uniform(7, first, second)[::-1] == uniform(7, first[::-1], second)).all())
    True
    """
    state = np.zeros(len(keys[0]), np.uint64) + np.uint64(seed % 2**64)
    for key in keys:
        state = _mix(_mix(state) + key.astype(np.uint64))
    return np.asarray((_mix(state) >> np.uint64(11)) * 2.0**-53, np.float64)


def _mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Take one step of SplitMix64; uint64[row]."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
