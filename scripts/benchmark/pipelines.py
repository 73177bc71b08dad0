"""PyKEEN's pipeline with one word changed: how long it evaluates an untrained and a trained ComplEx."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import click
import numpy as np

from kgeval import Dataset, Vocabulary
from scripts.benchmark.graph import FB15K237, SHARED

SAMPLE = 1024
"""test triples that the default evaluator is timed on; its time is scaled to the whole split"""

TOLERANCE = 1e-4
"""how far the MRRs of both on the sample may differ: PyKEEN compares float32 scores"""

TRAINED = SHARED / "checkpoints/fb15k-237-complex"


def inside_pipelines(graph: Dataset, repeat: int) -> list[dict[str, Any]]:
    """Time the evaluation of both models by both evaluators, interleaved, in pipelines of no epochs."""
    models: dict[str, dict[str, Any]] = {"untrained": {"embedding_dim": 200}}
    if FB15K237.is_dir() and TRAINED.is_dir():
        models["trained"] = _trained(graph)
    return [_timed(name, kwargs, graph, repeat) for name, kwargs in models.items()]


def _trained(graph: Dataset) -> dict[str, Any]:
    """Let a model start from stored embeddings: halves [re | im], which PyKEEN keeps in pairs."""
    kwargs: dict[str, Any] = {}
    vocabularies = {"entity": ("entities", graph.entities), "relation": ("relations", graph.relations)}
    with np.load(TRAINED / "embeddings.npz") as stored:
        for kind, (plural, vocabulary) in vocabularies.items():
            vectors = stored[kind][_places(TRAINED / f"{plural}.tsv", vocabulary)]
            pairs = np.stack(np.split(vectors, 2, axis=1), axis=2).astype(np.float32)
            kwargs["embedding_dim"] = pairs.shape[1]
            kwargs[f"{kind}_initializer"] = _copying(pairs)
    return kwargs


def _copying(array: np.ndarray) -> Any:
    """Make an initializer. PyKEEN's own hands out one tensor, which PyKEEN overwrites when it resets a model."""
    import torch

    return lambda _: torch.tensor(array)


def _places(path: Path, vocabulary: Vocabulary) -> list[int]:
    labels = dict(line.split("\t")[::-1] for line in path.read_text(encoding="utf-8").splitlines())
    return [int(labels[label]) for label in vocabulary]


def _timed(name: str, kwargs: dict[str, Any], graph: Dataset, repeat: int) -> dict[str, Any]:
    click.echo(f"pipeline, ComplEx {name} ...", err=True)
    rows = np.random.default_rng(0).permutation(len(graph.test))[:SAMPLE]
    default, ours = (_evaluated(kwargs, graph, evaluator, rows)[1] for evaluator in ("rankbased", "kgeval"))
    if abs(default - ours) > TOLERANCE:
        raise SystemExit(f"pipeline, {name}: PyKEEN's MRR is {default}, kgeval's {ours}.")
    times: dict[str, list[float]] = {"kgeval": [], "PyKEEN": []}
    for _ in range(repeat):
        seconds, mrr = _evaluated(kwargs, graph, "kgeval", np.arange(len(graph.test)))
        times["kgeval"].append(seconds)
        times["PyKEEN"].append(_evaluated(kwargs, graph, "rankbased", rows)[0] * len(graph.test) / len(rows))
    medians = {tool: statistics.median(seconds) for tool, seconds in times.items()}
    return {"name": name, "mrr": mrr, "sample": len(rows), "seconds": medians, "all": times}


def _evaluated(kwargs: dict[str, Any], graph: Dataset, evaluator: str, rows: np.ndarray) -> tuple[float, float]:
    """Run a pipeline that evaluates some test triples; the seconds that it says this took, and the MRR."""
    import torch
    from pykeen.pipeline import pipeline
    from pykeen.triples import CoreTriplesFactory

    import kgeval.pykeen  # noqa: F401  # registers the evaluator

    parts = {"training": graph.train.ids, "validation": graph.split("valid").ids, "testing": graph.test.ids[rows]}
    sizes = {"num_entities": len(graph.entities), "num_relations": len(graph.relations)}
    result = pipeline(
        **{name: CoreTriplesFactory(torch.from_numpy(ids), **sizes) for name, ids in parts.items()},
        model="ComplEx",
        model_kwargs=kwargs,
        training_kwargs={"num_epochs": 0, "batch_size": 1024, "use_tqdm": False},
        evaluator=evaluator,
        evaluation_kwargs={"use_tqdm": False},
        random_seed=0,
        device="cpu",
    )
    return result.evaluate_seconds, result.metric_results.get_metric("mrr")
