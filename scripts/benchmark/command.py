"""The whole command: ``kgeval evaluate`` from its start to its end, beside what its libraries take to be imported."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from kgeval import Dataset
from scripts.benchmark.graph import FB15K237, SHARED
from scripts.benchmark.tools import CASES

TRAINED = SHARED / "checkpoints/fb15k-237-complex"

IMPORTS = {
    "Python alone": "pass",
    "import numpy, pyarrow": "import numpy, pyarrow",
    "import numpy, pyarrow, pandas, numba, scipy.sparse": "import numpy, pyarrow, pandas, numba, scipy.sparse",
    "import torch": "import torch",
}


def whole_command(graph: Dataset, repeat: int) -> list[dict[str, Any]]:
    """Time whole processes in turns: wall time, and processor time of all threads; the least of several."""
    with TemporaryDirectory() as place:
        checkpoint, data = files_of(graph, Path(place))
        evaluate = ["-m", "kgeval", "evaluate", str(checkpoint), "--option", "model=ComplEx", "--dataset", str(data)]
        commands = {f"kgeval evaluate, {data.name}": evaluate, "kgeval --help": ["-m", "kgeval", "--help"]}
        commands |= {name: ["-c", code] for name, code in IMPORTS.items()}
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for turn in range(repeat + 1):  # the first one compiles
            for name, arguments in commands.items():
                click.echo(f"{name}, {turn} ...", err=True)
                taken[name].append(_timed(arguments))
    best = {name: np.min(times[1:], axis=0) for name, times in taken.items()}
    return [{"name": name, "seconds": float(wall), "processor": float(cpu)} for name, (wall, cpu) in best.items()]


def _timed(arguments: list[str]) -> tuple[float, float]:
    """Run Python; return wall and processor seconds of the process."""
    start, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)  # noqa: S603  # its own commands
    seconds, after = time.perf_counter() - start, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, spent


def files_of(graph: Dataset, place: Path, weights: dict[str, np.ndarray] | None = None) -> tuple[Path, Path]:
    """Return the folders of a model and its graph: the trained ComplEx where it is, or weights, in a folder to make."""
    real = FB15K237.is_dir()
    if weights is None and real and TRAINED.is_dir():
        return TRAINED, FB15K237
    (case,) = (case for case in CASES if case.name == "ComplEx")
    checkpoint, data = place / "checkpoint", FB15K237 if real else place / graph.name
    checkpoint.mkdir(parents=True)
    np.savez(checkpoint / "embeddings.npz", **(weights or case.weights(graph)))
    for name, labels in (("entities", graph.entities), ("relations", graph.relations)):
        (checkpoint / f"{name}.tsv").write_text("".join(f"{row}\t{label}\n" for row, label in enumerate(labels)))
    if not real:
        _write_graph(graph, data)
    return checkpoint, data


def _write_graph(graph: Dataset, data: Path) -> None:
    data.mkdir()
    options = pa_csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    for split, triples in graph.splits.items():
        columns = [graph.entities.take(triples.heads), graph.relations.take(triples.relations)]
        table = pa.table([*columns, graph.entities.take(triples.tails)], names=["head", "relation", "tail"])
        pa_csv.write_csv(table, data / f"{split}.txt", write_options=options)
