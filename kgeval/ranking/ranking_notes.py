"""Notes on ranks: what may make them wrong, what moves them, and what explains them.

``model_ranking`` collects them for its table. Each function takes what was ranked and returns a list of notes
(sentences), which is empty if nothing is odd.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import InputError, counted
from kgeval.base.notes import Example, Note, amount
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.models.adapters.array_scorers import TripleArrays
from kgeval.models.adapters.prediction_lists import PredictionLists
from kgeval.models.aligned import Aligned
from kgeval.models.alignment import align
from kgeval.models.scorer import LabelledModel
from kgeval.ranking.evaluation import Evaluation, UnseenPolicy
from kgeval.ranking.list_audit import notes_on_no_answer
from kgeval.ranking.rank_table import LISTED, NAN, RankTable
from kgeval.ranking.ranking_task import RankCounts

RESTRICTED_SAMPLE = Note(
    "candidates",
    "candidates were sampled from all entities, and then restricted to some: queries have fewer candidates than "
    "the sample's count.",
)


@dataclass(frozen=True)
class RankingNotes:
    """Notes on a ranking, the most important first; each once."""

    wrong: tuple[str, ...] = ()
    """notes on what may make the ranks wrong: labels, unseen entities, missing queries, scores"""
    moved: tuple[str, ...] = ()
    """notes on what moves the metrics: leaks, candidates"""
    explained: tuple[str, ...] = ()
    """notes on dataset and sides"""

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.wrong, *self.moved, *self.explained]))


CHANCE, NOISE = 0.1, 2.0
"""a model counts as no better than chance if its adjusted mean rank index (AMRI) is below ``CHANCE``, and less than
``NOISE`` standard deviations above 0"""

FAR_WORSE = -0.3
"""below this AMRI, a model counts as far worse than chance: its scores do not mean what they should"""

UNLIKELY = np.log(1e9)
"""the logarithm of 10⁹: odds of one in 10⁹ are not explained by chance"""

FEW = 0.5
"""if chance alone may reach this AMRI, the answers are too few to judge a model by"""


def check_unseen(model: Any, dataset: Dataset, evaluation: Evaluation) -> None:
    """Refuse a model that does not know all triples, as ranking would, before anything is ranked."""
    triples, noun = dataset.split(evaluation.split), f"{evaluation.split} triple"
    notes_on_unseen(dataset, triples, align(model, dataset).knows(triples), evaluation.unseen, noun=noun)


def notes_on_repetitions(dataset: Dataset, split: str) -> list[str]:
    """Count the triples that stand in their split more than once."""
    times = dataset.multiplicity_of(split)
    count = 0 if times is None else int((times - 1).sum())
    repeated = amount(count, f"repeated {split} triple")
    return [Note("repeated", repeated, ": kgeval's own metrics count each triple once.")] if count else []


def notes_on_shared_times(dataset: Dataset, split: str, filter: Sequence[str]) -> list[str]:
    """Count the facts at the times of a split that a time-aware filter leaves aside: it does not name their split."""
    times = {name: np.asarray(dataset.split(name).contexts) for name in (*dataset.present(SPLITS), split)}
    others = {name: int(np.isin(times[name], times[split]).sum()) for name in times if name not in (*filter, split)}
    shared = [counted(count, f"{name} fact") for name, count in others.items() if count]
    what = f"at the times of {split}, {' and '.join(shared)} hold too, which the time-aware filter leaves aside"
    return [Note("times", f"{what}. To filter by them: --filter {','.join(SPLITS)}.")] if shared and filter else []


def notes_on_unseen(
    dataset: Dataset, triples: Triples, known: BoolArray, policy: UnseenPolicy, *, noun: str, ranks: bool = True
) -> list[str]:
    """Count the triples that the model does not know, or refuse them; ``known`` is bool[triple]."""
    if known.all():
        return []
    unseen = triples.ids[~known]
    fault = " with an entity or relation that the model does not know"
    unseen_triples = Note("unseen", amount(len(unseen), noun), fault, Example(f": {dataset.examples(unseen)}"))
    if policy == "error":
        last = ", or unseen: worst to rank them last" if ranks else ""
        raise InputError(f"{unseen_triples}. Set unseen: drop to leave them out{last}.")
    if policy == "drop" and not known.any():
        raise InputError(f"{unseen_triples}. Nothing is left to {'rank' if ranks else 'classify'}.")
    fate = f"{'left out' if policy == 'drop' else 'ranked last'} (unseen: {policy}): "
    return [Note("unseen", fate, *unseen_triples.parts, ".")]


def notes_on_device(work: Mapping[str, Any]) -> list[str]:
    """Name what was not counted on the device; ``work`` is ``stats()`` of the kernel."""
    where = f"counted on the CPU, not on {work.get('device')}"
    return [Note("device", f"{where}: {work_on_host}.") for work_on_host in work.get("on_host", ())]


def notes_on_sides(scorer: Aligned) -> list[str]:
    """Say that a model predicts one side only."""
    return [Note("sides", f"the model predicts {scorer.sides[0]}s only.")] if len(scorer.sides) == 1 else []


def notes_on_lists(scorer: Aligned, triples: Triples, sides: Sequence[Side], dataset: Dataset, split: str) -> list[str]:
    """For a model of prediction lists, count the queries without a list, and the lists that no triple asks for."""
    if not scorer.lists:
        return []
    note = scorer.lists.note_on_unlisted([scorer.map_queries(Queries.per_triple(triples, side)) for side in sides])
    return [*([note] if note else []), *notes_on_no_answer(scorer, dataset, sides, split)]


TIED_WITH = "with all entities that their list leaves out"

METRICS_OF_LISTS = "metrics of lists (MAP, P@k, recall, NDCG, …)"


def notes_on_listed_answers(scorer: Aligned, ranks: pa.Table, outsiders: int) -> list[str]:
    """Count the answers that their query's list does not name, and say how they rank; and the listed ``outsiders``."""
    if not scorer.lists:
        return []
    listed = ranks[LISTED].to_numpy(zero_copy_only=False)
    missing, notes = int((~listed).sum()), list[str]()
    if missing:
        are, lengths = "is" if missing == 1 else "are", [it.rows.lengths.max() for it in scorer.lists.sides.values()]
        subject = f"{missing:,} of {len(listed):,} answers {are} not in the list of predictions"
        first = listed | (ranks["greater"].to_numpy() + ranks["tied"].to_numpy() == 0)
        most = f"any order of lists of up to {max([0, *lengths]):,} gives at most a Hits@1 of {first.mean():.4f}"
        behind = f"they follow in the order of the base, and {most}."
        tied = f"they tie {TIED_WITH}, and {most}. In {METRICS_OF_LISTS} they have the mean over the orders of "
        tied += "these ties; to count them as 0 there, as trec_eval does, set the option missing=not-retrieved."
        zero = (
            f"they count as 0 in {METRICS_OF_LISTS} (missing=not-retrieved), and tie in metrics of ranks (MRR, hits@k)."
        )
        fate = behind if scorer.lists.base else zero if scorer.lists.not_retrieved else tied
        notes.append(Note("lists", f"{subject}: {fate}"))
    if outsiders:
        entities = amount(outsiders, "listed entity that is no candidate", "listed entities that are no candidates")
        cure = "To leave them out, set the option unmatched=drop."
        fate = f" of the query keep their places as wrong answers (in each rank again). {cure}"
        notes.append(Note("lists", entities, fate))
    return notes


