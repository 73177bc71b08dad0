"""Files of triples and of labels in options and configurations: what a run keeps of them, and when it is redone."""

from __future__ import annotations

import hashlib
import json

import pytest

from kgeval import RankTable
from tests.cli.conftest import CONFIG, invoke, write_config
from tests.cli.test_cli_numbers import CHECKPOINT


@pytest.fixture
def more(place):
    """A file of two triples of the graph's test split."""
    lines = (place / "graph" / "test.txt").read_text().splitlines()[:2]
    (place / "more.tsv").write_text("\n".join(lines) + "\n")
    return place / "more.tsv"


def test_a_run_of_own_triples_names_the_file_and_its_digest(place, more, done, data):
    found = data("evaluate", *CHECKPOINT, "--triples", "more.tsv", "--filter", "train,more.tsv", "--out", "own")
    assert RankTable.from_parquet(place / "own" / "ranks.parquet").split == "more.tsv"
    manifest = json.loads((place / "own" / "manifest.json").read_text())
    assert hashlib.sha256(more.read_bytes()).hexdigest() in json.dumps(manifest)
    assert "more.tsv" in json.dumps(found)
    assert "cardinality" in done("summarize", "own", "--by", "cardinality", "--metric", "mrr")
    result = invoke("compare", "run", "own")
    assert result.exit_code == 2
    assert "split" in result.output


def test_a_changed_file_is_ranked_again(place, more, done):
    write_config(
        place / "own.yaml", {**CONFIG, "evaluation": {"split": "more.tsv", "restrict_entities_to": "some.txt"}}
    )
    labels = {cell for line in more.read_text().splitlines() for cell in line.split("\t")[::2]}
    (place / "some.txt").write_text("\n".join(sorted(labels)) + "\n")
    done("run", "own.yaml", "--out", "own")
    first = (place / "own" / "manifest.json").read_bytes()
    done("run", "own.yaml", "--out", "own")
    assert (place / "own" / "manifest.json").read_bytes() == first
    more.write_text(more.read_text().splitlines()[0] + "\n")
    again = invoke("run", "own.yaml", "--out", "own")
    assert "more.tsv" in again.output or RankTable.from_parquet(place / "own" / "ranks.parquet").num_triples == 1


def test_what_is_missing_is_refused_with_its_option(place):
    for option in ("--triples", "--filter", "--restrict-entities-to"):
        result = invoke("evaluate", *CHECKPOINT, option, "none.tsv")
        assert result.exit_code == 2
        assert "none.tsv" in result.output
