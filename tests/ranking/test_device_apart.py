"""No step on a device mixes its tensors with the host's, which torch's CPU device would allow and a GPU refuses."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Recorder, count, evaluate
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries, Rows
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.engine import Engine
from kgeval.ranking.kernels import kernel
from kgeval.ranking.ranking_task import RankingTask
from tests.conftest import random_dataset
from tests.ranking.test_kernels import COMPILED, Vectors

torch = pytest.importorskip("torch")

from kgeval.ranking.kernels.device.device_kernel import DeviceKernel  # noqa: E402
from tests.ranking.apart import APART, Apart, PretendedDevice  # noqa: E402
from tests.ranking.test_device import Live  # noqa: E402

DATA = random_dataset(20, entities=120, triples=700)
QUERIES = Queries.of(DATA.test, "tail")
KNOWN = known_answers(QUERIES, [DATA.train])
OWN = Rows.sized(np.full(len(QUERIES), 40), np.concatenate([np.arange(40) + it % 70 for it in range(len(QUERIES))]))


class LiveApart(Live):
    """A model whose parameters are on the pretended device."""

    def score_tensor(self, queries, candidates, device):
        return super().score_tensor(queries, candidates, torch.device("cpu")).to(device)


@pytest.fixture(autouse=True)
def pretended():
    with PretendedDevice():
        yield


def few_values(similarity):
    """Vectors of which most scores tie, so that each step has pairs to decide."""
    scorer = Vectors(similarity, entities=120)
    scorer.bias = scorer.bias * (similarity != "l2")
    return scorer


def test_it_refuses_what_a_gpu_refuses():
    there, here = torch.arange(3.0, device=APART), torch.arange(3.0)
    for mixed in (lambda: there + here, lambda: torch.stack([there, here]), lambda: here[there.long()]):
        with pytest.raises(RuntimeError, match="two devices"):
            mixed()
    with pytest.raises(RuntimeError):
        there.numpy()
    there[1:] += here[:2].to(APART)
    assert ((there * 2).cpu().numpy() == [0, 2, 6]).all()


@pytest.mark.parametrize("candidates", [Candidates.shared(np.arange(120)), Candidates(OWN)], ids=["shared", "own"])
@pytest.mark.parametrize("scorer", [*map(few_values, COMPILED), LiveApart(torch.float32)], ids=[*COMPILED, "live"])
def test_ranks(scorer, candidates):
    task = RankingTask.of(QUERIES, candidates, KNOWN)
    on_device = DeviceKernel(APART, 2**16)
    with torch.inference_mode():
        ours = Engine(on_device).rank(scorer, task)
    theirs = Engine(kernel("reference")).rank(scorer, task)
    for name in ("raw", "filtered"):
        for counts in ("greater", "tied", "candidates"):
            assert (getattr(getattr(ours, name), counts) == getattr(getattr(theirs, name), counts)).all()
    assert not on_device.on_host


@pytest.mark.parametrize("drops_known", [True, False])
@pytest.mark.parametrize("scorer", [*map(few_values, COMPILED), LiveApart(torch.float16)], ids=[*COMPILED, "live"])
def test_predictions(scorer, drops_known):
    task = RankingTask.of(QUERIES, Candidates.shared(np.arange(120)), KNOWN)
    on_device = DeviceKernel(APART, 2**16)
    with torch.inference_mode():
        ours = Engine(on_device).best(scorer, task, 7, drops_known=drops_known)
    theirs = Engine(kernel("reference")).best(scorer, task, 7, drops_known=drops_known)
    for name in ("scores", "positions", "tied"):
        assert (getattr(ours, name) == getattr(theirs, name)).all()
    assert not on_device.on_host


def test_scores_of_a_training_loop():
    model, recorder = Live(torch.float32), Recorder(DATA)
    for side in ("head", "tail"):
        queries = Queries.of(DATA.test, side)
        scores = model.scores(queries, np.arange(120))[queries.owners]
        order = queries.triples
        with torch.inference_mode():
            apart = torch.from_numpy(scores).to(APART)
            recorder.update(DATA.test.ids[order], apart, side=side)
            counts = count(apart, queries.answers)
        assert isinstance(counts.greater, Apart)
        own = scores[np.arange(len(scores)), queries.answers, None]
        assert (counts.greater.cpu().numpy() == (scores > own).sum(axis=1)).all()
    assert recorder.table().to_pandas().equals(evaluate(model, DATA, kernel="reference").to_pandas())
