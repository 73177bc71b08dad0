"""Evaluate: dataset → queries → candidates → scores → counts → rank table, the whole way in one place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import AfterValidator, BeforeValidator, ByteSize, Field

from kgeval.arrays import BoolArray, IntArray
from kgeval.corruption import AllEntities, Corruption
from kgeval.errors import InputError, ScoreError
from kgeval.graph.dataset import Dataset, Split
from kgeval.graph.known import KnownAnswers
from kgeval.graph.layouts import as_dataset
from kgeval.graph.triples import Side, Triples
from kgeval.ranking.contest import Contest
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Engine, NaNPolicy, Progress, Ranked, UndefinedScore
from kgeval.ranking.kernels import KernelName, kernel
from kgeval.ranking.plan import BLOCK, SHARE, free_memory
from kgeval.ranking.table import RankTable
from kgeval.ranking.tabulate import tabulated
from kgeval.scorers.alignment import Aligned, AlignedVectors, align
from kgeval.settings import Settings, listed
from kgeval.threads import bound_threads

TORCH_PAYS = 10**12
"""floating-point operations from which on the import of torch, for products in bfloat16, costs less than it saves"""

UnseenPolicy = Literal["error", "drop", "worst"]


def _each_once(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    if len(set(sides)) < len(sides):
        raise ValueError(f"a side is said twice in {list(sides)}. Say each side once")
    return sides


Sides = Annotated[
    tuple[Side, ...],
    BeforeValidator(listed, json_schema_input_type=Side | tuple[Side, ...]),
    Field(strict=False, min_length=1),
    AfterValidator(_each_once),
]
Filter = Annotated[
    tuple[Split, ...], BeforeValidator(listed, json_schema_input_type=Split | tuple[Split, ...]), Field(strict=False)
]


class Evaluation(Settings):
    """How a model is evaluated. It is its own configuration, and a function from a model and a dataset to ranks."""

    split: Split = "test"
    """the split whose triples are ranked"""
    sides: Sides = ("head", "tail")
    """the sides that are predicted"""
    filter: Filter = ("train", "valid", "test")
    """the splits whose triples are known answers; none is the raw setting"""
    corruption: Corruption = AllEntities()
    """which candidates compete"""
    unseen: UnseenPolicy = "error"
    """test triples with an entity or relation that the model does not know: refuse, leave out, or rank last"""
    nan: NaNPolicy = "error"
    """scores that are not a number: refuse, or take as the worst possible score"""
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """queries whose scores are in hand at a time. It changes the speed, never a rank of a vector model"""
    memory_limit: Annotated[ByteSize, Field(gt=0)] | None = None
    """what the blocks of work may take, as "2GB" or bytes; by default a quarter of the free memory. Likewise"""
    threads: Annotated[int, Field(ge=1, le=2**16)] | None = None
    """threads of the counting loops and of the matrix products; by default all cores"""
    kernel: KernelName = "auto"
    """the implementation of the loops; all give the same integers"""

    def __call__(
        self,
        model: Any,
        dataset: Dataset | str | Path,
        *,
        progress: Progress | None = None,
        among: IntArray | None = None,
    ) -> RankTable:
        """Rank every triple of the split, if need be among some entities (ids) only; see :func:`evaluate`."""
        dataset = as_dataset(dataset)
        scorer = align(model, dataset)
        triples = dataset.split(self.split)
        if self.kernel == "bfloat16" or (self.kernel == "auto" and self._multiplies_much(scorer, len(triples))):
            import torch  # noqa: F401  # before its threads are bound
        known = scorer.knows(triples)
        notes = [*scorer.notes, *_repeated(dataset, self.split), *self._unseen(dataset, triples, known)]
        engine = Engine(
            kernel(self.kernel, block=self.batch_size or BLOCK),
            self.nan,
            self.memory_limit or free_memory() // SHARE,
            self.batch_size,
            progress or (lambda _: None),
        )
        allowed = np.ones(len(dataset.entities), np.bool_)
        if among is not None:
            allowed = np.isin(np.arange(len(dataset.entities)), among)
        with bound_threads(self.threads):
            parts = [self._rank_side(engine, scorer, dataset, side, known, allowed) for side in self.sides]
        notes += [note for part in parts for note in part.notes]
        data = RankTable.concat(parts).data
        return RankTable(data, self.split, tuple(dict.fromkeys(notes)), engine.kernel.work(), filter=self.filter)

    def _multiplies_much(self, scorer: Aligned, triples: int) -> bool:
        """Whether products in bfloat16 would save more time than the import of torch takes."""
        full = isinstance(self.corruption, AllEntities)
        if not (full and isinstance(scorer, AlignedVectors) and scorer.similarity in {"dot", "l2"}):
            return False
        dim = scorer.entity_vectors("tail", np.flatnonzero(scorer.entity_rows >= 0)[:1]).shape[1]
        return bool(2 * len(self.sides) * triples * scorer.num_entities * dim > TORCH_PAYS)

    def _rank_side(
        self, engine: Engine, scorer: Aligned, dataset: Dataset, side: Side, known: BoolArray, allowed: BoolArray
    ) -> RankTable:
        """Rank the triples that the scorer knows; those that it does not know are last, or not in the table."""
        filtered = [part for name, part in dataset.splits.items() if name in self.filter]
        facts = KnownAnswers.of(filtered, side)
        # A generator leaves out what is evaluated too, whether or not the filter names that split.
        taken = facts if self.split in self.filter else KnownAnswers.of([*filtered, dataset.split(self.split)], side)

        def contest(rows: IntArray, competing: BoolArray) -> Contest:
            queries = self.corruption.queries(Triples(dataset.split(self.split).ids[rows]), side)
            candidates = self.corruption.candidates(queries, taken.rows(queries), dataset)
            return Contest.of(queries, candidates.among(competing), facts.rows(queries))

        ranked, unseen = np.flatnonzero(known), np.flatnonzero(~known)
        seen = contest(ranked, allowed & (scorer.entity_rows >= 0))
        try:
            parts = [tabulated(dataset, self.split, ranked[seen.queries.triples], side, engine.rank(scorer, seen))]
        except UndefinedScore as error:
            raise ScoreError(_undefined(error, dataset)) from error
        if self.unseen == "worst" and len(unseen):
            lost = contest(unseen, allowed)
            parts.append(tabulated(dataset, self.split, unseen[lost.queries.triples], side, _last(lost)))
        data = pa.concat_tables(parts).unify_dictionaries().combine_chunks().sort_by("triple")
        return RankTable(data, self.split, seen.candidates.notes, filter=self.filter)

    def _unseen(self, dataset: Dataset, triples: Triples, known: BoolArray) -> list[str]:
        if known.all():
            return []
        rows = np.flatnonzero(~known)
        named = ", ".join(dataset.triple(*triples.ids[row]) for row in rows[:3])
        what = f"{len(rows)} {self.split} triples have an entity or relation that the model does not know: {named}"
        what += ", …" if len(rows) > 3 else ""
        if self.unseen == "error":
            raise InputError(f"{what}. Set unseen: drop to leave them out, or unseen: worst to rank them last.")
        if self.unseen == "drop" and len(rows) == len(triples):
            raise InputError(f"{what}. Nothing is left to rank.")
        return [f"{what}. They were {'left out' if self.unseen == 'drop' else 'ranked last'} (unseen: {self.unseen})."]


def evaluate(  # noqa: PLR0913
    model: Any,
    dataset: Dataset | str | Path,
    *,
    split: Split = "test",
    sides: Side | Sequence[Side] = ("head", "tail"),
    filter: Split | Sequence[Split] = ("train", "valid", "test"),
    corruption: Corruption | None = None,
    unseen: UnseenPolicy = "error",
    nan: NaNPolicy = "error",
    batch_size: int | None = None,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    kernel: KernelName = "auto",
    progress: Progress | None = None,
) -> RankTable:
    """Rank the true answer of every triple and side of a split among its candidates.

    Parameters
    ----------
    model
        a checkpoint (``kgeval.load_checkpoint``), any scorer, a live PyKEEN model, or a callable
        ``f(heads, relations, tails) -> scores`` of equally long id arrays; higher is more plausible
    dataset
        the graph, or the folder or PyKEEN name of one, as ``kgeval.load_dataset`` takes it
    split, sides
        which triples, and which of their sides are predicted; one side may be said bare
    filter
        the splits whose triples are known answers: *other* known answers of a query never count against an answer.
        An empty filter is the raw setting; the raw counts are kept in any case
    corruption
        which candidates compete; all entities by default
    unseen
        what to do with triples that name something the model does not know: ``"error"``, ``"drop"`` or ``"worst"``
    nan
        what to do with scores that are not a number: ``"error"``, or ``"worst"`` to take them as minus infinity
    batch_size, memory_limit, threads, kernel
        how the work is cut and done; no rank of a vector model depends on them. ``memory_limit`` is what the blocks of
        work may take besides model and graph, as ``"2GB"`` or bytes; by default a quarter of the free memory
    progress
        called with the number of (triple, side) tasks that were just ranked

    Returns
    -------
    RankTable
        one row per (triple, side)

    Raises
    ------
    InputError
        if an argument is wrong, with the nearest valid value; if model and dataset do not fit together
    ScoreError
        if a score is NaN, with the triple and the candidate

    Examples
    --------
    The classic example: Italy is second among its candidates, Thomas first.

    >>> import numpy as np
    >>> from kgeval import Dataset, ScoreTable, Triples, Vocabulary, summarize
    >>> people = Vocabulary(["Jack", "Italy", "Thomas", "Ireland", "Germany", "China"])
    >>> test = Triples.of([(0, 0, 1), (0, 1, 2)])
    >>> relations = Vocabulary(["born_in", "friend_with"], "relation")
    >>> data = Dataset.build("classic", {"test": test}, entities=people, relations=relations)
    >>> scores = ScoreTable(test, tail=np.array([
    ...     [-np.inf, 0.753, 0.234, 0.789, 0.695, 0.456],
    ...     [-np.inf, 0.293, 0.901, 0.201, 0.156, 0.345],
    ... ]))
    >>> table = evaluate(scores, data, sides=("tail",))
    >>> table.column("greater")
    array([1, 0])
    >>> summary = summarize(table, ["hits@1", "hits@3", "mrr"])
    >>> summary["hits@1"], summary["hits@3"], summary["mrr"]
    (0.5, 1.0, 0.75)
    """
    settings = Evaluation(
        split=split,
        sides=sides,  # type: ignore[arg-type]
        filter=filter,  # type: ignore[arg-type]
        corruption=corruption or AllEntities(),
        unseen=unseen,
        nan=nan,
        batch_size=batch_size,
        memory_limit=memory_limit,  # type: ignore[arg-type]  # the model reads "2GB"
        threads=threads,
        kernel=kernel,
    )
    return settings(model, dataset, progress=progress)


def _last(contest: Contest) -> Ranked:
    """Rank answers that could not be scored behind all of their candidates."""
    nothing = np.zeros(contest.queries.num_tasks, np.int64)
    counts = [
        RankCounts(candidates - 1, nothing, candidates)
        for candidates in (contest.filtered_candidates, contest.raw_candidates)
    ]
    return Ranked(np.full(len(nothing), -np.inf), *counts)


def _repeated(dataset: Dataset, split: str) -> list[str]:
    count = dataset.repeated.get(split, 0)
    return [f"{count} {split} triples repeat an earlier one; each triple was ranked once."] if count else []


def _undefined(error: UndefinedScore, dataset: Dataset) -> str:
    anchor, relation = error.anchor, error.relation
    query = dataset.triple(anchor, relation, -1) if error.side == "tail" else dataset.triple(-1, relation, anchor)
    return (
        f"the model's score is NaN for {query}, candidate {dataset.entities[error.candidate]}: a rank is undefined. "
        "Fix the model, or set nan: worst."
    )
