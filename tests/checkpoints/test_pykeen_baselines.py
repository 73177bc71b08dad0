"""PyKEEN's baselines without parameters, from the files: its own scores to the bit.

Which published numbers those make is in tests/parity/test_baselines.py, how ties explain them in tests/protocols.
"""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import evaluate, load_checkpoint, save_checkpoint, summarize
from kgeval.checkpoints.reader import formats
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.errors import CheckpointError
from tests.checkpoints.pickles import archive, called, made, mapping, module, named, program, value

MODELS = [
    ("MarginalDistributionBaseline", {}),
    ("MarginalDistributionBaseline", {"entity_margin": False}),
    ("MarginalDistributionBaseline", {"relation_margin": False}),
    ("MarginalDistributionBaseline", {"entity_margin": False, "relation_margin": False}),
    ("SoftInverseTripleBaseline", {}),
    ("SoftInverseTripleBaseline", {"threshold": 0.3}),
]


def saved(folder, name, graph, **kwargs):
    """Save a baseline as PyKEEN saves a model: the pickle of all of it, and the graph that it was made of."""
    import pykeen.models
    import torch
    from pykeen.datasets import get_dataset

    factory = get_dataset(dataset=graph).training
    model = getattr(pykeen.models, name)(triples_factory=factory, **kwargs)
    torch.save(model, folder / "trained_model.pkl")
    factory.to_path_binary(folder / "training_triples")
    return model


@pytest.mark.parametrize("graph", ["nations", "umls"])
@pytest.mark.parametrize(("name", "kwargs"), MODELS)
def test_scores_are_those_of_pykeen_to_the_bit(tmp_path, name, kwargs, graph):
    import torch

    model = saved(tmp_path, name, graph, **kwargs)
    checkpoint = load_checkpoint(tmp_path)
    pairs = [(entity, relation) for entity in range(model.num_entities) for relation in range(model.num_relations)]
    everyone = np.arange(model.num_entities)
    tails = Queries.of(Triples.of([(entity, relation, 0) for entity, relation in pairs]), "tail")
    asked = torch.as_tensor(np.stack([tails.anchors, tails.relations], axis=1))
    assert np.array_equal(checkpoint.scores(tails, everyone), model.score_t(asked).numpy())
    heads = Queries.of(Triples.of([(0, relation, entity) for entity, relation in pairs]), "head")
    asked = torch.as_tensor(np.stack([heads.relations, heads.anchors], axis=1))
    assert np.array_equal(checkpoint.scores(heads, everyone), model.score_h(asked).numpy())


def test_no_rank_depends_on_the_batch(tmp_path, nations):
    saved(tmp_path, "MarginalDistributionBaseline", "nations")
    model = load_checkpoint(tmp_path, dataset=nations)
    tables = [evaluate(model, nations, batch_size=size) for size in (1, 7, None)]
    assert len({summarize(table, ["mrr"])["mrr"] for table in tables}) == 1


def test_it_is_pykeens_alone_and_no_family(tmp_path):
    saved(tmp_path, "SoftInverseTripleBaseline", "nations")
    assert [name for name, reader in formats().items() if reader.recognises(tmp_path)] == ["pykeen"]
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint.describe()["model"] == "SoftInverseTripleBaseline"
    with pytest.raises(CheckpointError, match="it is of no model family, so that it cannot be converted"):
        save_checkpoint(checkpoint, tmp_path / "m.safetensors")


# Damage


def vector(numbers, kind):
    """A numpy array in a pickle."""
    array = np.asarray(numbers, kind)
    empty = called(named("numpy.core.multiarray", "_reconstruct"), named("numpy", "ndarray"), value((0,)), value(0))
    dtype = called(named("numpy", "dtype"), value(kind), value(False), value(True))
    content = b"C" + bytes([array.nbytes]) + array.tobytes()
    return empty + b"(K\1" + value(array.shape) + dtype + value(False) + content + b"tb"


def table(numbers=(0.5, 0.5, 1.0), places=(0, 2, 1), starts=(0, 2, 3), kinds=("f4", "i4", "i4")):
    """A sparse matrix of two rows and three columns."""
    parts = zip(("data", "indices", "indptr"), (numbers, places, starts), kinds, strict=True)
    arrays = {name: vector(part, kind) for name, part, kind in parts}
    return made(named("scipy.sparse._csr", "csr_matrix"), mapping(**arrays))


def baseline(file, **tables):
    sound = {"head_per_relation": table(), "tail_per_relation": table(), "num_entities": value(3)}
    none = {"head_per_tail": value(None), "tail_per_head": value(None), "num_relations": value(2)}
    kind = "pykeen.models.baseline.models.MarginalDistributionBaseline"
    return archive(file, program(module(kind, **{**none, **sound, **tables})))


def test_a_table_written_by_hand_is_read(tmp_path):
    checkpoint = load_checkpoint(baseline(tmp_path / "trained_model.pkl"))
    queries = Queries.of(Triples.of([(0, 0, 1), (0, 1, 1)]), "tail")
    assert checkpoint.scores(queries, np.arange(3)).tolist() == [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]


ELSEWHERE = "does not have 2 rows and 3 columns"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"head_per_relation": table(places=(0, 3, 1))}, ELSEWHERE),
        ({"head_per_relation": table(places=(0, -1, 1))}, ELSEWHERE),
        ({"head_per_relation": table(starts=(0, 2, 4))}, ELSEWHERE),
        ({"head_per_relation": table(starts=(0, 4, 3))}, ELSEWHERE),
        ({"head_per_relation": table(starts=(1, 2, 3))}, ELSEWHERE),
        ({"head_per_relation": table(starts=(0, 3))}, ELSEWHERE),
        ({"head_per_relation": table(numbers=(1, 2, 3), kinds=("i4", "i4", "i4"))}, "is no sparse matrix"),
        ({"head_per_relation": table(numbers=(1, np.nan, 3))}, "not finite"),
        ({"head_per_relation": value([1, 2])}, "is no sparse matrix"),
        ({"tail_per_head": table()}, "does not have 3 rows and 3 columns"),
        ({"num_entities": value("3")}, "it has no number of entities"),
        ({"num_relations": value(-2)}, "it has no number of relations"),
        ({"use_inverse_triples": value(True)}, "a baseline that was trained with create_inverse_triples=True"),
    ],
)
def test_a_damaged_baseline_is_one_clear_error(tmp_path, tables, message):
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(baseline(tmp_path / "trained_model.pkl", **tables))
