"""Seeds: which stored runs are trainings of one model that differ in their seed only, and what that model is called.

``kgeval.runs.compared_runs`` and ``kgeval.reports.evaluated_models`` describe each run by a ``RunOf``; ``join_seeds``
groups these, and ``model_name`` names a group.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any


@dataclass(frozen=True)
class RunOf:
    """What decides to which model a run belongs: its dataset, its names and its training."""

    dataset: str
    chosen: str
    """the name that the user gave, as in ``NAME=PATH``; empty if there is none"""
    called: str
    """the name that the run has without the user's"""
    training: Training
    key: str | None
    """what all seeds of its model share; ``None`` if it has no seed"""


def join_seeds(runs: Sequence[RunOf]) -> list[list[int]]:
    """Group runs, by their indices, that are seeds of one model; a group stands where its first run does.

    Runs on one dataset with the same chosen name are one model. Runs without a chosen name are one model if they differ
    in their seeds only. If a seed occurs twice, they stay separate.

    >>> runs = [RunOf("umls", "", f"transe-{seed}", Training(seed=seed), "TransE") for seed in (0, 1)]
    >>> join_seeds([*runs, RunOf("umls", "mine", "a", Training(), None), RunOf("umls", "mine", "b", Training(), None)])
    [[0, 1], [2, 3]]
    """
    groups: dict[Hashable, list[int]] = {}
    for place, run in enumerate(runs):
        key = ("named", run.chosen) if run.chosen else place if run.key is None else ("seeds", run.key)
        groups.setdefault((run.dataset, key), []).append(place)
    models: list[list[int]] = []
    for places in groups.values():
        of_model = [runs[place] for place in places]
        repeated = not of_model[0].chosen and len({run.training.seed for run in of_model}) < len(of_model)
        models += [[place] for place in places] if repeated else [places]
    return sorted(models)


SEED_ENDING = re.compile(r"[\s_.,(/-]*(seed)?[\s_.=/-]*\d*$", re.IGNORECASE)
"""the end of the common part of run names that does not belong to the model's name: ``-seed_1`` of seeds 10 and 11"""


def model_name(runs: Sequence[RunOf]) -> str:
    """Return the name of a model with several runs: its own, the common beginning of the names of runs, or its kind.

    >>> model_name([RunOf("umls", "", f"complex-{seed}", Training(seed=seed), "") for seed in (1, 2)])
    'complex'
    """
    first = runs[0]
    shared = SEED_ENDING.sub("", commonprefix([run.called for run in runs]))  # noqa: RUF071 (names, not paths)
    return first.chosen or first.training.name or shared or first.training.model


SEED = "random_seed"


@dataclass(frozen=True)
class Training:
    """The training of the model of a run, as far as the run stores it."""

    name: str = ""
    """the model's name in a configuration, if it has a seed there; the same for all seeds"""
    model: str = ""
    """its kind, such as ``TransE``"""
    seed: int | None = None
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Mapping[str, Any], manifest: Mapping[str, Any]) -> Training:
        """Read it from the configuration of a run or, for a model that was trained elsewhere, from its manifest."""
        trained, live = (_block(content, "model") for content in (config, manifest))
        seed = _block(manifest, "seeds").get("training", trained.get(SEED))
        left_out = (SEED, "seed", "path", "files", "model", "live")
        facts = {name: value for name, value in (trained or live).items() if name not in left_out}
        name, model = manifest.get("name", ""), trained.get("model") or live.get("model") or live.get("live") or ""
        return cls(str(name), str(model), seed if isinstance(seed, int) else None, facts)

    def key(self, config: Mapping[str, Any]) -> str | None:
        """Describe what was trained and ranked, without the seed; ``None`` if there is no seed."""
        if self.seed is None:
            return None
        kept = {name: config.get(name) for name in ("dataset", "protocol", "evaluation", "ties")}
        training = {"model": self.model, "hyperparameters": dict(self.hyperparameters)}
        return json.dumps({**kept, **({"name": self.name} if self.name else training)}, sort_keys=True, default=str)


def _block(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    block = content.get(name)
    return block if isinstance(block, Mapping) else {}
