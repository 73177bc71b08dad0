"""The scorer of prediction lists: the entities listed for a query come first, the others tie or follow a base model.

Readers of files of lists make it (``checkpoints/readers/prediction_model.py``), ``alignment.py`` puts it behind the ids
of a dataset, and ``kgeval.ranking`` asks for its scores. A *base* is a model that ranks the entities that are not
listed. The *place* of an entity is its position in a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.errors import InputError
from kgeval.base.notes import Example, Note
from kgeval.base.threads import slices
from kgeval.data.queries import Queries, Rows, starts_of_runs
from kgeval.data.triples import Side
from kgeval.data.vocabulary import Vocabulary

Key = tuple[int, ...]
"""the ids of anchor, relation and the answer that the list was made for (-1: for the query, whatever its answer); in a
temporal graph also the time, unless the list is for all times"""

ALL_LISTS = -1

INVENTED = -1
"""the id of an answer in a list that is not an entity of the dataset"""

BATCH_SCORES = 2**20
"""the number of scores (queries × all entities) that are held at a time"""


@dataclass(frozen=True, eq=False)
class PredictionLists:
    """A scorer of listed candidates; all others tie below them, or follow in the order of a base.

    A model may list candidates for every triple separately: two lists for the same query can differ. The query of one
    triple is scored by the list of that triple; a query of several triples by all of their lists.

    >>> from kgeval.data.triples import Triples
    >>> lists = SideLists.of({(0, 0, 2): OneList.of({2: 0.9, 1: 0.5})})
    >>> labels = Vocabulary(["ant", "bee", "cat", "dog"]), Vocabulary(["eats"], "relation")
    >>> scorer, queries = PredictionLists({"tail": lists}, *labels), Queries.of(Triples.of([(0, 0, 2)]), "tail")
    >>> scorer.scores(queries, np.arange(4)), scorer.by_place().scores(queries, np.arange(4))
    (array([[-inf,  0.5,  0.9, -inf]]), array([[-inf,  -2.,  -1., -inf]]))
    """

    sides: Mapping[Side, SideLists]
    entities: Vocabulary
    relations: Vocabulary
    unanswered: bool = False
    """whether a query without a list counts as unanswered, as one with an empty list does"""
    not_retrieved: bool = False
    """whether an answer that its list leaves out counts as 0 in metrics of lists; otherwise it ties with all others
    that are not listed"""
    keeps_outside: bool = True
    """whether a listed answer that is no candidate of its query counts as a wrong one; otherwise it is left out"""
    base: Any = None
    """the aligned scorer of a re-ranked model, or its ranks: it orders what is not listed; None if all this ties"""
    notes: tuple[str, ...] = ()
    """notes on the lists"""

    @property
    def num_entities(self) -> int:
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        return len(self.relations)

    def by_place(self) -> PredictionLists:
        """Return a scorer by the places of entities in their lists, whatever the scores in the lists."""
        return replace(self, sides={side: lists.by_place() for side, lists in self.sides.items()})

    def over(self, base: Any) -> PredictionLists:
        """Re-rank a base, an aligned scorer or ranks: what is listed comes first, then the rest in the base's order."""
        return replace(self, base=base, sides={side: lists.by_rank() for side, lists in self.sides.items()})

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Look up scores, −∞ for candidates that are not listed; with a base, minus the rank among all entities."""
        if (self._lists_of(queries)[1] < 0).any():
            self.note_on_unlisted([queries])
        scores = np.empty((len(queries), candidates.shape[-1]))
        rows, values = self.listed(queries)
        for part in slices(len(queries), max(1, BATCH_SCORES // self.num_entities)):
            listed, of_part = rows[part], slice(*rows.offsets[[part.start, part.stop]])
            # Invented answers go to a further column, the last, which no candidate has.
            whole = np.full((len(listed), self.num_entities + 1), -np.inf)
            whole[listed.owners, listed.ids] = values[of_part]
            if self.base is not None:
                self._put_behind(whole[:, :-1], listed.lengths, queries[part])
            wanted = np.broadcast_to(candidates, scores.shape)[part]
            scores[part] = np.take_along_axis(whole, wanted, axis=1)
        return scores

    def _put_behind(self, scores: Float64Array, lengths: IntArray, queries: Queries) -> None:
        """Put entities that are not listed (−∞) behind the list of their query, in the order of the base; in place."""
        known = np.flatnonzero(self.base.entity_rows >= 0)
        for row, of_base, length in zip(scores, self.base.scores(queries, known), lengths, strict=True):
            rest = row[known] == -np.inf
            above = rest.sum() - np.searchsorted(np.sort(of_base[rest]), of_base[rest], "right")
            row[known[rest]] = -1.0 - length - above

    def listed(self, queries: Queries) -> tuple[Rows, Float64Array]:
        """List the answers of each query's list: entities, or ``INVENTED``, and their scores, float64[listed]."""
        lists, rows = self._lists_of(queries)
        # A query without a list has an empty one.
        starts, stops = (lists.rows.offsets[rows + after] * (rows >= 0) for after in (0, 1))
        listed = Rows.spans(starts, stops, np.arange(len(lists.scores)))
        return Rows(listed.offsets, lists.rows.ids[listed.ids]), lists.scores[listed.ids]

    def note_on_unlisted(self, asked: Sequence[Queries]) -> str:
        """Return a note on queries without a list, not even an empty one, or refuse them; empty if there are none."""
        without = [(queries, np.flatnonzero(self._lists_of(queries)[1] < 0)) for queries in asked]
        first = next(((queries, rows[0]) for queries, rows in without if len(rows)), None)
        if first is None:
            return ""
        queries, row = first
        entity, relation = self.entities[int(queries.anchors[row])], self.relations[int(queries.relations[row])]
        example = f"({entity}, {relation}, ?)" if queries.side == "tail" else f"(?, {relation}, {entity})"
        count, total = sum(_distinct(*missing) for missing in without), sum(map(_distinct, asked))
        without_list = f"{count:,} of {total:,} queries have no list of predictions"
        fault = Note("lists", without_list, Example(f", such as {example}"))
        if self.base is not None and count < total:
            return Note("lists", *fault.parts, ": they keep the order of the base.")
        listed = [side for side, lists in self.sides.items() if lists.places]
        if not self.unanswered and len(listed) == 1 and any(queries.side not in listed for queries in asked):
            advice = f"the lists are for {listed[0]}s only. Use --sides {listed[0]} (in Python sides={listed[0]!r})"
            raise InputError(f"{fault}: {advice}.")
        if not self.unanswered:
            cure = "To count these as unanswered, set the option missing=unanswered (--option missing=unanswered)."
            raise InputError(f"{fault}. Are these the lists of this split? {cure}")
        return Note("lists", *fault.parts, ": they count as unanswered.")

    def _lists_of(self, queries: Queries) -> tuple[SideLists, IntArray]:
        """Return the lists of the queries' side, and which of them each query has, −1 for none; int64[query]."""
        lists = self.sides.get(queries.side, SideLists.of({}))
        rows = lists.rows_of(queries)
        if (rows < 0).any():
            lists = lists.with_queries
            rows = lists.rows_of(queries)
        return lists, rows


