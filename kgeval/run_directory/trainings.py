"""Trainings: of which model, seed and hyperparameters a run is, and which runs are seeds of one model."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

SEED = "random_seed"

SEED_ENDING = re.compile(r"[\s_.,(/-]*(seed)?[\s_.=/-]*\d*$", re.IGNORECASE)
"""the end of what the names of runs have in common that is no part of the model's: ``-seed_1`` of seeds 10 and 11"""


@dataclass(frozen=True)
class Training:
    """What a run is of, as far as it tells."""

    name: str = ""
    """of the model in a configuration with seeds, the same for all of them"""
    model: str = ""
    """its kind, such as ``TransE``"""
    seed: int | None = None
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Mapping[str, Any], manifest: Mapping[str, Any]) -> Training:
        """Read it from the configuration of a run and, of a model that was trained elsewhere, from its manifest."""
        own, live = (_block(content, "model") for content in (config, manifest))
        seed = _block(manifest, "seeds").get("training", own.get(SEED))
        left_out = (SEED, "seed", "path", "files", "model", "live")
        facts = {name: value for name, value in (own or live).items() if name not in left_out}
        name, model = manifest.get("name", ""), own.get("model") or live.get("live") or ""
        return cls(str(name), str(model), seed if isinstance(seed, int) else None, facts)

    def key(self, config: Mapping[str, Any]) -> str | None:
        """Describe what was trained and ranked, without the seed; ``None`` where nothing was trained with one."""
        if self.seed is None:
            return None
        kept = {name: config.get(name) for name in ("dataset", "protocol", "evaluation", "ties")}
        own = {"model": self.model, "hyperparameters": dict(self.hyperparameters)}
        return json.dumps({**kept, **({"name": self.name} if self.name else own)}, sort_keys=True, default=str)


def _block(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    block = content.get(name)
    return block if isinstance(block, Mapping) else {}


@dataclass(frozen=True)
class RunOf:
    """What decides of which model a run is."""

    dataset: str
    chosen: str
    """the name that it was given, as in ``NAME=PATH``; empty where there is none"""
    called: str
    """what it is called otherwise"""
    training: Training
    key: str | None
    """what all seeds of its model share; ``None`` where it has none"""


def join_seeds(runs: Sequence[RunOf]) -> list[list[int]]:
    """Group the places of runs that are seeds of one model, each group in the place of its first run.

    Runs of one dataset with one chosen name are one model. Runs without a name are one if they differ in their seeds
    alone; where a seed is there twice, they stay apart, as they show no spread.

    >>> runs = [RunOf("umls", "", f"transe-{seed}", Training(seed=seed), "TransE") for seed in (0, 1)]
    >>> join_seeds([*runs, RunOf("umls", "mine", "a", Training(), None), RunOf("umls", "mine", "b", Training(), None)])
    [[0, 1], [2, 3]]
    """
    groups: dict[Hashable, list[int]] = {}
    for place, run in enumerate(runs):
        key = ("named", run.chosen) if run.chosen else place if run.key is None else ("seeds", run.key)
        groups.setdefault((run.dataset, key), []).append(place)
    found: list[list[int]] = []
    for places in groups.values():
        own = [runs[place] for place in places]
        repeated = not own[0].chosen and len({run.training.seed for run in own}) < len(own)
        found += [[place] for place in places] if repeated else [places]
    return sorted(found)


def model_name(runs: Sequence[RunOf]) -> str:
    """Call a model of several runs by its name, by what the names of its runs begin with, or by its kind.

    >>> model_name([RunOf("umls", "", f"complex-{seed}", Training(seed=seed), "") for seed in (1, 2)])
    'complex'
    """
    first = runs[0]
    letters = takewhile(lambda at: len(set(at)) == 1, zip(*(run.called for run in runs), strict=False))
    shared = SEED_ENDING.sub("", "".join(at[0] for at in letters))
    return first.chosen or first.training.name or shared or first.training.model
