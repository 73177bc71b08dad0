"""Protocols on every split: the filters and the digits of the frameworks, by their own logs and evaluators."""

from __future__ import annotations

import re

import pytest

from kgeval import evaluate, explain, framework_metrics, load_checkpoint, load_dataset, summarize
from kgeval.ranking.protocols.protocol import protocols
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset

NUMBER = re.compile(r"\[[0-9a-f]{8}\] (\S+): ([0-9.e+-]+)$")


def logged_on_valid(log):
    """The metrics of the last validation in a LibKGE log; each evaluation's begin with hits at 1, by the alphabet."""
    evaluations = []
    for match in filter(None, map(NUMBER.search, log.read_text().splitlines())):
        if match[1] == "hits_at_1":
            evaluations.append({})
        if match[1].startswith(("mean_r", "hits_")):
            evaluations[-1][match[1]] = float(match[2])
    return [found for found in evaluations if "mean_rank_filtered_with_test" in found][-1]


@pytest.mark.parametrize("variant", ["complex", "rotate"])
def test_libkge_on_valid_prints_both_kinds_of_filtered_metrics(shared, variant):
    folder, labels = shared / f"checkpoints/libkge/umls-{variant}", shared / "checkpoints/libkge/_data/umls"
    data = load_dataset(labels)
    checkpoint = load_checkpoint(folder, dataset=data, labels=str(labels))
    printed = framework_metrics(evaluate(checkpoint, data, split="valid", protocol="libkge"))
    logged = logged_on_valid(folder / "kge.log")
    names = {name for name in logged if not name.endswith(("_head", "_tail"))}
    assert {name for name in printed.values if not name.endswith(("_head", "_tail"))} == names
    assert printed["mean_reciprocal_rank_filtered"] < printed["mean_reciprocal_rank_filtered_with_test"]
    for name in names:  # LibKGE adds reciprocal ranks up in float32, in an order of its own
        assert printed[name] == pytest.approx(logged[name], rel=2.5e-7), name


def test_libkge_on_test_has_one_kind():
    assert not any("with_test" in name for name in printed_by("libkge", "test").values)


def printed_by(name, split):
    return framework_metrics(
        evaluate(lambda h, r, t: (h * 5 + r * 3 + t * 11) % 17, random_dataset(8), split=split, protocol=name)
    )


def test_the_ranks_with_test_are_those_of_a_wider_filter():
    data, model = random_dataset(8), lambda h, r, t: (h * 7 + r * 3 + t * 11) % 97 + t / 64
    table = evaluate(model, data, split="valid", protocol="libkge")
    columns = ("greater", "tied", "candidates")
    counts = zip(*(table.column(f"with_test_{name}").tolist() for name in columns), strict=True)
    tolerance = lambda here, truth: abs(here - truth) <= 1e-5 + 1e-4 * abs(truth)  # noqa: E731
    expected = brute_force(model, data, split="valid", level=tolerance)
    assert dict(zip(as_counts(table), counts, strict=True)) == {key: it[:3] for key, it in expected.items()}
    assert table.filter == ("train", "valid")


@pytest.mark.parametrize("split", ["valid", "test"])
def test_pykeen_on_a_split_is_what_its_stopper_and_its_pipeline_find(split):
    """On valid, the early stopper hands over train; on test, the pipeline hands over train and valid."""
    pytest.importorskip("pykeen")
    from pykeen.datasets import Nations
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import DistMult

    graph = Nations()
    model = DistMult(triples_factory=graph.training, random_seed=0).eval()
    known, evaluated = [graph.training.mapped_triples], graph.validation
    if split == "test":
        known, evaluated = [*known, graph.validation.mapped_triples], graph.testing
    theirs = RankBasedEvaluator().evaluate(
        model=model, mapped_triples=evaluated.mapped_triples, additional_filter_triples=known, use_tqdm=False
    )
    table = evaluate(model, load_dataset("nations"), split=split, protocol="pykeen")
    ours = framework_metrics(table)
    for name in ("arithmetic_mean_rank", "hits_at_1", "inverse_harmonic_mean_rank"):
        key = f"both.realistic.{name}"
        assert ours[key] == pytest.approx(theirs.get_metric(key), rel=1e-6)
    by_chance = theirs.get_metric("both.realistic.adjusted_inverse_harmonic_mean_rank")
    assert summarize(table, ["amrr"], chance="exact")["amrr"] == pytest.approx(by_chance, abs=1e-6)  # of float32 ranks
    assert summarize(table, ["amrr"], chance="without-answer")["amrr"] != pytest.approx(by_chance, abs=1e-3)


FILTERS = {
    "pykeen": {"train": {"train"}, "valid": {"train", "valid"}},
    "libkge": {"train": {"train", "valid"}, "valid": {"train", "valid"}},
    **{name: {split: {split} for split in ("train", "valid", "test")} for name in ("regcn", "tgb")},
    **{name: {"train": set(), "valid": set(), "test": set()} for name in ("ogb", "ogb-shared", "bordes-raw", "pyg")},
}
"""by which splits a framework filters each split, where those are not all three"""


@pytest.mark.parametrize("name", sorted(protocols()))
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_every_protocol_filters_every_split_as_its_framework(name, split):
    expected = FILTERS.get(name, {}).get(split, {"train", "valid", "test"})
    assert set(protocols()[name].filter[split]) == expected


def test_explain_names_the_filter_on_valid():
    model, data = lambda h, r, t: (h * 5 + r * 3 + t * 11) % 97, random_dataset(8)
    explanation = explain(model, data, ["pykeen", "rotate"], split="valid")
    pykeen, rotate = explanation["pykeen"], explanation["rotate"]
    assert pykeen.causes["filter"] == pytest.approx(pykeen.value - explanation.standard, abs=1e-15)
    assert pykeen.causes["filter"] < 0 == rotate.causes["filter"]


# Digits


@pytest.mark.parametrize("variant", ["RotatE", "ComplEx"])
def test_the_rotate_code_logs_six_decimals(shared, variant):
    folder = shared / f"checkpoints/rotate/umls-{variant}"
    logged = dict(re.findall(r"Test (\S+) at step \d+: (\S+)", (folder / "train.log").read_text()))
    data = load_dataset(shared / "checkpoints/rotate/_data/umls")
    assert framework_metrics(evaluate(load_checkpoint(folder, dataset=data), data, protocol="rotate")).texts == logged


@pytest.mark.parametrize(
    ("name", "printed", "pattern"),
    [
        ("rotate", "MRR", r"\d\.\d{6}"),
        ("openke", "averaged(filter) MRR", r"\d\.\d{6}"),
        ("marius", "MRR", r"\d\.\d{6}"),
        ("pbg", "mrr", r"\d\.\d{1,6}"),
        ("pbg", "pos_rank", r"\d\d\.\d{4}"),
        ("torchkge", "mrr, filtered", r"\d\.\d{1,3}"),
        ("torchkge", "mean_rank, raw", r"\d+"),
        ("kbc", "hits@10 lhs", r"\d\.\d{4}"),
        ("dglke", "MRR", r"\d\.\d{12,}"),
        ("tucker", "Mean reciprocal rank", r"\d\.\d{12,}"),
    ],
)
def test_digits_are_the_frameworks(name, printed, pattern):
    found = printed_by(name, "test")
    assert re.fullmatch(pattern, found.texts[printed])
    assert abs(float(found.texts[printed]) - found[printed]) < 1
