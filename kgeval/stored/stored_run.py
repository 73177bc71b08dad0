"""A stored run: the ranks, configuration, manifest and metrics in its directory; a file of ranks is one too.

Whatever takes a run (``kgeval summarize``, ``compare``, ``report``, …) opens it as a ``StoredRun``, and
``StoredRun.write`` writes one. The names of the files are in ``contents``.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from kgeval.base.errors import ConfigError, InputError, reason
from kgeval.base.files import exists_safely, read_settings, refuse_special, sha256_of_file, suggest_paths
from kgeval.base.notes import Example, Note
from kgeval.base.parquet_tables import StoredTable
from kgeval.base.settings_text import dump_yaml, expanded, read_yaml
from kgeval.base.storage import write_text
from kgeval.data.dataset import Dataset
from kgeval.data.dataset_config import DatasetConfig
from kgeval.data.fingerprint import fingerprint
from kgeval.data.loading import Source
from kgeval.ranking.import_ranks import load_ranks
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_file import is_foreign
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.tasks.confidences import ConfidenceTables
from kgeval.ranking.tasks.label_table import LabelTable
from kgeval.stored.contents import (
    CONFIG,
    CURVES,
    LABELS,
    MANIFEST,
    METRICS,
    MODEL,
    PREDICTIONS,
    RANKS,
    REPORT,
    RESULTS,
    SCHEMA,
    TEXT,
    Manifest,
    Metrics,
    Policies,
    as_json,
    fault_of,
    is_begun,
    is_run,
    progress_of,
    ranks_of,
    read_record,
    record_of,
    tables_in,
)
from kgeval.stored.staging import publish

RunState = Literal["finished", "altered", "damaged", "unfinished", "newer"]
"""a run's state, in this order: all its files are as it wrote them; some have changed; some are missing or cannot be
read; it has no manifest; or a newer version of kgeval wrote it"""


class NewerRun(InputError):
    """A newer version of kgeval wrote a run."""


KeptTable: TypeAlias = RankTable | LabelTable | ConfidenceTables
"""what an evaluation stores: ranks; for classification, labelled triples with the scores of the model and of
baselines; for confidences, both"""


@dataclass(frozen=True)
class StoredRun:
    """A run on disk, finished or not: its tables are read when they are asked for, and refused if they have changed."""

    path: Path
    """a run directory, or a file with nothing but ranks"""
    failure: str = ""
    """why its model failed, as a common table says"""

    @staticmethod
    def write(
        stage: Path,
        table: KeptTable,
        *,
        config: dict[str, Any],
        manifest: dict[str, Any],
        metrics: dict[str, Any],
        curves: dict[str, Any] | None = None,
        predictions: PredictionTable | None = None,
        results: dict[str, Any] | None = None,
    ) -> None:
        """Write a run on its stage, last the manifest with the SHA-256 of the others; then move it into its folder.

        ``results`` are metrics under PyKEEN's keys, of an evaluation inside PyKEEN.
        """
        tables = {**_files_of(table), **({} if predictions is None else {PREDICTIONS: predictions})}
        contents = {METRICS: metrics, CURVES: curves, RESULTS: results}
        texts = {name: as_json(content) for name, content in contents.items() if content}
        for name, each in tables.items():
            each.to_parquet(stage / name)
        for name, text in texts.items():
            write_text(stage / name, text)
        write_text(stage / CONFIG, dump_yaml(config))
        written = {name: sha256_of_file(stage / name) for name in (CONFIG, *tables, *texts)}
        write_text(stage / MANIFEST, as_json(manifest | {"written": written}))
        publish(stage)

    @property
    def is_complete(self) -> bool:
        """Whether it is the run directory of one model, and finished."""
        return is_run(self.path)

    @property
    def unfinished(self) -> str:
        """Why there is no complete run; empty if there is one."""
        if self.is_complete:
            return ""
        if self.failure or not self.path.is_dir():
            return self.failure or "its folder is missing"
        fault = f"{MANIFEST} {fault_of(self.path / MANIFEST) or 'cannot be read'}"
        return "it was interrupted" if is_begun(self.path) else fault

    @cached_property
    def state(self) -> tuple[RunState, str]:
        """Whether it is finished and as it was written; if not, why."""
        if self.unfinished:
            return "unfinished", self.unfinished
        try:
            faults = {name: "" if (self.path / name).is_file() else f" {fault}" for name, fault in self.faults.items()}
        except InputError as error:
            return "newer" if isinstance(error, NewerRun) else "damaged", str(error)
        why = f"changed since the run was written: {', '.join(map(''.join, faults.items()))}."
        return ("damaged" if any(faults.values()) else "altered", why) if faults else ("finished", "")

    @property
    def is_stored(self) -> bool:
        """Whether kgeval wrote the ranks, with their dataset and split; otherwise another program did."""
        is_own_table = self.path.suffix.lower() == ".parquet" and not is_foreign(self.path)
        return is_own_table or (exists_safely(self.path) and self.path.is_dir())

    @property
    def is_text(self) -> bool:
        """Whether another program wrote the ranks: text, or a Parquet file that is not of kgeval."""
        return not self.path.is_dir() and (self.path.name.lower().endswith(TEXT) or is_foreign(self.path))

    @property
    def config_file(self) -> Path:
        return self.path / CONFIG

    @property
    def ranks_file(self) -> Path:
        return self.path / RANKS if self.path.is_dir() else self.path

    @property
    def page(self) -> Path:
        """The page of the run, or of the runs in the folder."""
        return self.path / REPORT

    @property
    def trained_model(self) -> Path:
        """The folder of a model that the run trained."""
        return self.path / MODEL

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of its configuration, with variables as written; empty if there is none."""
        if not exists_safely(self.config_file):
            return {}
        try:
            content = read_yaml(read_settings(self.config_file))
        except (InputError, OSError, ValueError) as error:
            raise ConfigError(f"{self.config_file}: not the configuration of a run.\n{error}") from error
        if not isinstance(content, dict):
            raise ConfigError(f"{self.config_file}: not the configuration of a run.\nIt has no keys.")
        return content

    @cached_property
    def policies(self) -> Policies:
        """How its configuration says that numbers are computed."""
        said = {name: self.config[name] for name in Policies.__annotations__ if name in self.config}
        return record_of(expanded(said), self.config_file, Policies)

    @cached_property
    def manifest(self) -> Manifest:
        """The content of its manifest; empty if there is none. A manifest of a newer version is refused."""
        content = read_record(self.path / MANIFEST, Manifest) if exists_safely(self.path / MANIFEST) else Manifest()
        if content.get("schema", SCHEMA) > SCHEMA:
            cure = "Install that version: pip install --upgrade kgeval"
            raise NewerRun(f"{str(self.path / MANIFEST)!r}: a newer version of kgeval wrote this run. {cure}.")
        return content

    def is_of(self, dataset: Dataset) -> bool | None:
        """Whether it is the graph that was ranked, by fingerprint or SHA-256; None if the run has neither."""
        stored = self.manifest.get("dataset", {})
        if "fingerprint" in stored:
            return stored["fingerprint"] == fingerprint(dataset)
        return stored["sha256"] == dataset.sha256() if "sha256" in stored else None

    @property
    def input_digests(self) -> dict[str, str]:
        """The SHA-256 of the files that were read, by their paths."""
        if "sha256" not in self.manifest:
            raise InputError(f"{str(self.path / MANIFEST)!r} is damaged: it does not say which files were ranked.")
        return self.manifest["sha256"]

    @property
    def metrics(self) -> Metrics:
        return read_record(self._unaltered(METRICS), Metrics)

    @property
    def is_baseline(self) -> bool:
        return "baseline" in self.manifest.get("model", {})

    @cached_property
    def faults(self) -> dict[str, str]:
        """What is wrong with the files of a complete run, by their names: missing, or not as they were written."""
        unknown = {name: "" for name in (RANKS, LABELS) if exists_safely(self.path / name)}
        written = self.manifest.get("written", unknown) if self.is_complete else {}
        faults = {name: fault_of(self.path / name, digest) for name, digest in written.items()}
        return {name: fault for name, fault in faults.items() if fault}

    def _unaltered(self, name: str) -> Path:
        """Return the place of a file to read; refuse one that is missing or has changed since the run was written."""
        place = self.path / name
        if name in self.faults:
            cure = "Restore it, or evaluate again with --force."
            cure += " To use these ranks as they are, give the file itself." * (name == RANKS and place.is_file())
            raise InputError(f"{str(place)!r} {self.faults[name]}. {cure}")
        return place

    @property
    def changes(self) -> tuple[Note, ...]:
        """A note on the files that have changed since the run was written; a run that cannot be read is refused."""
        return (Note("runs", Example(f"{str(self.path)!r} ", "the run "), self.state[1]),) if self.faults else ()

    @property
    def keeps(self) -> str:
        """The kind of its tables: ``ranks``, ``classification`` (labels) or ``confidences`` (both)."""
        tables = {name for name in (LABELS, RANKS) if name in self.faults or exists_safely(self.path / name)}
        return {(LABELS,): "classification", (LABELS, RANKS): "confidences"}.get((*sorted(tables),), "ranks")

    def table(self) -> KeptTable:
        if self.keeps == "ranks":
            return self.ranks()
        labels = self.labels()
        if self.keeps == "classification":
            return labels
        there = [name for name in labels.baselines if exists_safely(self.path / ranks_of(name))]
        ranks = {name: RankTable.from_parquet(self._unaltered(ranks_of(name))) for name in there}
        return ConfidenceTables(labels, {"score": self.ranks(), **ranks})

    def labels(self) -> LabelTable:
        return LabelTable.from_parquet(self._unaltered(LABELS))

    def ranks(self, dataset: Source = None, **options: Any) -> RankTable:
        """Read the ranks.

        A text file of another tool needs the dataset that was ranked, and takes the options of
        :func:`kgeval.load_ranks`.
        """
        path = self.path
        refuse_special(path)
        if not exists_safely(path):
            raise InputError(f"no such file {str(path)[:200]!r}. {suggest_paths(path)}".strip())
        if path.suffix.lower() in (".yaml", ".yml") and not path.is_dir():
            what = f"{str(path)!r} is a configuration. Run it: kgeval run {shlex.quote(str(path))}"
            raise InputError(f"{what}, then give its output folder.")
        if self.keeps == "classification":
            what = f"{str(path)!r} is a run of a classification: it has scores of labelled triples, not ranks"
            raise InputError(f"{what}. summarize, compare, report and plot --kind roc take it.")
        if path.is_dir() and not self.is_complete and not (path / RANKS).is_file():
            raise InputError(f"{str(path)!r} holds no run: there is no {RANKS} in it.{progress_of(path)}")
        if dataset is not None:
            if self.is_stored:
                raise InputError(f"{str(path)!r} contains its dataset. Leave --dataset out.")
            return load_ranks(path, dataset, **options)
        if self.is_text:
            problem = f"{str(path)!r}: ranks of another program need the dataset that was ranked. Add --dataset DATASET"
            raise InputError(f"{problem}.")
        if path.is_file() and LabelTable.is_in(path):
            problem = f"{str(path)!r} holds scores of labelled triples, not ranks"
            raise InputError(f"{problem}. Give the folder of the run that it is part of.")
        return RankTable.from_parquet(self._unaltered(RANKS) if path.is_dir() else path)

    @property
    def predictions(self) -> PredictionTable | None:
        there = exists_safely(self.path / PREDICTIONS)
        return PredictionTable.from_parquet(self._unaltered(PREDICTIONS)) if there else None

    def dataset(self) -> Dataset:
        """Read the dataset that the configuration names; its triples may have changed since."""
        if not self.config:
            problem = f"{str(self.path)!r} does not say where its dataset is, and slices need it"
            raise InputError(f"{problem}. Add --dataset DATASET.")
        try:
            return DatasetConfig.model_validate(expanded(self.config["dataset"])).load()
        except (InputError, OSError, ValueError, TypeError, KeyError) as error:
            why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            problem = f"{str(self.path)!r}: the dataset in its {CONFIG} cannot be read, and slices need it"
            cause = reason(ValueError(why.removeprefix("Value error, ")))
            raise InputError(f"{problem}. Add --dataset DATASET.\n{cause}") from error

    def refuse_unreadable(self) -> None:
        """Refuse a run whose tables are damaged, or that was killed before it was complete."""
        for name in self.faults.keys() & {RANKS, LABELS}:
            self._unaltered(name)
        if not exists_safely(self.path) or not self.path.is_dir() or self.is_complete:
            return
        if there := [name for name in tables_in(self.path) if (self.path / name).is_file()]:
            fault = f"{str(self.path)!r} holds {there[0]}, but no {MANIFEST}: a run was interrupted there"
            raise InputError(f"{fault}. Run it again, with --force if that is refused, or give the table itself.")


def _files_of(table: KeptTable) -> Mapping[str, StoredTable]:
    if isinstance(table, ConfidenceTables):
        ranks = {RANKS if name == "score" else ranks_of(name): each for name, each in table.ranks.items()}
        return {LABELS: table.labels, **ranks}
    return {LABELS if isinstance(table, LabelTable) else RANKS: table}
