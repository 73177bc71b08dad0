"""Candidates for language models: the best answers of a base, written without knowledge of the evaluated split.

A base is a model whose best answers a language model puts in another order. A list that leaves out the other answers of
its split would give away which answer is asked for, so the lists here leave out known answers of other splits alone.
``kgeval predict --out-format`` calls the functions in ``WRITERS`` with a prediction table, its dataset and a path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from kgeval.base.errors import InputError
from kgeval.base.storage import write_text
from kgeval.data.dataset import Dataset
from kgeval.data.queries import starts_of_runs
from kgeval.data.triples import SIDES, Side
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import TIME


class BestOfQuery(NamedTuple):
    """The best answers to a query, in the ids of the dataset."""

    side: Side
    anchor: int
    relation: int
    time: str | None
    entities: list[int]
    scores: list[float]


def write_candidates(table: PredictionTable, dataset: Dataset, path: Path) -> Path:
    """Write a line of JSON for each query: head or tail, relation, predictions (labels), their names and scores.

    kgeval reads such lines as lists of predictions.
    """
    lines = []
    for best in _queries(table):
        labels = [dataset.entities[entity] for entity in best.entities]
        names = [dataset.names.get(label, label) for label in labels]
        line: dict[str, Any] = {"head" if best.side == "tail" else "tail": dataset.entities[best.anchor]}
        line |= {"relation": dataset.relations[best.relation], **({} if best.time is None else {"time": best.time})}
        line |= {"predictions": labels, **({"names": names} if names != labels else {}), "scores": best.scores}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    write_text(path, "".join(lines))
    return path


def write_kicgpt(table: PredictionTable, dataset: Dataset, path: Path) -> Path:
    """Write the folder that KICGPT reads: for each side, the ids of candidates by the ids of entity and relation.

    Its files ``entity2id.txt`` and ``relation2id.txt`` have the label of each id.
    """
    candidates: dict[Side, dict[str, list[int]]] = {side: {} for side in SIDES}
    for best in _queries(table, "KICGPT's files"):
        candidates[best.side][f"{best.anchor}\t{best.relation}"] = best.entities
    path.mkdir(parents=True, exist_ok=True)
    for side, of_side in candidates.items():
        write_text(path / f"retriever_candidate_{side}.txt", json.dumps(of_side))
    for name, labels in (("entity2id.txt", dataset.entities), ("relation2id.txt", dataset.relations)):
        write_text(path / name, "".join(f"{label}\t{row}\n" for row, label in enumerate(labels)))
    return path


def write_dift(table: PredictionTable, dataset: Dataset, path: Path) -> Path:
    """Write the records that DIFT makes its prompts of: for each triple of the split its tail, and then its head.

    ``rank`` is the place of the answer among the candidates, null where it is not one of them: the other answers of the
    split are not left out. An inverse record has the tail first in its ``triplet``, and asks for the head. A query
    without candidates, such as one of a side that was not predicted, has no record.
    """
    if table.split is None:
        raise InputError("DIFT's records are of the triples of a split, and these predictions are of other queries.")
    found = {(str(best.side), best.anchor, best.relation): best for best in _queries(table, "DIFT's records")}
    records = []
    for row, (head, relation, tail) in enumerate(dataset.split(table.split).ids.tolist()):
        for side, anchor, answer in (("tail", head, tail), ("head", tail, head)):
            if (best := found.get((side, anchor, relation))) is None:
                continue
            labels = [dataset.entities[entity] for entity in best.entities]
            record = {
                "triplet": (dataset.entities[anchor], dataset.relations[relation], dataset.entities[answer]),
                "inverse": side == "head",
                "rank": best.entities.index(answer) + 1 if answer in best.entities else None,
                "topk_ents": labels,
                "topk_names": [dataset.names.get(label, label) for label in labels],
                "topk_scores": best.scores,
                "entity_ids": best.entities,
                "query_id": 2 * row + (side == "tail"),
            }
            records.append(record)
    write_text(path, json.dumps(records, ensure_ascii=False))
    return path


WRITERS: Mapping[str, Callable[[PredictionTable, Dataset, Path], Path]] = {
    "candidates": write_candidates,
    "kicgpt": write_kicgpt,
    "dift": write_dift,
}


def _queries(table: PredictionTable, timeless: str = "") -> Iterator[BestOfQuery]:
    """Yield the best answers query by query; for a format without times (``timeless``), refuse times."""
    if timeless and TIME in table.columns:
        raise InputError(f"{timeless} have no times, and these queries have. Use --out-format candidates.")
    asked = [table.column(name).tolist() for name in ("side", "anchor", "relation")]
    asked += [table.column(TIME).tolist() if TIME in table.columns else [None] * len(table)]
    entities, scores = (table.column(name).tolist() for name in ("entity", "score"))
    if not all(map(math.isfinite, scores)):
        raise InputError("a candidate has an infinite score, which JSON does not have. Give the model finite scores.")
    for start, stop in pairwise([*starts_of_runs(table.column("query")).tolist(), len(table)]):
        side, anchor, relation, time = (column[start] for column in asked)
        yield BestOfQuery(side, anchor, relation, time, entities[start:stop], scores[start:stop])
