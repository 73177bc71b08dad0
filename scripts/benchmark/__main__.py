"""Time kgeval and its peers in one run, interleaved, and write a Markdown table and JSON."""

from __future__ import annotations

import csv
import json
import logging
import platform
import statistics
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import numpy as np

from kgeval import Dataset, evaluate, summarize
from kgeval.data.queries import Queries
from kgeval.ranking.corruption import Uniform
from scripts.benchmark.blocks import blocks
from scripts.benchmark.command import whole_command
from scripts.benchmark.estimates import estimates, large_graph
from scripts.benchmark.graph import everyday_graph, small_graph, synthetic
from scripts.benchmark.loading import loading
from scripts.benchmark.machine import describe, rates
from scripts.benchmark.on_device import device_table, on_device
from scripts.benchmark.pipelines import inside_pipelines
from scripts.benchmark.predictions import predictions
from scripts.benchmark.report import markdown
from scripts.benchmark.shares import shares
from scripts.benchmark.statistics import statistics as timed_statistics
from scripts.benchmark.tools import CASES, LIVE, Case, InPyKEEN, Kgeval, PyKEEN, TorchKGE

SAMPLE = 256
"""test triples that the slow peers are timed on; their time is scaled to the whole split"""

HISTORY = Path("docs/benchmarks.csv")
"""of each run that was kept: how many times faster than PyKEEN each model was ranked"""

CHECKED = 32
"""test triples on which everybody's ranks are compared, in float64, before anything is timed"""


