"""Stored runs read again: other metrics of their tables, without the model; or the model and the dataset.

``kgeval summarize`` calls ``read_outcome`` or ``read_outcomes``: in go a folder or a file of ranks, metrics and options
that replace those of the run; out come outcomes, as of a run that was evaluated now. ``kgeval answers``, and commands
that evaluate the model of a run, call ``read_stored_model`` and ``read_stored_document``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kgeval.analysis.slices.annotation import annotated, slices_to_add
from kgeval.analysis.slices.named_groups import groupings
from kgeval.analysis.slices.slice import slice_of, slices, slices_among
from kgeval.base.errors import ConfigError, InputError, MetricError, refuse_unknown
from kgeval.base.files import exists_safely, sha256_of_file, suggest_paths
from kgeval.base.notes import Example, Note
from kgeval.base.settings_text import expanded
from kgeval.data.dataset import Dataset
from kgeval.data.loading import load_dataset
from kgeval.metrics.kinds import KINDS
from kgeval.metrics.names import parse
from kgeval.metrics.ranks.ties import note_on_missing
from kgeval.models.baselines import FittedBaseline
from kgeval.models.checkpoints import Checkpoint
from kgeval.ranking.protocols.protocol import protocol_of, protocols
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.tasks.classification import Classification
from kgeval.ranking.tasks.confidences import Confidences
from kgeval.runs.config.load import check, refuse_unrepeatable
from kgeval.runs.config.metric_request import with_groups
from kgeval.runs.config.run_config import RunConfig, TaskRequest
from kgeval.runs.config.yaml_document import Document, read_document
from kgeval.runs.outcome import Outcome, task_policies
from kgeval.stored.contents import progress_of
from kgeval.stored.folders import Place, runs_of, single_run
from kgeval.stored.stored_run import StoredRun

VIEWS = {"filter": (), "times": "static"}
"""the options that choose, of stored ranks, the raw ones or the static ones, if a table has these too"""

IMPORT_OPTIONS = ("split", "filter", "times", "history", "setting", "unmatched", "columns", "separator")
"""the options of :func:`kgeval.load_ranks` besides the dataset, for files of ranks that another program wrote"""


def read_outcome(
    run: StoredRun, metrics: tuple[str, ...] = (), options: Mapping[str, Any] | None = None, *, name: str = ""
) -> Outcome:
    """Read the tables of a stored run, or a file of ranks, with the metrics to compute from them, by default the run's.

    Options replace the run's own settings: the policies (such as ``ties``), ``by`` (columns and slices),
    ``calibration``, ``mapping`` and ``high_confidence``. For ranks that another program wrote, they are also
    ``dataset`` and the options of :func:`kgeval.load_ranks`. For slices, ``dataset`` is where the run's dataset is now.
    """
    options = with_groups(options or {})
    run.refuse_unreadable()
    kind = kind_of(run, metrics)
    refuse_inapplicable(options, kind)
    request = read_request(run).with_overrides(options)
    task, by = request.task, options.get("by") or request.by or ()
    groups = {**own_groups(run), **options.get("groups", {})}
    stated = request.metrics if kind == (task.kind if task else "ranks") else ()
    given = {*options, *(["metrics"] if metrics else [])}
    about: dict[str, Any] = {"metrics": metrics or stated or KINDS[kind].metrics, "folder": run.path, "stored": True}
    if kind == "ranks":
        table = _read_ranking(run, by, options, groups)
        grouped, changes = group_stored(table, by, run, options.get("dataset"), groups)
        how = {"by": options.get("by", ()), "groups_by": () if "by" in options else by, "grouped": grouped}
        policies = {"ties": protocol_of(table).ties} | request.policies
        changes = (*notes_on_unknown(run, table, given), *run.changes, *changes)
        return Outcome(name, table, policies=policies, changes=changes, **how, **about)
    if kind == "classification":
        task = task if isinstance(task, Classification) else Classification()
        policies = task_policies(task, request.policies) | {key: options[key] for key in {"calibration"} & {*options}}
    elif isinstance(task, Confidences):
        policies = task_policies(task.with_overrides(options), {"ties": "realistic"} | request.policies)
    else:
        raise ConfigError(f"{run.config_file}: expected the configuration of a run of confidences.")
    changes = (*notes_on_unknown(run, given=given), *run.changes)
    return Outcome(name, run.table(), policies=policies, by=by, changes=changes, **about)


def read_outcomes(
    place: Place, metrics: tuple[str, ...] = (), options: Mapping[str, Any] | None = None
) -> list[Outcome]:
    """Read the complete runs inside a folder; where their metrics differ, all have the default ones."""
    folder, runs = place.path, {name: run for _, name, run in runs_of([("", place)])}
    by_kind = {kind_of(run, metrics): name for name, run in runs.items()}
    if len(by_kind) > 1:
        kinds = " and ".join(f"of {kind} ({name})" for kind, name in sorted(by_kind.items()))
        raise InputError(f"{str(folder)!r} holds runs {kinds}, whose metrics differ. Summarize one run at a time.")
    if not metrics and len({read_request(run).metrics for run in runs.values()}) > 1:
        (kind,) = by_kind
        metrics = KINDS[kind].metrics
    return [read_outcome(run, metrics, options, name=name) for name, run in runs.items()]


WHERE_IT_WENT = ("output", "report", "tracker", "executor")
"""the keys about where the results of a run went and how they were computed"""

PLUGGED = {"metrics": "metric", "by": "slice", "ties": "tie policy"}
"""the keys of a configuration whose values another package may add, with the word for a value"""


def read_request(run: StoredRun) -> TaskRequest:
    """Read what a run computes; the defaults if it does not say, as a file of ranks or a run of PyKEEN's evaluator.

    Names that no installed package has are left out.
    """
    content = expanded({name: run.config[name] for name in TaskRequest.model_fields if name in run.config})
    for key, unknown in _unknown_names(run).items():
        content[key] = None if key == "ties" else [name for name in content[key] if name not in unknown]
    try:
        return TaskRequest(**content)
    except (InputError, ValueError, TypeError) as error:
        raise ConfigError(f"{run.config_file}: not the configuration of a run.\n{error}") from error


def _unknown_names(run: StoredRun) -> dict[str, list[str]]:
    """Find the names in a run's configuration that no installed package has, by their keys."""
    around: dict[str, Any] = {name: run.config[name] for name in ("task", "groups") if name in run.config}
    unknown = {}
    for key in PLUGGED:
        value = run.config.get(key)
        tried: dict[str, Any] = {value: value} if key == "ties" and isinstance(value, str) else {}
        tried |= {name: [name] for name in value if isinstance(name, str)} if isinstance(value, list) else {}
        unknown[key] = [name for name, one in tried.items() if not _is_valid({**around, key: one})]
    return {key: names for key, names in unknown.items() if names}


