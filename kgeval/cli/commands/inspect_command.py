"""``kgeval inspect``: what a path is, a dataset, a checkpoint, a run or a file of ranks, and a description of it.

A description is a block of plain data: its first key is the kind of thing that was found, such as ``dataset``, with the
path as its value. ``page_of`` lays it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.errors import ConfigError, InputError
from kgeval.base.notes import Note, in_json, restored
from kgeval.base.tables.shown import Page
from kgeval.base.tables.table import Table
from kgeval.cli.configuration import READING, labelled_checkpoint
from kgeval.cli.options import PATH, options_of
from kgeval.cli.setting_options import setting_options
from kgeval.cli.shared_options import Labels, Printing, Reading
from kgeval.ranking.evaluation import Evaluation

if TYPE_CHECKING:
    from kgeval.stored.folders import Place
    from kgeval.stored.stored_run import StoredRun


@click.command("inspect")
@click.argument("path", type=PATH)
@Labels.dataset
@options_of(Reading)
@setting_options(Evaluation, "nan", place=("evaluation",))
@options_of(Printing, "form", "as_json", "quiet")
def inspect_command(path: str, form: str, **settings: Any) -> None:
    """Describe a dataset (a folder or a PyKEEN name), a checkpoint, a run, or a file of ranks.

    Example: kgeval inspect data/fb15k-237
    """
    from kgeval.cli.display import show

    description = _describe(path, settings)
    kind = next(iter(description))
    if settings["names"] and kind != "dataset":
        raise ConfigError(f"--names is for datasets, and {path!r} is a {kind}. Leave it out.")
    show(page_of(description), form)


def _describe(path: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Describe a path as the first of these that it is: a dataset's name, results, a checkpoint, a dataset."""
    from kgeval.base.files import exists_safely
    from kgeval.models.checkpoints.readers import readers_of

    place = Path(path)
    if not exists_safely(place):
        return {"dataset": path, **_dataset_facts(path, settings)}
    if results := _results(path, place):
        return results
    if settings["options"] or settings["format"] != "auto" or readers_of(place):
        return {"checkpoint": path, **labelled_checkpoint(place, settings, settings["nan"] or "error").describe()}
    return _dataset_or_other(path, settings)


def _results(path: str, place: Path) -> dict[str, Any]:
    """Describe a run, complete or not, several runs or a table of ranks; anything else is empty."""
    from kgeval.ranking.rank_file import is_foreign
    from kgeval.stored.contents import MANIFEST, holds_table, is_begun, progress_of
    from kgeval.stored.folders import Place
    from kgeval.stored.stored_run import StoredRun

    run, looked = StoredRun(place), Place(place)
    if run.is_complete:
        return {"run": path, **_run_facts(run)}
    if looked.table is not None:
        return {"runs": path, **_facts_of_runs(looked)}
    missing = f"{MANIFEST}: the run is not finished"
    unfinished = {"run": path, "complete": False, "state": "unfinished", "missing": missing}
    if holds_table(place):
        return unfinished | _table_facts(run)
    if is_begun(place):
        return unfinished | in_json([Note("runs", progress_of(place).strip())])
    is_table = place.suffix == ".parquet" and not is_foreign(place)
    return {"table": path, **_table_facts(run)} if is_table else {}


def _run_facts(run: StoredRun) -> dict[str, Any]:
    """Describe a run by its own records, and say in what state it is."""
    metrics = run.metrics
    provenance = {"provenance": metrics["provenance"]} if "provenance" in metrics else {}
    facts = {"complete": True, "state": run.state[0], **provenance, **run.manifest, **in_json(_notes_of(run))}
    return {**facts, "metrics": metrics.get("metrics", {})}


def _notes_of(run: StoredRun) -> list[str]:
    try:
        return [*restored(run.manifest), *run.changes]
    except InputError as error:
        return [Note("runs", str(error))]


def _facts_of_runs(place: Place) -> dict[str, Any]:
    """Describe the runs inside a folder, each by its own records: nobody checks the common table."""
    from kgeval.base.collected_notes import collected_notes

    runs = {name: run for name, run in place.inside.items() if not run.failure}
    models, notes = dict[str, Any](), {("", name): _notes_of(run) for name, run in runs.items()}
    for name, run in runs.items():
        models[name] = {"complete": run.is_complete, "state": run.state[0], "ties": None, "metrics": {}}
        with suppress(InputError):
            metrics = run.metrics if run.is_complete else {}
            models[name] |= {key: metrics[key] for key in ("ties", "metrics") if key in metrics}
    said = in_json([*collected_notes(notes), *place.notes])
    return {"models": models, "failed": place.failed, "unfinished": [*place.unfinished], **said}


def _table_facts(run: StoredRun) -> dict[str, Any]:
    if run.keeps == "classification":
        labels = run.labels()
        about = {"labelled triples": len(labels), "baselines": list(labels.baselines), **in_json(labels.notes)}
        return {**labels.provenance.to_dict(), **about}
    ranks = run.ranks()
    sides = sorted(set(ranks.column("side").tolist()))
    return {**ranks.provenance.to_dict(), "sides": sides, "ranks": len(ranks), **in_json(ranks.notes)}


