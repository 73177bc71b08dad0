"""``kgeval summarize``: everything from the stored ranks."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgeval import RankTable, summarize
from kgeval.base.files import sha256_of_file
from kgeval.base.settings import descriptions
from kgeval.metrics.metric import metrics
from kgeval.metrics.ranks.ties import tie_policies
from kgeval.runs.config.metric_request import MetricRequest
from tests.cli.conftest import CONFIG, RELATIONS, invoke, write_config


@pytest.fixture
def table(place):
    return RankTable.from_parquet(place / "run/ranks.parquet")


def test_the_file_of_ranks_is_enough(data):
    assert data("summarize", "run/ranks.parquet") == data("summarize", "run")


def test_every_metric_of_ranks_and_lists_comes_from_the_stored_ranks(data, table):
    names = [metric.spellings()[0].replace("{k}", "3") for metric in metrics().values()]
    arguments = [part for name in names for part in ("-m", name)]
    assert data("summarize", "run", *arguments) == summarize(table, names).to_dict()


ASKED = {
    "metrics": ["mrr", "strat.mrr", "z-mrr", "ndcg@3"], "ties": "random", "seed": 3, "chance": "without-answer",
    "popularity": [0.5, 0],
}  # fmt: skip


def test_what_is_not_said_is_as_the_run_was_asked(data, place):
    write_config(place / "asked.yaml", {**CONFIG, **ASKED})
    told = data("run", "asked.yaml", "--out", "asked")
    assert (told["seed"], told["chance"], told["popularity"]) == (3, "without-answer", [0.5, 0.0])
    assert data("summarize", "asked") == told
    assert data("run", "asked/config.yaml", "--out", "again") == told
    table = RankTable.from_parquet(place / "asked/ranks.parquet")
    options = {**ASKED, "seed": 4, "popularity": (0, 2)}
    assert data("summarize", "asked", "--seed", "4", "--popularity", "0", "2") == summarize(table, **options).to_dict()
    usual = {"ties": "realistic", "chance": "exact"}
    told = data("summarize", "asked", "--ties", "realistic", "--chance", "exact", "-m", "z-mr")
    assert told == summarize(table, ["z-mr"], **usual).to_dict()


def write_manifest(run):
    """The manifest of a run that wrote the ranks that are there now, and nothing else."""
    written = {"ranks.parquet": sha256_of_file(run / "ranks.parquet")}
    (run / "manifest.json").write_text(json.dumps({"written": written}))


def test_the_head_of_runs_on_several_datasets_names_these(done, place, table):
    for dataset in ("one", "other"):
        shutil.copytree("run", f"several/{dataset}")
        replace(table, dataset=dataset).to_parquet(place / f"several/{dataset}/ranks.parquet")
        write_manifest(place / f"several/{dataset}")
    assert done("summarize", "several", "-m", "mrr").startswith("2 models on one and other, ")


@pytest.mark.parametrize(
    ("dataset", "note"),
    [
        ("other", "different datasets (graph, other), so their metrics cannot be compared."),
        ("graph", "different triples (one 6, other 5), so their metrics cannot be compared. Set evaluation.unseen to"),
    ],
)
def test_other_triples_are_noted_and_other_datasets_called_so(data, place, table, dataset, note):
    for name, part in (("one", table), ("other", replace(table.where(table.column("triple") < 5), dataset=dataset))):
        shutil.copytree("run", f"several/{name}")
        part.to_parquet(place / f"several/{name}/ranks.parquet")
        write_manifest(place / f"several/{name}")
    (told,) = (one for one in data("summarize", "several", "-m", "mrr")["notes"] if "cannot be compared" in one)
    assert told.startswith(f"these models were evaluated on {note}")


@pytest.mark.parametrize("stored", ["late", "late/ranks.parquet"])
def test_ties_are_by_default_those_of_the_protocol(data, done, stored):
    done("run", "config.yaml", "--set", "protocol=torchkge", "--out", "late")
    assert data("summarize", stored, "-m", "mrr")["ties"] == "pessimistic"
    assert data("summarize", stored, "-m", "mrr", "--ties", "optimistic")["ties"] == "optimistic"


def test_a_table_alone_is_read_as_usual(data, place, done):
    """PyKEEN's evaluator writes another kind of configuration; a killed run writes none."""
    told = data("summarize", "run/ranks.parquet")
    kinds = ["runs", *told["note_kinds"]]
    altered = {
        **told,
        "notes": ["'run' changed since the run was written: config.yaml.", *told["notes"]],
        "note_kinds": kinds,
    }
    (place / "run/config.yaml").write_text("evaluator: kgeval\nevaluation: {}\n")
    assert data("summarize", "run") == altered
    (place / "run/config.yaml").unlink()
    altered["notes"][0] = "'run' changed since the run was written: config.yaml is missing."
    assert data("summarize", "run") == altered


