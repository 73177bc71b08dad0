"""PyKEEN models that the tests train for one epoch: folders and bare pickles, whatever the order of the ids."""

from __future__ import annotations

import contextlib
import gzip
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from kgeval import Vocabulary, evaluate, load_checkpoint
from kgeval.checkpoints.readers.pykeen.reader import MODEL_FILE, NoFormula
from kgeval.data.layouts.pykeen import from_factories
from kgeval.errors import CheckpointError, InputError
from kgeval.scorers.reciprocal import Reciprocal
from tests.checkpoints.conftest import same_tables, train

CASES = {
    "TransE": ("TransE", {"embedding_dim": 4, "scoring_fct_norm": 1}, False),
    "ComplEx-inverse": ("ComplEx", {"embedding_dim": 4}, True),
    "RotatE": ("RotatE", {"embedding_dim": 4}, False),
    "BoxE": ("BoxE", {"embedding_dim": 4}, False),
    "ConvE": ("ConvE", {"embedding_dim": 12, "embedding_height": 3, "embedding_width": 4, "output_channels": 2}, False),
    "ConvE-channels": (
        "ConvE",
        {
            "embedding_dim": 24,
            "input_channels": None,
            "embedding_height": 3,
            "embedding_width": 4,
            "kernel_height": 2,
            "output_channels": 3,
        },
        False,
    ),
    "ConvE-inverse": ("ConvE", {"embedding_dim": 12, "output_channels": 2, "apply_batch_normalization": False}, True),
    "CP": ("CP", {"embedding_dim": 3, "rank": 2}, False),
    "DistMA": ("DistMA", {"embedding_dim": 4}, False),
    "HolE": ("HolE", {"embedding_dim": 5}, False),
    "MuRE": ("MuRE", {"embedding_dim": 4}, False),
    "PairRE-inverse": ("PairRE", {"embedding_dim": 4}, True),
    "QuatE": ("QuatE", {"embedding_dim": 2}, False),
    "RESCAL": ("RESCAL", {"embedding_dim": 3}, False),
    "SE": ("SE", {"embedding_dim": 4, "scoring_fct_norm": 1}, False),
    "SimplE": ("SimplE", {"embedding_dim": 3}, False),
    "SimplE-clamped": ("SimplE", {"embedding_dim": 3, "clamp_score": 0.1}, False),
    "TransD": ("TransD", {"embedding_dim": 4, "relation_dim": 3}, False),
    "TransF": ("TransF", {"embedding_dim": 4}, False),
    "TransH": ("TransH", {"embedding_dim": 4}, False),
    "TransR": ("TransR", {"embedding_dim": 4, "relation_dim": 3}, False),
    "UM-inverse": ("UM", {"embedding_dim": 4, "scoring_fct_norm": 1}, True),
    "TuckER-inverse": ("TuckER", {"embedding_dim": 4, "relation_dim": 3}, True),
}


def shuffled(factory, seed, *, inverse):
    """The same triples under ids in another order."""
    from pykeen.triples import TriplesFactory

    rng = np.random.default_rng(seed)
    ids, orders = factory.mapped_triples.clone(), []
    for columns, size in (((0, 2), factory.num_entities), ((1,), factory.num_relations)):
        order = torch.from_numpy(rng.permutation(size))
        for column in columns:
            ids[:, column] = order[ids[:, column]]
        orders.append(order.tolist())
    mappings = (factory.entity_to_id, factory.relation_to_id)
    entity_to_id, relation_to_id = (
        {label: order[index] for label, index in mapping.items()}
        for mapping, order in zip(mappings, orders, strict=True)
    )
    return TriplesFactory(ids, entity_to_id, relation_to_id, create_inverse_triples=inverse)


@pytest.fixture(scope="module", params=CASES)
def trained(request, factories, tmp_path_factory):
    """A folder with a trained model, the model, the dataset in its ids, and whether it has inverse relations."""
    name, kwargs, inverse = CASES[request.param]
    parts = {
        split: shuffled(factory, 3, inverse=inverse and split == "training") for split, factory in factories.items()
    }
    folder = tmp_path_factory.mktemp(name)
    model = train(name, parts, folder, kwargs)
    dataset = from_factories(parts, name="shuffled")
    return folder, model, dataset, inverse


@pytest.fixture
def one(transe_folder):
    """A folder with one trained model."""
    return transe_folder


def by_label(table):
    """Every column that does not speak in ids, in an order that does not depend on them."""
    keys = ["side", "head_label", "relation_label", "tail_label"]
    columns = ["greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates"]
    frame = table.to_pandas()[[*keys, *columns]]
    return sorted(map(tuple, frame.astype(dict.fromkeys(keys, "str")).to_numpy().tolist()))


def test_a_folder_ranks_as_the_live_model(trained):
    folder, model, dataset, _ = trained
    assert by_label(evaluate(load_checkpoint(folder, dataset=dataset), dataset)) == by_label(evaluate(model, dataset))


