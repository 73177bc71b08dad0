"""``kgeval evaluate``: evaluate a checkpoint on a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.configuration import configuration
from kgeval.cli.setting_options import block_of, present, setting_options
from kgeval.cli.shared_options import (
    BY,
    DIGITS,
    FOLDER,
    JSON,
    METRIC,
    QUIET,
    interval_block,
    intervals,
    model_and_dataset,
    policies,
    thresholds,
)
from kgeval.ranking.evaluation import Evaluation

OF_EVALUATION = (
    *("split", "sides", "filter", "times", "corruption", "unseen", "nan"),
    *("batch_size", "memory_limit", "threads", "device"),
)


@click.command("evaluate")
@model_and_dataset
@setting_options(Evaluation, *OF_EVALUATION, place=("evaluation",))
@click.option("--protocol", help="The framework whose rules are followed.  [default: standard]")
@click.option(
    "--error",
    type=float,
    help="Rank only as many triples, 1,000 or more, as it takes to know the MRR to within this error, such as 0.005; "
    "--set evaluation.estimate.metric=hits@10 names another metric.",
)
@click.option(
    "--task",
    metavar="KIND",
    help="Instead of a ranking: confidences of a weighted graph, or classification, whose further keys are set by "
    "--set task.KEY=VALUE.",
)
@METRIC
@BY
@policies(stored=False)
@intervals
@thresholds
@click.option("--out", type=FOLDER, help="Write a run directory.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@DIGITS
@QUIET
@JSON
def command(
    checkpoint: str,
    dataset: str | None,
    out: Path | None,
    force: bool,
    fail_under: dict[str, float],
    fail_over: dict[str, float],
    as_json: bool,
    **options: Any,
) -> None:
    """Evaluate a checkpoint on a dataset: every true answer is ranked among all entities, both sides, filtered.

    Example: kgeval evaluate model.npz --dataset data/fb15k-237 --option model=ComplEx

    In a checkpoint's place, baseline:NAME is a rule that learns nothing: 'kgeval list baselines' shows all. A run
    directory is its model on its dataset, evaluated as before but for what the options change.
    """
    from kgeval.cli.configuration import run_and_show
    from kgeval.runs.metric_bounds import OVER, UNDER, Judged, limits_of, misses, refuse_missed

    blocks = _evaluation(options) if options["task"] is None else _task(options)
    policies_and_rows = ("protocol", "metrics", "by", "ties", "seed", "chance", "popularity")
    of_intervals = options if options["error"] is None else {"intervals": options["intervals"]}  # the level is its own
    keys = present(options, *policies_and_rows) | interval_block(of_intervals)
    config = configuration("evaluate", checkpoint, dataset, options, **blocks, **keys)
    limits = limits_of({UNDER: fail_under, OVER: fail_over}, [config])
    outcome = run_and_show(config, out, force=force, as_json=as_json, limits=limits)
    refuse_missed(misses(limits, [Judged("", outcome.result.compute)]))


def _evaluation(options: dict[str, Any]) -> dict[str, Any]:
    block = block_of(options, ("evaluation",))
    if options.get("error") is not None:
        block["estimate"] = present(options, "error", "level")
    return {"evaluation": block} if block else {}


def _task(options: dict[str, Any]) -> dict[str, Any]:
    ranking = {name: value for name, value in options.items() if name not in ("sides", "unseen")}
    return {
        "task": {"kind": options["task"], **present(options, "sides", "unseen")},
        **_evaluation({"sides": None, "unseen": None} | ranking),
    }
