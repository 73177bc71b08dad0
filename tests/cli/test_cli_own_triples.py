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


def test_an_option_restricts_to_a_label_or_to_the_labels_of_a_file(place, done, more):
    relation = more.read_text().split("\t")[1]
    (place / "some.txt").write_text(f"{relation}\n")
    for named in (relation, "some.txt"):
        done("evaluate", *CHECKPOINT, "--restrict-relations-to", named, "--out", named + ".run")
    one, other = (RankTable.from_parquet(place / f"{it}.run/ranks.parquet") for it in (relation, "some.txt"))
    assert {*one.column("relation_label")} == {relation}
    assert one.to_pandas().equals(other.to_pandas())
    refused = invoke("evaluate", *CHECKPOINT, "--restrict-relations-to", "CtD")
    assert refused.exit_code == 2
    assert "no such file 'CtD', and no relation of the dataset" in " ".join(refused.output.split())
    assert "function-after" not in refused.output


def test_what_is_missing_is_refused_with_its_option(place):
    for option in ("--triples", "--filter", "--restrict-entities-to"):
        result = invoke("evaluate", *CHECKPOINT, option, "none.tsv")
        assert result.exit_code == 2
        assert "none.tsv" in result.output
