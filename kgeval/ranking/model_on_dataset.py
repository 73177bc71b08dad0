"""One model on one dataset, whatever the queries; and its predictions: queries → candidates → the best by score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import InputError, ScoreError, counted
from kgeval.base.progress import Progress, reporting
from kgeval.base.threads import bound_threads
from kgeval.data import KnownTimes
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers, known_triples
from kgeval.data.split_names import files_in
from kgeval.data.triples import triple_of
from kgeval.models.aligned import Aligned
from kgeval.models.checks import notes_on_equal_rows
from kgeval.ranking.corruption.generator import ALONE, CorruptionGenerator
from kgeval.ranking.engine import Engine, UndefinedScore
from kgeval.ranking.engine_choice import engine_for
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.outsiders import Outsiders
from kgeval.ranking.plan import Plan
from kgeval.ranking.predictions.prediction_columns import to_prediction_columns, with_labels
from kgeval.ranking.predictions.prediction_table import SCHEMA, PredictionTable
from kgeval.ranking.predictions.query_rows import NumberedQueries, as_triples, queries_of_rows, queries_of_triples
from kgeval.ranking.ranking_notes import notes_on_device, require_times
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.restriction import restriction

IDS_PER_PLACE = 4
"""a prediction, with the columns of its row, takes the memory of so many ids of a ranking task"""


@dataclass(frozen=True, eq=False)
class ModelOnDataset:
    """One model on one dataset, and how its scores are computed: what rankings and predictions share."""

    scorer: Aligned
    dataset: Dataset
    evaluation: Evaluation
    """with the sides that the model answers"""

    @contextmanager
    def refusing_nan(self) -> Iterator[None]:
        """Refuse a score that is NaN, with its query and candidate by their labels."""
        try:
            yield
        except UndefinedScore as error:
            query = self.dataset.triple(*triple_of(error.side, error.anchor, error.relation, -1))
            candidate = self.dataset.display_label(self.dataset.answers_of(error.side)[error.candidate])
            raise ScoreError(
                f"the model's score is NaN for {query}, candidate {candidate}: a rank is undefined. "
                "Fix the model, or rank such scores last: nan='worst' (--nan worst)."
            ) from error

    def predict(
        self,
        places: int,
        rows: IntArray | None = None,
        *,
        drops_known: bool = False,
        progress: Progress | bool | None = None,
        title: str | None = None,
    ) -> PredictionTable:
        """Find the best answers of queries among the candidates that the model knows.

        The queries are ``rows``, int64[query, 3] ids with −1 for what is sought, int64[query, 4] with times; by default
        those of the split. ``drops_known`` leaves known answers out.
        """
        if isinstance(places, bool) or not isinstance(places, int | np.integer) or places < 1:
            raise InputError(f"k: expected how many answers each query gets, at least 1; found {places!r:.40}.")
        dataset, evaluation = self.dataset, self.evaluation
        evaluation.require_entities("predictions")
        require_times(evaluation, dataset)
        asked, allowed, restricted = asked_queries(dataset, evaluation, rows)
        known, notes_on_unknown = self._known(asked)
        corruption = evaluation.corruption.prepare(dataset)
        if corruption.leaves_out_answers:
            why = "its negatives leave the answers of queries out, so nothing is predicted from them"
            raise InputError(f"corruption {corruption.kind!r}: {why}. Choose all, entities, typed or file.")
        table = PredictionTable(
            SCHEMA.empty_table(),
            places=int(places),
            queries=sum(len(part.numbers) for part in known),
            split=evaluation.split if rows is None else None,
            notes=(*self.scorer.notes, *dataset.notes, *notes_on_unknown, *restricted),
            filter=tuple(
                name for name in (*dataset.splits, *map(str, files_in(evaluation.filter))) if name in evaluation.filter
            ),
            drops_known=drops_known,
            model=title or self.scorer.title,
            dataset=dataset.name,
        )
        if not table.queries:
            return table
        with reporting(table.queries, progress=progress, what="predicting", unit="queries") as report:
            engine = replace(engine_for(self.scorer, as_triples(known), evaluation), progress=report)
            with bound_threads(evaluation.threads):
                degenerate = notes_on_equal_rows(self.scorer.scorer, tuple(part.queries.side for part in known))
                sides = [self._predict_side(engine, part, table, corruption, allowed) for part in known]
        data = pa.concat_tables([side for side, _, _ in sides]).unify_dictionaries().combine_chunks()
        data = data.sort_by([("query", "ascending"), ("place", "ascending")])
        work = engine.kernel.stats()
        of_candidates = dict.fromkeys(note.replace(ALONE, "") for _, own, _ in sides for note in own)
        notes = (*table.notes, *degenerate, *of_candidates, *notes_on_device(work))
        sizes = np.concatenate([sizes for _, _, sizes in sides])
        candidates = self.candidates_in_words(corruption, sizes, allowed)
        return replace(table, data=data, notes=notes, work=work, candidates=candidates)

    def candidates_in_words(self, corruption: CorruptionGenerator, sizes: IntArray, allowed: BoolArray) -> str:
        """Say which entities compete, of as many candidates as each query has, before any that the model lacks."""
        few = "" if allowed.all() else f", of which those among {int(allowed.sum()):,} entities compete"
        few += "" if self.scorer.types is None else ", of which those of the answer's type compete"
        return corruption.describe(self.dataset, sizes) + few

    def _known(self, parts: Sequence[NumberedQueries]) -> tuple[list[NumberedQueries], list[str]]:
        """Keep the queries whose entity and relation the model knows; note, or refuse, that there are others."""
        kept, examples, count = [], [], 0
        for part in parts:
            queries = part.queries
            known = self.scorer.can_answer(queries)
            unknown = np.flatnonzero(~known)
            count += len(unknown)
            for anchor, relation in zip(queries.anchors[unknown[:3]], queries.relations[unknown[:3]], strict=True):
                examples.append(self.dataset.triple(*triple_of(queries.side, int(anchor), int(relation), -1)))
            kept.append(part.where(known))
        if not count:
            return kept, []
        shown = ", ".join(examples[:3]) + (", …" if count > 3 else "")
        what = f"{counted(count, 'query')} with an entity or relation that the model does not know: {shown}"
        if self.evaluation.unseen == "error":
            raise InputError(f"{what}. Set unseen: drop to leave them out.")
        notes = [f"left out (unseen: {self.evaluation.unseen}): {what}."]
        return [part for part in kept if len(part.numbers)], notes

    def _predict_side(
        self,
        engine: Engine,
        part: NumberedQueries,
        table: PredictionTable,
        corruption: CorruptionGenerator,
        allowed: BoolArray,
    ) -> tuple[pa.Table, tuple[str, ...], IntArray]:
        """Find the best answers of one side; return them, the notes on the candidates and their numbers."""
        scorer, dataset, side = self.scorer, self.dataset, part.queries.side
        places = min(table.places, int((scorer.entity_rows >= 0).sum()))
        times: KnownTimes = "static" if part.queries.contexts is None else self.evaluation.times
        known = KnownAnswers.of(known_triples(dataset, table.filter, times), side)
        notes = [*corruption.notes(part.queries, dataset)]
        blocks, sizes = [], []
        for alike, entities in scorer.groups(side, part.queries.relations):
            group = part.where(alike)
            ids, widths = (
                known.lengths(group.queries) + IDS_PER_PLACE * places,
                corruption.widths(group.queries, dataset),
            )
            whole = iter([slice(0, len(group.queries))])
            for block in whole if widths is None else Plan(engine.memory).tasks(ids + widths):
                own = NumberedQueries(group.queries[block], group.numbers[block])
                chosen = corruption.choose(own.queries, known.rows(own.queries), dataset)
                notes += chosen.notes
                sizes.append(chosen.num_candidates(len(own.queries)))
                for same, candidates in chosen.restricted_to(entities & allowed).alike(len(own.queries)):
                    queries = own.queries[same]
                    task = RankingTask.of(queries, candidates, known.rows(queries))
                    with self.refusing_nan():
                        best = engine.best(scorer, task, places, drops_known=table.drops_known)
                    outsiders = Outsiders.of(scorer, queries, candidates)
                    blocks.append(to_prediction_columns(dataset, task, best, own.numbers[same], table.split, outsiders))
        data = with_labels(dataset, pa.concat_tables(blocks).unify_dictionaries())
        return data, tuple(notes), np.concatenate(sizes)


def asked_queries(
    dataset: Dataset, evaluation: Evaluation, rows: IntArray | None = None
) -> tuple[list[NumberedQueries], BoolArray, list[str]]:
    """Return the queries of some rows or of the split, which entities may compete (bool[entity]), and notes.

    A restriction chooses triples of the split, and with them entities.
    """
    if rows is None:
        allowed, kept, notes = restriction(dataset, evaluation)
        parts = queries_of_triples(dataset.split(evaluation.split)[kept], evaluation.sides)
        return [NumberedQueries.without_answers(part.queries, part.numbers) for part in parts], allowed, notes
    for name in ("restrict_entities_to", "restrict_relations_to"):
        if getattr(evaluation, name) is not None:
            cure = "Leave it out. For the candidates of queries, give a corruption, such as entities:path=FILE."
            raise InputError(f"{name}: it restricts the triples of a split, and queries were given. {cure}")
    return [*queries_of_rows(rows)], np.ones(len(dataset.entities), np.bool_), []
