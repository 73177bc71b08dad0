"""Sliced ranks: a stored rank table with the slices that group it, whose dataset is found again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kgeval.analysis.slices.annotation import annotate
from kgeval.analysis.slices.slice import slices
from kgeval.data.dataset import Dataset
from kgeval.data.io.triple_files import TRIPLE
from kgeval.data.loading import load_dataset
from kgeval.data.vocabulary import display_label
from kgeval.errors import ConfigError, InputError, did_you_mean, reason
from kgeval.files.opening import read_settings
from kgeval.files.variables import expanded
from kgeval.files.yaml_text import read_yaml
from kgeval.metrics.summary import Summary
from kgeval.paths import exists_safely
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import CONFIG, MANIFEST, read_json
from kgeval.runs.config.run_config import DatasetConfig


def with_slices(table: RankTable, by: Sequence[str], dataset: Dataset) -> RankTable:
    """Add those slices of some names that are no columns of a table yet."""
    return annotate(table, dataset, [name for name in by if name not in table.columns and name in slices()])


def names_slices(by: Sequence[str]) -> bool:
    return any(name in slices() for name in by)


def group_stored(
    table: RankTable, by: Sequence[str], run: Path, source: str | None
) -> tuple[RankTable, tuple[str, ...]]:
    """Add those slices of some names that are no columns of a stored table; also return what to know of the dataset.

    The source is the folder or PyKEEN name of the dataset; by default the one that the run's configuration names.
    """
    for name in by:
        if name not in (known := [*table.columns, *slices()]):
            raise ConfigError(f"--by: no slice and no column {name!r}. {did_you_mean(name, known)}")
    if all(name in table.columns for name in by):
        return table, ()
    dataset = _configured_dataset(run) if source is None else load_dataset(source)
    difference = _difference(run, dataset)
    if difference and source is None:
        raise InputError(f"{difference}. Give the one that was ranked: --dataset.")
    return with_slices(table, by, dataset), (f"{difference}; the slices are of what was given.",) if difference else ()


def _configured_dataset(run: Path) -> Dataset:
    if not exists_safely(run / CONFIG):
        raise InputError(f"{str(run)!r} does not tell where its dataset is, on which slices rest. Add --dataset.")
    try:
        return DatasetConfig.model_validate(expanded(read_yaml(read_settings(run / CONFIG))["dataset"])).load()
    except (InputError, OSError, ValueError, TypeError, KeyError) as error:
        why = error.errors()[0]["msg"].removeprefix("Value error, ") if isinstance(error, ValidationError) else error
        raise InputError(
            f"{str(run)!r}: the dataset that its {CONFIG} names cannot be read, and slices rest on it. Add --dataset."
            f"\n{reason(ValueError(why))}"
        ) from error


def _difference(run: Path, dataset: Dataset) -> str:
    """Say that a dataset is not the very graph that a run ranked, if it tells."""
    ranked: Any = read_json(run / MANIFEST).get("dataset") if exists_safely(run / MANIFEST) else None
    if not isinstance(ranked, dict) or ranked.get("sha256") in {None, dataset.sha256()}:
        return ""
    return f"dataset {dataset.name} is not as it was ranked in {str(run)!r}: labels, triples or their order are others"


def named(summary: Summary, names: Mapping[str, str]) -> Summary:
    """Put human names before the labels in the keys of groups: ``accuses (accusation)``."""
    columns = {*TRIPLE, *(f"{column}_label" for column in TRIPLE)}  # whose values are labels

    def with_names(key: dict[str, Any]) -> dict[str, Any]:
        return {column: display_label(value, names) if column in columns else value for column, value in key.items()}

    return replace(summary, groups=tuple(replace(group, key=with_names(group.key)) for group in summary.groups))
