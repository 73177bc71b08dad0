"""State dictionaries of PyKEEN: bare, as ``save_model`` wraps them, and in the checkpoints of training loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pykeen.checkpoints import save_model
from pykeen.models import model_resolver
from pykeen.triples import TriplesFactory

from kgeval import Dataset, Vocabulary, evaluate, load_checkpoint
from kgeval.checkpoints.reader import formats
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_torch
from tests.checkpoints.conftest import train

TRAINED = {
    "BoxE": ({"embedding_dim": 4}, {"p": 2, "power_norm": False, "tanh_map": True}),
    "BoxE-l1": ({"embedding_dim": 4, "p": 1, "tanh_map": False}, {"p": 1, "power_norm": True, "tanh_map": False}),
    "ComplEx": ({"embedding_dim": 4}, {}),
    "DistMult": ({"embedding_dim": 4}, {}),
    "MuRE": ({"embedding_dim": 4}, {"p": 2, "power_norm": True}),
    "PairRE": ({"embedding_dim": 4, "p": 2}, {"p": 2, "entity_normalizer": "normalize"}),
    "PairRE-free": ({"embedding_dim": 4, "entity_normalizer": None}, {"p": 1, "entity_normalizer": "none"}),
    "QuatE": ({"embedding_dim": 2}, {"relation_normalizer": "normalize"}),
    "QuatE-free": ({"embedding_dim": 2, "relation_normalizer": None}, {"relation_normalizer": "none"}),
    "RESCAL": ({"embedding_dim": 3}, {}),
    "TuckER": ({"embedding_dim": 4, "relation_dim": 3}, {}),
}


def random_model(name, kwargs, factory):
    """A live model in float64."""
    model = model_resolver.make(name, triples_factory=factory, random_seed=0, **kwargs).double().eval()
    for parameter in model.parameters():
        parameter.data += torch.from_numpy(np.random.default_rng(1).normal(size=tuple(parameter.shape)) / 4)
    return model


def saved_loop(model, factory, path):
    """Write what a training loop saves of a model, as far as it is read."""
    ids = {f"{kind}_to_id_dict": getattr(factory, f"{kind}_to_id") for kind in ("entity", "relation")}
    torch.save({"model_state_dict": model.state_dict(), **ids}, path)


WRITERS = {
    "loop": saved_loop,
    "bare": lambda model, _, path: torch.save(model.state_dict(), path),
    "save_model": lambda model, _, path: save_model(model, path),
    "parallel": lambda model, _, path: torch.save(torch.nn.DataParallel(model).state_dict(), path),
}


def with_inverses(given, *, inverse):
    return TriplesFactory(
        given.mapped_triples, given.entity_to_id, given.relation_to_id, create_inverse_triples=inverse
    )


def same_order(checkpoint, model, factory):
    """Whether a checkpoint orders the candidates of some triples as the live model does."""
    triples, everyone = factory.mapped_triples[:20], np.arange(factory.num_entities)
    for side, predict in (("tail", model.predict_t), ("head", model.predict_h)):
        queries = Queries.of(Triples.of(triples.numpy()), side)
        found = checkpoint.scores(queries, everyone)
        rows = [(a, r) if side == "tail" else (r, a) for a, r in zip(queries.anchors, queries.relations, strict=True)]
        expected = predict(torch.tensor(rows)).detach().numpy()
        # A constant of a model or a power of its distance is no matter to a rank.
        if not np.array_equal(np.argsort(found), np.argsort(expected)):
            return False
    return True


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("case", TRAINED)
def test_a_state_scores_as_its_model(tmp_path, factories, case, writer, inverse):
    kwargs, options = TRAINED[case]
    name, factory = case.split("-")[0], with_inverses(factories["training"], inverse=inverse)
    model = random_model(name, kwargs, factory)
    path = tmp_path / "m.pt"
    WRITERS[writer](model, factory, path)
    assert [known for known, reader in formats().items() if reader.recognises(path)] == ["pykeen"]
    told = options if writer == "loop" else {**options, "reciprocal": inverse}
    checkpoint = load_checkpoint(path, model=name, **told)
    assert checkpoint.origins["reciprocal"] == ("m.pt" if writer == "loop" else "option")
    assert (checkpoint.entities is None) == (writer != "loop")
    assert same_order(checkpoint, model, factory)
    for missing in told:
        with pytest.raises(CheckpointError, match=f"does not say {missing}, .*: give the option {missing}="):
            load_checkpoint(path, model=name, **{key: value for key, value in told.items() if key != missing})


@pytest.mark.parametrize("inverse", [False, True])
def test_the_number_of_relations_of_the_dataset_tells_inverses(tmp_path, factories, nations, inverse):
    factory = with_inverses(factories["training"], inverse=inverse)
    model = random_model("ComplEx", {"embedding_dim": 4}, factory)
    save_model(model, tmp_path / "m.pt")
    checkpoint = load_checkpoint(tmp_path, dataset=nations, model="ComplEx")
    assert checkpoint.origins["reciprocal"] == "the number of relations of dataset nations"
    assert same_order(checkpoint, model, factory)
    counts = ["side", "triple", "greater", "tied", "candidates"]
    found, expected = (evaluate(scorer, nations).to_pandas()[counts] for scorer in (checkpoint, model))
    assert found.equals(expected)
    with pytest.raises(CheckpointError, match=r"reciprocal=.* contradicts the number of relations of dataset nations"):
        load_checkpoint(tmp_path, dataset=nations, model="ComplEx", reciprocal=not inverse)


def test_labels_beside_a_state_tell_its_ids(tmp_path, factories, nations):
    model = train("TransE", factories, tmp_path, {"embedding_dim": 3})
    torch.save(model.state_dict(), tmp_path / "m.pt")
    checkpoint = load_checkpoint(tmp_path / "m.pt", model="TransE", p=1)
    assert checkpoint.entities == nations.entities
    assert checkpoint.origins["reciprocal"] == "m.pt"
    assert load_checkpoint(tmp_path).files[0].name == "trained_model.pkl"


def test_an_odd_number_of_relations_has_no_inverses(tmp_path, factories):
    save_model(random_model("DistMult", {"embedding_dim": 3}, factories["training"]), tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="a reciprocal model has two rows per relation, so an even number"):
        load_checkpoint(tmp_path, model="DistMult", reciprocal=True)


def test_relations_of_another_number_do_not_tell(tmp_path, factories, nations):
    save_model(random_model("DistMult", {"embedding_dim": 3}, factories["training"]), tmp_path / "m.pt")
    fewer = Vocabulary(list(nations.relations)[:40], "relation")
    splits = {"train": Triples.of([(0, 0, 1)]), "test": Triples.of([(1, 0, 0)])}
    few = Dataset.build("few", splits, entities=nations.entities, relations=fewer)
    with pytest.raises(CheckpointError, match="of dataset few does not say reciprocal"):
        load_checkpoint(tmp_path, dataset=few, model="DistMult")


def test_what_is_no_embedding_has_no_formula(tmp_path, factories):
    save_model(
        random_model("CompGCN", {"embedding_dim": 4}, with_inverses(factories["training"], inverse=True)),
        tmp_path / "m.pt",
    )
    with pytest.raises(CheckpointError, match="its entity representation is no plain embedding"):
        load_checkpoint(tmp_path, model="DistMult")


def test_a_state_of_another_model_is_refused(tmp_path, factories):
    saved_loop(
        random_model("SimplE", {"embedding_dim": 3}, factories["training"]), factories["training"], tmp_path / "m.pt"
    )
    assert "relation_representations.1._embeddings.weight" in read_torch(tmp_path / "m.pt")["model_state_dict"]
    with pytest.raises(CheckpointError, match=r"a DistMult has no use for the tensors 'entity_representations\.1\."):
        load_checkpoint(tmp_path / "m.pt", model="DistMult")


def test_distances_that_are_squared_before_they_are_added_have_no_formula(tmp_path, factories):
    saved_loop(
        random_model("BoxE", {"embedding_dim": 3}, factories["training"]), factories["training"], tmp_path / "m.pt"
    )
    with pytest.raises(CheckpointError, match="its two distances are squared before they are added"):
        load_checkpoint(tmp_path / "m.pt", model="BoxE", p=2, power_norm=True, tanh_map=True)


def test_a_dictionary_without_vectors_of_entities_is_no_model(tmp_path):
    torch.save({"weights": torch.ones(3)}, tmp_path / "trained_model.pkl")
    with pytest.raises(CheckpointError, match="holds no vectors of entities under PyKEEN's names"):
        load_checkpoint(tmp_path)
