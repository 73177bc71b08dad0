"""Inductive models of PyKEEN: ranked on the inference graph, in each of their modes, as PyKEEN ranks them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from pykeen.datasets.inductive import EagerInductiveDataset
from pykeen.evaluation import SampledRankBasedEvaluator
from pykeen.models import DistMult, InductiveNodePiece, InductiveNodePieceGNN
from pykeen.pipeline import pipeline
from pykeen.triples import TriplesFactory

import kgeval
import kgeval.pykeen
from kgeval.base.errors import ConfigError, DatasetError, InputError
from kgeval.data.known import known_answers
from kgeval.data.other_graphs import in_training_graph
from kgeval.models.scorer import PartitionedScorer, VectorScorer
from kgeval.ranking.corruption import Uniform
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run
from tests.data.test_inductive_graphs import grail
from tests.pykeen.conftest import assert_same_as_pykeen, trained
from tests.pykeen.conftest import run as evaluate_triples

MODES = {"valid": "validation", "test": "testing"}


@pytest.fixture(scope="module")
def inductive():
    """UMLS cut in two: triples among the first 60 entities are learned from, those among the others are evaluated."""
    data = kgeval.load_dataset("umls")
    ids = np.concatenate([triples.ids for triples in data.splits.values()])
    ids = ids[np.random.default_rng(0).permutation(len(ids))]
    rows = np.array([[data.entities[h], data.relations[r], data.entities[t]] for h, r, t in ids.tolist()])
    first, second = (rows[mask.all(axis=1)] for mask in (ids[:, [0, 2]] < 60, ids[:, [0, 2]] >= 60))
    relations = {label: index for index, label in enumerate(sorted(data.relations))}
    options = {"relation_to_id": relations, "create_inverse_triples": True}
    train, inference = (TriplesFactory.from_labeled_triples(part, **options) for part in (first, second[:1200]))
    labels = {"entity_to_id": inference.entity_to_id, "relation_to_id": relations}
    valid, test = (TriplesFactory.from_labeled_triples(part, **labels) for part in np.split(second[1200:1400], 2))
    return EagerInductiveDataset(train, inference, test, valid)


def learn(cls, graph, **options):
    model = cls(
        triples_factory=graph.transductive_training,
        inference_factory=graph.inductive_inference,
        num_tokens=3,
        embedding_dim=8,
        random_seed=0,
        **options,
    )
    return trained(model, graph.transductive_training, epochs=1, mode="training")


@pytest.fixture(scope="module")
def node_piece(inductive):
    return learn(InductiveNodePiece, inductive, aggregation="mlp")


@pytest.fixture(scope="module", params=["NodePiece", "GNN"])
def model(request, inductive, node_piece):
    return node_piece if request.param == "NodePiece" else learn(InductiveNodePieceGNN, inductive)


def parts_of(graph, split):
    """The evaluated triples, and the other known ones."""
    parts = {"valid": graph.inductive_validation, "test": graph.inductive_testing}
    triples = {name: part.mapped_triples for name, part in parts.items()}
    evaluated = triples.pop(split)
    return evaluated, [graph.inductive_inference.mapped_triples, *triples.values()]


@pytest.mark.parametrize("split", MODES)
def test_ranks_and_metrics_are_those_of_pykeens_evaluator(inductive, model, split):
    triples, known = parts_of(inductive, split)
    _, expected = assert_same_as_pykeen(model, triples, mode=MODES[split], additional_filter_triples=known)
    table = kgeval.pykeen.evaluate(model, inductive, split=split)
    for name in ("head", "relation", "tail", "side", "greater", "tied", "candidates"):
        np.testing.assert_array_equal(table.column(name), expected.column(name))
    assert table.column("raw_candidates").max() == inductive.inductive_inference.num_entities


def test_the_vectors_are_those_of_the_mode(inductive, model):
    sizes = {"training": inductive.transductive_training.num_entities, "testing": 75, "validation": 75}
    for mode, size in sizes.items():
        scorer = kgeval.pykeen.scorer_of(model, mode=mode)
        assert scorer.num_entities == size
        assert isinstance(scorer, PartitionedScorer | VectorScorer)


def test_a_model_with_a_graph_for_each_mode(inductive):
    """The entities of validation and of testing need not be as many."""
    other = inductive.transductive_training
    model = learn(InductiveNodePiece, inductive, validation_factory=other, test_factory=inductive.inductive_inference)
    modes = {mode: kgeval.pykeen.scorer_of(model, mode=mode).num_entities for mode in MODES.values()}
    assert modes == {"validation": other.num_entities, "testing": 75}
    assert len(kgeval.pykeen.evaluate(model, inductive)) == 200
    with pytest.raises(InputError, match=f"{other.num_entities} entity ids and no labels"):
        kgeval.pykeen.evaluate(model, inductive, split="valid")


def test_drawn_negatives_are_worth_what_pykeens_sampled_evaluator_gives_them(inductive, node_piece):
    corruption = Uniform(count=20, allow_known=False)
    data = kgeval.load_dataset(inductive)
    table = kgeval.pykeen.evaluate(node_piece, inductive, corruption=corruption)
    drawn = {}
    for side in ("head", "tail"):
        queries = corruption.queries(data.test, side)
        known = known_answers(queries, data.splits.values())
        rows = corruption.choose(queries, known, data).rows
        place = dict(zip(np.concatenate([queries.triples]).tolist(), queries.owners.tolist(), strict=True))
        drawn[side] = torch.tensor(np.stack([rows.row(place[triple]) for triple in range(len(data.test))]))
    negatives = {"head_negatives": drawn["head"], "tail_negatives": drawn["tail"]}
    theirs = SampledRankBasedEvaluator(inductive.inductive_testing, **negatives, mode="testing")
    values = theirs.evaluate(node_piece, inductive.inductive_testing.mapped_triples, batch_size=32, use_tqdm=False)
    summary = kgeval.summarize(table, ["mrr", "hits@10"])
    for name in ("mrr", "hits@10"):
        assert summary[name] == pytest.approx(values.get_metric(name), rel=1e-6)


def test_the_graph_may_come_from_labels(inductive, node_piece):
    """Ids that kgeval gives are those that PyKEEN gives."""
    expected = kgeval.summarize(kgeval.pykeen.evaluate(node_piece, inductive), ["mrr", "hits@3"])
    parts = (inductive.inductive_inference, inductive.inductive_validation, inductive.inductive_testing)
    rows = [part.label_triples(part.mapped_triples).tolist() for part in parts]
    relations = sorted(inductive.transductive_training.relation_to_id)
    data = kgeval.Dataset.from_labels(train=rows[0], valid=rows[1], test=rows[2], relations=relations)
    for evaluate in (kgeval.evaluate, kgeval.pykeen.evaluate):
        found = kgeval.summarize(evaluate(node_piece, data), ["mrr", "hits@3"])
        assert [found[name] for name in ("mrr", "hits@3")] == [expected[name] for name in ("mrr", "hits@3")]


@pytest.mark.parametrize("evaluate", [kgeval.evaluate, kgeval.pykeen.evaluate])
def test_a_model_of_one_graph_is_refused(inductive, evaluate):
    """Though it may have as many entities as the inference graph."""
    for factory in (inductive.inductive_inference, inductive.transductive_training):
        with pytest.raises(InputError, match=r"DistMult knows the entities of one graph, and .* is inductive"):
            evaluate(DistMult(triples_factory=factory), inductive)


def test_factories_that_number_relations_differently_are_refused(inductive):
    other = TriplesFactory.from_labeled_triples(np.array([["a", "other", "b"]]))
    graph = EagerInductiveDataset(other, inductive.inductive_inference, inductive.inductive_testing)
    with pytest.raises(DatasetError, match="relation_to_id differs from the training graph's"):
        kgeval.load_dataset(graph)


def test_ids_without_labels_say_nothing_of_common_entities(inductive):
    names = ("transductive_training", "inductive_inference", "inductive_testing", "inductive_validation")
    bare = [getattr(inductive, name).to_core_triples_factory() for name in names]
    data = kgeval.load_dataset(EagerInductiveDataset(*bare))
    assert not [note for note in data.notes if "are in the training graph too" in note]
    assert (len(data.entities), len(data.training_graph.entities)) == (75, 60)
    assert not in_training_graph(data, data.training_graph.train).any()


@pytest.mark.parametrize("stopper", [None, "early"])
def test_pykeens_pipeline_filters_by_the_inference_graph(inductive, stopper):
    """The pipeline filters by the triples of the training graph, whose ids are those of other entities."""
    result = pipeline(
        training=inductive.transductive_training,
        validation=inductive.inductive_validation,
        testing=inductive.inductive_testing,
        model=InductiveNodePiece,
        model_kwargs={"inference_factory": inductive.inductive_inference, "embedding_dim": 8},
        training_loop_kwargs={"mode": "training"},
        training_kwargs={"num_epochs": 1, "use_tqdm": False},
        stopper=stopper,
        stopper_kwargs={"frequency": 1, "patience": 1} if stopper else None,
        evaluator="kgeval",
        evaluator_kwargs={"mode": "testing", "inference": inductive.inductive_inference},
        evaluation_kwargs={"use_tqdm": False},
        random_seed=0,
    )
    expected = kgeval.summarize(kgeval.pykeen.evaluate(result.model, inductive), ["mrr", "hits@10"])
    assert result.metric_results.get_metric("mrr") == pytest.approx(expected["mrr"], rel=1e-6)
    assert result.metric_results.get_metric("hits_at_10") == pytest.approx(expected["hits@10"], rel=1e-6)


def test_foreign_ids_in_the_filter_are_refused(inductive, node_piece):
    triples, (inference, valid) = parts_of(inductive, "test")
    foreign = inference.clone()
    foreign[3, 0] = 80
    evaluator = kgeval.pykeen.KGEvalEvaluator(mode="testing")
    with pytest.raises(DatasetError, match=r"filter 0 \(in PyKEEN's pipeline the training graph's .* entity id 80"):
        evaluate_triples(node_piece, triples, evaluator, additional_filter_triples=[foreign, valid])


def test_a_configuration_trains_on_one_graph_and_evaluates_on_the_other(tmp_path, inductive):
    def rows(factory):
        return factory.label_triples(factory.mapped_triples).tolist()

    parts = {"train": inductive.inductive_inference, "valid": inductive.inductive_validation}
    evaluated = {split: rows(part) for split, part in {**parts, "test": inductive.inductive_testing}.items()}
    folder = grail(tmp_path, {"train": rows(inductive.transductive_training)}, evaluated)
    model = {"kind": "pykeen", "model": "InductiveNodePiece", "model_kwargs": {"embedding_dim": 8}}
    model["training_kwargs"] = {"num_epochs": 1, "batch_size": 512}
    config = tmp_path / "run.yaml"
    config.write_text(json.dumps({"dataset": str(folder), "model": model, "metrics": ["mrr"]}))
    (outcome,) = run(load_config(config), tmp_path / "out")
    ranks = outcome.ranks
    assert ranks.provenance.candidates == "all 75 entities"
    assert not [note for note in ranks.notes if "no labels" in note]  # it was trained with the ids of the dataset
    config.write_text(json.dumps({"dataset": str(folder), "model": {**model, "model": "DistMult"}}))
    with pytest.raises(ConfigError, match="DistMult only scores entities of train, and dataset small_ind is induct"):
        run(load_config(config), tmp_path / "other")
