"""Dataset ranks: how several models rank on several datasets, and whether that is more than chance (Demšar, 2006).

``rank_models`` takes a value of each model on each dataset; ``kgeval compare --across-datasets`` and users call it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.comparison.adjustment import holm
from kgeval.base.arrays import Float64Array
from kgeval.base.errors import MetricError, counted, first_few, refuse_unknown
from kgeval.base.notes import Note, in_json
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Cell, Figure, Table, number, p_text

if TYPE_CHECKING:
    import pandas as pd

FEWEST_MODELS = 3
"""the fewest models that have ranks over datasets"""


def rank_models(
    results: Mapping[str, Mapping[str, float]],
    *,
    increasing: bool = True,
    level: float = 0.95,
    reference: str | None = None,
) -> DatasetRanks:
    """Rank models on several datasets by a metric, and test whether the ranks are more than chance (Demšar, 2006).

    Parameters
    ----------
    results
        {dataset: {model: value}}, the same models on each
    increasing
        whether larger is better
    level
        of the critical difference
    reference
        the model that the others are tested against; by default the one with the best average rank

    Raises
    ------
    MetricError
        if there are fewer than three models or two datasets, if a model is missing on one, or a value is no number

    Examples
    --------
    >>> ranks = rank_models({name: {"a": 0.3, "b": 0.2, "c": 0.1} for name in ("fb15k-237", "wn18rr", "umls", "yago")})
    >>> ranks.average_ranks, ranks.friedman[0], round(ranks.critical_difference, 3)
    (array([1., 2., 3.]), 8.0, 1.657)
    """
    datasets = tuple(results)
    models = tuple(dict.fromkeys(model for values in results.values() for model in values))
    if len(models) < FEWEST_MODELS or len(datasets) < 2:
        raise MetricError(
            f"ranks over datasets need at least three models and two datasets, found {len(models)} and {len(datasets)}."
        )
    for dataset, values in results.items():
        if missing := [model for model in models if model not in values]:
            raise MetricError(f"{', '.join(missing)}: no value on {dataset}. Each model needs one on each dataset.")
        if wrong := [model for model in models if not np.isfinite(values[model])]:
            raise MetricError(f"{wrong[0]} on {dataset}: expected a number, found {values[wrong[0]]!r}.")
    if reference is not None:
        refuse_unknown("reference: no model is called", reference, models, MetricError)
    table = np.array([[results[dataset][model] for model in models] for dataset in datasets], np.float64)
    return DatasetRanks(datasets, models, table, increasing, level, reference)


@dataclass(frozen=True, eq=False, repr=False)
class DatasetRanks(Shown):
    """A metric of each model on each dataset, and the models' ranks by it."""

    datasets: tuple[str, ...]
    models: tuple[str, ...]
    values: Float64Array
    """float64[dataset, model]"""
    increasing: bool = True
    """whether larger is better"""
    level: float = 0.95
    reference: str | None = None
    """the model that the others are tested against; by default the one with the best average rank"""
    of_runs: tuple[str, ...] = ()
    """notes on the runs that the values come from"""

    @cached_property
    def ranks(self) -> Float64Array:
        """The rank of each model on each dataset, 1 the best; equal ones share their mean; float64[dataset, model]."""
        from scipy.stats import rankdata

        return np.asarray(rankdata(-self.values if self.increasing else self.values, axis=1), np.float64)

    @property
    def average_ranks(self) -> Float64Array:
        """The mean over the datasets; float64[model]."""
        return np.asarray(self.ranks.mean(axis=0), np.float64)

    @cached_property
    def z_scores(self) -> Float64Array:
        """The mean over the datasets of (value − mean of all models) / their standard deviation; float64[model].

        The sign is that by which larger is better; where all models are equal, each has 0.
        """
        differences = self.values - self.values.mean(axis=1, keepdims=True)
        differ = (self.values != self.values[:, :1]).any(axis=1, keepdims=True)
        spread = np.where(differ, differences.std(axis=1, keepdims=True), np.inf)
        return np.asarray((1 if self.increasing else -1) * (differences / spread).mean(axis=0), np.float64)

    @property
    def borda(self) -> Float64Array:
        """How many models each one beats, summed over the datasets; an equal one counts half; float64[model]."""
        return np.asarray((len(self.models) - self.ranks).sum(axis=0), np.float64)

    @property
    def control(self) -> str:
        """The model that the others are tested against."""
        return self.reference or self.models[int(np.argmin(self.average_ranks))]

    @cached_property
    def friedman(self) -> tuple[float, float]:
        """Friedman's χ² of the hypothesis that all models are alike, corrected for ties, and its p-value."""
        from scipy.stats import friedmanchisquare

        if (self.ranks == self.ranks[:, :1]).all():
            return 0.0, 1.0  # the correction would divide 0 by 0
        statistic, p = friedmanchisquare(*self.values.T)
        return float(statistic), float(p)

    @property
    def iman_davenport(self) -> tuple[float, float]:
        """F = (N − 1) χ² / (N (k − 1) − χ²) and its p-value, less conservative than χ² (Iman and Davenport, 1980).

        Where all datasets rank the models alike, F is infinite, and p is how likely N random orders are the same one.
        """
        from scipy.special import factorial
        from scipy.stats import f

        datasets, models = self.values.shape
        statistic, _ = self.friedman
        rest = datasets * (models - 1) - statistic
        if rest <= 1e-9:
            orders = factorial(models) / factorial(np.unique(self.ranks[0], return_counts=True)[1]).prod()
            return np.inf, float(orders ** (1 - datasets))
        ratio = (datasets - 1) * statistic / rest
        return float(ratio), float(f.sf(ratio, models - 1, (models - 1) * (datasets - 1)))

    @property
    def critical_difference(self) -> float:
        """The smallest significant difference of average ranks, if all pairs are tested (Nemenyi, 1963)."""
        from scipy.stats import studentized_range

        return float(studentized_range.ppf(self.level, len(self.models), np.inf) / np.sqrt(2)) * self._standard_error

    @cached_property
    def adjusted_p(self) -> dict[str, float]:
        """The p-value of each other model's average rank against that of the control, adjusted for all (Holm, 1979)."""
        from scipy.special import ndtr

        others = [place for place, model in enumerate(self.models) if model != self.control]
        distances = np.abs(self.average_ranks - self.average_ranks[self.models.index(self.control)])
        adjusted = holm(np.asarray(2 * ndtr(-distances[others] / self._standard_error), np.float64))
        return {self.models[place]: float(p) for place, p in zip(others, adjusted, strict=True)}

    @property
    def _standard_error(self) -> float:
        datasets, models = self.values.shape
        return float(np.sqrt(models * (models + 1) / (6 * datasets)))

    @property
    def notes(self) -> tuple[str, ...]:
        """How the ranks were tested; then the notes on runs."""
        (chi, chi_p), (ratio, ratio_p) = self.friedman, self.iman_davenport
        datasets, models = self.values.shape
        chosen = "" if self.reference else ", the best here, so p is too small: choose it before the test (--reference)"
        few = f"{datasets} datasets show large differences only. " if datasets < 10 else ""
        friedman = (
            f"Friedman's test that all {models} models are equal on {datasets} datasets: χ² = {chi:.3f}, "
            f"p = {chi_p:.4f}; F = {ratio:.3f}, p = {ratio_p:.4f} (Iman and Davenport, 1980)."
        )
        ranks = f"Average ranks that differ by less than {self.critical_difference:.3f} do not differ significantly"
        nemenyi = Note("tests" if few else "terms", f"{few}{ranks} (Nemenyi, {100 * self.level:g} %).")
        p = f"p: compared with {self.control}{chosen}; adjusted for {models - 1} tests (Holm, 1979)."
        return (Note("terms", friedman), nemenyi, Note("tests" if chosen else "terms", p), *self.of_runs)

    heads = ()
    """none: its tables have titles"""

    def _brief(self) -> str:
        models, datasets = counted(len(self.models), "model"), counted(len(self.datasets), "dataset")
        pairs = zip(self.models, self.average_ranks.tolist(), strict=True)
        return f"{models} on {datasets}: average ranks {first_few([f'{model} {rank:.2f}' for model, rank in pairs])}"

    def tables(self) -> tuple[Table, ...]:
        """Return the ranks over all datasets; then the values with their ranks, a row for each dataset."""
        rows: list[list[Cell]] = []
        for dataset, values, ranks in zip(self.datasets, self.values.tolist(), self.ranks.tolist(), strict=True):
            cells = zip(values, ranks, strict=True)
            rows.append([dataset, *(Figure(value, text=f"{number(value)} ({rank:g})") for value, rank in cells)])
        return (self.standings, Table(["dataset", *self.models], rows))

    @property
    def standings(self) -> Table:
        """A row for each model, the best first: average rank, mean z-score, Borda count, p against the control."""
        rows: list[list[Cell]] = [
            [
                self.models[place],
                Figure(float(self.average_ranks[place]), digits=3),
                Figure(float(self.z_scores[place]), digits=3),
                Figure(float(self.borda[place]), text=f"{self.borda[place]:g}"),
                "" if (p := self.adjusted_p.get(self.models[place])) is None else Figure(p, text=p_text(p)),
            ]
            for place in np.argsort(self.average_ranks, kind="stable")
        ]
        return Table(["model", "average rank", "mean z", "Borda", "p"], rows, item="model")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, in full precision."""
        (chi, chi_p), (ratio, ratio_p) = self.friedman, self.iman_davenport
        columns = zip(self.models, self.values.T.tolist(), strict=True)
        return {
            "values": {model: dict(zip(self.datasets, column, strict=True)) for model, column in columns},
            "average_ranks": dict(zip(self.models, self.average_ranks.tolist(), strict=True)),
            "mean_z_scores": dict(zip(self.models, self.z_scores.tolist(), strict=True)),
            "borda": dict(zip(self.models, self.borda.tolist(), strict=True)),
            "friedman": {"statistic": chi, "p": chi_p},
            "iman_davenport": {"statistic": ratio if np.isfinite(ratio) else None, "p": ratio_p},
            "level": self.level,
            "critical_difference": self.critical_difference,
            "control": self.control,
            "adjusted_p": self.adjusted_p,
            **in_json(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model: its rank on each dataset, the average, mean z-score, Borda count and p-value."""
        import pandas as pd

        frame = pd.DataFrame(self.ranks.T, index=pd.Index(self.models, name="model"), columns=list(self.datasets))
        frame["average rank"] = self.average_ranks
        frame["mean z"], frame["Borda"] = self.z_scores, self.borda
        frame["p"] = pd.Series(self.adjusted_p, dtype=float)
        return frame
