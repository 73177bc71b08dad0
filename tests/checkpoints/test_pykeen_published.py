"""PyKEEN checkpoints that others trained: published metrics, and ranks triple by triple."""

from __future__ import annotations

import csv
import json

import pytest

from kgeval import evaluate, load_checkpoint, load_dataset, summarize

PUBLISHED = ["complex", "rotate", "transe", "tucker"]
UMLS = [
    *("boxe", "complex", "complex-inverse", "conve", "cp", "distmult", "mure", "pairre", "quate", "rescal", "rotate"),
    *("simple", "simple-clamp", "transe", "transe-l2", "tucker"),
]
RECIPROCAL = {"complex-inverse", "conve"}
NAMES = {
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    **{f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 5, 10)},
}


@pytest.fixture(scope="module", params=PUBLISHED)
def published(request, shared, nations):
    """The ranks of a model of PyKEEN's paper on ranking metrics (old pickle layout), and its published metrics."""
    folder = shared / f"checkpoints/pykeen-nations-{request.param}"
    table = evaluate(load_checkpoint(folder, dataset=nations), nations)
    return table, json.loads((folder / "results.json").read_text())


@pytest.mark.parametrize("ties", ["optimistic", "realistic", "pessimistic"])
@pytest.mark.parametrize("side", ["head", "tail", "both"])
def test_published_metrics_are_met(published, side, ties):
    table, expected = published
    summary = summarize(table, list(NAMES), ties=ties)
    found = {name: summary[f"{side}.{name}"] for name in NAMES}
    # They were computed in float32.
    assert found == pytest.approx({name: expected[side][ties][theirs] for name, theirs in NAMES.items()}, abs=1e-6)


@pytest.fixture(scope="module")
def umls(shared):
    return load_dataset(shared / "checkpoints/pykeen/_data/umls")


@pytest.mark.parametrize("variant", UMLS)
def test_every_rank_is_the_one_that_pykeen_gave(shared, umls, variant):
    folder = shared / "checkpoints/pykeen" / f"umls-{variant}"
    frame = evaluate(load_checkpoint(folder, dataset=umls), umls).to_pandas()
    keys = zip(frame.head_label, frame.relation_label, frame.tail_label, frame.side, strict=True)
    raw = 1 + frame.raw_greater + frame.raw_tied / 2
    filtered = 1 + frame.greater + frame.tied / 2
    found = dict(zip(keys, zip(raw, filtered, strict=True), strict=True))
    with (folder / "expected_ranks.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t")
        assert next(rows) == ["head", "relation", "tail", "side", "raw_rank", "filtered_rank"]
        expected = {(*key,): (float(raw_rank), float(rank)) for *key, raw_rank, rank in rows}
    assert len(expected) == 2 * len(umls.test)
    assert found == expected


@pytest.mark.parametrize("variant", UMLS)
def test_reading_tells_what_was_read(shared, variant):
    folder = shared / "checkpoints/pykeen" / f"umls-{variant}"
    described = load_checkpoint(folder).describe()
    expected = json.loads((folder / "expected.json").read_text())
    assert described["model"] == expected["model"]
    assert described["reciprocal"] == (variant in RECIPROCAL)
    assert (described["entities"], described["relations"]) == (135, 46)
    assert described["labels"] == {"entities": True, "relations": True}
    names = [path.rpartition("/")[2] for path in described["files"]]
    assert names == ["trained_model.pkl", "entity_to_id.tsv.gz", "relation_to_id.tsv.gz"]
