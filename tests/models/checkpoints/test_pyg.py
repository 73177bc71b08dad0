"""PyTorch Geometric: whole modules, wrappings, what is asked for, live models, and the protocol of its own test()."""

from __future__ import annotations

import sys
import types
from contextlib import contextmanager

import numpy as np
import pytest

from kgeval import evaluate, explain, framework_metrics, load_checkpoint
from kgeval.base.errors import CheckpointError, KgevalError, UsageError
from kgeval.models.alignment import align
from kgeval.models.family import Family
from tests.models.checkpoints.layouts import pyg_transe, small_graph, table, tensors, torch

ROWS = [(h, r, (2 * h + r) % 7) for h in range(7) for r in range(3)]


@pytest.fixture
def graph():
    return small_graph()


class Model(torch.nn.Module):
    """A model as the library's are: its tables, its size, and forward(head_index, rel_type, tail_index)."""

    def __init__(self, p_norm=1.0, margin=2.0):
        super().__init__()
        self.num_nodes, self.num_relations, self.p_norm, self.margin = 7, 3, p_norm, margin
        for name, rows, seed in (("node_emb", 7, 0), ("rel_emb", 3, 1), ("node_emb_im", 7, 2), ("rel_emb_im", 3, 3)):
            if name in self.parts:
                setattr(self, name, torch.nn.Embedding.from_pretrained(torch.from_numpy(table(rows, 4, seed)), False))


class TransE(Model):
    parts = ("node_emb", "rel_emb")

    def forward(self, head_index, rel_type, tail_index):
        head, tail = (torch.nn.functional.normalize(self.node_emb(i), p=self.p_norm) for i in (head_index, tail_index))
        return -(head + self.rel_emb(rel_type) - tail).norm(p=self.p_norm, dim=-1)


class RotatE(Model):
    parts = ("node_emb", "node_emb_im", "rel_emb")

    def forward(self, head_index, rel_type, tail_index):
        head, tail = (torch.complex(self.node_emb(i), self.node_emb_im(i)) for i in (head_index, tail_index))
        phases = self.rel_emb(rel_type)
        return self.margin - torch.linalg.vector_norm(head * torch.polar(torch.ones_like(phases), phases) - tail, dim=1)


class ComplEx(Model):
    parts = ("node_emb", "rel_emb", "node_emb_im", "rel_emb_im")

    def forward(self, head_index, rel_type, tail_index):
        head, tail = (torch.complex(self.node_emb(i), self.node_emb_im(i)) for i in (head_index, tail_index))
        return (head * torch.complex(self.rel_emb(rel_type), self.rel_emb_im(rel_type)) * tail.conj()).sum(-1).real


class DistMult(Model):
    parts = ("node_emb", "rel_emb")

    def forward(self, head_index, rel_type, tail_index):
        return (self.node_emb(head_index) * self.rel_emb(rel_type) * self.node_emb(tail_index)).sum(-1)


MODELS = [(TransE, {"p_norm": 1.0}), (TransE, {"p_norm": 2.0}), (RotatE, {}), (ComplEx, {}), (DistMult, {})]


@contextmanager
def as_pygs_own(*kinds):
    """Let classes be those of the library, so that pickles name them so."""
    made = {}
    for kind in kinds:
        name = f"torch_geometric.nn.kge.{kind.__name__.lower()}"
        made[name] = types.ModuleType(name)
        setattr(made[name], kind.__name__, kind)
        kind.__module__ = name
    parents = {
        name: types.ModuleType(name) for name in ("torch_geometric", "torch_geometric.nn", "torch_geometric.nn.kge")
    }
    sys.modules.update(parents | made)
    try:
        yield
    finally:
        for name in parents | made:
            del sys.modules[name]
        for kind in kinds:
            kind.__module__ = __name__


def counts(model, data):
    table_ = evaluate(model, data)
    return [table_.column(name).tolist() for name in ("raw_greater", "raw_tied", "greater", "tied")]


@pytest.mark.parametrize("wrapping", [None, "model", "state_dict"])
@pytest.mark.parametrize(("kind", "options"), MODELS)
def test_a_whole_module_says_what_it_is(tmp_path, graph, kind, options, wrapping):
    model = kind(**options)
    with as_pygs_own(kind):
        torch.save({wrapping: model, "epoch": 3} if wrapping else model, tmp_path / "model.pt")
    checkpoint = load_checkpoint(tmp_path, dataset=graph)
    assert counts(checkpoint, graph) == counts(model.double().forward, graph)
    assert checkpoint.describe()["model"] == kind.__name__
    assert checkpoint.origins.get("p_norm") == ("model.pt" if kind is TransE else None)


@pytest.mark.parametrize(("kind", "options"), MODELS)
def test_a_live_model_is_a_formula_where_its_class_is_the_librarys(graph, kind, options):
    model = kind(**options).double()
    by_calls = counts(model, graph)
    assert not isinstance(align(model, graph).scorer, Family)
    with as_pygs_own(kind):
        assert isinstance(align(model, graph).scorer, Family)
        assert counts(model, graph) == by_calls
        assert evaluate(model, graph).provenance.model == kind.__name__


def changed_forward(model):
    model.forward = lambda *ids: -type(model).forward(model, *ids)


def hooked(model):
    model.node_emb.register_forward_hook(lambda module, ids, vectors: vectors.round())


