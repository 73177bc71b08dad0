"""``kgeval evaluate`` ranks a checkpoint on a dataset; ``kgeval classify`` tells true triples from false ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.configuration import configuration, run_and_show
from kgeval.cli.row_order import refuse_unrequested
from kgeval.cli.setting_options import blocks, setting_option, setting_options
from kgeval.cli.shared_options import DIGITS, FOLDER, JSON, QUIET, model_and_dataset, rows_shown, thresholds
from kgeval.errors import ConfigError
from kgeval.metrics.intervals.estimate import Estimate
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.kinds import LabelOptions
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.config.metric_request import POLICIES, MetricRequest

if TYPE_CHECKING:
    from kgeval.runs.metric_bounds import Bounds


OF_EVALUATION = (
    *("split", "sides", "filter", "times", "corruption", "unseen", "nan"),
    *("restrict_entities_to", "restrict_relations_to", "batch_size", "memory_limit", "threads", "device"),
)


@click.command("evaluate")
@model_and_dataset
@setting_options(Evaluation, *OF_EVALUATION, place=("evaluation",))
@setting_option(
    "--protocol",
    place=("protocol",),
    help="The framework whose rules are followed; 'kgeval list protocols' shows all.  [default: standard]",
)
@setting_options(
    Estimate,
    "error",
    place=("evaluation", "estimate"),
    error="rank a random sample of at least 1,000 triples, until the interval of the MRR is plus or minus this number, "
    "such as 0.005; --set evaluation.estimate.metric=hits@10 names another metric",
)
@click.option(
    "--task",
    metavar="KIND",
    help="Do not rank: predict confidences of a weighted graph (confidences), or classify triples (classification); "
    "--set task.KEY=VALUE sets further keys.",
)
@setting_options(MetricRequest, "metrics", "by", *POLICIES)
@setting_options(
    Intervals,
    "unit",
    "level",
    place=("intervals",),
    level="the confidence level of the intervals; with --error, of its interval",
)
@thresholds
@click.option("--out", type=FOLDER, help="Write a run directory.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@rows_shown
@DIGITS
@QUIET
@JSON
def evaluate_command(
    checkpoint: str,
    dataset: str | None,
    out: Path | None,
    force: bool,
    bounds: Bounds,
    as_json: bool,
    **options: Any,
) -> None:
    """Evaluate a checkpoint on a dataset: every true answer is ranked among all entities, both sides, filtered.

    Example: kgeval evaluate model.npz --dataset data/fb15k-237 --option model=ComplEx

    CHECKPOINT may be baseline:NAME, a rule that learns nothing: 'kgeval list baselines' shows all. It may be a run
    directory, whose model, dataset and settings are then taken, but for what the options change.
    """
    from kgeval.runs.metric_bounds import Judged, limits_of, misses, refuse_missed

    config = configuration("evaluate", checkpoint, dataset, options, _blocks(options))
    refuse_unrequested(config)
    limits = limits_of(bounds, [config])
    outcome = run_and_show(config, out, force=force, as_json=as_json, limits=limits)
    refuse_missed(misses(limits, [Judged("", outcome.compute)]))


def _blocks(options: dict[str, Any]) -> dict[str, Any]:
    """Nest the options: with ``--task``, some are those of the task; with ``--error``, the level is the estimate's."""
    content = blocks(options)
    evaluation, intervals = content.get("evaluation", {}), content.get("intervals", {})
    if options["task"] is not None:
        own = {name: evaluation.pop(name) for name in ("sides", "unseen") if name in evaluation}
        content["task"] = {"kind": options["task"], **own}
    if "estimate" in evaluation and "level" in intervals:
        evaluation["estimate"]["level"] = intervals.pop("level")
    return {name: block for name, block in content.items() if block != {}}


NEGATIVES = ("task", "negatives")


@click.command("classify")
@model_and_dataset
@setting_option(
    "--valid-negatives", place=(*NEGATIVES, "valid"), metavar="FILE", help="False triples for the validation split."
)
@setting_option(
    "--test-negatives", place=(*NEGATIVES, "test"), metavar="FILE", help="False triples for the test split."
)
@setting_options(
    Evaluation,
    "corruption",
    place=NEGATIVES,
    corruption="without such files: the corruption that replaces each tail (by default uniform:count=1)",
)
@setting_options(LabelOptions, "calibration", place=("task",))
@setting_options(
    Evaluation,
    "unseen",
    place=("task",),
    unseen="triples with an entity or relation that the model does not know: error, or drop (leave out)",
)
@setting_options(MetricRequest, "metrics", metrics="a metric, [relation.]name")
@click.option("--out", type=FOLDER, help="Write a run directory.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@DIGITS
@QUIET
@JSON
def classify_command(
    checkpoint: str, dataset: str | None, out: Path | None, force: bool, as_json: bool, **options: Any
) -> None:
    """Classify the true and false triples of a dataset, beside baselines that need no model.

    Thresholds and calibration are learned from the validation triples. The confidences of a weighted dataset are
    predicted by kgeval evaluate --task confidences.

    Example: kgeval classify model.npz --dataset data/codex-s --option model=ComplEx --valid-negatives
    data/codex-s/valid_negatives.txt --test-negatives data/codex-s/test_negatives.txt
    """
    content = blocks(options)
    if options["corruption"] is not None and (options["valid"], options["test"]) != (None, None):
        raise ConfigError("give either files of negatives or --corruption, which makes them.")
    task = content["task"] = {"kind": "classification", **content.get("task", {})}
    if options["corruption"] is not None:
        task["negatives"]["kind"] = "generated"
    run_and_show(configuration("classify", checkpoint, dataset, options, content), out, force=force, as_json=as_json)