def _dataset_or_other(path: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Describe a dataset, or else ranks or runs; refuse any other file or folder, and say what is in it."""
    from kgeval.base.errors import DatasetError
    from kgeval.data.layouts import layouts
    from kgeval.data.layouts.labelled import LABELLED_ENDINGS
    from kgeval.models.checkpoints.readers import holds_models, recognise
    from kgeval.stored.contents import progress_of
    from kgeval.stored.folders import Place

    try:
        return {"dataset": path, **_dataset_facts(path, settings)}
    except DatasetError as error:
        place = Path(path)
        if place.is_file() and (ranks := _foreign_ranks(place, settings)):
            return {"ranks": path, **ranks}
        if settings["layout"] != "auto" or any(known.recognises(place) for known in layouts().values()):
            raise
        if holds_models(place) and not path.lower().endswith(LABELLED_ENDINGS):
            recognise(place)  # raises an error that says what is in the folder
        if (looked := Place(place)).holds_runs:
            return {"runs": path, **_facts_of_runs(looked)}
        if progress := progress_of(place):
            return {"runs": path, "complete": False, **in_json([Note("runs", progress.strip())])}
        hint = "It is no checkpoint in a known format either: 'kgeval list formats' shows all."
        raise DatasetError(f"{error}\n{hint}") from error


def _foreign_ranks(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Describe a file of ranks that another program wrote; anything else is empty."""
    from kgeval.ranking.rank_file import RankFile

    try:
        file = RankFile.read(path, columns=settings["columns"])
    except InputError:
        return {}
    table = {"rows": len(file.table), "columns": dict(file.table.origins), "not used": list(file.table.unused)}
    table["read as"] = [*map(str, file.assumptions)]
    return {**table, "ties": "known" if file.has_ties else "as in the file", **in_json(file.notes)}


OPTIONAL = ("layout", "read as", "training graph", "confidences", "false", "times", "names")
"""the keys of facts that few datasets have: they are left out if they are empty"""


def _dataset_facts(path: str, settings: dict[str, Any]) -> dict[str, Any]:
    from kgeval.data.human_names import num_named
    from kgeval.data.leaks import find_leaks, notes_on_leaks
    from kgeval.data.loading import load_dataset
    from kgeval.stored.contents import sizes_of

    dataset = load_dataset(path, **{name: settings[name] for name in READING})
    leaks = find_leaks(dataset)
    # The numbers of swapped triples are shown; the note on them says what they mean.
    noted = "test" if "test" in leaks else next(iter(leaks), "")
    of_leaks = (note for split in leaks for note in notes_on_leaks(dataset, split, swapped=split == noted))
    notes = [*dataset.notes, *of_leaks]
    learned, times = dataset.training_graph, dataset.times
    description = {
        **sizes_of(dataset),
        "layout": dataset.stored_as,
        "read as": [*map(str, dataset.assumptions)],
        "training graph": None if learned is None else sizes_of(learned),
        "repeated triples, left out": dict(dataset.repeated),
        "repeated in train": {split: int(leak.repeated.sum()) for split, leak in leaks.items()},
        "swapped in train": {split: int(leak.swapped.sum()) for split, leak in leaks.items()},
        "confidences": {split: len(triples) for split, triples in dataset.confidences.items()},
        "false": {split: len(triples) for split, triples in dataset.negatives.items()},
        "times": {"different": len(times), "first": times[0], "last": times[len(times) - 1]} if times else {},
        "names": num_named(dataset, dataset.names) if dataset.names else {},
        **in_json(notes),
        "files": [str(file) for file in dataset.files],
    }
    return {name: value for name, value in description.items() if value or name not in OPTIONAL}


RECORDED = ("schema", "sha256", "written", "versions", "machine", "seconds", "origins", "ranking")

OMITTED = (*RECORDED, "note_kinds", "note_parts", "metrics", "models")
"""keys that are not shown as lines: some are for programs only, some are shown as a table"""

PARTS = {
    "dataset": ("name", "entities", "relations", "triples"),
    "model": ("model", "live", "options", "format", "entities", "relations"),
}
"""the keys of blocks of which only a part is shown"""


def page_of(description: Mapping[str, Any]) -> Page:
    """Lay a description out: a line for each key, and the metrics as a table."""
    texts = {key: _line(key, value) for key, value in description.items() if key not in OMITTED}
    tables = (_by_part(description.get("metrics", {})), _by_model(description.get("models", {})))
    lines = Table(["", ""], [[key, text] for key, text in texts.items() if text], prose=True)
    return Page((), (lines, *(table for table in tables if table.rows)), content=lambda: description)


def _line(key: str, value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    if not isinstance(value, Mapping):
        return str(value)
    names = PARTS.get(key, tuple(value))
    return ", ".join(f"{name} {_inside(value[name])}" for name in names if value.get(name) not in (None, {}, []))


def _inside(value: Any) -> str:
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{name} {_inside(item)}" for name, item in value.items()) + ")"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _by_part(metrics: Mapping[str, Mapping[str, Any]]) -> Table:
    """Make a table of the metrics of a run: a row per metric, a column per side or predictor."""
    names = dict.fromkeys(name for values in metrics.values() for name in values)
    return Table(["", *metrics], [[name, *(values.get(name, "") for values in metrics.values())] for name in names])


def _by_model(models: Mapping[str, Mapping[str, Any]]) -> Table:
    """Make a table of the metrics of several runs: a row per model, with the metrics of both sides or of the model."""
    by_model: dict[str, Mapping[str, Any]] = {
        name: next(iter(content["metrics"].values()), {}) for name, content in models.items()
    }
    columns = list(dict.fromkeys(metric for values in by_model.values() for metric in values))
    states = {name: [models[name]["state"], models[name]["ties"] or ""] for name in models}
    rows = [[name, *states[name], *map(values.get, columns)] for name, values in by_model.items()]
    return Table(["model", "state", "ties", *columns], rows)
