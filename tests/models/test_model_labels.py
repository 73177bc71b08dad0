"""Ids of a model's own: with its labels, it ranks as it does in the dataset's ids; without them, that is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgeval.pykeen
from kgeval import CallableScorer, Dataset, ScoreTable, Triples, Vocabulary, evaluate, load_dataset
from kgeval.base.errors import CheckpointError, InputError
from kgeval.data.layouts.pykeen import from_factories
from kgeval.models.checkpoints import Checkpoint
from kgeval.models.families.bilinear import DistMult
from tests.conftest import random_dataset
from tests.models.conftest import ByVectors

DATA = random_dataset(3)
RNG = np.random.default_rng(0)
ENTITY, RELATION = RNG.normal(size=(30, 6)), RNG.normal(size=(4, 6))


def remarks(table):
    """The notes on the model; those on the graph, whatever the model, are left out."""
    return tuple(note for note in table.notes if "train" not in note)


NOTE = "the model has no labels; its ids were taken as those of dataset random."


class DotProducts(ByVectors):
    """DistMult as somebody would write it."""

    def __init__(self, entity, relation):
        self.entities, self.relations = entity, relation  # vectors, no labels
        super().__init__(lambda anchors, relations: entity[anchors] * relation[relations], entity.__getitem__)


def in_own_ids(order_of_entities, order_of_relations):
    """The same model in other ids: as a function, as vectors and as a table of scores."""
    entity, relation = ENTITY[order_of_entities], RELATION[order_of_relations]
    places = (np.argsort(order_of_entities), np.argsort(order_of_relations), np.argsort(order_of_entities))
    own = np.stack([place[ids] for place, ids in zip(places, DATA.test.ids.T, strict=True)], axis=1)
    tails = (entity[own[:, 0]] * relation[own[:, 1]]) @ entity.T
    heads = (entity[own[:, 2]] * relation[own[:, 1]]) @ entity.T
    return {
        "function": lambda h, r, t: (entity[h] * relation[r] * entity[t]).sum(1),
        "vectors": DotProducts(entity, relation),
        "table": ScoreTable(Triples.of(own), head=heads, tail=tails),
    }


STRAIGHT = in_own_ids(np.arange(30), np.arange(4))


def places(table):
    return table.to_pandas()[["triple", "side", "greater", "tied", "candidates", "raw_greater"]]


@settings(deadline=None, max_examples=5)
@given(st.permutations(range(30)), st.permutations(range(4)))
def test_labels_give_the_ranks_of_any_numbering(entities, relations):
    expected = places(evaluate(STRAIGHT["function"], DATA))
    labels = {
        "entities": [DATA.entities[index] for index in entities],
        "relations": [DATA.relations[index] for index in relations],
    }
    entities, relations = np.array(entities), np.array(relations)
    bare = Checkpoint(DistMult(ENTITY[entities], RELATION[relations]), "test", (Path("model"),))
    for name, model in {**in_own_ids(entities, relations), "checkpoint": bare}.items():
        table = evaluate(model, DATA, **labels)
        assert places(table).equals(expected), name
        assert remarks(table) == (), name


@pytest.mark.parametrize("model", STRAIGHT.values(), ids=STRAIGHT)
def test_a_model_without_labels_is_told_of(model):
    assert remarks(evaluate(model, DATA)) == (NOTE,)
    told = remarks(evaluate(model, DATA, entities=DATA.entities))
    assert told == ("the model has no relation labels; its relation ids were taken as those of dataset random.",)
    assert remarks(evaluate(model, DATA, entities=DATA.entities, relations=DATA.relations)) == ()


def test_labels_are_taken_as_people_have_them():
    order = np.roll(np.arange(30), 7)
    listed = [DATA.entities[index] for index in order]
    model = in_own_ids(order, np.arange(4))["function"]
    expected = places(evaluate(model, DATA, entities=listed, relations=DATA.relations))
    for labels in (tuple(listed), np.array(listed), Vocabulary(listed), {label: i for i, label in enumerate(listed)}):
        assert places(evaluate(model, DATA, entities=labels, relations=list(DATA.relations))).equals(expected)
        scorer = CallableScorer(model, entities=labels, relations=DATA.relations)
        assert places(evaluate(scorer, DATA)).equals(expected)


def test_every_way_in_takes_labels():
    data = load_dataset("nations")
    order = np.random.default_rng(1).permutation(len(data.entities))
    labels = {"entities": [data.entities[index] for index in order], "relations": data.relations}

    def straight(h, r, t):
        return (h * 7 + r * 3 + t * 5) % 11

    def own(h, r, t):
        return straight(order[h], r, order[t])

    explained = kgeval.explain(own, data, ["libkge"], **labels), kgeval.explain(straight, data, ["libkge"])
    assert explained[0]["libkge"].causes == explained[1]["libkge"].causes
    ours, theirs = kgeval.classify(own, data, **labels), kgeval.classify(straight, data)
    assert ours.column("score").tolist() == theirs.column("score").tolist()
    assert "labels" not in " ".join(ours.notes)


def test_a_scorers_own_attributes_are_its_labels():
    order = np.roll(np.arange(30), 7)
    model = in_own_ids(order, np.arange(4))["vectors"]

    class Named:
        entities = tuple(DATA.entities[index] for index in order)
        relations = DATA.relations
        num_entities, num_relations = 30, 4
        scores = staticmethod(model.scores)

    expected = places(evaluate(model, DATA, entities=Named.entities, relations=DATA.relations))
    assert places(evaluate(Named(), DATA)).equals(expected)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"entities": ["a", "b"]}, "the model has 30 entity ids, but there are 2 entity labels"),
        ({"relations": list("abcde")}, "the model has 4 relation ids, but there are 5 relation labels"),
        ({"entities": [f"x{i}" for i in range(30)]}, "no entity label of the model occurs in dataset random"),
        ({"entities": list(range(30))}, "entity label 0 is 0 of type int: labels are text"),
        ({"entities": "entities.tsv"}, "expected entity labels as a list of text, not str"),
        ({"entities": {"a": 1, "b": 2}}, "of entity labels, with the ids 0 to 1, each once; found {'a': 1, 'b': 2}"),
        (
            {"entities": {0: "acquired_abnormality" * 4}},
            "expected a dictionary {label: id} of entity labels, with the ids 0 to 0, each once; found {0: 'acquired_",
        ),
        (
            {"entities": {"a": "b"}},
            "expected a dictionary {label: id} of entity labels, with the ids 0 to 0, each once; found {'a': 'b'}.",
        ),
        ({"entities": ["a", "a"]}, "two ids carry the entity label 'a'"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    scorer = CallableScorer(STRAIGHT["function"], 30, 4)
    with pytest.raises(InputError) as refusal:
        evaluate(scorer, DATA, **labels)
    assert message in str(refusal.value)


def test_labels_that_contradict_the_models_own_are_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    kgeval.save_checkpoint(DistMult(ENTITY, RELATION), path, entities=DATA.entities, relations=DATA.relations)
    model = kgeval.load_checkpoint(path)
    same = evaluate(model, DATA, entities=list(DATA.entities))
    assert places(same).equals(places(evaluate(model, DATA)))
    with pytest.raises(CheckpointError, match=r"its own entity labels\. Leave entities= out, which has others"):
        evaluate(model, DATA, entities=list(DATA.entities)[::-1])


def test_a_callable_says_how_many_ids_it_has():
    with pytest.raises(InputError, match=r"needs num_relations, or the labels of its ids as relations=\[…\]"):
        CallableScorer(lambda h, r, t: h, 30)


# Live PyKEEN models


@pytest.fixture(scope="module")
def trained():
    from pykeen import models
    from pykeen.datasets import Nations

    graph = Nations()
    return graph, models.DistMult(triples_factory=graph.training, random_seed=0)


def test_a_live_model_on_its_own_dataset_needs_no_labels(trained):
    graph, model = trained
    for data in (graph, "nations", load_dataset("nations")):
        assert remarks(evaluate(model, data)) == remarks(kgeval.pykeen.evaluate(model, data)) == ()
    # Whose ids a dataset of one's own has, nobody knows.
    mine = from_factories(graph.factory_dict, name="mine")
    note = "the model has no labels; its ids were taken as those of dataset mine."
    assert remarks(evaluate(model, mine)) == remarks(kgeval.pykeen.evaluate(model, mine)) == (note,)
    evaluator = kgeval.pykeen.KGEvalEvaluator()
    evaluator.evaluate(model, graph.testing.mapped_triples, use_tqdm=False)
    assert evaluator.table.notes == ()


def test_a_live_model_on_a_folder_whose_ids_are_others(trained, tmp_path):
    graph, model = trained
    data = load_dataset("nations")
    brazil = data.entities.id("brazil")
    # Whom train does not name comes last in a folder, and in the order of the alphabet at PyKEEN.
    without = Triples(data.train.ids[(data.train.heads != brazil) & (data.train.tails != brazil)])
    data = Dataset.build("less", {**data.splits, "train": without}, entities=data.entities, relations=data.relations)
    for split, triples in data.splits.items():
        lines = ["\t".join((data.entities[h], data.relations[r], data.entities[t])) for h, r, t in triples.ids]
        (tmp_path / f"{split}.txt").write_text("\n".join(lines) + "\n")
    folder = load_dataset(tmp_path)
    assert list(folder.entities) != list(data.entities)
    labels = {"entities": graph.training.entity_to_id, "relations": graph.training.relation_to_id}

    def by_triple(table):
        columns = ["head_label", "relation_label", "tail_label", "side", "greater", "tied"]
        return sorted(map(tuple, table.to_pandas()[columns].astype(str).to_numpy().tolist()))

    expected = by_triple(kgeval.pykeen.evaluate(model, data))
    for rank in (evaluate, kgeval.pykeen.evaluate):
        (note,) = remarks(rank(model, folder))
        assert note == f"the model has no labels; its ids were taken as those of dataset {folder.name}."
        table = rank(model, folder, **labels)
        assert remarks(table) == ()
        assert by_triple(table) == expected
        assert by_triple(rank(model, folder)) != expected


def test_only_a_live_model_goes_into_pykeens_evaluate():
    with pytest.raises(InputError, match=r"takes a live PyKEEN model, not 'saved/folder'.*kgeval.load_checkpoint"):
        kgeval.pykeen.evaluate("saved/folder", "umls")
