"""``kgeval evaluate``, ``classify`` and ``explain``: a checkpoint on a dataset, ranked, classified, or by protocols.

The options of each become a configuration (:mod:`kgeval.cli.configuration`). ``evaluate`` and ``classify`` run it as
``kgeval run`` runs a file; ``explain`` ranks its model by every protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.errors import ConfigError
from kgeval.base.notes import Note
from kgeval.cli.configuration import configuration, model_and_dataset_of, refuse_other_keys
from kgeval.cli.display import refuse_unrequested
from kgeval.cli.options import PATH, OneOf, option, options_of
from kgeval.cli.setting_options import OF_EVALUATION, blocks, setting_options
from kgeval.cli.shared_options import Failing, Printing, Written, model_and_dataset
from kgeval.metrics.intervals.estimate import Estimate
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.kinds import KINDS, LabelOptions
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.config.metric_request import POLICIES, MetricRequest

if TYPE_CHECKING:
    from kgeval.ranking.protocols.explain import Explanation
    from kgeval.ranking.protocols.number_check import NumberCheck
    from kgeval.runs.config.run_config import RunConfig
    from kgeval.runs.metric_bounds import Bounds, Threshold
    from kgeval.runs.outcome import Outcome


class RuleOptions:
    """By which rules a model is evaluated, and at which task."""

    protocol = option(place=("protocol",), type=OneOf("protocols"))
    """Framework whose evaluation rules apply; 'kgeval list protocols' shows all. [default: standard]"""
    task = option(metavar="KIND", type=OneOf(["confidences", "classification"]))
    """Task instead of a ranking: confidences (predict those of a weighted graph) or classification (of triples). --set
    task.KEY=VALUE sets its keys."""


@click.command("evaluate")
@model_and_dataset
@setting_options(Evaluation, *OF_EVALUATION, place=("evaluation",))
@RuleOptions.protocol
@setting_options(
    Estimate,
    "error",
    place=("evaluation", "estimate"),
    error="rank only a random sample of the triples, at least 1,000, until the MRR is known to within this number, "
    "such as .005; --set evaluation.estimate.metric=hits@10 chooses another metric",
)
@RuleOptions.task
@setting_options(MetricRequest, "metrics", "by", *POLICIES, defaults={"metrics": "those of the protocol or task"})
@setting_options(
    Intervals,
    "unit",
    "level",
    place=("intervals",),
    level="the confidence level of the intervals, also with --estimate",
)
@options_of(Failing)
@options_of(Written)
@options_of(Printing)
def evaluate_command(
    checkpoint: str, dataset: str | None, out: Path | None, force: bool, bounds: Bounds, form: str, **options: Any
) -> None:
    """Evaluate a checkpoint on a dataset: rank the true answers among all entities, for heads and tails, filtered.

    CHECKPOINT is a file or folder, a baseline (baseline:popularity; 'kgeval list baselines' shows all), or a run
    directory: then its model, dataset and settings are used, and options change them.

    Example: kgeval evaluate model.npz --dataset data/fb15k-237 --option model=ComplEx
    """
    from kgeval.runs.metric_bounds import Judged, checked_thresholds, misses, refuse_missed

    config = configuration("evaluate", checkpoint, dataset, options, _blocks(options))
    refuse_unrequested(config)
    thresholds = checked_thresholds(bounds, [config])
    outcome = _run_and_show(config, out, form, force=force, thresholds=thresholds)
    refuse_missed(misses(thresholds, [Judged("", outcome.compute)]))


def _blocks(options: dict[str, Any]) -> dict[str, Any]:
    """Nest the options: some are for the task with ``--task``, and the level for the estimate with ``--estimate``."""
    content = blocks(options)
    evaluation, intervals = content.get("evaluation", {}), content.get("intervals", {})
    if options["task"] is not None:
        of_task = {name: evaluation.pop(name) for name in ("sides", "unseen") if name in evaluation}
        content["task"] = {"kind": options["task"], **of_task}
    if "estimate" in evaluation and "level" in intervals:
        evaluation["estimate"]["level"] = intervals.pop("level")
    return {name: block for name, block in content.items() if block != {}}


def _run_and_show(
    config: RunConfig, out: Path | None, form: str, *, force: bool, thresholds: Sequence[Threshold] = ()
) -> Outcome:
    """Evaluate one model, and print its metrics and its run directory."""
    from kgeval.cli.display import show_note, show_outcomes, show_remarks, watching
    from kgeval.runs.runner import run

    folder = out or (config.output and Path(config.output)) or None
    (outcome,) = run(config, folder, force=force, watch=watching, warn=show_note, thresholds=thresholds)
    show_outcomes([outcome], form)
    show_remarks([outcome])
    return outcome


NEGATIVES = ("task", "negatives")


class FalseTriples:
    """The false triples of a classification."""

    valid = option("--valid-negatives", place=(*NEGATIVES, "valid"), type=PATH, metavar="FILE")
    """File of false triples for the validation split."""
    test = option("--test-negatives", place=(*NEGATIVES, "test"), type=PATH, metavar="FILE")
    """File of false triples for the test split."""


@click.command("classify")
@model_and_dataset
@options_of(FalseTriples)
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
@setting_options(Intervals, "unit", "level", place=("intervals",), unit="what is resampled: triple or relation")
@options_of(Failing, "fail_on")
@options_of(Written)
@options_of(Printing, "form", "as_json", "digits", "quiet")
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
    _run_and_show(configuration("classify", checkpoint, dataset, options, content), out, form, force=force)


class Explained:
    """What is explained."""

    protocols = option(default="", show_default=False, type=OneOf("protocols"), metavar="P,P,…")
    """Protocols to compare with the standard one; 'kgeval list protocols' shows all."""
    numbers = option("--number", multiple=True, metavar="METRIC=VALUE")
    """Number that another tool printed, such as mrr=.3312: kgeval finds the protocol that gives it. May be repeated."""
    metric = option(
        "--metric", "-m", default="mrr", type=OneOf(["mrr", "mr", "hits@1", "hits@10", "head.mrr", "tail.mrr"])
    )
    """Metric whose differences are explained: mrr, mr or hits@k, for one side head.mrr and so on."""


@click.command("explain")
@model_and_dataset
@options_of(Explained)
@setting_options(Evaluation, "split", "unseen", place=("evaluation",))
@options_of(Printing, "quiet", "form", "as_json")
def explain_command(checkpoint: str, dataset: str | None, form: str, **options: Any) -> None:
    """Evaluate a checkpoint by several protocols, and show what causes the differences from the standard one.

    CHECKPOINT may be a run directory, which needs no --dataset. With --number it may also be a file of ranks: kgeval
    says which protocol gives that number.

    Examples: kgeval explain umls-TransE --dataset umls --protocols pykeen,libkge,ampligraph; kgeval explain runs/mine
    --number mrr=.3312
    """
    from kgeval.cli.display import show, show_notes
    from kgeval.ranking.protocols.explain import explain

    refuse_other_keys("explain", options["overrides"], ("evaluation.filter", "evaluation.keep"))
    if bool(options["numbers"]) == bool(options["protocols"]):
        raise click.UsageError("give either --protocols P,P or --number METRIC=VALUE.")
    if options["numbers"]:
        printed = {metric: value for metric, _, value in (text.partition("=") for text in options["numbers"])}
        check = _check(checkpoint, dataset, printed, options)
        show(check, form)
        return show_notes(check.notes)
    config = configuration("explain", checkpoint, dataset, options, blocks(options))
    names = [name.strip() for name in options["protocols"].split(",") if name.strip()]
    by_names = partial(explain, protocols=names, metric=options["metric"])
    explanation: Explanation = _by_every_protocol(config, by_names)
    show(explanation, form)
    notes = (Note.of(note).after(f"{row.protocol}: ") for row in explanation.rows for note in row.notes)
    return show_notes([*explanation.notes, *notes])


def _check(checkpoint: str, dataset: str | None, numbers: dict[str, str], options: dict[str, Any]) -> NumberCheck:
    """Check numbers against stored ranks, or against a model's ranks by every protocol."""
    from kgeval.ranking.protocols.explain import explain_numbers
    from kgeval.ranking.protocols.number_check import check_numbers
    from kgeval.stored.stored_run import StoredRun

    run = StoredRun(Path(checkpoint))
    if run.is_complete or run.is_text or Path(checkpoint).suffix == ".parquet":
        return check_numbers(run.ranks(dataset), numbers)
    config = configuration("explain", checkpoint, dataset, options, blocks(options))
    check: NumberCheck = _by_every_protocol(config, partial(explain_numbers, numbers=numbers))
    return check


def _by_every_protocol(config: RunConfig, door: Callable[..., Any]) -> Any:
    from kgeval.cli.display import watching

    model, dataset = model_and_dataset_of(config)
    with watching("ranking by every protocol"):
        return door(
            model, dataset, **{name: getattr(config.evaluation, name) for name in config.evaluation.model_fields_set}
        )