@click.command()
@click.option("--repeat", default=3, show_default=True, help="How often each tool ranks; the table has medians.")
@click.option(
    "--only",
    multiple=True,
    help="Time only these models, or these parts: blocks, command, estimates, loading, pipelines, …",
)
@click.option("--growth/--no-growth", default=True, help="Time growth too.")
@click.option("--device", help="Time only this: all tools on one GPU, such as cuda; torch:cpu tries it without one.")
@click.option("--test", type=int, help="With --device: a synthetic graph of so many test triples.")
@click.option("--large", is_flag=True, help="With --device: a made graph of the size of ogbl-wikikg2.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/bench"), help="Where the results go.")
@click.option("--keep", is_flag=True, help="Append the ratios to docs/benchmarks.csv; not with --device.")
def main(
    repeat: int,
    only: tuple[str, ...],
    growth: bool,
    device: str | None,
    test: int | None,
    large: bool,
    out: Path,
    keep: bool,
) -> None:
    """Run the benchmark."""
    for talkative in ("pykeen", "torch_max_mem"):
        logging.getLogger(talkative).setLevel(logging.ERROR)
    out.mkdir(parents=True, exist_ok=True)
    if device is not None:
        graph = large_graph() if large else everyday_graph() if test is None else small_graph(test)
        _on_device(device, repeat, graph, [case for case in CASES if not only or case.name in only], out)
        return
    graph = everyday_graph()
    queries = sum(len(Queries.of(graph.test, side)) for side in ("head", "tail"))
    result: dict[str, Any] = {
        "date": str(date.today()),
        "machine": describe(),
        "python": platform.python_version(),
        "graph": {"name": graph.name, "test": len(graph.test), "queries": queries, "entities": len(graph.entities)},
        "rates": rates(),
        "sample": SAMPLE,
        "models": [_compare(case, graph, repeat, queries) for case in CASES if not only or case.name in only],
        "live": [_live(case, graph) for case in LIVE if not only or case.name in only],
        "blocks": blocks(graph) if not only or "blocks" in only else [],
        "pipelines": inside_pipelines(graph, repeat) if not only or "pipelines" in only else [],
        "predictions": predictions(graph, repeat) if not only or "predictions" in only else [],
        "growth": _growth(repeat) if growth else [],
        "metrics": _metrics() if growth else [],
        "statistics": timed_statistics(repeat) if not only or "statistics" in only else [],
        "estimates": estimates() if not only or "estimates" in only else [],
        "command": whole_command(graph, repeat) if not only or "command" in only else [],
        "loading": loading() if not only or "loading" in only else [],
    }
    (out / "bench.json").write_text(json.dumps(result, indent=2) + "\n")
    (out / "bench.md").write_text(markdown(result))
    if keep:
        with HISTORY.open("a", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(kept_rows(result))
    click.echo(markdown(result))


def kept_rows(result: dict[str, Any]) -> list[list[str]]:
    """One row of the history for each model that PyKEEN ranked too."""
    rows = ((row["name"], row["seconds"]["kgeval"], row["seconds"].get("PyKEEN")) for row in result["models"])
    return [
        [
            result["date"],
            version("kgeval"),
            result["machine"],
            name,
            f"{ours:.2f}",
            f"{theirs:.0f}",
            f"{theirs / ours:.0f}",
        ]
        for name, ours, theirs in rows
        if theirs is not None
    ]


def _on_device(device: str, repeat: int, graph: Dataset, cases: list[Case], out: Path) -> None:
    """Time all tools on one device."""
    from kgeval.ranking.engine_choice import find_device
    from kgeval.ranking.kernels.device.device_kernel import describe as describe_device

    result = {
        "date": str(date.today()),
        "machine": describe(),
        "device": describe_device(find_device(device)),
        "graph": {"name": graph.name, "test": len(graph.test), "entities": len(graph.entities)},
        "models": on_device(cases, graph, device, repeat),
    }
    (out / "device.json").write_text(json.dumps(result, indent=2) + "\n")
    (out / "device.md").write_text(device_table(result))
    click.echo(device_table(result))


def _compare(case: Case, graph: Dataset, repeat: int, queries: int) -> dict[str, Any]:
    click.echo(f"{case.name} ...", err=True)
    weights = case.weights(graph)
    ours = Kgeval(case, graph, weights)
    if not case.peers:
        return _measured(case, graph, queries, ours, {"kgeval": [_seconds(ours.table) for _ in range(repeat + 1)][1:]})
    inside = InPyKEEN(case, graph, weights)
    peers: dict[str, Any] = {"PyKEEN": PyKEEN(case, graph, weights)}
    if case.family in TorchKGE.families:
        peers["TorchKGE"] = TorchKGE(case, graph, weights)
    rows = np.random.default_rng(0).permutation(len(graph.test))[:SAMPLE]
    expected = ours.pessimistic(rows[:CHECKED])
    for name, peer in {**peers, "kgeval in PyKEEN": inside}.items():
        different = int((peer.double().pessimistic(rows[:CHECKED]) != expected).sum())
        if different:
            raise SystemExit(f"{case.name}: {different} of {expected.size} ranks of {name} differ from kgeval's.")
        peer.single().pessimistic(rows[:2])  # what it does once, it has done now
    seconds: dict[str, list[float]] = {name: [] for name in ("kgeval", "kgeval in PyKEEN", *peers)}
    for _ in range(repeat):
        seconds["kgeval"].append(_seconds(ours.table))
        seconds["kgeval in PyKEEN"].append(_seconds(inside.evaluator))
        for name, peer in peers.items():
            seconds[name].append(_seconds(lambda: peer.pessimistic(rows)) * len(graph.test) / SAMPLE)  # noqa: B023
    return _measured(case, graph, queries, ours, seconds)


def _measured(
    case: Case, graph: Dataset, queries: int, ours: Kgeval, seconds: dict[str, list[float]]
) -> dict[str, Any]:
    product = 2 * queries * len(graph.entities) * case.dim / 1e9
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    measured = {"seconds": medians, "all": seconds, "shares": shares(ours.model, graph), "work": ours.table().work}
    return {"name": case.name, "dim": case.dim, "gflop": product, **measured}


def _live(case: Case, graph: Dataset) -> dict[str, Any]:
    """Time both evaluators of PyKEEN once on a model of its own."""
    click.echo(f"{case.name} ...", err=True)
    inside, peer = InPyKEEN(case, graph), PyKEEN(case, graph)
    rows = np.random.default_rng(0).permutation(len(graph.test))[:SAMPLE]
    few = rows[:CHECKED]
    different = int((peer.double().pessimistic(few) != inside.double().pessimistic(few)).sum())
    if different:
        raise SystemExit(f"{case.name}: {different} of {2 * CHECKED} ranks of PyKEEN differ from kgeval's.")
    inside.single(), peer.single().pessimistic(rows[:2])
    ours, theirs = _seconds(inside.evaluator), _seconds(lambda: peer.pessimistic(rows)) * len(graph.test) / SAMPLE
    return {"name": case.name, "seconds": {"kgeval in PyKEEN": ours, "PyKEEN": theirs}}


def _growth(repeat: int) -> list[dict[str, Any]]:
    """Time DistMult on larger and larger graphs, splits and dimensions; and 500 negatives a query beside all."""
    sizes = {"train": 100_000, "valid": 5_000, "test": 5_000}
    base = synthetic(15_000, sizes)
    four_times = synthetic(15_000, {**sizes, "test": 20_000})
    settings: list[tuple[str, Dataset, int, dict[str, Any]]] = [
        ("15,000 entities, 5,000 triples, d = 256", base, 256, {}),
        ("4 × the entities", synthetic(60_000, sizes), 256, {}),
        ("16 × the entities", synthetic(240_000, sizes), 256, {}),
        ("4 × the triples", four_times, 256, {}),
        ("d = 64", base, 64, {}),
        ("d = 1024", base, 1024, {}),
        ("500 negatives a query", base, 256, {"corruption": Uniform(count=500)}),
        ("500 negatives, 16 × the entities", synthetic(240_000, sizes), 256, {"corruption": Uniform(count=500)}),
    ]
    return [_grown(name, graph, dim, options, repeat) for name, graph, dim, options in settings]


def _grown(name: str, graph: Dataset, dim: int, options: dict[str, Any], repeat: int) -> dict[str, Any]:
    click.echo(f"{name} ...", err=True)
    case = Case(name, "DistMult", {}, dim)
    model = Kgeval(case, graph, case.weights(graph)).model
    times = [_seconds(lambda: evaluate(model, graph, unseen="worst", **options)) for _ in range(repeat + 1)][1:]
    queries = sum(len(Queries.of(graph.test, side)) for side in ("head", "tail"))
    gflop = 2 * queries * (500 if options else len(graph.entities)) * dim / 1e9
    return {"name": name, "queries": queries, "gflop": gflop, "seconds": statistics.median(times)}


def _metrics() -> list[dict[str, Any]]:
    """Time metrics of a rank table of a million rows."""
    click.echo("metrics of a million ranks ...", err=True)
    graph = synthetic(15_000, {"train": 100_000, "valid": 5_000, "test": 500_000})
    case = Case("metrics", "DistMult", {}, 4)
    table = Kgeval(case, graph, case.weights(graph)).table()
    names = ["mrr", "hits@10", "amri", "expected.mrr", "z-mrr", "map", "ndcg@10", "precision@10", "auc", "first-rr"]
    asked: dict[str, dict[str, Any]] = {name: {"metrics": [name]} for name in names}
    asked |= {f"{name} by (tail, relation)": {"metrics": [name], "by": ("tail", "relation")} for name in ("mrr", "map")}
    asked["the usual metrics by (tail, relation)"] = {"by": ("tail", "relation")}
    rows = []
    for name, options in asked.items():
        start = time.perf_counter()
        groups = len(summarize(table, **options).groups)
        seconds = time.perf_counter() - start
        rows.append({"name": name, "rows": len(table), "groups": groups, "seconds": seconds})
    return rows


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
