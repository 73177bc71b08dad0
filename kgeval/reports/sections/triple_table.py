"""Which triples? A table to search and sort: labels, side, the rank of each model, ties and flags."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.arrays import BoolArray, Float64Array
from kgeval.reports.sections.section import Section
from kgeval.reports.study import Study

if TYPE_CHECKING:
    import pandas as pd

MOST = 50_000
"""rows up to which all are on the page"""

EXTREME = 2_000
"""of more rows, how many of the worst of each model, and of the most different of each two, are"""


def triple_table(study: Study) -> Section:
    """Give the page the rows of all models, or the extreme ones of too many."""
    rows = study.rows
    ranks = rows[[f"m{index}" for index in range(len(study.names))]].to_numpy()
    kept = extreme_rows(ranks)
    rule = "All ranks are here." if kept.all() else _rule(study, int(kept.sum()), len(kept))
    data = _columns(study, rows[kept])
    title = f"{len(rows):,} ranks, to search and sort" if kept.all() else f"The most telling of {len(rows):,} ranks"
    content = {"rule": rule, "models": study.names, "relations": data["relations"], "pairs": len(study.names) > 1}
    return Section("triples", "Triples", title, content, data={"triples": data})


def extreme_rows(ranks: Float64Array) -> BoolArray:
    """Choose the rows that are shown; bool[row].

    Parameters
    ----------
    ranks
        float64[row, model]

    Examples
    --------
    >>> extreme_rows(np.ones((5, 2))).all()
    np.True_
    """
    if len(ranks) <= MOST:
        return np.ones(len(ranks), np.bool_)
    kept = np.zeros(len(ranks), np.bool_)
    models = range(ranks.shape[1])
    measures = [ranks[:, model] for model in models]
    measures += [np.abs(np.log(ranks[:, one] / ranks[:, other])) for one, other in combinations(models, 2)]
    for measure in measures:
        kept[np.argsort(-measure, kind="stable")[:EXTREME]] = True
    return kept


def _rule(study: Study, kept: int, count: int) -> str:
    pairs = f" and the {EXTREME:,} whose ranks differ most, by their ratio, between each two models"
    return (
        f"Of {count:,} ranks {kept:,} are here: the {EXTREME:,} worst of each model"
        f"{pairs if len(study.names) > 1 else ''}. The run directory has all."
    )


def _columns(study: Study, rows: pd.DataFrame) -> dict[str, Any]:
    """Lay out the rows column by column, labels by number."""
    heads, relations, tails = (rows[f"{name}_label"] for name in ("head", "relation", "tail"))
    entities, entity_ids = np.unique(np.r_[heads.astype(str), tails.astype(str)], return_inverse=True)
    named, relation_ids = np.unique(relations.astype(str), return_inverse=True)
    display = study.dataset.display_label if study.dataset else str
    models = range(len(study.names))
    return {
        "entities": [display(str(label)) for label in entities],
        "relations": [display(str(label)) for label in named],
        "head": entity_ids[: len(rows)].tolist(),
        "relation": relation_ids.tolist(),
        "tail": entity_ids[len(rows) :].tolist(),
        "side": (rows["side"].astype(str) == "tail").astype(int).tolist(),
        "models": study.names,
        "ranks": [_plain(rows[f"m{index}"].to_numpy()) for index in models],
        "ties": [rows[f"ties{index}"].tolist() for index in models],
    }


def _plain(ranks: Float64Array) -> list[float | int]:
    """Write whole ranks without a point, which keeps the page small."""
    return [int(rank) if rank == int(rank) else rank for rank in ranks.tolist()]
