"""Compute MAP@k by PyTorch Geometric: ``pip install torch_geometric==2.8.1; python pyg_values.py`` writes pyg.json."""

from __future__ import annotations

import json
import random
from pathlib import Path

CHOSEN = [
    *(([1, 1, 1], 3, 3), ([1, 0, 1], 4, 3), ([0, 0, 1], 2, 3), ([0, 0, 0], 1, 3), ([1, 0, 0, 1], 2, 1)),
    *(([0, 1], 5, 10), ([1, 1], 5, 10), ([0, 0, 1, 1], 2, 2), ([0, 0, 0], 0, 3)),
]
"""whether the items are relevant in served order, how many relevant items there are, and k"""


def mean_average_precision(relevance: list[int], m: int, k: int) -> float:
    """Items have their places as ids; relevant items that were not served have the next ids."""
    import torch
    from torch_geometric.metrics import LinkPredMAP

    served = len(relevance)
    truth = [place for place, hit in enumerate(relevance) if hit] + list(range(served, served + m - sum(relevance)))
    metric = LinkPredMAP(k=k)
    metric.to(torch.float64)
    metric.update(torch.arange(served).view(1, served), torch.tensor([[0] * m, truth], dtype=torch.long).view(2, m))
    return float(metric.compute())


if __name__ == "__main__":
    import torch
    import torch_geometric

    torch.set_default_dtype(torch.float64)
    rng, cases = random.Random(7), list(CHOSEN)
    for _ in range(20):
        length = rng.randint(1, 12)
        relevance = [int(rng.random() < 0.4) for _ in range(length)]
        m = max(1, sum(relevance) + rng.choice([0, 0, 1, 3, 8]))
        cases.append((relevance, m, rng.choice([1, 2, 3, 5, 8, 10, 15])))
    records = [
        "  " + json.dumps({"relevance": relevance, "m": m, "k": k, "value": mean_average_precision(relevance, m, k)})
        for relevance, m, k in cases
    ]
    head = (
        f' "made_by": "pyg_values.py",\n "version": "torch_geometric {torch_geometric.__version__}",\n "records": [\n'
    )
    listed = ",\n".join(records)
    text = f"{{\n{head}{listed}\n ]\n}}\n"
    Path(__file__).with_name("pyg.json").write_text(text, encoding="utf-8")