def _is_valid(content: Mapping[str, Any]) -> bool:
    with suppress(InputError, ValueError, TypeError):
        TaskRequest(**content)
        return True
    return False


def notes_on_unknown(run: StoredRun, table: RankTable | None = None, given: Collection[str] = ()) -> Iterator[str]:
    """Say which names of a run's configuration no installed package has; the keys ``given`` are replaced, and left out.

    The tie policy comes first, since all numbers depend on it.
    """
    names = {key: names for key, names in _unknown_names(run).items() if key not in given}
    for ties in names.pop("ties", ()):
        yield note_on_missing(ties, "realistic" if table is None else protocol_of(table).ties)
    for key, unknown in names.items():
        listed = " and ".join(map(repr, unknown))
        fact = f"unknown here, and left out: the {PLUGGED[key]} {listed}"
        yield Note("left-out", f"{fact}. Install the package that has it.")
    if table is not None and protocol_of(table).name not in protocols():
        yield Note("runs", f"unknown here: the protocol {table.protocol!r}. Install the package that has it.")


def option_name(name: str) -> str:
    """Spell the option of an argument, for messages."""
    return f"--{name.replace('_', '-')}"


def kind_of(run: StoredRun, metrics: tuple[str, ...]) -> str:
    """The kind of results: that of the run's tables or, as confidences have ranks too, that of the first metric."""
    if run.keeps != "confidences":
        return run.keeps
    try:
        parse(metrics[0] if metrics else "rmse")
    except MetricError:
        return "confidences"
    return "ranks"


def refuse_inapplicable(options: Mapping[str, Any], kind: str) -> None:
    for name in options:
        if name in KINDS[kind].without:
            raise ConfigError(f"{option_name(name)}: {KINDS[kind].without[name]}.")
        if kind != "ranks" and name in ("dataset", *IMPORT_OPTIONS):
            raise ConfigError(f"{option_name(name)}: the run already contains it. Leave it out.")
    if kind != "ranks" and (other := set(options.get("by", ())) - {"relation"}):
        raise ConfigError(f"--by {min(other)}: a run of {kind} is grouped by relation only.")


def _read_ranking(
    run: StoredRun, by: Sequence[str], options: Mapping[str, Any], groups: Mapping[str, Any]
) -> RankTable:
    imported = {name: options[name] for name in IMPORT_OPTIONS if name in options}
    as_stored = run.is_stored or "dataset" not in options
    view = {name: imported.pop(name) for name, value in VIEWS.items() if as_stored and imported.get(name) == value}
    if "filter" in imported and as_stored:
        known = ", ".join(run.ranks().filter or ()) or "no split"
        raise ConfigError(
            f"--filter {' '.join(imported['filter'])}: the stored ranks are filtered by {known}. --filter none shows "
            "the raw ones; for another filter, evaluate again. For a text file of ranks, add --dataset."
        )
    if imported and "dataset" not in options:
        raise ConfigError(
            f"{option_name(next(iter(imported)))} applies to text files of ranks, with --dataset; a stored run keeps "
            "its own setting. Leave it out."
        )
    table = run.ranks(None if run.is_stored and slices_among(by, groups) else options.get("dataset"), **imported)
    return viewed(table, view)


