"""Group names: a summary whose entity and relation labels have their human names before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kgeval.data.io.headers import TRIPLE
from kgeval.data.vocabulary import display_label
from kgeval.metrics.summary import Summary

COLUMNS = (*TRIPLE, *(f"{column}_label" for column in TRIPLE))
"""the columns whose values are labels"""


def named(summary: Summary, names: Mapping[str, str]) -> Summary:
    """Put human names before the labels in the keys of groups.

    >>> from kgeval import evaluate, load_dataset, summarize
    >>> table = evaluate(lambda h, r, t: (h + r + t) % 10, load_dataset("nations"))
    >>> summary = summarize(table, ["mrr"], by="relation")
    >>> named(summary, {"accusation": "accuses"}).groups[0].key
    {'relation': 'accuses (accusation)'}
    """

    def with_names(key: dict[str, Any]) -> dict[str, Any]:
        return {column: display_label(value, names) if column in COLUMNS else value for column, value in key.items()}

    return replace(summary, groups=tuple(replace(group, key=with_names(group.key)) for group in summary.groups))
