"""Comparability: what rank tables must share, so that their metrics compare, and what is known of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from kgeval.analysis.comparison.same_rows import SameRows
from kgeval.errors import MetricError, did_you_mean
from kgeval.provenance import ALIKE, UNKNOWN, Provenance
from kgeval.ranking.rank_table import RankTable

TRIPLES = "triples"
"""what else ranks must share: the triples and sides that were ranked"""


def differing_fields(
    tables: Mapping[str, RankTable], same: SameRows, provenances: Mapping[str, Provenance], allow: Collection[str]
) -> dict[str, str]:
    """Say in what the ranks of models differ that is allowed.

    Raises
    ------
    MetricError
        if they differ in anything else
    """
    differences = _differences(provenances)
    if not differences.keys() & {"dataset", "split"}:  # whose triples are others, which need not be said again
        differences = {**_other_ranks(tables, same), **differences}
    if refused := [field for field in differences if field not in allow]:
        listed = "\n".join(f"{field}: {differences[field]}" for field in refused)
        raise MetricError(
            f"these ranks do not compare.\n{listed}\nRank them alike, or allow it by allow={refused} "
            f"(--allow {','.join(refused)})."
        )
    return differences


def allowed_fields(allow: object) -> list[str]:
    """Read in what ranks may differ.

    Raises
    ------
    MetricError
        if they cannot differ in it
    """
    named = list(allow) if isinstance(allow, Collection) and not isinstance(allow, str) else [allow]
    for name in named:
        if name not in (*ALIKE, TRIPLES):
            raise MetricError(f"allow: ranks do not differ in {name!r}. {did_you_mean(str(name), [*ALIKE, TRIPLES])}")
    return [str(name) for name in named]


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


def _other_ranks(tables: Mapping[str, RankTable], same: SameRows) -> dict[str, str]:
    """Say which models ranked other triples and sides or, if their candidates are unknown, other numbers of them."""
    (first, table), *others = tables.items()
    if not same.of_all:
        counts = ", ".join(f"{count:,} of {len(tables[model]):,} in {model}" for model, count in same.others.items())
        samples = "".join(f"; {note}" for note in notes_on_samples(tables))
        return {
            TRIPLES: f"the models do not rank the same triples and sides; rows that are not in all: {counts}{samples}"
        }
    if any(table.candidates == UNKNOWN for table in tables.values()):
        expected = table.column("candidates")[same.rows[first]]
        unlike = [
            model
            for model, other in others
            if not np.array_equal(other.column("candidates")[same.rows[model]], expected)
        ]
        if unlike:
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


def notes_on_samples(tables: Mapping[str, RankTable]) -> Iterator[str]:
    """Say which ranks are samples."""
    for model, table in tables.items():
        if table.sampling is not None:
            yield f"{model} is {table.sampling}"


def notes_on_unknowns(provenances: Mapping[str, Provenance]) -> Iterator[str]:
    """Say which fields of the provenances are unknown, and of which models."""
    models: dict[str, list[str]] = {}
    for model, provenance in provenances.items():
        if unknown := ", ".join(field for field in ALIKE if _value(provenance, field) == UNKNOWN):
            models.setdefault(unknown, []).append(model)
    for fields, names in models.items():
        yield f"the ranks of {', '.join(names)} do not tell their {fields}: they may be of others."