def notes_on_nan(ranks: pa.Table) -> list[str]:
    """Count the scores that were NaN, where NaN is taken for the worst."""
    if not {*NAN} <= {*ranks.column_names}:
        return []
    candidates, answers = (int(ranks[name].to_numpy().sum()) for name in NAN)
    others = int((ranks["raw_candidates"].to_numpy() - 1).sum())
    share = f"{answers:,} of {ranks.num_rows:,} scores of answers and {candidates:,} of {others:,} of other candidates"
    why = "(nan: worst). Such a candidate is behind every answer that has a score, which makes the metrics better"
    return [Note("scores", f"{share} are NaN and count as the worst {why}.")] if candidates or answers else []


def notes_on_masks(scorer: Aligned, ranks: pa.Table) -> list[str]:
    """Note if no known answer beats or ties with any answer: their scores were masked, or raw ranks would be worse.

    Prediction lists are not judged: a list may well leave out the other answers.
    """
    filtered, raw = RankCounts.of(ranks), RankCounts.of(ranks, "raw_")
    others = raw.candidates - filtered.candidates
    alike = (raw.greater == filtered.greater) & (raw.tied == filtered.tied)
    # By chance, an answer beats all n other known answers with probability 1 / (n + 1).
    if scorer.lists or np.log1p(others).sum() < UNLIKELY or not alike[others > 0].all():
        return []
    fact = f"the raw ranks are the filtered ones, though {int((others > 0).sum()):,} answers have other known answers"
    cure = "Give their scores as they are, since kgeval filters them."
    return [Note("scores", f"{fact}: these seem to be masked beforehand. {cure}")]


