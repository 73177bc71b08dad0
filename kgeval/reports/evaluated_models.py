"""The models of a page or picture: runs are read, the seeds of one model joined, and each model gets its own name.

Pages and pictures call :func:`read_models` with what the user gave: run directories, files of ranks or tables. Out come
``EvaluatedModel``s. For runs of ``kgeval classify``, which have no ranks, they call :func:`read_classifications`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kgeval.analysis.comparison.comparable import dataset_names, refuse_two_graphs
from kgeval.analysis.comparison.label_comparison import METRICS as COMPARED
from kgeval.base.errors import InputError
from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source
from kgeval.data.provenance import UNKNOWN
from kgeval.metrics.intervals.interval import read_intervals, refuse_other_units
from kgeval.metrics.kinds import CLASSIFICATION
from kgeval.metrics.labels.label_summary import label_summary
from kgeval.metrics.names import parse_all
from kgeval.metrics.rank_summary import rank_summary
from kgeval.metrics.ranks.ties import Ties, note_on_missing, tie_policies, tie_policy
from kgeval.metrics.selection import MetricOptions
from kgeval.metrics.summary import Group
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.protocols.protocol import protocol_of
from kgeval.ranking.rank_table import RankTable
from kgeval.reports.document import isolated
from kgeval.stored.contents import Policies
from kgeval.stored.folders import Place, Places, distinct_names, look_at, runs_of, words_of
from kgeval.stored.seeds import RunOf, Training, join_seeds, model_name
from kgeval.stored.stored_run import StoredRun

if TYPE_CHECKING:
    from kgeval.metrics.intervals.interval import Unit
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.ranking.tasks.label_table import LabelTable


@dataclass(frozen=True, eq=False)
class EvaluatedModel:
    """A model with the ranks of its run, or of its runs with several seeds, and what is known of how they were made."""

    name: str
    table: RankTable
    config: Mapping[str, Any] = field(default_factory=dict)
    """the configuration of its run; empty if there are only ranks"""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    predictions: PredictionTable | None = None
    remarks: tuple[str, ...] = ()
    """notes on files of its run that have changed since they were written"""
    policies: Policies = field(default_factory=Policies)
    """the settings by which its run computes numbers, such as the tie policy"""
    left_out: tuple[str, ...] = ()
    """notes that name the unfinished or failed runs in the same folder, which are left out"""
    seeds: tuple[EvaluatedModel, ...] = ()
    """the run of each seed, if there are several; the fields above, except the name, are then those of one of them, the
    run with the middle MRR"""
    middle: int = 0
    """the index in ``seeds`` of the run with the middle MRR"""

    @property
    def runs(self) -> tuple[EvaluatedModel, ...]:
        return self.seeds or (self,)

    @property
    def mean_in_words(self) -> str:
        """The words ", mean of N seeds"; empty for a single run."""
        return f", mean of {len(self.seeds)} seeds" if self.seeds else ""

    @property
    def baseline(self) -> bool:
        """Whether it is a baseline, which charts draw in grey."""
        model = self.config.get("model")
        return isinstance(model, Mapping) and "baseline" in model

    @property
    def training(self) -> Training:
        return Training.of(self.config, self.manifest)

    def on(self, dataset: str) -> EvaluatedModel:
        """Return the model on the dataset of that name, whose graph may have other names."""
        return self if self.table.dataset == dataset else replace(self, table=replace(self.table, dataset=dataset))

    @property
    def ties(self) -> str:
        """The tie policy of its run; the protocol's, if the run names none or one that no installed package has."""
        named = str(self.policies.get("ties"))
        return named if named in tie_policies() else tie_policy(protocol_of(self.table).ties).name


Run: TypeAlias = str | Path | Place | RankTable | EvaluatedModel
"""a run directory, a folder of runs or a file of ranks, as a path or a ``Place`` (a path looked at already); or in
memory, a table of ranks or an evaluated model"""


Runs: TypeAlias = Run | Iterable[Run | tuple[str, Run]] | Mapping[str, Run]


def read_models(runs: Places, dataset: Source = None) -> list[EvaluatedModel]:
    """Read runs as models, each with a name of its own.

    A run without a name gets the name of its model, or of its folder if two models have the same name. Runs without
    names that differ only in the seed of their training become one model. Text files of ranks need the ``dataset`` that
    was ranked.
    """
    read = [(name, model) for name, run in runs for model in _read(run, name, dataset)]
    refuse_two_graphs({str(model.folder or name): model.table for name, model in read})
    graphs = dataset_names([model.table for _, model in read])
    models = join_models([(name, model.on(graph)) for (name, model), graph in zip(read, graphs, strict=True)])
    if not models:
        raise InputError("no runs: give at least one run directory, or a file of ranks.")
    return _named_apart(models)


