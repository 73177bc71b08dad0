"""``kgeval.load_ranks``: a rank table from a file of ranks that another evaluator wrote.

Users and runs call it with a file and the dataset that was ranked. ``rank_file`` reads the rows; ``_RowsOfSplit`` finds
them in the split.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import TableError, counted, refuse_unknown
from kgeval.base.notes import Example, Note, amount
from kgeval.base.parquet_tables import with_columns
from kgeval.base.settings import names_among
from kgeval.data import History, KnownTimes
from kgeval.data.columns import TRIPLE, ColumnNames
from kgeval.data.dataset import SPLITS, Dataset, Split
from kgeval.data.fingerprint import fingerprint
from kgeval.data.known import known_answers, known_triples
from kgeval.data.labelled_triples import known_ids
from kgeval.data.layouts import labelled as label_layout
from kgeval.data.layouts import layouts
from kgeval.data.leaks import count_leaks
from kgeval.data.loading import as_dataset
from kgeval.data.queries import Queries
from kgeval.data.split_names import joined, parts_of
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.metrics.ranks.ties import tie_policy
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.protocols.protocol import Protocol
from kgeval.ranking.rank_file import RankColumnNames, RankFile, RankSetting
from kgeval.ranking.rank_table import COUNTS, RankTable, to_rank_columns
from kgeval.ranking.ranking_notes import notes_on_exchanged_sides
from kgeval.ranking.ranking_task import RankCounts, Ranked, RankingTask
from kgeval.ranking.rules import STANDARD

Unmatched = Literal["error", "drop"]
"""what to do with rows that are no ranks of the split: refuse the file, or leave the rows out and count them"""


@dataclass(frozen=True)
class ImportedRanks:
    """Ranks that another evaluator wrote, which a run takes in the place of a model."""

    table: RankTable
    files: tuple[Path, ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that the file has ranks of."""
        return tuple(side for side in SIDES if (self.table.column("side") == side).any())

    def of_sides(self, sides: Collection[Side]) -> ImportedRanks:
        """Keep the ranks of some sides; refuse one that the file does not have."""
        if lacking := [side for side in sides if side not in self.sides]:
            raise TableError(f"{self.files[0]}: it has no {lacking[0]} ranks. Leave {lacking[0]} out of the sides.")
        return replace(self, table=self.table.where(np.isin(self.table.column("side"), list(sides))))

    def by_protocol(self, rules: Protocol, model: str) -> RankTable:
        """Return the table of a model whose evaluator followed a protocol; its ties are unknown."""
        ties = self.table.own_ties if rules.name == STANDARD.name else tie_policy(rules.ties).name
        return replace(self.table, model=model, protocol=rules.name, own_ties=ties)

    def describe(self) -> dict[str, str]:
        """Return the entry for these ranks in the manifest of a run."""
        return {"ranks": str(self.files[0])}


NO_TIES = Note("ties", "a file of ranks has no numbers of ties: all metrics have the tie policy of the file.")


