"""Calls from Python that are wrong: each is refused by an error of kgeval's own that says what to do instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import KgevalError
from kgeval.models.families.bilinear import DistMult
from tests.data.folders import write


@pytest.fixture(scope="module")
def graph():
    return kgeval.load_dataset("nations")


@pytest.fixture(scope="module")
def saved(graph, tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("saved") / "model.safetensors", np.random.default_rng(0)
    model = DistMult(rng.normal(size=(14, 4)), rng.normal(size=(55, 4)))
    kgeval.save_checkpoint(model, path, entities=graph.entities, relations=graph.relations)
    return path


WRONG = {
    "a checkpoint that is none": (
        lambda path, data: kgeval.load_checkpoint(None),
        "expected the path of a checkpoint (a file or a folder), found None.",
    ),
    "a dataset that is none": (
        lambda path, data: kgeval.load_checkpoint(path, dataset=5),
        "a dataset is a folder or a PyKEEN name, not 5. For triples in memory, call kgeval.Dataset.from_labels.",
    ),
    "another dataset": (
        lambda path, data: kgeval.load_checkpoint(path, dataset="umls"),
        "no entity label of the model occurs in dataset umls",
    ),
    "scores of labels": (
        lambda path, data: kgeval.load_checkpoint(path).scores(("virus", "affects", None), 10),
        "scores takes Queries and an array of candidate ids, not ('virus', 'affects', None) and 10. For",
    ),
    "scores of labels, from a function": (
        lambda path, data: kgeval.CallableScorer(lambda h, r, t: h, 14, 55).scores(("virus", "affects", None), 10),
        "Queries.of(Triples.of([(head, relation, tail)]), 'tail')",
    ),
    "scores of labels, from a table": (
        lambda path, data: kgeval.ScoreTable([(0, 0, 1)], tail=np.zeros((1, 14))).scores([(0, 0)], np.arange(3)),
        "scores takes Queries",
    ),
    "scores of labels, from vectors": (
        lambda path, data: DistMult(np.ones((2, 2)), np.ones((1, 2))).scores((0, 0), [1]),
        "scores takes Queries",
    ),
    "a label for an id": (
        lambda path, data: data.entities["brazil"],
        "a vocabulary gives the label of an id. For the id of a label, call .id('brazil').",
    ),
    "a count without its name": (
        lambda path, data: kgeval.corruption.Uniform(50),
        "Uniform takes its settings by name (count, seed, allow_known), found 50.",
    ),
    "a number for a model": (
        lambda path, data: kgeval.evaluate(5, data),
        "cannot score with a int: give a checkpoint (kgeval.load_checkpoint), a PyKEEN model, a callable "
        "f(heads, relations, tails), a score table.",
    ),
    "a model's path that is not there": (
        lambda path, data: kgeval.evaluate("no-model.safetensors", data),
        "no such file or folder 'no-model.safetensors'.",
    ),
    "no labels": (
        lambda path, data: kgeval.evaluate(lambda h, r, t: h, data, entities=[]),
        "no entity label of the model occurs in dataset nations: the model has none, the dataset 'brazil'.",
    ),
    "known answers as lists of ids": (
        lambda path, data: kgeval.count(np.zeros((2, 3)), [0, 1], [[1], [1, 2]]),
        "known: expected bool[2, 3] or a pair (offsets, columns) (",
    ),
    "answers of several lengths": (
        lambda path, data: kgeval.count(np.zeros((2, 3)), [[0], [1, 2]]),
        "targets: expected whole numbers in one dimension (",
    ),
    "triples of several lengths": (
        lambda path, data: kgeval.Recorder(data).update([(0, 1, 2), (0, 1)], np.zeros((2, 14)), side="tail"),
        "triples: expected int[triple, 3], head, relation, tail (",
    ),
}


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_refused_with_the_cure(call, message, saved, graph):
    with pytest.raises(KgevalError) as refusal:
        call(saved, graph)
    assert message in str(refusal.value)


@pytest.mark.parametrize("spelled", [str, Path], ids=["text", "path"])
def test_the_path_of_a_checkpoint_is_a_model(saved, graph, spelled):
    model = kgeval.load_checkpoint(saved, dataset=graph)
    expected = kgeval.evaluate(model, graph)
    assert kgeval.evaluate(spelled(saved), graph).data.equals(expected.data)
    explained = [kgeval.explain(given, graph, ["openke"]).to_dict() for given in (spelled(saved), model)]
    assert explained[0] == explained[1]
    labels = [kgeval.classify(given, graph).column("score").tolist() for given in (spelled(saved), model)]
    assert labels[0] == labels[1]


def test_a_bad_argument_is_told_without_internal_words(graph):
    with pytest.raises(KgevalError) as refusal:
        kgeval.evaluate(lambda h, r, t: h, graph, split="tset")
    told = "arguments of the evaluation:\n  split: there is no split and no file 'tset'. Did you mean 'test'?"
    assert str(refusal.value) == told


def test_the_cures_work(saved, graph):
    from kgeval.data.queries import Queries
    from kgeval.data.triples import Triples

    model = kgeval.load_checkpoint(saved)
    brazil = graph.entities.id("brazil")
    queries = Queries.of(Triples.of([(brazil, 0, 1)]), "tail")
    assert model.scores(queries, np.arange(model.num_entities)).shape == (1, 14)
    assert graph.entities[brazil] == "brazil"


def test_a_dataset_is_taken_by_name_by_folder_and_as_pykeens(saved, graph, tmp_path):
    from pykeen.datasets import Nations

    for split, triples in graph.splits.items():
        labels = [(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in triples.ids]
        write(tmp_path, {split: labels})
    expected = kgeval.evaluate(kgeval.load_checkpoint(saved), graph).column("greater").tolist()
    for dataset in ("nations", tmp_path, str(tmp_path), Nations, Nations(), graph):
        model = kgeval.load_checkpoint(saved, dataset=dataset)
        assert kgeval.evaluate(model, dataset).column("greater").tolist() == expected
