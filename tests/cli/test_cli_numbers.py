"""``kgeval explain --number``: of a run, of its file of ranks, of a text file of ranks, and of a checkpoint."""

from __future__ import annotations

import pytest

from kgeval import RankTable, summarize
from tests.cli.conftest import invoke

CHECKPOINT = ["model", "--dataset", "graph", "--option", "model=TransE", "--option", "norm=1"]


def test_the_protocol_of_a_number_is_named_of_all_that_has_ranks(place, data):
    table = RankTable.from_parquet(place / "run" / "ranks.parquet")
    number = f"mrr={summarize(table, 'mrr')['mrr']:.6f}"
    lines = ["head\trelation\ttail\ttail_rank\thead_rank"]
    rows = {}
    labels = (table.column(f"{name}_label") for name in ("head", "relation", "tail"))
    for *triple, side, rank in zip(*labels, table.column("side"), table.ranks, strict=True):
        rows.setdefault(tuple(triple), {})[side] = rank
    lines += ["\t".join([*triple, f"{ranks['tail']:g}", f"{ranks['head']:g}"]) for triple, ranks in rows.items()]
    (place / "ranks.tsv").write_text("\n".join(lines) + "\n")
    for source in (["run"], ["run/ranks.parquet"], ["ranks.tsv", "--dataset", "graph"], CHECKPOINT):
        found = data("explain", *source, "--number", number)
        assert found["matches"] is True
        assert "standard" in found["readings"][0]["protocols"]
        assert found["readings"][0]["setting"] == "filtered"


def test_a_number_that_no_protocol_gives_has_the_nearest(place, done):
    lines = done("explain", "run", "--number", "mrr=0.9999").splitlines()
    assert lines[0].startswith("mrr 0.9999: no protocol gives this number from these ranks. The nearest is ")


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ([], "give either --protocols P,P or --number METRIC=VALUE"),
        (["--protocols", "pykeen", "--number", "mrr=.3"], "give either --protocols P,P or --number METRIC=VALUE"),
        (["--number", "mrr"], "mrr: '' is not a number such as 0.3312"),
        (["--number", "amri=.3"], "a check compares mrr, mr and hits@k"),
        (["--number", "mr=x"], "mr: 'x' is not a number"),
    ],
)
def test_what_cannot_be_checked_is_refused(place, further, message):
    result = invoke("explain", "run", *further)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
