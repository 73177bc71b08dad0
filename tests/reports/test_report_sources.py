"""What a page is made of: run directories, folders of several, files and tables; and what it refuses."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

import kgeval
from kgeval.analysis.audits.audit import audit
from kgeval.base.errors import ConfigError, InputError, MetricError
from kgeval.data.fingerprint import fingerprint
from kgeval.models.families.bilinear import DistMult
from kgeval.reports.evaluated_models import look, read_dataset, read_models
from kgeval.reports.origins import EXTREME, MOST, cumulative_points, cutoffs, extreme_rows, origins, triple_table
from kgeval.reports.plots import PLOTS
from kgeval.reports.study import study_of
from kgeval.reports.trust import WAYS, exactness, leaks
from kgeval.runs.compared_runs import grid_of, read_compared
from kgeval.runs.config.load import check
from kgeval.runs.config.yaml_document import Document
from kgeval.runs.runner import run
from kgeval.stored.folders import look_at
from kgeval.stored.stored_run import StoredRun
from tests.reports.conftest import family, ranks_of

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder of two models that were ranked on nations, each a run of its own."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        _save(folder / f"m{seed}.safetensors", seed)
    models = {f"seed {seed}": {"path": str(folder / f"m{seed}.safetensors")} for seed in (0, 1)}
    run(check_content({"dataset": {"name": "nations"}, "models": models, "report": True}), folder / "both")
    return folder / "both"


def check_content(content):
    return check(Document("configuration", content))


def _save(path, seed):
    data, rng = kgeval.load_dataset("nations"), np.random.default_rng(seed)
    model = DistMult(entity=rng.normal(size=(14, 4)), relation=rng.normal(size=(55, 4)))
    kgeval.save_checkpoint(model, path, entities=data.entities, relations=data.relations)


def test_runs_are_read_from_folders_files_and_memory(runs, tmp_path):
    table = kgeval.RankTable.from_parquet(runs / "seed 0")
    table.to_parquet(tmp_path / "alone.parquet")
    assert [model.name for model in read_models(look(runs))] == ["seed 0", "seed 1"]
    assert [model.name for model in read_models(look({"mine": runs / "seed 1", "other": table}))] == ["mine", "other"]
    assert [model.name for model in read_models(look([("", tmp_path / "alone.parquet")]))] == ["seed 0"]
    (model,) = read_models(look(runs / "seed 0"))
    assert model.config["protocol"] == "standard"
    assert model.manifest["dataset"]["fingerprint"] == model.table.fingerprint
    assert fingerprint(read_dataset([model])) == model.table.fingerprint
    assert read_dataset(read_models(look(table))) is None


def test_a_folder_of_the_name_of_the_dataset_is_another_graph(runs, tmp_path, monkeypatch):
    (tmp_path / "nations").mkdir()
    (tmp_path / "nations/train.txt").write_text("a\tr\tb\n")
    monkeypatch.chdir(tmp_path)
    (model,) = read_models(look(runs / "seed 0"))
    assert fingerprint(read_dataset([model])) == model.table.fingerprint


def _as_seeds(run, folder, names):
    """Copy a run as runs of the given names, each of another seed, on the dataset that the folder is named after."""
    for seed, name in enumerate(names):
        shutil.copytree(run, folder / name)
        manifest = json.loads((run / "manifest.json").read_text())
        (folder / name / "manifest.json").write_text(
            json.dumps({**manifest, "seeds": {"training": seed}, "written": {}})
        )
        table = replace(kgeval.RankTable.from_parquet(run), dataset=folder.name, fingerprint=folder.name)
        table.to_parquet(folder / name / "ranks.parquet")


@pytest.mark.parametrize("names", [["TransE-0", "TransE-1", "TransE-2"], ["TransE/0", "TransE/1", "TransE/2"]])
def test_seeds_in_a_folder_of_several_datasets_are_one_model_named_as_compare_names_it(runs, tmp_path, names):
    for place in ("runs/umls", "runs/nations", "again/umls"):
        _as_seeds(runs / "seed 0", tmp_path / place, names)
    expected = [(dataset, "TransE", names) for dataset in ("nations", "umls")]
    models = read_models(look(tmp_path / "runs"))
    assert [(one.table.dataset, one.name, [run.name for run in one.seeds]) for one in models] == expected
    compared = grid_of(read_compared(look_at([("", tmp_path / "runs")]), {}))
    named = [(dataset, name, [run.name for run in own]) for dataset, of in compared.items() for name, own in of.items()]
    assert named == expected
    # The same seeds of another training, told apart by the folders.
    for config in (tmp_path / "again").rglob("config.yaml"):
        config.write_text(yaml.safe_dump({**yaml.safe_load(config.read_text()), "ties": "expected"}))
    models = read_models(look([tmp_path / "runs", tmp_path / "again"]))
    assert [one.name for one in models] == ["TransE", "runs/umls/TransE", "again/umls/TransE"]


def test_two_runs_of_one_name_are_told_apart_or_refused(runs):
    table = kgeval.RankTable.from_parquet(runs / "seed 0")
    with pytest.raises(InputError, match="two runs are called 'seed 0'"):
        read_models(look([table, table]))
    with pytest.raises(InputError, match="no runs"):
        read_models(look([]))
    with pytest.raises(InputError, match="no such file"):
        read_models(look("nowhere"))


def test_a_run_that_was_altered_says_so(runs):
    metrics = runs / "seed 1" / "metrics.json"
    before = metrics.read_text()
    metrics.write_text(before + " ")
    try:
        html = kgeval.report([runs / "seed 1"]).html
    finally:
        metrics.write_text(before)
    assert "changed since the run was written: metrics.json" in html


def test_a_configuration_leaves_a_page_that_a_later_run_replaces(runs):
    assert (runs / "report.html").read_text().startswith("<!doctype html>")
    alone = runs.parent / "alone"
    config = {"dataset": {"name": "nations"}, "model": {"path": str(runs.parent / "m0.safetensors")}}
    run(check_content({**config, "report": True}), alone)
    assert "DistMult reaches an MRR" in (alone / "report.html").read_text()
    run(check_content(config), alone, force=True)
    assert not (alone / "report.html").exists()


def test_a_page_has_no_absolute_path_and_a_command_that_works(runs, monkeypatch, tmp_path):
    """Checkpoints were named by absolute paths; the run is copied into a folder whose name a shell would split."""
    place = runs.parent / "of $(me); a"
    shutil.copytree(runs / "seed 0", place / "x y")
    for folder in (place / "x y", runs):
        page = kgeval.report(folder).html
        packed = re.search(r'id="data">([^<]*)<', page)[1]
        text = page + gzip.decompress(base64.b64decode(packed)).decode()
        assert str(runs.parent) not in text
        assert str(Path.home()) not in text
    monkeypatch.chdir(runs.parent)
    told = html.unescape(re.search(r"<dt>Repeat it</dt><dd><code>(.*?)</code>", kgeval.report(place / "x y").html)[1])
    assert told == "kgeval run 'of $(me); a/x y/config.yaml' --force"
    printed = subprocess.run(["sh", "-c", told.replace("kgeval", "printf '%s|'")], capture_output=True, check=True)
    assert printed.stdout == b"run|of $(me); a/x y/config.yaml|--force|"
    page = kgeval.report(place / "x y").html
    assert "exact, from scores in float64" in page
    assert "<dt>Kernel</dt>" not in page
    # What another evaluator configured is no configuration of kgeval run.
    config = (place / "x y" / "config.yaml").read_text()
    (place / "x y" / "config.yaml").write_text(f"{config}evaluator: {{}}\n")
    assert "<dt>Repeat it</dt>" not in kgeval.report(place / "x y").html


def test_a_task_has_no_page():
    keys = {"model": {"kind": "pykeen", "model": "TransE"}, "task": {"kind": "classification"}}
    with pytest.raises(ConfigError, match="a page needs ranks"):
        check_content({"dataset": "nations", "report": True, **keys})


@pytest.fixture(scope="module")
def classified(tmp_path_factory):
    """A run of a classification, and one of ranks."""
    folder = tmp_path_factory.mktemp("classified")
    for name, more in {"labels": {"task": {"kind": "classification"}}, "ranks": {}}.items():
        run(check_content({"dataset": "nations", "model": "baseline:popularity", **more}), folder / name)
    return folder


def test_a_classification_has_a_page_of_its_metrics_and_curves(classified):
    """The numbers of sklearn, from the scores and labels of the run."""
    page = kgeval.report([("mine", classified / "labels"), ("other", classified / "labels")])
    assert page.title == "2 classifications on nations"
    table = StoredRun(classified / "labels").labels()
    scored = table.scored("test")
    assert f"{roc_auc_score(scored.is_true, scored.scores):.4f}" in page.html
    summary = kgeval.summarize(table, "roc_auc", intervals="triple")
    assert str(summary.interval("roc_auc")).split("–")[0] in page.html
    assert page.html.index(">roc_auc<") < page.html.index(">accuracy<")
    assert "Difference of roc_auc" in page.html  # of one run twice
    assert "not tested: roc_auc, average_precision: no triple differs." in page.html
    assert page.html.partition("Difference of")[0].count("tail frequency</bdi>") == 1
    chart = PLOTS["roc"]({"mine": classified / "labels"}).to_dict()
    assert chart["title"] == f"ROC AUC: mine {roc_auc_score(scored.is_true, scored.scores):.3f}"
    rates = roc_curve(scored.is_true, scored.scores)[:2]
    points = chart["data"]["values"] if "values" in chart["data"] else next(iter(chart["datasets"].values()))
    found = [(point["false_positive_rate"], point["true_positive_rate"]) for point in points]
    assert found == list(zip(*(rate.tolist() for rate in rates), strict=True))
    chart = PLOTS["precision-recall"]({"mine": classified / "labels"}).to_dict()
    assert chart["layer"][0]["encoding"]["y"]["title"] == "precision"
    assert chart["title"] == f"Average precision: mine {average_precision_score(scored.is_true, scored.scores):.3f}"


def test_classifications_of_another_calibration_have_a_table_and_baselines_of_their_own(classified):
    """Their probabilities differ, also those of the baselines: one row of 'tail frequency' had those of one run."""
    task = {"kind": "classification", "calibration": "isotonic"}
    run(check_content({"dataset": "nations", "model": "baseline:popularity", "task": task}), classified / "isotonic")
    page = kgeval.report({"mine": classified / "labels", "other": classified / "isotonic"}).html
    first, second = page.partition("calibration: platt")[2].split("calibration: isotonic")
    for part, name, kind in ((first, "mine", "platt"), (second, "other", "isotonic")):
        summary = kgeval.summarize(StoredRun(classified / "labels").labels(), "brier", calibration=kind)
        assert f">{name}</bdi>" in part
        assert f"{summary.of('tail frequency', 'brier'):.4f}" in part


def test_classifications_and_ranks_are_told_apart(classified):
    labels, ranks = classified / "labels", classified / "ranks"
    with pytest.raises(InputError, match="is a classification, others have ranks"):
        kgeval.report([labels, ranks])
    with pytest.raises(
        InputError, match=r"of a classification: .*summarize, compare, report and plot --kind roc take it"
    ):
        kgeval.plot_leaderboard(labels)
    with pytest.raises(InputError, match="these runs are no classifications"):
        PLOTS["roc"](ranks)
    with pytest.raises(InputError, match="for ranks, and classifications have none"):
        kgeval.report(labels, ties="expected")


def test_classifications_of_several_datasets_are_refused(classified, tmp_path):
    run(
        check_content({"dataset": "umls", "model": "baseline:popularity", "task": {"kind": "classification"}}),
        tmp_path / "umls",
    )
    runs = {"here": classified / "labels", "there": tmp_path / "umls"}
    for make in (kgeval.report, PLOTS["roc"]):
        with pytest.raises(InputError, match=r"classifications on nations and umls\. Give"):
            make(runs)


def test_candidates_that_the_model_does_not_know_are_a_warning(nations):
    table = kgeval.evaluate(lambda h, r, t: h + t, nations)
    assert exactness(study_of(read_models(look({"m": table})), nations)).state == "good"
    last = replace(table, competing=9, unscored=3)
    check = exactness(study_of(read_models(look({"m": last})), nations))
    assert check.name == "Candidates"
    assert "3 triples that it does not know are last" in check.warning
    assert "only the 9 entities that the model knows compete" in check.warning


def test_ranks_that_do_not_compare_are_refused_and_may_be_allowed():
    data = family()
    whole, part = ranks_of(data, 0.3), ranks_of(data, 0.2).where(ranks_of(data, 0.2).column("triple") < 250)
    with pytest.raises(MetricError, match="cannot be compared"):
        kgeval.report({"whole": whole, "part": part})
    page = kgeval.report({"whole": whole, "part": part}, allow="triples").html
    assert "Compared on the 500 rows that all models have" in page


def test_leaks_are_counted_by_the_ways_of_the_audit(nations):
    table = kgeval.evaluate(lambda h, r, t: h + t, nations)
    study = study_of(read_models(look({"m": table})), nations)
    few = study_of(read_models(look({"m": table.where(table.column("triple") < 20)})), nations)
    assert leaks(few).warning.startswith(f"{audit(nations).flags('test')['leaked'][:20].sum()} of 20 test triples (")
    found, told = audit(nations), leaks(study).warning
    total = len(nations.test)
    assert told.startswith(f"{found.count('leaked', 'test')} of {total} test triples (")
    for way, words in WAYS.items():
        count = found.count(way, "test")
        assert (f"{count} {words}" in told) == bool(count)


def test_the_verdict_says_where_the_better_model_is_worse():
    """Planted: first with all heads against second; far better with tails. All relations are N-N."""
    data = family(relations=4)
    tables = {}
    for name, skill, rank in (("weak", 0.05, 0), ("strong", 0.9, 1)):
        table = ranks_of(data, skill)
        content, heads = table.data, table.column("side") == "head"
        for column in ("greater", "raw_greater"):
            ranks = pa.array(np.where(heads, rank, table.column(column)))
            content = content.set_column(content.column_names.index(column), column, ranks)
        tables[name] = replace(table, data=content)
    page = kgeval.report(tables, dataset=data).html
    assert re.search(r"strong is better than weak: [^<]*\. Worse on N-N heads\.", page)


def test_without_the_extra_the_message_names_it(monkeypatch):
    table = ranks_of(family(), 0.3)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(InputError, match=re.escape("pip install 'kgeval[report]'")):
        kgeval.report({"model": table})


@pytest.mark.parametrize("ties", ["realistic", "expected", "random"])
def test_the_distribution_is_hits_at_k_at_every_k(ties):
    data = family()
    tables = {f"m{seed}": ranks_of(data, 0.1, seed=seed) for seed in range(2)}
    points = cumulative_points(study_of(read_models(look(tables)), None, ties=ties))
    for model, k, share in points[["model", "k", "share"]].itertuples(index=False):
        assert share == pytest.approx(kgeval.summarize(tables[model], f"hits@{k}", ties=ties)[f"hits@{k}"])
    assert cutoffs(1).tolist() == [1]
    assert set(range(1, 101)) <= set(cutoffs(14_541).tolist())
    assert cutoffs(14_541)[-1] == 14_541


def test_of_too_many_rows_the_extreme_ones_are_kept():
    ranks = np.random.default_rng(0).geometric(0.01, (MOST + 1, 2)).astype(float)
    kept = extreme_rows(ranks)
    assert EXTREME <= kept.sum() <= EXTREME * 3
    for model in range(2):
        assert ranks[kept, model].max() == ranks[:, model].max()
        assert (np.sort(ranks[kept, model])[-EXTREME:] == np.sort(ranks[:, model])[-EXTREME:]).all()
    different = np.abs(np.log(ranks[:, 0] / ranks[:, 1]))
    assert (np.sort(different[kept])[-EXTREME:] == np.sort(different)[-EXTREME:]).all()


def test_three_models_of_fb15k_237_fit_into_five_megabytes(shared):
    data = kgeval.load_dataset(shared / "data" / "fb15k-237")
    tables = {f"m{seed}": ranks_of(data, 0.01, seed=seed) for seed in range(3)}
    assert len(kgeval.report(tables).html.encode()) < 5_000_000


def test_relations_too_few_and_too_many_are_drawn():
    many = family(1, entities=900, relations=1345, triples=2700)
    assert len(set(many.test.relations.tolist())) > 1000
    assert "relations" in kgeval.report({"m": ranks_of(many, 0.2)}, dataset=many).html
    few = family(2, entities=9, relations=2, triples=20)
    assert "2 relations: too few" in kgeval.report({"m": ranks_of(few, 0.3)}, dataset=few).html


def test_people_read_the_names_of_relations_in_all_places():
    data = family()
    named = replace(data, names={label: f"name of {label}" for label in map(str, data.relations.labels)})
    study = study_of(read_models(look({"m": ranks_of(data, 0.3)})), named)
    where, triples = origins(study), triple_table(study).data["triples"]
    assert set(where.data["relations"]["relation"]) == set(triples["relations"])
    assert all("name of" in name for name in triples["relations"])
    assert triples["relations"][0] in str(where.charts["relations"].to_dict())


def test_a_baseline_has_one_name_on_all_datasets_of_a_folder(tmp_path):
    """It has no seed, by which the runs of other models are joined."""
    for name in ("nations", "umls"):
        models = {"popularity": {"baseline": "popularity"}}
        run(check_content({"dataset": {"name": name}, "models": models}), tmp_path / name)
    assert [model.name for model in read_models(look(tmp_path))] == ["popularity", "popularity"]