def of_another_norm(model):
    model.p_norm = 3.0


@pytest.mark.parametrize("change", [changed_forward, hooked, of_another_norm])
def test_a_live_model_that_was_changed_is_called(graph, change):
    model = TransE().double()
    change(model)
    by_calls = counts(model, graph)
    with as_pygs_own(TransE):
        assert not isinstance(align(model, graph).scorer, Family)
        assert counts(model, graph) == by_calls


def test_a_class_below_the_librarys_is_called(graph):
    class Mine(DistMult):
        def forward(self, *ids):
            return -super().forward(*ids)

    with as_pygs_own(DistMult):
        assert not isinstance(align(Mine(), graph).scorer, Family)


def test_a_norm_that_is_neither_1_nor_2_is_refused(tmp_path):
    with as_pygs_own(TransE):
        torch.save(TransE(p_norm=3.0), tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match=r"model\.pt: p_norm=3\.0: expected p_norm=1 or p_norm=2"):
        load_checkpoint(tmp_path)


def test_a_module_of_ones_own_is_not_taken_for_pygs(tmp_path):
    torch.save(TransE(), tmp_path / "model.pt")
    with pytest.raises(UsageError, match=r"node_emb\.weight \[7, 4\], .*\n.*\nName its tensors"):
        load_checkpoint(tmp_path / "model.pt")


def test_a_layer_around_the_tables_is_refused(tmp_path):
    state = tensors(node_emb__weight=table(7, 4), rel_emb__weight=table(3, 4), conv1__weight=table(4, 4))
    torch.save(state, tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match=r"a DistMult does not use the tensor 'conv1\.weight'"):
        load_checkpoint(tmp_path, model="DistMult")


def test_what_lightning_saves_is_read(tmp_path, graph):
    options = pyg_transe(tmp_path)[2]
    expected = load_checkpoint(tmp_path, dataset=graph, **options)
    state = torch.load(tmp_path / "model.pt")
    (tmp_path / "model.pt").unlink()
    kept = {"state_dict": {f"model.{name}": value for name, value in state.items()}, "pytorch-lightning_version": "2"}
    torch.save(kept, tmp_path / "epoch=3.ckpt")
    assert counts(load_checkpoint(tmp_path, dataset=graph, **options), graph) == counts(expected, graph)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1, 2]", "its entity ids are not 0, 1, 2 and so on"),
        ('{"ant": true}', "its entity ids are not 0, 1, 2 and so on"),
        ('{"ant": 0, "bee": 2}', "expected a dictionary {label: id} of entity labels, with the ids 0 to 1"),
        ("{", "not a readable JSON file, or cut short"),
    ],
)
def test_a_damaged_object_of_ids_is_named(tmp_path, content, message):
    options = pyg_transe(tmp_path)[2]
    (tmp_path / "entity_to_id.json").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=rf"entity_to_id\.json: {message}"):
        load_checkpoint(tmp_path, **options)


# The protocol


def positions(model):
    """The places of the tails as test() finds them, from 0."""
    found = []
    for h, r, t in ROWS[15:]:
        scores = model(torch.full((7,), h), torch.full((7,), r), torch.arange(7)).tolist()
        found.append(sorted(scores, reverse=True).index(scores[t]))
    return np.array(found)


def test_the_protocol_is_that_of_its_own_test(graph):
    model = RotatE()
    found, places = framework_metrics(evaluate(model, graph, protocol="pyg")), positions(model)
    assert dict(found) == pytest.approx(
        {
            "mean_rank": places.mean(),
            "mrr": (1 / (places + 1)).mean(),
            **{f"hits@{k}": (places < k).mean() for k in (1, 3, 10)},
        },
        rel=1e-7,
    )
    assert found["hits@3"] == (places < 3).mean()
    assert "pyg counts mean_rank from 0." in found.notes


def test_a_tie_takes_the_mean_of_its_ranks(graph):
    found = framework_metrics(evaluate(lambda h, r, t: 0 * h, graph, protocol="pyg"))
    assert (found["mean_rank"], found["mrr"]) == (3.0, 0.25)
    assert any("to an unstable sort" in note for note in found.notes)


def test_explain_tells_the_sides_and_the_filter_apart(graph):
    model = DistMult()
    told = explain(model, graph, "pyg")["pyg"]
    tails = evaluate(model, graph, sides="tail")
    filtered = (1 / (1.0 + tails.column("greater"))).mean()
    raw = (1 / (1.0 + tails.column("raw_greater"))).mean()
    assert told.value == pytest.approx(raw, rel=1e-7)
    assert told.causes["filter"] == pytest.approx(raw - filtered, rel=1e-7)
    assert told.causes["sides"] != 0


def test_heads_alone_are_no_result_of_the_protocol(graph):
    assert not framework_metrics(evaluate(DistMult(), graph, protocol="pyg", sides="head"))
    with pytest.raises(KgevalError, match="there are no tail ranks"):
        explain(DistMult(), graph, "pyg", sides="head")


def test_tails_alone_are_ranked_unless_the_sides_are_said(graph):
    model = DistMult()
    tails, both = (evaluate(model, graph, protocol="pyg", sides=sides) for sides in (None, ("head", "tail")))
    assert {*tails.column("side")} == {"tail"}
    assert {*both.column("side")} == {"head", "tail"}
    assert dict(framework_metrics(tails)) == dict(framework_metrics(both))
