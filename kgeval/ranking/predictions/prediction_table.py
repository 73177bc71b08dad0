"""The prediction table: the best answers of queries, one row per (query, place).

``kgeval.predict`` and runs make it. ``prediction_files`` and ``candidate_lists`` write it in other formats; reports and
``kgeval.rerank`` read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray
from kgeval.base.errors import counted
from kgeval.base.parquet_tables import LABELS, MORE, ROWS_SHOWN, StoredTable, with_columns
from kgeval.base.tables.table import Table
from kgeval.data.provenance import UNKNOWN, PredictionProvenance, provenance_of, subject_of
from kgeval.metrics.kinds import Calibration
from kgeval.metrics.labels.fitted import Calibrator, calibrator, threshold_of_precision
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.ranking.rank_table import RANK

if TYPE_CHECKING:
    import pandas as pd

QUERIES = 3
"""how many queries are shown"""

NEW = "new"
"""the value of the column ``known`` if no split has the triple"""

PROBABILITY = "probability"
"""a further column: the calibrated probability of being true"""

SCHEMA = pa.schema(
    [
        ("query", pa.int64()),
        ("side", LABELS),
        ("anchor", pa.int64()),
        ("relation", pa.int64()),
        ("place", pa.int64()),
        ("entity", pa.int64()),
        ("score", pa.float64()),
        *((prefix + name, pa.int64()) for prefix in ("", "raw_") for name in ("greater", "tied", "candidates")),
        ("known", LABELS),
        ("is_of_type", pa.bool_()),
        ("is_answer", pa.bool_()),
        *((f"{name}_label", LABELS) for name in ("anchor", "relation", "entity")),
    ]
)
"""Ids are those of the dataset. ``known`` is the first split that has the triple, or ``new``; ``is_of_type`` says
whether a train triple has the entity on that side of the relation, ``is_answer`` whether a triple of the evaluated
split has."""


@dataclass(frozen=True, eq=False, repr=False)
class PredictionTable(StoredTable):
    """The best answers of queries, by score, and where scores are equal by entity id.

    The counts are those of a rank table, for an answer the very same: ``greater`` and ``tied`` without other known
    answers, ``raw_greater`` and ``raw_tied`` with them, where they are not dropped. So an entity at place p of all
    candidates has 1 + raw_greater ≤ p ≤ 1 + raw_greater + raw_tied.
    """

    _SCHEMA = SCHEMA
    _FILE = "predictions.parquet"
    _KIND = "prediction table"
    _SHOWN = ("place", "entity_label", "score", PROBABILITY, RANK, "known")
    _KEY = "kgeval_predictions"
    _REQUIRED = ("split", "places", "queries", "notes", "filter", "drops_known", "model", "dataset")

    places: int = 0
    """how many answers each query was to have; one with fewer candidates has fewer"""
    queries: int = 0
    """how many queries there were; one without any candidate has no row"""
    split: str | None = None
    """the split that the queries come from; None if the queries were given"""
    notes: tuple[str, ...] = ()
    """what a reader of the predictions should know: dropped queries, labels that were matched, …"""
    work: Mapping[str, Any] = field(default_factory=dict)
    """how the answers were found: the kernel, and how many candidates needed a canonical score"""
    filter: tuple[str, ...] = ()
    """the splits whose triples are known answers"""
    drops_known: bool = False
    """whether known answers were left out"""
    candidates: str = UNKNOWN
    """which entities were the candidates"""
    history: str | None = None
    """for a temporal graph, the facts before a query's time that the model had in view; none if that is not said"""
    model: str = UNKNOWN
    """the name of the model"""
    dataset: str = UNKNOWN
    """the name of the dataset"""

    def _brief(self) -> str:
        predictions, queries = counted(len(self), "prediction"), counted(self.queries, "query")
        return f"{predictions} of {subject_of(self.model, self.dataset)} for {queries}"

    def _tables(self) -> list[Table]:
        """The first predictions for the first queries, a table each."""
        tables = []
        for query in dict.fromkeys(self.column("query").tolist()[: QUERIES * max(self.places, 1)]):
            rows = np.flatnonzero(self.column("query") == query)[:ROWS_SHOWN]
            part = replace(self, data=self.data.take(pa.array(rows)))
            side, anchor, relation = (str(part.column(name)[0]) for name in ("side", "anchor_label", "relation_label"))
            title = f"?, {relation}, {anchor}" if side == "head" else f"{anchor}, {relation}, ?"
            tables.append(replace(part._table(), title=title))
        return tables[:QUERIES]

    def _size(self) -> str:
        return f"{min(QUERIES, self.queries)} of {counted(self.queries, 'query')} shown{MORE}"

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with the columns of the table, and two that it does not store; labels are categorical.

        ``rank`` is the filtered rank, as an evaluation has it: 1 + greater + tied / 2. ``raw_rank`` is the rank among
        all candidates, known answers too; NaN where these are dropped.
        """
        frame = super().to_pandas()
        place = list(frame.columns).index("greater")
        frame.insert(place, "rank", 1 + frame["greater"] + frame["tied"] / 2)
        frame.insert(place + 1, "raw_rank", 1 + frame["raw_greater"] + frame["raw_tied"] / 2)
        return frame

    @property
    def provenance(self) -> PredictionProvenance:
        """The model, dataset, queries and filter of the predictions."""
        return provenance_of(self, PredictionProvenance)

    def with_probabilities(
        self, valid: ScoredLabels, calibration: Calibration = "platt", *, precision: float | None = None
    ) -> PredictionTable:
        """Add the column ``probability``: the scores, calibrated on validation triples that the same model scored.

        Parameters
        ----------
        valid
            true and false triples, as ``kgeval.classify(…).scored("valid")``. A probability is that of a triple among
            such triples: with one false triple for each true one, half of them are true
        calibration
            ``"platt"`` (Platt, 1999), ``"isotonic"`` (Zadrozny and Elkan, 2002) or ``"none"``
        precision
            keeps the predictions alone whose score reaches the lowest one from which on this share of the validation
            triples is true

        Raises
        ------
        MetricError
            if the validation triples are all true or all false, or no score has this precision

        Examples
        --------
        >>> import kgeval
        >>> data = kgeval.load_dataset("nations")
        >>> def score(h, r, t):
        ...     return (h * 5 + r * 3 + t * 7) % 11
        >>> valid = kgeval.classify(score, data).scored("valid")
        >>> table = kgeval.predict(score, data, queries=[("usa", "embassy", "?")], k=2).with_probabilities(valid)
        >>> table.column("probability").round(3).tolist()
        [0.469, 0.469]
        """
        least = -np.inf if precision is None else threshold_of_precision(valid, precision)
        return calibrated(self, calibrator(valid, calibration), least)

    def joined(self, later: PredictionTable) -> PredictionTable:
        """Return a table without rows, with the notes of both tables and the number of queries of both."""
        notes = dict.fromkeys((*self.notes, *later.notes))
        return replace(later, data=later.data.slice(0, 0), notes=tuple(notes), queries=self.queries + later.queries)

    def where(self, keep: BoolArray) -> PredictionTable:
        """Keep some rows (bool[row])."""
        kept = super().where(keep)
        return replace(kept, work={}, queries=int(pc.count_distinct(kept.data.column("query")).as_py()))

    def _refuse_nonsense(self) -> None:
        """Refuse empty cells, and places that are not 1, 2, … in each query.

        Raises
        ------
        ValueError
            with the column or the row
        """
        for column in SCHEMA:
            if not column.name.startswith("raw_") and self.data.column(column.name).null_count:
                raise ValueError(f"its column {column.name} has empty cells")
        queries, places = self.column("query"), self.column("place")
        first = np.r_[True, queries[1:] != queries[:-1]][: len(self)]
        expected = np.where(first, 1, np.r_[0, places[:-1] + 1][: len(self)])
        if (places != expected).any():
            raise ValueError(f"row {int(np.argmax(places != expected))} has no place in its query")


def calibrated(table: PredictionTable, calibrate: Calibrator, least: float) -> PredictionTable:
    """Add the probabilities that ``calibrate`` gives, and keep the predictions with a score of at least ``least``."""
    scores = table.column("score")
    found = replace(table, data=with_columns(table.data, {PROBABILITY: pa.array(calibrate(scores))}))
    return found if least == -np.inf else found.where(scores >= least)
