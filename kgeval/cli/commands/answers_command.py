"""``kgeval answers``: answer sets that contain the true answer with a chosen probability.

Stored ranks (``--valid``), a stored run, or a model with a dataset go to :mod:`kgeval.analysis.answer_sets`, which
makes the sets; here they are shown, and written with ``--out``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.configuration import configuration, model_and_dataset_of
from kgeval.cli.options import PATH, OneOf, option, options_of, split_at_commas
from kgeval.cli.setting_options import blocks, setting_options
from kgeval.cli.shared_options import Printing, Replacing, refuse_file, run_or_model_and_dataset
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.config.metric_request import MetricRequest

if TYPE_CHECKING:
    from kgeval.analysis.answer_sets.answer_sets import AnswerSets
    from kgeval.data.dataset import Dataset
    from kgeval.runs.config.run_config import RunConfig


SETTINGS = ("sides", "filter", "unseen", "nan", "batch_size", "memory_limit", "threads")
"""the settings of the evaluation that have options"""


class Sets(Replacing):
    """How the sets are made, and where they are written."""

    coverage = option(type=float, default=0.9, metavar="NUMBER")
    """Probability that a set contains the true answer."""
    nonconformity = option(default="rank", type=OneOf(["rank", "gap", "softmax"]), metavar="rank|gap|softmax")
    """Nonconformity score."""
    per = option(multiple=True, callback=split_at_commas, metavar="COLUMN", type=OneOf(["relation", "side"]))
    """Calibrate separately for each relation or side. May be repeated or joined by commas."""
    valid = option(type=PATH, metavar="RUN")
    """Stored ranks of valid, if RUN_OR_CHECKPOINT has stored ranks of test: nothing is scored then. Goes only with
    --coverage, --per and --by."""
    out = option(type=click.Path(path_type=Path))
    """File for the entities of all sets (.parquet)."""


@click.command("answers")
@run_or_model_and_dataset
@options_of(Sets, "coverage", "nonconformity", "per", "valid")
@setting_options(MetricRequest, "by", by="column or slice to group results by, such as relation or cardinality")
@setting_options(
    Evaluation,
    *SETTINGS,
    place=("evaluation",),
    sides="what is predicted: head, tail",
    unseen="what to do with triples that have an entity or relation unknown to the model: error, or drop (leave out)",
)
@options_of(Sets, "out", "force")
@options_of(Printing, "digits", "quiet", "form", "as_json")
def answers_command(source: str, dataset: str | None, out: Path | None, force: bool, form: str, **options: Any) -> None:
    """Make conformal prediction sets: sets of entities that contain the true answer with a chosen probability.

    Sets are calibrated on valid and made for each test query. A run directory needs no --dataset.

    Examples: kgeval answers runs/mine --coverage .9; kgeval answers umls-TransE --dataset umls --nonconformity
    softmax --per relation --out sets.parquet
    """
    from kgeval.base.tables.shown import Page
    from kgeval.cli.display import show, show_notes, show_place

    _refuse_contradictions(dataset, out, options, force=force)
    if options["valid"] is not None:
        result, graph = _of_stored_ranks(source, options), None
    else:
        config, model, graph = _read(source, dataset, options)
        result = _answer_sets(config, model, graph, options, list_sets=out is not None)
    groups = result.groups(options["by"], graph) if options["by"] else []
    if out is not None:
        result.sets.to_parquet(out)
        show_place(out)
    content = result.to_dict() | ({"groups": [{"key": g.key, **g.to_dict()} for g in groups]} if groups else {})
    show(Page(result.heads, result.tables(groups), content=lambda: content), form)
    show_notes(result.notes)


def _refuse_contradictions(dataset: str | None, out: Path | None, options: dict[str, Any], *, force: bool) -> None:
    from kgeval.base.errors import ConfigError

    if out is not None and out.suffix != ".parquet":
        raise ConfigError(f"--out {str(out)!r}: expected a name that ends in .parquet.")
    if out is not None:
        refuse_file(out, force=force)
    if options["valid"] is not None:
        others = blocks(options).get("evaluation") or options["overrides"] or options["options"]
        if dataset is not None or out is not None or others or options["nonconformity"] != "rank":
            raise ConfigError("--valid goes only with --coverage, --per and --by: stored ranks have no scores.")
    elif dataset is None:
        for name, option in {"overrides": "--set", "names": "--names", "options": "--option"}.items():
            if options[name]:
                raise ConfigError(f"{option}: a run has its own. Leave it out.")


def _of_stored_ranks(source: str, options: dict[str, Any]) -> AnswerSets:
    from kgeval.analysis.answer_sets.answers import answers_of_ranks
    from kgeval.stored.folders import single_run

    runs = [single_run(Path(path)) for path in (options["valid"], source)]
    for run in runs:
        run.refuse_unreadable()
    result = answers_of_ranks(*(run.ranks() for run in runs), coverage=options["coverage"], per=options["per"])
    return replace(result, notes=(*result.notes, *(note for run in runs for note in run.changes)))


def _read(source: str, dataset: str | None, options: dict[str, Any]) -> tuple[RunConfig, Any, Dataset]:
    """Read a run, or what the options name: configuration, model, dataset. Settings of the command line come first."""
    from kgeval.base.errors import ConfigError
    from kgeval.base.files import exists_safely
    from kgeval.cli.display import show_notes, watching
    from kgeval.runs.stored import read_stored_model
    from kgeval.stored.stored_run import StoredRun

    block = blocks(options).get("evaluation", {})
    if dataset is None:
        with watching("loading model"):
            config, model, graph = read_stored_model(Path(source))
        show_notes(StoredRun(Path(source)).changes)
        stored = config.evaluation.model_dump(include={*SETTINGS} & config.evaluation.model_fields_set)
        evaluation = type(config.evaluation)(**stored | block)
        return config.model_copy(update={"evaluation": evaluation}), model, graph
    if exists_safely(Path(source)) and StoredRun(Path(source)).is_complete:
        raise ConfigError(f"--dataset: the run {source!r} has its own. Leave it out.")
    config = configuration("answers", source, dataset, options, {"evaluation": block})
    return config, *model_and_dataset_of(config)


def _answer_sets(
    config: RunConfig, model: Any, dataset: Dataset, options: dict[str, Any], *, list_sets: bool
) -> AnswerSets:
    from kgeval.analysis.answer_sets.answers import answers
    from kgeval.base.notes import Note
    from kgeval.cli.display import show_note, watching

    settings = config.evaluation
    if config.protocol != "standard":
        rules = f"the rules of protocol {config.protocol} do not apply"
        show_note(Note("left-out", f"answer sets rank all entities with exact ties; {rules}."))
    with watching("making answer sets"):
        return answers(
            model,
            dataset,
            **{name: options[name] for name in ("coverage", "nonconformity", "per")},
            **{name: getattr(settings, name) for name in SETTINGS if name in settings.model_fields_set},
            list_sets=list_sets,
        )
