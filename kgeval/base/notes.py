"""Notes: sentences on a result, such as "3 ranks tie.", which know their kind, their numbers and their examples.

A note is made where its sentence is written, of parts, so that no code has to parse it later. Notes of several models
that differ in numbers alone are joined into one, which has ranges (:func:`in_ranges`, called by
``collected_notes.py``). JSON and stored files have the keys of :func:`in_json` and :func:`stored`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter, ValidationError

from kgeval.base.errors import counted

if TYPE_CHECKING:
    from typing_extensions import Self

# fmt: off
NoteKind = Literal[
    "candidates", "chance", "device", "differences", "faulty-lists", "files", "intervals", "labels", "leaks",
    "left-out", "lists", "negatives", "repeated", "runs", "scores", "sides", "terms", "tests", "ties", "times",
    "undefined", "unseen", "",
]
# fmt: on
"""the subject of a note; empty for a plain text, as from a run of an older version or from another package"""

KINDS: Mapping[NoteKind, str] = {
    "candidates": "entities that compete with an answer: fewer or others than asked for (--corruption)",
    "chance": "ranks as of a model whose ids are mixed up, or whose scores have the wrong sign",
    "device": "what was not computed on the device (--device)",
    "differences": "in what the ranks of several models differ (--allow)",
    "faulty-lists": "lists of predictions that know the split, name no entity, or name one again",
    "files": "how files were read (--columns, --layout)",
    "intervals": "why numbers have no interval, or a wide one (--intervals)",
    "labels": "labels and ids of model and dataset that do not match",
    "leaks": "triples that can be looked up in what models learn from (--by leak)",
    "left-out": "things that were asked for and are missing from the result",
    "lists": "lists of predictions: queries and answers without one, and what they were made of",
    "negatives": "false triples, and negatives of metrics",
    "repeated": "triples that stand in a file more than once",
    "runs": "runs that are missing, damaged, changed, or made otherwise",
    "scores": "scores that are not numbers, not repeatable, equal or masked (--nan)",
    "sides": "sides that are not ranked, or seem to be exchanged (--side)",
    "terms": "what the words, marks and rows of a table mean, and further results of tests",
    "tests": "why differences were not tested, or with less certainty (--intervals, --draws)",
    "ties": "ties that move a metric (--ties)",
    "times": "times of temporal graphs: their order, and facts that a filter leaves aside (--times, --filter)",
    "undefined": "metrics that are undefined",
    "unseen": "triples with an entity or relation that the model does not know (--unseen)",
}
"""a kind of notes -> its subject in words, and the option that decides it"""

NUMBER = re.compile(r"(?<![\w@.:\-])[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w@\-]|\.\d)")
"""a number in the words of a note, not in a name such as hits@10"""

NUMERAL = "\0"
"""a character that no label has; it stands for a number in the shape of a note"""

OF_EXAMPLES = (": (", " such as ")
"""signs of examples in a plain text: its digits may belong to labels, so that they do not become ranges"""


class NotePart(str):
    """Words of a note with a second text, ``other``, which is used where notes are joined."""

    other: str

    def __new__(cls, words: object, other: str = "") -> Self:
        made = super().__new__(cls, words)
        made.other = other
        return made


class Example(NotePart):
    """Words of one dataset, such as a label, path or name; ``other`` replaces them in a note on several datasets."""

    @classmethod
    def path(cls, path: object) -> Example:
        """Make an example of a path; in a note on several datasets it is an ellipsis, unless it is a bare name."""
        return cls(path, "…" if "/" in str(path) else str(path))


class Amount(NotePart):
    """A count with its noun, such as ``2 triples``; ``other`` is the noun."""


def amount(count: int, noun: str, plural: str = "") -> Amount:
    """Write a count with its noun; counts of one noun are joined to a range.

    >>> in_ranges([Note("files", amount(count, "triple"), " repeated.") for count in (1, 2000)])
    '1–2,000 triples repeated.'
    """
    return Amount(counted(count, noun, plural), noun)


class Note(str):
    """A sentence on a result: a text with its kind and the parts that it is made of.

    >>> note = Note("unseen", "left out: ", amount(2, "triple"), Example(": (x, r, y)"), ".")
    >>> note, note.kind, note.general
    ('left out: 2 triples: (x, r, y).', 'unseen', 'left out: 2 triples.')
    """

    kind: NoteKind
    parts: tuple[str, ...]
    seeds: str
    """in how many runs of a model the note occurs, if not in all: ``in 2 of 3 seeds``"""

    def __new__(cls, kind: NoteKind, /, *parts: str, seeds: str = "") -> Note:
        note = super().__new__(cls, "".join([f"{seeds}: " if seeds else "", *parts]))
        note.kind, note.parts, note.seeds = kind, parts, seeds
        return note

    def __getnewargs_ex__(self) -> tuple[Any, dict[str, str]]:
        return (self.kind, *self.parts), {"seeds": self.seeds}

    @classmethod
    def of(cls, text: str) -> Note:
        return text if isinstance(text, Note) else cls("", text)

    @property
    def general(self) -> Note:
        """The note for several datasets: each example is replaced by its ``other``."""
        return Note(self.kind, *(part.other if isinstance(part, Example) else part for part in self.parts))

    @property
    def shape(self) -> tuple[str, ...]:
        """A key that is equal for notes that differ in numbers alone."""
        return self.kind, *map(self._shape_of, self.parts)

    def _shape_of(self, part: str) -> str:
        if isinstance(part, Amount):
            return f"{NUMERAL} {part.other}"
        is_said = isinstance(part, Example) or not (self.kind or all(words not in part for words in OF_EXAMPLES))
        return part if is_said else NUMBER.sub(NUMERAL, part)

    def after(self, *parts: str) -> Note:
        """The note with other words before it."""
        return Note(self.kind, *parts, *self.parts)


def in_ranges(notes: Sequence[Note]) -> Note:
    """Join notes of one shape: each number becomes the range of all.

    >>> in_ranges([Note("ties", f"{count} ranks tie", Example(" (1984)"), ".") for count in (3, 12)])
    '3–12 ranks tie (1984).'
    """
    return Note(notes[0].kind, *(_range(column) for column in zip(*(note.parts for note in notes), strict=True)))


def _range(column: Sequence[str]) -> str:
    numbers = [NUMBER.findall(part) for part in column]
    if len({*column}) == 1 or not all(numbers):
        return column[0]
    ranges = iter([_from_to(of_all) for of_all in zip(*numbers, strict=True)])
    most = max(column, key=lambda part: _value(NUMBER.findall(part)[0]))  # in the plural, if one is
    return NUMBER.sub(lambda _: next(ranges), most)


def _from_to(numbers: Iterable[str]) -> str:
    ordered = sorted(numbers, key=_value)
    low, high = ordered[0], ordered[-1]
    return low if low == high else f"{low} to {high}" if low[0] in "-−" else f"{low}–{high}"


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def in_json(notes: Iterable[str]) -> dict[str, list[str]]:
    """Return the keys for notes in JSON results: their texts, and the kind of each, empty for a plain text."""
    every = [*map(Note.of, notes)]
    return {"notes": [*map(str, every)], "note_kinds": [str(note.kind) for note in every]}


def stored(notes: Iterable[str]) -> dict[str, Any]:
    """Return the keys for notes in stored files: as in JSON, and their parts. Older versions skip kinds and parts."""
    every = [*map(Note.of, notes)]
    return {**in_json(every), "note_parts": [[*map(_plain, note.parts)] for note in every]}


def _plain(part: str) -> Any:
    return [str(part), part.other, *["#"] * isinstance(part, Amount)] if isinstance(part, NotePart) else part


PlainPart = str | tuple[str, str] | tuple[str, str, Literal["#"]]
"""a part in a file: words; an example and its ``other``; or a count, its noun and ``#``"""

KEPT = TypeAdapter(tuple[NoteKind, list[PlainPart]])
"""checks the kind and the parts of a note in a file"""


def restored(content: Mapping[str, Any]) -> tuple[Note, ...]:
    """Read the keys of :func:`stored`; a text whose parts are missing, or make another text, becomes a plain text."""
    by_text, columns = dict[str, Note](), [content.get(name) for name in ("note_kinds", "note_parts")]
    for row in zip(*(column if isinstance(column, list) else [] for column in columns), strict=False):
        with suppress(ValidationError):
            kind, parts = KEPT.validate_python(row)
            note = Note(kind, *map(_part, parts))
            by_text[str(note)] = note
    return tuple(by_text.get(text) or Note.of(text) for text in map(str, content.get("notes", ())))


def _part(plain: PlainPart) -> str:
    return plain if isinstance(plain, str) else (Example if len(plain) == 2 else Amount)(*plain[:2])
