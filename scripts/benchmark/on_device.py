"""One GPU, the same weights: kgeval and its peers rank there, once their ranks are known to agree."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from kgeval import Dataset, evaluate, predict
from scripts.benchmark.tools import Case, Kgeval, PyKEEN, TorchKGE, pessimistic

SAMPLE = 2048
"""test triples that the peers are timed on; their time is scaled to the whole split"""

CHECKED = 32
"""test triples on which everybody's ranks are compared, in float64, before anything is timed"""


PLACES = 10
"""predictions of each query"""


def on_device(cases: list[Case], graph: Dataset, device: str, repeat: int) -> list[dict[str, Any]]:
    """Time each case; ``device`` is as kgeval takes it, and its peers take ``torch:cpu`` for their CPU.

    kgeval ranks the whole split, and predicts for it: first on the processor, whose counts and predictions the device
    must give, then once to warm up, then ``repeat`` times.
    """
    return [_compare(case, graph, device, repeat) for case in cases]


def _compare(case: Case, graph: Dataset, device: str, repeat: int) -> dict[str, Any]:
    weights = case.weights(graph)
    # Peers take one GPU; kgeval may take several.
    model, place = Kgeval(case, graph, weights).model, device.split(",", maxsplit=1)[0].removeprefix("torch:")
    expected, table = (evaluate(model, graph, unseen="worst", device=name) for name in ("cpu", device))
    if not table.to_pandas().equals(expected.to_pandas()):
        raise SystemExit(f"{case.name}: {device} gives other ranks than the processor.")
    wanted, found = (predict(model, graph, k=PLACES, unseen="drop", device=name) for name in ("cpu", device))
    if not found.data.equals(wanted.data):
        raise SystemExit(f"{case.name}: {device} gives other predictions than the processor.")
    rows = np.random.default_rng(0).permutation(len(graph.test))[:SAMPLE]
    peers = _peers(case, graph, weights)
    for name, peer in peers.items():
        peer.double().to(place)
        few = rows[:CHECKED]
        if different := int((peer.pessimistic(few) != pessimistic(table, few)).sum()):
            raise SystemExit(f"{case.name}: {different} of {2 * len(few)} ranks of {name} differ from kgeval's.")
        peer.single().pessimistic(rows[:2])
    seconds: dict[str, list[float]] = {name: [] for name in ("kgeval", "predictions", *peers)}
    for _ in range(repeat):
        seconds["kgeval"].append(_seconds(lambda: evaluate(model, graph, unseen="worst", device=device)))
        seconds["predictions"].append(_seconds(lambda: predict(model, graph, k=PLACES, unseen="drop", device=device)))
        for name, peer in peers.items():
            times = _seconds(lambda: peer.pessimistic(rows))  # noqa: B023
            seconds[name].append(times * len(graph.test) / len(rows))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    return {"name": case.name, "dim": case.dim, "seconds": medians, "all": seconds, "work": table.work}


def _peers(case: Case, graph: Dataset, weights: dict[str, np.ndarray]) -> dict[str, Any]:
    if not case.peers:
        return {}
    peers: dict[str, Any] = {"PyKEEN": PyKEEN(case, graph, weights)}
    if case.family in TorchKGE.families:
        peers["TorchKGE"] = TorchKGE(case, graph, weights)
    return peers


def _seconds(work: Callable[[], object]) -> float:
    _finish()
    start = time.perf_counter()
    work()
    _finish()
    return time.perf_counter() - start


def _finish() -> None:
    """Wait until GPUs have done what was begun."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def device_table(result: dict[str, Any]) -> str:
    """Write the Markdown table."""
    graph = result["graph"]
    lines = [
        f"{result['date']}, {result['device']}, {result['machine']}. {graph['name']}: {graph['test']:,} test triples, "
        f"both sides, all {graph['entities']:,} entities. Normal weights. Peers were timed on at most {SAMPLE:,} "
        "triples on the same device, and scaled; medians.",
        "",
        "| model | kgeval | PyKEEN | TorchKGE | × PyKEEN | refined | canonical | 10 predictions |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in result["models"]:
        ours, work = row["seconds"]["kgeval"], row["work"]
        peers = [row["seconds"].get(name) for name in ("PyKEEN", "TorchKGE")]
        cells = [row["name"], f"{ours:.3f} s", *("–" if peer is None else f"{peer:,.1f} s" for peer in peers)]
        cells.append("–" if peers[0] is None else f"{peers[0] / ours:,.0f} ×")
        cells += [f"{work['refined'] / max(work['screened'], 1):.2%}", f"{work['rescored_share']:.1e}"]
        cells.append(f"{row['seconds']['predictions']:.3f} s")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
