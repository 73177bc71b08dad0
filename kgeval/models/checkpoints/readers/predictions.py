"""Lists of predictions: as JSON, as AnyBURL's rules for each triple, and as TREC's runs of each query.

Lists are what models without parameters gave for the triples of a split: rules, language models, rankers of candidates.
As JSON lines, each line is one object: {"head": …, "relation": …, "predictions": […]} for a tail,
{"tail": …, "relation": …, …} for a head. A line with head and tail is the list of that triple alone, for the side that
"side" names, by default the tail. In a temporal graph, a line with "time" or "timestamp" is a list for that time alone.

Predictions are labels, best first, perhaps with a list of "scores" beside it; pairs of label and score; or an object of
the score of each label. An empty list is no answer. A JSON array of such objects is read too, and so are the files of
SimKGC.

AnyBURL's lists are of every triple of a split, for its head and its tail, with confidences. What is not listed has no
confidence, so it shares the lowest place. Each list is that of its triple alone: it leaves out the other answers of the
query, and the lists of one query may differ in the last digits of their confidences.

A run of TREC has the ranked entities of each query, named as kgeval names them where it writes such files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import CheckpointError, counted, first_few, reason
from kgeval.base.files import JSON, checked
from kgeval.data.dataset import Dataset
from kgeval.data.queries import ID, NAME, Rows
from kgeval.data.tables import NamedTable
from kgeval.data.text import find_delimiter, open_text, read_columns
from kgeval.data.triples import SIDES, Side
from kgeval.models.adapters.prediction_lists import ALL_LISTS, INVENTED, Key, OneList, PredictionLists, SideLists
from kgeval.models.checkpoints.checkpoint import ModelWithoutFormula
from kgeval.models.checkpoints.locate import LONGEST, first_lines, first_object
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.scorer import Numbering


def needed_dataset(path: Path, options: Options, why: str = "predictions do not name every entity") -> Dataset:
    if options.dataset is None:
        raise CheckpointError(f"{path}: {why}. Give the dataset: --dataset DATASET (in Python dataset=…).")
    return options.dataset


UNMATCHED = ("error", "keep", "drop")
"""what becomes of listed text that names no entity; to drop it leaves out also entities that are no candidates"""

MISSING = ("error", "unanswered", "not-retrieved")
"""what is a query without a list; and whether answers that a list leaves out tie, or count as 0 in metrics of lists"""


def predictions_of(
    format: str, path: Path, options: Options, sides: Mapping[Side, SideLists], notes: Sequence[str] = ()
) -> Predictions:
    """Make a model of the lists of a file, by the options ``missing`` and ``unmatched``."""
    dataset = needed_dataset(path, options)
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
    return Predictions(lists, format, (path,), dataset.entities, dataset.relations, options.origins)


class CheckedLists:
    """The lists of a file: a reader takes the lines apart, and this refuses what is wrong with their labels."""

    def __init__(self, path: Path, options: Options) -> None:
        self.dataset = needed_dataset(path, options)
        self._path, self._options = path, options
        self._unmatched = options.require("unmatched", None, str(path), UNMATCHED, optional=True)
        self._invented = self._repeated = 0
        self.unread: set[str] = set()
        """keys of the file that its reader has no meaning for"""
        kinds = {"entity": self.dataset.entities, "relation": self.dataset.relations, "time": self.dataset.times}
        self._ids = {kind: {label: row for row, label in enumerate(labels or ())} for kind, labels in kinds.items()}
        self.found: dict[Side, dict[Key, OneList]] = {side: {} for side in SIDES}

    def id(self, where: str, kind: str, label: Any, hint: str = "") -> int:
        ids = self._ids[kind]
        label = str(label) if kind == "time" and isinstance(label, int | float) else label
        if not isinstance(label, str):
            raise CheckpointError(f"{where}: expected the label of the query's {kind} in quotes, found {label!r:.40}.")
        if label in ids:
            return ids[label]
        named = (known for known, name in self.dataset.names.items() if name == label and known in ids)
        example = next(named, next(iter(ids), None))
        labels = "" if example is None else f" Lists need labels such as {example:.60}, not names."
        raise CheckpointError(f"{where}: unknown {kind} {label[:60]!r}. Is it the right dataset?{labels}{hint}")

    def add(self, where: str, side: Side, key: Key, pairs: Sequence[tuple[str, float]], what: str = "scores") -> None:
        """Take one list, of pairs of label and score; the first of a label counts."""
        scores: dict[str, float] = {}
        for label, score in pairs:
            if scores.setdefault(label, score) != score:
                raise CheckpointError(f"{where}: {label!r} is listed twice, with the {what} {scores[label]}, {score}.")
        self._repeated += len(pairs) - len(scores)
        entities = self._ids["entity"]
        unknown = [label for label in scores if label not in entities]
        if unknown and self._unmatched == "error":
            self.id(where, "entity", unknown[0], KEEP_OR_DROP)
        self._invented += len(unknown)
        for label in unknown if self._unmatched == "drop" else ():
            del scores[label]
        ids = [entities.get(label, INVENTED) for label in scores]
        self.found[side][key] = OneList(np.array(ids, np.int64), np.array([*scores.values()], np.float64))

    def predictions(self, format: str, *, by_place: bool = False) -> Predictions:
        """Make the model; ``by_place`` scores what is listed by its place alone."""
        sides = {side: SideLists.of(lists) for side, lists in self.found.items() if lists}
        made = predictions_of(format, self._path, self._options, sides, self._notes())
        return replace(made, model=made.model.by_place()) if by_place else made

    def _notes(self) -> list[str]:
        """Say how many predictions named no entity, and how many named one again."""
        notes = []
        if self._invented:
            kept = {"keep": "kept its place as a wrong answer", "drop": "was left out, and later ones moved up"}
            fault = f"{counted(self._invented, 'prediction')} named no entity"
            notes.append(f"{fault}; each {kept[self._unmatched]} (unmatched={self._unmatched}).")
        if self._repeated:
            fault = f"{counted(self._repeated, 'prediction')} repeated an earlier one of the same list"
            notes.append(f"{fault}: the first counts, and later ones move up.")
        if self.unread:
            notes.append(f"keys of the lists that kgeval does not read: {first_few(sorted(self.unread))}.")
        return notes


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(ModelWithoutFormula):
    """A scorer that was read from a file of predictions. It speaks the ids of its dataset."""

    model: PredictionLists  # type: ignore[assignment]
    numbering: Numbering = "dataset"

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "queries": {side: len({key[:2] for key in lists.places}) for side, lists in self.model.sides.items()},
            "listed": {side: int((lists.rows.ids >= 0).sum()) for side, lists in self.model.sides.items()},
        }


LISTED, SCORES = "predictions", "scores"

SIMKGC = "topk_score_info"
"""what SimKGC calls a list; its text is an object of names and rounded scores, best first"""

INVERSE = "inverse "
"""how the relation of SimKGC's lists of heads begins, whose head is the tail of the triple"""

