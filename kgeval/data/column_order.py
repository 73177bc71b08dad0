"""What custom decides of columns that have no names: their separator, their order, and what a fourth one holds.

``numbering.number`` asks for these assumptions; results show them in the line ``read as``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.assumptions import Assumption
from kgeval.data.column_choice import FEWEST_ROWS
from kgeval.data.columns import IN_PYTHON, SEPARATORS, TRIPLE
from kgeval.data.tables import BY_CELLS, NamedTable
from kgeval.data.vocabulary import Vocabulary

MANY_RELATIONS, MANY_TIMES = 20, 10
"""the number of relations from which they count as many, and how many times the number of heads or tails it must be"""

MOST = 0.9
"""if labels are numbers: relations look like entities if both share this part of the largest column's labels"""

FIRST_ROWS = 2**16
"""the number of rows that are looked at first, to recognise an ordinary graph fast"""


def customs_of_columns(
    tables: Mapping[str, NamedTable], ids: Mapping[str, IntArray], entities: Vocabulary, relations: Vocabulary
) -> Iterator[Assumption]:
    """Say what custom decides of the columns of a graph, where something in them fits another reading too."""
    names = {separator: name for name, separator in SEPARATORS.items()}
    for table in tables.values():
        for other in table.separators:
            why, option = "the custom of its ending, and its first rows", f"--columns separator={names[other]}"
            yield Assumption("separator", names[str(table.delimiter)], "usual", why, option)
        for role in (role for role, origin in table.origins.items() if origin.endswith(BY_CELLS)):
            beyond = role == "confidence" and bool((np.asarray(table.confidences()) > 1).any())
            if beyond or role == "label":
                other = "time" if beyond else "_"
                why = f"its cells are {'decimals above 1' if beyond else '1 and 0, so that some triples are false'}"
                yield Assumption("fourth column", role, "usual", why, f"--columns {','.join(TRIPLE)},{other}")
    if sign := _sign_of_another_order(tables, ids, entities, relations):
        yield Assumption("columns", ", ".join(TRIPLE), "usual", *sign)


def _sign_of_another_order(
    tables: Mapping[str, NamedTable], ids: Mapping[str, IntArray], entities: Vocabulary, relations: Vocabulary
) -> tuple[str, str] | None:
    """Say if columns without names may stand in another order than head, relation, tail, and how to say it.

    In another order, the "relations" are entities: most are heads or tails too, or they are many compared with the
    heads or tails. An ordinary graph may have its relations among its entities too, but has few of them. If heads and
    tails are different things, nothing but their numbers tells relations from entities.
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
    elif sum(map(len, ids.values())) >= FEWEST_ROWS and 2 * count > few and 10 * int(occur.all(axis=0).sum()) < few:
        sign = f"{count:,} labels of relations are many beside {few:,}, and heads and tails have none in common"
    else:
        return None
    alike = (not are_ids) * occur[:, np.asarray(twins)].sum(axis=1) / occur.sum(axis=1)
    order = min(((alike[0], heads), "relation,head,tail"), ((alike[1], tails), "head,tail,relation"))[1]
    return sign, f"--columns {order} {IN_PYTHON}"
