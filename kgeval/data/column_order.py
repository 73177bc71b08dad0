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
"""the least relations that are many, and how many times as many as heads or tails"""

MOST = 0.9
"""the share of ids that a column of relations has in common with one of entities, if it is one of entities too"""

FIRST_ROWS = 2**16
"""rows that tell an ordinary graph fast"""


def suspicion_of_order(
    tables: Mapping[str, NamedTable], ids: Mapping[str, IntArray], entities: Vocabulary, relations: Vocabulary
) -> str | None:
    """Tell whether columns that only their positions name stand in another order than head, relation, tail.

    Then what is read as relations are entities: most occur as heads or tails too, or they are many for few heads or
    tails. In an ordinary graph that has its own relations among its entities, these are few.
    """
    if any(table.origins.get("relation") != "column '2'" for table in tables.values()):
        return None
    beginning = next(iter(ids.values()))[:FIRST_ROWS]
    if min(len(np.unique(beginning[:, column])) for column in (0, 2)) > len(relations):
        return None  # an ordinary graph, of which all rows would have even more heads and tails
    occur = np.zeros((2, len(entities)), np.bool_)
    for rows in ids.values():
        occur[0, rows[:, 0]] = occur[1, rows[:, 2]] = True
    (heads, tails), count = occur.sum(axis=1).tolist(), len(relations)
    few, largest = min(heads, tails), max(heads, tails, count)
    twins = pc.is_in(entities.labels, value_set=relations.labels)
    shared = pc.sum(twins).as_py()
    are_ids = pc.all(pc.match_substring_regex(relations.labels, "^-?[0-9]+$")).as_py()  # the same numbers as entities'
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
