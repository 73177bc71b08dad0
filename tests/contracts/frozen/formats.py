"""What each format of checkpoints is read as: its description, and the scores of a hundred triples."""

from __future__ import annotations

import hashlib
import itertools
import tempfile
from pathlib import Path

import numpy as np

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_checkpoint
from tests.contracts.frozen.plain_text import normal


def formats() -> dict[str, object]:
    """Describe one checkpoint of each layout, and hash its scores, heads and tails, as shares of the largest.

    Five decimals are what processors with other instructions agree in: libraries sum a convolution in their order.
    """
    from tests.models.checkpoints.layouts import ENTITIES, RELATIONS, WRITERS

    every = list(itertools.product(range(len(ENTITIES)), range(len(RELATIONS)), range(len(ENTITIES))))
    vocabularies = {"entities": Vocabulary(ENTITIES), "relations": Vocabulary(RELATIONS, "relation")}
    dataset = Dataset.build("hundred", {"test": Triples.of(every[:100])}, **vocabularies)
    found = {}
    for name, writer in WRITERS:
        with tempfile.TemporaryDirectory() as folder:
            _, _, options = writer(Path(folder))
            checkpoint = load_checkpoint(folder, dataset=dataset, **options)
            table = evaluate(checkpoint, dataset, unseen="drop", device="cpu")
            description = {key: normal(str(value), Path(folder)) for key, value in checkpoint.describe().items()}
        shares = table.column("score") / np.abs(table.column("score")).max()
        digits = " ".join(f"{share:.5f}" for share in np.round(shares, 5) + 0.0)
        scores = hashlib.sha256(digits.encode()).hexdigest()
        found[f"{name}: {writer.__name__}"] = {"describe": description, "scores": scores}
    return found


CONTRACTS = {"formats": formats}
