"""``kgeval classify``: classify the triples of a dataset, or predict the confidences of a weighted one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.options import FOLDER, JSON, pairs


@click.command("classify")
@click.argument("checkpoint")
@click.option("--dataset", required=True, help="A folder in any known layout, or a PyKEEN name.")
@click.option("--layout", default="auto", help="The layout of the folder.  [default: auto]")
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
@click.option("--metric", "-m", "metrics", multiple=True, metavar="METRIC", help="[macro.]name; may be repeated.")
@click.option("--out", type=FOLDER, help="Write a run directory.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@JSON
def command(checkpoint: str, dataset: str, out: Path | None, force: bool, as_json: bool, **given: Any) -> None:
    """Classify the true and false triples of a dataset, beside floors that need no model.

    Thresholds and calibration are learned from the validation triples. Of a weighted dataset, whose files have a fourth
    column, the confidences are predicted instead.

    Example: kgeval classify model.npz --dataset data/codex-s --option model=ComplEx --valid-negatives
    data/codex-s/valid_negatives.txt --test-negatives data/codex-s/test_negatives.txt
    """
    from kgeval.cli.display import show_notes, show_summary, watching
    from kgeval.directory import as_json as json_text
    from kgeval.graph.layouts import load_dataset
    from kgeval.runs.document import Document
    from kgeval.runs.load import check
    from kgeval.runs.runner import run

    layout = {} if given["layout"] == "auto" else {"layout": given["layout"]}
    weighted = bool(load_dataset(dataset, layout=given["layout"]).confidences)
    content = {
        "dataset": {"path": dataset, **layout} if layout else dataset,
        "model": {"path": checkpoint, "format": given["format"], "options": pairs(given["options"], "--option")},
        "task": _confidences(given) if weighted else _classification(given),
        "metrics": list(given["metrics"]),
    }
    (outcome,) = run(check(Document("classify", content)), out, force=force, watch=watching)
    click.echo(json_text(outcome.summary.to_dict()), nl=False) if as_json else show_summary(outcome.summary)
    show_notes([*outcome.table.notes, *outcome.summary.notes])
    if out is not None:
        click.echo(f"Written to {out}", err=True)


def _classification(given: dict[str, Any]) -> dict[str, Any]:
    _refuse(given, ("mapping", "high"), "has no confidences")
    files = _said({"valid": given["valid_negatives"], "test": given["test_negatives"]})
    draw = _said({"count": given["count"], "seed": given["seed"]})
    if files and draw:
        from kgeval.errors import ConfigError

        raise ConfigError("give either files of negatives or --count and --seed, which draw them.")
    drawn = {"kind": "corruption", "corruption": {"kind": "uniform", "count": 1, **draw}}
    return {
        "kind": "classification",
        "negatives": files or drawn,
        **_said({"calibration": given["calibration"], "unseen": given["unseen"]}),
    }


def _confidences(given: dict[str, Any]) -> dict[str, Any]:
    _refuse(given, ("calibration", "count", "seed"), "has confidences, which are predicted instead of truth values")
    files = _said({"valid": given["valid_negatives"], "test": given["test_negatives"]})
    mapping = {"kind": given["mapping"]} if given["mapping"] is not None else None
    return {
        "kind": "confidences",
        **_said({"mapping": mapping, "high": given["high"], "unseen": given["unseen"], "negatives": files or None}),
    }


def _refuse(given: dict[str, Any], options: tuple[str, ...], why: str) -> None:
    from kgeval.errors import ConfigError

    for option in options:
        if given[option] is not None:
            raise ConfigError(f"--{option}: this dataset {why}.")


def _said(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}