TIMES = ("time", "timestamp")

KEYS = {*SIDES, "relation", LISTED, SCORES, "side", *TIMES}
"""what is read of an object; a note names any other key, but those that SimKGC writes"""

KEEP_OR_DROP = " Text that names no entity keeps its place with unmatched=keep, and is left out with unmatched=drop."


def read(path: Path, options: Options) -> Predictions:
    """Read the predictions of a query from each line or object of an array, best first or with scores.

    Predictions that name no entity, as text that a model made up, are refused; with the option ``unmatched=keep`` they
    keep their places as wrong answers, with ``unmatched=drop`` they are left out, and later ones move up.
    """
    lists = CheckedLists(path, options)
    checked(path, times=JSON)
    for where, content in _objects(path):
        _add(where, content, lists)
    return lists.predictions("predictions")


def _objects(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield what is in each line, or in an array that begins in one; with where it is."""
    with open_text(path) as text:
        for number, line in enumerate(iter(lambda: text.readline(LONGEST), ""), 1):
            where = f"{path}, line {number}"
            if line.lstrip().startswith("["):
                for place, content in enumerate(_parsed(where, line + text.read()), 1):
                    yield f"{path}, object {place}", content
            elif line.strip():
                yield where, _parsed(where, line)


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: not JSON ({reason(error)}).") from error


def _add(where: str, content: Any, lists: CheckedLists) -> None:
    if not has_list(content) or not {*SIDES} & content.keys():
        shown = (", ".join(map(repr, content)) or "none") if isinstance(content, dict) else repr(content)
        raise CheckpointError(f"{where}: expected keys head (or tail), relation and predictions; found {shown:.80}.")
    predictions, relation = content.get(LISTED), content["relation"]
    if LISTED in content:
        lists.unread |= content.keys() - KEYS
    else:
        best = content[SIMKGC]
        predictions = [*_parsed(where, best)] if isinstance(best, str) else best
        if str(relation).startswith(INVERSE) and relation not in lists.dataset.relations:
            relation = relation.removeprefix(INVERSE)
            content = {"side": "head", "head": content.get("tail"), "tail": content.get("head")}
    side = content.get("side", "tail" if "head" in content else "head")
    if side not in SIDES:
        raise CheckpointError(f"{where}: side {side!r}; expected head or tail.")
    times = {lists.id(where, "time", content[name]) for name in TIMES if name in content}
    if len(times) > 1:
        raise CheckpointError(f"{where}: {' and '.join(TIMES)} are different. Leave one of them out.")
    anchor, answer = ("head", "tail") if side == "tail" else ("tail", "head")
    key = (
        lists.id(where, "entity", content.get(anchor)),
        lists.id(where, "relation", relation),
        lists.id(where, "entity", content[answer]) if answer in content else ALL_LISTS,
        *times,
    )
    if key in lists.found[side]:
        raise CheckpointError(f"{where}: a second list for the same query.")
    lists.add(where, side, key, _pairs(where, predictions, content.get(SCORES)))


def _pairs(where: str, predictions: Any, scores: Any) -> list[tuple[str, float]]:
    """Take the label and the score of each prediction; of labels alone, the score is one less for each place."""
    pairs = list(predictions.items()) if isinstance(predictions, dict) else predictions
    if scores is not None:
        if not isinstance(predictions, list) or not isinstance(scores, list) or len(predictions) != len(scores):
            raise CheckpointError(f"{where}: expected {SCORES} as a list, one for each label of {LISTED}.")
        return [_pair(where, pair) for pair in zip(predictions, scores, strict=True)]
    if not isinstance(pairs, list):
        raise CheckpointError(f"{where}: expected a list or an object as predictions, found {predictions!r:.40}.")
    if all(isinstance(label, str) for label in pairs):
        places = {label: float(-place) for place, label in enumerate(dict.fromkeys(pairs), 1)}
        return [(label, places[label]) for label in pairs]
    return [_pair(where, pair) for pair in pairs]


def _pair(where: str, pair: Any) -> tuple[str, float]:
    with suppress(TypeError, ValueError, OverflowError):  # it has other parts than two, or its score is too large
        label, score = pair
        if isinstance(label, str) and type(score) in (int, float) and math.isfinite(score):
            return label, float(score)
    raise CheckpointError(f"{where}: expected labels, in quotes, or pairs of label and score; found {pair!r:.60}.")


def has_list(content: Any) -> bool:
    return isinstance(content, dict) and "relation" in content and not {LISTED, SIMKGC}.isdisjoint(content)


READER = Reader(
    name="predictions",
    summary="a .jsonl or .json file of lists (head or tail, relation, predictions: labels, with scores or best first)",
    recognises=lambda path: has_list(first_object(path)),
    read=read,
)


MARKS: dict[str, Side] = {"Heads:": "head", "Tails:": "tail"}

ORDERS = ("confidence", "listed")
"""what ranks the candidates of a list: their confidences, which may tie, or their places in it"""

BRACED = re.compile(r"(.+)_\{([0-9]*[.,][0-9]*)\}")
"""an entity and its confidence, as kbc_evaluation takes them (J. Portisch)"""

LONGEST_LIST = 2**16
"""characters of a line that are looked at to recognise the file"""


def read_anyburl(path: Path, options: Options) -> Predictions:
    """Read predictions of three lines a triple: ``head relation tail``, ``Heads: entity confidence …``, ``Tails: …``.

    Entities and confidences are separated by tabs, or are ``entity_{confidence}`` between spaces. With the option
    ``order=listed``, candidates are ranked by their places in the list, so that equal confidences do not tie. Of a
    triple that occurs again, the last lists count, as in AnyBURL's own evaluation.
    """
    lists, order = CheckedLists(path, options), options.require("order", None, str(path), ORDERS, optional=True)
    _add_lines(path, lists)
    return lists.predictions("anyburl", by_place=order == "listed")


def _add_lines(path: Path, lists: CheckedLists) -> None:
    triple: tuple[int, int, int] | None = None
    done: set[Side] = set()
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            mark, *cells = _cells(line)
            if not mark and not cells:
                continue
            where = f"{path}, line {number}"
            if mark not in MARKS:
                triple, done = _triple_of(where, [mark, *cells], lists), set()
                continue
            if triple is None:
                raise CheckpointError(f"{where}: {mark} before the first triple (head relation tail).")
            side, (head, relation, tail) = MARKS[mark], triple
            key = (tail, relation, head) if side == "head" else (head, relation, tail)
            lists.add(where, side, key, _confidences(where, cells), "confidences")
            if side in done:
                raise CheckpointError(f"{where}: {mark} occurs twice for one triple.")
            done.add(side)


def _cells(line: str) -> list[str]:
    """Cut a line at tabs, and what is before them at spaces if it is a triple; a list begins with its mark."""
    text = line.strip()
    mark, listed = text[:6], text[6:].strip()
    if mark not in MARKS:
        return text.split("\t") if "\t" in text else text.split(" ")
    return [mark, *(_braced(listed) or listed.split("\t"))] if listed else [mark]


def _braced(listed: str) -> list[str]:
    """Split a list of ``entity_{confidence}`` between spaces; empty if it is not such a list."""
    pairs = [BRACED.fullmatch(word) for word in listed.split(" ")]
    cells = [cell for pair in pairs if pair for cell in (pair[1], pair[2].replace(",", "."))]
    return cells if all(pairs) else []


def _triple_of(where: str, cells: list[str], lists: CheckedLists) -> tuple[int, int, int]:
    if len(cells) != 3:
        raise CheckpointError(f"{where}: expected head, relation, tail, or Heads: or Tails:; found {len(cells)} words.")
    head, relation, tail = cells
    return lists.id(where, "entity", head), lists.id(where, "relation", relation), lists.id(where, "entity", tail)


def _confidences(where: str, cells: list[str]) -> list[tuple[str, float]]:
    if len(cells) % 2:
        raise CheckpointError(f"{where}: expected pairs of entity and confidence; found {len(cells)} cells.")
    return [(label, _confidence(where, label, cell)) for label, cell in zip(cells[::2], cells[1::2], strict=True)]


def _confidence(where: str, label: str, spelled: str) -> float:
    try:
        score = float(spelled)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise CheckpointError(f"{where}: the confidence {spelled[:40]!r} of {label!r} is not a number.")
    return score


def _is_anyburl(path: Path) -> bool:
    first, *marked = first_lines(path, 3, LONGEST_LIST)
    return len(first.split()) >= 3 and any(line[:6] in MARKS for line in marked)


ANYBURL = Reader(
    name="anyburl",
    summary="a file of AnyBURL's predictions (three lines a triple: head relation tail, Heads: …, Tails: …)",
    recognises=_is_anyburl,
    read=read_anyburl,
)


COLUMNS = ("query", "iteration", "entity", "rank", "score", "run")

NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

CELLS = (
    ("query", NAME, "is not a name such as tail-12-3."),
    ("entity", rf"^{ID}$", "is not an id."),
    ("score", NUMBER, "is not a number."),
)
"""the pattern that the cells of a column must match"""


def read_trec(path: Path, options: Options) -> Predictions:
    """Read a run: lines of query, ``Q0``, entity, rank, score and the name of the run.

    A query is called ``tail-12-3``: its side, and the ids of its anchor and relation in the dataset, and in a temporal
    graph that of its time; an entity by its id. Entities are ranked by their scores, as by ``trec_eval``, which leaves
    ranks aside; equal scores tie.
    """
    return predictions_of("trec", path, options, _lists_of_run(path, needed_dataset(path, options)))


def _lists_of_run(path: Path, dataset: Dataset) -> dict[Side, SideLists]:
    delimiter = find_delimiter(path)
    table = NamedTable(path, read_columns(path, COLUMNS, delimiter=delimiter), delimiter=delimiter)
    for name, pattern, why in CELLS:
        table.refuse(~np.asarray(pc.match_substring_regex(table[name], pattern)), name, why)
    entities, scores = np.asarray(table["entity"].cast(pa.int64())), np.asarray(table["score"].cast(pa.float64()))
    table.refuse(~np.isfinite(scores), "score", "is not a finite number.")
    table.refuse(entities >= len(dataset.entities), "entity", _beyond("an entity", dataset, len(dataset.entities)))
    codes = table["query"].combine_chunks().dictionary_encode()
    owners = np.asarray(codes.indices, np.int64)
    order = np.lexsort((entities, owners))
    again = np.zeros(len(order), np.bool_)
    again[order[1:]] = (np.diff(owners[order]) == 0) & (np.diff(entities[order]) == 0)
    table.refuse(again, "entity", "is listed twice for its query.")
    order = np.argsort(owners, kind="stable")
    sides, ids = _queries(table, owners, codes.dictionary, dataset)
    every = {side: sides == side for side in SIDES}
    ordered = owners[order], entities[order], scores[order]
    return {side: _of_queries(chosen, ids, *ordered) for side, chosen in every.items() if chosen.any()}


def _queries(
    table: NamedTable, owners: IntArray, names: pa.Array, dataset: Dataset
) -> tuple[npt.NDArray[np.object_], list[IntArray]]:
    """Split the distinct names of queries into their parts; ``owners`` (int64[row]) is the name of each row.

    Returns their sides, object[query], and their ids, int64[query] each: anchors, relations, and of a temporal graph
    times.
    """
    parts = pc.extract_regex(names, NAME)
    timed = np.asarray(pc.not_equal(pc.struct_field(parts, "time"), ""))[owners]
    if dataset.times is None:
        table.refuse(timed, "query", f"has a time, but {dataset.name} has none.")
    else:
        table.refuse(~timed, "query", f"has no time (tail-12-3-5), but {dataset.name} is a temporal graph.")
    kinds = {"anchor": dataset.entities, "relation": dataset.relations, "time": dataset.times}
    labels = {name: value for name, value in kinds.items() if value is not None}
    ids = [np.asarray(pc.struct_field(parts, name).cast(pa.int64())) for name in labels]
    for value, (name, known) in zip(ids, labels.items(), strict=True):
        why = _beyond(f"{'an' if name == 'anchor' else 'a'} {name}", dataset, len(known))
        table.refuse((value >= len(known))[owners], "query", why)
    return pc.struct_field(parts, "side").to_numpy(zero_copy_only=False), ids


def _of_queries(
    chosen: BoolArray, ids: list[IntArray], owners: IntArray, entities: IntArray, scores: Float64Array
) -> SideLists:
    """Make the lists of the chosen queries (bool[query]) of rows that are in the order of queries."""
    rows = chosen[owners]
    anchors, relations, *times = (column[chosen].tolist() for column in ids)
    keys = zip(anchors, relations, [ALL_LISTS] * len(anchors), *times, strict=True)
    lengths = np.bincount(owners, minlength=len(chosen))[chosen]
    places = {key: row for row, key in enumerate(keys)}
    return SideLists(places, Rows.sized(lengths, entities[rows]), scores[rows])


def _beyond(what: str, dataset: Dataset, size: int) -> str:
    return f"names {what} that {dataset.name} does not have (its ids are below {size}). Is it the right dataset?"


def _is_run(path: Path) -> bool:
    cells = first_lines(path, 1, LONGEST_LIST)[0].split()
    return len(cells) == len(COLUMNS) and re.fullmatch(NAME, cells[0]) is not None


TREC = Reader(
    name="trec",
    summary="a run of TREC (lines of query, Q0, entity, rank, score, run; queries called tail-12-3, entities by id)",
    recognises=_is_run,
    read=read_trec,
)
