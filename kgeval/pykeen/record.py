"""The run directory of an evaluation inside PyKEEN: its ranks, metrics, configuration and manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval.data.dataset import SPLITS, Dataset
from kgeval.metrics.summarize import summarize
from kgeval.pykeen.metric_results import KGEvalMetricResults
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import RANKS, RESULTS, as_json, describe_machine, graph_facts, ranking_facts
from kgeval.run_directory.staging import reserve, write_run
from kgeval.storage.atomic import write_text


@dataclass(frozen=True)
class Recording:
    """Where the evaluations of an evaluator are written, each in the place of the one before."""

    folder: Path
    given: Any = None
    """the dataset, as the evaluator was given it"""

    def write(
        self,
        table: RankTable,
        results: KGEvalMetricResults,
        evaluation: Evaluation,
        model: Any,
        dataset: Dataset | None,
    ) -> None:
        """Write an evaluation as a run directory, with the split and the filter of the table.

        The model is None where PyKEEN passed scores alone, the dataset where it is not known.
        """
        about = {} if model is None else {"model": _describe(model)}
        seed = getattr(model, "_random_seed", None)
        manifest = {
            "schema": 1,
            **describe_machine(),
            **({} if dataset is None else {"dataset": graph_facts(dataset)}),
            **about,
            "seeds": {"training": seed} if isinstance(seed, int) else {},
            **ranking_facts(table),
            "notes": list(table.notes),
        }
        block = {} if dataset is None else self._dataset_block(dataset)
        config = {"evaluator": "kgeval", **block, "evaluation": _evaluation_block(evaluation, table)}
        with reserve(self.folder, force=True) as stage:
            write_text(stage / RESULTS, as_json(results.to_flat_dict()))
            write_run(
                stage, config=config, manifest=manifest, tables={RANKS: table}, metrics=summarize(table).to_dict()
            )

    def _dataset_block(self, dataset: Dataset) -> dict[str, Any]:
        """Say where the dataset is read from, if it can be: a folder, or a PyKEEN name."""
        if isinstance(self.given, str | Path) and Path(self.given).is_dir():
            return {"dataset": {"path": str(self.given)}}
        return {"dataset": {"name": dataset.name}} if dataset.id_source == "PyKEEN" else {}


def _evaluation_block(evaluation: Evaluation, table: RankTable) -> dict[str, Any]:
    """Lay out the settings, with the split and the filter that were ranked, where these are splits of a dataset."""
    block = evaluation.model_dump(mode="json", exclude_none=True, exclude={"split", "filter"})
    named: dict[str, Any] = {} if table.split not in SPLITS else {"split": table.split}
    if table.filter is not None and set(table.filter) <= {*SPLITS}:
        named["filter"] = list(table.filter)
    return {**named, **block}


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
