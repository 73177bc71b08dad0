"""A suspicion: columns without a header may stand in another order than head, relation, tail.

``numbering.number`` asks for it. The sentence becomes ``Dataset.suspicion``, which results show above their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.data.columns import IN_PYTHON, TRIPLE
from kgeval.data.tables import NamedTable
from kgeval.data.vocabulary import Vocabulary

MANY_RELATIONS, MANY_TIMES = 20, 10
"""the number of relations from which they count as many, and how many times the number of heads or tails it must be"""

MOST = 0.9
"""if labels are numbers: relations look like entities if both share this part of the largest column's labels"""

FIRST_ROWS = 2**16
"""the number of rows that are looked at first, to recognise an ordinary graph fast"""


def suspicion_of_order(
    tables: Mapping[str, NamedTable], ids: Mapping[str, IntArray], entities: Vocabulary, relations: Vocabulary
) -> str | None:
    """Say if columns without names seem to stand in another order than head, relation, tail; else return None.

    In another order, the "relations" are entities: most are heads or tails too, or they are many compared with the
    heads or tails. An ordinary graph may have its relations among its entities too, but has few of them.
    """
    if any(table.origins.get("relation") != "column '2'" for table in tables.values()):
        return None
    beginning = next(iter(ids.values()))[:FIRST_ROWS]
    if min(len(np.unique(beginning[:, column])) for column in (0, 2)) > len(relations):
        return None  # an ordinary graph: all its rows together have even more heads and tails
    occur = np.zeros((2, len(entities)), np.bool_)
    for rows in ids.values():
        occur[0, rows[:, 0]] = occur[1, rows[:, 2]] = True
    (heads, tails), count = occur.sum(axis=1).tolist(), len(relations)
    few, largest = min(heads, tails), max(heads, tails, count)
    twins = pc.is_in(entities.labels, value_set=relations.labels)
    shared = pc.sum(twins).as_py()
    are_ids = pc.all(pc.match_substring_regex(relations.labels, "^-?[0-9]+$")).as_py()  # numbers, as entities are too
    are_many = count >= MANY_RELATIONS
    if 2 * shared >= count >= max(few, 2) and not are_ids:
        sign = f"{shared:,} of the {count:,} labels in the second column, the relations, are entities too"
    elif are_many and (count >= MANY_TIMES * few or (are_ids and 2 * few <= count and MOST * largest <= shared)):
        sign = f"the second column, the relations, has {count:,} labels, and another one {few:,}"
    else:
        return None
    alike = (not are_ids) * occur[:, np.asarray(twins)].sum(axis=1) / occur.sum(axis=1)
    order = min(((alike[0], heads), "relation,head,tail"), ((alike[1], tails), "head,tail,relation"))[1]
    cure = f"If so: --columns {order} {IN_PYTHON}; if not: --columns {','.join(TRIPLE)}"
    return f"columns: perhaps not head, relation, tail: {sign}. {cure}"