def load_ranks(  # noqa: PLR0913
    path: str | Path,
    dataset: Dataset | str | Path,
    *,
    split: str | Sequence[str] = "test",
    filter: Split | Sequence[Split] = SPLITS,
    times: KnownTimes | None = None,
    history: History | None = None,
    setting: RankSetting | None = None,
    unmatched: Unmatched = "error",
    columns: ColumnNames | None = None,
    separator: str | None = None,
) -> RankTable:
    """Read ranks that another evaluator wrote, one row per triple, or per triple and side.

    The header names the columns, in any order: head, relation, tail as in files of triples, and ranks, filtered or raw,
    of one side each (``frank_left``, ``rank_left``, ``filtered_head_rank``, …; left is the head), or of the side that a
    column ``side`` names (``raw_rank``, ``filtered_rank``). Further columns, and lines before the header that begin
    with ``#``, are left aside.

    A rank r means that r − 1 candidates are above the answer; a half (2.5) means that one ties. Columns ``greater`` and
    ``tied``, with the same words around them, say it exactly; without them only the ties of the file are known, and no
    other tie policy can be computed. ``candidates`` is the number of candidates; without it they are counted from the
    dataset: all entities but the known answers. If the file has both filtered and raw ranks, the table has the filtered
    ones with the raw counts beside them; if it has no raw ones, the raw columns are empty.

    Parameters
    ----------
    path
        a text file: tabs, spaces, or commas in a ``.csv``, or semicolons; each also ``.gz``; or a ``.parquet`` file,
        whose head, relation and tail are labels as in text; or JSON, an array of records or one in each line, also
        those of SimKGC (or its folder) and DIFT: texts are labels or names of the dataset, in any case
    dataset
        the graph that was ranked, or the folder or PyKEEN name of one; a folder of labels needs no train file
    split
        the split whose triples were ranked, or several: ``["valid", "test"]``
    filter
        the splits whose triples were known answers; with none of them, the table is one of the raw ranks
    times
        of a temporal graph, whose file of ranks has a column ``time``: which facts were known: those of the
        query's time (``"time-aware"``, by which candidates are counted) or those of all times (``"static"``); by
        default the result does not say which
    history
        of a temporal graph, the facts that the model had in view, as :func:`kgeval.evaluate` takes it
    setting
        ``"raw"`` for a table of the raw ranks; ``"filtered"`` for one of the filtered ranks. It also holds for columns
        whose names do not say which they are; by default those are read as filtered, with a note
    unmatched
        what to do with rows whose triple is not in the split or repeated, and with ranks that are invalid or larger
        than the number of candidates:
        ``"error"`` refuses the file, ``"drop"`` leaves those rows out, and the notes count them
    columns
        the names of the columns in their order, for a file without a header: ``"head,relation,tail,tail_rank"`` or a
        list; or which column holds what, whatever it is called: ``{"head": "subj", "tail_rank": "filt_rank_o", …}`` or
        ``"head=subj,tail_rank=filt_rank_o,…"``, and other columns of ranks are not used; quotes mark a constant,
        ``"relation='treats'"``
    separator
        the separator of columns, if it is not recognised

    Raises
    ------
    TableError
        with the line of a triple that is not in the split or is repeated, or of a rank that is invalid or larger than
        the number of candidates, as raw ranks can be if they are read as filtered
    DatasetError
        if the file is missing or malformed
    """
    if not isinstance(path, str | Path):
        raise TableError(f"path: expected the name of a file of ranks, found {path!r:.60}.")
    known: tuple[Split, ...] = names_among("filter: unknown split", filter, SPLITS, TableError)
    path, split, setting = Path(path), str(joined(split)), setting or (None if known else "raw")
    if setting == "filtered" and not known:
        raise TableError("setting 'filtered': no split is filtered. Give filter too, or setting 'raw'.")
    refuse_unknown("unmatched: unknown value", unmatched, get_args(Unmatched), TableError)
    dataset = _read_dataset(dataset, split)
    Evaluation.of_keywords({"times": times or "time-aware", "history": history}).require_times(dataset)
    file = RankFile.read(path, dataset, columns=columns, separator=separator, setting=setting)
    known = known if any(group.setting == "filtered" for group in file.ranks) else ()
    rows = _RowsOfSplit(file, dataset, split, unmatched, known_triples(dataset, known, times or "time-aware"))
    triples = rows.find()
    parts = [part for side in SIDES if (part := rows.of_side(side, triples)) is not None]
    if not parts:
        raise TableError(f"{path}: none of its rows is a rank of the {split} split of dataset {dataset.name}.")
    table = RankTable.concat(parts)
    leaks, notes_on_leaks = count_leaks(dataset, split, table.column("triple"))
    missing = len(dataset.split(split)) - table.num_triples
    source = Example.path(file.table.source)
    notes = [
        *(notes_on_exchanged_sides(*parts) if len(parts) == len(SIDES) else []),
        *file.notes,
        *rows.notes,
        *([Note("left-out", "not in ", source, ": ", amount(missing, f"{split} triple"), ".")] if missing else []),
        *_notes_on_filter(dataset, known, times),
        *notes_on_leaks,
        *([] if file.has_ties else [NO_TIES]),
        Note("files", "the ranks were read from a file", Example(f": {source}"), "."),
        *dataset.notes,
    ]
    return RankTable(
        table.data,
        split,
        tuple(notes),
        filter=tuple(name for name in known if name in dataset.splits),
        dataset=dataset.name,
        candidates=AllEntities().describe(dataset, np.array([len(dataset.entities)])),
        times=None if dataset.times is None else times,
        history=history,
        missing=len(parts) * len(dataset.split(split)) - len(table),
        leaks=leaks,
        has_ties=file.has_ties,
        assumptions=(*dataset.assumptions, *file.assumptions),
        fingerprint=fingerprint(dataset) if "train" in dataset.splits else "",
    )