def look(runs: Runs) -> Places:
    """Look at runs, each with the name that it was given, which may be empty."""
    kinds = (str, Path, Place, RankTable, EvaluatedModel)
    several: Any = [runs] if isinstance(runs, kinds) else runs.items() if isinstance(runs, Mapping) else runs
    pairs = [run if isinstance(run, tuple) else ("", run) for run in several]
    if others := [type(run).__name__ for _, run in pairs if not isinstance(run, kinds)]:
        raise InputError(f"expected a run directory, a file of ranks or a rank table, found {others[0]}.")
    return look_at(pairs)


def _read(run: Place | RankTable | EvaluatedModel, name: str, dataset: Source) -> Iterator[EvaluatedModel]:
    if isinstance(run, EvaluatedModel):
        yield replace(run, name=name or run.name)
        return
    if isinstance(run, RankTable):
        yield EvaluatedModel(name, run)
        return
    runs = [(inside, _read_one(stored, dataset)) for _, inside, stored in runs_of([(name, run)])]
    names = distinct_names([place.split("/") for place, _ in runs], [model.table.dataset for _, model in runs])
    for place, (_, model) in zip(names, runs, strict=True):
        yield replace(model, name=f"{name} {place}".strip(), left_out=(*run.notes,))


def _read_one(run: StoredRun, dataset: Source) -> EvaluatedModel:
    if not run.is_complete:
        return EvaluatedModel("", run.ranks(dataset) if run.is_text else run.ranks(), folder=run.path)
    record = run.config, run.manifest, run.path, run.predictions, run.changes, run.policies
    return EvaluatedModel("", run.ranks(), *record)


def join_models(models: Sequence[tuple[str, EvaluatedModel]]) -> list[tuple[str, EvaluatedModel]]:
    """Join the runs that are seeds of one model; the joined model stands where the first of its runs stood.

    A pair has the name that the user chose, or the name of the run's folder, or an empty one; then the run.
    """
    groups = join_seeds([_run_of(name, model) for name, model in models])
    members = [[models[place] for place in group] for group in groups]
    return [group[0] if len(group) == 1 else (group[0][0], model_of_seeds(group)) for group in members]


