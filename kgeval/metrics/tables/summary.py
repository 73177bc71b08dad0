"""Summaries: metrics of a rank table, by side and by any of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.metric_options import Chance, MetricOptions
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.tables.groups import Group, group_rows, groups_of, summarize_all
from kgeval.metrics.tables.names import PARTS, MetricName, Part, as_name_list, parse
from kgeval.metrics.tables.selection import RankColumns, TableView, rank_columns
from kgeval.provenance import Provenance

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri", "count")
"""the metrics of a summary that names none"""


@dataclass(frozen=True)
class Summary:
    """Metrics of a rank table."""

    provenance: Provenance
    """what the ranks are of"""
    policies: MetricOptions
    """what the numbers rest on, beside the ranks"""
    groups: tuple[Group, ...]
    by: tuple[str, ...] = ()
    requested: tuple[MetricName, ...] = ()
    """the metrics by the names that were given; one without a side is in the groups with each side of the table"""
    table_notes: tuple[str, ...] = ()
    """what a reader of the ranks should know"""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: of the ranks, why numbers are undefined, and where ties decide the result."""
        reasons = {
            f"{name} is undefined: {why}."
            for group in self.groups
            for name, why in group.undefined.items()
            if not _of_other_side(name, group)
        }
        serious = [group.ties for group in self.groups if group.ties.serious]
        told = [str(ties) for ties in serious]
        if self.by and serious:
            told = [
                f"in {len(serious)} of {len(self.groups)} groups the tie policy alone moves the MRR by more than 0.01."
            ]
        return (*self.table_notes, *sorted(reasons), *told)

    def __getitem__(self, name: str) -> float:
        """Look a metric up by any of its names; without a side it is that of ``both``.

        Raises
        ------
        MetricError
            if it was not asked for, if it is undefined, or if the summary is grouped
        """
        if self.by:
            raise MetricError(f"this summary is grouped by {', '.join(self.by)}: look at its .groups or .to_pandas().")
        wanted, usual = parse(name), self.policies.ties
        side, ties = wanted.side or "both", wanted.ties if wanted.ties != usual else None
        group = self.groups[0]
        ties = None if wanted.metric.needs == "lists" else ties
        for spelled in (replace(wanted, side=side, ties=ties), replace(wanted, side=side, ties=usual)):
            if spelled in group.values:
                value = group.values[spelled]
                if value is None:
                    raise MetricError(f"{name} is undefined: {group.undefined[str(spelled)]}.")
                return value
        raise MetricError(f"the summary does not hold {name!r}. {did_you_mean(name, map(str, group.values))}")

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""
        head = {
            "schema": 1,
            "provenance": self.provenance.to_dict(),
            "split": self.provenance.split,
            "ties": self.policies.ties,
            "num_triples": self.provenance.triples,
            **self._further_policies(),
            "notes": list(self.notes),
        }
        if self.by:
            return {
                **head,
                "by": list(self.by),
                "groups": [{"key": group.key, **_nested(group)} for group in self.groups],
            }
        return {**head, **_nested(self.groups[0])}

    def _further_policies(self) -> dict[str, Any]:
        """The policies that these numbers rest on, beyond those of every summary."""
        names = [name for group in self.groups for name in group.values]
        said: dict[str, Any] = {}
        if any("random" in (self.policies.ties, name.ties) for name in names):
            said["seed"] = self.policies.seed
        if any(name.average == "strat" for name in names):
            said["popularity"] = list(self.policies.popularity_exponents)
        if self.policies.chance != "exact":
            said["chance"] = self.policies.chance
        return said

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per group, one column per metric and side."""
        import pandas as pd

        return pd.DataFrame(
            [{**group.key, **{str(name): value for name, value in group.values.items()}} for group in self.groups]
        )

    def __str__(self) -> str:
        notes = [f"Note: {note}" for note in self.notes]
        return "\n".join([str(self.provenance), "", *(_text(group) for group in self.groups), *notes])


def summarize(
    table: RankColumns,
    metrics: Sequence[str] = DEFAULT,
    *,
    by: str | Sequence[str] = (),
    ties: Ties = "realistic",
    seed: int = 0,
    chance: Chance = "exact",
    popularity: tuple[float, float] = (1.0, 1.0),
) -> Summary:
    """Compute metrics of a rank table.

    Parameters
    ----------
    table
        the ranks
    metrics
        names ``[side.][ties.][average.]name[@k]``; without a side, a metric is computed for every side of the table
        and for both pooled
    by
        the column, or columns, whose values divide the rows into groups, for example ``"relation"``
    ties
        the tie policy of metrics that name none
    seed
        of random ties
    chance
        what random ranking, which adjusted metrics and z-scores compare with, ranks among: ``"exact"``, all N
        candidates with the answer; ``"without-answer"``, N − 1, which takes AMRI and AMRR below −1 where the last of
        few candidates is the answer
    popularity
        the exponents (βe, βr) of the frequencies, in the table, of answer and relation that ``strat`` metrics weigh
        against, from −10 to 10

    Raises
    ------
    MetricError
        if names, columns or policies are unknown (all wrong names in one message), or a side was not evaluated

    Examples
    --------
    >>> from kgeval import evaluate, load_dataset
    >>> table = evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, load_dataset("nations"))
    >>> summary = summarize(table, ["mrr", "head.hits@3", "map", "map@3"], ties="expected")
    >>> summary["mrr"] == summary["both.expected.mean_reciprocal_rank"]
    True
    >>> summary["map"] > summary["map@3"]
    True
    >>> summary.groups[0].ties.tied, summary.groups[0].ties.largest  # and summary.notes says what that does
    (284, 2)
    """
    policies = MetricOptions(ties, seed, chance, popularity)
    names = _parsed(metrics)
    source = TableView(rank_columns(table), policies)
    parts = [part for part in PARTS if part == "both" or (source.sides == part).any()]
    for name in names:
        if name.side and name.side not in parts:
            raise MetricError(f"{name}: the table has no {name.side} ranks.")
    spelled = list(dict.fromkeys(replace(name, side=part) for name in names for part in _parts(name, parts)))
    columns = _columns(by)
    groups = groups_of(group_rows(table, columns), spelled, source) if columns else [summarize_all(spelled, source)]
    return Summary(
        table.provenance, policies, tuple(groups), columns, requested=tuple(names), table_notes=tuple(table.notes)
    )


def _parsed(metrics: Sequence[str]) -> list[MetricName]:
    names, problems = [], []
    for text in as_name_list(metrics):
        try:
            names.append(parse(text))
        except MetricError as error:
            problems.append(str(error))
    if problems:
        raise MetricError("\n".join(problems))
    return names


def _columns(by: str | Sequence[str]) -> tuple[str, ...]:
    given = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Iterable) else (by,)
    for name in given:
        if not isinstance(name, str):
            raise MetricError(f"by: groups are named by a column or by several, such as 'relation', found {by!r}.")
    return given


def _parts(name: MetricName, parts: list[Part]) -> list[Part]:
    return [name.side] if name.side else parts


def _of_other_side(name: str, group: Group) -> bool:
    """Whether a metric is one of the side that a group of one side lacks, which is no news."""
    return "side" in group.key and name.startswith(("head.", "tail.")) and not name.startswith(group.key["side"])


def _nested(group: Group) -> dict[str, Any]:
    nested: dict[str, Any] = {"metrics": {}, "tie_diagnosis": group.ties.to_dict()}
    for name, value in group.values.items():
        nested["metrics"].setdefault(name.side, {})[name.base] = value
    return {**nested, "undefined": group.undefined} if group.undefined else nested


def _text(group: Group) -> str:
    title = ", ".join(f"{column} = {value}" for column, value in group.key.items())
    sides = list(dict.fromkeys(name.side or "both" for name in group.values))
    lines = [title] if title else []
    lines.append(f"{'':<20}" + "".join(f"{side:>12}" for side in sides))
    for base, values in group.rows():
        cells = (f"{'' if side not in values else number(values[side]):>12}" for side in sides)
        lines.append(f"{base:<20}" + "".join(cells))
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Print a metric for people: what is counted whole, all else with six digits after the point, however large.

    >>> number(20466), number(1), number(1.0), number(0.3126566306), number(None)
    ('20466', '1', '1.000000', '0.312657', 'undefined')
    >>> number(2e200), number(-1e-9)
    ('2.000000e+200', '0.000000')
    """
    if value is None:
        return "undefined"
    if isinstance(value, int):
        return str(value)
    # Zero has no sign, nor has what is printed as zero.
    return f"{round(value, 6) + 0.0:.6f}" if abs(value) < 1e12 else f"{value:.6e}"
