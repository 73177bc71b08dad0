"""Comparisons: the same metrics of several models side by side, if they ranked the same triples in the same way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.metric import Metric
from kgeval.metrics.metric_options import Chance, MetricOptions
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.tables.names import parse
from kgeval.metrics.tables.rank_summary import DEFAULT, RankSummary, rank_summary
from kgeval.metrics.tables.rendering import as_html, as_text, number
from kgeval.metrics.tables.selection import RankColumns, refuse_other_tables
from kgeval.provenance import UNKNOWN, Provenance

if TYPE_CHECKING:
    import pandas as pd

ALIKE = ("dataset", "split", "protocol", "filter", "candidates")
"""what the provenances of models must share, so that their metrics compare"""

TRIPLES = "triples"
"""what else they must share: the triples and sides that were ranked"""


@dataclass(frozen=True)
class Comparison:
    """Summaries of several models, by the models' names."""

    summaries: Mapping[str, RankSummary]
    notes: tuple[str, ...] = ()
    """how the models' ranks differ, so that their metrics do not compare, or may not"""

    def best(self, name: str | Metric) -> str:
        """Name the model that is best by a metric (the first of equals).

        Raises
        ------
        MetricError
            if the metric says nothing about quality, was not requested, or is undefined for a model
        """
        requested = next(iter(self.summaries.values())).requested
        increasing = parse(name, also=[one.metric for one in requested]).metric.increasing
        if increasing is None:
            raise MetricError(f"{getattr(name, 'name', name)} says nothing about which model is better.")
        sign = 1 if increasing else -1
        return max(self.summaries, key=lambda model: sign * self.summaries[model][name])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns, and a row of cells for each model.

        A metric that was requested with a side has its column, one without a side that of ``both``.
        """
        names = next(iter(self.summaries.values())).requested_columns
        columns = ["model", *(name.base if name.side == "both" else str(name) for name in names)]
        values = {model: summary.groups[0].values for model, summary in self.summaries.items()}
        return columns, [[model, *(number(own[name]) for name in names)] for model, own in values.items()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the content of each model's ``metrics.json``, and the notes on all of them."""
        models = {model: summary.to_dict() for model, summary in self.summaries.items()}
        return {"models": models, "notes": list(self.notes)}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model, one column per metric and side."""
        import pandas as pd

        rows = [
            {"model": model, **row} for model, s in self.summaries.items() for row in s.to_frame().to_dict("records")
        ]
        return pd.DataFrame(rows).set_index("model")

    def __str__(self) -> str:
        return as_text(self._heads(), *self.table(), self.notes)

    def _repr_html_(self) -> str:
        return as_html(self._heads(), *self.table(), self.notes)

    def _heads(self) -> list[str]:
        return [f"{model}: {summary.provenance}" for model, summary in self.summaries.items()]


def compare(
    tables: Mapping[str, RankColumns],
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT,
    *,
    ties: Ties = "realistic",
    seed: int = 0,
    chance: Chance = "exact",
    popularity: tuple[float, float] = (1.0, 1.0),
    allow: str | Collection[str] = (),
) -> Comparison:
    """Summarise several models that ranked the same triples in the same way.

    Parameters
    ----------
    tables
        the ranks, by the models' names
    metrics, ties, seed, chance, popularity
        as :func:`summarize` takes them
    allow
        how the ranks may differ nevertheless, which the notes then say: ``"dataset"``, ``"split"``,
        ``"protocol"``, ``"filter"``, ``"candidates"`` or ``"triples"``; other datasets and splits have other triples

    Raises
    ------
    MetricError
        if there are no tables; if they rank other triples and sides, or by another protocol, filter or choice of
        candidates, with what differs

    Examples
    --------
    >>> from kgeval import evaluate, load_dataset
    >>> from kgeval.corruption import Uniform
    >>> data = load_dataset("nations")
    >>> def add(h, r, t):
    ...     return h + t
    >>> full, sampled = evaluate(add, data), evaluate(add, data, corruption=Uniform(count=5))
    >>> list(compare({"sum": full, "constant": evaluate(lambda h, r, t: h * 0, data)}, ["mrr"]).summaries)
    ['sum', 'constant']
    >>> compare({"full": full, "sampled": sampled})
    Traceback (most recent call last):
    kgeval.errors.MetricError: these ranks do not compare.
    candidates: all 14 entities in full; 5 uniform (seed 0) in sampled
    Rank them alike, or allow it: compare(…, allow=['candidates']).
    """
    if not isinstance(tables, Mapping) or not tables:
        raise MetricError('nothing to compare: give at least one table with a name, as in {"complex": table}.')
    for table in tables.values():
        refuse_other_tables(table)
    allowed = list(allow) if isinstance(allow, Collection) and not isinstance(allow, str) else [allow]
    for name in allowed:
        if name not in (*ALIKE, TRIPLES):
            raise MetricError(f"allow: ranks do not differ in {name!r}. {did_you_mean(str(name), [*ALIKE, TRIPLES])}")
    provenances = {model: table.provenance for model, table in tables.items()}
    differences = _differences(provenances)
    if not differences.keys() & {"dataset", "split"}:  # whose triples are others, which need not be said again
        differences = {**_other_ranks(tables), **differences}
    if refused := [field for field in differences if field not in allowed]:
        listed = "\n".join(f"{field}: {differences[field]}" for field in refused)
        raise MetricError(
            f"these ranks do not compare.\n{listed}\nRank them alike, or allow it: compare(…, allow={refused})."
        )
    notes = [f"these metrics do not compare: {field}: {difference}." for field, difference in differences.items()]
    options = MetricOptions(ties, seed, chance, popularity)
    summaries = {model: rank_summary(table, metrics, by=(), options=options) for model, table in tables.items()}
    return Comparison(summaries, (*notes, *_notes_on_unknowns(provenances)))


def _differences(provenances: Mapping[str, Provenance]) -> dict[str, str]:
    """Say in which fields ranks differ, and which models have which value; an unknown value differs from none."""
    found = {}
    for field in ALIKE:
        whose: dict[str, list[str]] = {}
        for model, provenance in provenances.items():
            value = _value(provenance, field)
            same = (other for other in whose if field == "dataset" and _bare(other) == _bare(value))
            if value != UNKNOWN:
                whose.setdefault(next(same, value), []).append(model)
        if len(whose) > 1:
            found[field] = "; ".join(f"{value} in {' and '.join(models)}" for value, models in whose.items())
    return found


def _other_ranks(tables: Mapping[str, RankColumns]) -> dict[str, str]:
    """Say which models ranked other triples and sides or, if their candidates are unknown, other numbers of them."""
    (first, table), *others = tables.items()
    tasks = _tasks(table)
    strangers, unlike = [], []
    for model, other in others:
        own = _tasks(other)
        if own.keys() != tasks.keys():
            strangers.append(model)
        elif own != tasks:
            unlike.append(model)
    if strangers:
        return {TRIPLES: f"{', '.join(strangers)} and {first} do not rank the same triples and sides"}
    if unlike and any(table.provenance.candidates == UNKNOWN for table in tables.values()):
        return {"candidates": f"{', '.join(unlike)} and {first} have other numbers of them"}
    return {}


def _value(provenance: Provenance, field: str) -> str:
    value = getattr(provenance, field)
    if field != "filter":
        return str(value)
    return UNKNOWN if value is None else ", ".join(value) or "none"


def _bare(dataset: str) -> str:
    """A dataset's name without case and punctuation: PyKEEN has FB15k237, and takes it by fb15k-237."""
    return "".join(filter(str.isalnum, dataset)).lower()


def _notes_on_unknowns(provenances: Mapping[str, Provenance]) -> Iterator[str]:
    """Say which fields of the provenances are unknown."""
    for model, provenance in provenances.items():
        fields = [field for field in ALIKE if _value(provenance, field) == UNKNOWN]
        if fields and len(provenances) > 1:
            yield f"the ranks of {model} do not tell their {', '.join(fields)}: they may be of others."


def _tasks(table: RankColumns) -> dict[tuple[str, ...], int]:
    """How many candidates there were for what, in labels: two models need not share their ids."""
    columns = [table.column(name) for name in ("head_label", "relation_label", "tail_label", "side")]
    return dict(zip(zip(*columns, strict=True), table.column("candidates").tolist(), strict=True))
