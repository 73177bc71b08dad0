"""``kgeval classify``: tell true triples of a dataset from false ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.configuration import configuration
from kgeval.cli.setting_options import corruption_block, present, split_at_commas
from kgeval.cli.shared_options import DIGITS, FOLDER, JSON, QUIET, model_and_dataset


@click.command("classify")
@model_and_dataset
@click.option("--valid-negatives", metavar="FILE", help="False triples beside those of validation.")
@click.option("--test-negatives", metavar="FILE", help="False triples beside those of test.")
@click.option(
    "--corruption",
    metavar="KIND[:K=V,…]",
    help="Without files: what takes the place of every tail.  [default: uniform:count=1]",
)
@click.option("--calibration", help="Scores become probabilities by platt, isotonic or none.  [default: platt]")
@click.option("--unseen", help="Triples the model does not know: error or drop.  [default: error]")
@click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    callback=split_at_commas,
    metavar="METRIC",
    help="[relation.]name; may be repeated.",
)
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
    from kgeval.cli.configuration import run_and_show

    task = {"kind": "classification", **_negatives(options), **present(options, "calibration", "unseen")}
    config = configuration("classify", checkpoint, dataset, options, task=task, **present(options, "metrics"))
    run_and_show(config, out, force=force, as_json=as_json)


def _negatives(options: dict[str, Any]) -> dict[str, Any]:
    from kgeval.errors import ConfigError

    files = {split: path for split in ("valid", "test") if (path := options[f"{split}_negatives"]) is not None}
    if files and options["corruption"] is not None:
        raise ConfigError("give either files of negatives or --corruption, which makes them.")
    if files:
        return {"negatives": files}
    if options["corruption"] is None:
        return {}
    return {"negatives": {"kind": "generated", "corruption": corruption_block(options["corruption"])}}
