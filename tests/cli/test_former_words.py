"""Words of earlier versions: they still work, with a note where a user types them, and no help or schema has them."""

from __future__ import annotations

import json
import re

import pytest

import kgeval
from kgeval.analysis import compare_grid
from kgeval.cli import COMMANDS, main
from kgeval.cli.former_options import with_present_options
from kgeval.metrics import Intervals
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.import_ranks import load_ranks
from kgeval.ranking.rank_table import RankTable
from kgeval.runs.config.load import load_config
from kgeval.runs.resume import leaves
from kgeval.synonyms import NOW, Renamed
from tests.cli.conftest import CONFIG, invoke, write_config, write_model

MODEL = ["model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]

TYPED = [
    (["compare", "run", "other=run2"], ["--unit", "query"], ["--intervals", "query"], "--unit is"),
    (["report", "run", "--force"], ["--unit=relation"], ["--intervals=relation"], "--unit is"),
    (["evaluate", *MODEL], ["--error", ".5"], ["--estimate", ".5"], "--error is"),
    (["evaluate", *MODEL], ["--format", "native"], ["--checkpoint-format", "native"], "--format native is"),
    (["explain", *MODEL, "--protocols", "libkge"], ["--format=native"], ["--checkpoint-format=native"], "--format na"),
    (["predict", *MODEL, "--force", "--out", "p"], ["--format", "trec"], ["--out-format", "trec"], "--format trec is"),
]


@pytest.mark.parametrize(("command", "former", "present", "note"), TYPED, ids=lambda it: str(it)[:30])
def test_a_former_option_does_what_the_present_one_does(place, command, former, present, note):
    invoke("run", "config.yaml", "--out", "run2")
    now = invoke(*command, *present)
    then = invoke(*command, *former)
    assert (now.exit_code, then.exit_code) == (0, 0), then.stderr
    assert then.stdout == now.stdout
    assert f"Note: {note}" in then.stderr
    assert f" now called {present[0].partition('=')[0]}." in then.stderr
    assert "now called" not in now.stderr
    assert "now called" not in invoke(*command, *former, "-q").stderr


@pytest.mark.parametrize("form", ["markdown", "csv", "latex", "json"])
def test_format_is_how_results_are_printed(place, form):
    printed = invoke("evaluate", *MODEL, "--format", form)
    assert printed.exit_code == 0
    assert "now called" not in printed.stderr
    wrong = invoke("evaluate", *MODEL, "--format", "jsno")
    assert (wrong.exit_code, "'jsno' is not one of 'text'" in wrong.stderr) == (2, True)


def test_former_values_mean_the_present_ones(place):
    assert Evaluation(times="same").times == "time-aware"
    assert Evaluation(times="all").times == "static"
    assert leaves({"evaluation": {"times": "same"}, "model": {"format": "dgl-ke"}}) == {
        "evaluation.times": "time-aware",
        "model.format": "dglke",
    }
    assert with_present_options(main.get_command(None, "evaluate"), ["m", "--format=dgl-ke"])[0] == [
        "m",
        "--checkpoint-format=dgl-ke",
    ]
    for word in NOW["format"]:
        write_config(place / "old.yaml", {**CONFIG, "model": {**CONFIG["model"], "format": word}})
        assert load_config(place / "old.yaml").model.format == NOW["format"][word][0]
        assert invoke("list", "formats", word).exit_code == 0


def test_a_rank_table_of_an_earlier_version_is_read(place):
    dated = [(*triple, "2014-01-01") for triple in [("a", "r", "b"), ("b", "r", "a")]]
    data = kgeval.Dataset.from_labels(train=dated, test=dated[:1])
    table = kgeval.evaluate(kgeval.Baseline("popularity"), data, times="all")
    assert table.times == "static"
    about = {**json.loads(json.dumps(table._about())), "times": "same"}
    assert RankTable._of(table.data, about).times == "time-aware"
    (place / "ranks.tsv").write_text("head\trelation\ttail\ttime\thead_rank\na\tr\tb\t2014-01-01\t1\n")
    assert load_ranks(place / "ranks.tsv", data, times="all").times == "static"


def test_former_keywords_warn_where_they_are_used(place):
    tables = {"a": RankTable.from_parquet("run/ranks.parquet"), "b": RankTable.from_parquet("run/ranks.parquet")}
    with pytest.warns(Renamed, match="unit is now called intervals") as found:
        former = kgeval.compare(tables, "mrr", unit="query")
    assert found[0].filename == __file__
    assert former.to_dict() == kgeval.compare(tables, "mrr", intervals="query").to_dict()
    for call in (lambda: compare_grid({"d": tables}, unit="query"), lambda: kgeval.report(tables, unit="query")):
        with pytest.warns(Renamed, match="unit is now called intervals"):
            call()


@pytest.mark.filterwarnings("error::kgeval.synonyms.Renamed")
def test_kgeval_itself_uses_the_present_words(place):
    invoke("run", "config.yaml", "--out", "run2")
    for command in ("compare", "report", "plot --kind leaderboard --out p.svg", "plot --kind slices --out s.svg"):
        assert invoke(*command.split(), "run", "run2", "--intervals", "query").exit_code == 0


def test_a_unit_and_an_error_are_short_for_their_blocks(place):
    write_config(place / "short.yaml", {**CONFIG, "intervals": "query", "metrics": "mrr, hits@10"})
    write_config(place / "estimate.yaml", {**CONFIG, "evaluation": {"estimate": 0.05}})
    config = load_config(place / "short.yaml")
    assert (config.intervals, config.metrics) == (Intervals(unit="query"), ("mrr", "hits@10"))
    assert load_config(place / "short.yaml", ["intervals.level=.9"]).intervals == Intervals(unit="query", level=0.9)
    assert load_config(place / "estimate.yaml").evaluation.estimate == kgeval.Estimate(error=0.05)
    changed = load_config(place / "estimate.yaml", ["evaluation.estimate.metric=hits@10"])
    assert changed.evaluation.estimate == kgeval.Estimate(error=0.05, metric="hits@10")
    assert Evaluation(estimate=0.05).estimate == kgeval.Estimate(error=0.05)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"intervals": "tripel"}, "intervals.unit: unknown value 'tripel' (config line 7). Did you mean 'triple'?"),
        ({"evaluation": {"estimate": "much"}}, "evaluation.estimate.error: expected a number, found 'much'"),
        ({"evaluation": {"estimate": -1}}, "evaluation.estimate: expected greater than 0, found -1"),
    ],
)
def test_a_wrong_shorthand_is_one_problem(refused, place, content, message):
    write_config(place / "wrong.yaml", {**CONFIG, **content})
    said = refused("run", "wrong.yaml")
    assert "1 problem\n" in said
    assert message in said


