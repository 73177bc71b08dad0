"""Results of an evaluation inside PyKEEN: its metrics, every metric of kgeval by name, and its run directory.

The evaluator makes ``KGEvalMetricResults`` of a table of ranks, and PyKEEN asks them for metrics by its keys.
``record`` writes what was evaluated as a run that kgeval reads again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pykeen.evaluation import RankBasedMetricResults
from pykeen.evaluation.rank_based_evaluator import RankBasedMetricKey, RankPack
from pykeen.metrics.ranking import rank_based_metric_resolver
from pykeen.typing import RANK_OPTIMISTIC, RANK_PESSIMISTIC, RANK_REALISTIC

from kgeval.base.errors import MetricError
from kgeval.base.notes import stored
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.metrics.names import parse, pooled_side
from kgeval.metrics.summarize import summarize
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.rank_table import RankTable
from kgeval.stored.contents import describe_machine, graph_facts, ranking_facts
from kgeval.stored.staging import reserve
from kgeval.stored.stored_run import StoredRun


class KGEvalMetricResults(RankBasedMetricResults):  # type: ignore[misc]  # PyKEEN is untyped here
    """PyKEEN's rank-based metrics, and the table of the ranks they were computed from.

    Keys are PyKEEN's triples (side, rank type, metric). Metrics that PyKEEN lacks have kgeval's names:
    ``("both", "expected", "map")`` is kgeval's ``map``, the expectation over random orders of ties.
    """

    table: RankTable | None = None
    """the ranks that the results were computed from"""

    @classmethod
    def of(cls, table: RankTable, metrics: Sequence[Any], own: Sequence[str] = ()) -> KGEvalMetricResults:
        """Compute PyKEEN's metrics, and kgeval's own by name, leaving out those that are undefined."""
        data = _computed(table, metrics) if table.sampling is None else _estimated(table, metrics)
        results = cls(data)
        results.table = table
        if own:
            values = summarize(table, [*map(_of_ranked, own)]).groups[0].values
            pooled = pooled_side(table.column("side"))
            sides = {name: {name.side, "both"} if name.side == pooled else {name.side} for name in values}
            keys = {_pykeen_key(replace(name, side=side)): name for name, named in sides.items() for side in named}
            results.data = {**data, **{key: value for key, name in keys.items() if (value := values[name]) is not None}}
        return results

    @classmethod
    def key_from_string(cls, s: str | None) -> RankBasedMetricKey:
        """Read a metric's name, PyKEEN's or kgeval's.

        Raises
        ------
        MetricError
            if neither knows it, with the nearest name

        Examples
        --------
        >>> KGEvalMetricResults.key_from_string("hits@5").metric
        'hits_at_5'
        >>> KGEvalMetricResults.key_to_string("tail.ndcg@10")
        'tail.expected.ndcg@10'
        """
        if "_" in str(s).partition("@")[2]:  # hits@10_50, which PyKEEN would take for hits@10
            return _pykeen_key(parse(str(s)))
        try:
            return super().key_from_string(s)
        except (AssertionError, KeyError, ValueError, TypeError):
            return _pykeen_key(parse(str(s)))

    def get_metric(self, name: str | RankBasedMetricKey) -> float:
        """Look a metric up, or compute it from the ranks.

        Raises
        ------
        MetricError
            if it is unknown or undefined, with the reason
        """
        key = self.string_or_key_to_key(name)
        if key not in self.data and self.table is not None:
            metric = _of_ranked(name if isinstance(name, str) else ".".join(name))
            return summarize(self.table, [metric])[metric]
        if key not in self.data:
            raise MetricError(f"these results do not have {'.'.join(key)}.")
        return float(self.data[key])


def _computed(table: RankTable, metrics: Sequence[Any]) -> dict[RankBasedMetricKey, float]:
    return {
        RankBasedMetricKey(pack.target, pack.rank_type, metric.key): float(
            metric(ranks=pack.ranks, num_candidates=pack.num_candidates)
        )
        for pack in rank_packs(table)
        for metric in metrics
    }


def rank_packs(table: RankTable) -> list[RankPack]:
    """Return the ranks in PyKEEN's format: by side, and of both sides, under each of its three tie policies."""
    side = table.column("side")
    rows = {target: mask for target in ("head", "tail") if (mask := side == target).any()}
    rows["both"] = np.isin(side, ("head", "tail"))
    greater, tied, candidates = (table.column(name) for name in ("greater", "tied", "candidates"))
    ranks = {RANK_OPTIMISTIC: 1 + greater, RANK_REALISTIC: table.ranks, RANK_PESSIMISTIC: 1 + greater + tied}
    return [
        RankPack(target, policy, values[mask], candidates[mask], None)
        for policy, values in ranks.items()
        for target, mask in rows.items()
    ]


