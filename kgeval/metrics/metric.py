"""The declaration of a metric, the registry of all metrics, and why a metric may have no value.

A file in ``ranks``, ``lists`` or ``labels`` declares a metric by ``declared`` or ``measured``; ``metrics()`` finds each
:class:`Metric`, also those of installed packages, by its name. ``names.py`` reads a whole name, as in ``head.hits@10``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, SupportsIndex, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError
from kgeval.base.registries import by_name, instances, load_entry_points
from kgeval.base.tables.shown import Brief
from kgeval.metrics.kinds import Needs

Cutoff = Literal["none", "optional", "required"]
T = TypeVar("T")
DIGITS = 18

LARGEST_CUTOFF = 10**DIGITS - 1
"""so large that its sum with a count fits into int64"""

ROUNDING = 1e-9
"""how far rounding may take a mean of billions of values beyond an end of its range, as a share of the end or of 1"""

EXPECTED_TIES = "expected ties"
"""the words in ``undefined`` of a metric whose expectation over ties has no closed form"""


class Variants(NamedTuple):
    """The metrics whose names extend a metric's name by parameters, as hits@10_50 extends hits."""

    example: str
    """the name of one variant"""
    pattern: str
    """a regular expression for the names of the variants: its first group is the extension, the group k the cut-off"""
    make: Callable[[str], Metric]
    """extension -> the metric, the same object each time"""


@dataclass(frozen=True, eq=False, repr=False)
class Metric(Brief):
    """A metric: its description (see ``kgeval list metrics``), and the function that computes it.

    Raises
    ------
    MetricError
        if its name has other characters than lower-case letters, digits, - and _

    Examples
    --------
    >>> import kgeval
    >>> best = kgeval.Metric(
    ...     "best-rank", "best rank", "min r", "—", lowest=1, highest=math.inf, increasing=False,
    ...     compute=lambda ranks, k: ranks.values.min(), averaged=False,
    ... )
    >>> kgeval.summarize(kgeval.evaluate(lambda h, r, t: h + t, "nations"), [best])["best-rank"]
    1.0
    """

    name: str
    title: str
    formula: str
    source: str
    lowest: float
    """the lower end of its range, which it may only approach"""
    highest: float
    increasing: bool | None
    """whether larger is better; ``None`` if it does not measure quality"""
    compute: Callable[[Any, int], float]
    """(input, cut-off or 0) -> value; the input is :class:`kgeval.metrics.ranks.ranks.Ranks`, or what ``needs`` says"""
    needs: Needs = "ranks"
    cutoff: Cutoff = "none"
    """whether its name takes ``@k``"""
    averaged: bool = True
    """whether it is a mean over answers: ``compute`` then has to take the mean by ``ranks.mean``, which applies the
    weights of the averages macro, relation and strat"""
    synonyms: tuple[str, ...] = ()
    """other names, such as PyKEEN's; ``{k}`` is the cut-off"""
    undefined: str = "no ranks"
    """the cases in which it has no value"""
    variants: Variants | None = None
    """the metrics whose names extend its name, such as hits@10_50; ``None`` if there are none"""
    shape: str = ""
    """of such a variant: how its name is formed, such as hits@k_n; empty for all other metrics"""
    pair: tuple[int, int] | None = None
    """the k and n of hits@k_n"""

    def __post_init__(self) -> None:
        if not self.shape:
            check_name("metric", self.name)

    def __call__(self, data: Any, *, k: int = 0) -> float:
        try:
            value = self.compute(data, k)
        except NoExpectation as reason:
            if EXPECTED_TIES in self.undefined:
                raise
            how = "where ranks.ties is 'expected', the mean over the ranks from 1 + greater to 1 + greater + tied"
            what = "it declares no expectation over ties; choose another tie policy, or let its function return"
            raise Undefined(f"{what}, {how}") from reason
        if not isinstance(value, float | int | np.number):
            raise MetricError(f"metric {self.name!r}: expected a number, found {value!r:.100}.")
        found = self.bounded(value if isinstance(value, int) else float(value))
        # Metrics that compute groups too, as kgeval's do, are trusted: AMRI may be below −1 if chance is not exact.
        if not (self.lowest <= found <= self.highest or isinstance(self.compute, OfGroups)):
            declared = f"its declared range goes from {self.lowest:g} to {self.highest:g}"
            raise MetricError(f"metric {self.name!r}: the value is {found}, but {declared}. Correct one of them.")
        return found

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Pickle a metric of the registry by its name, since its functions may be local functions."""
        key = self.needs, self.name, self.shape
        return (_registered, key) if _registered(*key) is self else super().__reduce_ex__(protocol)

    def at(self, k: int) -> Metric:
        """Return the metric with a fixed cut-off, for use as an object.

        Raises
        ------
        MetricError
            if it has no cut-off, or ``k`` is not a whole number from 1

        Examples
        --------
        >>> metrics()["hits"].at(3).title
        'hits at k, k = 3'
        """
        if self.cutoff == "none":
            raise MetricError(f"metric {self.name!r} has no cut-off.")
        k, of = checked_cutoff(k), self.compute
        name, title = f"{self.name}-at-{k}", f"{self.title}, k = {k}"
        return replace(
            self, name=name, title=title, cutoff="none", synonyms=(), variants=None, compute=lambda data, _: of(data, k)
        )

    @property
    def of_differences(self) -> Metric:
        """The metric as a difference of two of its values, with the range from lowest − highest to highest − lowest."""
        reach = self.highest - self.lowest
        return replace(self, lowest=-reach, highest=reach)

    def bounded(self, value: float) -> float:
        """Return a value of the metric; one that exceeds the range by a rounding error becomes the end of the range.

        >>> metrics()["ndcg"].bounded(1.0000000000000002)
        1.0

        Raises
        ------
        Undefined
            if it is infinite or NaN
        """
        if not math.isfinite(value):
            raise Undefined("its value is not finite in float64")
        if self.lowest <= value <= self.highest:
            return value
        end = float(min(max(value, self.lowest), self.highest))
        return end if abs(value - end) <= ROUNDING * max(1, abs(end)) else value

    def named(self, text: str) -> tuple[Metric, int] | None:
        """Read one of the metric's names, and return the metric and the cut-off, or 0; ``None`` for any other text.

        Raises
        ------
        MetricError
            if the text is almost the name of a variant, such as hits@50_10

        Examples
        --------
        >>> [metrics()["hits"].named(text) for text in ("hits@10", "hits@10_50", "map")]
        [(Metric(hits), 10), (Metric(hits@10_50), 0), None]
        """
        for spelling in self.spellings():
            shape = re.escape(spelling).replace(r"\{k\}", "([1-9][0-9]*)")
            if match := re.fullmatch(shape, text, re.ASCII):
                k = match[1] if match.groups() else "0"
                return (self, int(k)) if len(k) <= DIGITS else None
        match = re.fullmatch(self.variants.pattern, text, re.ASCII) if self.variants else None
        return (self.variants.make(match[1]), int(match["k"] or 0)) if self.variants and match else None

    def spellings(self) -> list[str]:
        """List the metric's names, first the one that results use; ``{k}`` is the cut-off."""
        names = []
        for name in (self.name, *self.synonyms):
            if "{k}" in name or self.cutoff == "none":
                names.append(name)
            else:
                names += [f"{name}@{{k}}"] if self.cutoff == "required" else [name, f"{name}@{{k}}"]
        return names