def test_a_misspelt_key_is_one_problem(refused, place):
    write_config(place / "wrong.yaml", {"datasett": "./graph", "model": CONFIG["model"]})
    assert "1 problem\n  datasett: unknown key 'datasett' (config line 1). Did you mean" in refused("run", "wrong.yaml")


def test_no_help_and_no_schema_has_former_words(place):
    helps = {name: invoke(name, "--help").stdout for name in COMMANDS if name != "pykeen"}
    texts = [*helps.values(), invoke("schema").stdout]
    assert not [word for word in ("--unit", "--error ", "dgl-ke", "ampligraph-1") for text in texts if word in text]
    assert [name for name, text in helps.items() if re.search(r"--format.*(native|parquet)", text)] == []
    assert "same, all" not in invoke("schema").stdout


def test_lists_and_schema_are_plain_text(place):
    for what in ("metrics", "baselines", "corruptions", "formats", "protocols", "slices", "models"):
        assert not re.search("``|:class:|>>>", invoke("list", what, "--json").stdout)
    assert not re.search("``|:class:|>>>", invoke("schema").stdout)


def test_help_is_a_command_too(done):
    assert done("help") == done("--help")
    assert done("help", "evaluate") == done("evaluate", "--help")
    assert done("-V") == done("--version")
    assert "_KGEVAL_COMPLETE=bash_source" in done("help")


COMPLETED = {
    "evaluate --ties e": ["expected"],
    "evaluate --protocol pyk": ["pykeen"],
    "evaluate --format m": ["markdown"],
    "evaluate --checkpoint-format dgl": ["dglke"],
    "evaluate --unseen ": ["error", "drop", "worst"],
    "evaluate --metric mrr,hi": ["mrr,hits@10"],
    "evaluate --times s": ["static"],
    "summarize --by card": ["cardinality", "cardinality-all", "cardinality-libkge"],
    "list formats dg": ["dglke"],
    "negatives graph --corruption unif": ["uniform"],
    "audit --layout openk": ["openke"],
}


@pytest.mark.parametrize("typed", COMPLETED)
def test_names_are_completed(typed):
    from click.shell_completion import ShellComplete

    *words, last = typed.split(" ")
    found = ShellComplete(main, {}, "kgeval", "_KGEVAL_COMPLETE").get_completions(words, last)
    assert [item.value for item in found] == COMPLETED[typed]


def test_paths_are_completed_by_the_shell():
    from click.shell_completion import ShellComplete

    (item,) = ShellComplete(main, {}, "kgeval", "_KGEVAL_COMPLETE").get_completions(["evaluate"], "mod")
    assert (item.type, item.value) == ("file", "mod")


def test_an_unknown_name_is_no_long_list(refused, place):
    write_model(place / "model")
    for command in (
        ["list", "metrics", "zzz"],
        ["evaluate", *MODEL, "-m", "zzz"],
        ["evaluate", *MODEL, "--protocol", "zzz"],
        ["evaluate", *MODEL, "--checkpoint-format", "zzz"],
        ["evaluate", "model", "--dataset", "zzz"],
    ):
        said = refused(*command)
        assert "' shows all." in said
        assert len(said) < 200
