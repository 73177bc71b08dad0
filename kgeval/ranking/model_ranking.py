"""The ranking of one model on one dataset: dataset → queries → candidates → scores → counts → rank table.

``ranking_of`` checks the settings and returns a ``ModelRanking``, whose ``rank`` returns the rank table. Protocols,
jobs, the recorder and the evaluator for PyKEEN call them. ``rules`` holds what protocols change; ``engine`` compares
scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import InputError
from kgeval.base.notes import Note
from kgeval.base.progress import Progress, unreported
from kgeval.base.threads import bound_threads
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.fingerprint import fingerprint
from kgeval.data.known import SortedFacts, known_triples
from kgeval.data.leaks import count_leaks
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.metrics.selection import RETRIEVED
from kgeval.models.aligned import Aligned
from kgeval.models.checks import notes_on_equal_rows, notes_on_repeatability
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.corruption.drawn import Sampled
from kgeval.ranking.engine import Engine
from kgeval.ranking.engine_choice import engine_for
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.list_audit import notes_on_knowledge
from kgeval.ranking.memory_plan import Plan
from kgeval.ranking.model_on_dataset import ModelOnDataset
from kgeval.ranking.outsiders import Outsiders
from kgeval.ranking.rank_table import (
    LISTED,
    MULTIPLICITY,
    RankedPart,
    RankTable,
    join_parts,
    stack,
    to_rank_columns,
    with_counts,
)
from kgeval.ranking.ranking_notes import (
    RESTRICTED_SAMPLE,
    RankingNotes,
    notes_on_chance,
    notes_on_device,
    notes_on_listed_answers,
    notes_on_lists,
    notes_on_masks,
    notes_on_nan,
    notes_on_repetitions,
    notes_on_shared_times,
    notes_on_sides,
    notes_on_unseen,
)
from kgeval.ranking.ranking_task import RankCounts, Ranked, RankingTask, concatenated, rank_last
from kgeval.ranking.reranking import among_listed, reranked
from kgeval.ranking.restriction import restriction
from kgeval.ranking.rules import STANDARD, FrameworkQuirk, Rules


def ranking_of(
    scorer: Aligned,
    dataset: Dataset,
    evaluation: Evaluation,
    *,
    rules: Rules = STANDARD,
    restrict_entities_to: IntArray | None = None,
    progress: Progress | None = None,
) -> ModelRanking:
    """Check the settings, find the triples, entities and sides to rank, and choose the kernel.

    ``restrict_entities_to`` are the ids of the entities that may compete.
    """
    corruption = evaluation.corruption.prepare(dataset)
    evaluation, split = evaluation.model_copy(update={"corruption": corruption}), evaluation.split
    known, quirks = scorer.knows(dataset.split(split)), rules.applicable_to(scorer)
    evaluation.require_splits(dataset)
    evaluation.require_relations(rules)
    evaluation.require_times(dataset, rules)
    unseen = notes_on_unseen(dataset, dataset.split(split), known, evaluation.unseen, noun=f"{split} triple")
    allowed, kept, restricted = restriction(dataset, evaluation, restrict_entities_to)
    known = known & kept
    wrong = [*scorer.notes, *unseen, *restricted, *(quirk.note for quirk in quirks if quirk.note)]
    sides = tuple(side for side in evaluation.sides if all(quirk.predicts_side(side) for quirk in quirks))
    if left := len(known) - rules.num_ranked(len(known)):
        are = "triple fills no batch" if left == 1 else "triples fill no batch"
        wrong.append(Note("left-out", f"not ranked: the last {left} {split} {are} of {rules.batch}."))
        known = known[:-left]
    if not (sides and len(known)):
        raise InputError(f"{wrong[-1]} Nothing is left to rank.")
    triples = dataset.split(split)[: len(known)][known]
    of_entities = [side for side in sides if side != "relation"]
    wrong = [*notes_on_lists(scorer, triples, of_entities, dataset, split), *wrong]
    if scorer.lists and isinstance(corruption, AllEntities):  # other corruptions may choose by the answers
        wrong = [*notes_on_knowledge(scorer, triples, of_entities, split), *wrong]
    moved: list[str] = [RESTRICTED_SAMPLE] if isinstance(corruption, Sampled) and not allowed.all() else []
    if rules.second == "static":
        moved += notes_on_shared_times(dataset, split, evaluation.filter)
    explained = [*dataset.notes, *notes_on_repetitions(dataset, split), *notes_on_sides(scorer)]
    notes = RankingNotes(tuple(wrong), tuple(moved), tuple(explained))
    tie_rule = reduce(lambda rule, quirk: quirk.tie_rule(rule), quirks, rules.tie_rule)
    engine = replace(engine_for(scorer.base, triples, evaluation), progress=progress or unreported, tie_rule=tie_rule)
    facts = _facts(dataset, evaluation)
    return ModelRanking(scorer, dataset, evaluation, rules, quirks, sides, engine, known, allowed, notes, facts)


def _facts(dataset: Dataset, evaluation: Evaluation) -> SortedFacts:
    """Collect the triples of all splits and files of an evaluation, at their own times or at all times."""
    names = dataset.present(dict.fromkeys([*dataset.splits, *evaluation.filter, evaluation.split]))
    return SortedFacts(dict(zip(names, known_triples(dataset, names, evaluation.times), strict=True)))


@dataclass(frozen=True, eq=False)
class ModelRanking(ModelOnDataset):
    """The ranking of a split: the model, the settings and the facts that all of its queries share."""

    rules: Rules
    quirks: tuple[FrameworkQuirk, ...]
    """the quirks of the rules that apply to this model"""
    sides: tuple[Side, ...]
    """the sides that are ranked"""
    engine: Engine
    known: BoolArray
    """bool[triple], whether the model knows the triple, and no restriction leaves it out; only for the triples of the
    split that fill whole batches"""
    allowed: BoolArray
    """bool[entity], whether the entity may compete"""
    notes: RankingNotes
    facts: SortedFacts
    """the triples that give the known answers, sorted once for all parts of a side"""

    @cached_property
    def compared(self) -> Aligned:
        """The scorer that ranks the answers: by scores, or by the places in its prediction lists."""
        return self.scorer.by_place() if self.rules.listed else self.scorer

    def rank(self, title: str | None = None, rank_parts: RankParts | None = None) -> RankTable:
        """Rank all sides, each at once or as ``rank_parts`` divides them, and lay the counts out as a table."""
        with bound_threads(self.evaluation.threads):
            notes = self.notes_on_scores()
            parts = self.whole_sides() if rank_parts is None else rank_parts(self)
        return self.table(parts, title or self.scorer.title, notes=notes)

    def whole_sides(self) -> list[RankedPart]:
        """Rank each side at once."""
        parts = []
        for side in self.sides:
            parts.append(self.part(side, np.arange(len(self.known))))
            self.forget_facts()
        return parts

    def forget_facts(self) -> None:
        """Free the memory of the known answers of a side."""
        self.facts.forget()
        if self.second:
            self.second.facts.forget()

    def notes_on_scores(self) -> tuple[str, ...]:
        """Note parameter tables whose rows are mostly equal, and scores that change when they are computed again."""
        repeatable = notes_on_repeatability(self.scorer, self.triples, self.sides)
        return (*notes_on_equal_rows(self.scorer.scorer, self.sides), *repeatable)

    @property
    def triples(self) -> Triples:
        """The triples of the split that the model ranks by its scores."""
        return self.dataset.split(self.evaluation.split)[: len(self.known)][self.known]

    @cached_property
    def second(self) -> ModelRanking | None:
        """The same ranking by the second filter of the rules; None without one, if it is the same, or for raw ranks."""
        known, dataset, changes = self.evaluation.filter, self.dataset, dict[str, Any]()
        if self.rules.second == "with_test" and "test" not in known and "test" in dataset.splits:
            changes = {"filter": (*known, "test")}
        elif self.rules.second == "static" and self.evaluation.times != "static":
            changes = {"filter": tuple(dict.fromkeys([*dataset.present(SPLITS), *known])), "times": "static"}
        if not (known and changes):
            return None
        evaluation, engine = self.evaluation.model_copy(update=changes), replace(self.engine, progress=unreported)
        return replace(self, evaluation=evaluation, engine=engine, facts=_facts(dataset, evaluation))

    def part(self, side: Side, triples: IntArray) -> RankedPart:
        """Rank some triples of the split (int64[triple], its rows) on one side.

        The counts of a triple do not depend on the others, unless a quirk compares them: parts of a side concatenate.
        If the rules have a second filter, the triples are ranked again by it.
        """
        part = self._rank_triples(side, triples)
        if self.second is None:
            return part
        counts = RankCounts.of(self.second._rank_triples(side, triples).data)
        return replace(part, data=with_counts(part.data, counts, f"{self.rules.second}_"))

    def table(self, parts: Sequence[RankedPart], title: str, *, notes: tuple[str, ...] = ()) -> RankTable:
        """Lay the counts of all parts out as a table: side after side, each in the order of the split."""
        evaluation, dataset = self.evaluation, self.dataset
        sides = [join_parts([part for part in parts if part.side == side]) for side in self.sides]
        data = stack([side.data for side in sides])
        if (times := dataset.multiplicity_of(evaluation.split)) is not None:
            data = data.append_column(MULTIPLICITY, pa.array(times[data["triple"].to_numpy()]))
        if self.scorer.lists:
            listed = self._listed(data)
            data = data.append_column(LISTED, listed)
            data = data.append_column(RETRIEVED, listed) if self.scorer.lists.not_retrieved else data
        leaks, of_leaks = count_leaks(dataset, evaluation.split, data["triple"].to_numpy(), self.sides)
        work = self.engine.kernel.stats()
        of_chance = notes_on_chance(self.scorer, dataset, evaluation.split, data)
        wrong = (*of_chance, *notes_on_masks(self.scorer, data), *notes_on_nan(data), *self.notes.wrong, *notes)
        of_lists = notes_on_listed_answers(self.scorer, data, sum(side.outsiders for side in sides))
        moved = (*of_lists, *of_leaks, *self.notes.moved)
        of_candidates = (note for side in sides for note in self._notes_on_candidates(side))
        explained = (*of_candidates, *self.notes.explained)
        return RankTable(
            data,
            evaluation.split,
            (*RankingNotes(wrong, moved, explained), *notes_on_device(work)),
            work,
            filter=evaluation.filter,
            times=None if dataset.times is None else evaluation.times,
            static_filter=self.second.evaluation.filter if self.second and self.rules.second == "static" else (),
            history=self.history,
            protocol=self.rules.name,
            model=title,
            dataset=dataset.name,
            candidates=self._candidates_in_words(sides),
            competing=self._num_competing(),
            unscored=int((~self.known[np.unique(data["triple"].to_numpy())]).sum()),
            leaks=leaks,
            assumptions=(*dataset.assumptions, *self.scorer.assumptions),
            fingerprint=fingerprint(self.dataset),
        )

    def _listed(self, data: pa.Table) -> pa.Array:
        """Tell whether the prediction list of each row's query names the answer, side after side; bool[row]."""
        triples = self.dataset.split(self.evaluation.split)
        rows, sides = data["triple"].to_numpy(), data["side"].to_numpy()
        asked = [Queries.per_triple(triples[rows[sides == side]], side, as_given=True) for side in self.sides]
        return pa.array(np.concatenate([self.scorer.hold_answers(queries) for queries in asked]))

    def _notes_on_candidates(self, side: RankedPart) -> tuple[str, ...]:
        """Return notes on the candidates of a side; those of samples, noted block by block, are made anew."""
        corruption = self.evaluation.corruption
        return corruption.shortage(side.side, side.num_candidates) if isinstance(corruption, Sampled) else side.notes

    def _candidates_in_words(self, sides: Sequence[RankedPart]) -> str:
        """Say which candidates compete, before any that the model does not know are left out."""
        words = []
        if of_entities := [side.num_candidates for side in sides if side.side != "relation"]:
            sizes, allowed = np.concatenate(of_entities), self._may_compete("tail")
            words.append(self.candidates_in_words(self.evaluation.corruption, sizes, allowed))
        if len(of_entities) < len(sides):
            words.append(f"all {len(self.dataset.relations):,} relations")
        return " and ".join(words)

    def _num_competing(self) -> int | None:
        """The number of entities that compete: those that the model knows; None if it knows all that may compete."""
        allowed = self._may_compete("tail")
        known = allowed & (self.scorer.entity_rows >= 0)
        entities = any(side != "relation" for side in self.sides)
        return int(known.sum()) if entities and (known != allowed).any() else None

    def _may_compete(self, side: Side) -> BoolArray:
        """Whether each possible answer of a side may compete, known to the model or not; bool[answer]."""
        if side == "relation":
            return np.ones(len(self.dataset.relations), np.bool_)
        return self.allowed & self.rules.competing(self.dataset)

    def _rank_triples(self, side: Side, triples: IntArray) -> RankedPart:
        """Rank the triples that the scorer knows; those that it does not know are last, or not in the table."""
        competing = self._may_compete(side)
        known = self.known[triples]
        rows = triples[known]
        groups = self.scorer.groups(side, self.dataset.split(self.evaluation.split).relations[rows])
        parts = [self._rank_rows(side, rows[part], competing & entities, self._rank) for part, entities in groups]
        if self.evaluation.unseen == "worst" and not known.all():
            allowed = np.ones(len(competing), np.bool_) if side == "relation" else self.allowed
            parts.append(self._rank_rows(side, triples[~known], allowed, lambda task: (rank_last(task), 0)))
        return join_parts(parts)

    def _rank_rows(
        self, side: Side, rows: IntArray, competing: BoolArray, rank: Callable[[RankingTask], tuple[Ranked, int]]
    ) -> RankedPart:
        """Rank some rows of the split among the answers that compete (bool[answer])."""
        blocks = [
            (rows[task.queries.triples], *rank(task), candidates.notes, candidates.num_candidates(len(task.queries)))
            for candidates, task in self._tasks(side, rows, competing)
        ]
        order, parts, outsiders, notes, sizes = zip(*blocks, strict=True)
        ranked = concatenated(parts)
        ranked = ranked.with_nan() if self.evaluation.nan == "worst" else ranked
        table = to_rank_columns(self.dataset, self.evaluation.split, np.concatenate(order), side, ranked)
        all_notes = tuple(note for of_block in notes for note in of_block)
        return RankedPart(side, table, all_notes, np.concatenate(sizes), sum(outsiders))

    def _tasks(self, side: Side, rows: IntArray, competing: BoolArray) -> Iterator[tuple[Candidates, RankingTask]]:
        """Choose the candidates of as many queries at a time as fit into memory; of all if a quirk compares queries."""
        corruption, split = self.evaluation.corruption, self.evaluation.split
        known = self.facts.of(self.evaluation.filter, side)
        # A generator also leaves out the answers of the evaluated split, whether or not the filter names it.
        avoided = self.facts.of((*self.evaluation.filter, split), side)
        collect = Queries.per_triple if self.scorer.asks_by_triple else corruption.queries
        queries = collect(self.dataset.split(split)[rows], side)
        widths, notes = corruption.widths(queries, self.dataset), corruption.notes(queries, self.dataset)
        if widths is None or not len(queries) or any(quirk.compares_queries for quirk in self.quirks):
            blocks = iter([slice(0, len(queries))])
        else:
            blocks = Plan(self.engine.memory).tasks(widths + avoided.lengths(queries) + np.diff(queries.offsets))
        for block in blocks:
            part = queries[block]
            chosen = corruption.choose(part, avoided.rows(part), self.dataset)
            chosen, notes = replace(chosen, notes=(*chosen.notes, *notes)), ()
            yield chosen, RankingTask.of(part, chosen.restricted_to(competing), known.rows(part))

    def _rank(self, task: RankingTask) -> tuple[Ranked, int]:
        """Rank the answers of a task; also count its outsiders: listed entities that are no candidates."""
        queries, outsiders, compared = task.queries, 0, self.compared
        known = self.facts.of(self.evaluation.filter, queries.side).rows(queries) if compared.lists else None
        with self.refusing_nan():
            own, base = compared.scorer_of(queries.side), compared.base.scorer_of(queries.side)
            ranked = self.engine.rank(base, task)
            if known is not None and own is not base:
                named, quiet = among_listed(compared, task, known), replace(self.engine, progress=unreported)
                ranked = reranked(quiet, compared, named, ranked, quiet.rank(base, named))
        if known is not None:
            beside = Outsiders.of(compared, queries, task.candidates, known)
            ranked, outsiders = beside.added_to(ranked, queries)
        if compared.base is not compared:
            ranked = ranked._replace(scores=ranked.order)
        for quirk in self.quirks:
            ranked = quirk.adjust(ranked, task, self.compared, self.engine.tie_rule)
        return ranked, outsiders


RankParts = Callable[[ModelRanking], Sequence[RankedPart]]
"""ranks all sides of a ranking, in parts"""
