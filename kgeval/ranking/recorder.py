"""``kgeval.Recorder``: ranks of scores that a training loop computes itself, batch by batch, in any order.

The user calls ``update`` with triples and their scores; ``compute`` and ``table`` return metrics and a rank table.
``ForeignScores`` translates the ids of the model and ranks a batch by ``count.rank_finished``; the recorder keeps the
counts, and lays them out as a rank table.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import FloatArray, IntArray, array_or
from kgeval.base.errors import InputError, did_you_mean, reason
from kgeval.base.notes import Note, amount
from kgeval.data import History, KnownTimes
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers
from kgeval.data.loading import as_dataset
from kgeval.data.queries import Queries
from kgeval.data.triples import TARGETS, Side
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.metrics.metric import Metric
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Summary
from kgeval.models.alignment import align
from kgeval.ranking.count import Answers, UndefinedCell, rank_finished, score_matrix
from kgeval.ranking.engine import UndefinedScore
from kgeval.ranking.evaluation import Evaluation, NaNPolicy, UnseenPolicy
from kgeval.ranking.model_ranking import ModelRanking, ranking_of
from kgeval.ranking.protocols.number_check import NumberCheck, check_numbers
from kgeval.ranking.protocols.protocol import Protocol, find_protocol
from kgeval.ranking.rank_table import RankedPart, RankTable, to_rank_columns, with_counts
from kgeval.ranking.ranking_task import RankCounts, Ranked, concatenated
from kgeval.ranking.rules import Rules

OF_MODELS = ("tie_rule", "competes", "corruption", "batch", "quirks", "listed")
"""the fields of a protocol whose rules need more than a matrix of scores"""


class Recorder:
    """Collects the filtered ranks of a split from scores that other code computes, for metrics.

    It has the methods of a metric of ``torchmetrics``: ``update`` with each batch, ``compute`` at the end, ``reset``
    before the next epoch. It needs no model. The known answers come from the dataset.

    Parameters
    ----------
    dataset
        the graph, or the folder or PyKEEN name of one
    split, sides, filter, times, history, unseen, nan
        as :func:`kgeval.evaluate` takes them; by default the protocol decides the filter and the sides
    protocol
        the protocol whose names metrics have, and whose filters and ties, if it compares plain scores of all entities:
        ``"regcn"`` counts raw, time-aware and static ranks
    entities, relations
        the label of each of the model's ids, if these are not the dataset's: a list, an array or a ``Vocabulary``,
        or a dictionary of the id of each label
    model
        the name of the model in results

    Raises
    ------
    InputError
        if an argument is wrong, as in :func:`kgeval.evaluate`

    Examples
    --------
    >>> import kgeval
    >>> data = kgeval.load_dataset("nations")
    >>> recorder = Recorder(data, sides="tail")
    >>> scores = np.random.default_rng(0).random((len(data.test), len(data.entities)))
    >>> for start in range(0, len(data.test), 64):
    ...     recorder.update(data.test.ids[start : start + 64], scores[start : start + 64], side="tail")
    >>> recorder
    Recorder(201 of 201 ranks)
    >>> summary = recorder.compute(["mrr", "hits@10"])
    >>> 0.2 < summary["mrr"] < summary["hits@10"]
    True
    """

    def __init__(  # noqa: PLR0913
        self,
        dataset: Dataset | str | Path,
        *,
        split: str | Sequence[str] = "test",
        sides: Side | Sequence[Side] | None = None,
        filter: str | Sequence[str] | None = None,
        times: KnownTimes = "time-aware",
        history: History | None = None,
        unseen: UnseenPolicy = "error",
        nan: NaNPolicy = "error",
        entities: Labels | None = None,
        relations: Labels | None = None,
        model: str = "recorded scores",
        protocol: str | Protocol = "standard",
    ) -> None:
        dataset = as_dataset(dataset)
        settings = {"split": split, "sides": sides, "filter": filter, "times": times}
        settings |= {"history": history, "unseen": unseen, "nan": nan}
        given = {name: it for name, it in settings.items() if it is not None or name not in Evaluation.decided_later}
        rules = find_protocol(protocol)
        if needs := [name for name in OF_MODELS if getattr(rules, name) != getattr(find_protocol("standard"), name)]:
            why = f"protocol {rules.name} has rules that need the model ({', '.join(needs)})"
            raise InputError(f"{why}, not its scores alone. Use kgeval.evaluate.")
        evaluation = rules.resolve(Evaluation.of_keywords(given), dataset).evaluation
        self._source = ForeignScores.of(dataset, evaluation, rules, entities, relations)
        self._model, self._sides = model, self._source.ranking.sides
        repeats, size = dataset.multiplicity_of(evaluation.split), len(dataset.split(evaluation.split))
        self._allowed: IntArray = np.ones(size, np.int64) if repeats is None else repeats
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        nothing = np.empty(0, np.int64)
        counts = RankCounts(nothing, nothing, nothing)
        self._batches = [Batch(side, nothing, Ranked(np.empty(0), counts, counts)) for side in self._sides]
        self._seen = {side: np.zeros_like(self._allowed) for side in self._sides}

    def _progress(self) -> tuple[int, int]:
        """Count the recorded and the expected ranks."""
        return sum(len(batch.rows) for batch in self._batches), len(self._source.rows) * len(self._sides)

    def __repr__(self) -> str:
        return "Recorder({} of {} ranks)".format(*self._progress())

    def update(self, triples: Any, scores: Any, *, side: Side) -> None:
        """Count the scores of a batch of triples.

        Parameters
        ----------
        triples
            int[triple, 3], the model's ids of head, relation and tail, an array or a tensor; of a temporal graph
            int[triple, 4], the last the dataset's id of the time. A triple that the split has twice may be given
            twice, and counts once
        scores
            float[triple, entity], the score of each entity of the model in the place of the head or the tail, or of
            each relation: an array or a tensor on any device, as :func:`kgeval.count` takes it. Known answers keep
            their scores: the recorder filters them
        side
            what the scores are of: ``"head"``, ``"tail"`` or ``"relation"``

        Raises
        ------
        InputError
            if shapes do not fit, if a triple is not in the split, or was recorded before
        ScoreError
            if a score is NaN, with the triple and the candidate
        """
        if side not in self._sides:
            raise InputError(f"side: {side!r} is not recorded. {did_you_mean(str(side), self._sides)}")
        rows = self._source.find(triples)
        distinct, first, times = np.unique(rows, return_index=True, return_counts=True)
        is_recorded = self._seen[side][distinct]
        if (often := is_recorded + times > self._allowed[distinct]).any():
            self._refuse(side, distinct[np.argmax(often)], "was already recorded. Call reset() before a new epoch.")
        ranked = self._source.rank(side, rows, scores)
        self._seen[side][distinct] += times
        first = first[is_recorded == 0]
        self._batches.append(Batch(side, rows[first], ranked.take(first)))

    def _refuse(self, side: Side, row: int, why: str) -> None:
        dataset, split = self._source.ranking.dataset, self._source.ranking.evaluation.split
        triple = dataset.triple(*dataset.split(split).ids[row].tolist())
        raise InputError(f"the {side} of {triple} {why}")

    def table(self) -> RankTable:
        """Return the ranks so far; ``missing`` and a note count those that were not recorded.

        Raises
        ------
        InputError
            if nothing was recorded
        """
        ranking = self._source.ranking
        dataset, split = ranking.dataset, ranking.evaluation.split
        num_candidates = np.array([len(dataset.entities)])
        parts = []
        for side, rows, ranked in (self._joined(side, self._batches) for side in self._sides):
            data = to_rank_columns(dataset, split, rows, side, ranked)
            if ranked.second is not None:
                data = with_counts(data, ranked.second, f"{ranking.rules.second}_")
            parts += [RankedPart(side, data, (), num_candidates)] if len(rows) else []
        if not parts:
            raise InputError("nothing was recorded: call update with each batch first.")
        number, expected = self._progress()
        missing = expected - number
        note = Note("left-out", "not recorded: ", amount(missing, "rank"), f" of {expected:,}.")
        recorded = replace(ranking, sides=tuple(part.side for part in parts))
        return replace(recorded.table(parts, self._model, notes=(note,) if missing else ()), missing=missing)

    def compute(self, metrics: str | Metric | Sequence[str | Metric] = (), **options: Any) -> Summary:
        """Compute metrics of the ranks so far: ``kgeval.summarize(recorder.table(), metrics, …)``."""
        return summarize(self.table(), metrics, **options)

    def check(self, numbers: Mapping[str, float | str] | None = None, **further: float | str) -> NumberCheck:
        """Find the protocols by which these ranks give the numbers that another evaluator printed.

        Parameters
        ----------
        numbers, further
            the numbers by their metric, ``mrr``, ``mr`` or ``hits@k``, as ``mrr=.3312`` or ``{"hits@10": "52.0"}``.
            Each means all values that round to it; hits and MRR above 1 are percent

        Raises
        ------
        MetricError
            if a metric is not one of these, or a number is invalid

        Examples
        --------
        >>> import kgeval
        >>> data = kgeval.load_dataset("nations")
        >>> recorder = Recorder(data, sides="tail")
        >>> scores = (np.arange(14) * 31 + data.test.heads[:, None] * 7) % 5
        >>> recorder.update(data.test.ids, scores, side="tail")
        >>> print(recorder.check(mr="5.03"))  # doctest: +ELLIPSIS
        mr 5.03: ...
        """
        return check_numbers(self.table(), {**(numbers or {}), **further})

    def gather(self) -> Recorder:
        """Join what all processes of ``torch.distributed`` recorded, in each of them; with one process, change nothing.

        A rank that several processes recorded, for example if a sampler fills up the last batch, counts once. For each
        answer its counts and its own score are sent, not the scores of candidates.

        Raises
        ------
        InputError
            if two processes recorded different counts of a triple
        """
        if "torch" not in sys.modules:
            return self
        from torch import distributed

        if distributed.is_available() and distributed.is_initialized():
            processes: list[list[Batch]] = [[] for _ in range(distributed.get_world_size())]
            distributed.all_gather_object(processes, self._batches)
            batches = [batch for process in processes for batch in process]
            self._batches = [self._joined(side, batches) for side in self._sides]
            for side, rows, _ in self._batches:
                self._seen[side][rows] = self._allowed[rows]
        return self

    def _joined(self, side: Side, batches: Sequence[Batch]) -> Batch:
        """Join the batches of a side in the order of the split; ranks that were recorded twice must be equal."""
        of_side = [batch for batch in batches if batch.side == side]
        rows = np.concatenate([batch.rows for batch in of_side])
        ranked = concatenated([batch.ranked for batch in of_side])
        distinct, first, places = np.unique(rows, return_index=True, return_inverse=True)
        counts = np.stack([*ranked.filtered.columns, *ranked.raw.columns, *(ranked.second or ranked.raw).columns])
        if (other := (counts != counts[:, first][:, places]).any(axis=0)).any():
            self._refuse(side, rows[np.argmax(other)], "has other counts in another process.")
        return Batch(side, distinct, ranked.take(first))


class Batch(NamedTuple):
    """The counts and scores of some answers on one side."""

    side: Side
    rows: IntArray
    """int64[triple], rows of the split"""
    ranked: Ranked


@dataclass(frozen=True, eq=False)
class ForeignScores:
    """The ids of a foreign model (one whose scores another program computes) beside a dataset's, with known answers."""

    ranking: ModelRanking
    rows: dict[tuple[int, ...], int]
    """the row in the split of each triple that the model knows, by its ids in the dataset"""
    forward: dict[Side, IntArray]
    """for each side, the dataset's id of each answer (entity or relation) of the model, -1 if the dataset has none;
    int64[answer of the model]"""
    columns: dict[Side, tuple[IntArray, list[tuple[KnownAnswers, IntArray]]]]
    """for each side, the column of scores of each answer of the dataset, -1 if it has none; and for each filter, all
    known answers with their columns"""

    @classmethod
    def of(
        cls, dataset: Dataset, evaluation: Evaluation, rules: Rules, entities: Labels | None, relations: Labels | None
    ) -> ForeignScores:
        """Match the labels of the model's ids with the dataset; by default they are the dataset's."""
        vocabularies = [
            labels if labels_of_model is None else Vocabulary.of(labels_of_model, labels.kind)
            for labels_of_model, labels in ((entities, dataset.entities), (relations, dataset.relations))
        ]
        model = ForeignModel(*map(len, vocabularies))
        scorer = align(model, dataset, entities=vocabularies[0], relations=vocabularies[1])
        ranking = ranking_of(scorer, dataset, evaluation, rules=rules)
        rows = {triple: row for row, triple in enumerate(dataset.split(evaluation.split)) if ranking.known[row]}
        forward: dict[Side, IntArray] = {}
        for side in TARGETS:
            reverse = ranking.scorer.answer_rows(side)
            forward[side] = np.full(model.num_relations if side == "relation" else model.num_entities, -1)
            forward[side][reverse[reverse >= 0]] = np.flatnonzero(reverse >= 0)
        foreign = cls(ranking, rows, forward, {})
        for side in ranking.sides:  # known answers are sorted now, and not in the first batch
            foreign.columns[side] = foreign._columns(side)
        return foreign

    def find(self, triples: Any) -> IntArray:
        """Find the row in the split of each triple of the model's ids; int64[triple].

        Raises
        ------
        InputError
            if they are no ids of the model, or one is no triple of the split that the model knows
        """
        dataset = self.ranking.dataset
        width, time = (3, "") if dataset.times is None else (4, ", time")
        expected = f"triples: expected int[triple, {width}], head, relation, tail{time}"
        ids = array_or(lambda it: InputError(f"{expected} ({reason(it)})."), triples)
        if ids.ndim != 2 or ids.shape[1] != width or ids.dtype.kind not in "iu":
            raise InputError(f"{expected}; found {ids.dtype}{list(ids.shape)}.")
        ids = ids.astype(np.int64)
        for column, side in enumerate(("head", "relation", "tail")):
            ids[:, column] = self._to_dataset(side, ids[:, column])  # type: ignore[arg-type]
        rows = np.array([self.rows.get(tuple(row), -1) for row in ids.tolist()], np.int64)
        if (rows < 0).any():
            place = int(np.argmax(rows < 0))
            named, split = dataset.triple(*ids[place, :3].tolist()), self.ranking.evaluation.split
            at = f" at time {ids[place, -1]}" * (width == 4)
            fault = f"{named}{at}, is not a {split} triple of dataset {dataset.name} that the model knows"
            cure = "Give another split=, or the labels of the model's ids with entities= and relations=."
            cure += " The fourth is the place of a time in dataset.times." * (width == 4)
            raise InputError(f"triples[{place}], {fault}. {cure}")
        return rows

    def _to_dataset(self, side: Side, ids: IntArray) -> IntArray:
        forward = self.forward[side]
        if len(wrong := np.flatnonzero((ids < 0) | (ids >= len(forward)))):
            unknown = f"{self.ranking.dataset.answers_of(side).kind} {ids[wrong[0]]}"
            inverse = " Of an inverse relation r + R, give the fact itself, with side='head'." * (side == "relation")
            limit = f"the model's ids are 0 to {len(forward) - 1}.{inverse}"
            raise InputError(f"triples[{wrong[0]}] names {unknown}, and {limit}")
        return forward[ids]

    def rank(self, side: Side, rows: IntArray, scores: Any) -> Ranked:
        """Rank the answers of some rows of the split by scores [row, answer of the model], which stay where they are.

        Raises
        ------
        ScoreError
            if there is not a score for each answer of the model, or one is NaN
        """
        ranking, forward = self.ranking, self.forward[side]
        matrix = score_matrix(scores, len(forward))
        if len(matrix) != len(rows):
            raise InputError(f"{len(rows)} triples, but {len(matrix)} rows of scores: give one row for each triple.")
        queries = Queries.per_triple(ranking.dataset.split(ranking.evaluation.split)[rows], side, as_given=True)
        candidates = np.flatnonzero(forward >= 0)
        columns, known = self.columns[side]
        compete = matrix if len(candidates) == len(forward) else matrix[:, candidates]
        results = []
        with ranking.refusing_nan():
            for facts, known_columns in known:
                answers = Answers(queries.triples, columns[queries.answers], *facts.spans(queries), known_columns)
                try:
                    results.append(rank_finished(compete, answers, nan=ranking.evaluation.nan))
                except UndefinedCell as error:
                    raise UndefinedScore(queries, error.answer, int(forward[candidates[error.column]])) from error
        return results[0]._replace(second=results[1].filtered if results[1:] else None)

    def _columns(self, side: Side) -> tuple[IntArray, list[tuple[KnownAnswers, IntArray]]]:
        """Find the entry of ``columns`` for a side; only the model's answers that the dataset has have columns."""
        rows = self.ranking.scorer.answer_rows(side)
        columns = np.where(rows >= 0, (np.cumsum(self.forward[side] >= 0) - 1)[rows], -1)
        rankings = filter(None, (self.ranking, self.ranking.second))
        known = [it.facts.of(it.evaluation.filter, side) for it in rankings]
        return columns, [(facts, columns[facts.answers]) for facts in known]


@dataclass(frozen=True)
class ForeignModel:
    """A model of which only the numbers of entities and relations are known: another program computes its scores."""

    num_entities: int
    num_relations: int

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Never called: another program computes the scores."""
        raise NotImplementedError
