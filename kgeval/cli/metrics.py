"""``kgeval metrics``: compute metrics from the stored ranks or labels of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.options import JSON, METRIC, TIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgeval.metrics.label_summary import LabelSummary
    from kgeval.metrics.summary import Summary

    Found = tuple[tuple[str, ...], Summary | LabelSummary]
    Reader = Callable[[Path, tuple[str, ...], dict[str, Any]], Found]


@click.command("metrics")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--dataset", help="The graph that was ranked, for a text file of ranks that were made elsewhere.")
@click.option(
    "--split",
    type=click.Choice(["train", "valid", "test"]),
    default="test",
    show_default=True,
    help="The split that was ranked, for such a file.",
)
@METRIC
@TIES
@click.option("--by", multiple=True, metavar="COLUMN", help="Group by a column, such as relation; may be repeated.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of random ties.")
@click.option(
    "--chance",
    type=click.Choice(["exact", "pykeen"]),
    default="exact",
    show_default=True,
    help="What adjusted metrics compare with: random ranking among N candidates, or N - 1 as PyKEEN counts them.",
)
@click.option("--calibration", help="Of a classification: platt, isotonic or none.  [default: platt]")
@click.option(
    "--mapping",
    type=click.Choice(["raw", "logistic", "bounded-linear"]),
    help="Of confidences: how scores become confidences, fitted in validation.  [default: as in the run]",
)
@click.option("--high", type=float, help="Of confidences: where high ones begin.  [default: as in the run]")
@JSON
def command(run: Path, metrics: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Compute metrics from the stored ranks or labels of a run (a directory or a ranks.parquet); nothing is scored.

    The metrics of a classification or of confidences are [macro.]name, and can be grouped by relation. A run of
    confidences has those of its ranks too: name them.

    Ranks that another evaluator wrote as text will do too, with the dataset that was ranked: a header names head,
    relation, tail and the ranks, as in 'h r t frank_left rank_left frank_right rank_right'.
    """
    from kgeval.cli.display import show_notes, show_summary
    from kgeval.directory import as_json as json_text

    notes, summary = _reader(run, metrics)(run, metrics, given)
    click.echo(json_text(summary.to_dict()), nl=False) if as_json else show_summary(summary)
    show_notes([*notes, *summary.notes])


def _reader(run: Path, metrics: tuple[str, ...]) -> Reader:
    """Choose by what the run keeps and, where that is facts and their ranks, by the first metric that is named."""
    from kgeval.directory import holds_confidences, holds_labels_alone
    from kgeval.errors import MetricError
    from kgeval.metrics.names import parse

    if holds_labels_alone(run):
        return _of_labels
    if not holds_confidences(run):
        return _of_ranks
    try:
        parse(metrics[0] if metrics else "rmse")
    except MetricError:
        return _of_confidences
    return _of_ranks


def _of_confidences(run: Path, metrics: tuple[str, ...], given: dict[str, Any]) -> Found:
    from kgeval.errors import ConfigError
    from kgeval.metrics.confidence_summary import CONFIDENCES, summarize_confidences
    from kgeval.metrics.mapping import ConfidenceMapping
    from kgeval.runs.labelled import read_confidences

    if given["calibration"] is not None:
        raise ConfigError("--calibration: confidences need none; --mapping makes them of scores.")
    if unfit := set(given["by"]) - {"relation"}:
        raise ConfigError(f"--by {min(unfit)}: confidences are grouped by relation only.")
    tables, said = read_confidences(run)
    if given["mapping"] is not None:
        said["mapping"] = ConfidenceMapping(kind=given["mapping"])
    if given["high"] is not None:
        if not 0 < given["high"] <= 1:
            raise ConfigError(f"--high {given['high']:g}: confidences go up to 1, and high ones begin above 0.")
        said["high"] = given["high"]
    options = {**said, "ties": given["ties"] or "realistic", "by_relation": bool(given["by"])}
    alone = "the run keeps the ranks of the model alone: floors have no metrics of ranks here."
    return (*tables.notes, alone), summarize_confidences(tables, metrics or CONFIDENCES, **options)


def _refuse_mapping(given: dict[str, Any]) -> None:
    from kgeval.errors import ConfigError

    for name in ("mapping", "high"):
        if given[name] is not None:
            raise ConfigError(f"--{name}: only metrics of confidences have it, and none is asked for.")


def _of_ranks(run: Path, metrics: tuple[str, ...], given: dict[str, Any]) -> Found:
    from kgeval.directory import read_ranks
    from kgeval.errors import ConfigError
    from kgeval.metrics.summary import DEFAULT, summarize

    _refuse_mapping(given)
    table = read_ranks(run, given["dataset"], given["split"])
    if given["calibration"] is not None:
        raise ConfigError("--calibration: ranks need none; only scores of labelled triples become probabilities.")
    policies = {name: given[name] for name in ("by", "seed", "chance")}
    return table.notes, summarize(table, metrics or DEFAULT, ties=given["ties"] or "realistic", **policies)


def _of_labels(run: Path, metrics: tuple[str, ...], given: dict[str, Any]) -> Found:
    from kgeval.directory import read_labels
    from kgeval.errors import ConfigError
    from kgeval.metrics.label_summary import CLASSIFICATION, summarize_labels

    if given["dataset"] is not None:
        raise ConfigError("--dataset: the labels of a run tell their dataset.")
    if given["ties"] is not None:
        raise ConfigError("--ties: a classification has no ranks that could tie.")
    if unfit := set(given["by"]) - {"relation"}:
        raise ConfigError(f"--by {min(unfit)}: a classification is grouped by relation only.")
    _refuse_mapping(given)
    table = read_labels(run)
    calibration: Any = given["calibration"] or "platt"
    names = metrics or CLASSIFICATION
    return table.notes, summarize_labels(table, names, calibration=calibration, by_relation=bool(given["by"]))
