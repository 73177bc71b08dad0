"""The message for a folder in no known layout: what is there, which layout is nearest, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from kgeval.data.layout import Layout

SIMILAR = 0.75
"""the similarity from which on a file name may be a mistaken one"""

MAX_NAMES = 8
"""how many files or folders the message lists"""


class _Fit(NamedTuple):
    """How far a folder is in a layout."""

    layout: str
    there: list[str]
    missing: list[str]
    mistaken: dict[str, str]
    """the needed name that a file's name may stand for, by that name"""

    @property
    def nearness(self) -> tuple[float, float]:
        """How much of what is needed is there, a mistaken name counting half, and how little is missing."""
        return len(self.there) + len(self.mistaken) / 2, -len(self.missing)


def describe_unknown(folder: Path, layouts: Mapping[str, Layout]) -> str:
    """Say what is in a folder that no layout recognises, and what each of the layouts takes, line by line.

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
        lines = [f"It holds {len(datasets)} {kind}: {_listed(f'{entry.name}/' for entry in datasets)}. Choose one."]
    else:
        held = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]
        lines = [f"It holds {_listed(held)}." if held else "It is empty."]
        fits = [_fit(folder, known.name, known.needs, [entry.name for entry in entries]) for known in layouts.values()]
        nearest = max(fits, key=lambda fit: fit.nearness, default=None)
        lines += _nearest_layout(nearest) if nearest is not None and nearest.nearness > (0, 0) else []
        lines += ["Known layouts:", *(f"  {known.name}: {known.summary}" for known in layouts.values())]
    return "\n  ".join([f"folder {str(folder)!r} is in no known layout.", *lines])


def _fit(folder: Path, layout: str, needs: Iterable[tuple[str, ...]], names: list[str]) -> _Fit:
    fit = _Fit(layout, [], [], {})
    for alternatives in needs:
        found = [path for pattern in alternatives for path in sorted(folder.glob(pattern))]
        fit.there.extend(str(path.relative_to(folder)) for path in found[:1])
        if not found:
            fit.missing.append(alternatives[0])
            fit.mistaken.update(_mistaken(alternatives, [name for name in names if name not in fit.there]))
    return fit


def _mistaken(alternatives: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """Find a file whose ending is right, and whose name is nearly so."""
    for name in names:
        for needed in alternatives:
            stem, ending = needed.split(".", 1) if "." in needed else (needed, "")
            own, _, rest = name.lower().partition(".")
            if rest == ending and (stem in own or SequenceMatcher(None, own, stem).ratio() >= SIMILAR):
                return {name: needed}
    return {}


def _nearest_layout(fit: _Fit) -> list[str]:
    there = f"{', '.join(fit.there)} {'are' if len(fit.there) > 1 else 'is'} there; " if fit.there else ""
    missing = f"{', '.join(fit.missing)} {'are' if len(fit.missing) > 1 else 'is'} missing"
    lines = [f"The nearest layout is {fit.layout}: {there}{missing}."]
    return lines + [f"{name}: did you mean {needed}?" for name, needed in fit.mistaken.items()]


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join([*listed[:MAX_NAMES], *(["…"] if len(listed) > MAX_NAMES else [])])
