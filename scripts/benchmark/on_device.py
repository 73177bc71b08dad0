"""One GPU, the same weights: kgeval and its peers rank there, once their ranks are known to agree."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from kgeval import Dataset, RankTable, Triples, evaluate, predict
from scripts.benchmark.tools import Case, Kgeval, PyKEEN, TorchKGE, pessimistic

SAMPLE = 2048
"""test triples that the peers are timed on; their time is scaled to the whole split"""

CHECKED = 32
"""test triples on which everybody's ranks are compared, in float64, before anything is timed"""


WHOLE = 10**10
"""pairs of answers and entities up to which the processor ranks the whole split too, and predictions are timed"""

MOST_FACTS = 10**6
"""of graphs that TorchKGE is timed on: it puts all of them into dictionaries"""

PLACES = 10
"""predictions of each query"""


def on_device(cases: list[Case], graph: Dataset, device: str, repeat: int) -> list[dict[str, Any]]:
    """Time each case; ``device`` is as kgeval takes it, and its peers take ``torch:cpu`` for their CPU.

    kgeval ranks the whole split, and predicts for it: first on the processor, whose counts and predictions the device
    must give, then once to warm up, then ``repeat`` times. Of a large graph, the processor ranks a sample.
    """
    return [_compare(case, graph, device, repeat) for case in cases]


def _compare(case: Case, graph: Dataset, device: str, repeat: int) -> dict[str, Any]:
    weights = case.weights(graph)
    # Peers take one GPU; kgeval may take several.
    model, place = Kgeval(case, graph, weights).model, device.split(",", maxsplit=1)[0].removeprefix("torch:")
    whole = 2 * len(graph.test) * len(graph.entities) <= WHOLE
    rows = np.random.default_rng(0).permutation(len(graph.test))[: SAMPLE if whole else SAMPLE // 32]
    table = evaluate(model, graph, unseen="worst", device=device)
    _refuse_other_ranks(model, graph, table, np.arange(len(graph.test)) if whole else rows)
    if whole:
        wanted, found = (predict(model, graph, k=PLACES, unseen="drop", device=name) for name in ("cpu", device))
        if not found.data.equals(wanted.data):
            raise SystemExit(f"{case.name}: {device} gives other predictions than the processor.")
    peers = _peers(case, graph, weights)
    for name, peer in peers.items():
        peer.double().to(place)
        few = rows[: min(CHECKED, len(rows) // 4)]
        if different := int((peer.pessimistic(few) != pessimistic(table, few)).sum()):
            raise SystemExit(f"{case.name}: {different} of {2 * len(few)} ranks of {name} differ from kgeval's.")
        peer.single().pessimistic(rows[:2])
    ours: dict[str, Callable[[], object]] = {"kgeval": lambda: evaluate(model, graph, unseen="worst", device=device)}
    if whole:
        ours["predictions"] = lambda: predict(model, graph, k=PLACES, unseen="drop", device=device)
    seconds: dict[str, list[float]] = {name: [] for name in (*ours, *peers)}
    for _ in range(repeat):
        for name, work in ours.items():
            seconds[name].append(_seconds(work))
        for name, peer in peers.items():
            times = _seconds(lambda: peer.pessimistic(rows))  # noqa: B023
            seconds[name].append(times * len(graph.test) / len(rows))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    return {"name": case.name, "dim": case.dim, "seconds": medians, "all": seconds, "work": table.work}


def _refuse_other_ranks(model: Any, graph: Dataset, table: RankTable, rows: np.ndarray) -> None:
    """Stop where the processor ranks some rows of test in another way."""
    splits = {"train": Triples.concatenated([*graph.splits.values()]), "test": graph.test[rows]}
    sample = Dataset.build(graph.name, splits, entities=graph.entities, relations=graph.relations)
    expected = evaluate(model, sample, unseen="worst", device="cpu")
    of_rows = [pessimistic(of, part) for of, part in ((expected, np.arange(len(rows))), (table, rows))]
    if not (of_rows[0] == of_rows[1]).all():
        raise SystemExit(f"{table.model}: the device gives other ranks than the processor.")


def _peers(case: Case, graph: Dataset, weights: dict[str, np.ndarray]) -> dict[str, Any]:
    if not case.peers:
        return {}
    peers: dict[str, Any] = {"PyKEEN": PyKEEN(case, graph, weights)}
    if case.family in TorchKGE.families and sum(map(len, graph.splits.values())) <= MOST_FACTS:
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
        cells.append(f"{row['seconds']['predictions']:.3f} s" if "predictions" in row["seconds"] else "–")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
