"""Blocks of work: all are done once, in as many threads as asked for, and a failure comes out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from kgeval.base.threads import bound_threads, parallel_for, threads


@pytest.mark.parametrize("total", [0, 1, 7, 100])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_every_block_is_done_once(total, step):
    done = []
    parallel_for(lambda part: done.extend(range(part.start, part.stop)), total, step)
    assert sorted(done) == list(range(total))


def test_blocks_are_done_side_by_side():
    both = threading.Barrier(2, timeout=60)  # two blocks wait for each other
    with bound_threads(2):
        parallel_for(lambda part: both.wait(), total=2, step=1)


def test_blocks_know_how_many_threads_there_are_and_one_is_the_callers():
    seen = set()
    with bound_threads(3):
        parallel_for(lambda part: seen.add(threads()), 6, 1)
    with bound_threads(1):
        parallel_for(lambda part: seen.add((threads(), threading.current_thread().name)), total=9, step=2)
    assert seen == {3, (1, threading.current_thread().name)}


def test_a_failure_comes_out():
    def fail(part):
        raise ValueError(f"block {part.start}")

    with bound_threads(2), pytest.raises(ValueError, match="block 0"):
        parallel_for(fail, total=5, step=1)
    assert threads() >= 1


def test_evaluations_may_run_side_by_side(two_threads):
    from concurrent.futures import ThreadPoolExecutor

    from kgeval import evaluate
    from tests.conftest import random_dataset
    from tests.ranking.test_kernels import Vectors

    dataset, scorer = random_dataset(20, entities=120, triples=700), Vectors("dot", entities=120)
    alone = evaluate(scorer, dataset).to_pandas()
    with ThreadPoolExecutor(4) as pool:
        for table in pool.map(lambda _: evaluate(scorer, dataset), range(8)):
            assert table.to_pandas().equals(alone)


def test_the_libraries_keep_their_threads():
    """Run in a process of its own, where torch has not computed yet."""
    program = """
import threading, torch
from threadpoolctl import threadpool_info
import numpy as np
np.ones((2, 2)) @ np.ones((2, 2))
from kgeval.base.threads import bound_threads, parallel_for
told = lambda: [pool["num_threads"] for pool in threadpool_info()]
before = told(), torch.get_num_threads()
with bound_threads(3):
    parallel_for(lambda part: torch.ones(4, 4) @ torch.ones(4, 4), 8, 1)
parallel_for(lambda part: torch.ones(4, 4) @ torch.ones(4, 4), 8, 1)
later = []
thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
thread.start(), thread.join()
assert (told(), torch.get_num_threads()) == before, (told(), torch.get_num_threads(), before)
assert later == [before[1]], (later, before)
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "OMP_NUM_THREADS": "2"})


def test_the_last_of_several_evaluations_frees_the_libraries(two_threads):
    import numpy as np
    from threadpoolctl import threadpool_info

    def told():
        return sorted(pool["num_threads"] for pool in threadpool_info())

    np.ones((2, 2)) @ np.ones((2, 2))
    before, inside = told(), threading.Barrier(3, timeout=60)

    def bound(count):
        with bound_threads(count):
            inside.wait()
            parallel_for(lambda part: None, 4, 1)

    workers = [threading.Thread(target=bound, args=(count,)) for count in (1, 2, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert told() == before


AFTER_USE = """
import multiprocessing
import numpy as np, torch
from kgeval import Dataset, Triples, Vocabulary, evaluate
from kgeval.models.families.bilinear import DistMult

rng = np.random.default_rng(0)
ids = np.stack([rng.integers(0, 20_000, 100), rng.integers(0, 3, 100), rng.integers(0, 20_000, 100)], axis=1)
splits = {"train": Triples.of(ids[:50]), "test": Triples.of(ids[50:])}
sizes = {"entities": Vocabulary.numbered(20_000), "relations": Vocabulary.numbered(3, "relation")}
dataset = Dataset.build("drawn", splits, **sizes)
model = DistMult(entity=rng.normal(size=(20_000, 16)), relation=rng.normal(size=(3, 16)))

def counts(settings):
    return evaluate(model, dataset, **settings).column("greater").tolist()

if __name__ == "__main__":
    ways = [dict(kernel=kernel) for kernel in ("bfloat16", "auto")] + [dict(kernel="bfloat16", threads=2)]
    before = [counts(settings) for settings in ways]
    for method in multiprocessing.get_all_start_methods():
        print("now by", method, flush=True)
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(counts, ways, chunksize=1) == before, method
        assert torch.get_num_threads() == 2, (method, torch.get_num_threads())
        assert [counts(settings) for settings in ways] == before, method
"""
"""an evaluation, the same in processes that are made after it, and once more; the last method that it prints failed"""


def test_processes_made_after_an_evaluation_give_the_same_counts(tmp_path):
    """A fork that waits for threads that it does not have would wait for ever; it is stopped."""
    pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(AFTER_USE)
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, start_new_session=True
    ) as process:
        try:
            assert process.wait(timeout=300) == 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_only_a_fork_after_work_holds_the_libraries():
    """Run in a process of its own, which has only imported kgeval at first."""
    pytest.importorskip("torch")
    program = """
import os, torch, kgeval
from kgeval.base.threads import parallel_for

def of_a_fork():
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(torch.get_num_threads())

torch.set_num_threads(2)
before = of_a_fork()
parallel_for(lambda part: None, 2, 1)
assert (before, of_a_fork()) == (2, 1), before
"""
    subprocess.run([sys.executable, "-c", program], check=True)