def model_of_seeds(runs: Sequence[tuple[str, EvaluatedModel]]) -> EvaluatedModel:
    """Make one model of several runs, its seeds; the run with the middle MRR gives the model's own ranks."""
    values = [np.nan_to_num(mean_of_runs(run, "mrr", run.ties)) for _, run in runs]
    middle = int(np.argsort(values, kind="stable")[(len(runs) - 1) // 2])
    described, named = [_run_of(*run) for run in runs], []
    for place, (about, (_, run)) in enumerate(zip(described, runs, strict=True)):
        seed = place if about.training.seed is None else about.training.seed
        named.append(replace(run, name=f"seed {seed}" if about.chosen or not run.name else run.name))
    return replace(runs[middle][1], name=model_name(described), seeds=tuple(named), middle=middle)


def _run_of(name: str, model: EvaluatedModel) -> RunOf:
    key, training = model.training.key(model.config), model.training
    chosen = name if name and name == model.name else ""
    return RunOf(model.table.dataset, chosen, model.name, training, key and f"{name} {key}")


def _named_apart(models: list[tuple[str, EvaluatedModel]]) -> list[EvaluatedModel]:
    """Give each model a unique name: the chosen one, its model's, or its folders'."""
    called = [(model.table.dataset, model.name or _called(model)) for _, model in models]
    repeated = {name for name in called if called.count(name) > 1}
    words = [
        _words(model, key[1]) if model.folder and not chosen and key in repeated else [key[1]]
        for (chosen, model), key in zip(models, called, strict=True)
    ]
    names = distinct_names(words, [dataset for dataset, _ in called])
    named = [replace(model, name=name) for (_, model), name in zip(models, names, strict=True)]
    keys = [(model.table.dataset, model.name) for model in named]
    if twice := next((name for dataset, name in keys if keys.count((dataset, name)) > 1), None):
        raise InputError(f"two runs are called {twice!r:.60}. Name them: {{'a': …, 'b': …}}, or a=RUN b=RUN.")
    return named


def _words(model: EvaluatedModel, name: str) -> list[str]:
    """The words of the path of a model's folder; for several seeds, the words that their paths share, and the name."""
    folders = ["/".join(words_of(run.folder)) for run in model.runs if run.folder]
    if len(folders) == 1:
        return folders[0].split("/")
    *parents, ending = model_name([RunOf("", "", folder, Training(), None) for folder in folders]).split("/")
    last = name.rpartition("/")[2]
    return [*parents, last] if ending == last else [*parents, ending, last]


def _called(model: EvaluatedModel) -> str:
    title = model.table.model.partition(" (")[0]
    if title != UNKNOWN:
        return title
    return words_of(model.folder)[-1] if model.folder else "model"


def read_dataset(models: Iterable[EvaluatedModel]) -> Dataset | None:
    """Read the dataset of the models, if a run names it and it has not changed."""
    for model in models:
        with suppress(InputError):
            run = None if model.folder is None else StoredRun(model.folder)
            if run is not None and run.is_of(dataset := run.dataset()):
                return dataset
    return None


def notes_on_ties(models: Iterable[EvaluatedModel], used: Ties) -> list[str]:
    """Name the runs whose tie policy no installed package has."""
    named = [(run, str(run.policies.get("ties") or run.ties)) for model in models for run in model.runs]
    return [note_on_missing(ties, used).after(f"{isolated(run.name)}: ") for run, ties in named if ties != run.ties]


def seed_of(models: Iterable[EvaluatedModel], ties: Ties) -> int:
    """The seed of random ties that all runs have; 0 if their seeds differ, which random ties refuse."""
    seeds = {run.policies.get("seed", 0) for model in models for run in model.runs}
    if len(seeds) > 1 and tie_policy(ties).random:
        raise InputError(f"random ties of {len(seeds)} seeds do not compare. Choose another policy: --ties realistic.")
    return seeds.pop() if len(seeds) == 1 else 0


def mean_of_runs(model: EvaluatedModel, metric: str, ties: Ties) -> float:
    """The mean of a metric over the runs of a model; NaN where it is undefined."""
    options = MetricOptions(ties, seed_of([model], ties))
    summaries = (rank_summary(run.table, metric, options=options) for run in model.runs)
    return float(np.mean([first_value(summary.groups[0]) for summary in summaries]))


def first_value(group: Group) -> float:
    """The value of the first metric of a group; NaN if it is undefined."""
    value = next(iter(group.values.values()))
    return np.nan if value is None else value


Classified: TypeAlias = "Mapping[str, tuple[LabelTable, LabelSummary]]"
"""by the name of a model: its labelled triples with scores, and their metrics"""


def read_classifications(runs: Places, intervals: Unit | None = None) -> Classified:
    """Summarize runs of ``kgeval classify`` by the names of their models; empty if the runs have ranks."""
    classified: dict[str, tuple[LabelTable, LabelSummary]] = {}
    places = [(f"{name} {inside}".strip(), run) for name, inside, run in runs_of(runs)]
    labelled = [(name, run) for name, run in places if run.keeps == "classification"]
    if labelled and len(labelled) < len(places):
        raise InputError(f"{str(labelled[0][1].path)!r} is a classification, others have ranks. Give runs of one kind.")
    # The metrics that are tested stand first.
    metrics = parse_all([*dict.fromkeys([*COMPARED, *CLASSIFICATION.metrics])], CLASSIFICATION.name)
    if (settings := read_intervals(intervals)) is not None:
        refuse_other_units(settings.unit)
    tables = [run.labels() for _, run in labelled]
    refuse_two_graphs({str(run.path): table for (_, run), table in zip(labelled, tables, strict=True)})
    for (name, run), table in zip(labelled, tables, strict=True):
        title = name or table.model.partition(" (")[0]
        if title in classified:
            raise InputError(f"two runs are called {title!r:.60}. Name them: a=RUN b=RUN.")
        calibration: Any = (run.policies.get("task") or {}).get("calibration", "platt")
        if (known := dataset_names([*(one for one, _ in classified.values()), table]))[0] != known[-1]:
            raise InputError(f"these are classifications on {known[0]} and {known[-1]}. Give runs on one dataset.")
        classified[title] = table, label_summary(table, metrics, by=(), calibration=calibration, intervals=settings)
    return classified