def test_labels_align_a_folder_with_a_dataset_of_other_ids(trained, nations):
    folder, _, dataset, _ = trained
    checkpoint = load_checkpoint(folder, dataset=nations)
    assert list(checkpoint.entities) != list(nations.entities)
    assert by_label(evaluate(checkpoint, nations)) == by_label(evaluate(checkpoint, dataset))


def test_a_bare_pickle_ranks_as_its_folder(trained, tmp_path):
    folder, _, dataset, _ = trained
    bare = tmp_path / MODEL_FILE
    bare.write_bytes((folder / MODEL_FILE).read_bytes())
    checkpoint = load_checkpoint(bare)
    assert checkpoint.entities is None
    assert same_tables(evaluate(checkpoint, dataset), evaluate(load_checkpoint(folder), dataset))


def test_inverse_relations_are_recognised(trained):
    folder, _, dataset, inverse = trained
    checkpoint = load_checkpoint(folder)
    assert isinstance(checkpoint.model, Reciprocal) == inverse
    assert checkpoint.num_relations == len(dataset.relations)
    assert checkpoint.family.num_relations == len(dataset.relations) * (2 if inverse else 1)


@pytest.mark.parametrize("name", ["model.pt", "model.pth", "model.pkl"])
def test_a_bare_pickle_may_have_any_name(one, tmp_path, name):
    (tmp_path / name).write_bytes((one / MODEL_FILE).read_bytes())
    assert load_checkpoint(tmp_path / name).format == "pykeen"


def test_the_format_may_be_named(one):
    assert load_checkpoint(one, format="pykeen").format == "pykeen"


@pytest.mark.parametrize("option", [{"reciprocal": True}, {"norm": 1}, {"model": "DistMult"}])
def test_options_that_the_pickle_tells_must_not_be_contradicted(one, option):
    with pytest.raises(CheckpointError, match=r"contradicts trained_model\.pkl, which says"):
        load_checkpoint(one, **option)


@pytest.mark.parametrize("option", [{"reciprocal": False}, {"norm": 2}, {"model": "TransE"}, {"model": "transe"}])
def test_options_that_the_pickle_tells_may_be_repeated(one, option):
    assert load_checkpoint(one, **option).family.options == {"norm": 2}


def test_an_unknown_option_is_refused(one):
    with pytest.raises(CheckpointError, match=r"unknown option 'nrm' for this checkpoint. Did you mean 'norm'\?"):
        load_checkpoint(one, nrm=4)


def test_a_dataset_of_other_labels_is_refused(one, nations):
    other = replace(nations, entities=Vocabulary([f"e{index}" for index in range(14)]))
    with pytest.raises(InputError, match="no entity label of the model occurs in dataset nations"):
        load_checkpoint(one, dataset=other)


@pytest.mark.parametrize(
    "damage", [b"", b"junk", gzip.compress(b"id\tlabel\nx\ty\n", mtime=0), gzip.compress(b"0\ta\n", mtime=0)]
)
def test_damaged_label_files_are_refused(one, tmp_path, damage):
    folder = shutil.copytree(one, tmp_path / "copy")
    (folder / "training_triples/entity_to_id.tsv.gz").write_bytes(damage)
    with pytest.raises(
        CheckpointError,
        match=r"entity_to_id\.tsv\.gz.*(cannot be read|an id is not)|14 entity rows, but [01] entity labels",
    ):
        load_checkpoint(folder)


def test_label_files_cut_short_or_altered_anywhere_are_refused(one, tmp_path):
    folder = shutil.copytree(one, tmp_path / "copy")
    path = folder / "training_triples/relation_to_id.tsv.gz"
    whole = path.read_bytes()
    for length in range(0, len(whole), 10):
        for damaged in (whole[:length], whole[:length] + bytes([whole[length] ^ 255]) + whole[length + 1 :]):
            path.write_bytes(damaged)
            # What is altered may be the time stamp or the name, which nobody reads.
            with contextlib.suppress(CheckpointError):
                assert list(load_checkpoint(folder).relations) == list(load_checkpoint(one).relations)


def test_a_folder_without_its_model_is_no_checkpoint(one, tmp_path):
    folder = shutil.copytree(one, tmp_path / "copy")
    (folder / MODEL_FILE).unlink()
    with pytest.raises(CheckpointError, match="in no known checkpoint format"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    ("kwargs", "reason"),
    [
        ({"scoring_fct_norm": 3}, r"its distance is the norm of p = 3; kgeval has 1 and 2"),
        ({"predict_with_sigmoid": True}, r"it ranks on sigmoids of its scores"),
    ],
)
def test_scores_that_kgeval_cannot_compute_are_left_to_the_live_model(factories, tmp_path, kwargs, reason):
    train("TransE", factories, tmp_path, {"embedding_dim": 3, **kwargs})
    with pytest.raises(NoFormula, match=reason + r".*Evaluate the live model instead"):
        load_checkpoint(tmp_path)
