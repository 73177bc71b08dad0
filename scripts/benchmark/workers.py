"""How the time of a ranking falls with workers of Ray: python -m scripts.benchmark.workers [WORKERS...]."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np

from kgeval.models.alignment import align
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import ModelRanking, ranking_of
from kgeval.runs.executors import RayExecutor
from kgeval.runs.resume import Fingerprint
from kgeval.runs.shards import ShardStore, divide
from scripts.benchmark.graph import synthetic

ENTITIES, DIM, SHARDS = 100_000, 200, 16
SIZES = {"train": 1_000_000, "test": 8_000}


def made_ranking() -> ModelRanking:
    """Prepare a DistMult of normal numbers on a made graph; each shard takes one thread."""
    dataset, rng = synthetic(ENTITIES, SIZES), np.random.default_rng(0)
    vectors = [rng.normal(size=(len(labels), DIM)) for labels in (dataset.entities, dataset.relations)]
    model = DistMult(*(rows.astype(np.float32) for rows in vectors))
    return ranking_of(align(model, dataset), dataset, Evaluation(filter=("train", "test"), threads=1))


def main(counts: list[int]) -> None:
    """Rank with each number of workers, which have all ranked a shard before, and store the shards as a run does."""
    ranking = made_ranking()
    shards = divide(ranking, SHARDS)
    alone = None
    with RayExecutor(workers=max(counts))._connected(1, click.echo), tempfile.TemporaryDirectory() as folder:
        warm = divide(ranking, 400)[: 2 * max(counts)]
        for count in counts:
            executor, store, storing = RayExecutor(workers=count), ShardStore(Path(folder, str(count))), 0.0
            store.begin(Fingerprint({}, None, {}, None), SHARDS, configuration={}, force=False)
            list(executor.rank(ranking, warm, click.echo))
            start = time.perf_counter()
            for shard, ranked in executor.rank(ranking, shards, click.echo):
                begun = time.perf_counter()
                store.write(shard, ranked)
                storing += time.perf_counter() - begun
            seconds = time.perf_counter() - start
            alone = alone or seconds
            each = 1000 * storing / SHARDS
            click.echo(f"{count} workers: {seconds:.1f} s, {alone / seconds:.2f} ×, {each:.0f} ms to store a shard")


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [1, 2, 4])
