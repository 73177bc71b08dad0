"""Confidences of weighted graphs: PPI5k, brute force over all entities, mappings, and the four-column files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

import kgeval
from kgeval import summarize
from kgeval.base.errors import DatasetError, InputError, MetricError
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.metrics.labels.fitted import ConfidenceMapping
from kgeval.metrics.labels.label_summary import ERRORS
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.ties import tie_policies
from kgeval.models.adapters.functions import CallableScorer
from kgeval.ranking.tasks.classification import classify
from kgeval.ranking.tasks.confidences import Confidences
from kgeval.ranking.tasks.labelled_split import NegativesFromFiles
from tests.conftest import random_dataset


def weighted(seed=0, **sizes):
    """A random graph with confidences; each test fact is stated once more with another one."""
    rng = np.random.default_rng(seed)
    plain = random_dataset(seed, **sizes)
    rows = {split: np.vstack([part.ids, part.ids[:5]]) for split, part in plain.splits.items()}
    return Dataset.build(
        "weighted",
        {split: Triples(ids) for split, ids in rows.items()},
        entities=plain.entities,
        relations=plain.relations,
        confidences={split: rng.integers(0, 11, len(ids)) / 10 for split, ids in rows.items()},
    )


DATA = weighted()


def tied_model(heads, relations, tails):
    """Scores of five values, so that facts tie with candidates and with one another."""
    return ((heads * 7 + relations * 5 + tails * 3) % 5) / 4


def test_the_baseline_and_the_leakage_of_ppi5k(shared):
    """MSE .0082, MAE .0322; 19,009 of 21,720 reverses in train; 8.2 % of the published negatives are facts."""
    folder = shared / "data" / "ppi5k"
    data = kgeval.load_dataset(folder)
    sizes = {split: len(said) for split, said in data.confidences.items()}
    assert sizes == {"train": 230929, "valid": 19017, "test": 21720}
    task = Confidences(negatives=NegativesFromFiles(test=str(folder / "test_with_neg.tsv")), rank_baselines=False)
    tables = task(lambda h, r, t: np.full(len(h), 0.5), data)
    summary = summarize(tables)
    assert round(summary.of("same or reversed", "mse"), 4) == 0.0082
    assert round(summary.of("same or reversed", "mae"), 4) == 0.0322
    assert summary.counts["facts"] == summary.counts["negatives"] == 21720
    for told in (
        "the reverse of 19,009 of 21,720 test triples (87.5 %) is in train",
        "1,772 of 21,720 test negatives (8.2 %) are known facts",
    ):
        assert any(note.startswith(told) for note in tables.notes)
    with pytest.raises(MetricError, match="nothing was ranked"):
        summary.of("same or reversed", "wmrr")


def test_the_baseline_is_a_plain_dictionary():
    tables = Confidences()(tied_model, DATA)
    said = DATA.confidences["train"]
    best, of_relation = {}, {}
    for (h, r, t), confidence in zip(said.triples.ids.tolist(), said.labels.tolist(), strict=True):
        for triple in ((h, r, t), (t, r, h)):
            best[triple] = max(confidence, best.get(triple, 0))
        of_relation.setdefault(r, []).append(confidence)
    columns = [tables.labels.column(name).tolist() for name in ("head", "relation", "tail")]
    expected = [best.get((h, r, t), np.mean(of_relation[r])) for h, r, t in zip(*columns, strict=True)]
    np.testing.assert_allclose(tables.labels.column("same or reversed"), expected)


def dense(side):
    """Every entity's score in the place of each test fact's answer, with the other known answers, by a plain loop."""
    facts = {tuple(row) for part in DATA.splits.values() for row in part.ids.tolist()}
    for head, relation, tail in DATA.test.ids.tolist():
        answer, scores, competes = (tail if side == "tail" else head), [], []
        for entity in range(len(DATA.entities)):
            triple = (head, relation, entity) if side == "tail" else (entity, relation, tail)
            scores.append(tied_model(*triple))
            competes.append(entity == answer or triple not in facts)
        yield (head, relation, tail), answer, np.array(scores), np.array(competes)


@pytest.mark.parametrize("ties", ["optimistic", "realistic", "pessimistic"])
def test_weighted_ranks_by_brute_force(ties):
    weights, ranks = [], []
    said = DATA.confidences["test"]
    for side in ("head", "tail"):
        for triple, answer, scores, competes in dense(side):
            stated = [w for row, w in zip(said.triples.ids.tolist(), said.labels, strict=True) if tuple(row) == triple]
            low = 1 + (scores[competes] > scores[answer]).sum()
            high = (scores[competes] >= scores[answer]).sum()
            ranks.append({"optimistic": low, "pessimistic": high, "realistic": (low + high) / 2}[ties])
            weights.append(max(stated))
    summary = summarize(Confidences()(tied_model, DATA), ties=ties)
    assert summary["wmr"] == pytest.approx(np.average(ranks, weights=weights))
    assert summary["wmrr"] == pytest.approx(np.average(1 / np.array(ranks), weights=weights))


def graded_lists(lowest=0.0):
    """The grades and scores of each (h, r, ?): the negatives and the test answers of at least some confidence."""
    facts = {tuple(row) for part in DATA.splits.values() for row in part.ids.tolist()}
    said = DATA.confidences["test"]
    grades = {}
    for (h, r, t), confidence in zip(said.triples.ids.tolist(), said.labels.tolist(), strict=True):
        mine = grades.setdefault((h, r), {})
        mine[t] = max(confidence, mine.get(t, 0))
    for (h, r), answers in grades.items():
        kept = {t: w for t, w in answers.items() if w >= lowest}
        listed = [e for e in range(len(DATA.entities)) if e in kept or (h, r, e) not in facts]
        if max(kept.values(), default=0) > 0:
            yield np.array([kept.get(e, 0) for e in listed]), np.array([tied_model(h, r, e) for e in listed])


@pytest.mark.parametrize(("name", "gain"), [("graded-ndcg", lambda g: g), ("graded-ndcg-exp", lambda g: 2**g - 1)])
def test_graded_ndcg_agrees_with_scikit_learn_over_all_entities(name, gain):
    summary = summarize(Confidences(high_confidence=0.6)(tied_model, DATA), high_confidence=0.6)
    whole = [ndcg_score([gain(grades)], [scores]) for grades, scores in graded_lists()]
    assert summary[name] == pytest.approx(np.mean(whole))
    high = [ndcg_score([gain(grades)], [scores]) for grades, scores in graded_lists(0.6)]
    assert summary.of("model", name, facts="confidence ≥ 0.6") == pytest.approx(np.mean(high))
    assert 0 < np.mean(whole) < 1


def test_grades_above_one_agree_with_scikit_learn_and_fit_no_mapping_to_confidences():
    said = {split: replace(rows, labels=5 * rows.labels) for split, rows in DATA.confidences.items()}
    tables = Confidences()(tied_model, replace(DATA, confidences=said))
    expected = [ndcg_score([2 ** (5 * grades) - 1], [scores]) for grades, scores in graded_lists()]
    summary = summarize(tables, ["graded-ndcg-exp", "mae"])
    assert summary["graded-ndcg-exp"] == pytest.approx(np.mean(expected))
    gaps = tied_model(*said["test"].triples.ids.T) - said["test"].labels
    assert summary["mae"] == pytest.approx(np.mean(np.abs(gaps)))
    mapped = summarize(tables, ["graded-ndcg-exp", "mae"], mapping=ConfidenceMapping(kind="logistic"))
    assert mapped["graded-ndcg-exp"] == summary["graded-ndcg-exp"]
    assert any("mae is undefined: grades up to" in note for note in mapped.notes)


def test_a_model_that_knows_the_confidences_is_perfect():
    best = DATA.confidences["test"]

    def oracle(heads, relations, tails):
        return np.nan_to_num(best.largest(Triples(np.stack([heads, relations, tails], 1))), nan=-1.0)

    names = ["graded-ndcg", "graded-ndcg-exp", "graded-ndcg@3"]
    summary = summarize(Confidences()(oracle, DATA), names)
    assert [summary[name] for name in names] == pytest.approx([1, 1, 1])


def test_errors_are_those_of_every_stated_row():
    tables = Confidences()(tied_model, DATA)
    said = DATA.confidences["test"]
    gaps = tied_model(*said.triples.ids.T) - said.labels
    summary = summarize(tables, high_confidence=0.5)
    assert summary["mse"] == pytest.approx(np.mean(gaps**2))
    assert summary["rmse"] == pytest.approx(np.sqrt(np.mean(gaps**2)))
    assert summary["mae"] == pytest.approx(np.mean(np.abs(gaps)))
    high = np.abs(gaps[said.labels >= 0.5])
    assert summary.of("model", "mae", facts="confidence ≥ 0.5") == pytest.approx(np.mean(high))


def test_negatives_have_confidence_zero_and_no_rank(tmp_path):
    (tmp_path / "n.tsv").write_text("e0000\tr00\te0001\t0\ne0002\tr01\te0003\t0.4\ne0004\tr01\te0003\t0.0\n")
    task = Confidences(negatives=NegativesFromFiles(test=str(tmp_path / "n.tsv")))
    summary = summarize(task(tied_model, DATA))
    assert summary.counts["negatives"] == 2
    said = DATA.confidences["test"]
    gaps = np.append(tied_model(*said.triples.ids.T) - said.labels, [tied_model(0, 0, 1), tied_model(4, 1, 3)])
    assert summary.of("model", "mse", facts="with negatives") == pytest.approx(np.mean(gaps**2))
    with pytest.raises(MetricError, match="has no metric 'wmr'"):
        summary.of("model", "wmr", facts="with negatives")


@pytest.mark.parametrize("ties", list(tie_policies()))
def test_every_value_lies_in_its_range(ties):
    summary = summarize(Confidences()(tied_model, DATA), ties=ties, by="relation")
    for line in summary.groups:
        for name, value in line.values.items():
            metric = name.metric
            assert value is None or metric.lowest <= value <= metric.highest


def test_the_undefined_is_named():
    summary = summarize(Confidences(sides=("head",))(tied_model, DATA), high_confidence=1.0)
    with pytest.raises(MetricError, match="graded-ndcg is undefined: no tails were ranked"):
        summary["graded-ndcg"]
    none = weighted(1, triples=20)
    assert not (none.confidences["test"].labels >= 1).any()
    summary = summarize(Confidences(high_confidence=1.0)(tied_model, none), high_confidence=1.0)
    for name in ("mse", "rmse", "mae", "wmr", "wmrr", "graded-ndcg"):
        with pytest.raises(MetricError, match="there are no facts"):
            summary.of("model", name, facts="confidence ≥ 1")


def with_strangers(data):
    """The same graph with five more test facts, of an entity that nothing else names."""
    stranger = len(data.entities)
    ids = {split: said.triples.ids for split, said in data.confidences.items()}
    more = np.array([[stranger, 0, 1], [2, 1, stranger], [stranger, 1, 3], [4, 0, stranger], [5, 1, stranger]])
    labels = {split: said.labels for split, said in data.confidences.items()}
    return Dataset.build(
        "strangers",
        {split: Triples(np.vstack([rows, more]) if split == "test" else rows) for split, rows in ids.items()},
        entities=Vocabulary([*data.entities, "a stranger"]),
        relations=data.relations,
        confidences={**labels, "test": np.r_[labels["test"], np.full(5, 0.9)]},
    )


class Labelled(CallableScorer):
    """A function with the labels of what it knows."""

    numbering, layouts = "dataset", ()
    entities, relations = DATA.entities, DATA.relations

    @property
    def model(self):
        return self


def test_model_and_baseline_are_judged_on_what_the_model_knows():
    model = Labelled(tied_model, len(DATA.entities), len(DATA.relations))
    dropped = summarize(Confidences(unseen="drop")(model, with_strangers(DATA)))
    whole = summarize(Confidences()(tied_model, DATA))
    assert {line.predictor for line in dropped.groups} == {"model", "same or reversed"}
    assert [line.values for line in dropped.groups] == [line.values for line in whole.groups]


# Mappings


def facts(scores, labels):
    return ScoredLabels(np.asarray(scores, float), np.asarray(labels, float), np.zeros(len(scores), int))


@settings(max_examples=25, deadline=None)
@given(st.floats(0.2, 5), st.floats(-2, 2), st.sampled_from(["logistic", "bounded-linear"]))
def test_a_fit_finds_the_mapping_that_made_the_confidences(weight, bias, kind):
    made = ConfidenceMapping(kind=kind, weight=weight / 5, bias=bias / 5 + 0.5)
    scores = np.linspace(-3, 3, 60)
    found = ConfidenceMapping(kind=kind).fitted(facts(scores, made(scores)))
    np.testing.assert_allclose(found(scores), made(scores), atol=1e-4)


@pytest.mark.parametrize("kind", ["logistic", "bounded-linear"])
def test_a_fit_is_no_worse_than_any_of_a_grid(kind):
    rng = np.random.default_rng(0)
    scores = rng.normal(10, 4, 300)
    labels = np.clip(0.05 * scores + rng.normal(0, 0.2, 300), 0, 1)
    found = ConfidenceMapping(kind=kind).fitted(facts(scores, labels))
    reached = np.mean((found(scores) - labels) ** 2)
    for weight in np.linspace(-0.2, 0.6, 33):
        for bias in np.linspace(-4, 4, 65):
            other = ConfidenceMapping(kind=kind, weight=float(weight), bias=float(bias))
            assert reached <= np.mean((other(scores) - labels) ** 2) + 1e-9


@pytest.mark.parametrize("kind", ["logistic", "bounded-linear"])
def test_constant_scores_map_to_the_mean_confidence(kind):
    found = ConfidenceMapping(kind=kind).fitted(facts(np.full(1000, 0.1), np.tile([0.2, 0.4], 500)))
    assert found.weight == 0
    np.testing.assert_allclose(found(np.array([0.0, 0.1, 5])), 0.3, atol=1e-6)


@pytest.mark.parametrize("kind", ["logistic", "bounded-linear"])
@pytest.mark.parametrize("factor", [1e-200, 1e-17, 1e200, 1e307])
def test_no_scale_of_scores_hinders_a_fit(kind, factor):
    scores, labels = factor * np.array([-1.0, -0.9, 0.9, 1]), np.array([0.1, 0.1, 0.9, 0.9])
    np.testing.assert_allclose(ConfidenceMapping(kind=kind).fitted(facts(scores, labels))(scores), labels, atol=0.03)


def test_scores_that_no_weight_tells_apart_are_undefined():
    with pytest.raises(Undefined, match="so close together"):
        ConfidenceMapping(kind="bounded-linear").fitted(facts([0, 5e-324], [0, 1]))


def test_errors_beyond_float64_are_undefined_and_large_ones_are_not():
    data = weighted(2, triples=40)
    summary = summarize(Confidences(rank_baselines=False)(lambda h, r, t: h * 0 + 1e200, data), ERRORS)
    assert summary["mae"] == pytest.approx(1e200)
    assert summary["rmse"] == pytest.approx(1e200)
    with pytest.raises(MetricError, match="mse is undefined: the error is larger than any number in float64"):
        summary["mse"]


def test_given_numbers_are_not_fitted_and_raw_scores_stay():
    given = ConfidenceMapping(kind="logistic", weight=1.0, bias=0.0)
    assert given.fitted(facts([1, 2], [0, 1])) is given
    np.testing.assert_array_equal(ConfidenceMapping().fitted(facts([], []))(np.array([-3.0, 7])), [-3, 7])
    np.testing.assert_allclose(given(np.array([-1000.0, 0, 1000])), [0, 0.5, 1])
    with pytest.raises(Undefined, match="fitted on validation facts, and there are none"):
        ConfidenceMapping(kind="logistic").fitted(facts([], []))


@pytest.mark.parametrize("options", [{"kind": "logistic", "weight": 1.0}, {"kind": "raw", "weight": 1.0, "bias": 0.0}])
def test_half_a_mapping_is_refused(options):
    with pytest.raises(InputError, match="weight and bias"):
        ConfidenceMapping(**options)


# Files


def write(folder, **rows):
    for split, text in rows.items():
        (folder / f"{split}.tsv").write_text(text)


def test_a_fourth_column_is_read_and_repetitions_are_kept(tmp_path):
    write(tmp_path, train="a\tr\tb\t0.5\nb\tr\ta\t1\n", test="a\tr\ta\t0.25\na\tr\ta\t.75\n")
    data = kgeval.load_dataset(tmp_path)
    assert len(data.test) == 1
    assert data.repeated == {"test": 1}
    assert data.confidences["test"].labels.tolist() == [0.25, 0.75]
    assert data.confidences["test"].largest(data.test).tolist() == [0.75]
    write(tmp_path, train="a\tr\tb\t0.5\nb\tr\ta\t1\n", test="a\tr\ta\t0.25\na\tr\ta\t.85\n")
    assert kgeval.load_dataset(tmp_path).sha256() != data.sha256()


def test_named_columns_of_confidences_are_read(tmp_path):
    write(tmp_path, train="head\trelation\ttail\tweight\na\tr\tb\t0.5\n", test="h\tr\tt\tw\na\tr\ta\t0.25\n")
    assert kgeval.load_dataset(tmp_path).confidences["test"].labels.tolist() == [0.25]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            {"train": "a\tr\tb\t0.5\n", "test": "a\tr\tb\t-1.5\n"},
            "line 1: the confidence '-1.5' is not a number from 0",
        ),
        (
            {"train": "a\tr\tb\t0.5\na\tr\tc\tx\n", "test": "a\tr\tb\t1\n"},
            "train.tsv, line 2: the confidence 'x' is not a",
        ),
        ({"train": "a\tr\tb\t0.5\n", "test": "a\tr\tb\n"}, "test.tsv: no confidences, but train.tsv has them"),
        ({"train": "a\tr\tb\tnan\n", "test": "a\tr\tb\tnan\n"}, "4 columns where 3"),
    ],
)
def test_bad_confidences_are_refused(tmp_path, rows, message):
    write(tmp_path, **rows)
    with pytest.raises(DatasetError, match=message):
        kgeval.load_dataset(tmp_path)


def test_a_task_needs_the_dataset_that_it_is_for():
    with pytest.raises(DatasetError, match="has no confidences: its files need a fourth column"):
        Confidences()(tied_model, random_dataset())
    with pytest.raises(kgeval.KgevalError, match="kgeval evaluate --task confidences"):
        classify(tied_model, DATA)


@pytest.mark.parametrize(
    ("confidences", "message"),
    [({"tset": [0.5]}, "unknown split 'tset'. Did you mean 'test'"), ({"test": [0.5, 1.0]}, "2 labels for 1 triples")],
)
def test_confidences_of_nothing_are_refused(confidences, message):
    said = {split: np.array(values) for split, values in confidences.items()}
    vocabularies = {"entities": kgeval.Vocabulary(["a", "b"]), "relations": kgeval.Vocabulary(["r"], "relation")}
    with pytest.raises(DatasetError, match=message):
        Dataset.build("d", {"test": [(0, 0, 1)]}, confidences=said, **vocabularies)


def test_confidences_belong_to_plain_rows_too():
    vocabularies = {"entities": kgeval.Vocabulary(["a", "b"]), "relations": kgeval.Vocabulary(["r"], "relation")}
    data = Dataset.build("d", {"test": [(0, 0, 1)]}, confidences={"test": np.array([0.5])}, **vocabularies)
    assert data.confidences["test"].labels.tolist() == [0.5]


def test_a_file_with_two_columns_of_confidences_is_refused(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text("head\trelation\ttail\tw\tConfidence\na\tr\tb\t0.5\t0.6\n")
    with pytest.raises(DatasetError, match=r"several columns are the confidence \('w' and 'Confidence'\)"):
        kgeval.load_dataset(tmp_path)
