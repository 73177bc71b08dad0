"""Classification from dataset to summary: negatives, baselines, published numbers, and the table on disk."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kgeval
from kgeval import summarize
from kgeval.base.errors import DatasetError, InputError, MetricError, TableError
from kgeval.data.dataset import Dataset
from kgeval.metrics.kinds import CLASSIFICATION
from kgeval.metrics.labels.fitted import ConfidenceMapping
from kgeval.ranking.corruption import DegreeWeighted, FileNegatives, PopularityWeighted, TypeConstrained, Uniform
from kgeval.ranking.tasks.classification import Classification, classify
from kgeval.ranking.tasks.confidences import Confidences
from kgeval.ranking.tasks.label_table import LabelTable
from kgeval.ranking.tasks.labelled_split import GeneratedNegatives, NegativesFromFiles
from tests.conftest import random_dataset, unwrapped

DATA = random_dataset(5)


def model(heads, relations, tails):
    return ((heads * 7 + relations * 3 + tails) % 13).astype(float)


@pytest.fixture
def files(tmp_path):
    """Negatives of the random graph, one of which is a fact."""
    rng = np.random.default_rng(0)
    for split in ("valid", "test"):
        ids = np.stack([rng.integers(0, 30, 40), rng.integers(0, 4, 40), rng.integers(0, 30, 40)], 1)
        ids[0] = DATA.train.ids[0]
        rows = ["\t".join([DATA.entities[h], DATA.relations[r], DATA.entities[t]]) for h, r, t in ids]
        (tmp_path / f"{split}.txt").write_text("\n".join(rows) + "\n")
    return NegativesFromFiles(valid=str(tmp_path / "valid.txt"), test=str(tmp_path / "test.txt"))


@pytest.mark.parametrize(
    ("name", "majority", "frequency"),
    [("codex-s", (0.781, 0.773), (None, 0.800)), ("codex-m", (0.727, 0.705), (0.752, 0.748))],
)
def test_the_baselines_reach_the_published_numbers(shared, name, majority, frequency):
    folder = shared / "data" / name
    data = kgeval.load_dataset(folder)
    negatives = NegativesFromFiles(valid=str(folder / "valid_negatives.txt"), test=str(folder / "test_negatives.txt"))
    table = classify(model, data, negatives=negatives)
    summary = summarize(table)
    assert not any("known facts" in note for note in table.notes)
    for baseline, published in (("relation majority", majority), ("tail frequency", frequency)):
        for metric, expected in zip(("accuracy", "f1"), published, strict=True):
            if expected is not None:
                assert round(summary.of(baseline, metric), 3) == expected
    # The model learned nothing, and yet is right in three of four cases: thresholds alone tell relations apart.
    assert summary["roc_auc"] == pytest.approx(0.5, abs=0.01)
    assert summary["accuracy"] > 0.7
    if name == "codex-s":
        # One relation has two test triples and none in validation. With both called true the accuracy is the published
        # .7905, rounded there once more to .791; by the threshold of all relations, as here, one differs.
        test = table.where(table.column("split") == "test")
        called = summarize_fallback(table)
        lonely = test.column("relation_label").astype(str) == "P35"
        truths = test.column("label") == 1
        assert lonely.sum() == 2
        assert round(float(np.mean(np.where(lonely, True, called) == truths)), 4) == 0.7905


def summarize_fallback(table):
    """What the tail-frequency baseline calls true, by a plain loop over relations."""

    def part(split):
        mine = table.where(table.column("split") == split)
        return mine.column("relation_label").astype(str), mine.column("tail frequency"), mine.column("label") == 1

    relations, scores, truths = part("valid")
    test_relations, test_scores, _ = part("test")
    called = np.zeros(len(test_scores), bool)
    for relation in np.unique(test_relations):
        rows = relations == relation if (relations == relation).any() else np.ones(len(relations), bool)
        best = max(sorted(set(scores[rows])), key=lambda t, rows=rows: ((scores[rows] >= t) == truths[rows]).sum())
        called[test_relations == relation] = test_scores[test_relations == relation] >= best
    return called


def test_baselines_are_plain_counts(files):
    table = classify(model, DATA, negatives=files)
    counts = Counter((r, t) for _, r, t in DATA.train.ids.tolist())
    rows = zip(*(table.column(name).tolist() for name in ("relation", "tail")), strict=True)
    assert table.column("tail frequency").tolist() == [counts[row] for row in rows]
    valid = table.column("split") == "valid"
    for relation in np.unique(table.column("relation")):
        mine = table.column("relation") == relation
        share = table.column("label")[valid & mine].mean()
        np.testing.assert_allclose(table.column("relation majority")[mine], share)


def test_negatives_that_are_facts_are_counted_and_named(files):
    table = classify(model, DATA, negatives=files)
    facts = {tuple(row) for split in DATA.splits.values() for row in split.ids.tolist()}
    rows = [tuple(row) for row in np.stack([table.column(c) for c in ("head", "relation", "tail")], 1).tolist()]
    known = np.array([row in facts for row in rows])
    np.testing.assert_array_equal(table.column("known"), known)
    wrong = int((known & ~table.column("is_positive") & (table.column("split") == "test")).sum())
    note = next(note for note in table.notes if "test negatives" in note)
    assert note.startswith(f"{wrong} of 40 test negatives ({wrong / 40 * 100:.1f} %) are known facts: ")
    assert DATA.triple(*DATA.train.ids[0]) in note


def test_the_summary_groups_by_relation_as_a_plain_mask_does(files):
    table = classify(model, DATA, negatives=files)
    names = ["accuracy", "roc_auc", "relation.accuracy"]
    grouped = summarize(table, names, by="relation")
    scored = table.scored("test")
    from sklearn.metrics import roc_auc_score

    accuracies = []
    for relation in DATA.relations:
        rows = scored.relations == relation
        expected = roc_auc_score(scored.labels[rows], scored.scores[rows])
        assert grouped.of("model", "roc_auc", relation=relation) == pytest.approx(expected)
        accuracies.append(grouped.of("model", "accuracy", relation=relation))
    assert grouped["relation.accuracy"] == pytest.approx(np.mean(accuracies))
    assert grouped["accuracy"] == summarize(table)["accuracy"]


def test_the_metrics_file_says_everything(files):
    summary = summarize(classify(model, DATA, negatives=files))
    content = summary.to_dict()
    assert set(content["metrics"]) == {"model", "relation majority", "tail frequency"}
    assert set(content["metrics"]["model"]) == set(CLASSIFICATION.metrics)
    true, validation = len(DATA.test), len(DATA.valid) + 40
    assert content["triples"] == {"judged": true + 40, "true": true, "false": 40, "validation": validation}
    assert set(content["thresholds"]["by_relation"]) == set(DATA.relations)
    assert {name: set(curve) for name, curve in summary.curves.items()} == {
        "roc": {"false_positive_rate", "true_positive_rate", "threshold"},
        "precision_recall": {"precision", "recall", "threshold"},
        "reliability": {"lowest", "highest", "triples", "mean_probability", "share_true"},
    }
    with pytest.raises(MetricError, match="Did you mean 'tail frequency'"):
        summary.of("tail frequencies", "f1")
    with pytest.raises(MetricError, match="has no metric"):
        summarize(classify(model, DATA), ["f1"])["accuracy"]


def test_means_over_relations_tell_how_many_relations_they_leave_out(tmp_path):
    (tmp_path / "n.txt").write_text(f"{DATA.entities[0]}\tr00\t{DATA.entities[1]}\n")
    path = str(tmp_path / "n.txt")
    table = classify(model, DATA, negatives=NegativesFromFiles(valid=path, test=path))
    summary = summarize(table, ["relation.roc_auc"])
    (group,) = (group for group in summary.groups if group.predictor == "model")
    assert group.left_out == {"relation.roc_auc": 3}
    assert "model: relation.roc_auc leaves out 3 relations in which it is undefined." in summary.notes


def test_a_table_comes_back_from_disk(tmp_path, files):
    table = classify(model, DATA, negatives=files)
    table.to_parquet(tmp_path / "labels.parquet")
    back = LabelTable.from_parquet(tmp_path / "labels.parquet")
    assert (back.notes, dict(back.baselines)) == (table.notes, dict(table.baselines))
    assert summarize(back).to_dict() == summarize(table).to_dict()
    assert back.to_pandas().equals(table.to_pandas())


def test_results_say_what_they_are_of(tmp_path, files):
    table = classify(model, DATA, negatives=files)
    expected = {"model": "model", "dataset": "random", "split": "test", "triples": len(DATA.test) + 40}
    assert table.provenance.to_dict() == {**expected, "negatives": "40 of file test.txt"}
    summary = summarize(table, ["accuracy"])
    printed = str(summary).splitlines()
    assert printed[0] == f"model on random, {len(DATA.test) + 40} labelled test triples, negatives: 40 of file test.txt"
    assert table.notes
    assert all(f"Note: {note}" in unwrapped(summary) for note in table.notes)
    assert [line.split("  ")[0] for line in printed[3:6]] == ["model", "relation majority", "tail frequency"]
    assert printed[3].split()[-1] == f"{summarize(table, ['accuracy'])['accuracy']:.6f}"
    about = b'{"notes": [], "thresholds": {"relation majority": 0.5}}'
    pq.write_table(table.data.replace_schema_metadata({"kgeval_labels": about}), tmp_path / "old.parquet")
    old = LabelTable.from_parquet(tmp_path / "old.parquet").provenance
    assert (old.model, old.dataset, old.negatives) == ("unknown", "unknown", "40 of unknown origin")
    bare = {split: table.scored(split) for split in ("valid", "test")}
    assert summarize(bare).provenance == old
    assert "unknown model on unknown dataset" in str(summarize(bare))


def test_further_columns_are_kept_and_those_of_text_are_no_baselines(tmp_path, files):
    table = classify(model, DATA, negatives=files)
    notes = pa.array(["mine"] * len(table))
    replace(table, data=table.data.append_column("note", notes)).to_parquet(tmp_path / "labels.parquet")
    back = LabelTable.from_parquet(tmp_path / "labels.parquet")
    assert back.column("note").tolist() == notes.to_pylist()
    assert dict(back.baselines) == dict(table.baselines)
    assert summarize(back).to_dict() == summarize(table).to_dict()


def test_what_is_no_label_table_is_refused(tmp_path):
    kgeval.evaluate(model, DATA).to_parquet(tmp_path / "ranks.parquet")
    (tmp_path / "text.parquet").write_text("nothing")
    about = b'{"notes": [], "thresholds": {}}'
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"kgeval_labels": about}), tmp_path / "bare.parquet")
    for name, message in (
        ("none", "no such file"),
        ("ranks", "a label table needs the column 'split'; found triple, head"),
        ("text", "not a readable label table"),
        ("bare", "needs the column 'split'"),
    ):
        with pytest.raises(TableError, match=message):
            LabelTable.from_parquet(tmp_path / f"{name}.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("e0000\tr00\tnobody\n", "the tail 'nobody' is no entity of the dataset"),
        ("e0000\tr00\te0001\t0.4\n", "no negatives in it"),
        ("e0000\tr00\te0001\t7\n", "the fourth column holds whole numbers, such as 7"),
        ("e0000\tr00\n", "2 columns"),
    ],
)
def test_bad_files_of_negatives_are_refused(tmp_path, text, message):
    (tmp_path / "bad.txt").write_text(text)
    path = str(tmp_path / "bad.txt")
    with pytest.raises(DatasetError, match=message):
        classify(model, DATA, negatives=NegativesFromFiles(valid=path, test=path))


def test_both_splits_need_negatives_and_triples(files):
    with pytest.raises(InputError, match="no test negatives"):
        classify(model, DATA, negatives=NegativesFromFiles(valid=files.valid))
    splits = {"train": DATA.train, "test": DATA.test}
    whole = Dataset.build("no valid", splits, entities=DATA.entities, relations=DATA.relations)
    with pytest.raises(DatasetError, match="it has no valid triples"):
        classify(model, whole, negatives=files)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Classification(calibration="plat"), "calibration: unknown value 'plat'. Did you mean 'platt'?"),
        (lambda: Classification(calibratoin="platt"), "calibratoin: unknown key 'calibratoin'. Did you mean"),
        (lambda: Classification(negatives={"kind": "file"}), "negatives: unknown kind 'file'. Did you mean 'files'?"),
        (lambda: Classification(negatives={"tset": "x"}), "negatives.tset: unknown key 'tset'. Did you mean 'test'?"),
        (lambda: Confidences(high_confidence=0.0), "high_confidence: expected greater than 0, found 0.0."),
        (lambda: Confidences(sides="tial"), "sides.0: unknown value 'tial'. Did you mean 'tail'?"),
        (lambda: ConfidenceMapping(kind="linear"), "kind: unknown value 'linear'. Did you mean 'bounded-linear'?"),
        (lambda: GeneratedNegatives(sides=["tail", "tail"]), "sides: a side is repeated"),
        (lambda: NegativesFromFiles(test=5), "test: expected text, found 5."),
        (lambda: classify(model, DATA, unseen="worst"), "unseen: unknown value 'worst'. Choose one of"),
    ],
)
def test_a_bad_argument_is_named(make, message):
    with pytest.raises(InputError) as refusal:
        make()
    _, line = str(refusal.value).splitlines()
    assert line.strip().startswith(message)


@pytest.mark.parametrize(
    "corruption",
    [Uniform(count=2, seed=4), DegreeWeighted(count=3, seed=1), PopularityWeighted(count=3), TypeConstrained()],
    ids=lambda corruption: corruption.kind,
)
def test_any_corruption_generates_the_negatives(corruption):
    """They are what ``generate_negatives`` writes down, and none of them is a fact."""
    table = classify(model, DATA, negatives=GeneratedNegatives(corruption=corruption))
    false = ~table.column("is_positive")
    for split in ("valid", "test"):
        rows = false & (table.column("split") == split)
        labels = (table.column(f"{name}_label").astype(str)[rows] for name in ("head", "relation", "tail"))
        tables = [part.to_pylist() for part in kgeval.generate_negatives(DATA, corruption, split=split, sides="tail")]
        written = [(row["head"], row["relation"], row["tail"]) for part in tables for row in part]
        assert sorted(zip(*labels, strict=True)) == sorted(written)
        assert written
    assert not table.column("known")[false].any()
    assert (table.column("label") == ~false).all()


def test_negatives_of_a_file_are_a_corruption_too(tmp_path):
    triples = [*DATA.valid.ids, *DATA.test.ids]
    rows = [f"{DATA.entities[h]}\t{DATA.relations[r]}\t{DATA.entities[0]}\n" for h, r, _ in triples]
    (tmp_path / "false.tsv").write_text("".join(dict.fromkeys(rows)))
    negatives = GeneratedNegatives(corruption=FileNegatives(path=str(tmp_path / "false.tsv")))
    assert negatives.files == (tmp_path / "false.tsv",)
    table = classify(model, DATA, negatives=negatives)
    assert set(table.column("tail")[~table.column("is_positive")].tolist()) == {0}
    assert "of file false.tsv in place of each tail" in table.negatives
