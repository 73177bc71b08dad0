"""Before and after: whole commands of an earlier revision and of this one, in turns, on the same files.

``python -m scripts.benchmark.before REVISION``; KGEVAL_BENCH_SCALE, such as 0.1, makes the large graph smaller.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np

from scripts.benchmark.command import files_of
from scripts.benchmark.graph import everyday_graph
from scripts.benchmark.loading import large_graph
from scripts.benchmark.machine import describe
from scripts.benchmark.tools import CASES

ROOT = Path(__file__).parents[2]

RANKED = ("DistMult", "ComplEx", "DistMult d = 1000")
"""of normal weights, beside the trained ComplEx"""

LOAD = "import sys, kgeval; kgeval.load_dataset(sys.argv[1])"


@click.command()
@click.argument("revision")
@click.option("--repeat", default=3, show_default=True, help="How often each command runs; the table has the least.")
def main(revision: str, repeat: int) -> None:
    """Time the commands of REVISION and of this tree."""
    with TemporaryDirectory() as place, _tree_of(revision, Path(place) / "before") as before:
        commands = _commands(Path(place))
        click.echo(f"{describe()}. Seconds, the least of {repeat}; before: {revision}.\n")
        click.echo("| command | before | after | ratio |\n|---|---|---|---|")
        for name, arguments in commands.items():
            taken: dict[Path, list[float]] = {before: [], ROOT: []}
            for _ in range(repeat + 1):  # the first one compiles
                for tree, times in taken.items():
                    times.append(_seconds(arguments, tree))
            click.echo(_row(name, *(min(times[1:]) for times in taken.values())))


@contextmanager
def _tree_of(revision: str, place: Path) -> Iterator[Path]:
    """Check a revision out beside this tree."""
    git = [shutil.which("git") or "git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", str(place), revision], check=True, capture_output=True)  # noqa: S603
    try:
        yield place
    finally:
        subprocess.run([*git, "remove", "--force", str(place)], check=True, capture_output=True)  # noqa: S603


def _commands(place: Path) -> dict[str, list[str]]:
    """Write the files, and name the commands on them."""
    graph = everyday_graph()
    commands = {}
    for name, weights in {
        None: None,
        **{case.name: case.weights(graph) for case in CASES if case.name in RANKED},
    }.items():
        checkpoint, data = files_of(graph, place / (name or "trained"), weights)
        model = "ComplEx" if name is None else name.split()[0]
        options = ["--option", f"model={model}", "--dataset", str(data)]
        title = f"kgeval evaluate, {data.name}, {name or 'ComplEx'}, {'trained' if name is None else 'normal weights'}"
        commands[title] = ["-m", "kgeval", "evaluate", str(checkpoint), *options]
    triples, folders = large_graph(place)
    return {**commands, f"load {triples:,} triples of text": ["-c", LOAD, str(folders[".txt"])]}


def _seconds(arguments: list[str], tree: Path) -> float:
    """Run Python in a tree; an earlier revision keeps no graph, so that all read the same files."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "KGEVAL_CACHE": "off"}
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment, cwd=tree)  # noqa: S603
    return time.perf_counter() - start


def _row(name: str, before: float, after: float) -> str:
    return f"| {name} | {before:.2f} | {after:.2f} | {np.divide(before, after):.2f} × |"


if __name__ == "__main__":
    main()
