"""``kgeval classify``: classify the triples of a dataset, or predict the confidences of a weighted one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.configuration import chosen, configured
from kgeval.cli.shared_options import FOLDER, JSON, NAMES, QUIET, listed


@click.command("classify")
@click.argument("checkpoint")
@click.option("--dataset", required=True, help="A folder in any known layout, or a PyKEEN name.")
@click.option("--layout", default="auto", help="The layout of the folder.  [default: auto]")
@NAMES
@click.option("--valid-negatives", metavar="FILE", help="False triples beside those of validation.")
@click.option("--test-negatives", metavar="FILE", help="False triples beside those of test.")
@click.option("--count", type=int, help="Without files: entities drawn in place of every tail.  [default: 1]")
@click.option("--seed", type=int, help="The seed of that draw.  [default: 0]")
@click.option("--calibration", help="Scores become probabilities by platt, isotonic or none.  [default: platt]")
@click.option("--mapping", help="Scores become confidences by raw, logistic or bounded-linear.  [default: raw]")
@click.option("--high", type=float, help="From which confidence on a fact is in the subset.  [default: 0.7]")
@click.option("--format", default="auto", help="How the checkpoint was written.  [default: auto]")
@click.option(
    "--option", "options", multiple=True, metavar="K=V", help="What its files do not hold, such as model=ComplEx."
)
@click.option("--unseen", help="Triples the model does not know: error or drop.  [default: error]")
@click.option(
    "--metric", "-m", "metrics", multiple=True, callback=listed, metavar="METRIC", help="[macro.]name; may be repeated."
)
@click.option("--out", type=FOLDER, help="Write a run directory.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@QUIET
@JSON
def command(checkpoint: str, dataset: str, out: Path | None, force: bool, as_json: bool, **given: Any) -> None:
    """Classify the true and false triples of a dataset, beside baselines that need no model.

    Thresholds and calibration are learned from the validation triples. Of a weighted dataset, whose files have a fourth
    column, the confidences are predicted instead.

    Example: kgeval classify model.npz --dataset data/codex-s --option model=ComplEx --valid-negatives
    data/codex-s/valid_negatives.txt --test-negatives data/codex-s/test_negatives.txt
    """
    from kgeval.cli.display import show_note, show_notes, show_place, show_summary, watching
    from kgeval.cli.streams import say_json
    from kgeval.data.layout import load_dataset
    from kgeval.runs.runner import run

    with watching("loading dataset"):
        weighted = bool(load_dataset(dataset, layout=given["layout"]).confidences)
    task = _confidences(given) if weighted else _classification(given)
    config = configured("classify", checkpoint, dataset, given, task=task, metrics=list(given["metrics"]))
    (outcome,) = run(config, out, force=force, watch=watching, warn=show_note)
    if as_json:
        say_json(outcome.to_dict())
    else:
        show_summary(outcome.summary)
    show_notes(outcome.notes)
    if out is not None:
        show_place(out)


def _classification(given: dict[str, Any]) -> dict[str, Any]:
    _refuse(given, ("mapping", "high"), "has no confidences")
    files, draw = _files(given), chosen(given, "count", "seed")
    if files and draw:
        from kgeval.errors import ConfigError

        raise ConfigError("give either files of negatives or --count and --seed, which draw them.")
    drawn = {"kind": "corruption", "corruption": {"kind": "uniform", "count": 1, **draw}}
    return {
        "kind": "classification",
        "negatives": files or drawn,
        **chosen(given, "calibration", "unseen"),
    }


def _confidences(given: dict[str, Any]) -> dict[str, Any]:
    _refuse(given, ("calibration", "count", "seed"), "has confidences, which are predicted instead of truth values")
    mapping = {} if given["mapping"] is None else {"mapping": {"kind": given["mapping"]}}
    negatives = {"negatives": files} if (files := _files(given)) else {}
    return {"kind": "confidences", **mapping, **chosen(given, "high", "unseen"), **negatives}


def _files(given: dict[str, Any]) -> dict[str, str]:
    return {split: path for split in ("valid", "test") if (path := given[f"{split}_negatives"]) is not None}


def _refuse(given: dict[str, Any], options: tuple[str, ...], why: str) -> None:
    from kgeval.errors import ConfigError

    for option in options:
        if given[option] is not None:
            raise ConfigError(f"--{option}: this dataset {why}.")
