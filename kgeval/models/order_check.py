"""The check of an order that no shape shows: under which of several readings a model ranks facts of train well.

``alignment.py`` asks it for orders of ids, ``checkpoints/building.py`` for those of numbers and of inverse relations.
An untrained model, or one that is about as good under both readings, decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgeval.base.arrays import Float64Array
from kgeval.base.errors import InputError
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES
from kgeval.models.scorer import Scorer, VectorScorer, as_float64, sides_of

QUERIES, CANDIDATES, BATCH = 200, 500, 50
"""the most train triples that are ranked on each side, the most candidates of each, and queries scored at a time"""

CLEAR = 6.0
"""by how many standard errors of the paired difference the better reading is ahead, of the others and of chance"""


def better_reading(
    readings: Mapping[str, Scorer | VectorScorer], dataset: Dataset, *, candidates: int = CANDIDATES
) -> tuple[str | None, str]:
    """Find the reading under which facts of train rank clearly better than under all others and by chance.

    Returns its name, or None, and the MRR of each among ``candidates``, in words. Readings are in the dataset's ids.
    """
    try:
        ranks = {name: _reciprocal_ranks(model, dataset, candidates) for name, model in readings.items()}
    except (InputError, ValueError):  # the model does not know all of them, or there is no train
        return None, "train does not tell"
    means = {name: float(values.mean()) for name, values in ranks.items()}
    best = max(means, key=lambda name: means[name])
    among = 1 + min(candidates, len(dataset.entities))
    chance = np.full_like(ranks[best], (1 / np.arange(1, among + 1)).mean())
    rivals = [*(values for name, values in ranks.items() if name != best), chance]
    told = "MRR of train: " + ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    ahead = [ranks[best] - rival for rival in rivals]
    is_clear = all(it.mean() > CLEAR * max(float(it.std()) / np.sqrt(len(it)), 1e-9) for it in ahead)
    return (best if is_clear else None), told


def _reciprocal_ranks(model: Scorer | VectorScorer, dataset: Dataset, candidates: int) -> Float64Array:
    """Rank answers of train among random entities, ties as half; float64[query]."""
    draw, parts = np.random.default_rng(0), []
    facts = dataset.train[np.sort(draw.choice(len(dataset.train), min(len(dataset.train), QUERIES), replace=False))]
    others = np.unique(draw.integers(len(dataset.entities), size=min(candidates, len(dataset.entities))))
    for side in (side for side in SIDES if side in sides_of(model)):
        queries = Queries.per_triple(facts, side, as_given=True)
        for start in range(0, len(queries), BATCH):
            part = queries[start : start + BATCH]
            every = np.unique(np.r_[part.answers, others])
            scores = as_float64(model.scores(part, every), "the model")
            own = scores[np.arange(len(part)), np.searchsorted(every, part.answers)][:, None]
            among = np.isin(every, others)[None, :] & (every[None, :] != part.answers[:, None])
            parts.append(1 / (1 + ((scores > own) & among).sum(axis=1) + ((scores == own) & among).sum(axis=1) / 2))
    return np.concatenate(parts)
