"""The run directory of an evaluation inside PyKEEN: its ranks, metrics, configuration and manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgeval.data.dataset import SPLITS, Dataset
from kgeval.metrics.summarize import summarize
from kgeval.pykeen.metric_results import KGEvalMetricResults
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import describe_machine, graph_facts, ranking_facts
from kgeval.run_directory.staging import reserve
from kgeval.run_directory.stored_run import StoredRun


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

    The model is None where PyKEEN passed scores alone, the dataset where it is not known. ``given`` is the dataset as
    the evaluator was given it.
    """
    seed = getattr(model, "_random_seed", None)
    manifest = {
        "schema": 1,
        **describe_machine(),
        **({} if dataset is None else {"dataset": graph_facts(dataset)}),
        **({} if model is None else {"model": _describe(model)}),
        "seeds": {"training": seed} if isinstance(seed, int) else {},
        **ranking_facts(table),
        "notes": list(table.notes),
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
        metrics, own = summarize(table).to_dict(), results.to_flat_dict()
        StoredRun.write(stage, table, config=config, manifest=manifest, metrics=metrics, results=own)


def _describe(model: Any) -> dict[str, Any]:
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
