"""The report: the benchmark's Markdown tables."""

from __future__ import annotations

from typing import Any


def markdown(result: dict[str, Any]) -> str:
    """Write the tables."""
    graph, rates = result["graph"], result["rates"]
    lines = [
        f"{result['date']}, {result['machine']}, Python {result['python']}. {graph['name']}: {graph['test']:,} test "
        f"triples, both sides, {graph['queries']:,} unique queries, all {graph['entities']:,} entities. Normal "
        f"weights. Peers were timed on {result['sample']} triples and scaled; medians. Matrix products here: "
        + ", ".join(f"{rate:,.0f} GFLOP/s in {name}" for name, rate in rates.items())
        + ".",
        "",
    ]
    if result["models"]:
        lines += [
            "| model | kgeval | in PyKEEN | PyKEEN | TorchKGE | × PyKEEN | × TorchKGE | float32 product alone "
            "| GFLOP/s | counting | rest |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
            *(_row(model, rates["float32"]) for model in result["models"]),
            "",
        ]
    if result["live"]:
        lines += ["| live model | in PyKEEN | PyKEEN | × PyKEEN |", "|---|---|---|---|"]
        for row in result["live"]:
            ours, theirs = (row["seconds"][name] for name in ("kgeval in PyKEEN", "PyKEEN"))
            lines.append(f"| {row['name']} | {ours:.1f} s | {theirs:,.0f} s | {theirs / ours:,.0f} × |")
        lines.append("")
    lines += _in_blocks(result["blocks"])
    if result["pipelines"]:
        scaled = f"default evaluator, scaled from {result['pipelines'][0]['sample']:,} triples"
        lines += [f"| evaluation in `pipeline()` | MRR | kgeval | {scaled} | × |", "|---|---|---|---|---|"]
        lines += [*(_pipeline_row(row) for row in result["pipelines"]), ""]
    if result["predictions"]:
        lines += ["| the ten best of each query | ranking | predicting | × |", "|---|---|---|---|"]
        for row in result["predictions"]:
            ranking, predicting = row["seconds"]["ranking"], row["seconds"]["predicting"]
            lines.append(f"| {row['name']} | {ranking:.2f} s | {predicting:.2f} s | {predicting / ranking:.2f} |")
        lines.append("")
    lines += _estimates(result["estimates"])
    lines += _whole_command(result["command"])
    lines += _loading(result["loading"])
    if result["growth"]:
        lines += ["| DistMult | queries | seconds | GFLOP/s |", "|---|---|---|---|"]
        lines += [
            f"| {row['name']} | {row['queries']:,} | {row['seconds']:.2f} | {row['gflop'] / row['seconds']:,.0f} |"
            for row in result["growth"]
        ]
    if result["metrics"]:
        rows = result["metrics"][0]["rows"]
        metrics = ", ".join(map(_in_words, result["metrics"]))
        lines += ["", f"Metrics of {rows:,} ranks: {metrics}."]
    if result["statistics"]:
        rows = result["statistics"][0]["rows"]
        lines += ["", f"| {rows:,} ranks, the usual seven metrics | seconds |", "|---|---|"]
        lines += [f"| {row['name']} | {row['seconds']:.2f} |" for row in result["statistics"]]
    return "\n".join(lines) + "\n"


def _in_blocks(rows: list[dict[str, Any]]) -> list[str]:
    lines = ["| scored in blocks, a test triple | d | kgeval | PyKEEN | × PyKEEN |", "|---|---|---|---|---|"]
    for row in rows:
        ours, theirs = row["seconds"]["kgeval"], row["seconds"]["PyKEEN"]
        lines.append(f"| {row['name']} | {row['dim']} | {ours:.3f} s | {theirs:.3f} s | {theirs / ours:,.1f} × |")
    return [*lines, "", "These are processor seconds of all threads, of both sides.", ""] if rows else []


def _in_words(row: dict[str, Any]) -> str:
    groups = f" ({row['groups']:,} groups)" if row["groups"] > 1 else ""
    return f"{row['name']}{groups} {row['seconds']:.2f} s"


def _pipeline_row(row: dict[str, Any]) -> str:
    ours, theirs = row["seconds"]["kgeval"], row["seconds"]["PyKEEN"]
    return f"| ComplEx, {row['name']} | {row['mrr']:.4f} | {ours:.2f} s | {theirs:.0f} s | {theirs / ours:.0f} × |"


def _estimates(rows: list[dict[str, Any]]) -> list[str]:
    """Write the time that each error takes."""
    if not rows:
        return []
    first = rows[0]
    cells = [
        f"| ± {row['error']} | {row['triples']:,} | {row['seconds']:.0f} | {row['mrr']:.4f} ± {row['half']:.4f} "
        f"| {row['method']} |"
        for row in rows
    ]
    return [
        f"{first['of']:,} test triples, both sides, all {first['entities']:,} entities, d = 200:",
        "",
        "| MRR within | triples ranked | seconds | estimate | method |",
        "|---|---|---|---|---|",
        *cells,
        "",
    ]


def _whole_command(rows: list[dict[str, Any]]) -> list[str]:
    """Write the seconds of whole processes."""
    lines = ["| whole process | seconds | processor seconds |", "|---|---|---|"]
    lines += [f"| {row['name']} | {row['seconds']:.2f} | {row['processor']:.2f} |" for row in rows]
    return [*lines, ""] if rows else []


def _loading(rows: list[dict[str, Any]]) -> list[str]:
    """Write what each way of loading takes."""
    if not rows:
        return []
    lines = ["| files | loaded by | seconds | processor seconds | peak memory |", "|---|---|---|---|---|"]
    for row in rows:
        times = f"{row['seconds']:.1f} | {row['processor']:.1f}"
        lines.append(f"| {row['files']} | {row['way']} | {times} | {row['peak'] / 1e9:.2f} GB |")
    return [f"{rows[0]['triples']:,} triples as files, loaded in a process of its own each:", "", *lines, ""]


def _row(model: dict[str, Any], rate: float) -> str:
    seconds = model["seconds"]
    ours = seconds["kgeval"]
    peers = [seconds.get(name) for name in ("PyKEEN", "TorchKGE")]
    cells = [
        model["name"],
        f"{ours:.2f} s",
        f"{seconds['kgeval in PyKEEN']:.2f} s" if "kgeval in PyKEEN" in seconds else "–",
        *("–" if peer is None else f"{peer:.0f} s" for peer in peers),
        *("–" if peer is None else f"{peer / ours:.0f} ×" for peer in peers),
        f"{model['gflop'] / rate:.2f} s" if model["name"] not in {"TransE L1", "RotatE, sum of moduli"} else "–",
        f"{model['gflop'] / ours:,.0f}",
        f"{model['shares']['counting']:.0%}",
        f"{1 - sum(model['shares'].values()):.0%}",
    ]
    return "| " + " | ".join(cells) + " |"
