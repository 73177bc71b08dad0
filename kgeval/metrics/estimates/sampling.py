"""Sampling: what a rank table that has only some triples of a split says of the whole, so that it can be estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from kgeval.metrics.estimates.estimate import Estimate

STRATUM = "stratum"
"""the column of a rank table that has the stratum of each row's triple"""

TYPED = ("typed_greater", "typed_tied")
"""the columns with the counts of each row among the candidates of the right type"""


@dataclass(frozen=True)
class Sampling:
    """How the triples of a table were drawn, and what is known of those that were not.

    >>> print(Sampling(Estimate(error=0.01), counts=(600, 400), sizes=(12_000, 8_000)))
    estimated from 1,000 of 20,000 triples (95 %), stratified by relation
    """

    settings: Estimate
    counts: tuple[int, ...]
    """how many triples of each stratum were drawn"""
    sizes: tuple[int, ...]
    """how many there are"""
    typed_counts: tuple[int, ...] = ()
    """of how many the rank among typed candidates is known; empty where there is no regression on it"""
    typed_means: tuple[tuple[float, ...], ...] = ()
    """the means of the auxiliary values of those; [stratum][value]"""

    @property
    def method(self) -> str:
        """The estimator."""
        if not self.typed_counts:
            return "stratified by relation"
        known = sum(self.typed_counts)
        return f"stratified by relation, regression on the rank among typed candidates ({known:,} triples)"

    @property
    def num_triples(self) -> int:
        """How many triples the split has."""
        return sum(self.sizes)

    @property
    def num_ranked(self) -> int:
        """How many of them were ranked."""
        return sum(self.counts)

    def without_regression(self) -> Sampling:
        """What it says of some of its rows: a regression takes all of them."""
        return replace(self, typed_counts=(), typed_means=())

    def describe(self) -> dict[str, Any]:
        """Return the block of ``metrics.json``."""
        settings = self.settings.model_dump(mode="json", include={"level", "error", "metric", "seed"})
        return {"n": self.num_ranked, "of": self.num_triples, "method": self.method, **settings}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in the metadata of a rank table."""
        return {**asdict(replace(self, settings=None)), "settings": self.settings.model_dump(mode="json")}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Sampling:
        """Read plain data; whatever cannot be read raises."""
        return cls(
            Estimate(**content["settings"]),
            tuple(map(int, content["counts"])),
            tuple(map(int, content["sizes"])),
            tuple(map(int, content["typed_counts"])),
            tuple(tuple(map(float, means)) for means in content["typed_means"]),
        )

    def __str__(self) -> str:
        triples = f"{self.num_ranked:,} of {self.num_triples:,} triples"
        return f"estimated from {triples} ({100 * self.settings.level:g} %), {self.method}"
