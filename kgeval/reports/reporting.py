"""``kgeval.report``: runs in, one page out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source, as_dataset
from kgeval.metrics.intervals.units import Unit
from kgeval.metrics.ranks.ties import Ties
from kgeval.reports.page import render
from kgeval.reports.reading import Runs, read_dataset, read_models
from kgeval.reports.study import Study, study_of
from kgeval.storage.atomic import write_text


@dataclass(frozen=True)
class Report:
    """A page of one file, which needs no network."""

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all.

        Raises
        ------
        RunError
            if the file cannot be written
        """
        write_text(Path(path), self.html)


def report(
    runs: Runs,
    *,
    dataset: Dataset | Source | None = None,
    unit: Unit = "triple",
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
) -> Report:
    """Make a page of runs: who is best, whether to trust it, where it comes from, which triples, how it was made.

    Nothing is scored; the page is a function of what the runs kept, and of their dataset for what it says of triples.

    Parameters
    ----------
    runs
        a run directory, a folder of several, a ``.parquet`` file of ranks or a rank table; or several of them, in a
        list or by the names that the page calls them
    dataset
        the graph, or its folder or PyKEEN name; by default the one that the runs name, if it is still the same
    unit
        what intervals and tests draw again, as :func:`kgeval.compare` takes it: ``"triple"``, ``"query"`` or
        ``"relation"``
    ties
        the tie policy; by default that of the first run
    allow
        how the runs may differ, as :func:`kgeval.compare` takes it

    Raises
    ------
    InputError
        if there are no runs, if one cannot be read, or if a library of the extra ``kgeval[report]`` is not installed
    MetricError
        if the runs did not rank the same triples in the same way, with what differs

    Examples
    --------
    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> page = kgeval.report({"remainder": table})
    >>> page.html.count("<!doctype html>")
    1
    """
    return Report(render(study_of_runs(runs, dataset, unit=unit, ties=ties, allow=allow)))


def study_of_runs(
    runs: Runs,
    dataset: Dataset | Source | None,
    *,
    unit: Unit = "triple",
    ties: Ties | None,
    allow: str | Collection[str],
) -> Study:
    """Read runs and their dataset, and compare them; see :func:`report`."""
    models = read_models(runs)
    graph = read_dataset(models) if dataset is None else as_dataset(dataset)
    return study_of(models, graph, unit=unit, ties=ties, allow=allow)