@dataclass(frozen=True, eq=False)
class SideLists:
    """The lists of one side."""

    places: Mapping[Key, int]
    """the row of each list in ``rows``, by what it was made for"""
    rows: Rows
    """the listed answers, in the order of the list: entities, or ``INVENTED``"""
    scores: Float64Array
    """float64[listed answer]"""

    @classmethod
    def of(cls, lists: Mapping[Key, OneList]) -> SideLists:
        lengths = np.array([len(item.ids) for item in lists.values()], np.int64)
        ids = np.concatenate([np.empty(0, np.int64), *(item.ids for item in lists.values())])
        scores = np.concatenate([np.empty(0), *(item.scores for item in lists.values())])
        return cls({key: row for row, key in enumerate(lists)}, Rows.sized(lengths, ids), scores)

    @cached_property
    def with_queries(self) -> SideLists:
        """The same lists, and for each query that has several a further list, which joins them.

        In a joined list, an entity that is one of the answers has the score of its own list; any other has the score of
        the first list that names it. Text that names no entity is left out: it is not known which texts are equal.
        """
        together: dict[Key, dict[int, float]] = {}
        queries = [(anchor, relation, ALL_LISTS, *time) for anchor, relation, _, *time in self.places]
        lists = Counter(queries)
        alone = {query: row for query, row in zip(queries, self.places.values(), strict=True) if lists[query] == 1}
        for query, ((_, _, answer, *_), row) in zip(queries, self.places.items(), strict=True):
            if query in alone:
                continue
            part = slice(*self.rows.offsets[row : row + 2])
            scored = dict(zip(self.rows.ids[part].tolist(), self.scores[part].tolist(), strict=True))
            scored.pop(INVENTED, None)
            scores = together.setdefault(query, {})
            for entity, score in scored.items():
                scores.setdefault(entity, score)
            if answer in scored:
                scores[answer] = scored[answer]
        further = SideLists.of({key: OneList.of(scores) for key, scores in together.items()})
        offsets = np.concatenate([self.rows.offsets, self.rows.offsets[-1] + further.rows.offsets[1:]])
        rows = Rows(offsets, np.concatenate([self.rows.ids, further.rows.ids]))
        places = {key: len(self.places) + row for key, row in further.places.items()}
        return SideLists({**self.places, **alone, **places}, rows, np.concatenate([self.scores, further.scores]))

    def by_place(self) -> SideLists:
        """Score listed entities by their places: -1 for the first, -2 for the second, and so on."""
        within = np.arange(len(self.scores)) - self.rows.offsets[self.rows.owners]
        return replace(self, scores=(-1 - within).astype(np.float64))

    def by_rank(self) -> SideLists:
        """Score listed entities by minus their ranks in the list: equal scores tie."""
        owners = self.rows.owners
        order = np.lexsort((-self.scores, owners))
        starts = starts_of_runs(owners[order], self.scores[order])
        above = np.repeat(starts, np.diff(np.r_[starts, len(order)])) - self.rows.offsets[owners[order]]
        return replace(self, scores=-(1 + above)[np.argsort(order)].astype(np.float64))

    def rows_of(self, queries: Queries) -> IntArray:
        """Find each query's list, -1 for none; a list of its time goes before a list of all times; int64[query]."""
        answers = (queries.only_answers, np.full(len(queries), ALL_LISTS))
        kinds: list[tuple[IntArray, ...]] = [(queries.anchors, queries.relations, ids) for ids in answers]
        if queries.contexts is not None:
            kinds = [*((*kind, queries.contexts) for kind in kinds), *kinds]
        lists = np.full(len(queries), -1)
        for kind in kinds:
            left = np.flatnonzero(lists < 0)
            keys = zip(*(column[left].tolist() for column in kind), strict=True)
            lists[left] = [self.places.get(key, -1) for key in keys]
        return lists


class OneList(NamedTuple):
    """One list: the candidates in their order, and their scores."""

    ids: IntArray
    """int64[listed answer], its entity, or ``INVENTED``"""
    scores: Float64Array
    """float64[listed answer]"""

    @classmethod
    def of(cls, scores: Mapping[int, float]) -> OneList:
        return cls(np.array([*scores], np.int64), np.array([*scores.values()], np.float64))


def _distinct(queries: Queries, rows: IntArray | None = None) -> int:
    """Count the distinct queries, of all or of some rows: if each triple has its own query, several may be the same."""
    columns = [queries.anchors, queries.relations, *([] if queries.contexts is None else [queries.contexts])]
    return len(np.unique(np.stack([column if rows is None else column[rows] for column in columns]), axis=1).T)
