"""``kgeval evaluate`` ranks a checkpoint on a dataset; ``kgeval classify`` classifies true and false triples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.errors import ConfigError
from kgeval.cli.completion import PATH, OneOf
from kgeval.cli.configuration import configuration, run_and_show
from kgeval.cli.display import refuse_unrequested
from kgeval.cli.setting_options import OF_EVALUATION, blocks, setting_option, setting_options
from kgeval.cli.shared_options import DIGITS, FOLDER, FORMAT, QUIET, model_and_dataset, printed, thresholds
from kgeval.metrics.intervals.estimate import Estimate
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.kinds import KINDS, LabelOptions
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.config.metric_request import POLICIES, MetricRequest

if TYPE_CHECKING:
    from kgeval.runs.metric_bounds import Bounds


@click.command("evaluate")
@model_and_dataset
@setting_options(Evaluation, *OF_EVALUATION, place=("evaluation",))
@setting_option(
    "--protocol",
    place=("protocol",),
    help="Framework whose evaluation rules apply; 'kgeval list protocols' shows all.  [default: standard]",
)
@setting_options(
    Estimate,
    "error",
    place=("evaluation", "estimate"),
    error="rank only a random sample of the triples, at least 1,000, until the MRR is known to within this number, "
    "such as .005; --set evaluation.estimate.metric=hits@10 chooses another metric",
)
@click.option(
    "--task",
    metavar="KIND",
    type=OneOf(["confidences", "classification"]),
    help="Task instead of a ranking: confidences (predict those of a weighted graph) or classification (of triples). "
    "--set task.KEY=VALUE sets its keys.",
)
@setting_options(MetricRequest, "metrics", "by", *POLICIES, defaults={"metrics": "those of the protocol or task"})
@setting_options(
    Intervals,
    "unit",
    "level",
    place=("intervals",),
    level="the confidence level of the intervals, also with --estimate",
)
@thresholds
@click.option("--out", type=FOLDER, help="Run directory to write.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@printed
def evaluate_command(
    checkpoint: str, dataset: str | None, out: Path | None, force: bool, bounds: Bounds, form: str, **options: Any
) -> None:
    """Evaluate a checkpoint on a dataset: rank the true answers among all entities, for heads and tails, filtered.

    CHECKPOINT is a file or folder, a baseline (baseline:popularity; 'kgeval list baselines' shows all), or a run
    directory: then its model, dataset and settings are used, and options change them.

    Example: kgeval evaluate model.npz --dataset data/fb15k-237 --option model=ComplEx
    """
    from kgeval.runs.metric_bounds import Judged, limits_of, misses, refuse_missed

    config = configuration("evaluate", checkpoint, dataset, options, _blocks(options))
    refuse_unrequested(config)
    limits = limits_of(bounds, [config])
    outcome = run_and_show(config, out, form, force=force, limits=limits)
    refuse_missed(misses(limits, [Judged("", outcome.compute)]))


def _blocks(options: dict[str, Any]) -> dict[str, Any]:
    """Nest the options: some are for the task with ``--task``, and the level for the estimate with ``--estimate``."""
    content = blocks(options)
    evaluation, intervals = content.get("evaluation", {}), content.get("intervals", {})
    if options["task"] is not None:
        own = {name: evaluation.pop(name) for name in ("sides", "unseen") if name in evaluation}
        content["task"] = {"kind": options["task"], **own}
    if "estimate" in evaluation and "level" in intervals:
        evaluation["estimate"]["level"] = intervals.pop("level")
    return {name: block for name, block in content.items() if block != {}}


NEGATIVES = ("task", "negatives")


def _negatives(split: str, text: str) -> Callable[..., Any]:
    return setting_option(f"--{split}-negatives", place=(*NEGATIVES, split), type=PATH, metavar="FILE", help=text)


@click.command("classify")
@model_and_dataset
@_negatives("valid", "File of false triples for the validation split.")
@_negatives("test", "File of false triples for the test split.")
@setting_options(
    Evaluation,
    "corruption",
    place=NEGATIVES,
    corruption="without files of false triples: the corruption that generates them by replacing tails",
)
@setting_options(LabelOptions, "calibration", place=("task",))
@setting_options(
    Evaluation,
    "unseen",
    place=("task",),
    unseen="what to do with triples that have an entity or relation unknown to the model: error, or drop (leave out)",
)
@setting_options(
    MetricRequest,
    "metrics",
    metrics="the metric, [relation.]name, such as accuracy; 'kgeval list metrics' shows all",
    defaults={"metrics": ", ".join(KINDS["classification"].metrics)},
)
@click.option("--out", type=FOLDER, help="Run directory to write.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@FORMAT
@DIGITS
@QUIET
def classify_command(
    checkpoint: str, dataset: str | None, out: Path | None, force: bool, form: str, **options: Any
) -> None:
    """Classify triples as true or false, and compare with baselines that need no model.

    Thresholds and calibration are learned from the validation triples. To predict the confidences of a weighted
    dataset, use kgeval evaluate --task confidences.

    Example: kgeval classify model.npz --dataset data/codex-s --option model=ComplEx --valid-negatives
    data/codex-s/valid_negatives.txt --test-negatives data/codex-s/test_negatives.txt
    """
    content = blocks(options)
    if options["corruption"] is not None and (options["valid"], options["test"]) != (None, None):
        raise ConfigError("give either files of negatives or --corruption, which generates them.")
    task = content["task"] = {"kind": "classification", **content.get("task", {})}
    if options["corruption"] is not None:
        task["negatives"]["kind"] = "generated"
    run_and_show(configuration("classify", checkpoint, dataset, options, content), out, form, force=force)
