"""Runs of TREC that kgeval wrote, and made ones: the same ranks, what a list omits, and what is wrong with a file."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest

from kgeval import Dataset, RankTable, evaluate, load_checkpoint, predict, summarize
from kgeval.base.errors import CheckpointError, InputError
from kgeval.models.families.complex import TComplEx
from kgeval.ranking.predictions.prediction_files import write_trec
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset

DATA = random_dataset(5, entities=20, triples=300)
SCORES = np.random.default_rng(3).permutation(20 * 4 * 20).reshape(20, 4, 20).astype(float)
"""of each head, relation and tail, all different"""

COUNTS = ["side", "triple", "greater", "tied", "candidates"]


def score(heads, relations, tails):
    return SCORES[heads, relations, tails]


def written(path, model=score, data=DATA, **settings):
    return write_trec(predict(model, data, **{"k": 20, **settings}), data, path)


@pytest.mark.parametrize("settings", [{}, {"known": "drop", "filter": ("train", "valid")}])
def test_a_run_that_was_written_gives_the_ranks_of_its_model(tmp_path, settings):
    model = load_checkpoint(written(tmp_path / "a.trec", **settings), dataset=DATA)
    table = evaluate(model, DATA)
    expected = evaluate(score, DATA).to_pandas()[COUNTS]
    assert table.to_pandas()[COUNTS].equals(expected)
    assert not any("not in the list" in note for note in table.notes)
    assert model.describe()["format"] == "trec"


def test_a_run_of_a_temporal_graph_names_the_time(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(f"e{a}", f"r{r}", f"e{b}", f"2014-01-{1 + t:02}") for a, r, b, t in rng.integers(0, (9, 2, 9, 4), (90, 4))]
    data = Dataset.from_labels(train=rows[:40], test=rows[40:])
    sizes = {"entity": (9, 6), "relation": (2, 6), "time": (4, 6)}
    model = TComplEx(**{name: rng.normal(size=size) for name, size in sizes.items()})
    path = written(tmp_path / "run.trec", model, data)
    assert path.read_text().split("\n")[0].count("-") == 3
    for settings in ({}, {"times": "static"}):
        expected = evaluate(model, data, **settings).to_pandas()[[*COUNTS, "time"]]
        assert (
            evaluate(load_checkpoint(path, dataset=data), data, **settings)
            .to_pandas()[[*COUNTS, "time"]]
            .equals(expected)
        )
    with pytest.raises(CheckpointError, match=r"line 1: the query 'head-\d-0-\d' has a time, but random has none"):
        load_checkpoint(path, dataset=DATA)
    path.write_text("tail-0-0 Q0 1 1 1 x\n")
    with pytest.raises(CheckpointError, match=r"'tail-0-0' has no time .tail-12-3-5., but .* is a temporal graph"):
        load_checkpoint(path, dataset=data)


def test_what_a_run_omits_ties_at_its_end(tmp_path):
    path = written(tmp_path / "run.trec", k=5, sides="tail")
    listed = {
        (*map(int, query.split("-")[1:]), int(entity)): float(value)
        for query, _, entity, _, value, _ in (line.split() for line in path.read_text().splitlines())
    }
    table = evaluate(load_checkpoint(path, dataset=DATA), DATA)
    assert as_counts(table) == brute_force(lambda h, r, t: listed.get((h, r, t), -np.inf), DATA, sides=("tail",))
    missing = sum(triple not in listed for triple in map(tuple, DATA.test.ids.tolist()))
    assert any(note.startswith(f"{missing} of {len(DATA.test)} answers ") for note in table.notes)


def test_scores_decide_whatever_the_order_of_lines_and_may_tie(tmp_path):
    path = tmp_path / "run.gz"
    lines = [
        f"{side}-{a}-{r} Q0 {e} 1 {SCORES[(a, r, e) if side == 'tail' else (e, r, a)] // 50:.3e} x\n"
        for side in ("head", "tail") for a in range(20) for r in range(4) for e in range(20)
    ]  # fmt: skip
    np.random.default_rng(1).shuffle(lines)
    path.write_bytes(gzip.compress("".join(lines).encode()))
    table = evaluate(load_checkpoint(path, dataset=DATA), DATA)
    assert as_counts(table) == brute_force(lambda h, r, t: SCORES[h, r, t] // 50, DATA)
    assert table.column("tied").any()


@pytest.mark.parametrize("k", [5, 20])
def test_pytrec_eval_computes_the_same_of_the_run(tmp_path, k):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    path = written(tmp_path / "run.trec", k=k, known="drop", filter=("train", "valid"))
    with path.open() as run, path.with_suffix(".qrels").open() as qrels:
        answers, lists = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)
    names = {"P_4": "p@4", "ndcg_cut_4": "ndcg@4", **({"map": "map"} if k == 20 else {})}
    found = pytrec_eval.RelevanceEvaluator(answers, {"P.4", "ndcg_cut.4", "map"}).evaluate(lists).values()
    mine = summarize(evaluate(load_checkpoint(path, dataset=DATA), DATA), [*names.values()])
    for theirs, ours in names.items():
        assert np.mean([values[theirs] for values in found]) == pytest.approx(mine[ours], rel=1e-12)


@pytest.mark.parametrize("k", [5, 20])
def test_what_is_not_retrieved_counts_as_in_trec_eval(tmp_path, k):
    """All measures that both have, over all queries: also over those whose lists were removed from the run."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    path = written(tmp_path / "run.trec", k=k, known="drop", filter=("train", "valid"), sides="tail")
    kept = [line for line in path.read_text().splitlines() if not line.startswith("tail-3-")]
    path.write_text("\n".join(kept))
    with path.open() as run, path.with_suffix(".qrels").open() as qrels:
        answers, lists = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)
    names = {"map": "map", "ndcg": "ndcg", "Rprec": "r-precision", "recip_rank": "first-rr"} | {
        f"{theirs}_{cut}": f"{ours}@{cut}"
        for theirs, ours in {"map_cut": "map", "ndcg_cut": "ndcg", "P": "p", "recall": "r"}.items()
        for cut in (4, 10)
    }
    measures = {re.sub(r"_(\d+)$", r".\1", name) for name in names}
    found = pytrec_eval.RelevanceEvaluator(answers, measures).evaluate(lists)
    assert len(found) < len(answers)
    table = evaluate(load_checkpoint(path, dataset=DATA, missing="not-retrieved"), DATA, sides="tail")
    table.to_parquet(tmp_path / "ranks.parquet")
    for ranks in (table, RankTable.from_parquet(tmp_path / "ranks.parquet")):
        mine = summarize(ranks, [*names.values()])
        for theirs, ours in names.items():
            mean = sum(values[theirs] for values in found.values()) / len(answers)
            assert mine[ours] == pytest.approx(mean, rel=1e-12), ours
    (note,) = (note for note in table.notes if "not in the list" in note)
    assert "they count as 0 in metrics of lists (MAP," in note
    tied = evaluate(load_checkpoint(path, dataset=DATA, missing="unanswered"), DATA, sides="tail")
    assert summarize(tied, ["map"])["map"] > mine["map"]
    assert any("In metrics of lists (MAP," in note and "missing=not-retrieved" in note for note in tied.notes)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("tail-0-0 Q0 1 1 2 x\ntail-0 Q0 1 1 2 x", "line 2: the query 'tail-0' is not a name such as tail-12-3"),
        ("tail-0-0 Q0 e1 1 2 x", "line 1: the entity 'e1' is not an id"),
        ("tail-0-0 Q0 1 1 nan x", "line 1: the score 'nan' is not a number"),
        ("tail-0-0 Q0 1 1 1e999 x", "line 1: the score '1e999' is not a finite number"),
        (
            "\ntail-0-0 Q0 20 1 2 x",
            r"entity '20' names an entity that random does not have .*20.\. Is it the right dataset\?$",
        ),
        ("tail-0-4 Q0 1 1 2 x", "the query 'tail-0-4' names a relation that random does not have"),
        ("tail-20-0 Q0 1 1 2 x", "the query 'tail-20-0' names an anchor that random does not have"),
        ("tail-0-0 Q0 1 1 2 x\ntail-0-1 Q0 1 1 2 x\ntail-0-0 Q0 1 2 1 x", "line 3: the entity '1' is listed twice"),
        ("tail-0-0 Q0 1 1 2 x\ntail-0-0 Q0 1 1 2", "line 2: 5 columns where 6 columns"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, lines, message):
    path = tmp_path / "run.trec"
    path.write_text(lines)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path, dataset=DATA, format="trec")


def test_a_run_needs_its_graph_and_a_list_for_each_query(tmp_path):
    path = written(tmp_path / "run.trec", k=2)
    with pytest.raises(CheckpointError, match=r"predictions do not name every entity\. Give the dataset"):
        load_checkpoint(path)
    path.write_text("tail-0-0 Q0 1 1 2 x\n")
    with pytest.raises(InputError, match=r"\d+ of \d+ queries have no list of predictions"):
        evaluate(load_checkpoint(path, dataset=DATA), DATA)
