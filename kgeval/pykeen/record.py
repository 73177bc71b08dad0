"""The run directory of an evaluation inside PyKEEN: its ranks, metrics and manifest."""

from __future__ import annotations

from pathlib import Path

from kgeval.metrics.summarize import summarize
from kgeval.pykeen.metric_results import KGEvalMetricResults
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import RANKS, as_json, describe_machine, ranking_facts
from kgeval.run_directory.staging import reserve, write_run
from kgeval.storage.atomic import write_text

RESULTS = "pykeen_metrics.json"


def record(folder: Path, table: RankTable, results: KGEvalMetricResults, evaluation: Evaluation) -> None:
    """Write an evaluation as a run directory, replacing an earlier one.

    Raises
    ------
    RunError
        if it cannot be written
    InputError
        if another process writes into the folder
    """
    manifest = {
        "schema": 1,
        **describe_machine(),
        **ranking_facts(table),
        "notes": list(table.notes),
    }
    config = {"evaluator": "kgeval", "evaluation": evaluation.model_dump(mode="json", exclude_none=True)}
    with reserve(folder, force=True) as stage:
        write_text(stage / RESULTS, as_json(results.to_flat_dict()))
        write_run(stage, config=config, manifest=manifest, tables={RANKS: table}, metrics=summarize(table).to_dict())
