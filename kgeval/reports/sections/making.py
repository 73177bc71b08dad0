"""How was it made? The protocol in words, configuration, fingerprints, seconds, notes, and how to do it again."""

from __future__ import annotations

import os
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgeval.protocols.protocol import protocol_of
from kgeval.provenance import UNKNOWN
from kgeval.reports.document import Section, isolated
from kgeval.reports.reading import EvaluatedModel
from kgeval.reports.study import Study
from kgeval.run_directory.contents import CONFIG

SCREENS = ("bfloat16", "float32", "int8")
"""the kernels that discard candidates in low precision before the others are scored"""

CITATION = "@software{kgeval, author = {The kgeval authors}, title = {kgeval}, version = {%s}, license = {MIT}}"


def making(study: Study) -> Section:
    table = study.models[0].table
    named = [model.table for model in study.models if model.table.protocol != UNKNOWN]
    protocol = protocol_of(named[0]) if named else None
    rules = f"Protocol {protocol.name}: {protocol.summary}." if protocol else "The ranks do not tell their protocol."
    content = {
        "provenance": str(table.provenance),
        "protocol": rules,
        "ties": str(getattr(study.ties, "name", study.ties)),
        "models": [_described(model) for model in study.models],
        "citation": CITATION % version("kgeval"),
    }
    return Section("made", "How it was made", "How it was made, and how to make it again", content)


def _described(model: EvaluatedModel) -> dict[str, Any]:
    """Lay out what a run wrote down; a table alone has its provenance and notes."""
    import yaml

    blocks = {name: model.manifest.get(name) or {} for name in ("model", "ranking", "seeds", "seconds", "versions")}
    about, kernel = blocks["model"], blocks["ranking"].get("kernel")
    live = [f"{name.replace('_', ' ')} {value}" for name, value in about.items() if name != "live"]
    seeds = ", ".join(isolated(run.name) for run in model.seeds)
    screened = f"; before that, {kernel} discards candidates whose scores provably decide nothing"
    counting = f"exact, from scores compared in float64{screened if kernel in SCREENS else f' (kernel {kernel})'}"
    facts = {
        "Ranks of": model.table.provenance,
        "Seeds": seeds and f"{seeds}; all else here is of {_place(model) or 'the run with the middle MRR'}",
        "Formula": about.get("formula"),
        "Model": "; ".join([str(about["live"]), *live]) if "live" in about else "",
        "Random seeds": ", ".join(f"{what} {seed}" for what, seed in blocks["seeds"].items()),
        "Dataset, SHA-256": model.fingerprint,
        "Seconds": ", ".join(f"{what} {took:g}" for what, took in blocks["seconds"].items()),
        "Ranks": counting if kernel else "",
        "Versions": ", ".join(f"{name} {version}" for name, version in blocks["versions"].items()),
        "Evaluated": model.manifest.get("time"),
    }
    shown = _relative(dict(model.config), model.folder)
    # The command that does the run again, if ``kgeval run`` made it.
    runs = {"dataset", "model"} <= model.config.keys() and "evaluator" not in model.config and model.folder
    return {
        "name": model.name,
        "facts": [(name, _without_paths(str(fact), model)) for name, fact in facts.items() if fact],
        "notes": [_without_paths(note, model) for note in (*model.remarks, *model.table.notes)],
        "config": yaml.safe_dump(shown, sort_keys=False, allow_unicode=True) if model.config else "",
        "again": f"kgeval run {shlex.quote(f'{_place(model)}/{CONFIG}')} --force" if runs else "",
    }


def _place(model: EvaluatedModel) -> str:
    """The run directory as seen from the working directory or, of one elsewhere, from the folder that it is in."""
    if model.folder is None:
        return ""
    place = os.path.relpath(model.folder)
    place = model.folder.absolute().name if place.startswith("..") else place
    return f"./{place}" if place.startswith("-") else place


def _relative(content: Any, folder: Path | None) -> Any:
    """Replace absolute paths in a configuration: pages are passed on, and tell nobody where things lay.

    >>> _relative({"model": {"path": "/runs/ck"}, "seed": 0}, Path("/runs/a"))
    {'model': {'path': '../ck'}, 'seed': 0}
    """
    if isinstance(content, dict):
        return {name: _relative(part, folder) for name, part in content.items()}
    if isinstance(content, list | tuple):
        return [_relative(part, folder) for part in content]
    return _relative_path(content, folder) if isinstance(content, str) and Path(content).is_absolute() else content


def _relative_path(path: str, folder: Path | None) -> str:
    """Write a path as seen from a run directory; its last two parts where both have no more than the root in common."""
    if folder is None or os.path.commonpath([path, folder.absolute()]) == Path(path).anchor:
        return "/".join(["…", *Path(path).parts[1:][-2:]])
    return os.path.relpath(path, folder)


def _without_paths(text: str, model: EvaluatedModel) -> str:
    """Replace, in a text on a run, the absolute paths of its folder and of all files that it read."""
    own = [model.folder] if model.folder else []
    files = [*model.manifest.get("sha256", {}), *_paths_in(dict(model.config)), *own]
    known = {str(place) for file in files for place in (Path(file).absolute(), Path(file).absolute().parent)}
    for place in sorted(known - {os.sep}, key=len, reverse=True):
        text = text.replace(place, _relative_path(place, model.folder))
    return text


def _paths_in(content: Any) -> list[str]:
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list | tuple) else ()
    own = [content] if isinstance(content, str) and Path(content).is_absolute() else []
    return [*own, *(path for part in parts for path in _paths_in(part))]
