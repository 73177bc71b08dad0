"""Evaluation: dataset → queries → candidates → scores → counts → rank table, the whole way in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import AfterValidator, BeforeValidator, ByteSize, Field

from kgeval.arrays import BoolArray, IntArray
from kgeval.corruption import AllEntities, Corruption
from kgeval.corruption.sampled import Sampled
from kgeval.data.dataset import Dataset, Split
from kgeval.data.known import KnownAnswers
from kgeval.data.layout import as_dataset
from kgeval.data.leaks import notes_on_leaks
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.data.vocabulary import Labels
from kgeval.errors import InputError, ScoreError
from kgeval.files.budget import free_memory
from kgeval.progress import Progress
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Engine, NaNPolicy, Ranked, UndefinedScore, joined
from kgeval.ranking.kernels import KernelName, kernel
from kgeval.ranking.plan import BLOCK, MEMORY_DIVISOR
from kgeval.ranking.quirks import STANDARD, Rules
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.table_rows import MULTIPLICITY, WITH_TEST, to_rank_columns, with_counts_of
from kgeval.scorers.alignment import Aligned, align
from kgeval.scorers.checks.degenerate import notes_on_equal_rows
from kgeval.scorers.checks.repeatability import notes_on_repeatability
from kgeval.scorers.scorer import VectorScorer
from kgeval.settings.settings import Settings, listed
from kgeval.threads import bound_threads, slices

LEAST_MEMORY = 4096
"""bytes below which a limit is a mistake: even a block of one query takes more"""

TORCH_PAYS = 10**12
"""floating-point operations from which on the import of torch, for products in bfloat16, costs less than it saves"""

SAMPLED_FROM_ALL = (
    "candidates were drawn from all entities, and then restricted to those that were asked for: queries have fewer "
    "than the sample's count."
)

UnseenPolicy = Literal["error", "drop", "worst"]


def _distinct_sides(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    if len(set(sides)) < len(sides):
        raise ValueError(f"a side is said twice in {list(sides)}. Say each side once")
    return sides


Sides = Annotated[
    tuple[Side, ...],
    BeforeValidator(listed, json_schema_input_type=Side | tuple[Side, ...]),
    Field(strict=False, min_length=1),
    AfterValidator(_distinct_sides),
]
Filter = Annotated[
    tuple[Split, ...], BeforeValidator(listed, json_schema_input_type=Split | tuple[Split, ...]), Field(strict=False)
]


def _enough_memory(limit: int) -> int:
    if limit < LEAST_MEMORY:
        raise ValueError(
            f"{limit} bytes hold no block of work; it takes at least {LEAST_MEMORY}. Add a unit, as in 2GB"
        )
    return limit


class Evaluation(Settings):
    """How a model is evaluated. It is its own configuration, and a function from a model and a dataset to ranks."""

    called = "arguments of the evaluation"

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
    memory_limit: Annotated[ByteSize, AfterValidator(_enough_memory)] | None = None
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
        entities: Labels | None = None,
        relations: Labels | None = None,
        progress: Progress | None = None,
        restrict_entities_to: IntArray | None = None,
        rules: Rules = STANDARD,
        title: str | None = None,
    ) -> RankTable:
        """Rank every triple of the split, if need be among some entities (ids) only; see :func:`kgeval.evaluate`.

        ``title`` is what the result calls the model; by default what the model calls itself.
        """
        dataset = as_dataset(dataset)
        scorer = align(model, dataset, entities=entities, relations=relations)
        scorer = scorer.by_place() if rules.listed else scorer
        triples = dataset.split(self.split)
        self._require_splits_of_corruption(dataset)
        known = scorer.knows(triples)
        if self.kernel == "bfloat16" or (self.kernel == "auto" and self._multiplies_much(scorer, triples.ids[known])):
            import torch  # noqa: F401  # before its threads are bound
        notes = [*scorer.notes, *dataset.notes, *notes_on_leaks(dataset, self.split)]
        notes += [*_repeated(dataset, self.split), *self._unseen(dataset, triples, known)]
        faults = rules.applicable_to(scorer)
        notes += [fault.note for fault in faults if fault.note]
        sides = [side for side in self.sides if all(fault.predicts_side(side) for fault in faults)]
        if left := len(known) - rules.num_ranked(len(known)):
            notes.append(f"the last {left} {self.split} triples fill no batch of {rules.batch}, and were not ranked.")
            known = known[:-left]
        if not (sides and len(known)):
            raise InputError(f"{notes[-1]} Nothing is left to rank.")
        engine = Engine(
            kernel(self.kernel, block=self.batch_size or BLOCK),
            self.nan,
            self.memory_limit or free_memory() // MEMORY_DIVISOR,
            self.batch_size,
            progress or _unwatched,
            reduce(lambda level, fault: fault.level(level), faults, rules.tie_rule),
        )
        allowed = np.ones(len(dataset.entities), np.bool_)
        if restrict_entities_to is not None:
            allowed = np.isin(np.arange(len(dataset.entities)), restrict_entities_to)
            notes += [SAMPLED_FROM_ALL] if isinstance(self.corruption, Sampled) else []
        with bound_threads(self.threads):
            notes += notes_on_equal_rows(scorer.scorer, sides)
            notes += notes_on_repeatability(scorer, Triples(triples.ids[: len(known)][known]), sides)
            parts = self._rank_sides(engine, scorer, dataset, sides, known, allowed, rules)
        notes += [note for part in parts for note in part.notes]
        data = pa.concat_tables([part.data for part in parts]).unify_dictionaries().combine_chunks()
        if (times := dataset.multiplicity.get(self.split)) is not None:
            data = data.append_column(MULTIPLICITY, pa.array(times[data["triple"].to_numpy()]))
        sizes = np.concatenate([part.sizes for part in parts])
        return RankTable(
            data,
            self.split,
            tuple(dict.fromkeys(notes)),
            engine.kernel.stats(),
            filter=self.filter,
            protocol=rules.protocol,
            model=title or scorer.title,
            dataset=dataset.name,
            candidates=self._described(dataset, sizes, allowed & rules.competing(dataset)),
        )

    def _described(self, dataset: Dataset, sizes: IntArray, allowed: BoolArray) -> str:
        """Say which candidates compete, before any that the model does not know are left out."""
        few = "" if allowed.all() else f", of which those among {int(allowed.sum()):,} entities compete"
        return self.corruption.describe(dataset, sizes) + few

    def check(self, model: Any, dataset: Dataset) -> None:
        """Refuse a model that does not fit the dataset, or does not know triples that it has to, before any work.

        Raises
        ------
        InputError
            as the evaluation does
        """
        triples = dataset.split(self.split)
        self._unseen(dataset, triples, align(model, dataset).knows(triples))

    def _require_splits_of_corruption(self, dataset: Dataset) -> None:
        splits = self.corruption.learns_from
        if splits and not any(split in dataset.splits for split in splits):
            raise InputError(
                f"the corruption {self.corruption.kind!r} learns from {' and '.join(splits)} triples which entities "
                "compete, and there are none."
            )

    def _multiplies_much(self, scorer: Aligned, ids: IntArray) -> bool:
        """Whether products in bfloat16 would save more time than the import of torch takes."""
        if not isinstance(self.corruption, AllEntities):
            return False
        dims = 0
        for side in self.sides:
            example = Queries.of(Triples(ids[:1]), side)
            for _, view in scorer.views(example):
                if isinstance(view, VectorScorer) and view.similarity in {"dot", "l2", "squared_l2", "cosine"}:
                    dims += view.entity_vectors(side, example.answers).shape[1]
        return bool(2 * len(ids) * scorer.num_entities * dims > TORCH_PAYS)

    def _rank_sides(
        self,
        engine: Engine,
        scorer: Aligned,
        dataset: Dataset,
        sides: Sequence[Side],
        known: BoolArray,
        allowed: BoolArray,
        rules: Rules,
    ) -> list[_Side]:
        """Rank the sides, and again with test known where the rules want that too and the filter leaves test out."""
        parts = [self._rank_side(engine, scorer, dataset, side, known, allowed, rules) for side in sides]
        if not (rules.with_test and self.filter and "test" not in self.filter and "test" in dataset.splits):
            return parts
        wider, silent = self.model_copy(update={"filter": (*self.filter, "test")}), replace(engine, progress=_unwatched)
        again = wider._rank_sides(silent, scorer, dataset, sides, known, allowed, rules)
        return [
            replace(part, data=with_counts_of(part.data, WITH_TEST, other.data))
            for part, other in zip(parts, again, strict=True)
        ]

    def _rank_side(
        self,
        engine: Engine,
        scorer: Aligned,
        dataset: Dataset,
        side: Side,
        known: BoolArray,
        allowed: BoolArray,
        rules: Rules,
    ) -> _Side:
        """Rank the triples that the scorer knows; those that it does not know are last, or not in the table."""
        filtered = [part for name, part in dataset.splits.items() if name in self.filter]
        facts = KnownAnswers.of(filtered, side)
        # A generator leaves out what is evaluated too, whether or not the filter names that split.
        taken = facts if self.split in self.filter else KnownAnswers.of([*filtered, dataset.split(self.split)], side)

        faults = rules.applicable_to(scorer)
        sizes: list[IntArray] = []
        notes: list[str] = []

        def contests(rows: IntArray, competing: BoolArray) -> Iterator[RankingTask]:
            """Choose candidates, of as many queries at a time as the memory holds; but a fault may compare all."""
            collect = Queries.per_triple if scorer.each_triple else self.corruption.queries
            queries = collect(Triples(dataset.split(self.split).ids[rows]), side)
            step = None if faults else self.corruption.in_hand(engine.memory, dataset)
            for block in slices(max(len(queries), 1), step or max(len(queries), 1)):
                part = queries[block]
                candidates = self.corruption.candidates(part, taken.rows(part), dataset)
                sizes.append(candidates.sizes)
                notes.extend(candidates.notes)
                yield RankingTask.of(part, candidates.among(competing), facts.rows(part))

        def ranked(contest: RankingTask) -> Ranked:
            outcome = engine.rank(scorer, contest)
            for fault in faults:
                outcome = fault.adjust(outcome, contest, scorer, engine.level)
            return outcome

        def table(rows: IntArray, competing: BoolArray, rank: Callable[[RankingTask], Ranked]) -> pa.Table:
            found = [(rows[part.queries.triples], rank(part)) for part in contests(rows, competing)]
            places, outcomes = zip(*found, strict=True)
            return to_rank_columns(dataset, self.split, np.concatenate(places), side, joined(outcomes))

        try:
            competing = allowed & (scorer.entity_rows >= 0) & rules.competing(dataset)
            parts = [table(np.flatnonzero(known), competing, ranked)]
        except UndefinedScore as error:
            raise ScoreError(_undefined(error, dataset)) from error
        if isinstance(self.corruption, Sampled):  # the notes are of one block each
            notes = [*self.corruption.shortage(side, np.concatenate(sizes))]
        told = tuple(notes)
        if self.unseen == "worst" and not known.all():
            parts.append(table(np.flatnonzero(~known), allowed, _last))
        data = pa.concat_tables(parts).unify_dictionaries().combine_chunks().sort_by("triple")
        return _Side(data, told, np.concatenate(sizes))

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


@dataclass(frozen=True)
class _Side:
    """What was found of one side."""

    data: pa.Table
    notes: tuple[str, ...]
    sizes: IntArray
    """int64[query], how many candidates each query got"""


def _unwatched(_tasks: int) -> None:
    """Report no progress."""


def _last(contest: RankingTask) -> Ranked:
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
    candidate = dataset.called(dataset.entities[error.candidate])
    return (
        f"the model's score is NaN for {query}, candidate {candidate}: a rank is undefined. "
        "Fix the model, or set nan: worst."
    )
