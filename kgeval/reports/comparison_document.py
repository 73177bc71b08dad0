"""A comparison as a document: its leaderboard, the differences of each pair, and the notes, in the look of the page."""

from __future__ import annotations

from kgeval.analysis.comparison.comparison import Comparison
from kgeval.reports.document import common_provenance, document
from kgeval.reports.isolation import isolated


def comparison_document(comparison: Comparison) -> str:
    """Write a comparison as an HTML file.

    >>> from kgeval import compare, evaluate
    >>> tables = {str(n): evaluate(lambda h, r, t, n=n: (h * n + t * 7) % 5, "nations") for n in (2, 3)}
    >>> text = comparison_document(compare(tables, ["mrr"]))
    >>> text.startswith("<!doctype html>"), text.count("<table>")
    (True, 2)

    Raises
    ------
    InputError
        if a library of the extra ``kgeval[report]`` is not installed
    """
    columns, rows = comparison.table()
    provenances = [summary.provenance for summary in comparison.summaries.values()]
    datasets = dict.fromkeys(isolated(provenance.dataset) for provenance in provenances)
    return document(
        "comparison.html.j2",
        scripts=("theme.js",),
        title=f"{len(provenances)} models on {' and '.join(datasets)}",
        about=f"{common_provenance(provenances)}, ties: {comparison.ties}",
        columns=columns,
        rows=rows,
        keys=1 + columns.index("model"),
        differences=_differences(comparison),
        notes=comparison.notes,
    )


def _differences(comparison: Comparison) -> list[tuple[str, list[str], list[list[str]], int]]:
    """Divide the table of differences by metric: (name, columns, rows, how many columns name a row)."""
    (_, *columns), rows = comparison.differences_table()
    metrics = dict.fromkeys(metric for metric, *_ in rows)
    keys = columns.index("other") + 1
    return [(metric, columns, [row for name, *row in rows if name == metric], keys) for metric in metrics]
