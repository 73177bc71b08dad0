"""Ranks that were made elsewhere, on the command line: their metrics, and what is said where something is missing."""

from __future__ import annotations

import json

import pytest

from kgeval import RankTable, load_ranks
from tests.cli.conftest import ENTITIES, RELATIONS, ROWS, SPLITS


def write_ranks(path):
    rows = [
        f"{ENTITIES[h]}\t{RELATIONS[r]}\t{ENTITIES[t]}\t{n % 3 + 1}\t1\n" for n, (h, r, t) in enumerate(SPLITS["test"])
    ]
    path.write_text("h\tr\tt\tfrank_left\tfrank_right\n" + "".join(rows))


def test_metrics_of_a_file_of_ranks(done, place):
    write_ranks(place / "ranks.txt")
    told = json.loads(done("summarize", "ranks.txt", "--dataset", "graph", "-m", "mrr", "-m", "head.mrr", "--json"))
    assert told["metrics"]["head"]["mrr"] == (1 + 1 / 2 + 1 / 3) / 3
    assert told["metrics"]["both"]["mrr"] == (3 + 1 + 1 / 2 + 1 / 3) / 6


def test_predictions_of_rules_are_evaluated(done, place):
    """Each answer is listed above another entity, but for those of the last triple, which are not listed."""
    lines = []
    for n, (h, r, t) in enumerate(SPLITS["test"]):
        other = next(entity for entity in range(8) if entity not in (h, t) and (h, r, entity) not in ROWS)
        lines.append(f"{ENTITIES[h]} {RELATIONS[r]} {ENTITIES[t]}")
        for mark, answer in (("Heads:", h), ("Tails:", t)):
            mine = f"{ENTITIES[answer]}\t0.5\t" if n < 5 else ""
            lines.append(f"{mark} {mine}{ENTITIES[other]}\t0.25\t")
    (place / "predictions.txt").write_text("\n".join(lines))
    told = json.loads(
        done("evaluate", "predictions.txt", "--dataset", "graph", "-m", "tail.pessimistic.hits@1", "--json")
    )
    assert told["metrics"]["tail"]["pessimistic.hits@1"] == 5 / 6


def test_the_options_of_ranks_are_those_of_python(done, refused, place):
    """Without a header, between semicolons, and with a triple that is not in test."""
    rows = [f"{ENTITIES[h]};{RELATIONS[r]};{ENTITIES[t]};{n % 3 + 1};1" for n, (h, r, t) in enumerate(SPLITS["test"])]
    (place / "ranks.csv").write_text("\n".join(["ant;eats;ant;1;1", *rows]))
    options = ("--dataset", "graph", "--columns", "h,r,t,head_rank,tail_rank", "-m", "mrr", "--json")
    assert "line 1: the triple (ant, eats, ant) is not in the test split" in refused("summarize", "ranks.csv", *options)
    dropped = (*options, "--unmatched", "drop")
    told = json.loads(done("summarize", "ranks.csv", *dropped))
    assert told["metrics"]["both"]["mrr"] == (3 + 1 + 1 / 2 + 1 / 3) / 6
    for further in (("--setting", "raw"), ("--filter", "train"), ("--separator", "semicolon")):
        again = json.loads(done("summarize", "ranks.csv", *dropped, *further))
        assert again["metrics"] == told["metrics"]


def test_a_stored_run_has_its_raw_ranks_too(data, done, refused, place):
    done("evaluate", "baseline:popularity", "--dataset", "nations", "--ties", "realistic", "--out", "nations-run")
    table = RankTable.from_parquet("nations-run/ranks.parquet")
    told = data("summarize", "nations-run", "--filter", "none", "-m", "mrr")
    ranks = 1 + table.column("raw_greater") + table.column("raw_tied") / 2
    assert told["metrics"]["both"]["mrr"] == pytest.approx((1 / ranks).mean(), rel=1e-12)
    assert told["metrics"]["both"]["mrr"] < data("summarize", "nations-run", "-m", "mrr")["metrics"]["both"]["mrr"]
    assert ", unfiltered, " in done("summarize", "run", "--filter", "none")
    (place / "ranks.csv").write_text("head,relation,tail,tail_rank\n" + ",".join(triple_of_test()) + ",1\n")
    load_ranks("ranks.csv", "graph").to_parquet(place / "filtered.parquet")
    assert "the raw ones are not known" in refused("summarize", "filtered.parquet", "--filter", "none")


def triple_of_test():
    h, r, t = SPLITS["test"][0]
    return ENTITIES[h], RELATIONS[r], ENTITIES[t]
