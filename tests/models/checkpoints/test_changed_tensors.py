"""Every tensor of a checkpoint in turn deleted, reshaped, retyped, spoilt: refused, or no matter to a score."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError, KgevalError
from kgeval.models.checkpoints.readers.arrays import ArrayModel
from tests.models.checkpoints.changes import CHANGES, tensors
from tests.models.checkpoints.conftest import train
from tests.models.checkpoints.frameworks import ALL, MODULES, VARIANTS, copied, folder_of, options_of
from tests.models.checkpoints.layouts import FURTHER, WRITERS, small_graph, tucker_code
from tests.models.checkpoints.made import MADE, at_times

INDISTINGUISHABLE = {("pyg", "rel_emb_im.weight", "deleted"), ("tkbc", "embeddings.3.weight", "deleted")}
"""a ComplEx of PyTorch Geometric without them has the very tensors of a RotatE, a TNTComplEx those of a TComplEx"""

ALWAYS = tuple(CHANGES)[:4]
"""what no table takes: text has no types, and finished scores may be infinite"""

CHANGES_OF = {
    "kb2e": (*ALWAYS, *tuple(CHANGES)[7:]),
    "word2vec_text": (*ALWAYS, *tuple(CHANGES)[7:]),
    "scores": tuple(CHANGES)[:7],
}

USUAL = ("deleted", "truncated", "flattened", "int")

SHAPES = ("deleted", "truncated", "narrowed", "flattened")
"""what a formula may notice; numbers and types are looked at before there is any formula"""

NATIONS = ("complex", "rotate", "transe", "tucker")
"""models in a layout from before PyKEEN 1.8"""


@pytest.fixture(scope="module")
def graph():
    return small_graph()


def what_scores(folder, dataset, options):
    """All that the scores of a checkpoint are computed from; what it is refused with, if it is."""
    try:
        checkpoint = load_checkpoint(folder, dataset=dataset, **options)
    except KgevalError as error:
        return str(error), {}
    if isinstance(checkpoint, ArrayModel):
        arrays = {side: checkpoint.model.array_of(side) for side in checkpoint.model.sides}
        return (checkpoint.entities, checkpoint.relations), {**checkpoint.arrays, **arrays}
    family = checkpoint.family
    said = (family.name, family.options, type(checkpoint.model), checkpoint.entities, checkpoint.relations)
    return said, {name: np.array(array) for name, array in family.arrays.items()}


def scored_alike(one, other):
    """Whether two checkpoints have the same formula, arrays and labels: then they give every triple the same score."""
    same = one[0] == other[0] and one[1].keys() == other[1].keys()
    return same and all(np.array_equal(array, other[1][name]) for name, array in one[1].items())


def changed_in_turn(tensors, changes, in_turn):
    """Give each tensor no change, its changes and one of the others, in turn.

    PBG's further relations, which are written as the first one is, have one change each, in turn.
    """
    for number, tensor in enumerate(tensors):
        relation = re.search(r"relations/(\d+)/", tensor.name)
        further = relation is not None and int(relation[1]) > 0
        every, turns = ((), (*changes, *in_turn)) if further else (("", *changes), in_turn)
        yield tensor, (*every, *([turns[number % len(turns)]] if turns else []))


def mistaken(framework, folder, dataset, options, changes, in_turn=()):
    """Change every tensor; return the changes that make another model, and how many were refused."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    sound = what_scores(folder, dataset, options)
    assert sound[1], sound[0]
    found, refused = [], 0
    for tensor, own in changed_in_turn(tensors(framework, folder), tuple(changes), tuple(in_turn)):
        for change in own:
            array = CHANGES[change](tensor.array) if change else tensor.array
            if (
                change
                and array is not None
                and array.dtype == tensor.array.dtype
                and np.array_equal(array, tensor.array)
            ):
                continue
            tensor.write(array)
            changed = what_scores(folder, dataset, options)
            refused += not changed[1]
            known = (framework, tensor.name.rpartition("/")[2], change) in INDISTINGUISHABLE
            if not known and not (scored_alike(sound, changed) if changed[1] or not change else changed[0]):
                found.append((tensor.name, change))
            for path, content in files.items():
                if not path.exists() or path.read_bytes() != content:  # the rest stays as it was read
                    path.write_bytes(content)
    return found, refused


