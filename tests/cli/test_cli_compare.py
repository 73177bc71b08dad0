"""``kgeval compare``: runs, folders of models, files of ranks; what is told of each pair, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from kgeval import RankTable, compare, evaluate, summarize
from kgeval.runs.outcome import Outcome, with_common_ties
from tests.cli.conftest import CONFIG, SPLITS, invoke, spelled, write_config
from tests.conftest import random_dataset
from tests.data.folders import lines

BIG = random_dataset(5, entities=20, relations=8, triples=900)


@pytest.fixture
def tables(place):
    """Two files of ranks of some hundred triples."""
    scores = {"sines": lambda h, r, t: np.sin(h * 31 + r * 7 + t * 3), "sums": lambda h, r, t: (h + 3 * r + t) % 11}
    made = {name: evaluate(score, BIG) for name, score in scores.items()}
    for name, table in made.items():
        table.to_parquet(place / f"{name}.parquet")
    return made


def test_numbers_are_those_of_python(data, tables):
    told = data("compare", "sines.parquet", "sums.parquet", "-m", "mrr,mr", "--by", "side", "--draws", "500")
    expected = compare(tables, ["mrr", "mr"], by="side", draws=500).to_dict()
    assert told == json.loads(json.dumps(expected))


def test_groups_are_kept_in_tables(done, tables):
    """A row for each side and model, with the values of the rows of that side."""
    call = ("compare", "sines.parquet", "sums.parquet", "-m", "mrr", "--draws", "99", "--by", "side", "--format")
    for name, table in tables.items():
        for side in ("head", "tail"):
            value = summarize(table, f"{side}.mrr")[f"{side}.mrr"]
            assert f"{side},{name},{value!r}" in done(*call, "csv").splitlines()
            row = rf">{side}</bdi></th><th[^>]*><bdi[^>]*>{name}</bdi></th><td[^>]*>{value:.6f}<"
            assert re.search(row, done(*call, "html"))
    assert "sign flips" not in invoke(*call, "latex").stderr


def test_options_are_those_of_python(data, tables):
    options = ("--intervals", "query", "--level", "0.9", "--seed", "3", "--ties", "expected", "--reference", "new")
    told = data("compare", "new=sines.parquet", "old=sums.parquet", "-m", "mrr", *options)
    renamed = {"new": tables["sines"], "old": tables["sums"]}
    expected = compare(renamed, ["mrr"], intervals="query", level=0.9, seed=3, ties="expected", reference="new")
    assert told == json.loads(json.dumps(expected.to_dict()))
    (pair,) = told["differences"]["pairs"]
    assert (pair["model"], pair["other"]) == ("old", "new")


def test_a_folder_of_several_models(data, place):
    other = {"path": "model", "options": {"model": "TransE", "norm": 2}}
    write_config(place / "two.yaml", {"dataset": "./graph", "models": {"one": CONFIG["model"], "two": other}})
    invoke("run", "two.yaml", "--out", "two")
    told = data("compare", "two", "-m", "mrr")
    assert names_in(told) == ["one", "two"]
    (pair,) = told["differences"]["pairs"]
    assert pair["verdict"] == "not tested: only 6 triples; a test needs at least 20"
    with_another = data("compare", "two", "run", "-m", "mrr")
    assert names_in(with_another) == ["one", "two", "run"]
    assert names_in(data("compare", "a=two", "run", "-m", "mrr")) == ["a/one", "a/two", "run"]


def test_runs_of_one_name_are_told_apart_by_their_folders(data, place):
    for folder in ("first", "second"):
        shutil.copytree("run", place / folder / "run")
    assert names_in(data("compare", "first/run", "second/run/ranks.parquet")) == ["first/run", "second/run"]


def test_ranks_from_elsewhere_take_part(data, place):
    for name, step in (("up", 3), ("down", 2)):
        ranked = [(*triple, n % step + 1, 1) for n, triple in enumerate(spelled(SPLITS["test"]))]
        (place / f"{name}.txt").write_text(lines(ranked))
    options = ("--dataset", "graph", "--columns", "h,r,t,frank_left,frank_right", "-m", "mrr")
    told = data("compare", "up.txt", "down.txt", "run", *options)
    assert names_in(told) == ["up", "down", "run"]
    (pair, *_) = told["differences"]["pairs"]
    assert pair["difference"] == pytest.approx(np.mean([1, 1 / 2, 1 / 3]) / 2 - np.mean([1, 1 / 2]) / 2)


def test_rows_that_one_model_lacks(refused, data, tables, place):
    table = tables["sums"]
    table.where(table.column("triple") % 7 > 0).to_parquet(place / "part.parquet")
    assert "triples: the models rank different triples" in refused("compare", "part.parquet", "sines.parquet")
    told = data("compare", "part.parquet", "sines.parquet", "--allow", "triples", "-m", "mrr")
    assert told["notes"][0].startswith("compared on the ")
    assert told["differences"]["pairs"][0]["rows"] == len(RankTable.from_parquet(place / "part.parquet"))


def test_the_head_says_what_models_share_and_columns_what_differs(done, tables, place):
    replace(tables["sums"], filter=("train",)).to_parquet(place / "other.parquet")
    head, *lines = done("compare", "sines.parquet", "other.parquet", "--allow", "filter", "-m", "mrr").splitlines()
    shared = "protocol standard, candidates: all 20 entities"
    assert head == f"2 models on random, {tables['sums'].num_triples} test triples, {shared}, ties: realistic"
    assert lines[1].split() == ["model", "filter", "mrr"]


def test_runs_with_other_tie_policies_have_one_in_a_table(data, place):
    write_config(place / "other.yaml", {**CONFIG, "ties": "pessimistic"})
    invoke("run", "other.yaml", "--out", "other")
    told = data("compare", "run", "other")
    assert told["ties"] == "expected"
    ranks = RankTable.from_parquet("run/ranks.parquet")
    assert values_in(told)["run", "mrr"] == summarize(ranks, "mrr", ties="expected")["mrr"]
    assert "different tie policies (realistic, pessimistic): all numbers here use the tie policy 'expected'" in notes(
        "run", "other"
    )
    assert data("compare", "run", "other", "--ties", "pessimistic")["ties"] == "pessimistic"


def test_runs_with_intervals_of_their_own(data, place):
    for name, unit in (("one", "triple"), ("two", "relation")):
        write_config(place / f"{name}.yaml", {**CONFIG, "intervals": {"unit": unit}})
        invoke("run", f"{name}.yaml", "--out", name)
    told = data("compare", "one", "two", "run", "-m", "mrr")
    assert names_in(told) == ["one", "two", "run"]
    assert len(told["differences"]["pairs"]) == 3


def test_models_take_the_ties_of_baselines_beside_them(data, done, place):
    write_config(
        place / "two.yaml", {"dataset": "./graph", "models": {"m": CONFIG["model"], "b": "baseline:symmetric"}}
    )
    shown = invoke("run", "two.yaml", "--out", "two")
    told = data("compare", "two", "-m", "mrr")
    assert told["ties"] == "expected"
    expected = summarize(RankTable.from_parquet("two/b/ranks.parquet"), "mrr", ties="expected")["mrr"]
    assert values_in(told)["b", "mrr"] == expected
    assert "all numbers here use the tie policy 'expected'. --ties sets another." in notes("two")
    assert "all numbers here" not in notes("two", "--ties", "realistic")
    # The same numbers, and the same words above them, wherever the models stand in one table.
    column = [f"{values_in(told)[model, 'mrr']:.6f}" for model in "mb"]
    for text in (shown.stdout, done("summarize", "two", "-m", "mrr"), done("compare", "two", "-m", "mrr")):
        assert [line.split()[1] for line in text.splitlines() if line[:2] in ("m ", "b ")][:2] == column
        assert ", ties: expected\n" in text
    assert ", ties: expected" in done("compare", "two", "-m", "mrr", "--format", "latex")
    stored = json.loads((place / "two/metrics.json").read_text())["models"]
    assert stored == data("summarize", "two")["models"]
    assert {model["ties"] for model in stored.values()} == {"expected"}
    # A run by itself keeps its own.
    assert data("summarize", "two/m")["ties"] == "realistic"
    assert ", ties: realistic\n" in done("summarize", "two/m")
    assert ", ties: realistic\n" in done("summarize", "two", "--ties", "realistic")


def names_in(comparison):
    """The models of a comparison, in its order."""
    return list(dict.fromkeys(record["model"] for record in comparison["values"]))


def values_in(comparison):
    return {(record["model"], record["metric"]): record["value"] for record in comparison["values"]}


def notes(*arguments):
    return " ".join(invoke("compare", *arguments, "-m", "mrr").stderr.split())


def test_what_is_missing_or_changed_is_said(place):
    models = {"a": CONFIG["model"], "b": "baseline:random", "c": "baseline:types"}
    write_config(place / "three.yaml", {"dataset": "./graph", "models": models})
    invoke("run", "three.yaml", "--out", "three")
    assert "not compared" not in notes("three")
    (place / "three/c/config.yaml").open("a").write("# mine\n")
    assert "'three/c' changed since the run was written: config.yaml." in notes("three")
    common = json.loads((place / "three/metrics.json").read_text())
    del common["models"]["c"]
    (place / "three/metrics.json").write_text(json.dumps({**common, "unfinished": ["c"]}))
    (place / "three/c/manifest.json").unlink()
    assert "left out of 'three': c (manifest.json is missing)." in notes("three")


def test_slices_of_a_dataset_that_is_gone(refused, place):
    shutil.copytree("run", "other")
    shutil.move("graph", "moved")
    message = " ".join(refused("compare", "run", "other", "--by", "leak").split())
    assert "slices need it. Add --dataset DATASET. no such folder" in message
    assert "validation error" not in message


def write_grid(place, models):
    """Ranks of models on three datasets; {model: how its scores come about}."""
    for seed in (1, 2, 3):
        graph = replace(random_dataset(seed), name=f"graph-{seed}")
        (place / f"graph-{seed}").mkdir()
        for model, factor in models.items():
            table = evaluate(lambda h, r, t: np.sin(factor * h + 7 * r + 3 * t), graph)  # noqa: B023
            table.to_parquet(place / f"graph-{seed}" / f"{model}.parquet")
    return [f"graph-{seed}/{model}.parquet" for seed in (1, 2, 3) for model in models]


def test_ranks_over_datasets_say_what_a_comparison_says_of_its_runs(data, done):
    """Of several tie policies one is chosen, which they did not say."""
    for graph in ("nations", "umls"):
        for name, ties in {"popularity": "expected", "types": "pessimistic", "inverse": "expected"}.items():
            of_run = ("--dataset", graph, "-m", "mrr", "--ties", ties, "--out", f"runs/{graph}/{name}")
            done("evaluate", f"baseline:{name}", *of_run)
    for across in ((), ("--across-datasets",)):
        told = invoke("compare", "runs", "-m", "mrr", *across).stderr
        assert "the runs have different tie policies (expected, pessimistic)" in told
    (content,) = data("compare", "runs", "-m", "mrr", "--across-datasets").values()
    assert content["note_kinds"] == ["terms", "tests", "tests", "ties"]


def test_several_datasets(data, done, refused, place):
    files = write_grid(place, {"a": 1, "b": 2, "c": 5})
    told = data("compare", "--across-datasets", *files, "-m", "mrr,mr")
    graphs = [f"graph-{seed}" for seed in (1, 2, 3)]
    tables = {(graph, model): RankTable.from_parquet(f"{graph}/{model}.parquet") for graph in graphs for model in "abc"}
    means = {key: summarize(table, ["mr"])["mr"] for key, table in tables.items()}
    assert told["mr"]["values"] == {model: {graph: means[graph, model] for graph in graphs} for model in "abc"}
    expected = np.array([rankdata([means[graph, model] for model in "abc"]) for graph in graphs]).mean(0)
    assert list(told["mr"]["average_ranks"].values()) == expected.tolist()
    assert list(told) == ["mrr", "mr"]
    printed = done("compare", "--across-datasets", *files, "-m", "mrr,mr")
    assert all(f"{rank:.3f}" in printed for rank in expected)
    assert printed.split()[:3] == ["mrr", "average", "rank"]
    assert all(f"{graph}  " in printed for graph in graphs)
    assert "mr (secondary)  " in printed
    assert "c: no value on graph-3" in refused("compare", "--across-datasets", *files[:-1])
    twice = refused("compare", "--across-datasets", files[0], f"a={files[1]}", files[3])
    assert "two models are called 'a'" in twice
    assert "count says nothing about which model is better" in refused(
        "compare", "--across-datasets", *files, "-m", "count"
    )
    for idle in (("--by", "side"), ("--margin", ".1")):  # they were ignored
        told = refused("compare", "--across-datasets", *files, *idle)
        assert f"{idle[0]} has no effect on --across-datasets" in told
    grid = data("compare", *files, "-m", "mr")
    found = {(record["dataset"], record["model"]): record["value"] for record in grid["values"]}
    assert found == means
    allowed = data("compare", *files, "-m", "mr", "--allow", "triples,dataset")
    assert any("dataset: graph-1 in graph-1/a" in note for note in allowed["notes"])


def test_runs_of_one_name_are_seeds_of_one_model(data, done, refused, place):
    """Means by hand; in the shell, a pattern behind ``NAME=`` is not expanded."""
    graph = random_dataset(1)
    for name, factors in {"a": (1, 2, 3), "b": (5, 6, 8)}.items():
        for seed, factor in enumerate(factors):
            table = evaluate(lambda h, r, t: np.sin(factor * h + 7 * r + 3 * t), graph)  # noqa: B023
            table.to_parquet(place / f"seeds-{name}-{seed}.parquet")
    runs = ["a=seeds-a-*", "b=seeds-b-*"]
    records = {record["model"]: record for record in data("compare", *runs, "-m", "mrr")["values"]}
    for name in "ab":
        tables = [RankTable.from_parquet(f"seeds-{name}-{seed}.parquet") for seed in range(3)]
        values = [summarize(table, ["mrr"])["mrr"] for table in tables]
        assert records[name]["runs"] == values
        assert records[name]["sd"] == pytest.approx(np.std(values, ddof=1))
    printed = done("compare", *runs, "-m", "mrr", "--spread", "interval")
    assert "mean of 3 seeds ± 95 % interval (resampling seeds and triples)" in printed
    assert f"{records['a']['value']:.3f} ±" in printed
    page = done("compare", *runs, "-m", "mrr", "--format", "html")
    assert page.count("<!doctype html>") == 1
    assert "c=none-*: no run matches the wildcards" in refused("compare", "c=none-*", runs[1])
    two = data("compare", "a=seeds-a-[01]*", "b=seeds-b-*", "-m", "mrr")
    assert any("a 2" in note for note in two["notes"])
    assert [record["model"] for record in two["values"] if "sd" in record] == ["b"]


def test_slices_of_the_dataset_group_stored_runs(data, refused, place):
    write_config(
        place / "other.yaml", {**CONFIG, "model": {"path": "model", "options": {"model": "TransE", "norm": 2}}}
    )
    invoke("run", "other.yaml", "--out", "other")
    told = data("compare", "run", "other", "-m", "mrr", "--by", "cardinality,side")
    groups = [pair["group"] for pair in told["differences"]["pairs"]]
    assert {group["side"] for group in groups} == {"head", "tail"}
    assert sum(pair["rows"] for pair in told["differences"]["pairs"]) == 2 * len(SPLITS["test"])
    alone = ("compare", "run/ranks.parquet", "other/ranks.parquet", "-m", "mrr", "--by", "cardinality")
    assert "Add --dataset" in refused(*alone)
    assert data(*alone, "--dataset", "graph")["differences"]["pairs"]


def test_raw_ranks_of_stored_runs(data, tables):
    pair = ("compare", "sines.parquet", "sums.parquet", "-m", "mrr")
    raw = compare({name: table.raw() for name, table in tables.items()}, ["mrr"])
    assert data(*pair, "--filter", "none") == json.loads(json.dumps(raw.to_dict()))


def test_one_tie_policy_in_a_table_computes_only_other_rows_again(place):
    table = RankTable.from_parquet(place / "run/ranks.parquet")
    one, two = (Outcome(ties, table, ("mrr",), {"ties": ties}) for ties in ("realistic", "expected"))
    assert with_common_ties([one, one]) == [one, one]
    changed, kept = with_common_ties([one, two])
    assert kept is two
    assert changed.summary.to_dict() == summarize(table, "mrr", ties="expected").to_dict()
