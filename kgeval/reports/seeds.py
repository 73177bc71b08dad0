"""Seeds: runs that differ only in the seed of their training are one model, which a page shows as their mean."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from kgeval.metrics.metric_options import MetricOptions
from kgeval.metrics.tables.rank_summary import rank_summary
from kgeval.reports.evaluated_model import EvaluatedModel

SEED = "random_seed"
"""the key of the seed in the configuration of a model that is trained"""

COMMON_KEYS = ("dataset", "model", "protocol", "evaluation", "ties")
"""the further keys of configurations that runs with different seeds have in common"""

SEED_ENDING = re.compile(r"[\s_.,(-]*(seed)?[\s_.=-]*\d*$", re.IGNORECASE)
"""the end of what the names of runs have in common that is no part of the model's: ``-seed_1`` of seeds 10 and 11"""


def join_seeds(models: Iterable[tuple[str, EvaluatedModel]]) -> list[tuple[str, EvaluatedModel]]:
    """Join the runs that are seeds of one model, in the place of the first; runs that were named stay apart.

    Parameters
    ----------
    models
        runs, each after the name that was chosen for it, or that of its folder; empty where there is none
    """
    groups: dict[Hashable, list[tuple[str, EvaluatedModel]]] = {}
    for place, (name, model) in enumerate(models):
        training = None if name and name == model.name else _training(model)
        groups.setdefault(place if training is None else (name, training), []).append((name, model))
    found: list[tuple[str, EvaluatedModel]] = []
    for members in groups.values():
        seeds = {_seed(model) for _, model in members}
        if len(members) == 1 or len(seeds) < len(members):  # a seed twice shows no spread
            found += members
        else:
            found.append((members[0][0], model_of_seeds([model for _, model in members])))
    return found


def model_of_seeds(runs: Sequence[EvaluatedModel]) -> EvaluatedModel:
    """Make one model of several runs: their seeds, and the ranks of the run in the middle by mean reciprocal rank."""
    values = [_mrr(run) for run in runs]
    middle = sorted(range(len(runs)), key=lambda place: values[place])[(len(runs) - 1) // 2]
    named = [replace(run, name=run.name or f"seed {_seed(run)}") for run in runs]
    return replace(runs[middle], name=_common_name(runs), seeds=tuple(named))


def _common_name(runs: Sequence[EvaluatedModel]) -> str:
    """Call a model by what the names of its runs begin with, or else by its kind; empty where that is not known.

    >>> from kgeval.ranking.rank_table import RankTable
    >>> _common_name([EvaluatedModel(f"complex-{seed}", None) for seed in (1, 2)])
    'complex'
    """
    letters = takewhile(lambda at: len(set(at)) == 1, zip(*(run.name for run in runs), strict=False))
    shared = SEED_ENDING.sub("", "".join(at[0] for at in letters))
    trained = runs[0].config.get("model")
    return shared or (str(trained.get("model", "")) if isinstance(trained, Mapping) else "")


def _training(model: EvaluatedModel) -> str | None:
    """Describe what was trained and ranked, without the seed; ``None`` where nothing was trained with one."""
    if _seed(model) is None:
        return None
    kept = {name: model.config.get(name) for name in COMMON_KEYS}
    own = {name: value for name, value in dict(model.config["model"]).items() if name != SEED}
    return json.dumps({**kept, "model": own}, sort_keys=True, default=str)


def _seed(model: EvaluatedModel) -> int | None:
    """The seed of a model's training, as its configuration has it; ``None`` without one."""
    trained = model.config.get("model")
    seed = trained.get(SEED) if isinstance(trained, Mapping) else None
    return seed if isinstance(seed, int) else None


def _mrr(model: EvaluatedModel) -> float:
    summary = rank_summary(model.table, ["mrr"], by=(), options=MetricOptions(model.ties))
    return next((value for value in summary.groups[0].values.values() if value is not None), 0.0)