def _estimated(table: RankTable, metrics: Sequence[Any]) -> dict[RankBasedMetricKey, float]:
    """Estimate metrics from a sample by kgeval's estimators, leaving out those that have none."""
    sides = table.column("side")
    # If only one side was ranked, PyKEEN calls it ``both`` too.
    parts = {"both": pooled_side(sides)} | {side: side for side in dict.fromkeys(sides)}
    keys = {
        RankBasedMetricKey(side, ties, metric.key): parse(f"{part}.{ties}.{metric.key}")
        for side, part in parts.items()
        for ties in (RANK_OPTIMISTIC, RANK_REALISTIC, RANK_PESSIMISTIC)
        for metric in metrics
    }
    values = summarize(table, [*map(str, keys.values())]).groups[0].values
    return {key: value for key, name in keys.items() if (value := values[name]) is not None}


def _of_ranked(metric: str) -> str:
    """Remove ``both.`` from a metric's name, which then is of all sides that were ranked."""
    return metric.strip().removeprefix("both.")


def _pykeen_key(name: Any) -> RankBasedMetricKey:
    """Convert kgeval's name to PyKEEN's key; metrics of lists are expectations over random orders of ties."""
    ties = name.ties or ("realistic" if name.metric.needs == "ranks" else "expected")
    last = f"{name.name}@{name.k}" if name.k else name.name
    return RankBasedMetricKey(name.side or "both", ties, f"{name.average}.{last}" if name.average else last)


def is_pykeen_metric(name: str) -> bool:
    """Whether PyKEEN has a metric of this name."""
    try:
        rank_based_metric_resolver.lookup(name)
    except KeyError:
        return False
    return True


def record(
    folder: Path,
    table: RankTable,
    results: KGEvalMetricResults,
    evaluation: Evaluation,
    *,
    model: Any,
    dataset: Dataset | None,
    given: Any,
) -> None:
    """Write an evaluation as a run directory, in the place of the one before, with the split and filter of the table.

    ``model`` is None if PyKEEN passed scores alone, ``dataset`` if it is not known. ``given`` is the dataset as the
    user gave it to the evaluator.
    """
    seed = getattr(model, "_random_seed", None)
    manifest = {
        "schema": 1,
        **describe_machine(),
        **({} if dataset is None else {"dataset": graph_facts(dataset)}),
        **({} if model is None else {"model": _model_facts(model)}),
        "seeds": {"training": seed} if isinstance(seed, int) else {},
        **ranking_facts(table),
        **stored(table.notes),
    }
    config: dict[str, Any] = {"evaluator": "kgeval"}
    if dataset is not None and isinstance(given, str | Path) and Path(given).is_dir():
        config["dataset"] = {"path": str(given)}
    elif dataset is not None and dataset.id_source == "PyKEEN":
        config["dataset"] = {"name": dataset.name}
    config["evaluation"] = {"split": table.split} if table.split in SPLITS else {}
    if table.filter is not None and set(table.filter) <= {*SPLITS}:
        config["evaluation"]["filter"] = list(table.filter)
    config["evaluation"] |= evaluation.model_dump(mode="json", exclude_none=True, exclude={"split", "filter"})
    with reserve(folder, force=True) as stage:
        metrics, flat = summarize(table).to_dict(), results.to_flat_dict()
        StoredRun.write(stage, table, config=config, manifest=manifest, metrics=metrics, results=flat)


def _model_facts(model: Any) -> dict[str, Any]:
    """Describe what a live model shows of itself; of its training it knows nothing but the loss."""
    parts = {name: getattr(model, name, None) for name in ("interaction", "loss")}
    shapes = {
        name: [list(table.shape) for table in getattr(model, f"{name}_representations", ())]
        for name in ("entity", "relation")
    }
    return {
        "live": type(model).__name__,
        **{name: type(part).__name__ for name, part in parts.items() if part is not None},
        **{f"{name}_shapes": shape for name, shape in shapes.items() if shape},
        "inverse_triples": bool(model.use_inverse_triples),
        "parameters": int(model.num_parameters),
    }
