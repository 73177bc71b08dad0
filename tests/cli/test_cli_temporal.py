"""Temporal graphs from the command line and from configurations: which facts are known, and the groups by time."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import RankTable
from tests.cli.conftest import ENTITIES, RELATIONS, invoke, write_config, write_model
from tests.data.folders import write

DAYS = ["2014-01-01", "2014-01-02", "2014-01-03"]
EVALUATE = ["evaluate", "timed", "--dataset", "dated/", "--option", "model=TComplEx"]


@pytest.fixture
def dated(place):
    """A temporal graph, and a model of it."""
    pairs = [(h, r, day) for h in range(8) for r in range(3) for day in range(3)]
    rows = [(h, r, (3 * h + r + day + more) % 8, day) for h, r, day in pairs for more in range(2)]
    facts = [(ENTITIES[h], RELATIONS[r], ENTITIES[t], DAYS[day]) for h, r, t, day in rows]
    write(place / "dated", {"train": facts[::2], "test": facts[1::2]})
    write_model(place / "timed", time=np.random.default_rng(1).normal(size=(3, 4)))
    return place


def test_the_filters_are_words_of_the_command_line(dated):
    said = {
        name: json.loads(invoke(*EVALUATE, "--json", *words).stdout)
        for name, words in (("raw", ("--filter", "none")), ("static", ("--times", "static")), ("time-aware", ()))
    }
    mrr = {name: result["metrics"]["both"]["mrr"] for name, result in said.items()}
    assert mrr["raw"] < mrr["time-aware"] < mrr["static"]
    assert [said[name]["provenance"]["times"] for name in said] == ["time-aware", "static", "time-aware"]
    assert "filtered by train, test (static)" in invoke(*EVALUATE, "--times", "static").stdout


def test_one_run_of_regcn_has_three_filters(dated):
    result = json.loads(invoke(*EVALUATE, "--json", "--protocol", "regcn", "--out", "three").stdout)
    said = result["protocol"]["metrics"]
    assert said["MRR (raw_ent)"] <= said["MRR (filter_ent)"] < said["MRR (static_ent)"]
    assert "MRR (static_ent)" in invoke(*EVALUATE, "--protocol", "regcn").stdout
    views = {"raw_ent": ("--filter", "none"), "filter_ent": (), "static_ent": ("--times", "static")}
    for name, words in views.items():
        summary = json.loads(invoke("summarize", "three", "-m", "mrr", "--json", *words).stdout)
        assert summary["metrics"]["both"]["mrr"] == pytest.approx(said[f"MRR ({name})"], rel=1e-6)
    invoke(*EVALUATE, "--times", "static", "--out", "static")
    words = ("compare", "three", "static", "--times", "static", "--allow", "protocol")
    assert "the same ranks in every row" in " ".join(invoke(*words).output.split())
    invoke(*EVALUATE, "--out", "aware")
    refused = invoke("summarize", "aware", "--times", "static")
    assert (refused.exit_code, "with the protocol regcn" in refused.stderr) == (2, True)


def test_a_run_keeps_the_times_and_groups_by_them(dated):
    model = {"path": "timed", "options": {"model": "TComplEx"}}
    content = {"dataset": "./dated", "model": model, "evaluation": {"times": "static"}, "by": ["time"]}
    write_config(dated / "timed.yaml", content)
    assert invoke("run", "timed.yaml", "--out", "run-timed").exit_code == 0
    table = RankTable.from_parquet("run-timed")
    assert (table.times, sorted(set(table.column("time")))) == ("static", DAYS)
    groups = json.loads((dated / "run-timed/metrics.json").read_text())["groups"]
    assert [group["key"]["time"] for group in groups] == DAYS
    assert "--times" not in invoke("summarize", "run-timed", "--by", "seen-time").output
    invoke(*EVALUATE, "--out", "run-same")
    refused = invoke("compare", "run-timed", "run-same")
    assert refused.exit_code == 2
    assert "times" in refused.stderr


def test_queries_are_asked_at_a_time(dated):
    words = ["predict", "timed", "--dataset", "dated/", "--option", "model=TComplEx", "-k", "2", "--json"]
    said = json.loads(invoke(*words, "--query", ENTITIES[0], RELATIONS[0], "?", "--at", DAYS[1]).stdout)
    (query,) = said["queries"]
    assert {row["time"] for row in query["predictions"]} == {DAYS[1]}
    (dated / "queries.tsv").write_text(f"{ENTITIES[0]}\t{RELATIONS[0]}\t?\t{DAYS[1]}\n")
    assert json.loads(invoke(*words, "--queries", "queries.tsv").stdout)["queries"] == said["queries"]
    assert "at 2014-01-02" in invoke(*words[:-1], "--query", ENTITIES[0], RELATIONS[0], "?", "--at", DAYS[1]).stdout


def test_the_history_is_a_word_of_the_command_line(dated):
    """Of a run that is kept and evaluated again, of a configuration, of predictions and of files of ranks."""
    words = ("--dataset", "dated/", "--history", "observed")
    head = invoke("evaluate", "baseline:frequency", *words, "--out", "kept").stdout
    assert "(time-aware), history: observed, candidates" in head
    assert RankTable.from_parquet("kept").history == "observed"
    assert "history: observed" in invoke("summarize", "kept", "--by", "last-time").stdout
    again = json.loads(invoke("evaluate", "kept", "--history", "train", "--json").stdout)["provenance"]
    assert again["history"] == "train"
    assert "history: observed" in invoke(*EVALUATE, "--history", "observed").stdout
    baseline = {"baseline": "combined-recurrency", "alpha": 0.5, "decay": 0.1}
    write_config(dated / "back.yaml", {"dataset": "./dated", "model": baseline, "evaluation": {"history": "observed"}})
    assert "history: observed" in invoke("run", "back.yaml", "--out", "run-back").stdout
    assert ", history: observed" in invoke("predict", "baseline:recurrency", *words, "-k", "1").stdout
    (dated / "ranks.tsv").write_text(
        "head\trelation\ttail\ttime\ttail_rank\n" + "\t".join([*first_fact(dated), "1"]) + "\n"
    )
    assert "history: observed" in invoke("summarize", "ranks.tsv", *words).stdout
    refused = invoke("evaluate", "baseline:popularity", "--dataset", "nations", "--history", "train")
    assert refused.exit_code == 2
    assert "--history" in refused.stderr


def test_a_file_of_ranks_has_its_times_whatever_its_filter(dated):
    """Averages, intervals, slices, comparisons and pictures by time, without a word on the filter, as with one."""
    invoke(*EVALUATE, "--out", "kept")
    frame = RankTable.from_parquet("kept").data.to_pandas()
    names = {"head_label": "head", "relation_label": "relation", "tail_label": "tail"}
    ranks = 1 + frame["greater"] + frame["tied"] / 2
    frame = frame[[*names, "time", "side"]].rename(columns=names).assign(filtered_rank=ranks)
    for name in ("a.csv", "b.csv"):
        frame.to_csv(name, index=False)
    of_file, metrics = ("a.csv", "--dataset", "dated/"), ("-m", "mrr,time.mrr,macro.mrr", "--ties", "realistic")
    by_time = [
        json.loads(invoke("summarize", *words, *metrics, "--by", "period:2", "--json").stdout)["groups"]
        for words in (of_file, ("kept",))
    ]
    assert [group["metrics"] for group in by_time[0]] == [group["metrics"] for group in by_time[1]]
    compared = invoke("compare", *of_file, "b.csv", "-m", "mrr", "--intervals", "time")
    assert "3 times" in compared.output
    assert invoke("plot", *of_file, "--kind", "times", "--out", "times.svg").exit_code == 0
    refused = invoke("summarize", *of_file, "--columns", "time=side,side=time").stderr
    assert " at time " in refused


def first_fact(folder):
    return (folder / "dated/test.txt").read_text().splitlines()[0].split("\t")