def _notes_on_filter(dataset: Dataset, known: Sequence[Split], times: KnownTimes | None) -> Iterator[str]:
    """Note what the dataset or the file leaves open about the known answers."""
    if absent := [name for name in known if name not in dataset.splits]:
        has_none = f" has no {' or '.join(absent)} triples: their answers count as candidates."
        yield Note("candidates", Example(f"dataset {dataset.name}", "the dataset"), has_none)
    if dataset.times is not None and times is None and known:
        unsaid = "the file does not say whether its filter was time-aware or static; candidates were counted"
        yield Note("times", f"{unsaid} as time-aware. To say which: --times (in Python times=).")


def _read_dataset(dataset: Dataset | str | Path, split: str) -> Dataset:
    """Take a graph, or read it; a folder of labels may have no train file, since nothing is trained or scored."""
    parts = parts_of(split)
    if not isinstance(dataset, str | Path) or not label_layout.lacks_train(Path(dataset), parts):
        return as_dataset(dataset)
    if any(layout.recognises(Path(dataset)) for layout in layouts().values()):
        return as_dataset(dataset)
    return label_layout.read(Path(dataset), needs=parts)


@dataclass
class _RowsOfSplit:
    """The rows of a file as ranks of a split; rows that are no such ranks are refused, or left out and counted."""

    file: RankFile
    dataset: Dataset
    split: str
    unmatched: Unmatched
    known: Sequence[Triples]
    """the triples that were known answers"""
    notes: list[str] = field(default_factory=list)

    def passing(self, wrong: BoolArray, rows: IntArray, what: Callable[[int], str], *left_out: str) -> BoolArray:
        """Return the rows that stay, bool[row]: ``wrong`` rows are refused, or noted and left out."""
        if wrong.any() and self.unmatched == "error":
            first = int(np.argmax(wrong))
            raise TableError(f"{self.file.table.place(int(rows[first]))}: {what(first)}")
        if wrong.any():
            self.notes.append(Note("left-out", *left_out, f": {int(wrong.sum()):,} left out (unmatched: drop)."))
        return ~wrong

    def find(self) -> IntArray:
        """Find the row in the split of each row of the file, -1 for a row that is left out; int64[row]."""
        file, dataset, split = self.file, self.dataset, self.split
        names = dict(zip(TRIPLE, (dataset.entities, dataset.relations, dataset.entities), strict=True))
        columns = [known_ids(file.table, name, vocabulary) for name, vocabulary in names.items()]
        of_split = dataset.split(split)
        triples = of_split.ids
        if dataset.times is not None and of_split.contexts is not None:
            times = file.table.times()
            if times is None:
                lacks = f"no column 'time': dataset {dataset.name} has a time for each triple"
                raise TableError(f"{file.table.source}: {lacks}. Say which: --columns time=… (in Python columns=).")
            columns.append(dataset.times.ids(times))
            triples = np.column_stack([triples, of_split.contexts])
        ids = np.stack(columns, axis=1)
        _, first, codes = np.unique(np.concatenate([triples, ids]), axis=0, return_index=True, return_inverse=True)
        places: IntArray = first[codes.ravel()[len(triples) :]]

        def describe(row: int) -> str:
            named = [file.table[name][row].as_py() for name in TRIPLE]
            at = "" if len(columns) == len(TRIPLE) else f" at time {file.table['time'][row].as_py()}"
            text = f"the triple ({', '.join(named)}){at} is not in the {split} split of dataset {dataset.name}."
            labels = dataset.entities.labels[:100].to_pylist()
            if all(map(str.isdecimal, named)) and not all(map(str.isdecimal, labels)):
                return f"{text} These look like ids: write labels instead, such as {dataset.entities[0]}."
            cure = "Name another split or dataset with --split or --dataset (in Python split=, dataset=)."
            return f"{text} {cure} To leave such rows out: --unmatched drop (in Python unmatched='drop')."

        source, whose = Example.path(file.table.source), Example(f"dataset {dataset.name}", "the dataset")
        left_out = "rows of ", source, f" that are no {split} triple of ", whose
        return np.where(self.passing(places >= len(triples), np.arange(len(places)), describe, *left_out), places, -1)

    def of_side(self, side: Side, triples: IntArray) -> RankTable | None:
        """Make a table of the ranks of one side; None if there are none. ``triples`` is the result of :meth:`find`."""
        groups = [group for group in self.file.ranks if group.side in (side, None)]
        rows = np.flatnonzero(self.file.table.rows_of(side))
        rows = rows[triples[rows] >= 0]
        if not groups or not len(rows):
            return None
        rows = self._first_of_each(side, triples, rows)
        sizes = self._candidates(side)
        for group in groups:
            rows = rows[self._ranked(group, side, rows, sizes[group.setting][triples[rows]])]
        if not len(rows):
            return None
        counts = {it.setting: _counts(self.file, it, rows, sizes[it.setting][triples[rows]]) for it in groups}
        for setting, of_setting in counts.items():
            if differing := int((of_setting.candidates != sizes[setting][triples[rows]]).sum()):
                other = f"{differing:,} of {len(rows):,} {setting} {side} ranks have another number of candidates"
                used = "the filter give. The file's are used; adjusted metrics depend on them."
                self.notes.append(Note("candidates", f"{other} in the file than the dataset and {used}"))
        raw, filtered = counts.get("raw"), counts.get("filtered") or counts["raw"]
        ranked = Ranked(np.full(len(rows), np.nan), filtered, raw or filtered)
        table = to_rank_columns(self.dataset, self.split, triples[rows], side, ranked)
        if raw is None:
            table = with_columns(table, {f"raw_{name}": pa.nulls(len(rows), pa.int64()) for name in COUNTS})
        return RankTable(table.sort_by("triple"), self.split)

    def _first_of_each(self, side: Side, triples: IntArray, rows: IntArray) -> IntArray:
        """Keep the first row of each triple; the split itself may repeat some."""
        again = np.ones(len(rows), np.bool_)
        again[np.unique(triples[rows], return_index=True)[1]] = False
        times = self.dataset.multiplicity_of(self.split)
        repeated = again & (times is not None and times[triples[rows]] > 1)
        if repeated.any():
            repetitions = f"{side} ranks of repeated {self.split} triples: {int(repeated.sum()):,} left out"
            self.notes.append(Note("repeated", f"{repetitions}, as each triple counts once."))
        rows, again = rows[~repeated], again[~repeated]
        left_out = f"{side} ranks of triples in an earlier line"
        problem = f"its {side} was ranked in an earlier line. Keep one of the two lines."
        return rows[self.passing(again, rows, lambda _: problem, left_out)]

    def _candidates(self, side: Side) -> dict[str, IntArray]:
        """Count the candidates of each triple of a split, by setting; int64[triple]."""
        queries = Queries.of(self.dataset.split(self.split), side)
        answers = known_answers(queries, self.known)
        task = RankingTask.of(queries, Candidates.shared(np.arange(len(self.dataset.entities))), answers)
        counted = {"filtered": task.filtered_candidates, "raw": task.raw_candidates}
        order = np.argsort(queries.triples)
        return {setting: numbers[order] for setting, numbers in counted.items()}

    def _ranked(self, group: RankColumnNames, side: Side, rows: IntArray, candidates: IntArray) -> BoolArray:
        """Tell which rows have valid ranks or counts, none beyond the number of candidates; bool[row]."""
        setting, is_rank = f"{group.setting} {side}", np.ones(len(rows), np.bool_)
        for what, name in group.names.items():
            least = 0 if what in ("greater", "tied") else 1
            numbers, whole = self.file.numbers(name, rows), f"a whole number from {least}"
            best = self.file.table.said.best_rank or "1"
            expected = f"a rank: expected a whole number or a half, from {best}" if what == "rank" else whole
            wrong = (numbers < least) | ((what != "rank") & (numbers % 1 > 0))

            def no_number(index: int, name: str = name, expected: str = expected) -> str:
                text = str(self.file.table[name][int(rows[index])].as_py())
                cure = " If the best rank is 0: --columns best_rank=0." * (text == "0")
                return f"the {name} {text[:40]!r} is not {expected}.{cure}"

            is_rank &= self.passing(wrong, rows, no_number, f"{setting} ranks that are no numbers from {least}")
        counts = _counts(self.file, group, rows, candidates)
        highest = 1 + counts.greater + counts.tied
        if group.has_ties and "rank" in group.names:
            ranks = self.file.numbers(group.names["rank"], rows)

            def other(index: int) -> str:
                span = f"{1 + counts.greater[index]} to {highest[index]}"
                return f"the {setting} rank {ranks[index]:g} is not one from {span}, as greater and tied say it."

            left_out = f"{setting} ranks that contradict greater and tied"
            is_rank &= self.passing(is_rank & ((ranks <= counts.greater) | (ranks > highest)), rows, other, left_out)

        def beyond(index: int) -> str:
            candidates = counted(int(counts.candidates[index]), "candidate")
            problem = f"the {setting} rank {highest[index]} is beyond its {candidates}."
            if group.setting == "raw":
                return f"{problem} Was another dataset used, or is it the rank of the other side?"
            raw = "If these are raw ranks, use --setting raw (in Python setting='raw')."
            return f"{problem} {raw} Otherwise another dataset or filter was used, or it is the rank of the other side."

        left_out = f"{setting} ranks beyond their candidates"
        return is_rank & self.passing(is_rank & (highest > counts.candidates), rows, beyond, left_out)


def _counts(file: RankFile, group: RankColumnNames, rows: IntArray, expected: IntArray) -> RankCounts:
    """Return the counts of some rows, from the file's columns of counts or else from its ranks.

    If more numbers of candidates are ``expected`` − 1 than ``expected``, they leave out the answer itself: 1 is added.
    """
    numbers = {role: file.numbers(name, rows).astype(np.int64) for role, name in group.names.items() if role != "rank"}
    if not group.has_ties:
        ranks = file.numbers(group.names["rank"], rows)
        numbers |= {"greater": np.floor(ranks).astype(np.int64) - 1, "tied": np.ceil(ranks % 1).astype(np.int64)}
    candidates = numbers.get("candidates", expected)
    left_out = (candidates == expected - 1).sum() > (candidates == expected).sum()
    return RankCounts(numbers["greater"], numbers["tied"], candidates + int(left_out))
