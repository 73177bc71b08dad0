"""The titles of metrics in tables and charts for people."""

from __future__ import annotations

from kgeval.metrics.tables.names import MetricName

ARROWS = {True: "↑", False: "↓", None: ""}
"""which direction is better"""


def title_of(metric: MetricName) -> str:
    """Call a metric as papers do, with the direction that is better.

    >>> from kgeval.metrics.tables.names import parse
    >>> [title_of(parse(name)) for name in ("hits@10", "head.mr", "pessimistic.mrr", "count")]
    ['Hits@10 ↑', 'head MR ↓', 'pessimistic MRR ↑', 'count']
    """
    return f"{short_title(metric)} {ARROWS[metric.metric.increasing]}".rstrip()


def short_title(metric: MetricName) -> str:
    """Call a metric as papers do.

    >>> from kgeval.metrics.tables.names import parse
    >>> [short_title(parse(name)) for name in ("both.mrr", "relation.mrr", "relation_side.mrr")]
    ['MRR', 'relation MRR', 'relation side MRR']
    """
    name, increasing = metric.name, metric.metric.increasing
    acronym = name.isalpha() and len(name) <= 5 and increasing is not None
    written = name.capitalize() if name == "hits" else name.upper() if acronym else name
    side = {"both": None, "relation": "relation side"}.get(metric.side or "both", metric.side)
    return " ".join(
        part for part in (side, metric.ties, metric.average, f"{written}{f'@{metric.k}' if metric.k else ''}") if part
    )
