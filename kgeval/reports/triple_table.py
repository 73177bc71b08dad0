"""The table of triples, to search and sort: labels, side, the rank of each model, ties and flags."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array
from kgeval.data.triples import TARGETS
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import TIME
from kgeval.reports.document import Section, isolated
from kgeval.reports.study import Study

if TYPE_CHECKING:
    import pandas as pd


QUERY = ["side", "anchor_label", "relation_label"]

KNOWN = ("new", "train", "valid", "test")
"""the split that has a predicted triple"""


def kept_predictions(table: PredictionTable, rows: pd.DataFrame) -> dict[str, Any]:
    """Lay the predictions for some rows out, for the page's script.

    The rows have the columns head_label, relation_label, tail_label and side, and in a temporal graph time. The result
    has ``row``, for each row the number of its query, or −1; ``offset``, where the predictions of each query begin; of
    each prediction ``entity``, its label, ``known``, its place in ``KNOWN``, and ``typed``, 0 or 1.
    """
    times = [TIME] if TIME in rows.columns else []
    key = [*QUERY, *times]
    frame = table.data.select([*key, "query", "entity_label", "known", "is_of_type"]).to_pandas()
    first = frame.drop_duplicates("query")[[*key, "query"]]
    text = rows[["side", "head_label", "relation_label", "tail_label", *times]].astype(str)
    queries = text.assign(anchor_label=text["head_label"].where(text["side"] == "tail", text["tail_label"]))
    found = queries.merge(first.astype(dict.fromkeys(key, str)), on=key, how="left")["query"]
    wanted = np.unique(found.dropna().to_numpy(np.int64))
    own = frame[frame["query"].isin(wanted)]
    numbers = np.searchsorted(wanted, found.fillna(-1).to_numpy(np.int64))
    return {
        "row": np.where(found.isna(), -1, numbers).tolist(),
        "offset": [*np.searchsorted(own["query"].to_numpy(), wanted).tolist(), len(own)],
        "entity": own["entity_label"].astype(str).tolist(),
        "known": own["known"].astype(str).map({name: place for place, name in enumerate(KNOWN)}).tolist(),
        "typed": own["is_of_type"].astype(int).tolist(),
    }


MOST = 50_000
"""rows up to which all are on the page"""

EXTREME = 2_000
"""of more rows, how many of the worst of each model, and of the largest ratios of each pair, are"""


def triple_table(study: Study) -> Section:
    rows = study.rows
    ranks = rows[[f"m{index}" for index in range(len(study.names))]].to_numpy()
    extreme = extreme_rows(ranks)
    kept = extreme if len(ranks) > MOST else np.ones(len(ranks), np.bool_)
    rule = ""
    if not kept.all():
        pairs = f" and, for each pair of models, the {EXTREME:,} with the largest ratio of ranks"
        worst = f"the {EXTREME:,} worst ranks of each model{pairs if len(study.names) > 1 else ''}"
        rule = f"The page holds {worst}. The run directory holds all. "
    data = _columns(study, rows[kept], _predictions(study, rows[kept], extreme[kept]))
    if predicting := [isolated(model.name) for model in study.models if model.predictions is not None]:
        named = " and ".join(filter(None, [", ".join(predicting[:-1]), predicting[-1]]))
        pairs = f" and the {EXTREME:,} largest ratios of each pair" if len(study.names) > 1 else ""
        some = f" (for the {EXTREME:,} worst ranks of each model{pairs})"
        rule += f"▸ shows which entities {named} ranked above the answer{'' if extreme.all() else some}. "
    title = f"{'All ' if kept.all() else f'{int(kept.sum()):,} of '}{len(rows):,} ranks"
    content = {"rule": rule, "models": study.names, "relations": data["relations"], "pairs": len(study.names) > 1}
    return Section("triples", "Triples", title, content, data={"triples": data})


def extreme_rows(ranks: Float64Array) -> BoolArray:
    """Choose the worst ranks and the largest ratios, of ranks, float64[row, model]; bool[row]."""
    kept = np.zeros(len(ranks), np.bool_)
    models = range(ranks.shape[1])
    measures = [ranks[:, model] for model in models]
    measures += [np.abs(np.log(ranks[:, one] / ranks[:, other])) for one, other in combinations(models, 2)]
    for measure in measures:
        kept[np.argsort(-measure, kind="stable")[:EXTREME]] = True
    return kept


def _predictions(study: Study, rows: pd.DataFrame, chosen: BoolArray) -> list[dict[str, Any] | None]:
    """What each model predicted for the chosen of some rows; None where its run did not keep that."""
    found: list[dict[str, Any] | None] = []
    for model in study.models:
        content = None if model.predictions is None else kept_predictions(model.predictions, rows[chosen])
        if content is not None:
            of_rows = np.full(len(rows), -1)
            of_rows[chosen] = content["row"]
            content["row"] = of_rows.tolist()
        found.append(content)
    return found


def _columns(study: Study, rows: pd.DataFrame, predictions: list[dict[str, Any] | None]) -> dict[str, Any]:
    """Lay the rows out column by column, and labels by number, those of predictions too."""
    heads, relations, tails = (rows[f"{name}_label"].astype(str).to_numpy() for name in ("head", "relation", "tail"))
    predicted = [np.array(content["entity"], dtype=object) for content in predictions if content]
    entities, named = np.unique(np.concatenate([heads, tails, *predicted])), np.unique(relations)
    display = study.dataset.display_label if study.dataset else str
    models = range(len(study.names))
    return {
        "entities": [display(str(label)) for label in entities],
        "relations": [display(str(label)) for label in named],
        "head": np.searchsorted(entities, heads).tolist(),
        "relation": np.searchsorted(named, relations).tolist(),
        "tail": np.searchsorted(entities, tails).tolist(),
        "side": rows["side"].astype(str).map(TARGETS.index).tolist(),
        "time": rows[TIME].astype(str).tolist() if TIME in rows.columns else None,
        "models": study.names,
        # Whole ranks without a point keep the page small.
        "ranks": [[int(rank) if rank == int(rank) else rank for rank in rows[f"m{index}"]] for index in models],
        "ties": [rows[f"ties{index}"].tolist() for index in models],
        "predictions": [
            content and {**content, "entity": np.searchsorted(entities, content["entity"]).tolist()}
            for content in predictions
        ],
    }
