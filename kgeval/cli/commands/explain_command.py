"""``kgeval explain``: one checkpoint under several protocols, and why their numbers differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.configuration import configuration
from kgeval.cli.setting_options import blocks, setting_options
from kgeval.cli.shared_options import JSON, QUIET, model_and_dataset
from kgeval.ranking.evaluation import Evaluation

if TYPE_CHECKING:
    from kgeval.protocols.explanation import Explanation
    from kgeval.runs.config.run_config import RunConfig


@click.command("explain")
@model_and_dataset
@click.option(
    "--protocols", required=True, metavar="P,P,…", help="The frameworks; 'kgeval list protocols' shows all there are."
)
@click.option(
    "--metric",
    "-m",
    default="mrr",
    show_default=True,
    help="mrr, mr or hits@k; put head. or tail. in front for one side.",
)
@setting_options(Evaluation, "split", "unseen", place=("evaluation",))
@QUIET
@JSON
def explain_command(
    checkpoint: str, dataset: str | None, protocols: str, metric: str, as_json: bool, **options: Any
) -> None:
    """Evaluate a checkpoint by several protocols, and break their differences from the standard one into causes.

    CHECKPOINT may be a run directory, whose model and dataset are then taken: kgeval explain runs/m --protocols libkge

    Example: kgeval explain umls-TransE --dataset umls --protocols pykeen,libkge,ampligraph
    """
    from kgeval.cli.display import show, show_notes

    _refuse_other_keys(options["overrides"])
    config = configuration("explain", checkpoint, dataset, options, blocks(options))
    explanation = _explanation(config, [name.strip() for name in protocols.split(",") if name.strip()], metric)
    show(explanation, "json" if as_json else "text")
    notes = (f"{row.protocol}: {note}" for row in explanation.rows for note in row.notes)
    show_notes([*explanation.notes, *notes])


def _refuse_other_keys(overrides: tuple[str, ...]) -> None:
    """Refuse keys without effect here, such as those of the protocol, of tasks and of the output folder."""
    from kgeval.errors import ConfigError

    for text in overrides:
        key = text.partition("=")[0]
        unused = key == "evaluation.filter" or key.startswith("evaluation.keep")
        if key.split(".")[0] not in ("dataset", "model", "evaluation") or unused:
            raise ConfigError(f"--set {key}: it has no meaning here. Set keys of dataset, model and evaluation.")


def _explanation(config: RunConfig, protocols: list[str], metric: str) -> Explanation:
    from kgeval.baselines.baseline import Baseline
    from kgeval.cli.display import watching
    from kgeval.doors.explain import explain
    from kgeval.errors import ConfigError
    from kgeval.runs.config.models import TrainingConfig

    source = config.model
    if source is None or isinstance(source, TrainingConfig):
        raise ConfigError("model.kind: differences are explained of a checkpoint; train it with kgeval run first.")
    with watching("loading dataset"):
        dataset = config.dataset.load()
    with watching("loading model"):
        model = source.fit(dataset) if isinstance(source, Baseline) else source.load(dataset, nan=config.evaluation.nan)
    with watching("ranking by every protocol"):
        settings = {name: getattr(config.evaluation, name) for name in config.evaluation.model_fields_set}
        return explain(model, dataset, protocols, metric=metric, **settings)
