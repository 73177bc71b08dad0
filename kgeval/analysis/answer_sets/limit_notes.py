"""Notes on limits: where sets are all candidates, which groups were pooled, and what the guarantee rests on."""

from __future__ import annotations

from collections.abc import Iterator

from kgeval.analysis.answer_sets.conformal_limits import CalibratedLimits
from kgeval.ranking.rank_table import RankTable


def notes_on_filter(test: RankTable) -> Iterator[str]:
    """Say where the filter treats validation and test unlike, which the guarantee does not allow."""
    if test.filter is not None and ("valid" in test.filter) != ("test" in test.filter):
        yield (
            f"the filter knows {', '.join(test.filter)}: it takes other answers out of validation and test queries "
            "unlike, and the coverage is guaranteed only where both are treated alike. Name both, or neither."
        )


def notes_on_limits(limits: CalibratedLimits, per: tuple[str, ...], coverage: float) -> Iterator[str]:
    """Say which groups were pooled, and whose sets are all candidates."""
    what = " and ".join(per)
    for group in limits.of_groups:
        if group.pooled:
            yield (
                f"{group.pooled} of {group.pooled + len(limits.of_groups) - 1} groups by {what} have too few valid "
                f"triples for a coverage of {coverage:g}; their {group.valid} valid ranks and {group.test} test ranks "
                "were calibrated together."
            )
        if group.limit == float("inf"):
            yield (
                f"{group.valid} valid ranks {'in that pool ' if group.pooled else ''}are too few, or too many of their "
                f"answers have no finite nonconformity, for a coverage of {coverage:g}: the sets of {group.test} test "
                "ranks are all candidates."
            )
