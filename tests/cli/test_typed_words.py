"""Words that a user types: shorthands of blocks, ``--format``, help, completion, and names that nothing has."""

from __future__ import annotations

import re

import pytest

import kgeval
from kgeval.cli import main
from kgeval.metrics import Intervals
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.config.load import load_config
from tests.cli.conftest import CONFIG, invoke, write_config, write_model

MODEL = ["model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]


@pytest.mark.parametrize("form", ["markdown", "csv", "latex", "json"])
def test_format_is_how_results_are_printed(place, form):
    printed = invoke("evaluate", *MODEL, "--format", form)
    assert printed.exit_code == 0
    wrong = invoke("evaluate", *MODEL, "--format", "jsno")
    assert (wrong.exit_code, "'jsno' is not one of 'text'" in wrong.stderr) == (2, True)


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
    "evaluate --metric mrr,hi": ["mrr,hits@10", "mrr,hits@10_50"],
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
