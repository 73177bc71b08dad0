"""State dictionaries of one's own, PyTorch Lightning's and KEEN's: tensors under other names than today's."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import save_file

from kgeval import Triples, load_checkpoint
from kgeval.base.errors import CheckpointError, InputError, UsageError
from kgeval.data.queries import Queries
from kgeval.models.checkpoints.state_dict_format import Model, StateDictFormat, holds, named
from kgeval.models.families import DistMult
from tests.contracts.test_foreign_package import package, run
from tests.models.checkpoints.conftest import write_arrays
from tests.models.checkpoints.layouts import small_graph, table, tensors, torch

TRANSE = {"model": "TransE", "norm": 1}

TABLES = {"entity": named("nodes"), "relation": named("edges")}

NAMES = {"entity": "ent.weight", "relation": "rel.weight"}


@pytest.fixture
def graph():
    return small_graph()


def state(**further):
    return tensors(ent__weight=table(7, 4), rel__weight=table(3, 4, 1), **further)


def distances():
    """−‖h + r − t‖₁ of all tails of one query, in numpy."""
    e, r = table(7, 4).astype(float), table(3, 4, 1).astype(float)
    return -abs(e[2] + r[1] - e).sum(axis=1)


def scores(checkpoint):
    return checkpoint.scores(Queries.of(Triples.of([(2, 1, 0)]), "tail"), np.arange(7))[0]


# The user names the tensors


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (state(), NAMES),
        ({"model": state(), "epoch": 3}, NAMES),
        ({"net": state(), "epoch": 3}, {kind: f"net.{name}" for kind, name in NAMES.items()}),
        ({f"module.{name}": value for name, value in state().items()}, NAMES),
        ({"model.net": {"tables": state()}}, {kind: f"model.net.tables.{name}" for kind, name in NAMES.items()}),
    ],
)
def test_named_tensors_are_a_model(tmp_path, content, names):
    torch.save(content, tmp_path / "mine.pt")
    checkpoint = load_checkpoint(tmp_path / "mine.pt", **names, **TRANSE)
    assert scores(checkpoint) == pytest.approx(distances(), rel=1e-12)
    assert checkpoint.origins == dict.fromkeys([*NAMES, *TRANSE], "option")


def test_halves_are_put_side_by_side(tmp_path):
    parts = {
        f"{kind}.{part}": torch.from_numpy(table(rows, 2, seed))
        for kind, rows, part, seed in (
            ("ent", 7, "re", 0),
            ("ent", 7, "im", 1),
            ("rel", 3, "re", 2),
            ("rel", 3, "im", 3),
        )
    }
    torch.save(parts, tmp_path / "mine.pt")
    found = load_checkpoint(tmp_path, entity="ent.re,ent.im", relation="rel.re,rel.im", model="ComplEx")
    e, r = table(7, 2) + 1j * table(7, 2, 1).astype(float), table(3, 2, 2) + 1j * table(3, 2, 3).astype(float)
    assert scores(found) == pytest.approx((e[2] * r[1] * e.conj()).sum(axis=1).real, rel=1e-12)


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_arrays_of_other_names_are_named_as_tensors_are(tmp_path, ending):
    arrays = {"entities": table(7, 4), "relation": table(3, 4, 1), "gamma": np.float32([9])}
    file = write_arrays(tmp_path / f"m{ending}", arrays)
    found = load_checkpoint(file, entity="entities", ignored="gamma", **TRANSE)
    assert scores(found) == pytest.approx(distances(), rel=1e-12)
    for options, message in (
        ({"entity": "entity_embeddings", "ignored": "gamma"}, r"the tensor 'entity_embeddings' is missing"),
        ({"entity": "entities"}, r"does not use the tensor 'gamma'.* option ignored=NAME"),
        ({"entitty": "entities"}, r"holds entities \[7, 4\], .* expected arrays named entity.* --option entity=NAME"),
        ({"entity": "entities", "ignored": "gamma", "relaton": "relation"}, "unknown option 'relaton'"),
    ):
        with pytest.raises(CheckpointError, match=message):
            load_checkpoint(file, **options, **TRANSE)


class Net(torch.nn.Module):
    """A model of one's own, in a layer of another module."""

    def __init__(self, **settings):
        super().__init__()
        self.ent = torch.nn.Embedding.from_pretrained(torch.from_numpy(table(7, 4)), **settings)
        self.net = torch.nn.Sequential(torch.nn.Embedding.from_pretrained(torch.from_numpy(table(3, 4, 1))))


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("archived", [True, False], ids=["since 1.6", "before 1.6"])
def test_a_whole_module_is_read_by_the_names_of_its_tensors(tmp_path, archived, wrapped):
    names = {"entity": "ent.weight", "relation": "net.0.weight"}
    for settings in ({}, {"max_norm": 1.0}):
        content = {"model": Net(**settings), "epoch": 3} if wrapped else Net(**settings)
        torch.save(content, tmp_path / "mine.pt", _use_new_zipfile_serialization=archived)
        if settings:
            with pytest.raises(CheckpointError, match=r"does not use the tensor 'ent\.max_norm'"):
                load_checkpoint(tmp_path, **names, **TRANSE)
        else:
            assert scores(load_checkpoint(tmp_path, **names, **TRANSE)) == pytest.approx(distances(), rel=1e-12)