@cache
def metrics(*needs: Needs) -> dict[str, Metric]:
    """Return all metrics of some inputs by name; by default those of rank tables: ranks and lists.

    Names are unique among the metrics of rank tables, of labels, and of confidences: ``f1@10`` of a list is not
    the ``f1`` of triple classification.
    """
    needs = needs or ("ranks", "lists")
    every = [*instances("kgeval.metrics", Metric), *load_entry_points("kgeval.metrics", Metric)]
    return by_name("metrics", [metric for metric in every if metric.needs in needs])


def _registered(needs: Needs, name: str, shape: str) -> Metric | None:
    known = metrics(needs)
    variants = (one.named(name) for one in known.values() if shape and one.variants)
    return next((found[0] for found in variants if found), known.get(name))


def declared(names: str, text: str, compute: Callable[[Any, int], float], **fields: Any) -> Metric:
    """Declare a metric by ``"name synonym …"`` and ``"title: formula"``; by default from 0 to 1, larger is better."""
    name, *others = names.split()
    title, _, formula = text.partition(": ")
    fields = {"lowest": 0, "highest": 1, "increasing": True, **fields}
    return Metric(name, title, formula, compute=compute, synonyms=tuple(others), **fields)


def measured(names: str, text: str, **further: Any) -> Callable[[Callable[[Any], float]], Metric]:
    """Declare a metric by decorating the function that computes it from its input, without a cut-off."""
    return lambda function: declared(names, text, lambda data, _: function(data), **further)


@runtime_checkable
class OfGroups(Protocol):
    """A metric's function that can compute many groups at once."""

    def of_groups(self, data: Any, starts: IntArray, k: int) -> npt.NDArray[Any]:
        """Compute the metric of each group; [group], not finite where the metric is undefined.

        ``starts`` are the first row, or list, of each group; int64[group].
        """


class Undefined(MetricError):
    """A metric has no value on this input; the message says why."""


class NoExpectation(Undefined):
    """The tie policy is ``expected``, answers tie, and the metric reads single ranks."""


def defined(values: T | Undefined) -> T:
    """Return values, or raise the reason why there are none."""
    if isinstance(values, Undefined):
        raise values
    return values


def or_reason(compute: Callable[[], T]) -> T | Undefined:
    """Compute something, or return why it is undefined."""
    try:
        return compute()
    except Undefined as reason:
        return reason


def checked_cutoff(k: int) -> int:
    """Check a cut-off: a whole number from 1 and below 10¹⁸."""
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not whole or not 1 <= k <= LARGEST_CUTOFF:
        found = repr(k) if not whole or abs(k) <= LARGEST_CUTOFF else "one far beyond"
        raise MetricError(f"the cut-off k must be a whole number from 1 and below 10¹⁸, found {found}.")
    return int(k)


def check_name(kind: str, name: str) -> None:
    """Refuse a name that cannot be part of ``[side.][ties.][average.]name[@k]``."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9_-]+", name):
        raise MetricError(f"{kind} {name!r}: a name has lower-case letters, digits, - and _, such as 'my-metric'.")