@pytest.mark.parametrize("content", ["[", "7", "", "metrics: [7]", "popularity: [1]", "\0"])
def test_a_damaged_configuration_is_refused(refused, place, content):
    (place / "run/config.yaml").write_text(content)
    message = refused("summarize", "run")
    assert "run/config.yaml: not the configuration of a run" in message
    assert "NoneType" not in message


def test_what_a_configuration_names_and_nobody_has_is_a_note(data, place, table):
    (place / "run/config.yaml").write_text("metrics: [mrr, mmr, mr]\nties: thirds\nby: [whole]\n")
    told = data("summarize", "run")
    without = {"notes": [], "note_kinds": []}
    assert told | without == summarize(table, ["mrr", "mr"], ties="realistic").to_dict() | without
    assert told["notes"][0] == (
        "unknown here: the tie policy 'thirds'. 'realistic' is used instead; the numbers under 'thirds' are in the "
        "run's metrics.json. Install the package that has it."
    )
    for what in ("metric 'mmr'", "slice 'whole'"):
        assert f"unknown here, and left out: the {what}. Install the package that has it." in told["notes"]
    replaced = data("summarize", "run", "-m", "mr", "--by", "side", "--ties", "optimistic")["notes"]
    assert not any("unknown here" in note for note in replaced)


@pytest.mark.parametrize(
    "chosen", [*({"ties": ties} for ties in tie_policies()), {"ties": "random", "seed": 5}], ids=str
)
def test_ties_can_be_chosen(data, table, chosen):
    options = (part for name, value in chosen.items() for part in (f"--{name}", value))
    assert data("summarize", "run", *options) == summarize(table, **chosen).to_dict()


def test_every_tie_policy_is_offered():
    words = descriptions(MetricRequest)["ties"].partition(":")[2].partition(".")[0]
    assert re.findall(r"[a-z-]+", words) == list(tie_policies())


def test_groups_are_those_of_the_library(data, table):
    grouped = data("summarize", "run", "--by", "relation", "-m", "mrr")
    assert grouped == summarize(table, ["mrr"], by=["relation"]).to_dict()
    assert [group["key"] for group in grouped["groups"]] == [{"relation": label} for label in RELATIONS]


def test_a_column_that_was_added_to_the_ranks_groups_them(data, place, table):
    topics = ["odd" if row % 2 else "even" for row in range(len(table))]
    pq.write_table(table.data.append_column("topic", pa.array(topics)), place / "topics.parquet")
    groups = data("summarize", "topics.parquet", "--by", "topic", "-m", "mrr")["groups"]
    assert [group["key"] for group in groups] == [{"topic": "even"}, {"topic": "odd"}]
    for group, topic in zip(groups, ("even", "odd"), strict=True):
        alone = summarize(table.where(np.array(topics) == topic), ["mrr"])
        assert group["metrics"]["both"]["mrr"] == alone["mrr"]


def test_what_is_no_table_is_refused(refused):
    assert "not a readable rank table" in refused("summarize", "run/metrics.json")


@pytest.mark.parametrize("command", ["summarize", "compare", "report"])
def test_a_configuration_is_to_be_run_first(refused, place, command):
    (place / "mix.yaml").write_text((place / "config.yaml").read_text())
    said = refused(command, "mix.yaml")
    assert "is a configuration. Run it: kgeval run mix.yaml, then give its output folder." in said


# Tables that nobody evaluated


@pytest.fixture
def altered(place):
    """Write a table with one column replaced; return its path."""

    def write(name, values):
        table = pq.read_table(place / "run/ranks.parquet")
        column = values if isinstance(values, pa.Array) else pa.array([values] * len(table))
        pq.write_table(table.set_column(table.column_names.index(name), name, column), place / "altered.parquet")
        return place / "altered.parquet"

    return write