def test_a_tensor_that_is_not_named_is_not_passed_over(tmp_path):
    torch.save(state(gamma=np.float32([9]), gate__weight=table(4, 4)), tmp_path / "mine.pt")
    with pytest.raises(
        CheckpointError, match=r"does not use the tensors 'gamma', 'gate\.weight'.*the option ignored=NAME"
    ):
        load_checkpoint(tmp_path, **NAMES, **TRANSE)
    found = load_checkpoint(tmp_path, **NAMES, **TRANSE, ignored="gamma,gate.*")
    assert scores(found) == pytest.approx(distances(), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entity": "ent.wait"}, r"the tensor 'ent\.wait' is missing. .*'ent\.weight'"),
        ({"model": "TransH", "normalization": "none"}, r"TransH needs the array 'normal'\."),
        ({"model": "RESCAL", "norm": None}, "RESCAL: a relation must be"),
        ({"model": None}, "Give the option model=MODEL"),
        ({"normal": "ent.weight"}, "unknown option 'normal'"),
        (
            {"entity": "ent.weight,rel.weight"},
            r"have different shapes: \(7, 4\) \(ent\.weight\), \(3, 4\) \(rel\.weight\)",
        ),
        ({"width": 4}, "unknown option 'width'"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, options, message):
    torch.save(state(), tmp_path / "mine.pt")
    kept = {name: value for name, value in {**NAMES, **TRANSE, **options}.items() if value is not None}
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path, **kept)


def test_names_do_not_make_a_known_format_another(tmp_path):
    known = tensors(ent_emb__weight=table(7, 4), rel_emb__weight=table(3, 4))
    torch.save(known, tmp_path / "m.pt")
    with pytest.raises(UsageError, match="unknown option 'entity'"):
        load_checkpoint(tmp_path, entity="ent_emb.weight", relation="rel_emb.weight", model="DistMult")
    named = {"entity": "ent_emb.weight", "relation": "rel_emb.weight", "model": "DistMult"}
    assert load_checkpoint(tmp_path, format="state-dict", **named).format == "state-dict"


OF_ARRAYS = """
from kgeval.models.checkpoints.state_dict_format import Model, StateDictFormat, holds, named
from kgeval.models.families.bilinear import DistMult
tables = {"entity": named("nodes"), "relation": named("edges")}
files = (holds({".npz", ".safetensors"}, {"nodes", "edges"}),)
IT = StateDictFormat("tiny", "Tiny", "a model of Tiny", "model", files, {"DistMult": Model(DistMult, tables)}).reader()
"""


def test_a_format_of_a_package_may_claim_files_of_named_arrays(tmp_path):
    """The native format leaves it those whose arrays are its own, and takes the others."""
    package(tmp_path, "strange", "kgeval.checkpoints", "strange:IT", *OF_ARRAYS.splitlines())
    own, other = ({"nodes": table(7, 4), "edges": table(3, 4)}, {"entity": table(7, 4), "relation": table(3, 4)})
    for name, arrays, option in (("own", own, []), ("other", other, ["--option", "model=DistMult"])):
        np.savez(tmp_path / f"{name}.npz", **arrays)
        save_file(arrays, tmp_path / f"{name}.safetensors")
        for ending in (".npz", ".safetensors"):
            done = run("-m", "kgeval", "inspect", tmp_path / f"{name}{ending}", *option, path=[tmp_path])
            assert done.returncode == 0, done.stderr
            assert ("tiny" if name == "own" else "native") in done.stdout


# PyKEEN in PyTorch Lightning, and its versions 0.0


def test_pykeens_models_in_lightning_are_read_under_either_name(tmp_path, graph):
    names = {f"{kind}_representations.0._embeddings.weight": name for kind, name in NAMES.items()}
    torch.save({"state_dict": {name: state()[own] for name, own in names.items()}, "epoch": 3}, tmp_path / "last.ckpt")
    found = load_checkpoint(tmp_path, dataset=graph, model="TransE", p=1)
    assert (found.format, scores(found)) == ("pykeen", pytest.approx(distances(), rel=1e-12))


def test_a_model_of_keen_is_refused_and_read_by_the_names_of_its_tensors(tmp_path):
    names = {kind: f"{kind}_embeddings.weight" for kind in NAMES}
    torch.save({name: state()[NAMES[kind]] for kind, name in names.items()}, tmp_path / "trained_model.pkl")
    way_out = "--checkpoint-format state-dict --option model=MODEL --option entity=NAME --option relation=NAME"
    with pytest.raises(CheckpointError, match=rf"no vectors .*, but {', '.join(names.values())}\. .*: {way_out}\."):
        load_checkpoint(tmp_path)
    assert scores(load_checkpoint(tmp_path, format="state-dict", **names, **TRANSE)) == pytest.approx(distances())


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"numbering": "Sorted"}, "format 'tiny': unknown numbering 'Sorted'. Did you mean 'sorted'"),
        ({"ignored": "loss.*"}, "format 'tiny': ignored: expected a tuple, found 'loss.*'"),
        ({"files": holds({".pt"}, {"nodes"})}, "format 'tiny': files: expected a tuple"),
        (
            {"arguments": {"entities": named("nodes")}},
            "of DistMult: .*'entity'. Its arguments are entity, relation",
        ),
        ({"arguments": TABLES | {"entity": lambda tensors: None}}, "the argument 'entity' is a function. Write Take"),
        ({"of_model": "epoch"}, "a model of DistMult: ignored: expected a tuple"),
    ],
)
def test_a_table_with_a_mistake_is_refused_when_it_is_written(mistake, message):
    model = {"arguments": mistake.pop("arguments", TABLES), "ignored": mistake.pop("of_model", ())}
    with pytest.raises(InputError, match=message):
        StateDictFormat(
            **{"name": "tiny", "framework": "Tiny", "summary": "", "what": "model", "files": ()} | mistake,
            models={"DistMult": Model(DistMult, **model)},
        )
