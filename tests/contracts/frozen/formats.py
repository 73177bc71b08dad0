"""What each format of checkpoints is read as: its description, and the scores of a hundred triples."""

from __future__ import annotations

import hashlib
import itertools
import tempfile
from pathlib import Path

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_checkpoint
from tests.contracts.frozen.plain_text import normal


def formats() -> dict[str, object]:
    """Describe one checkpoint of each layout, and hash nine digits of its scores, heads and tails."""
    from tests.checkpoints.layouts import ENTITIES, RELATIONS, WRITERS

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
        digits = " ".join(f"{score + 0.0:.9g}" for score in table.column("score"))
        scores = hashlib.sha256(digits.encode()).hexdigest()
        found[f"{name}: {writer.__name__}"] = {"describe": description, "scores": scores}
    return found


CONTRACTS = {"formats": formats}
