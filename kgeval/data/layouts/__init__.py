"""The layouts of datasets, the ways to store a graph in files: each file here declares and reads one or several.

``load_dataset`` chooses one of :func:`layouts`; a new layout is a ``Layout`` in a file here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgeval.base.registries import by_name, instances, load_entry_points
from kgeval.data.dataset import Dataset


@dataclass(frozen=True)
class Layout:
    """One way to store a graph."""

    name: str
    summary: str
    recognises: Callable[[Path], bool]
    """whether a folder is in this layout; cheap, by file names"""
    read: Callable[..., Dataset]
    needs: tuple[tuple[str, ...], ...]
    """the files that a folder must have; for each the possible names or patterns, the usual one first"""
    general: bool = False
    """whether another layout is used instead if it recognises the folder too"""
    has_columns: bool = False
    """whether ``read`` takes ``columns``, by which users name the columns of its files"""


@cache
def layouts() -> dict[str, Layout]:
    """All folder layouts, by name; those of other packages too."""
    return by_name("layouts", [*instances("kgeval.data.layouts", Layout), *load_entry_points("kgeval.layouts", Layout)])
