"""What a GPU must give: the processor's integers on hard and on real numbers, within its memory, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Recorder, count, evaluate, load_checkpoint, load_dataset, predict
from tests.conftest import random_dataset
from tests.ranking.test_device import normal, same
from tests.ranking.test_kernels import COMPILED, Vectors

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.cuda

ENTITIES, DIM = 700, 40


def hard_numbers(seed):
    """Draw vectors whose scores lie together, or far apart: few values, copies, near-copies, all sizes, zeros."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(ENTITIES, DIM))
    match seed % 5:
        case 0:
            vectors = rng.integers(-1, 2, vectors.shape)
        case 1:
            vectors = vectors[rng.integers(0, 40, ENTITIES)]
        case 2:
            vectors = vectors[rng.integers(0, 40, ENTITIES)] * (1 + rng.integers(-1, 2, vectors.shape) * 2.0**-20)
        case 3:
            vectors = vectors * 10.0 ** rng.uniform(-30, 8, (ENTITIES, 1))
        case 4:
            vectors[:, 1:] = 0.0
            vectors[rng.integers(0, ENTITIES, 50)] = 0.0
    return vectors.astype(np.float32 if seed % 2 else np.float64)


@pytest.mark.parametrize("seed", range(20))
def test_hard_numbers_rank_as_the_reference_ranks_them(seed):
    scorer = Vectors(COMPILED[seed % len(COMPILED)], hard_numbers(seed))
    same(scorer, random_dataset(seed, entities=ENTITIES, triples=2000), device="cuda")


def test_a_real_checkpoint_ranks_and_predicts_as_on_the_processor(shared):
    model = load_checkpoint(shared / "checkpoints/fb15k-237-complex", model="ComplEx")
    graph = load_dataset(shared / "data/fb15k-237")
    tables, answers = ([make(model, graph, device=name) for name in ("cpu", "cuda")] for make in (evaluate, predict))
    assert tables[0].to_pandas().equals(tables[1].to_pandas())
    assert answers[0].data.equals(answers[1].data)


@pytest.mark.parametrize("limit", [2**24, 2**26])
def test_no_more_memory_is_taken_than_the_limit(limit):
    data, scorer = random_dataset(7, entities=20_000, triples=3000), normal("dot", entities=20_000, dim=200)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    table = evaluate(scorer, data, device="cuda", memory_limit=limit)
    assert torch.cuda.max_memory_allocated() - before <= limit
    assert table.to_pandas().equals(evaluate(scorer, data, device="cpu").to_pandas())


def copied_to_host(work):
    """Run some work; the bytes that it copies from the GPU."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
        work()
        torch.cuda.synchronize()
    copies = [event for event in seen.profiler.kineto_results.events() if "DtoH" in event.name()]
    assert copies
    return sum(event.nbytes() for event in copies)


def test_of_finished_scores_nothing_leaves_the_gpu_but_counts_and_the_answers_scores():
    scores = torch.randn(500, 20_000, device="cuda").round(decimals=2)
    answers = torch.arange(500, device="cuda")
    expected = count(scores.cpu().numpy(), np.arange(500))
    found = []
    copied = copied_to_host(lambda: found.append(count(scores, answers)))
    for column, other in zip(found[0].columns, expected.columns, strict=True):
        assert (column.cpu().numpy() == other).all()
    # Of each query a few numbers of eight bytes, where its scores would take 80,000 bytes.
    assert copied < 500 * 200

    data = random_dataset(3, entities=2000, triples=900)
    recorders = [Recorder(data) for _ in range(2)]
    triples = data.test.ids
    block = torch.randn(len(triples), 2000, device="cuda").round(decimals=1)
    copied = copied_to_host(lambda: recorders[0].update(triples, block, side="tail"))
    recorders[1].update(triples, block.cpu().numpy(), side="tail")
    assert copied < len(triples) * 200
    frames = [recorder.table().to_pandas() for recorder in recorders]
    assert frames[0].equals(frames[1])
