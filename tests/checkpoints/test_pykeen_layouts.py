"""PyKEEN pickles that are written by hand: what is read of them, and that nothing ill-formed gets through."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.checkpoints.readers.pykeen.modules import NoFormula
from kgeval.errors import CheckpointError
from tests.checkpoints.pickles import (
    archive,
    called,
    embedding,
    interaction,
    made,
    matrix,
    model,
    module,
    named,
    program,
    storage,
    tensor,
    value,
)

ENTITIES, RELATIONS, WIDTH = 5, 4, 4

NUMBERS = {
    "e": np.arange(20, dtype=np.float32).tobytes(),
    "r": np.arange(16, dtype=np.float32).tobytes(),
    "core": np.arange(64, dtype=np.float32).tobytes(),
    "v": np.arange(1, 5, dtype=np.float32).tobytes(),
    "i": np.arange(20, dtype=np.int64).tobytes(),
    "c": np.arange(20, dtype=np.complex64).tobytes(),
    "nan": np.full(20, np.nan, np.float32).tobytes(),
}

ENTITY = matrix("e", ENTITIES, WIDTH)
RELATION = matrix("r", RELATIONS, WIDTH)
VECTOR = tensor(storage("v", 4), (4,), (1,))
CORE = tensor(storage("core", 64), (4, 4, 4), (16, 4, 1))
NOTHING = value(None)


def plain(scores, entity=ENTITY, relation=RELATION, **attributes):
    return model(scores, embedding(entity), embedding(relation), **attributes)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "trained_model.pkl"


def load(file, *parts, **options):
    return load_checkpoint(archive(file, program(*parts), NUMBERS), **options)


def test_a_model_written_by_hand_is_read(file):
    checkpoint = load(file, plain(interaction("TransE", p=value(1)), use_inverse_triples=value(False)))
    assert (checkpoint.family.name, checkpoint.family.options) == ("TransE", {"norm": 1})
    assert checkpoint.family.entity.tolist() == np.arange(20.0).reshape(5, 4).tolist()


def test_inverse_relations_alternate_with_their_relations(file):
    checkpoint = load(file, plain(interaction("DistMult"), use_inverse_triples=value(True)))
    assert checkpoint.family.relation[:, 0].tolist() == [0, 8, 4, 12]
    assert checkpoint.num_relations == 2


def test_complex_vectors_are_interleaved(file):
    checkpoint = load(file, plain(interaction("ComplEx")))
    assert checkpoint.family.entity[0].tolist() == [0, 2, 1, 3]


def normalisation(**parts):
    """A batch normalisation of four features, but for the parts that are given."""
    sound = {"running_mean": VECTOR, "running_var": VECTOR}, {"weight": VECTOR, "bias": VECTOR}
    buffers, parameters = ({**arrays, **parts.pop(name, {})} for arrays, name in zip(sound, TABLES, strict=True))
    return module("torch.nn.BatchNorm1d", buffers=buffers, parameters=parameters, **{"eps": value(1.0), **parts})


TABLES = ("buffers", "parameters")


def normalisations(**parts):
    """The two batch normalisations of a TuckER, the first with other parts."""
    return {"head_batch_norm": normalisation(**parts), "head_relation_batch_norm": normalisation()}


def test_a_batch_normalisation_becomes_a_scale_and_a_shift(file):
    core = {"core_tensor": CORE}
    checkpoint = load(file, plain(interaction("TuckER", modules=normalisations(), parameters=core)))
    numbers = np.arange(1.0, 5.0)
    for which in ("head", "product"):
        scale, shift = (getattr(checkpoint.family, f"{which}_{part}") for part in ("scale", "shift"))
        assert scale == pytest.approx(numbers / np.sqrt(numbers + 1), rel=1e-15)
        assert shift == pytest.approx(numbers - numbers**2 / np.sqrt(numbers + 1), rel=1e-15)


def test_a_batch_normalisation_may_have_no_weight_and_no_bias(file):
    """Then they are ``None``, which is another thing than that they are missing."""
    modules = normalisations(parameters={"weight": NOTHING, "bias": NOTHING})
    checkpoint = load(file, plain(interaction("TuckER", modules=modules, parameters={"core_tensor": CORE})))
    assert checkpoint.family.head_scale == pytest.approx(1 / np.sqrt(np.arange(1.0, 5.0) + 1), rel=1e-15)


@pytest.mark.parametrize("name", ["TransE", "RotatE"])
def test_a_power_of_a_norm_ranks_as_the_norm(file, name):
    checkpoint = load(file, plain(interaction(name, p=value(2), power_norm=value(True))))
    assert checkpoint.family.options == {"norm": 2}


@pytest.mark.parametrize("power", [{"power_norm": value(1)}, {"power_norm": VECTOR}], ids=["one", "tensor"])
@pytest.mark.parametrize("name", ["TransE", "TransH"])
def test_a_power_that_is_no_truth_value_is_refused(file, name, power):
    with pytest.raises(CheckpointError, match=r"its power_norm is .*, no truth value"):
        load(file, model(interaction(name, p=value(1), **power), *map(embedding, (ENTITY, RELATION, RELATION))))


@pytest.mark.parametrize("attribute", ["normalizer"])
def test_vectors_that_change_when_they_are_used_have_no_formula(file, attribute):
    entity = embedding(ENTITY, **{attribute: called(named("functools", "partial"))})
    with pytest.raises(NoFormula, match=rf"its entity vectors pass a {attribute} .* Evaluate the live model instead"):
        load(file, model(interaction("DistMult"), entity, embedding(RELATION)))


@pytest.mark.parametrize(
    "entity",
    [
        module("pykeen.nn.representation.LowRankRepresentation"),
        module("pykeen.nn.representation.Embedding"),
        module("pykeen.nn.representation.Embedding", modules={"_embeddings": NOTHING}),
        module("pykeen.nn.representation.Embedding", modules={"_embeddings": module("torch.nn.Embedding")}),
        embedding(NOTHING),
        embedding(value([[1.0]])),
    ],
    ids=["other", "empty", "none", "no weight", "weight none", "weight list"],
)
def test_representations_that_are_no_plain_embedding_have_no_formula(file, entity):
    with pytest.raises(NoFormula, match=r"its entity representation is no plain embedding"):
        load(file, model(interaction("DistMult"), entity, embedding(RELATION)))


@pytest.mark.parametrize(
    "top",
    [
        value({}),
        value([]),
        NOTHING,
        ENTITY,
        named("pykeen.models.unimodal.trans_e", "TransE"),
        made(named("pykeen.models.unimodal.trans_e", "TransE")),
        called(named("pykeen.models.unimodal.trans_e", "TransE")),
        made(named("pykeen.models.unimodal.trans_e", "TransE"), value([])),
        made(named("pykeen.models.unimodal.trans_e", "TransE"), value({})),
        made(named("pykeen.models.unimodal.trans_e", "TransE"), value({"_modules": []})),
        made(named("pykeen.models.unimodal.trans_e", "TransE"), value({"_modules": {"interaction": 5}})),
        made(named("pykeen.losses", "MarginRankingLoss"), value({"_modules": {}})),
        module("torch.nn.Linear"),
        module("pykeen.models.unimodal.TransE"),
        module("pykeen.models.unimodal.Unknown"),
    ],
    ids=[
        *("dict", "list", "none", "tensor", "class", "bare object", "called object", "list state", "empty state"),
        *("list of modules", "number as module", "loss", "linear", "empty model", "unknown model"),
    ],
)
def test_what_is_no_model_is_refused(file, top):
    with pytest.raises(
        CheckpointError,
        match=r"holds no (PyKEEN model|vectors)|no PyTorch module|no plain embedding|no formula|no layout of PyKEEN",
    ):
        load(file, top)


@pytest.mark.parametrize("table", ["_modules", "_parameters", "_buffers"])
def test_a_module_without_its_tables_is_refused(file, table):
    state = {"_modules": {}, "_parameters": {}, "_buffers": {}, "max_norm": None}
    del state[table]
    bare = made(named("torch.nn.modules.sparse", "Embedding"), value(state))
    entity = module("pykeen.nn.representation.Embedding", modules={"_embeddings": bare})
    with pytest.raises(CheckpointError, match=f"KeyError: '{table}'|is no PyTorch module"):
        load(file, model(interaction("DistMult"), entity, embedding(RELATION)))


@pytest.mark.parametrize(
    "weight",
    [
        VECTOR,
        tensor(storage("v", 4), (), ()),
        tensor(storage("e", 20), (5, 2, 2), (4, 2, 1)),
        tensor(storage("e", 20), (10, 2), (2, 1)),
        tensor(storage("e", 20), (4, 5), (5, 1)),
        tensor(storage("e", 20), (0, 4), (4, 1)),
        tensor(storage("e", 20), (5, 0), (1, 1)),
        matrix("i", 5, 4, "LongStorage"),
        matrix("c", 5, 4, "ComplexFloatStorage"),
        matrix("e", 5, 4, "ByteStorage"),
        matrix("e", 5, 4, "BoolStorage"),
        matrix("nan", 5, 4),
    ],
    ids=[
        *("vector", "scalar", "cube", "narrow", "wide", "no rows", "no columns"),
        *("long", "complex", "byte", "bool", "nan"),
    ],
)
@pytest.mark.parametrize("name", ["ComplEx", "TransE"])
def test_weights_of_another_type_or_shape_are_refused(file, name, weight):
    with pytest.raises(
        CheckpointError, match=r"the tensor 'entity_representations.*; expected|must have the same width|not finite"
    ):
        load(file, plain(interaction(name, p=value(2)), entity=weight))


@pytest.mark.parametrize(
    "norm", [NOTHING, value(3), value(0), value("1"), value([]), value(1.5), value({}), VECTOR, ENTITY]
)
@pytest.mark.parametrize("name", ["TransE", "TransH"])
def test_a_norm_that_is_neither_1_nor_2_is_refused(file, name, norm):
    with pytest.raises(
        CheckpointError, match=r"its distance is the norm of p = .*; kgeval has 1 and 2|truth value of an array"
    ):
        load(file, model(interaction(name, p=norm), *map(embedding, (ENTITY, RELATION, RELATION))))


@pytest.mark.parametrize(
    "told", [{"p": value(1)}, {"p": value(3)}, {"power_norm": value(True)}], ids=["1", "3", "power"]
)
def test_what_pykeens_rotate_is_told_of_norms_it_does_not_use(file, told):
    assert load(file, plain(interaction("RotatE", **told))).family.options == {"norm": 2}


def test_an_array_as_a_truth_value_is_refused(file):
    with pytest.raises(CheckpointError, match=r"use_inverse_triples is .* which is neither true nor false"):
        load(file, plain(interaction("DistMult"), use_inverse_triples=VECTOR))


def test_inverse_relations_come_in_pairs(file):
    odd = tensor(storage("r", 16), (3, 4), (4, 1))
    with pytest.raises(CheckpointError, match="two rows per relation"):
        load(file, plain(interaction("DistMult"), relation=odd, use_inverse_triples=value(True)))


@pytest.mark.parametrize(
    "parts",
    [
        {"modules": normalisations(eps=value("tiny"))},
        {"modules": normalisations(eps=NOTHING)},
        {"modules": normalisations(eps=VECTOR[:0] + value([]))},
        {"modules": normalisations(buffers={"running_mean": NOTHING})},
        {"modules": normalisations(buffers={"running_var": matrix("e", 5, 4)})},
        {"modules": normalisations(buffers={"running_mean": tensor(storage("e", 20), (3,), (1,))})},
        {"modules": normalisations(parameters={"weight": matrix("e", 5, 4)})},
        {"modules": {"head_batch_norm": normalisation()}},
        {"modules": {**normalisations(), "head_batch_norm": module("torch.nn.BatchNorm1d", eps=value(1.0))}},
        {"parameters": {}},
        {"parameters": {"core_tensor": NOTHING}},
        {"parameters": {"core_tensor": VECTOR}},
        {"parameters": {"core_tensor": tensor(storage("core", 64), (8, 8), (8, 1))}},
        {"parameters": {"core_tensor": tensor(storage("core", 64), (4, 2, 8), (16, 8, 1))}},
    ],
    ids=[
        *("eps text", "eps none", "eps list", "no mean", "variance matrix", "short mean", "weight matrix"),
        *("only one", "no arrays"),
        *("no core", "core none", "core vector", "core matrix", "core of other widths"),
    ],
)
def test_a_tucker_that_does_not_fit_together_is_refused(file, parts):
    with pytest.raises(CheckpointError, match=r"the tensor 'interaction|normalisation|no layout of PyKEEN"):
        load(file, plain(interaction("TuckER", **{"parameters": {"core_tensor": CORE}, **parts})))


def test_a_complex_of_the_oldest_layout_has_no_formula(file):
    old = module(
        "pykeen.models.unimodal.complex.ComplEx",
        modules={"entity_embeddings": embedding(ENTITY), "relation_embeddings": embedding(RELATION)},
    )
    with pytest.raises(NoFormula, match="before PyKEEN's interaction modules"):
        load(file, old)


@pytest.mark.parametrize("name", ["TorusF", "Unknown", "", "Interaction"])
def test_an_interaction_without_a_formula_names_those_that_have_one(file, name):
    with pytest.raises(NoFormula, match=r"it has AutoSF, BoxE, .*DistMult, .*TuckER, UM\. Evaluate the live model"):
        load(file, plain(interaction(name)))
