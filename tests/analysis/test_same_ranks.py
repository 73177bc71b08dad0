"""Two tables of the same ranks, and of other ones: held against a comparison of plain rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_ranks, summarize
from kgeval.analysis import same_ranks
from kgeval.base.errors import MetricError
from tests.conftest import random_dataset

DATA = random_dataset(13)
LABELS = ["head_label", "relation_label", "tail_label", "side"]
COUNTS = ["greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates"]
MINE = evaluate(lambda h, r, t: (h * 5 + r * 3 + t * 11) % 7, DATA)


def with_column(table, name, values):
    data = table.data.set_column(table.data.column_names.index(name), name, pa.array(values))
    return replace(table, data=data)


def plain(table):
    return {tuple(row[:4]): tuple(row[4:]) for row in table.to_pandas()[LABELS + COUNTS].astype(object).to_numpy()}


def test_rows_that_differ_are_those_of_plain_rows():
    theirs = evaluate(lambda h, r, t: (h * 5 + r * 3 + t * 13) % 7, DATA)
    found = same_ranks({"mine": MINE, "theirs": theirs}, ["mrr"])
    mine, others = plain(MINE), plain(theirs)
    differing = [key for key in mine if mine[key] != others[key]]
    assert (found.same, found.rows, found.differing) == (False, len(mine), len(differing))
    far = {key: abs(2 * mine[key][0] + mine[key][1] - 2 * others[key][0] - others[key][1]) for key in differing}
    shown = [tuple(pair["mine"][name] for name in LABELS) for pair in found.first]
    assert [far[key] for key in shown] == sorted(far.values(), reverse=True)[:10]
    for key, pair in zip(shown, found.first, strict=True):
        assert tuple(pair["theirs"][name] for name in COUNTS) == others[key]
    assert found.metrics == {"mrr": {"mine": summarize(MINE)["mrr"], "theirs": summarize(theirs)["mrr"]}}
    assert json.loads(json.dumps(found.to_dict()))["differing"] == len(differing)
    assert len(found.tables()[0].rows) == 10


def test_rows_in_another_order_are_the_same():
    order = np.random.default_rng(0).permutation(len(MINE))
    found = same_ranks({"mine": MINE, "theirs": replace(MINE, data=MINE.data.take(order))}, ["mrr", "mr"])
    assert found.same
    assert found.heads == (
        f"mine and theirs are the same: identical ranks in all {len(MINE)} rows, identical metrics (mrr, mr).",
    )


@pytest.mark.parametrize("name", COUNTS)
def test_one_other_count_is_found(name):
    """Candidates and raw counts change no rank of the filtered setting."""
    values = MINE.column(name).copy()
    values[7] += 1
    found = same_ranks({"mine": MINE, "theirs": with_column(MINE, name, values)}, ["mrr"])
    ((pair),) = found.first
    assert (found.differing, pair["theirs"][name] - pair["mine"][name]) == (1, 1)
    (row,) = found.tables()[0].rows
    assert len({*row[4:]}) > 1 or name.startswith("raw")


def test_rows_of_one_alone_and_other_rules_are_told():
    fewer = replace(MINE.where(np.arange(len(MINE)) > 1), protocol="pykeen")
    found = same_ranks({"mine": MINE, "theirs": fewer}, ["count"])
    assert (found.same, found.differing, dict(found.alone)) == (False, 0, {"mine": 2, "theirs": 0})
    assert "2 rows are only in mine" in found.heads[0]
    assert "protocol: standard in mine; pykeen in theirs." in found.notes
    with pytest.raises(MetricError, match="expected two tables of ranks, found 1: mine"):
        same_ranks({"mine": MINE})


def test_rows_of_other_times_are_other_rows():
    """Two facts that differ in their time alone are two rows, whose times are shown."""
    facts = {"train": [(0, 0, 1), (1, 1, 2)], "test": [(0, 0, 2), (0, 0, 2), (1, 1, 0)]}
    contexts = {"train": [0, 1], "test": [0, 1, 1]}
    data = Dataset.build(
        "timed",
        {split: Triples(np.array(rows), np.array(contexts[split])) for split, rows in facts.items()},
        entities=Vocabulary(["a", "b", "c"]),
        relations=Vocabulary(["r", "s"], "relation"),
        times=Vocabulary(["2001", "2002"], "time"),
    )
    mine, theirs = (evaluate(lambda h, r, t, times, by=by: t * (by - times), data) for by in (1, 0))
    found = same_ranks({"mine": mine, "theirs": theirs}, ["mrr"])
    assert found.rows == len(mine) == 6
    assert not any(found.alone.values())
    assert found.tables()[0].columns[:5] == ["head", "relation", "tail", "time", "side"]
    assert {pair["mine"]["time"] for pair in found.first} <= {"2001", "2002"}


def test_a_file_of_ranks_is_the_same_but_for_how_many_tied(tmp_path):
    frame = MINE.to_pandas()
    assert (frame["tied"] > 1).any()
    rows = frame[["head_label", "relation_label", "tail_label", "side", "rank"]]
    rows.columns = ["head", "relation", "tail", "side", "filtered_rank"]
    rows.to_csv(tmp_path / "ranks.tsv", sep="\t", index=False)
    found = same_ranks({"mine": MINE, "theirs": load_ranks(tmp_path / "ranks.tsv", DATA)}, ["mrr"], ties="realistic")
    assert found.same
    assert any(re.search("ties were not compared", note) for note in found.notes)
