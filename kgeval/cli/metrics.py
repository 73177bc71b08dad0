"""``kgeval metrics``: compute metrics from the stored ranks or labels of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.options import JSON, METRIC, policies

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgeval.metrics.label_summary import LabelSummary
    from kgeval.metrics.summary import Summary
    from kgeval.runs.asked import Asked

    Found = tuple[tuple[str, ...], Summary | LabelSummary]
    Reader = Callable[[Path, tuple[str, ...], Asked, dict[str, Any]], Found]


@click.command("metrics")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--dataset", help="The graph that was ranked, for a text file of ranks that were made elsewhere.")
@click.option(
    "--split",
    type=click.Choice(["train", "valid", "test"]),
    help="The split that was ranked, for such a file.  [default: test]",
)
@METRIC
@policies
@click.option("--by", multiple=True, metavar="COLUMN", help="Group by a column, such as relation; may be repeated.")
@click.option("--calibration", help="Of a classification: platt, isotonic or none.  [default: as in the run]")
@click.option(
    "--mapping",
    type=click.Choice(["raw", "logistic", "bounded-linear"]),
    help="Of confidences: how scores become confidences, fitted in validation.  [default: as in the run]",
)
@click.option("--high", type=float, help="Of confidences: where high ones begin.  [default: as in the run]")
@JSON
def command(run: Path, metrics: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Compute metrics from the stored ranks or labels of a run (a directory or a ranks.parquet); nothing is scored.

    What is not said is as the run was asked: without any option, these are the metrics of the run. The metrics of a
    classification or of confidences are [macro.]name, and can be grouped by relation. A run of confidences has those of
    its ranks too: name them.

    Ranks that another evaluator wrote as text will do too, with the dataset that was ranked: a header names head,
    relation, tail and the ranks, as in 'h r t frank_left rank_left frank_right rank_right'.
    """
    from kgeval.cli.display import show_notes, show_summary
    from kgeval.directory import as_json as json_text
    from kgeval.runs.stored import read_asked

    said = {name: value for name, value in given.items() if value is not None and value != ()}
    notes, summary = _reader(run, metrics)(run, metrics, read_asked(run), said)
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


_TOLD = "the run tells its own. Leave it out."
_UNFIT = {
    "ranks": {
        "calibration": "ranks need none; only scores of labelled triples become probabilities.",
        "mapping": "only metrics of confidences have it, and none is asked for.",
        "high": "only metrics of confidences have it, and none is asked for.",
    },
    "confidences": {
        "dataset": _TOLD,
        "split": _TOLD,
        "chance": "no metric of confidences compares with chance; those of ranks do, such as amri. Name one.",
        "popularity": "no metric of confidences weighs against it; those of ranks do, such as strat.mrr. Name one.",
        "calibration": "confidences need none; --mapping makes them of scores.",
    },
    "a classification": {
        "dataset": _TOLD,
        "split": _TOLD,
        "ties": "a classification has no ranks that could tie.",
        "seed": "a classification has no ranks whose ties it could break.",
        "chance": "a classification has no ranks, which alone compare with chance.",
        "popularity": "a classification has no ranks, which alone are weighed against it.",
        "mapping": "only metrics of confidences have it, and a classification has none.",
        "high": "only metrics of confidences have it, and a classification has none.",
    },
}
"""the options that mean nothing to what is computed, and why"""


def _refuse_unfit(said: dict[str, Any], what: str) -> None:
    from kgeval.errors import ConfigError

    for option in said:
        if option in _UNFIT[what]:
            raise ConfigError(f"--{option}: {_UNFIT[what][option]}")
    if what != "ranks" and (other := set(said.get("by", ())) - {"relation"}):
        are = "is" if what.startswith("a ") else "are"
        raise ConfigError(f"--by {min(other)}: {what} {are} grouped by relation only.")


def _of_confidences(run: Path, metrics: tuple[str, ...], asked: Asked, said: dict[str, Any]) -> Found:
    from kgeval.errors import ConfigError
    from kgeval.metrics.confidence_summary import CONFIDENCES, summarize_confidences
    from kgeval.metrics.mapping import ConfidenceMapping
    from kgeval.runs.stored import read_confidences

    _refuse_unfit(said, "confidences")
    if not 0 < said.get("high", 1) <= 1:
        raise ConfigError(f"--high {said['high']:g}: confidences go up to 1, and high ones begin above 0.")
    tables, task = read_confidences(run, asked)
    summary = summarize_confidences(
        tables,
        metrics or asked.metrics or CONFIDENCES,
        mapping=ConfidenceMapping(kind=said["mapping"]) if "mapping" in said else task.mapping,
        high=said.get("high", task.high),
        ties=said.get("ties", asked.ties or "realistic"),
        seed=said.get("seed", asked.seed),
        by_relation="by" in said,
    )
    return tables.notes, summary


def _of_ranks(run: Path, metrics: tuple[str, ...], asked: Asked, said: dict[str, Any]) -> Found:
    from kgeval.directory import read_ranks
    from kgeval.errors import ConfigError
    from kgeval.metrics.summary import DEFAULT, summarize
    from kgeval.protocols.protocol import protocol

    _refuse_unfit(said, "ranks")
    if "split" in said and "dataset" not in said:
        raise ConfigError("--split: stored ranks tell theirs; it goes with --dataset.")
    table = read_ranks(run, said.get("dataset"), said.get("split", "test"))
    options = asked.policies | {name: said[name] for name in ("ties", "seed", "chance", "popularity") if name in said}
    if "ties" not in options:
        options["ties"] = protocol(table.protocol).ties
    usual = DEFAULT if asked.task else asked.metrics or DEFAULT
    return table.notes, summarize(table, metrics or usual, by=said.get("by", ()), **options)


def _of_labels(run: Path, metrics: tuple[str, ...], asked: Asked, said: dict[str, Any]) -> Found:
    from kgeval.directory import read_labels
    from kgeval.metrics.label_summary import CLASSIFICATION, summarize_labels

    _refuse_unfit(said, "a classification")
    table = read_labels(run)
    calibration: Any = said.get("calibration", getattr(asked.task, "calibration", "platt"))
    names = metrics or asked.metrics or CLASSIFICATION
    return table.notes, summarize_labels(table, names, calibration=calibration, by_relation="by" in said)
