"""The model that a file of prediction lists makes; the readers of JSON, of AnyBURL and of TREC share it.

A reader takes the lines of its file apart. ``CheckedLists`` turns labels, or names, into ids of the dataset, or refuses
them; ``model_of_lists`` makes the model. The options that all formats share are read here. A *label* identifies an
entity in the files of the dataset; its *name* is for people, and several entities may have the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.assumptions import Assumption
from kgeval.base.errors import CheckpointError, UsageError, first_few
from kgeval.base.notes import Note, amount
from kgeval.data.name_lookup import NameLookup
from kgeval.data.triples import SIDES, Side
from kgeval.models.adapters.prediction_lists import ALL_LISTS, INVENTED, Key, OneList, PredictionLists, SideLists
from kgeval.models.alignment import align
from kgeval.models.checkpoints.checkpoint import ModelWithoutFormula
from kgeval.models.checkpoints.options import Options
from kgeval.models.scorer import Numbering

NO_NAMES = "predictions do not name every entity"
"""why lists cannot be read without the dataset"""

KEEP_OR_DROP = " Text that names no entity keeps its place with unmatched=keep, and is left out with unmatched=drop."

UNMATCHED = ("error", "keep", "drop")
"""the values of the option ``unmatched``. ``error``: listed text that names no entity is refused; ``keep``: it is a
wrong answer at its place; ``drop``: it is left out, and so are listed entities that are no candidates of the query"""

NAMES = ("labels", "exact", "casefold")
"""the values of the option ``names``. ``labels``: text is a label; ``exact``: or else the name of an entity, as it is
written; ``casefold``: or the name in any case, with blanks for underscores"""

HOMONYMS = ("error", "first", "all")
"""the values of the option ``homonyms``. ``error``: a name of several entities is refused; ``first``: it stands for the
first of them; ``all``: for all of them, which tie at its place"""

MISSING = ("error", "unanswered", "not-retrieved")
"""the values of the option ``missing``. ``error``: a query without a list is refused; ``unanswered``: it has an empty
list; ``not-retrieved``: likewise, and an answer that its list leaves out counts as 0 in metrics of lists (with the
other values, it ties there with all entities that are not listed)"""


MOST_RISE = 0.9
"""the share of lists whose scores rise, from which on they may be distances"""


class CheckedLists:
    """The lists of a file, in the ids of the dataset: ``add`` takes each, and refuses wrong labels and scores."""

    def __init__(self, path: Path, options: Options) -> None:
        self.dataset = options.needed_dataset(path, NO_NAMES)
        self._path, self._options = path, options
        self._unmatched = options.require("unmatched", None, str(path), UNMATCHED, optional=True)
        self._names = options.require("names", None, str(path), NAMES, optional=True)
        self._homonyms = options.require("homonyms", None, str(path), HOMONYMS, optional=True)
        self._lookup = NameLookup(self.dataset, casefold=self._names == "casefold")
        self._invented = self._repeated = self._named = self._homonymous = self._scored = self._rising = 0
        self.side = options.require("side", None, "", ["", *SIDES], optional=True)
        """the side of all lists, if the user says it"""
        self.is_unsaid = False
        """whether a list has a head and a tail, and nothing says which of them was predicted"""
        self.unread: set[str] = set()
        """the keys in the file that its reader does not read"""
        kinds = {"entity": self.dataset.entities, "relation": self.dataset.relations, "time": self.dataset.times}
        self._ids = {kind: {label: row for row, label in enumerate(labels or ())} for kind, labels in kinds.items()}
        self.found: dict[Side, dict[Key, OneList]] = {side: {} for side in SIDES}

    def id(self, where: str, kind: str, label: Any, hint: str = "") -> int:
        """Look up the id of an entity, a relation or a time; ``where`` is its place in the file, for the refusal."""
        ids = self._ids[kind]
        label = str(label) if kind == "time" and isinstance(label, int | float) else label
        if not isinstance(label, str):
            raise CheckpointError(f"{where}: expected the label of the query's {kind} in quotes, found {label!r:.40}.")
        if label in ids:
            return ids[label]
        named = [] if kind == "time" else self._lookup.find(kind, label)
        if self._names != "labels" and len(named) == 1:
            return named[0]
        if self._names != "labels" and named:
            raise CheckpointError(f"{where}: {self._homonym(kind, label, named)} Write the label.")
        example = next(iter(ids), None)
        labels = "" if example is None else f" Lists need labels such as {example:.60}."
        folded = [] if kind == "time" else NameLookup(self.dataset, casefold=True).find(kind, label)
        if folded and self._names != "casefold":
            labels = f" It is the name of {[*ids][folded[0]]}: set the option names={'exact' if named else 'casefold'}."
        elif self._names != "labels" and not self.dataset.names:
            labels = f" The dataset has no names. Give a file of them: --names FILE (in Python names=).{labels}"
        raise CheckpointError(f"{where}: unknown {kind} {label[:60]!r}. Is it the right dataset?{labels}{hint}")

    def _homonym(self, kind: str, text: str, named: Sequence[int]) -> str:
        labels = self.dataset.relations if kind == "relation" else self.dataset.entities
        return f"{text[:60]!r} may be {first_few([labels[row] for row in named])}."

    def query(self, where: str, side: Side, anchor: Any, relation: Any, *answer: Any) -> Key:
        """Look up the ids of a query's entity and relation, and of the answer that its list was made for, if any.

        If several entities have a name, the one counts that makes a triple of the dataset, if only one triple does.
        """
        texts = (anchor, relation, *answer)
        if self._names != "labels" and answer and all(isinstance(text, str) for text in texts):
            triples = self._lookup.triples(*(texts if side == "tail" else texts[::-1]))
            if len(triples) == 1:
                return triples[0] if side == "tail" else triples[0][::-1]
        of_answer = self.id(where, "entity", answer[0]) if answer else ALL_LISTS
        return self.id(where, "entity", anchor), self.id(where, "relation", relation), of_answer

    def add(self, where: str, side: Side, key: Key, pairs: Sequence[tuple[str, float]], what: str = "scores") -> None:
        """Take one list of pairs of label and score; if a label is there twice, its first pair counts."""
        scores: dict[str, float] = {}
        for label, score in pairs:
            if scores.setdefault(label, score) != score:
                raise CheckpointError(f"{where}: {label!r} is listed twice, with the {what} {scores[label]}, {score}.")
        self._repeated += len(pairs) - len(scores)
        ids, values, listed = list[int](), list[float](), set[int]()
        for label, score in scores.items():
            named = self._named_by(where, label)
            kept = [row for row in named if row not in listed] if named else [INVENTED] * (self._unmatched == "keep")
            self._repeated += bool(named) and not kept
            listed.update(named)
            ids += kept
            values += [score] * len(kept)
        self._scored += len({*scores.values()}) > 1
        self._rising += len({*scores.values()}) > 1 and pairs[0][1] == min(scores.values())
        self.found[side][key] = OneList(np.array(ids, np.int64), np.array(values, np.float64))

    def _named_by(self, where: str, text: str) -> Sequence[int]:
        """List the entities that a listed text stands for; count the texts found by name and the texts not found."""
        if text in self._ids["entity"]:
            return [self._ids["entity"][text]]
        named = [] if self._names == "labels" else self._lookup.find("entity", text)
        if not named and self._unmatched == "error":
            self.id(where, "entity", text, KEEP_OR_DROP)
        if len(named) > 1 and self._homonyms == "error":
            ways = "To list the first of them, set the option homonyms=first; for all of them, which tie, homonyms=all."
            raise CheckpointError(f"{where}: {self._homonym('entity', text, named)} {ways}")
        self._invented += not named
        self._named += bool(named)
        self._homonymous += len(named) > 1
        return named[:1] if self._homonyms == "first" else named

    def predictions(self, format: str, *, by_place: bool = False) -> Predictions:
        """Make the model; ``by_place`` scores listed entities by their places alone."""
        sides = {side: SideLists.of(lists) for side, lists in self.found.items() if lists}
        if self.is_unsaid:
            why = "a head and a tail, and no side"
            self._options.assumptions.append(Assumption("lists", "of tails", "usual", why, "--option side=head"))
        made = model_of_lists(format, self._path, self._options, sides, self._notes())
        return replace(made, model=made.model.by_place()) if by_place else made

    def _notes(self) -> list[str]:
        """Say how many predictions named no entity, and how many named one again."""
        notes = list[str]()
        if self._named:
            homonyms = f", {self._homonymous:,} by a name that several entities have (homonyms={self._homonyms})"
            found = f"found by name (names={self._names}): ", amount(self._named, "prediction")
            notes.append(Note("lists", *found, f"{homonyms if self._homonymous else ''}."))
        if self._invented:
            kept = {"keep": "kept its place as a wrong answer", "drop": "was left out, and later ones moved up"}
            fate = f"each {kept[self._unmatched]} (unmatched={self._unmatched}, names={self._names})."
            notes.append(Note("faulty-lists", amount(self._invented, "prediction"), f" named no entity; {fate}"))
        if self._repeated:
            fault = " repeated an earlier one of the same list: the first counts, and later ones move up."
            notes.append(Note("faulty-lists", amount(self._repeated, "prediction"), fault))
        if self._rising > MOST_RISE * self._scored:
            fault = f"the first prediction has the lowest score in {self._rising:,} of {self._scored:,} lists"
            cure = "the highest score is the best. If the scores are distances, give them with a minus sign"
            notes.append(Note("faulty-lists", f"{fault}: {cure}."))
        if self.unread:
            keys = first_few(sorted(self.unread))
            notes.append(Note("lists", f"keys of the lists that kgeval does not read: {keys}."))
        return notes


def model_of_lists(
    format: str, path: Path, options: Options, sides: Mapping[Side, SideLists], notes: Sequence[str] = ()
) -> Predictions:
    """Make a model of the lists of a file, by the options ``missing`` and ``unmatched``."""
    dataset = options.needed_dataset(path, NO_NAMES)
    missing = options.require("missing", None, str(path), MISSING, optional=True)
    unmatched = options.require("unmatched", None, str(path), UNMATCHED, optional=True)
    lists = PredictionLists(
        sides,
        dataset.entities,
        dataset.relations,
        unanswered=missing != "error",
        not_retrieved=missing == "not-retrieved",
        keeps_outside=unmatched != "drop",
        notes=tuple(notes),
    )
    base, files = options.resolve("base", None, ""), tuple(files_in(path))
    if base is not None:
        from kgeval.models.checkpoints import as_model

        if lists.not_retrieved:
            raise UsageError(f"{path}: missing=not-retrieved: a base ranks what the lists leave out. Leave it out.")
        base = as_model(base, dataset)
        lists, files = lists.over(align(base, dataset)), (*files, *getattr(base, "files", ()))
    return Predictions(lists, format, files, dataset.entities, dataset.relations, options.origins)


def files_in(path: Path) -> list[Path]:
    """Return the file itself, or SimKGC's files in a folder: for tails (forward) and for heads (backward)."""
    return sorted(path.glob("*ward_prediction*.json")) if path.is_dir() else [path]


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(ModelWithoutFormula):
    """A scorer that was read from a file of predictions. It has the ids of the dataset."""

    model: PredictionLists  # type: ignore[assignment]
    numbering: Numbering = "dataset"

    @property
    def title(self) -> str:
        base = self.model.base
        return super().title if base is None else f"{super().title} over {base.title}"

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "queries": {side: len({key[:2] for key in lists.places}) for side, lists in self.model.sides.items()},
            "listed": {side: int((lists.rows.ids >= 0).sum()) for side, lists in self.model.sides.items()},
        }
