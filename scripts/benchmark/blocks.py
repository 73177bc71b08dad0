"""Models scored in blocks, since no similarity of vectors gives their scores: live ones, and those of files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from kgeval import Dataset, Triples, evaluate, load_checkpoint
from scripts.benchmark.tools import Case, InPyKEEN, PyKEEN, pessimistic

MODELS = [
    Case("BoxE", "BoxE", {}, 64),
    Case("ConvKB, 32 filters", "ConvKB", {"num_filters": 32}, 32),
    Case("ERMLP", "ERMLP", {}, 64),
    Case("KG2E", "KG2E", {}, 64),
    Case("NTN", "NTN", {"entity_initializer": "xavier_uniform"}, 32),  # PyKEEN's own choice saturates every tanh
    Case("TorusE", "TorusE", {}, 64),
]
"""models that no similarity of vectors gives, live and from the files that PyKEEN saves; weights are PyKEEN's"""

CONVE = Case("ConvE", "ConvE", {}, 200, batch_size=4)
"""from its file, where each head has a vector of its own without inverse triples; live, it is vectors of torch"""

SAMPLE = 64
"""test triples that PyKEEN is timed on"""

PART = 256
"""test triples that kgeval is timed on: those of one relation together, as in a whole split"""


def blocks(graph: Dataset) -> list[dict[str, Any]]:
    """Time kgeval and PyKEEN, in processor seconds of all threads for each triple."""
    part = _part(graph, PART)
    sample = _part(part, SAMPLE)
    live = [_live(case, part, sample) for case in MODELS]
    return [*live, *(_from_file(case, part, sample) for case in (*MODELS, CONVE))]


def _part(graph: Dataset, count: int) -> Dataset:
    """Take the first test triples by relation; the others are known answers still."""
    order = np.argsort(graph.test.relations, kind="stable")
    test, rest = graph.test.ids[order[:count]], graph.test.ids[order[count:]]
    valid = np.concatenate([graph.split("valid").ids, rest])
    splits = {"train": graph.train, "valid": Triples(valid), "test": Triples(test)}
    return Dataset.build(graph.name, splits, entities=graph.entities, relations=graph.relations)


def _live(case: Case, part: Dataset, sample: Dataset) -> dict[str, Any]:
    peer, inside = PyKEEN(case, sample), InPyKEEN(case, part)
    rows = np.arange(SAMPLE)
    _refuse_difference(case.name, peer.double().pessimistic(rows), inside.double().pessimistic(rows))
    peer.single(), inside.single()
    ours, theirs = _seconds(inside.evaluator), _seconds(lambda: peer.pessimistic(rows))
    return {
        "name": f"{case.name}, live",
        "dim": case.dim,
        "seconds": {"kgeval": ours / PART, "PyKEEN": theirs / SAMPLE},
    }


def _from_file(case: Case, part: Dataset, sample: Dataset) -> dict[str, Any]:
    import torch

    name, peer, rows = f"{case.name}, from its file", PyKEEN(case, sample), np.arange(SAMPLE)
    with TemporaryDirectory() as folder:
        torch.save(peer._model, Path(folder) / "trained_model.pkl")
        model = load_checkpoint(folder).model
    _refuse_difference(name, peer.double().pessimistic(rows), pessimistic(evaluate(model, sample), rows))
    peer.single()
    ours, theirs = _seconds(lambda: evaluate(model, part)), _seconds(lambda: peer.pessimistic(rows))
    return {"name": name, "dim": case.dim, "seconds": {"kgeval": ours / PART, "PyKEEN": theirs / SAMPLE}}


def _refuse_difference(name: str, theirs: np.ndarray, ours: np.ndarray) -> None:
    if different := int((theirs != ours).sum()):
        raise SystemExit(f"{name}: {different} of {ours.size} ranks of PyKEEN differ from kgeval's.")


def _seconds(work: Callable[[], object]) -> float:
    click.echo(".", nl=False, err=True)
    start = time.process_time()
    work()
    return time.process_time() - start
