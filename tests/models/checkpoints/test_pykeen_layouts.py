"""PyKEEN pickles that are written by hand: what is read of them, and that nothing ill-formed gets through."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError
from tests.models.checkpoints.pickles import (
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


@pytest.mark.parametrize(
    "told", [{"p": value(1)}, {"p": value(3)}, {"power_norm": value(True)}], ids=["1", "3", "power"]
)
def test_what_pykeens_rotate_is_told_of_norms_it_does_not_use(file, told):
    assert load(file, plain(interaction("RotatE", **told))).family.options == {"norm": 2}


def distances(name, **told):
    """A TransE or TransH, which has one table more."""
    return model(interaction(name, **told), *map(embedding, (ENTITY, RELATION, RELATION)))


def of_entity(entity):
    return model(interaction("DistMult"), entity, embedding(RELATION))


def tucker(**parts):
    return plain(interaction("TuckER", **{"modules": normalisations(), "parameters": {"core_tensor": CORE}, **parts}))


def of_state(state):
    return made(named("pykeen.models.unimodal.trans_e", "TransE"), state)


TABLE = "pykeen.nn.representation.Embedding"

SHAPES = {
    "vector": VECTOR,
    "scalar": tensor(storage("v", 4), (), ()),
    "cube": tensor(storage("e", 20), (5, 2, 2), (4, 2, 1)),
    "narrow": tensor(storage("e", 20), (10, 2), (2, 1)),
    "wide": tensor(storage("e", 20), (4, 5), (5, 1)),
    "no rows": tensor(storage("e", 20), (0, 4), (4, 1)),
    "no columns": tensor(storage("e", 20), (5, 0), (1, 1)),
    "long": matrix("i", 5, 4, "LongStorage"),
    "complex": matrix("c", 5, 4, "ComplexFloatStorage"),
    "byte": matrix("e", 5, 4, "ByteStorage"),
    "bool": matrix("e", 5, 4, "BoolStorage"),
    "nan": matrix("nan", 5, 4),
}
"""tables that no entities have"""

STATE = {"_modules": {}, "_parameters": {}, "_buffers": {}, "max_norm": None}

BARE = {
    table: made(
        named("torch.nn.modules.sparse", "Embedding"), value({name: STATE[name] for name in STATE if name != table})
    )
    for table in ("_modules", "_parameters", "_buffers")
}
"""modules each without one of their tables"""

REFUSED = {
    "its power_norm is .*, which is neither true nor false": [
        distances(name, p=value(1), power_norm=power) for name in ("TransE", "TransH") for power in (value(1), VECTOR)
    ],
    "its distance is the norm of p = .*; kgeval has 1 and 2|truth value of an array": [
        distances(name, p=norm)
        for name in ("TransE", "TransH")
        for norm in (*map(value, (None, 3, 0, "1", [], 1.5, {}, True)), VECTOR, ENTITY)
    ],
    r"its entity vectors are changed by a normalizer .* Evaluate the live model instead": [
        of_entity(embedding(ENTITY, normalizer=called(named("functools", "partial"))))
    ],
    "its entity representation is not a plain embedding": [
        of_entity(module("pykeen.nn.representation.LowRankRepresentation")),
        of_entity(module(TABLE)),
        of_entity(module(TABLE, modules={"_embeddings": NOTHING})),
        of_entity(module(TABLE, modules={"_embeddings": module("torch.nn.Embedding")})),
        of_entity(embedding(NOTHING)),
        of_entity(embedding(value([[1.0]]))),
    ],
    "not a PyKEEN model|holds no vectors|not a PyTorch module|not a plain embedding|no formula|unknown layout": [
        *(value({}), value([]), NOTHING, ENTITY, named("pykeen.models.unimodal.trans_e", "TransE")),
        made(named("pykeen.models.unimodal.trans_e", "TransE")),
        called(named("pykeen.models.unimodal.trans_e", "TransE")),
        *(of_state(value(state)) for state in ([], {}, {"_modules": []}, {"_modules": {"interaction": 5}})),
        made(named("pykeen.losses", "MarginRankingLoss"), value({"_modules": {}})),
        *map(module, ("torch.nn.Linear", "pykeen.models.unimodal.TransE", "pykeen.models.unimodal.Unknown")),
    ],
    **{
        f"KeyError: '{table}'|is not a PyTorch module": [of_entity(module(TABLE, modules={"_embeddings": bare}))]
        for table, bare in BARE.items()
    },
    "the tensor 'entity_representations.*; expected|must have the same width|not finite": [
        plain(interaction(name, p=value(2)), entity=weight)
        for name in ("ComplEx", "TransE")
        for weight in SHAPES.values()
    ],
    "use_inverse_triples is .* which is neither true nor false": [
        plain(interaction("DistMult"), use_inverse_triples=VECTOR)
    ],
    "two rows per relation": [
        plain(
            interaction("DistMult"), relation=tensor(storage("r", 16), (3, 4), (4, 1)), use_inverse_triples=value(True)
        )
    ],
    "the tensor 'interaction|normalisation|unknown layout of PyKEEN": [
        *(tucker(modules=normalisations(eps=value(eps))) for eps in ("tiny", None, [])),
        tucker(modules=normalisations(buffers={"running_mean": NOTHING})),
        tucker(modules=normalisations(buffers={"running_var": matrix("e", 5, 4)})),
        tucker(modules=normalisations(buffers={"running_mean": tensor(storage("e", 20), (3,), (1,))})),
        tucker(modules=normalisations(parameters={"weight": matrix("e", 5, 4)})),
        tucker(modules={"head_batch_norm": normalisation()}),
        tucker(modules={**normalisations(), "head_batch_norm": module("torch.nn.BatchNorm1d", eps=value(1.0))}),
        tucker(parameters={}),
        *(tucker(parameters={"core_tensor": part}) for part in (NOTHING, VECTOR)),
        tucker(parameters={"core_tensor": tensor(storage("core", 64), (8, 8), (8, 1))}),
        tucker(parameters={"core_tensor": tensor(storage("core", 64), (4, 2, 8), (16, 8, 1))}),
    ],
    "before PyKEEN's interaction modules": [
        module(
            "pykeen.models.unimodal.complex.ComplEx",
            modules={"entity_embeddings": embedding(ENTITY), "relation_embeddings": embedding(RELATION)},
        )
    ],
    r"it has AutoSF, BoxE, .*DistMult, .*TuckER, UM\. Evaluate the live model": [
        plain(interaction(name)) for name in ("TorusF", "Unknown", "", "Interaction")
    ],
}
"""what is told: the pickles of what is told so"""


@pytest.mark.parametrize(
    ("message", "which"), [(message, which) for message, models in REFUSED.items() for which in range(len(models))]
)
def test_what_is_no_model_of_pykeen_is_refused_by_its_reason(file, message, which):
    with pytest.raises(CheckpointError, match=message):
        load(file, REFUSED[message][which])
