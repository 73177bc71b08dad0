"""Protocols: every rule worked by hand, the notes where one applies, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from kgeval import Dataset, RankTable, ScoreTable, Triples, Vocabulary, evaluate, explain, framework_metrics, summarize
from kgeval.base.errors import InputError, MetricError, TableError
from kgeval.models.checkpoints import Checkpoint
from kgeval.models.families.bilinear import RESCAL, DistMult, SimplE
from kgeval.ranking.protocols.framework_metric import (
    float32,
    float64,
    histogram32,
    running32,
    sum32,
    sum_as_torch,
)
from kgeval.ranking.protocols.frameworks.evaluators import in_train, up_to_the_last_of_train
from kgeval.ranking.protocols.protocol import find_protocol, protocols
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset

EXPLAINED = {*protocols()} - {"ampligraph-best", "ampligraph-middle", "conve-128", "kb2e", "pyg", "tkbc"}
EXPLAINED -= {"ogb", "ogb-shared", "tgb"}
"""the protocols that are explained here. Left out are variants of others; protocols of one side, or of whole batches,
which this graph does not fill; and OGB's and TGB's, which have their own negatives"""

LABELS = ["a", "b", "c", "d", "e", "f"]
ENTITIES, RELATIONS = Vocabulary(LABELS), Vocabulary(["r"], "relation")
# The answer is b; c is another known one; a and f do not occur in train.
ROWS = {"train": [(1, 0, 2), (2, 0, 3), (3, 0, 4), (0, 0, 2)][:3], "test": [(0, 0, 1)], "valid": [(0, 0, 2)]}
SMALL = Dataset.build("small", {k: Triples.of(v) for k, v in ROWS.items()}, entities=ENTITIES, relations=RELATIONS)


def scored(*scores):
    """The scores of a … f for (a, r, ?)."""
    return ScoreTable(SMALL.test, tail=np.array([scores], np.float64))


def rank(name, scores, setting="filtered"):
    table = evaluate(scored(*scores), SMALL, sides="tail", protocol=name)
    return find_protocol(name).ranks(table, setting).tolist()[0]


@pytest.mark.parametrize(
    ("name", "filtered", "raw"),
    # a 0.3, the answer 0.5, c (known) 0.5, d 0.5, e 0.5, f 0.9: one above, two level, and a known one level.
    [
        ("standard", 3, 3.5),
        ("openke", 2, 2),
        ("torchkge", 4, 5),
        ("libkge", 3, 4),
        ("dglke", 4, 6),
        ("marius", 4, 6),
        ("pbg", 4, 5),
        # f does not occur in train, so it does not compete; unfiltered, the answer ties with itself.
        ("ampligraph", 3, 5),
        ("ampligraph1", 3, 5),
        ("ampligraph-best", -1, 1),
        ("ampligraph-middle", 1, 3),
        # f comes after the last entity of train, e.
        ("kbc", 3, 4),
    ],
)
def test_ties_and_the_answer_itself(name, filtered, raw):
    scores = (0.3, 0.5, 0.5, 0.5, 0.5, 0.9)
    assert (rank(name, scores), rank(name, scores, "raw")) == (filtered, raw)


@pytest.mark.parametrize(
    ("name", "scores", "expected"),
    [
        # 1e-5 + 1e-4 × 2 above the answer is a tie, and one tie is a whole rank; farther away is not.
        ("libkge", (0, 2.0, 9, 2.0002, 0, 0), 2),
        ("libkge", (0, 2.0, 9, 2.0003, 2.0, 0), 3),
        ("libkge", (0, 2.0, 9, 1.9998, 0, 0), 2),
        ("standard", (0, 2.0, 9, 1.9998, 0, 0), 1),
        # Thousandths are cut towards zero.
        ("ampligraph", (-1, 0.0019, 9, 0.001, -1, -1), 2),
        ("ampligraph", (-1, 0.0009, 9, -0.0009, -1, -1), 2),
        ("ampligraph", (-1, 0.0019, 9, 0.00099, -1, -1), 1),
        # Version 1 cuts hundred-thousandths.
        ("ampligraph1", (-1, 0.0019, 9, 0.001, -1, -1), 1),
        ("ampligraph1", (-1, 0.000019, 9, 0.00001, -1, -1), 2),
        ("ampligraph1", (-1, 0.000009, 9, -0.000009, -1, -1), 2),
        # A sigmoid in float32 is 1 from 16.64 on.
        ("tucker", (0, 16.7, 9, 30, 0, 0), 1.5),
        ("conve", (0, 15, 9, 16, 0, 0), 2),
    ],
)
def test_what_is_level_with_an_answer(name, scores, expected):
    assert rank(name, scores) == expected


@pytest.mark.parametrize("seed", range(10))
def test_ampligraph_1_is_its_own_comparison(seed):
    """``perform_comparision`` of its EmbeddingModel.py (1.4.0), of all entities of train and of the known ones.

    The answer, b, is among both; a rank is one more than the difference, or without a filter than the former.
    """
    scores = np.random.default_rng(seed).integers(-6, 7, 6) * 4e-6
    whole = (scores * 1e5).astype(np.int32)
    competing, known = [whole[[1, 2, 3, 4]], whole[[1, 2]]]  # train lacks a and f
    at_least, of_known = (int((part >= whole[1]).sum()) for part in (competing, known))
    assert rank("ampligraph1", scores) == at_least + 1 - of_known
    assert rank("ampligraph1", scores, "raw") == at_least + 1


def test_random_ties_are_those_of_the_summary():
    data = random_dataset(4)
    table = evaluate(lambda h, r, t: (h + t) % 3, data, protocol="sun-random")
    assert framework_metrics(table)["mrr"] == summarize(table, ["mrr"], ties="random")["mrr"]
    reciprocal_ranks = 1 / find_protocol("sun-random").ranks(table)
    assert np.mean(reciprocal_ranks) == pytest.approx(framework_metrics(table)["mrr"], rel=1e-12)


def test_an_empty_filter_is_the_protocols_or_given():
    data = random_dataset(4)
    raw = evaluate(lambda h, r, t: h - t, data, protocol="bordes-raw")
    assert raw.filter == ()
    assert np.array_equal(raw.column("greater"), raw.column("raw_greater"))
    assert evaluate(lambda h, r, t: h - t, data, protocol="bordes-raw", filter="train").filter == ("train",)


def test_candidates():
    for name, competing, labels in (("ampligraph", in_train, "bcde"), ("kbc", up_to_the_last_of_train, "abcde")):
        assert [LABELS[i] for i in np.flatnonzero(competing(SMALL))] == [*labels]
        table = evaluate(scored(*range(6)), SMALL, sides="tail", protocol=name)
        assert table.column("raw_candidates").tolist() == [len(labels)]


def test_means_differ_in_their_last_digits_only():
    ranks = np.random.default_rng(0).integers(1, 200, 5000).astype(np.float64)
    exact = np.mean(1 / ranks)
    assert float64(ranks, lambda r: 1 / r) == exact
    for mean in (float32, sum32, running32, histogram32):
        found = float(mean(ranks, lambda r: 1 / r))
        assert found != exact
        assert found == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("count", [*range(1, 80), 511, 544, 4097, 14_541, 32_767])
def test_the_sum_of_a_histogram_is_torchs_to_the_last_bit(count):
    import torch

    terms = np.random.default_rng(count).random(count, np.float32)
    assert float(sum_as_torch(terms)) == float(torch.sum(torch.from_numpy(terms)))


def without_raw(table):
    """The same ranks, as a file of filtered ranks tells them."""
    data = table.data
    for name in ("raw_greater", "raw_tied", "raw_candidates"):
        data = data.set_column(data.column_names.index(name), name, pa.nulls(len(table), pa.int64()))
    return replace(table, data=data)


@pytest.mark.parametrize("name", ["libkge", "openke", "pbg", "torchkge"])
def test_metrics_of_ranks_without_raw_counts(name):
    data = random_dataset(5)
    table = evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, data, protocol=name)
    expected = framework_metrics(table).values
    filtered = {metric.name for metric in find_protocol(name).framework_metrics if metric.setting == "filtered"}
    found = framework_metrics(without_raw(table)).values
    assert found == pytest.approx({key: expected[key] for key in expected if key in filtered}, rel=1e-5)


def test_a_cutoff_needs_raw_counts():
    table = without_raw(evaluate(lambda h, r, t: h + t, SMALL))
    with pytest.raises(TableError, match="raw ranks are not known"):
        framework_metrics(table, protocol="anyburl")


def test_a_protocol_of_ones_own_averages_as_it_says():
    own = replace(find_protocol("pbg"), name="own", mean=lambda ranks, values: values(ranks).max())
    table = evaluate(scored(0, 1, 2, 3, 4, 5), SMALL, sides="tail")
    assert framework_metrics(table, protocol=own)["mrr"] == 0.25


# Faults


def test_dglke_scores_tails_of_a_rescal_as_heads_but_not_the_answer():
    data, rng = random_dataset(5), np.random.default_rng(0)
    entity = rng.normal(size=(len(data.entities), 3))
    relation = rng.normal(size=(len(data.relations), 9))
    table = evaluate(RESCAL(entity, relation), data, protocol="dglke")
    forms = np.einsum("hi,rij,tj->hrt", entity, relation.reshape(-1, 3, 3), entity)
    for h, r, t in data.test.ids:
        known = {int(row[2]) for part in data.splits.values() for row in part.ids if (row[0], row[1]) == (h, r)}
        others = [e for e in range(len(data.entities)) if e not in known]
        here = (table.column("head") == h) & (table.column("relation") == r) & (table.column("tail") == t)
        here &= table.column("side").astype(str) == "tail"
        assert table.column("greater")[here] == [np.sum(forms[others, r, h] > forms[h, r, t])]
    heads = as_counts(table.where(table.column("side").astype(str) == "head"))
    assert heads == brute_force(lambda h, r, t: forms[h, r, t], data, sides=("head",))
    assert any(note.startswith("DGL-KE scores the candidates for the tail") for note in table.notes)


def test_dglke_cuts_the_scores_of_a_simple():
    data, rng = random_dataset(6), np.random.default_rng(0)
    shape = (len(data.entities), 8)
    model = SimplE(rng.normal(size=shape) * 4, rng.normal(size=(len(data.relations), 8)) * 4)
    table = evaluate(model, data, protocol="dglke")
    assert table.column("tied").max() > 5
    assert not evaluate(model, data).column("tied").any()
    ties = explain(model, data, ["dglke"])["dglke"].causes
    assert ties["clamp"] != 0 > ties["ties"]
    assert any("DGL-KE counts every tie against the answer" in note for note in framework_metrics(table).notes)


@pytest.mark.parametrize("name", ["tucker", "conve"])
def test_known_answers_keep_a_probability_of_zero(name):
    data, rng = random_dataset(4), np.random.default_rng(0)
    logits = rng.normal(size=(len(data.entities), len(data.relations), len(data.entities))) * 150
    table = evaluate(lambda h, r, t: logits[h, r, t], data, protocol=name)
    everyone = np.concatenate([split.ids for split in data.splits.values()])
    for row, side, *found in table.to_pandas()[["triple", "side", "greater", "tied"]].itertuples(index=False):
        h, r, t = data.test.ids[row]
        line = logits[h, r] if side == "tail" else logits[:, r, t]
        of_anchor = (everyone[:, 0] == h) if side == "tail" else (everyone[:, 2] == t)
        known = everyone[of_anchor & (everyone[:, 1] == r), 2 if side == "tail" else 0]
        chances = torch.sigmoid(torch.from_numpy(line).float()).numpy()
        answer = t if side == "tail" else h
        own = chances[answer]
        chances[known] = 0.0
        chances[answer] = own
        assert found == [(chances > own).sum(), (chances == own).sum() - 1]
    assert (table.column("tied")[table.column("score") < -89] > 0).any()


def test_marius_predicts_no_heads_without_inverse_relations():
    data = random_dataset(4)
    table = evaluate(lambda h, r, t: h * 7 % 5 - t, data, protocol="marius")
    assert set(table.column("side").astype(str)) == {"tail"}
    with pytest.raises(InputError, match=r"Marius predicts tails only.*Nothing is left to rank"):
        evaluate(lambda h, r, t: h - t, data, protocol="marius", sides="head")


def test_a_split_that_fills_no_batch_is_refused():
    with pytest.raises(InputError, match=r"the last 30 test triples fill no batch of 128.*Nothing is left to rank"):
        evaluate(lambda h, r, t: h - t, random_dataset(4), protocol="conve-128")


# Printouts


def test_an_infinite_number_is_text_in_json():
    table = evaluate(scored(0.3, 0.5, 0.5, 0.5, 0.5, 0.9), SMALL, sides="tail", protocol="ampligraph-middle")
    below = evaluate(scored(0.3, 0.5, 0.5, 0.1, 0.1, 0.1), SMALL, sides="tail", protocol="ampligraph-best")
    assert find_protocol("ampligraph-best").ranks(below).tolist() == [-1]
    assert framework_metrics(table)["mr_score"] == 1
    assert json.loads(json.dumps(framework_metrics(below).to_dict()))["notes"] == list(framework_metrics(below).notes)
    assert "1 rank is below 1" in framework_metrics(below).notes[-1]


def test_the_stored_ranks_print_the_same(tmp_path):
    data = random_dataset(4)
    ids = np.concatenate([data.test.ids, data.test.ids[:3]])
    repeated = Dataset.build("d", {**data.splits, "test": ids}, entities=data.entities, relations=data.relations)
    table = evaluate(lambda h, r, t: (h + t) % 3, repeated, protocol="libkge")
    table.to_parquet(tmp_path / "ranks.parquet")
    assert framework_metrics(RankTable.from_parquet(tmp_path / "ranks.parquet")) == framework_metrics(table)


def test_ranks_of_two_protocols_are_not_put_together():
    tables = [evaluate(lambda h, r, t: h - t, random_dataset(4), protocol=name) for name in ("libkge", "pbg")]
    with pytest.raises(InputError, match="cannot concatenate ranks of different protocols"):
        RankTable.concat(tables)


# Explanations


def test_ties_are_named_as_the_cause_of_a_baselines_spread():
    pytest.importorskip("pykeen")
    from tests.parity.test_baselines import baseline_scores

    data, scores = baseline_scores("marginal", "umls")
    explanation = explain(scores, data, ["pykeen", "openke", "torchkge", "libkge", "bordes-raw"])
    assert explanation.standard == pytest.approx(0.469075, abs=1e-6)
    assert explanation["pykeen"].value == explanation.standard
    ends = [explanation["pykeen"].optimistic, explanation["pykeen"].pessimistic]
    assert ends == pytest.approx([0.790783, 0.459300], abs=1e-6)
    for name, value in (("openke", 0.790783), ("torchkge", 0.459300)):
        assert explanation[name].value == pytest.approx(value, abs=2e-6)
        assert explanation[name].causes["ties"] == pytest.approx(value - 0.469075, abs=2e-6)
        others = [change for cause, change in explanation[name].causes.items() if cause != "ties"]
        assert np.abs(others).max() < 1e-5  # sums in float32
    assert explanation["libkge"].causes["tolerance"] != 0
    raw = explanation["bordes-raw"]
    assert raw.causes == {**dict.fromkeys(raw.causes, 0.0), "filter": raw.value - explanation.standard}
    moved = "The tie policy alone moves the MRR from 0.459300 (pessimistic) to 0.790783"
    assert any(moved in note for note in explanation.notes)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        (name, metric)
        for name in sorted(EXPLAINED)
        for metric in ("mrr", "head.mr", "tail.hits@3")
        if name + metric != "mariushead.mr"  # it ranks no heads with this model
    ],
)
def test_the_causes_add_up_to_the_difference(name, metric):
    explanation = explain(lambda h, r, t: (h * 5 + r * 3 + t * 11) % 7, random_dataset(8), [name], metric=metric)
    total = explanation.standard + sum(explanation[name].causes.values())
    assert total == pytest.approx(explanation[name].value, rel=1e-12)


def test_what_cannot_be_explained_is_refused():
    data = random_dataset(4)
    with pytest.raises(MetricError, match=r"cannot explain 'map': only mrr, mr and hits@k can be explained"):
        explain(lambda h, r, t: h - t, data, ["pykeen"], metric="map")
    with pytest.raises(MetricError, match="there are no head ranks"):
        explain(lambda h, r, t: h - t, data, ["marius"], metric="head.mrr")


def test_openke_ranks_a_checkpoint_of_the_other_sign_upside_down():
    data, rng = random_dataset(8), np.random.default_rng(0)
    vectors = rng.normal(size=(len(data.entities), 4)), rng.normal(size=(len(data.relations), 4))
    model = Checkpoint(DistMult(*vectors), "openke", (Path("model"),), entities=data.entities, relations=data.relations)
    table = evaluate(replace(model, lower_is_better=True), data, protocol="openke")
    expected = evaluate(replace(model, model=DistMult(-vectors[0], -vectors[1])), data, protocol="openke")
    plain = evaluate(model, data, protocol="openke")
    assert table.column("greater").tolist() == (plain.column("candidates") - 1 - plain.column("greater")).tolist()
    assert table.column("greater").tolist() == expected.column("greater").tolist()
    assert any("in reverse" in note for note in table.notes)
    assert not any("in reverse" in note for note in plain.notes)