UNCHANGED = {
    "word2vec_binary",
    "word2vec_lines",
    "gensim",
    "gensim_old",
    "gensim_model",
    "gensim_model_apart",
    "lists",
    "trec",
}
"""what no tensor is read of for this file: a binary, a pickle of objects, a list"""

MATRICES = [(name, writer) for name, writer in [*WRITERS, *FURTHER] if writer.__name__ not in UNCHANGED]


@pytest.mark.parametrize(("name", "writer"), MATRICES, ids=[writer.__name__ for _, writer in MATRICES])
def test_no_change_makes_another_model(tmp_path, graph, name, writer):
    options = writer(tmp_path)[2]
    changes = CHANGES_OF.get(writer.__name__, CHANGES)
    found, refused = mistaken(name, tmp_path, graph, options, changes)
    assert found == []
    assert refused >= (6 if (name, writer) in FURTHER else 12)


@pytest.mark.parametrize("name", sorted({*MADE} - UNCHANGED))
def test_no_change_makes_another_model_of_a_made_one(tmp_path, graph, name):
    framework, write, options = MADE[name]
    data = at_times(graph) if name == "tkbc" else graph
    write(tmp_path, data)
    found, refused = mistaken(framework, tmp_path, data, options, CHANGES_OF.get(name, CHANGES))
    assert found == []
    assert refused >= 6


def test_no_change_makes_another_model_of_a_pickled_module(tmp_path, factories, nations):
    train("TuckER", factories, tmp_path, {"embedding_dim": 3, "relation_dim": 2})
    found, refused = mistaken("pykeen", tmp_path, nations, {}, USUAL)
    assert found == []
    assert refused >= 12


def test_a_negative_variance_is_named(tmp_path, graph):
    tucker_code(tmp_path)
    (tensor,) = (tensor for tensor in tensors("tucker", tmp_path) if tensor.name == "bn0.running_var")
    tensor.write(tensor.array - tensor.array.max() - np.float32(1e-6))  # a square root would still take it, with eps
    with pytest.raises(CheckpointError, match=r"'bn0\.running_var' holds -\S+; expected finite numbers from 0\.$"):
        load_checkpoint(tmp_path, dataset=graph)


SMALLEST = [(framework, variants.split()[0]) for framework, variants in VARIANTS.items()]

REAL = [
    pytest.param(*case, marks=[] if case in SMALLEST else pytest.mark.slow)
    for case in ALL
    if case not in MODULES and case[0] != "transx"
]


@pytest.mark.parametrize(("framework", "variant"), REAL)
def test_no_change_makes_another_model_of_a_real_one(tmp_path, shared, umls, framework, variant):
    """All changes of one of each framework; other values and types, in the others, in turn."""
    copied(folder_of(shared, framework, variant), tmp_path)
    first = (framework, variant) in SMALLEST
    changes, in_turn = (CHANGES, ()) if first else (SHAPES, [change for change in CHANGES if change not in SHAPES])
    found, refused = mistaken(framework, tmp_path, umls, options_of(shared, framework, variant), changes, in_turn)
    assert found == []
    assert refused >= 6


@pytest.mark.slow
@pytest.mark.parametrize("variant", NATIONS)
def test_no_change_makes_another_model_of_an_older_one(tmp_path, shared, nations, variant):
    copied(shared / f"checkpoints/pykeen-nations-{variant}", tmp_path)
    found, refused = mistaken("pykeen", tmp_path, nations, {}, CHANGES)
    assert found == []
    assert refused >= 12
