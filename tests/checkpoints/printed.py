"""What the real frameworks printed of their checkpoints, under the names that a printout gives the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROTOCOLS = {"dgl-ke": "dglke", "transx": "kb2e"}
"""the protocol of a framework whose checkpoints are kept under another name"""

WITHOUT_COUNTERPART = {"loss", "auc", "count", "edges evaluated", "mean_reciprocal_rank_filtered_with_test"}
"""what is no function of the ranks, or was not computed"""


def printed_by(framework: str, folder: Path) -> dict[str, float]:
    """Read the metrics of the framework's own evaluator from ``expected.json``."""
    metrics = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["metrics"]
    return {name: value for name, value in _READ[framework](metrics).items() if name not in WITHOUT_COUNTERPART}


def _torchkge(metrics: dict[str, Any]) -> dict[str, float]:
    pairs = {name: value for name, value in metrics.items() if isinstance(value, dict)}
    return {f"{name}, {setting}": value[setting] for name, value in pairs.items() for setting in ("raw", "filtered")}


def _openke(metrics: dict[str, Any]) -> dict[str, float]:
    (table,) = (part["table"] for part in metrics["printed"] if part["results"] == "no type constraint")
    return {f"{row} {name}": value for row, cells in table.items() for name, value in cells.items()}


def _kbc(metrics: dict[str, Any]) -> dict[str, float]:
    sides, both = metrics["dataset.eval(test)"], metrics["avg_both"]
    means = {"": (both["MRR"], both["hits@[1,3,10]"])}
    means |= {f" {side}": (sides["MRR"][side], sides["hits@[1,3,10]"][side]) for side in ("rhs", "lhs")}
    values: dict[str, float] = {}
    for part, (mrr, hits) in means.items():
        values |= {f"MRR{part}": mrr, **{f"hits@{k}{part}": hit for k, hit in zip((1, 3, 10), hits, strict=True)}}
    return values


def _pyg(metrics: dict[str, Any]) -> dict[str, float]:
    (printed,) = metrics.values()
    return {name.removesuffix(" (0-based)"): value for name, value in printed.items()}


def _transx(metrics: dict[str, Any]) -> dict[str, float]:
    (printed,) = metrics.values()
    return {f"{side} {name}": value for side, values in printed.items() for name, value in values.items()}


_READ = {
    "ampligraph": lambda metrics: metrics["filtered worst (default strategy)"],
    "conve": lambda metrics: metrics["ranking_and_hits(test), all 661 test triples (--test-batch-size 661)"],
    "dgl-ke": lambda metrics: metrics["dglke_eval filtered"],
    "kbc": _kbc,
    "libkge": lambda metrics: metrics,
    "marius": lambda metrics: metrics["marius_eval filtered"],
    "openke": _openke,
    "pbg": lambda metrics: metrics["filtered"],
    "pyg": _pyg,
    "pykeen": lambda metrics: metrics,
    "rotate": lambda metrics: metrics["filtered"],
    "torchkge": _torchkge,
    "transx": _transx,
    "tucker": lambda metrics: metrics["evaluate(test)"],
}