def viewed(table: RankTable, options: Mapping[str, Any]) -> RankTable:
    """Take the raw ranks of a stored table, or the static ones, if options say so."""
    if options.get("filter") == VIEWS["filter"]:
        return table.raw()
    return table.static() if options.get("times") == VIEWS["times"] else table


def own_groups(run: StoredRun) -> dict[str, Any]:
    """Return the groups that the configuration of a run names, by the names of their slices."""
    return groupings(groups) if (groups := read_request(run).groups) else {}


def group_stored(
    table: RankTable,
    by: Sequence[str],
    run: StoredRun,
    source: str | None,
    groups: Mapping[str, Any],
    loaded: dict[str, Dataset] | None = None,
) -> tuple[RankTable, tuple[str, ...]]:
    """Add to a stored table the slices of ``by`` that are not among its columns; also return notes on the dataset.

    ``source`` is the folder or PyKEEN name of the dataset; by default the one that the run's configuration names.
    ``loaded`` has the datasets that were loaded for other runs.
    """
    for name in by:
        if slice_of(name, groups) is None:
            known = [*table.columns, *slices(), *groups]
            refuse_unknown("--by: no slice and no column", name, known, ConfigError, listed="slices")
    if all(name in table.columns for name in by):
        return table, ()
    added = slices_to_add(table, by, groups)
    if (files := [file for one in added for file in one.files()]) and run.is_complete:
        _refuse_changed_inputs(run, files)
    loaded, place = {} if loaded is None else loaded, source or str(run.config.get("dataset"))
    if place not in loaded:
        loaded[place] = run.dataset() if source is None else load_dataset(source)
    dataset = loaded[place]
    if run.is_of(dataset) in (None, True):
        return annotated(table, dataset, added), ()
    change = f"dataset {dataset.name} has changed since it was ranked in {str(run.path)!r}"
    change = f"{change}: labels or triples differ"
    if source is None:
        raise InputError(f"{change}. Give the dataset that was ranked: --dataset DATASET.")
    said = Note("runs", Example(change, "the dataset has changed"), ". The slices use the given dataset.")
    return annotated(table, dataset, added), (said,)


def read_stored_model(path: Path) -> tuple[RunConfig, Checkpoint | FittedBaseline, Dataset]:
    """Read the configuration of a stored run, its model, and the dataset that it ranked."""
    if not exists_safely(path):
        raise InputError(f"no such run directory or checkpoint {str(path)[:200]!r}. {suggest_paths(path)}".strip())
    config, run = check(read_stored_document(path)), StoredRun(path)
    if config.task is not None:
        raise InputError(f"{str(path)!r} is a run of {config.task.kind}: it has no ranks to calibrate.")
    _refuse_changed_inputs(run)
    dataset = config.dataset.load()
    if not run.is_of(dataset):
        raise InputError(f"{str(path)!r}: the triples of dataset {dataset.name} have changed since they were ranked.")
    return config, config.load_model(dataset), dataset


def read_stored_document(path: Path) -> Document:
    """Read the configuration of a stored run; if the run trained its model, the model is now the saved checkpoint.

    ``WHERE_IT_WENT`` is left out: it is not needed again, and may need libraries that are not here.
    """
    run = _run_of_one_model(path)
    document = read_document(run.config_file)
    refuse_unrepeatable(document)
    for name in WHERE_IT_WENT:
        document.content.pop(name, None)
    model = document.content.get("model")
    if isinstance(model, dict) and model.get("kind") == "pykeen":
        document.content["model"] = {"path": str(_trained_model(run))}
    return document


def _run_of_one_model(path: Path) -> StoredRun:
    run = single_run(path)
    if not run.is_complete:
        hint = progress_of(path) or " For a checkpoint, add its dataset: --dataset DATASET."
        raise InputError(f"{str(path)!r} is not a run directory.{hint}")
    return run


def _trained_model(run: StoredRun) -> Path:
    if not run.trained_model.is_dir():
        raise InputError(f"{str(run.path)!r}: the model that it trained was deleted or moved.")
    return run.trained_model


def _where_it_is(name: str) -> Path:
    """Find an input by its recorded name, whose variables may not be set."""
    with suppress(ConfigError):
        return Path(name if exists_safely(Path(name)) else expanded(name))
    return Path(name)


def _refuse_changed_inputs(run: StoredRun, names: Collection[str] | None = None) -> None:
    """Refuse a run if files that it read have changed, or are gone; by default all of them are compared."""
    for name, digest in run.input_digests.items():
        path = _where_it_is(name)
        if names is not None and str(path) not in names:
            continue
        if not exists_safely(path) or not path.is_file():
            raise InputError(f"{str(run.path)!r}: {name!r}, which was ranked, was deleted or moved.")
        if sha256_of_file(path) != digest:
            raise InputError(f"{str(run.path)!r}: {name!r} has changed since it was ranked. Evaluate it again.")
