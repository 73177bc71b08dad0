"""Scoring functions: of arrays or of tensors, modules in evaluation mode, one number for each triple."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from kgeval import CallableScorer, evaluate
from kgeval.base.errors import CheckpointError, InputError, ScoreError
from kgeval.ranking.corruption import Uniform
from tests.conftest import random_dataset
from tests.models.conftest import ByVectors

DATA = random_dataset(4)
GENERATOR = torch.Generator().manual_seed(0)
ENTITY = torch.randn(30, 5, generator=GENERATOR, dtype=torch.float64)
RELATION = torch.randn(4, 5, generator=GENERATOR, dtype=torch.float64)


class KGEModel(nn.Module):
    """Called as PyTorch Geometric's are; whatever it returns is for dropout to spoil."""

    def __init__(self):
        super().__init__()
        self.node_emb = nn.Embedding(30, 5, _weight=ENTITY.clone())
        self.rel_emb = nn.Embedding(4, 5, _weight=RELATION.clone())
        self.dropout = nn.Dropout(0.5)
        self.frozen = nn.Dropout(0.5).eval()

    def forward(self, head_index, rel_type, tail_index):
        assert head_index.dtype == torch.long
        assert not torch.is_grad_enabled()
        products = self.node_emb(head_index) * self.rel_emb(rel_type) * self.node_emb(tail_index)
        return self.frozen(self.dropout(products)).sum(-1)

    def score(self, h, r, t, scale=1.0):
        return scale * self(h, r, t)


EXPECTED = evaluate(
    lambda h, r, t: (ENTITY.numpy()[h] * RELATION.numpy()[r] * ENTITY.numpy()[t]).sum(1), DATA
).to_pandas()[["greater", "tied", "candidates"]]

WAYS = {
    "module": lambda model: model,
    "bound method": lambda model: model.score,
    "forward": lambda model: model.forward,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_module_is_ranked_as_it_is_and_left_as_it_was(way):
    model = KGEModel()
    table = evaluate(WAYS[way](model), DATA)
    assert table.to_pandas()[["greater", "tied", "candidates"]].equals(EXPECTED)
    modes = {name: part.training for name, part in model.named_modules()}
    assert modes == {"": True, "node_emb": True, "rel_emb": True, "dropout": True, "frozen": False}
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    "around",
    [
        lambda model: lambda h, r, t: 2 * model(h, r, t),
        lambda model: lambda h, r, t: model(*map(torch.from_numpy, (h, r, t))),
        lambda model: partial(model.score, scale=2.0),
    ],
    ids=["closure", "closure on arrays", "partial"],
)
def test_a_module_that_a_function_calls_stays_in_its_mode(around):
    with pytest.raises(ScoreError, match=r"Switch off dropout \(model\.eval\(\)"):
        evaluate(around(KGEModel()), DATA)
    assert evaluate(around(KGEModel().eval()), DATA).to_pandas()[["greater", "tied", "candidates"]].equals(EXPECTED)


def test_the_mode_is_restored_after_a_failure():
    class Failing(KGEModel):
        def forward(self, head_index, rel_type, tail_index):
            assert not self.training
            raise RuntimeError("out of luck")

    model = Failing()
    with pytest.raises((RuntimeError, ScoreError), match="out of luck"):
        evaluate(model, DATA)
    assert model.training
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer"])
def test_ids_go_to_the_modules_device(register):
    devices = set()

    class Elsewhere(nn.Module):
        def __init__(self):
            super().__init__()
            empty = torch.empty(1, device="meta")
            getattr(self, register)("held", nn.Parameter(empty) if register == "register_parameter" else empty)

        def forward(self, h, r, t):
            devices.update(ids.device.type for ids in (h, r, t))
            return torch.zeros(len(h), dtype=torch.float64)

    evaluate(Elsewhere(), DATA)
    assert devices == {"meta"}


