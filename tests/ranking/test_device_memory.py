"""Memory of a device: what does not fit streams through in chunks, and no more is held than was planned."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from kgeval import evaluate, predict
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.kernels import fast_bfloat16
from tests.conftest import random_dataset
from tests.ranking.test_kernels import Vectors

torch = pytest.importorskip("torch")

from torch.overrides import TorchFunctionMode  # noqa: E402

from kgeval.ranking.kernels.device.device_vectors import DeviceVectors  # noqa: E402

DATA = random_dataset(22, entities=4000, triples=200)
LIMIT = 4 * 2**20


class HeldBytes(TorchFunctionMode):
    """Counts the bytes of all tensors that functions returned and somebody still holds, each storage once."""

    def __init__(self):
        super().__init__()
        self.peak = self.held = 0
        self._holders = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple) else (result,):
            if isinstance(tensor, torch.Tensor):
                self._add(tensor)
        return result

    def _add(self, tensor):
        with torch._C.DisableTorchFunction():
            storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        holders = self._holders.setdefault(key, set())
        if not holders:
            self.held += size
            self.peak = max(self.peak, self.held)
        if id(tensor) not in holders:
            holders.add(id(tensor))
            weakref.finalize(tensor, self._drop, key, id(tensor), size)

    def _drop(self, key, holder, size):
        self._holders[key].discard(holder)
        if not self._holders[key]:
            del self._holders[key]
            self.held -= size


@pytest.fixture
def copying(monkeypatch):
    """Copy arrays to the CPU device, as to a GPU."""

    def copied(array, device):
        return torch.from_numpy(np.array(array)).clone()

    for room in ("device_vectors", "device_blocks", "device_kernel"):
        monkeypatch.setattr(f"kgeval.ranking.kernels.device.{room}.to_device", copied)


def test_the_recorder_counts_what_is_held():
    with HeldBytes() as held:
        first = torch.zeros(1000) + 1
        view = first[:10]
        del first
        assert held.held == 4000
        del view
        assert held.held == 0
        torch.zeros(500) + 1
    assert held.peak >= 4000


@pytest.mark.parametrize("similarity", ["dot", "l2", "modulus"])
def test_ranks_and_predictions_within_the_plan(similarity, copying, monkeypatch):
    """The host has all it wants, the device little; of these numbers, few stay undecided."""
    fast_bfloat16()  # which looks once at what the processor can
    scorer = Vectors(similarity, np.random.default_rng(0).normal(size=(4000, 64)).astype(np.float32))
    widths, whole = [], DeviceVectors.of_entities

    def note(entities, device, *, products):
        widths.append(len(entities.biases))
        return whole(entities, device, products=products)

    monkeypatch.setattr(DeviceVectors, "of_entities", note)
    monkeypatch.setattr("kgeval.ranking.engine_choice.free_bytes", lambda *_: LIMIT)
    for work in (
        lambda **how: evaluate(scorer, DATA, **how).data,
        lambda **how: evaluate(scorer, DATA, corruption=Uniform(count=50), **how).data,
        lambda **how: predict(scorer, DATA, k=5, **how).data,
    ):
        with HeldBytes() as held:
            found = work(device="torch:cpu", memory_limit="1GB")
        assert max(widths) < 4000
        assert 0 < held.peak < LIMIT
        assert found.equals(work(device="cpu"))
