"""Blocks of work: all are done once, in as many threads as asked for, and a failure comes out."""

from __future__ import annotations

import threading

import pytest

from kgeval.threads import bound_threads, spread, threads


@pytest.mark.parametrize("total", [0, 1, 7, 100])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_every_block_is_done_once(total, step):
    done = []
    spread(lambda part: done.extend(range(part.start, part.stop)), total, step)
    assert sorted(done) == list(range(total))


def test_blocks_are_done_side_by_side():
    both = threading.Barrier(2, timeout=60)  # two blocks wait for each other
    with bound_threads(2):
        spread(lambda part: both.wait(), total=2, step=1)


def test_one_thread_is_the_callers():
    names = set()
    with bound_threads(1):
        assert threads() == 1
        spread(lambda part: names.add(threading.current_thread().name), total=9, step=2)
    assert names == {threading.current_thread().name}


def test_a_failure_comes_out():
    def fail(part):
        raise ValueError(f"block {part.start}")

    with bound_threads(2), pytest.raises(ValueError, match="block 0"):
        spread(fail, total=5, step=1)
    assert threads() >= 1


def test_evaluations_may_run_side_by_side():
    from concurrent.futures import ThreadPoolExecutor

    from kgeval import evaluate
    from tests.conftest import random_dataset
    from tests.ranking.test_kernels import Vectors

    dataset, scorer = random_dataset(20, entities=120, triples=700), Vectors("dot", entities=120)
    alone = evaluate(scorer, dataset).to_pandas()
    with ThreadPoolExecutor(4) as pool:
        for table in pool.map(lambda _: evaluate(scorer, dataset), range(8)):
            assert table.to_pandas().equals(alone)
