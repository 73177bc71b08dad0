"""How are the ranks distributed? Hits@k for every k, and how far each rank changes from one model to another."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.ranks.ties import tie_policy
from kgeval.ranking.rank_table import RankTable
from kgeval.reports.charts.pictures import distribution
from kgeval.reports.charts.theme import PAGE
from kgeval.reports.document import Section, isolated
from kgeval.reports.study import Study

if TYPE_CHECKING:
    import pandas as pd

EVERY = 100
"""up to this k each is drawn, from there on in steps of 2 %"""

FACTORS = (100.0, 10.0, 2.0)
"""by which a rank is much, more or somewhat better"""


def cumulative(study: Study) -> Section:
    points = cumulative_points(study)
    chart = distribution(points, PAGE, baselines=study.baselines, width="container", legend=False)
    changes = [rank_changes(study, first, second) for first, second in combinations(range(len(study.names)), 2)]
    shares = {model: own["share"].tolist() for model, own in points.groupby("model", sort=False)}
    data = {"hits": {"k": points["k"].unique().tolist(), "shares": shares}}
    looks = PAGE.looks(study.names, study.baselines)
    content = {"models": looks, "changes": changes, "largest": int(points["k"].max())}
    return Section("ranks", "Ranks", ranks_title(study), content, {"distribution": chart}, data)


def cumulative_points(study: Study) -> pd.DataFrame:
    """Compute the share of ranks ≤ k for each model: columns model, k, share."""
    import pandas as pd

    tables = [model.table for model in study.models]
    worst = [(table.column("greater") + table.column("tied")).max() for table in tables if len(table)]
    at = cutoffs(int(max(worst, default=0)) + 1)
    shares = {model.name: hits_at_every(at, study, model.table) for model in study.models}
    frames = [pd.DataFrame({"model": name, "k": at, "share": share}) for name, share in shares.items()]
    return pd.concat(frames, ignore_index=True)


def hits_at_every(at: IntArray, study: Study, table: RankTable) -> Float64Array:
    """Compute Hits@k at several k, with expected ties their exact expectation; float64[k]."""
    if tie_policy(study.ties).name != "expected":
        counts = np.searchsorted(np.sort(study.ranks_of(table)), at, "right").astype(np.float64)
    else:
        best, places = 1 + table.column("greater"), 1 + table.column("tied")
        tied = places > 1
        counts = np.searchsorted(np.sort(best[~tied]), at, "right").astype(np.float64)
        counts += [float(np.clip((k + 1 - best[tied]) / places[tied], 0, 1).sum()) for k in at.tolist()]
    return counts / max(len(table), 1)


def cutoffs(largest: int) -> IntArray:
    """List the k at which the distribution is drawn; int64[k].

    >>> cutoffs(103)[-4:]
    array([ 99, 100, 102, 103])
    """
    steps = int(np.log(max(largest, EVERY) / EVERY) / np.log(1.02))
    beyond = np.floor(EVERY * 1.02 ** np.arange(1, steps + 1)).astype(np.int64)
    every = np.r_[np.arange(1, EVERY + 1), beyond, largest]
    return np.unique(every[every <= largest])


def rank_changes(study: Study, first: int, second: int) -> dict[str, Any]:
    """Count by which factor the ranks of two models differ, on the rows that both have."""
    ratio = (study.rows[f"m{second}"] / study.rows[f"m{first}"]).to_numpy()
    shares = shares_by_factor(ratio)
    better, worse = sum(shares[: len(FACTORS)]), sum(shares[len(FACTORS) + 1 :])
    return {"models": (study.names[first], study.names[second]), "shares": shares, "better": better, "worse": worse}


def shares_by_factor(ratio: Float64Array) -> list[float]:
    """Divide rows by the ratio of their two ranks, from far better in the first model to far better in the second.

    >>> shares_by_factor(np.array([1.0, 1.5, 2.0, 0.01]))
    [0.0, 0.0, 0.25, 0.5, 0.0, 0.0, 0.25]
    """
    far = sum((ratio >= factor).astype(np.int64) for factor in FACTORS)
    near = sum((ratio <= 1 / factor).astype(np.int64) for factor in FACTORS)
    counts = np.bincount(len(FACTORS) - far + near, minlength=2 * len(FACTORS) + 1)
    return [float(count / max(len(ratio), 1)) for count in counts]


def ranks_title(study: Study) -> str:
    """Say the median rank of the model where it is lowest."""
    ranks = {model.name: study.ranks_of(model.table) for model in study.models if len(model.table)}
    if not ranks:
        return "There are no ranks"
    medians = {name: float(np.median(of_model)) for name, of_model in ranks.items()}
    best = min(medians, key=lambda name: medians[name])
    rank = int(np.ceil(medians[best]))
    return f"{isolated(best)} ranks half of the answers {'first' if rank == 1 else f'among its first {rank:,}'}"
