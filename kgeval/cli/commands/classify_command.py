"""``kgeval classify``: tell true triples of a dataset from false ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.configuration import configuration, run_and_show
from kgeval.cli.setting_options import blocks, setting_option, setting_options
from kgeval.cli.shared_options import DIGITS, FOLDER, JSON, QUIET, model_and_dataset
from kgeval.errors import ConfigError
from kgeval.metrics.kinds import LabelOptions
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.config.metric_request import MetricRequest

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
def command(checkpoint: str, dataset: str | None, out: Path | None, force: bool, as_json: bool, **options: Any) -> None:
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
