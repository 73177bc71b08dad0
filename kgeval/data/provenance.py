"""Provenance: the model, dataset, split, rules and candidates of a result, and the line above it that names them.

Tables of ranks, of labels and of predictions make one; summaries show it, and comparisons what several have in common
(:func:`shared_description`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from kgeval.base.assumptions import Assumption, read_as
from kgeval.base.errors import counted
from kgeval.base.notes import Note

UNKNOWN = "unknown"
"""the name of a model, a dataset and so on that is not known"""

OF_FILE = "as in the file"
"""the name of the tie policy of ranks whose numbers of ties are not known"""

BOTH = ("head", "tail")
"""the sides of a triple, which are predicted by default"""

ALIKE = ("dataset", "split", "protocol", "filter", "times", "candidates")
"""the fields that must be equal for metrics to compare"""


@dataclass(frozen=True)
class Provenance:
    """The model, dataset, split, rules and candidates of a ranking.

    >>> print(Provenance("ComplEx", "umls", "test", 661, "standard", ("train", "test"), "all 135 entities"))
    ComplEx on umls, 661 test triples, protocol standard, filtered by train, test, candidates: all 135 entities
    >>> print(Provenance(UNKNOWN, "umls", "test", 661, UNKNOWN, (), "20 uniform (seed 0)"))
    unknown model on umls, 661 test triples, protocol unknown, unfiltered, candidates: 20 uniform (seed 0)
    >>> print(Provenance("m", "umls", "test", 661, "standard", (), "all 135 entities", sides=("tail",)))
    m on umls, 661 test triples (tails only), protocol standard, unfiltered, candidates: all 135 entities
    >>> print(Provenance("TComplEx", "icews14", "test", 8963, "tkbc", ("train", "test"), "all", times="time-aware"))
    TComplEx on icews14, 8,963 test triples, protocol tkbc, filtered by train, test (time-aware), candidates: all
    """

    model: str
    dataset: str
    split: str
    triples: int
    """how many different triples were ranked"""
    protocol: str
    filter: tuple[str, ...] | None
    """the splits whose triples were known answers: none in the raw setting; ``None`` if that is not known"""
    candidates: str
    """which entities competed with an answer"""
    times: str | None = None
    """for a temporal graph, the facts that were filtered: ``time-aware`` (of the query's time) or ``static`` (of all
    times)"""
    history: str | None = None
    """for a temporal graph, the facts before a query's time that the model had in view: of ``train``, of
    ``train+valid``, or of any split (``observed``); ``None`` if that is not said"""
    sides: tuple[str, ...] = BOTH
    """which sides were predicted: head, tail, relation"""
    missing: int = 0
    """how many ranks of the split a file of ranks lacks"""
    competing: int | None = None
    """how many entities the model knows, if only these compete; ``None`` if it knows all"""
    unscored: int = 0
    """how many of the triples the model does not know, so that their answers were put last without a score"""
    leaks: LeakCounts | None = field(default=None, compare=False)
    """how many triples of the split can be looked up in what models learn from; ``None`` if there are none, or if that
    is not known"""
    has_ties: bool = field(default=True, compare=False)
    """whether the numbers of ties are known, so that any tie policy can be computed"""
    own_ties: str = field(default=OF_FILE, compare=False)
    """the tie policy of the ranks, if ``has_ties`` is false"""
    assumptions: tuple[Assumption, ...] = field(default=(), compare=False)
    """how the dataset and the model were read where another reading is possible"""
    nan: dict[str, int] | None = field(default=None, compare=False)
    """how many scores of candidates and of answers were NaN, where they were taken for the worst; ``None`` if NaN was
    an error"""

    @property
    def all_candidates(self) -> str:
        """The candidates; if the model does not know all, also how many entities compete and triples are last."""
        return self.candidates + _of_known(self.competing, self.unscored)

    @property
    def heads(self) -> tuple[str, ...]:
        """The lines above a table: this provenance, and what speaks against its numbers: custom, leaks."""
        lines = [str(self), *filter(None, [read_as(self.assumptions)])]
        if self.leaks is not None:
            of_part = self.leaks.triples != self.triples  # a table of some rows keeps the counts
            words = self.leaks.in_words(self.split, any_time=self.times is not None, of_part=of_part)
            lines += [words.after(f"{'returning facts' if self.leaks.returning else 'leaks'}: ")] if words else []
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        content = {**asdict(self), "filter": None if self.filter is None else list(self.filter)}
        content |= {"assumptions": (), "read_as": [*map(str, self.assumptions)]}
        usual = {field.name: field.default for field in fields(self)} | {"read_as": []}
        if self.leaks is not None and self.times is not None and not self.leaks.returning:
            content["leaks"]["any_time"] = True
        for name in ("in_training_graph", "returning"):
            if self.leaks is not None and not getattr(self.leaks, name):
                del content["leaks"][name]  # left out, as for graphs that have none
        return {name: value for name, value in content.items() if value != usual[name]}

    def __str__(self) -> str:
        return _described(self, vars(self), subject_of(self.model, self.dataset))


@dataclass(frozen=True)
class LabelProvenance:
    """The model, dataset, split and negatives of a classification, or of predicted confidences.

    >>> print(LabelProvenance("ComplEx", "codex-s", "test", 3656, "test_negatives.txt"))
    ComplEx on codex-s, 3,656 labelled test triples, negatives: test_negatives.txt
    """

    model: str
    dataset: str
    split: str
    triples: int
    negatives: str
    """where the false triples come from"""
    filter: tuple[str, ...] | None = None
    """for confidences, whose facts are ranked too: the splits whose triples were known answers"""
    candidates: str | None = None
    """for confidences, which entities competed; ``None`` if nothing was ranked"""
    assumptions: tuple[Assumption, ...] = field(default=(), compare=False)
    """how the dataset was read where another reading is possible"""

    @property
    def heads(self) -> tuple[str, ...]:
        """The lines above a table: this provenance, and what custom decided."""
        return (str(self), *filter(None, [read_as(self.assumptions)]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        content = {**asdict(self), "filter": None if self.filter is None else list(self.filter)}
        content |= {"assumptions": None, "read_as": [*map(str, self.assumptions)] or None}
        return {name: value for name, value in content.items() if value is not None}

    def __str__(self) -> str:
        return shared_description(subject_of(self.model, self.dataset), self, ())


def shared_description(
    subject: str, of: Provenance | LabelProvenance, differing: Collection[str], *, triples: str = ""
) -> str:
    """Describe the provenance of several models, without the fields in which they differ.

    ``triples`` is the text for the numbers of triples of several datasets.

    >>> one = Provenance("ComplEx", "umls", "test", 661, "standard", ("train", "test"), "all 135 entities")
    >>> shared_description("2 models on umls", one, ["protocol", "triples"])
    '2 models on umls, test triples, filtered by train, test, candidates: all 135 entities'
    >>> tails = Provenance("ComplEx", "umls", "test", 661, "pyg", (), "all", sides=("tail",), competing=130)
    >>> shared_description("2 models on umls", tails, ["protocol", "candidates"])
    '2 models on umls, 661 test triples (tails only), unfiltered'
    """
    kept = {name: value for name, value in vars(of).items() if name not in differing and value is not None}
    return _described(of, kept, subject, triples)


def _described(of: Provenance | LabelProvenance, kept: Mapping[str, Any], subject: str, triples: str = "") -> str:
    """Describe a subject by the fields that are kept."""
    labelled, ranks = ("labelled ", "ranks ") if isinstance(of, LabelProvenance) else ("", "")
    triples = triples or (f"{of.triples:,}" if "triples" in kept else "")
    triples += " " if triples else ""
    triples += labelled + of_split(of.split) if "split" in kept else f"{labelled}triples" if triples else ""
    triples += _of_sides(kept.get("sides", BOTH))
    triples += f" (without {missing:,} of the split's ranks)" if (missing := kept.get("missing")) else ""
    known = _of_known(kept.get("competing"), kept.get("unscored", 0))
    times = f" ({kept['times']})" if kept.get("times") and of.filter else ""
    parts = (
        subject,
        triples,
        f"protocol {kept['protocol']}" if "protocol" in kept else "",
        f"negatives: {kept['negatives']}" if "negatives" in kept else "",
        ranks + _filtered(of.filter) + times if "filter" in kept else "",
        f"history: {kept['history']}" if kept.get("history") else "",
        f"candidates: {of.candidates}{known}" if "candidates" in kept else "",
    )
    return ", ".join(filter(None, parts))


def _of_known(competing: int | None, unscored: int) -> str:
    further = [] if competing is None else [f"only the {competing:,} entities that the model knows compete"]
    further += [f"{unscored:,} triples that it does not know are last"] if unscored else []
    return f" ({'; '.join(further)})" if further else ""


def _of_sides(sides: tuple[str, ...]) -> str:
    if sides == BOTH or not sides:
        return ""
    *others, last = (f"{side}s" for side in sides)
    return f" ({', '.join(others)} and {last})" if others else f" ({last} only)"


def _filtered(splits: tuple[str, ...] | None) -> str:
    if splits is None:
        return "filter unknown"
    return f"filtered by {', '.join(splits)}" if splits else "unfiltered"


@dataclass(frozen=True)
class PredictionProvenance:
    """The model, dataset, queries and filter of predictions.

    >>> print(PredictionProvenance("ComplEx", "umls", "test", 1074, 10, ("train", "test"), drops_known=True))
    ComplEx on umls, the 10 best answers to 1,074 test queries without those known from train, test
    >>> print(PredictionProvenance("ComplEx", "umls", None, 1, 3, (), drops_known=False))
    ComplEx on umls, the 3 best answers to 1 query
    """

    model: str
    dataset: str
    split: str | None
    """the split of the queries; ``None`` if the queries were given"""
    queries: int
    places: int
    """how many answers were requested for each query"""
    filter: tuple[str, ...]
    """the splits whose triples are known answers"""
    drops_known: bool
    """whether known answers were left out"""
    candidates: str = UNKNOWN
    """which entities were the candidates"""
    history: str | None = None
    """as in :class:`Provenance`"""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        content = {**asdict(self), "filter": list(self.filter)}
        return content if self.history else {name: value for name, value in content.items() if name != "history"}

    def __str__(self) -> str:
        queries = counted(self.queries, "query" if self.split is None else f"{self.split} query")
        without = f" without those known from {', '.join(self.filter)}" if self.drops_known and self.filter else ""
        among = f", history: {self.history}" if self.history else ""
        among += "" if self.candidates == UNKNOWN else f", candidates: {self.candidates}"
        return f"{subject_of(self.model, self.dataset)}, the {self.places:,} best answers to {queries}{without}{among}"


Described = TypeVar("Described", Provenance, PredictionProvenance)


def provenance_of(table: Any, kind: type[Described], **further: Any) -> Described:
    """Make the provenance of a table from the table's fields of the same names, and from ``further`` ones."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in vars(table).items() if name in names}, **further)


