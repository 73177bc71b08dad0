"""Compute DCG and nDCG by LensKit: ``pip install lenskit==2025.8.1; python lenskit_values.py`` writes lenskit.json."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

CASES = {
    "binary": ([1, 0, 1, 1, 0], [], None),
    "binary, k < length": ([1, 0, 1, 1, 0], [], 3),
    "binary, shorter than k": ([0, 1], [], 10),
    "binary, truth has more": ([0, 1, 1, 0, 1], [1, 1, 1, 1], None),
    "binary, truth has more, k": ([0, 1, 1, 0, 1], [1, 1, 1, 1], 3),
    "binary, k=1, miss": ([0, 1, 1], [], 1),
    "binary, k=1, hit": ([1, 0], [1], 1),
    "binary, k=2, hit at 2": ([0, 1], [1], 2),
    "binary, length 16": ([0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [1, 1], None),
    "nothing relevant served": ([0, 0, 0], [1, 1], None),
    "empty list": ([], [1, 1, 1], None),
    "empty list, k": ([], [1, 1, 1], 5),
    "empty truth (truth has no items)": ([0, 0, 0], [], None),
    "graded, perfect": ([3, 2, 1], [], None),
    "graded, reversed": ([1, 2, 3], [], None),
    "graded, k < length": ([3, 2, 3, 0, 1, 2], [], 4),
    "graded, truth has more": ([3, 2, 3, 0, 1, 2], [3, 2], None),
    "graded, truth has more, k": ([3, 2, 3, 0, 1, 2], [3, 2], 6),
    "graded, shorter than k": ([0, 5], [2, 1], 10),
    "graded, fractional": ([0.5, 0, 2.5, 1.25], [4.0], 3),
    "graded, empty list": ([], [3, 1], 5),
    "graded, nothing relevant served": ([0, 0], [3, 1], None),
    "graded, first two swapped": ([2, 3], [], 2),
    "J&K 2002 example G'": ([3, 2, 3, 0, 0, 1, 2, 2, 3, 0], [], None),
}
"""the grades in served order, those of relevant items that were not served, and k"""


def record(note: str, served: list[float], others: list[float], k: int | None) -> str:
    from lenskit.data import ItemList
    from lenskit.metrics import call_metric
    from lenskit.metrics.ranking import DCG, NDCG

    truth = [(item, float(grade)) for item, grade in enumerate(served + others, 1) if grade > 0]
    gain = "rating" if any(grade != 1 for _, grade in truth) else None
    recommended = ItemList(list(range(1, len(served) + 1)), ordered=True)
    known = ItemList([item for item, _ in truth], rating=[grade for _, grade in truth]) if truth else ItemList()
    values = {name: call_metric(of, recommended, known, n=k, gain=gain) for name, of in (("dcg", DCG), ("ndcg", NDCG))}
    shown = {name: None if math.isnan(value) else float(value) for name, value in values.items()}
    ideal = sorted((grade for _, grade in truth), reverse=True)
    return "  " + json.dumps({"note": note, "relevance": served, "ideal": ideal, "k": k, **shown})


if __name__ == "__main__":
    import lenskit

    warnings.simplefilter("ignore")
    records = ",\n".join(record(note, *case) for note, case in CASES.items())
    head = f' "made_by": "lenskit_values.py",\n "version": "lenskit {lenskit.__version__}",\n "records": [\n'
    Path(__file__).with_name("lenskit.json").write_text(f"{{\n{head}{records}\n ]\n}}\n", encoding="utf-8")