def notes_on_chance(scorer: Aligned, dataset: Dataset, split: str, ranks: pa.Table) -> list[str]:
    """Warn of a model that is no better than chance, as it is if ids are matched with the wrong labels.

    If ids are mixed up, all ranks of one answer entity move together: each distinct answer is one draw of a random
    ranking, whose variance is known. Models whose ids come from the dataset itself are checked only for being far
    worse.
    """
    source = scorer.source
    sides = ranks["side"].combine_chunks().dictionary_decode()
    indices = {
        side: _index_at_chance(ranks.filter(pc.equal(sides, side)), side) for side in pc.unique(sides).to_pylist()
    }
    low = {side: index for side, index in indices.items() if index is not None}
    far = {side: index for side, index in low.items() if index < FAR_WORSE}
    values = ", ".join(f"{side}s {index:.3f}" for side, index in (far or low).items())
    if far:
        of_sides = "" if len(far) == len(indices) else f" for {' and '.join(f'{side}s' for side in far)}"
        fact = (
            f"the model is far worse than chance{of_sides} (AMRI: {values}). If its scores are distances, give them "
            "with a minus sign: the highest score is the best. If answers were masked beforehand, give their scores as "
            "they are. Or its ids or labels are mixed up."
        )
        return [Note("chance", fact)]
    is_own = isinstance(source, LabelledModel) and source.numbering == "dataset" and source.entities is dataset.entities
    if is_own or not low:
        return []
    fact = (
        f"the model is no better than chance (AMRI: {values}). Its ids or labels may be mixed up, or it has learned "
        "nothing."
    )
    further = "To find out, evaluate the split train: with the right ids, a trained model is far better there."
    # Stored scores, vectors and lists are of one split.
    has_one_split = split == "train" or isinstance(getattr(source, "model", source), TripleArrays | PredictionLists)
    return [Note("chance", fact if has_one_split else f"{fact} {further}")]


def _index_at_chance(ranks: pa.Table, answers: str) -> float | None:
    """Compute the adjusted mean rank index of one side, or None where it is clearly better than chance."""
    greater, tied, candidates = (ranks[name].to_numpy().astype(float) for name in ("greater", "tied", "candidates"))
    gained = (candidates - 1) / 2 - (greater + tied / 2)
    deviations = np.bincount(ranks[answers].to_numpy(), np.sqrt((candidates**2 - 1) / 12))
    noise, most = NOISE * float(np.linalg.norm(deviations)), float((candidates - 1).sum() / 2)
    if noise >= FEW * most:
        return None
    index = float(gained.sum() / most)
    return index if index < CHANCE and gained.sum() < noise else None


NOTED_SHARE = 0.01
"""the share of ranks that contradict their side, above which there is a note: ties alone cause a few"""


def notes_on_exchanged_sides(head: RankTable, tail: RankTable) -> list[str]:
    """Write a note if the ranks of two sides fit far better after an exchange.

    The filter removes known answers only: raw rank − filtered rank is at most the number of other known answers, which
    differs between head and tail queries. There is a note if at least twice as many ranks contradict that as after an
    exchange of the sides. The rows of each table are in ascending order of triples.
    """
    if head.knows_no_raw or tail.knows_no_raw:
        return []
    _, *rows = np.intersect1d(head.column("triple"), tail.column("triple"), return_indices=True)
    moved, known = zip(*(_moved_and_known(*side) for side in zip((head, tail), rows, strict=True)), strict=True)
    here = sum(np.count_nonzero(places > answers) for places, answers in zip(moved, known, strict=True))
    exchanged = sum(np.count_nonzero(places > answers) for places, answers in zip(moved, known[::-1], strict=True))
    ranks = 2 * len(rows[0])
    if here < NOTED_SHARE * ranks or 2 * exchanged > here:
        return []
    fact = (
        f"head and tail ranks are probably exchanged: in {here:,} of {ranks:,} rows the filter removes more "
        f"candidates than there are known answers, and in {exchanged:,} rows after an exchange. Name the columns with "
        "--columns (in Python columns=)."
    )
    return [Note("sides", fact)]


def _moved_and_known(table: RankTable, rows: IntArray) -> tuple[IntArray, IntArray]:
    """By how many places the filter moved each answer, and how many other known answers there are; int64[row] both."""
    moved = table.column("raw_greater") - table.column("greater")
    return moved[rows], (table.column("raw_candidates") - table.column("candidates"))[rows]
