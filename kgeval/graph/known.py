"""Known answers: the entities that already answer a query, which the filtered setting takes out of its candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgeval.graph.queries import Queries, starts_of_runs
from kgeval.graph.rows import Rows
from kgeval.graph.triples import Triples


def known_answers(queries: Queries, triples: Sequence[Triples]) -> Rows:
    """Collect each query's known answers, sorted and distinct, by sorting all triples once.

    Parameters
    ----------
    queries
        the questions
    triples
        the sets of triples whose facts are known (the filter); none gives empty rows, the raw setting

    Examples
    --------
    >>> queries = Queries.of(Triples.of([(0, 0, 1)]), "tail")
    >>> known_answers(queries, [Triples.of([(0, 0, 2), (0, 0, 1), (5, 0, 1)]), Triples.of([(0, 0, 2)])]).row(0)
    array([1, 2])
    """
    facts = Triples(np.concatenate([part.ids for part in triples])) if triples else Triples.of([])
    anchors, relations, answers = facts.asked(queries.side)
    # One integer a query key: entities × relations stays far below 2^63.
    width = 1 + max(relations.max(initial=0), queries.relations.max(initial=0))
    keys = anchors * width + relations
    order = np.lexsort((answers, keys))
    keys, answers = keys[order], answers[order]
    first = starts_of_runs(keys, answers)
    keys, answers = keys[first], answers[first]
    wanted = queries.anchors * width + queries.relations
    return Rows.spans(np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right"), answers)
