"""The error message for a folder in no known layout: its files, the nearest layout, and the missing files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from kgeval.data.layout import Layout

SIMILAR = 0.75
"""the least similarity (0 to 1) of a misspelt file name and the right one"""

MAX_NAMES = 8
"""the most files or folders that the message lists"""


class _Fit(NamedTuple):
    """The files of a layout that a folder has and lacks."""

    layout: str
    present: list[str]
    missing: list[str]
    misspelt: dict[str, str]
    """the right names of files, by their misspelt ones"""

    @property
    def nearness(self) -> tuple[float, float]:
        """A key for the nearest layout: files that are present (misspelt ones count half), then fewest missing."""
        return len(self.present) + len(self.misspelt) / 2, -len(self.missing)


def describe_unknown(folder: Path, layouts: Mapping[str, Layout]) -> str:
    """List the files in a folder that no layout recognises, and what the nearest layout needs.

    >>> print(describe_unknown(Path("kgeval/data/layouts"), {}).splitlines()[0])
    folder 'kgeval/data/layouts' is in no known layout.
    """
    entries = sorted(
        (entry for entry in folder.iterdir() if not entry.name.startswith(".")),
        key=lambda entry: (entry.is_file(), entry.name),
    )
    datasets = [
        entry for entry in entries if entry.is_dir() and any(known.recognises(entry) for known in layouts.values())
    ]
    if datasets:
        kind = "folders that are datasets" if len(datasets) > 1 else "folder that is a dataset"
        names = [f"{entry.name}/" for entry in datasets]
        lines = [f"It holds {len(datasets)} {kind}: {_first_names(names)}. Choose one."]
    else:
        names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]
        lines = [f"It holds {_first_names(names)}." if names else "It is empty."]
        fits = [_fit(folder, known.name, known.needs, [entry.name for entry in entries]) for known in layouts.values()]
        nearest = max(fits, key=lambda fit: fit.nearness, default=None)
        lines += _nearest_layout(nearest) if nearest is not None and nearest.nearness > (0, 0) else []
        lines += ["'kgeval list datasets' shows the known layouts."]
    return "\n  ".join([f"folder {str(folder)!r} is in no known layout.", *lines])


def _fit(folder: Path, layout: str, needs: Iterable[tuple[str, ...]], names: list[str]) -> _Fit:
    fit = _Fit(layout, [], [], {})
    for alternatives in needs:
        paths = [path for pattern in alternatives for path in sorted(folder.glob(pattern))]
        fit.present.extend(str(path.relative_to(folder)) for path in paths[:1])
        if not paths:
            fit.missing.append(alternatives[0])
            fit.misspelt.update(_misspelt(alternatives, [name for name in names if name not in fit.present]))
    return fit


def _misspelt(alternatives: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """Find a file with the suffix of an alternative and a similar stem; by its name, the right one."""
    for name in names:
        for right in alternatives:
            stem, suffix = right.split(".", 1) if "." in right else (right, "")
            own_stem, _, own_suffix = name.lower().partition(".")
            if own_suffix == suffix and (stem in own_stem or SequenceMatcher(None, own_stem, stem).ratio() >= SIMILAR):
                return {name: right}
    return {}


def _nearest_layout(fit: _Fit) -> list[str]:
    present = f"{', '.join(fit.present)} {'are' if len(fit.present) > 1 else 'is'} there; " if fit.present else ""
    missing = f"{', '.join(fit.missing)} {'are' if len(fit.missing) > 1 else 'is'} missing"
    lines = [f"The nearest layout is {fit.layout}: {present}{missing}."]
    return lines + [f"{name}: did you mean {right}?" for name, right in fit.misspelt.items()]


def _first_names(names: list[str]) -> str:
    return ", ".join([*names[:MAX_NAMES], *(["…"] if len(names) > MAX_NAMES else [])])