COUNTS = ["greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates"]
STRANGE = [0.5, float("nan"), "many", [1], {"x": 1}, b"\xff"]
IMPOSSIBLE = [
    *((name, -1) for name in COUNTS),
    *((name, 100) for name in COUNTS if "candidates" not in name),
    *((name, pa.array([None] * 12, pa.int64())) for name in ["triple", "head", "relation", "tail", *COUNTS]),
    *((name, value) for name in ("greater", "candidates") for value in STRANGE),
    ("side", pa.array([None] * 12, pa.string())),
    ("side", "middle"),
]


@pytest.mark.parametrize(("name", "values"), IMPOSSIBLE, ids=str)
def test_columns_that_no_ranking_gives_are_refused(refused, altered, name, values):
    refused("summarize", altered(name, values))


@pytest.mark.parametrize("name", ["triple", "side", "greater", "tied", "candidates", "relation_label"])
def test_a_missing_column_is_named(refused, place, name):
    pq.write_table(pq.read_table("run/ranks.parquet").drop_columns([name]), "altered.parquet")
    assert f"needs the column '{name}'" in refused("summarize", "altered.parquet")


def test_a_column_that_is_there_twice_is_refused(refused, place):
    table = pq.read_table("run/ranks.parquet")
    twice = pa.Table.from_arrays([*table.columns, table["tied"]], names=[*table.column_names, "tied"])
    pq.write_table(twice, "altered.parquet")
    refused("summarize", "altered.parquet")


@pytest.mark.parametrize("about", [b"[]", b"5", b"null", b'"x"', b"{", b"\xff", b'{"notes": 5}', b'{"notes": "abc"}'])
def test_metadata_that_kgeval_never_wrote_are_refused(refused, place, about):
    table = pq.read_table("run/ranks.parquet").replace_schema_metadata({"kgeval": about})
    pq.write_table(table, "altered.parquet")
    refused("summarize", "altered.parquet")


def test_a_file_cut_short_anywhere_is_refused(refused, place):
    whole = (place / "run/ranks.parquet").read_bytes()
    for length in range(0, len(whole), len(whole) // 40):
        (place / "cut.parquet").write_bytes(whole[:length])
        refused("summarize", "cut.parquet")


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), float("inf")])
def test_scores_that_are_no_number_can_still_group(data, altered, value):
    """--nan worst and --unseen worst put minus infinity there."""
    groups = data("summarize", altered("score", value), "--by", "score", "-m", "count")["groups"]
    assert len(groups) == 1


def test_a_table_without_rows_has_no_metrics(data, done, place):
    pq.write_table(pq.read_table("run/ranks.parquet").slice(0, 0), "empty.parquet")
    assert data("summarize", "empty.parquet", "-m", "mrr")["metrics"]["both"] == {"mrr": None}
    assert "undefined" in done("summarize", "empty.parquet", "-m", "mrr")


@pytest.mark.parametrize("metric", ["amri", "amr", "mr", "hits@3"])
def test_what_is_undefined_is_said_with_its_reason(place, metric):
    pq.write_table(pq.read_table("run/ranks.parquet").slice(0, 0), "empty.parquet")
    result = invoke("summarize", "empty.parquet", "-m", metric)
    assert result.exit_code == 0
    assert f"Note: both.{metric} is undefined: there are no ranks." in result.stderr


def test_counts_are_whole_numbers(done, data, place):
    """Also a count of one, which no other number of a table is printed like."""
    pq.write_table(pq.read_table("run/ranks.parquet").slice(0, 1), "one.parquet")
    assert done("summarize", "one.parquet", "-m", "count").split()[-2:] == ["count", "1"]
    assert done("summarize", "one.parquet", "-m", "count", "--by", "relation").split()[-1] == "1"
    assert '"count": 1\n' in done("summarize", "one.parquet", "-m", "count", "--json")
    assert isinstance(data("summarize", "run")["metrics"]["both"]["count"], int)


def test_raw_ranks_of_a_stored_run_with_its_dataset_for_slices(data, refused, table):
    told = data("summarize", "run", "--filter", "none", "--dataset", "graph", "--by", "cardinality")
    (group,) = told["groups"]
    assert group["metrics"]["both"] == summarize(table.raw()).to_dict()["metrics"]["both"]
    message = refused("summarize", "run", "--filter", "train", "--dataset", "graph", "--by", "cardinality")
    assert "the stored ranks are filtered by train, valid, test" in message
