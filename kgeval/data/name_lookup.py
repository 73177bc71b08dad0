"""Text of language models, which write names in place of labels: the ids that it stands for in a dataset.

The readers of predictions of language models (``kgeval.models.checkpoints.readers``) call :class:`NameLookup`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import product

from kgeval.data.dataset import Dataset

Triple = tuple[int, int, int]


class NameLookup:
    """Finds the ids that a text stands for: by a label, or else by the name of one entity or several.

    With ``casefold``, the case of entities does not matter, and underscores are blanks. Relations are found by the
    words of their labels or names, in any order: ``member meronym`` is ``_member_meronym``.

    >>> from kgeval import Dataset
    >>> from kgeval.data.human_names import with_names
    >>> data = Dataset.from_labels(train=[("/m/1", "lies_in", "/m/2"), ("/m/3", "lies_in", "/m/2")])
    >>> data = with_names(data, {"/m/1": "Paris", "/m/3": "Paris", "/m/2": "The_World"})
    >>> lookup = NameLookup(data, casefold=True)
    >>> lookup.find("entity", "PARIS"), lookup.find("entity", "the world"), lookup.find("relation", "Lies in")
    ([0, 2], [1], [0])
    """

    def __init__(self, dataset: Dataset, *, casefold: bool = False) -> None:
        self._dataset, self._casefold = dataset, casefold

    def find(self, kind: str, text: str) -> Sequence[int]:
        """List the entities, or the relations, that a text stands for, ascending."""
        index = self._indices[kind]
        return index.get(text) or index.get((self._spelled(kind, text),), [])

    def triples(self, head: str, relation: str, tail: str) -> list[Triple]:
        """List the triples that three texts may stand for; of several, those that a split has."""
        heads, tails = (self.find("entity", text) for text in (head, tail))
        found = [*product(heads, self.find("relation", relation), tails)]
        return found if len(found) < 2 else [triple for triple in found if triple in self._facts]

    def _spelled(self, kind: str, text: str) -> str:
        if kind == "relation":
            return " ".join(sorted({*re.split(r"[\W_]+", text.casefold())} - {""}))
        return text.replace("_", " ").strip().casefold() if self._casefold else text

    @cached_property
    def _indices(self) -> dict[str, dict[object, list[int]]]:
        return {kind: self._index(kind) for kind in ("entity", "relation")}

    def _index(self, kind: str) -> dict[object, list[int]]:
        """Map each label to its id; and each label and name, as it is compared, in a tuple of one, to its ids."""
        labels = self._dataset.entities if kind == "entity" else self._dataset.relations
        index: dict[object, list[int]] = {}
        for row, label in enumerate(labels):
            texts = label, self._dataset.names.get(label, label)
            for text in dict.fromkeys(filter(None, (self._spelled(kind, text) for text in texts))):
                index.setdefault((text,), []).append(row)
        return index | {label: [row] for row, label in enumerate(labels)}

    @cached_property
    def _facts(self) -> set[Triple]:
        splits = (triples.ids.tolist() for triples in self._dataset.splits.values())
        return {(head, relation, tail) for triples in splits for head, relation, tail in triples}
