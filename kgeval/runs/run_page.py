"""The page that a run leaves beside its numbers, where its configuration has ``report: true``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.errors import KgevalError
from kgeval.run_directory.contents import REPORT


def write_page(folder: Path, dataset: Dataset, *, warn: Callable[[str], None]) -> None:
    """Write the page of a run, or of the runs of several models; what keeps it from being made spoils no run."""
    from kgeval.reports.reporting import report

    try:
        report(folder, dataset=dataset).save(folder / REPORT)
    except KgevalError as error:
        warn(f"there is no page of {str(folder)!r}: {error}")
