"""``kgeval explain``: one checkpoint under several protocols, and why the numbers differ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.completion import OneOf
from kgeval.cli.configuration import configuration, model_and_dataset_of, refuse_other_keys
from kgeval.cli.setting_options import blocks, setting_options
from kgeval.cli.shared_options import FORMAT, QUIET, model_and_dataset
from kgeval.ranking.evaluation import Evaluation

if TYPE_CHECKING:
    from kgeval.ranking.protocols.explain import Explanation
    from kgeval.ranking.protocols.number_check import NumberCheck
    from kgeval.runs.config.run_config import RunConfig


@click.command("explain")
@model_and_dataset
@click.option(
    "--protocols",
    default="",
    show_default=False,
    type=OneOf("protocols"),
    metavar="P,P,…",
    help="Protocols to compare with the standard one; 'kgeval list protocols' shows all.",
)
@click.option(
    *("--number", "numbers"),
    multiple=True,
    metavar="METRIC=VALUE",
    help="Number that another tool printed, such as mrr=.3312: kgeval finds the protocol that gives it. May be "
    "repeated.",
)
@click.option(
    "--metric",
    "-m",
    default="mrr",
    type=OneOf(["mrr", "mr", "hits@1", "hits@10", "head.mrr", "tail.mrr"]),
    help="Metric whose differences are explained: mrr, mr or hits@k, for one side head.mrr and so on.",
)
@setting_options(Evaluation, "split", "unseen", place=("evaluation",))
@QUIET
@FORMAT
def explain_command(
    checkpoint: str,
    dataset: str | None,
    protocols: str,
    metric: str,
    numbers: tuple[str, ...],
    form: str,
    **options: Any,
) -> None:
    """Evaluate a checkpoint by several protocols, and show what causes the differences from the standard one.

    CHECKPOINT may be a run directory, which needs no --dataset. With --number it may also be a file of ranks: kgeval
    says which protocol gives that number.

    Examples: kgeval explain umls-TransE --dataset umls --protocols pykeen,libkge,ampligraph; kgeval explain runs/mine
    --number mrr=.3312
    """
    from kgeval.cli.display import show, show_notes
    from kgeval.ranking.protocols.explain import explain

    refuse_other_keys("explain", options["overrides"], ("evaluation.filter", "evaluation.keep"))
    if bool(numbers) == bool(protocols):
        raise click.UsageError("give either --protocols P,P or --number METRIC=VALUE.")
    if numbers:
        printed = {metric: value for metric, _, value in (text.partition("=") for text in numbers)}
        check = _check(checkpoint, dataset, printed, options)
        show(check, form)
        return show_notes(check.notes)
    config = configuration("explain", checkpoint, dataset, options, blocks(options))
    names = [name.strip() for name in protocols.split(",") if name.strip()]
    explanation: Explanation = _by_every_protocol(config, partial(explain, protocols=names, metric=metric))
    show(explanation, form)
    notes = (f"{row.protocol}: {note}" for row in explanation.rows for note in row.notes)
    return show_notes([*explanation.notes, *notes])


def _check(checkpoint: str, dataset: str | None, numbers: dict[str, str], options: dict[str, Any]) -> NumberCheck:
    """Check numbers against stored ranks, or against a model's ranks by every protocol."""
    from pathlib import Path

    from kgeval.ranking.protocols.explain import explain_numbers
    from kgeval.ranking.protocols.number_check import check_numbers
    from kgeval.ranking.run_directory.stored_run import StoredRun

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
