"""Negatives of a split: each triple with every candidate in the place of its head or tail, as tables or in a file.

``kgeval negatives`` writes them; triple classification takes them for its false triples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.base.errors import InputError
from kgeval.base.settings import names_among
from kgeval.base.storage import replacing
from kgeval.base.threads import slices
from kgeval.data.dataset import SPLITS, Dataset, Split
from kgeval.data.known import known_answers
from kgeval.data.loading import as_dataset
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import SIDES, Side
from kgeval.ranking.corruption.generator import CorruptionGenerator

ENDINGS = (".tsv", ".txt", ".parquet")

SCHEMA = pa.schema([(name, pa.string()) for name in ("head", "relation", "tail", "side")])

BLOCK_SIZE = 1_000_000
"""about how many negatives are in memory at a time"""


def generate_negatives(
    dataset: Dataset | str | Path,
    corruption: CorruptionGenerator,
    *,
    split: str = "test",
    sides: Side | Sequence[Side] = SIDES,
    filter: Split | Sequence[Split] = SPLITS,
    on_note: Callable[[str], None] = lambda _: None,
) -> Iterator[pa.Table]:
    """Yield the negatives of a split, in tables of string columns head, relation, tail, side.

    Each triple of the split gives one negative per side and candidate. The answer is never a negative. Known answers
    of the ``filter`` splits are none either, unless the corruption allows them. ``on_note`` is called with notes on the
    negatives, for example that too few entities could be drawn.

    Raises
    ------
    InputError
        if the dataset, its split, a side, a filter split or the corruption is unknown
    """
    if not isinstance(corruption, CorruptionGenerator):
        raise InputError(
            f"negatives are chosen by a corruption such as corruption.Uniform(count=100), not {corruption!r:.60}."
        )
    dataset = as_dataset(dataset)
    triples, sides = dataset.split(split), names_among("unknown side", sides, SIDES)
    splits = names_among("unknown filter split", filter, SPLITS)
    filtered = [triples, *(part for name, part in dataset.splits.items() if name in splits)]
    corruption, said = corruption.prepare(dataset), set[str]()
    for side in sides:
        queries = corruption.queries(triples, side)
        known = known_answers(queries, filtered)
        candidates = corruption.choose(queries, known, dataset)
        for note in (*candidates.notes, *corruption.notes(queries, dataset)):
            if note not in said:  # some are about both sides
                on_note(note)
            said.add(note)
        step = max(1, BLOCK_SIZE // max(1, candidates.max_width))
        for block in slices(len(queries), step):
            rows = candidates[block].per_query(len(queries[block]))
            yield _negatives(dataset, queries[block], rows, known[block], corruption)


def write_negatives(path: str | Path, tables: Iterator[pa.Table]) -> int:
    """Write negatives to ``.tsv``, ``.txt`` or ``.parquet``, and count them; a failed write leaves nothing behind."""
    file: Any
    path, written = Path(path), 0
    if path.suffix not in ENDINGS:
        raise InputError(f"{str(path)!r}: the file must end in {', '.join(ENDINGS)}.")
    parquet = path.suffix == ".parquet"
    with replacing(path) as partial, pq.ParquetWriter(partial, SCHEMA) if parquet else partial.open("wb") as file:
        write = file.write_table if parquet else lambda table: file.writelines(_lines(table))
        if not parquet:
            file.write(("\t".join(SCHEMA.names) + "\n").encode())
        for table in tables:
            write(table)
            written += table.num_rows
    return written


def _lines(table: pa.Table) -> Iterator[bytes]:
    """Write rows as tab-separated lines, and labels as they are: Arrow's own writer quotes, or refuses quotes."""
    for column in table.columns:
        broken = column.filter(pc.match_substring_regex(column, "[\t\r\n]"))
        if len(broken):
            raise InputError(
                f"the label {broken[0].as_py()!r} has a tab or a line end, which tab-separated text cannot hold. "
                "Write to a .parquet file."
            )
    return (f"{line}\n".encode() for line in pc.binary_join_element_wise(*table.columns, "\t").to_pylist())


def _negatives(
    dataset: Dataset, queries: Queries, rows: Rows, known: Rows, corruption: CorruptionGenerator
) -> pa.Table:
    if not corruption.allows_known:
        rows = rows.where(known.positions(rows.owners, rows.ids) < 0)
    order = np.argsort(queries.triples, kind="stable")
    owners, answers = queries.owners[order], queries.answers[order]
    tasks = Rows.spans(rows.offsets[owners], rows.offsets[owners + 1], rows.ids)
    tasks = tasks.where(tasks.ids != answers[tasks.owners])
    query = owners[tasks.owners]
    ends = dataset.entities.take(queries.anchors[query]), dataset.entities.take(tasks.ids)
    head, tail = ends if queries.side == "tail" else ends[::-1]
    relation = dataset.relations.take(queries.relations[query])
    return pa.table([head, relation, tail, pa.repeat(queries.side, len(tasks.ids))], schema=SCHEMA)
