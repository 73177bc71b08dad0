"""RotatE whose relations are no rotations: turning back by the conjugate would rank heads silently wrong."""

from __future__ import annotations

import pytest

from kgeval import load_checkpoint
from kgeval.checkpoints.readers.pykeen import NoFormula


@pytest.mark.parametrize("inverse", [False, True])
def test_only_tails_can_do_without_rotations(tmp_path, inverse):
    from pykeen.datasets import get_dataset
    from pykeen.pipeline import pipeline

    graph = get_dataset(dataset="nations", dataset_kwargs={"create_inverse_triples": inverse})
    result = pipeline(
        dataset=graph,
        model="RotatE",
        model_kwargs={"embedding_dim": 4, "relation_constrainer": None},
        optimizer_kwargs={"lr": 0.5},
        training_kwargs={"num_epochs": 1, "use_tqdm": False},
        evaluation_kwargs={"use_tqdm": False},
        random_seed=0,
        device="cpu",
    )
    result.save_to_directory(tmp_path)
    if inverse:
        assert load_checkpoint(tmp_path).num_relations == 55
        return
    with pytest.raises(NoFormula, match=r"its relations are no rotations.*Evaluate the live model instead"):
        load_checkpoint(tmp_path)