def is_of_all(candidates: str | None) -> bool:
    """Whether candidates are all entities of a dataset; datasets differ in their number.

    >>> is_of_all("all 14 entities"), is_of_all("all 14 entities by TGB's file"), is_of_all(None)
    (True, False, False)
    """
    words = (candidates or "").split(" ")
    return len(words) == 3 and (words[0], words[2]) == ("all", "entities")


def subject_of(model: str, dataset: str) -> str:
    """Name a model and its dataset.

    >>> subject_of("ComplEx", UNKNOWN)
    'ComplEx on unknown dataset'
    """
    return f"{'unknown model' if model == UNKNOWN else model} on {'unknown dataset' if dataset == UNKNOWN else dataset}"


def of_split(split: str) -> str:
    """Name the triples of a split."""
    name = "validation" if split == "valid" else split
    return "triples of an unknown split" if split == UNKNOWN else f"{name} triples"


@dataclass(frozen=True)
class LeakCounts:
    """How many triples of a split can be looked up in train, or in the training graph of an inductive dataset.

    >>> print(LeakCounts(661, swapped=11).in_words("test"))
    11 of 661 test triples (1.7 %) are in train with head and tail swapped under a symmetric or inverse relation
    >>> print(LeakCounts(963, repeated=1, swapped=2).in_words("test").partition(", and ")[0])
    1 of 963 test triples (0.1 %) is in train
    >>> print(LeakCounts(8963, repeated=4953).in_words("test", any_time=True))
    4,953 of 8,963 test triples (55.3 %) are in train at any time
    >>> print(LeakCounts(7371, returning=3064).in_words("test"))
    3,064 of 7,371 test triples (41.6 %) are in train at an earlier time, which is no leak in forecasting
    """

    triples: int
    """how many triples were ranked, or looked up"""
    repeated: int = 0
    """how many of them are in train too, in a temporal graph at any time"""
    swapped: int = 0
    """how many are in train with head and tail swapped, under an inverse or the same symmetric relation"""
    in_training_graph: int = 0
    """of an inductive dataset, how many are in the graph that models learn from, by label"""
    returning: int = 0
    """where all are later than train, how many are in train at an earlier time: these are no leaks"""

    def in_words(self, split: str, *, any_time: bool = False, of_part: bool = False) -> Note:
        """Write the counts and shares that are not 0 as a note.

        ``any_time`` says that the times of a temporal graph were ignored; ``of_part`` that the counts are of all ranked
        triples, but stand beside a part of them.
        """
        train = "in train at any time" if any_time else "in train"
        of_all = f"all {self.triples:,} ranked" if of_part else f"{self.triples:,}"
        whole, counts = f" of {of_all} {of_split(split)}", list[str]()
        swapped = f"{train} with head and tail swapped under a symmetric or inverse relation"
        learned = (self.in_training_graph, "in the training graph")
        returning = (self.returning, "in train at an earlier time, which is no leak in forecasting")
        for count, where in ((self.repeated, train), (self.swapped, swapped), learned, returning):
            if count:
                share = f"({percent(count / self.triples)}) {'is' if count == 1 else 'are'} {where}"
                counts.append(f"{count:,}{'' if counts else whole} {share}")
        is_leak = self.repeated or self.swapped or self.in_training_graph
        return Note("leaks" if is_leak else "times", ", and ".join(counts))


def percent(share: float) -> str:
    """Write a share with one decimal.

    >>> percent(11 / 661)
    '1.7 %'
    """
    return f"{100 * share:.1f} %"