def test_a_function_of_arrays_is_never_given_tensors():
    kinds = set()
    evaluate(lambda h, r, t: (kinds.update(map(type, (h, r, t))), h)[1], DATA)
    assert kinds == {np.ndarray}


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda h, r, t: ENTITY[h] * ENTITY[t], r"1200 scores for 240 triples \(shape \(240, 5\)\)"),
        (lambda h, r, t: h[:-1], r"239 scores for 240 triples \(shape \(239,\)\)"),
        (lambda h, r, t: torch.tensor(0.5), r"1 scores for 240 triples \(shape \(\)\)"),
    ],
    ids=["vectors", "too few", "one"],
)
def test_a_number_for_each_triple_is_needed(function, found):
    with pytest.raises(ScoreError, match=f"the scoring function returned {found}; expected one for each"):
        evaluate(function, DATA)


class TwoArguments(nn.Module):
    def forward(self, pairs, tails):
        return tails


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda pairs, tails: tails, r"<lambda>\(pairs, tails\) cannot be called as f\(heads, relations, tails\)"),
        (lambda h, r: h, r"positional arguments\. If it scores all tails .* kgeval\.QueryScorer\(lambda anchors, rel"),
        (lambda hrt: hrt, r"positional arguments\. If it takes rows .*: lambda h, r, t: f\(np\.stack\("),
        (lambda h, r, t, weight: t, "missing a required argument: 'weight'"),
        (TwoArguments(), r"TwoArguments\(pairs, tails\) cannot be called as"),
    ],
    ids=["two", "of queries", "of rows", "four", "module"],
)
def test_other_arguments_are_refused(function, message):
    for start in (lambda: evaluate(function, DATA), lambda: CallableScorer(function, 30, 4)):
        with pytest.raises(InputError, match=message):
            start()


def test_what_takes_neither_arrays_nor_tensors_is_refused_with_what_it_said():
    with pytest.raises(
        ScoreError,
        match=r"as f\(heads, relations, tails\), with ids as arrays.*Its errors: TypeError: .*; TypeError: ",
    ):
        evaluate(lambda h, r, t: h + {}, DATA)


def test_a_functions_own_error_stays_its_own():
    def failing(h, r, t):
        raise KeyError("no such thing")

    with pytest.raises(KeyError, match="no such thing"):
        evaluate(failing, DATA)


@pytest.mark.parametrize("name", ["num_nodes", "num_entities"])
def test_a_module_with_another_number_of_entities_is_refused(name):
    model = KGEModel()
    setattr(model, name, 31)
    with pytest.raises(CheckpointError, match="the model has 31 entity ids and no labels, dataset random has 30"):
        evaluate(model, DATA)
    with pytest.raises(CheckpointError, match="the model has 31 entity ids, but there are 30 entity labels"):
        evaluate(model, DATA, entities=DATA.entities)
    setattr(model, name, 30)
    assert len(evaluate(model, DATA)) == 2 * len(DATA.test)


@pytest.mark.parametrize("table", [ENTITY[:20], ENTITY[:20].numpy()], ids=["tensor", "array"])
def test_ids_that_a_function_does_not_have_are_refused_with_the_cure(table):
    with pytest.raises(ScoreError, match=r"IndexError: .*give their labels as entities=\[…\] and relations=\[…\]"):
        evaluate(lambda h, r, t: (table[h] * table[t]).sum(-1), DATA)


def test_vectors_may_be_tensors_with_gradients():
    table = nn.Parameter(ENTITY)
    scorer = ByVectors(lambda anchors, relations: table[anchors] * RELATION[relations], table.__getitem__)
    assert evaluate(scorer, DATA).to_pandas()[["greater", "tied", "candidates"]].equals(EXPECTED)


@pytest.mark.parametrize("corruption", [None, Uniform(count=5)])
@pytest.mark.filterwarnings("error")
def test_a_function_may_write_into_what_it_is_given(corruption):
    def score(h, r, t):
        heads, tails = torch.from_numpy(h), torch.from_numpy(t)
        return (ENTITY[heads] * RELATION[torch.from_numpy(r)] * ENTITY[tails]).sum(-1)

    assert len(evaluate(score, DATA, corruption=corruption)) == 2 * len(DATA.test)


def test_torch_is_not_imported_for_a_function():
    code = (
        "import sys, kgeval; from tests.conftest import random_dataset\n"
        "kgeval.evaluate(lambda h, r, t: h * 7 + t, random_dataset(4), kernel='reference')\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
