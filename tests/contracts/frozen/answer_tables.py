"""The best answers of queries, and the sets of answers whose sizes rest on the log-sums of all scores."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np

from kgeval import answers, predict
from tests.contracts.frozen.counts import bits
from tests.contracts.frozen.exact_models import ExactModel, graph

COLUMNS = ("query", "anchor", "relation", "place", "entity", "greater", "tied", "candidates", "raw_greater", "raw_tied")


def predictions() -> dict[str, str]:
    """Hash the predictions of queries of both sides, with known answers and without; and what is known of each."""
    dataset, found = graph("small"), {}
    for similarity, k, known in itertools.product(("dot", "l2"), (1, 10, 40), ("keep", "drop")):
        model = ExactModel(dataset, similarity, biased=True)
        table = predict(model, dataset, k=k, known=known, device="cpu")
        # Types are of the train split, as `is_of_type` says, and `known` names the split that has the triple.
        words = repr((table.column("side").tolist(), table.column("known").tolist()))
        typed = np.asarray(table.column("is_of_type"), bool).tobytes()
        rest = hashlib.sha256(words.encode() + typed).hexdigest()
        found[f"{similarity}, k={k}, {known}"] = f"{bits(table, COLUMNS)} {rest}"
    return found


def log_sums() -> dict[str, object]:
    """Give limits and sizes of answer sets by softmax: log Σ exp(s) − s, where other known answers count and do not."""
    dataset, found = graph("small"), {}
    for similarity, splits in itertools.product(("dot", "l2"), ((), ("train", "valid", "test"))):
        model = ExactModel(dataset, similarity, biased=True)
        sets = answers(model, dataset, nonconformity="softmax", filter=splits)
        limits = [f"{limit.limit:.9g}" for limit in sets.limits]
        sizes = hashlib.sha256(np.asarray(sets.sizes, "<i8").tobytes()).hexdigest()
        found[f"{similarity}, filter {', '.join(splits) or 'none'}"] = {"limits": limits, "sizes": sizes}
    return found


CONTRACTS = {"predictions": predictions, "log-sums": log_sums}
