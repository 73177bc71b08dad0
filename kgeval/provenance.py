"""Provenance: what a result is of — which model, which triples, by whose rules, among which candidates."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

UNKNOWN = "unknown"
"""what stands for a model, a dataset and so on that the ranks or labels do not tell"""

BOTH = ("head", "tail")
"""the sides of a triple, which are predicted where nothing else is said"""

ALIKE = ("dataset", "split", "protocol", "filter", "times", "candidates")
"""the fields that provenances must share, so that the metrics compare"""


@dataclass(frozen=True)
class Provenance:
    """What the numbers of a ranking are of.

    >>> print(Provenance("ComplEx", "umls", "test", 661, "standard", ("train", "test"), "all 135 entities"))
    ComplEx on umls, 661 test triples, protocol standard, filtered by train, test, candidates: all 135 entities
    >>> print(Provenance(UNKNOWN, "umls", "test", 661, UNKNOWN, (), "20 uniform (seed 0)"))
    unknown model on umls, 661 test triples, protocol unknown, unfiltered, candidates: 20 uniform (seed 0)
    >>> print(Provenance("m", "umls", "test", 661, "standard", (), "all 135 entities", sides=("tail",)))
    m on umls, 661 test triples (tails only), protocol standard, unfiltered, candidates: all 135 entities
    >>> print(Provenance("TComplEx", "icews14", "test", 8963, "tkbc", ("train", "test"), "all", times="time-aware"))
    TComplEx on icews14, 8,963 test triples, protocol tkbc, filtered by train, test at the same time, candidates: all
    """

    model: str
    dataset: str
    split: str
    triples: int
    """how many different triples were ranked"""
    protocol: str
    filter: tuple[str, ...] | None
    """the splits whose triples were known answers: none in the raw setting; ``None`` where that is not known"""
    candidates: str
    """which entities competed with an answer"""
    times: str | None = None
    """for a temporal graph, the facts that were filtered: ``time-aware`` (of the query's time) or ``static`` (of all
    times)"""
    sides: tuple[str, ...] = BOTH
    """what was predicted of the triples"""
    missing: int = 0
    """how many ranks of these triples and others of the split a file of ranks lacks"""
    competing: int | None = None
    """how many entities the model knows, which alone compete; ``None`` if it knows all"""

    def to_dict(self) -> dict[str, Any]:
        content = {**asdict(self), "filter": None if self.filter is None else list(self.filter)}
        usual = {"times": None, "sides": BOTH, "missing": 0, "competing": None}
        return {name: value for name, value in content.items() if name not in usual or value != usual[name]}

    def __str__(self) -> str:
        triples = f"{self.triples:,} {_of_split(self.split)}{_of_sides(self.sides)}{_without(self.missing)}"
        rules = f"protocol {self.protocol}, {_filtered(self.filter)}{_at_times(self)}"
        subject = subject_of(self.model, self.dataset)
        return f"{subject}, {triples}, {rules}, candidates: {self.candidates}{_known(self.competing)}"


@dataclass(frozen=True)
class LabelProvenance:
    """What the numbers of a classification, or of predicted confidences, are of.

    >>> print(LabelProvenance("ComplEx", "codex-s", "test", 3656, "test_negatives.txt"))
    ComplEx on codex-s, 3,656 labelled test triples, negatives: test_negatives.txt
    """

    model: str
    dataset: str
    split: str
    triples: int
    negatives: str
    """where the false triples among them come from"""
    filter: tuple[str, ...] | None = None
    """of confidences, whose facts are ranked too: the splits whose triples were known answers"""
    candidates: str | None = None
    """likewise, which entities competed; ``None`` where nothing was ranked"""

    def to_dict(self) -> dict[str, Any]:
        content = asdict(self)
        if self.candidates is None:
            del content["filter"], content["candidates"]
        elif self.filter is not None:
            content["filter"] = list(self.filter)
        return content

    def __str__(self) -> str:
        labelled = f"{self.triples:,} labelled {_of_split(self.split)}, negatives: {self.negatives}"
        ranks = "" if self.candidates is None else f", ranks {_filtered(self.filter)}, candidates: {self.candidates}"
        return f"{subject_of(self.model, self.dataset)}, {labelled}{ranks}"


def shared_description(models: int, of: Provenance | LabelProvenance, differing: Collection[str]) -> str:
    """Describe what the numbers of several models are of, without the fields in which they differ.

    >>> one = Provenance("ComplEx", "umls", "test", 661, "standard", ("train", "test"), "all 135 entities")
    >>> shared_description(2, one, ["protocol", "triples"])
    '2 models on umls, test triples, filtered by train, test, candidates: all 135 entities'
    >>> tails = Provenance("ComplEx", "umls", "test", 661, "pyg", (), "all", sides=("tail",), competing=130)
    >>> shared_description(2, tails, ["protocol", "candidates"])
    '2 models on umls, 661 test triples (tails only), unfiltered'
    """
    kept = {name: value for name, value in vars(of).items() if name not in differing and value is not None}
    triples = f"{of.triples:,} " if "triples" in kept else ""
    triples += _of_split(of.split) if "split" in kept else "triples" if triples else ""
    triples += _of_sides(kept.get("sides", BOTH)) + _without(kept.get("missing", 0))
    times = _at_times(of) if isinstance(of, Provenance) and "times" in kept else ""
    parts = (
        f"{models} models{f' on {of.dataset}' if 'dataset' in kept else ''}",
        triples,
        f"protocol {kept['protocol']}" if "protocol" in kept else "",
        f"negatives: {kept['negatives']}" if "negatives" in kept else "",
        _filtered(of.filter) + times if "filter" in kept else "",
        f"candidates: {of.candidates}{_known(kept.get('competing'))}" if "candidates" in kept else "",
    )
    return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class PredictionProvenance:
    """What predictions are of.

    >>> print(PredictionProvenance("ComplEx", "umls", "test", 1074, 10, ("train", "test"), drops_known=True))
    ComplEx on umls, the 10 best answers to 1,074 test queries without those known from train, test
    >>> print(PredictionProvenance("ComplEx", "umls", None, 1, 3, (), drops_known=False))
    ComplEx on umls, the 3 best answers to 1 query
    """

    model: str
    dataset: str
    split: str | None
    """the split whose queries they are; none where the queries were given"""
    queries: int
    places: int
    """how many answers each was to have"""
    filter: tuple[str, ...]
    """the splits whose triples are known answers"""
    drops_known: bool
    """whether known answers were left out"""

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "filter": list(self.filter)}

    def __str__(self) -> str:
        of_split = "" if self.split is None else f"{self.split} "
        queries = f"{self.queries:,} {of_split}{'query' if self.queries == 1 else 'queries'}"
        without = f" without those known from {', '.join(self.filter)}" if self.drops_known and self.filter else ""
        return f"{subject_of(self.model, self.dataset)}, the {self.places:,} best answers to {queries}{without}"


def subject_of(model: str, dataset: str) -> str:
    """Name a model and its dataset.

    >>> subject_of("ComplEx", UNKNOWN)
    'ComplEx on unknown dataset'
    """
    return f"{'unknown model' if model == UNKNOWN else model} on {'unknown dataset' if dataset == UNKNOWN else dataset}"


def _of_split(split: str) -> str:
    return "triples of an unknown split" if split == UNKNOWN else f"{split} triples"


def _of_sides(sides: tuple[str, ...]) -> str:
    if sides == BOTH or not sides:
        return ""
    *others, last = (f"{side}s" for side in sides)
    return f" ({', '.join(others)} and {last})" if others else f" ({last} only)"


def _without(missing: int) -> str:
    return f" (without {missing:,} of the split's ranks)" if missing else ""


def _known(competing: int | None) -> str:
    return "" if competing is None else f" (only the {competing:,} entities that the model knows compete)"


def _filtered(splits: tuple[str, ...] | None) -> str:
    if splits is None:
        return "filter unknown"
    return f"filtered by {', '.join(splits)}" if splits else "unfiltered"


def _at_times(provenance: Provenance) -> str:
    words = {"time-aware": " at the same time", "static": " at all times"}
    return words.get(provenance.times or "", "") if provenance.filter else ""
