"""Commands that fail: ``--fail-if-worse``, ``--fail-on``, bounds on ends of intervals; comparisons of labels."""

from __future__ import annotations

import json
import shutil

import pytest

import kgeval
from tests.cli.conftest import invoke


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Ranks and classifications of umls by two baselines, and of nations by one."""
    folder = tmp_path_factory.mktemp("gates")
    for name in ("popularity", "symmetric"):
        model = (f"baseline:{name}", "--dataset", "umls", "-q")
        assert invoke("evaluate", *model, "--out", folder / "ranks" / name).exit_code == 0
        assert invoke("classify", *model, "--out", folder / "labels" / name).exit_code == 0
    small = ("classify", "baseline:popularity", "--dataset", "nations", "-q", "--out", folder / "nations")
    assert invoke(*small).exit_code == 0
    shutil.copytree(folder / "ranks" / "popularity", folder / "again")
    return folder


@pytest.mark.parametrize(
    ("first", "others", "further", "code"),
    [
        ("ranks/popularity", ["ranks/symmetric"], [], 0),
        ("ranks/symmetric", ["ranks/popularity"], [], 1),
        ("ranks/popularity", ["again"], [], 0),
        ("ranks/symmetric", ["ranks/popularity", "again"], ["--reference", "symmetric"], 1),
        ("ranks/symmetric", ["ranks/popularity"], ["-m", "count,mrr"], 1),
        ("ranks/symmetric", ["ranks/popularity"], ["-m", "mr"], 1),
        ("ranks/symmetric", ["ranks/popularity", "again"], ["--reference", "again"], 1),
        ("labels/symmetric", ["labels/popularity"], [], 1),
        ("labels/popularity", ["labels/symmetric"], [], 0),
    ],
)
def test_a_significantly_worse_model_fails(runs, first, others, further, code):
    result = invoke("compare", runs / first, *(runs / other for other in others), "--fail-if-worse", *further, "-q")
    assert result.exit_code == code, result.stderr
    assert result.stdout
    assert ("is significantly worse than" in result.stderr) == bool(code)


def test_what_was_not_tested_fails(runs):
    """A mean over relations has a test over relations alone; of groups, those with enough triples decide."""
    labels = ("compare", runs / "labels/popularity", runs / "labels/symmetric", "--fail-if-worse")
    result = invoke(*labels, "-m", "relation.f1")
    assert result.exit_code == 1
    assert "popularity was not tested against symmetric by relation.f1" in result.stderr
    assert invoke(*labels, "-m", "relation.f1", "--intervals", "relation").exit_code == 0
    assert invoke(*labels, "-m", "roc_auc", "--by", "relation").exit_code == 0
    uninformative = invoke("compare", runs / "ranks", "-m", "count", "--fail-if-worse")
    assert "needs a metric that says which model is better" in uninformative.stderr
    same = invoke("compare", runs / "ranks/popularity", runs / "again", "--same", "--fail-if-worse")
    assert "Leave out" in same.stderr
    across = invoke("compare", runs / "ranks", "--across-datasets", "--fail-if-worse")
    assert "--fail-if-worse has no effect on --across-datasets. Leave one of them out." in across.stderr


def test_a_gate_that_cannot_fail_is_none(runs):
    """Eighteen signs give no p-value below 1 / 19; and ranks among other candidates say nothing of two models."""
    worse = ("compare", runs / "ranks/symmetric", runs / "ranks/popularity", "--fail-if-worse", "-q")
    few = invoke(*worse, "--draws", 18)
    assert few.exit_code == 1
    assert "was not tested against" in few.stderr
    assert "is significantly worse than" in invoke(*worse, "--draws", 19).stderr
    assert invoke(*worse, "--level", 0.9999999999).exit_code == 1
    unlike = invoke(*worse, "--allow", "triples,candidates")
    assert "Leave out --allow candidates." in unlike.stderr
    assert unlike.exit_code == 2
    assert invoke(*worse, "--allow", "triples").exit_code == 1


def test_bounds_hold_for_the_ends_of_intervals(runs, place, done, refused):
    run = runs / "ranks" / "popularity"
    ends = kgeval.summarize(kgeval.RankTable.from_parquet(run), "mrr", ties="expected", intervals="triple").interval(
        "mrr"
    )
    bounds = ("summarize", run, "-m", "mrr", "--intervals", "triple")
    done(*bounds, "--fail-under", f"mrr.low={ends.low}")
    missed = invoke(*bounds, "--fail-under", f"mrr.low={ends.low + 1e-9}")
    assert f"mrr.low is {ends.low!r}, below" in missed.stderr
    assert missed.exit_code == 1
    missed = invoke(*bounds, "--fail-under", f"popularity.mrr.low={ends.high}")
    assert missed.exit_code == 1
    evaluated = ("evaluate", "baseline:popularity", "--dataset", "umls")
    assert "Add --intervals triple" in refused(*evaluated, "--fail-under", "mrr.low=.1")
    assert "Add --intervals triple" in refused("summarize", run, "--fail-under", "mrr.low=.1")
    assert "mr.high is better if lower" in refused(*evaluated, "--intervals", "triple", "--fail-under", "mr.high=3")
    labels = ("summarize", runs / "labels/popularity", "-m", "roc_auc", "--intervals", "triple")
    assert invoke(*labels, "--fail-under", "roc_auc.low=.99").exit_code == 1
    done(*labels, "--fail-under", "roc_auc.low=.5")


def test_classifications_are_compared_as_in_python(runs, data):
    content = data("compare", runs / "labels/popularity", runs / "labels/symmetric", "-m", "auc,brier")
    tables = {
        name: kgeval.tasks.LabelTable.from_parquet(runs / "labels" / name) for name in ("popularity", "symmetric")
    }
    comparison = kgeval.compare(tables, ["roc_auc", "brier"])
    expected = json.loads(json.dumps(comparison.to_dict()))
    assert content["values"] == expected["values"]
    assert content["differences"]["pairs"] == expected["differences"]["pairs"]
    isotonic = data("compare", runs / "labels", "-m", "brier", "--calibration", "isotonic")
    assert isotonic["calibration"] == "isotonic"
    assert (
        isotonic["values"][0]["value"]
        == kgeval.summarize(tables["popularity"], "brier", calibration="isotonic")["brier"]
    )


@pytest.mark.parametrize(
    ("further", "words"),
    [
        (["--ties", "expected"], "--ties: a classification has no ranks"),
        (["--by", "cardinality"], "grouped by relation only"),
        (["--intervals", "time"], "no unit 'time'"),
        (["--same"], "--same compares ranks"),
        (["--across-datasets"], "--across-datasets compares ranks"),
        (["--split", "valid"], "--split applies to text files of ranks only"),
    ],
)
def test_what_classifications_do_not_have_is_refused(runs, refused, further, words):
    assert words in refused("compare", runs / "labels/popularity", runs / "labels/symmetric", *further)


def test_classifications_of_other_triples_are_refused(runs, refused):
    assert "a table of several seeds or datasets" in refused("compare", runs / "labels", runs / "nations")
    mixed = refused("compare", runs / "labels/popularity", runs / "ranks/popularity")
    assert "Compare runs of one kind." in mixed


LIVE = ("evaluate", "baseline:popularity", "--dataset", "umls", "-q", "-m", "mrr")


@pytest.mark.parametrize("form", ["text", "csv", "latex", "json", "html"])
@pytest.mark.parametrize("command", [LIVE, "summarize ranks/popularity", "summarize ranks", "compare ranks"], ids=str)
def test_a_note_of_a_kind_fails_alike_in_every_form(runs, monkeypatch, command, form):
    """Leaks are told in the head, ties below the numbers; not every form prints both."""
    monkeypatch.chdir(runs)
    command = (*command.split(), "-q", "-m", "mrr") if isinstance(command, str) else command
    if form == "html":
        pytest.importorskip("altair")
        if command[0] != "compare":
            pytest.skip("it has no page")
    for kind, code in {"leaks": 1, "ties": 1, "device": 0, "unseen,leaks": 1}.items():
        result = invoke(*command, "--format", form, "--fail-on", kind)
        assert (result.exit_code, bool(result.stdout)) == (code, True), (kind, result.stderr)
        assert (f"Error: --fail-on {kind.rpartition(',')[2]}: " in result.stderr) == bool(code)


def test_a_kind_that_is_none_is_refused_before_the_work(runs, refused):
    assert "--fail-on: no notes of kind 'leakz'. Did you mean 'leaks'?" in refused(*LIVE, "--fail-on", "leakz")
    assert "--fail-on: no notes of kind ''" in refused(*LIVE, "--fail-on", "")
