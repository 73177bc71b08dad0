"""The sections of the page on trust: the checks of its numbers, and how its runs were made.

``page.py`` calls :func:`trust` and :func:`making`. A new check is a function from ``Study`` to ``Check``, listed in
:func:`trust`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.analysis.audits.audit import audit
from kgeval.base.errors import counted
from kgeval.base.notes import Note
from kgeval.base.settings_text import map_texts
from kgeval.data.dataset import SPLITS
from kgeval.data.leaks import is_later
from kgeval.data.provenance import UNKNOWN, percent
from kgeval.data.split_names import parts_of
from kgeval.metrics.intervals.interval import FEWEST_UNITS
from kgeval.metrics.ranks.ties import tie_policy
from kgeval.metrics.summarize import summarize
from kgeval.ranking.protocols.protocol import protocol_of
from kgeval.ranking.rank_table import LISTED
from kgeval.reports.document import Section, isolated
from kgeval.reports.evaluated_models import EvaluatedModel, notes_on_ties
from kgeval.reports.study import Study
from kgeval.stored.stored_run import StoredRun


@dataclass(frozen=True)
class Check:
    """One reason to trust the numbers, or not to."""

    name: str
    warning: str = ""
    """what a reader has to know; empty if all is well"""
    unknown: bool = False
    """whether the runs or the dataset lack what the check needs"""

    @property
    def state(self) -> str:
        return "unknown" if self.unknown else "warning" if self.warning else "good"


def trust(study: Study) -> Section:
    """Make the section of checks."""
    making_checks = (ties, exactness, filtering, unseen, leaks, relations, versions, alike, unaltered)
    checks = [check(study) for check in making_checks]
    checks += [lists(study)] if any(LISTED in run.table.columns for run in study.runs) else []
    states = Counter(check.state for check in checks)
    if count := states["warning"]:
        title = f"{count} of {len(checks)} checks {'warns' if count == 1 else 'warn'}"
    elif states["unknown"]:
        title = f"{states['good']} of {len(checks)} checks passed; for the others, information is missing"
    else:
        title = f"All {len(checks)} checks passed"
    return Section("trust", "Checks", title, {"checks": checks})


def ties(study: Study) -> Check:
    """How far the tie policy alone moves the MRR of each run; it warns where the notes on ties would."""
    warnings = []
    for model in study.models:
        for run in model.runs:
            tied = summarize(run.table, "count").groups[0].ties
            if tied is not None and tied.serious:
                name = isolated(f"{model.name} {run.name}" if model.seeds else model.name)
                ends = f"{tied.pessimistic_mrr:.3f} with pessimistic, {tied.optimistic_mrr:.3f} with optimistic ties"
                warnings.append(f"{name}: {tied.tied:,} of {tied.ranks:,} ranks tie. The MRR is {ends}.")
    policy = tie_policy(study.ties).name
    other = [model for model in study.models if model.ties != policy and model.table.column("tied").any()]
    rest = f"all numbers on this page have {policy} ties."
    warnings += notes_on_ties(study.models, study.ties)
    warnings += [f"The run of {isolated(model.name)} has {model.ties} ties; {rest}" for model in other]
    unknown = any(model.table.protocol == UNKNOWN and not model.table.column("tied").any() for model in study.models)
    return Check("Ties", " ".join(warnings), unknown=unknown and not warnings)


def exactness(study: Study) -> Check:
    """Whether the numbers are of all test triples, ranked among all candidates, or of a sample."""
    estimated = [f"{isolated(run.name)} is {sample}" for run in study.runs if (sample := run.table.sampling)]
    named = sorted({run.table.candidates for run in study.runs})
    few = [name for name in named if not name.startswith("all ") and name != UNKNOWN]
    of_sample = f"The numbers are estimates from a sample of the test triples: {'; '.join(estimated)}."
    among_few = f"The candidates are {'; '.join(few)}, not all entities."
    warnings = [of_sample] if estimated else []
    warnings += [f"{among_few} With all entities, the metrics would be lower."] if few else []
    partly = {run.table.provenance.all_candidates for run in study.runs if run.table.competing or run.table.unscored}
    warnings += [f"The candidates are {'; '.join(sorted(partly))}."] if partly else []
    name = "Estimated" if estimated else "Candidates" if few or partly else "Exact"
    return Check(name, " ".join(warnings), unknown=UNKNOWN in named and not warnings)


def filtering(study: Study) -> Check:
    """Whether known answers were filtered."""
    filters = {model.table.filter for model in study.models}
    if None in filters:
        return Check("Filter", unknown=True)
    table, data = study.models[0].table, study.dataset
    timely = table.times == "time-aware" and data is not None and is_later(data.split(table.split), data.train)
    # Train has no facts at the times of the split, if these are later: a time-aware filter does not need it.
    needed = {*(parts_of(table.split) or [table.split]), *([] if timely else ["train"])}
    missing = sorted({split for splits in filters for split in needed - {*(splits or ())}})
    if missing and any(splits and not {*SPLITS}.issuperset(splits) for splits in filters):
        return Check("Filter", unknown=True)  # the ranks do not say in which split some triples are
    warning = f"Known answers from {' and '.join(missing)} were not filtered out, which lowers the metrics."
    return Check("Filter", warning if missing else "")


def unseen(study: Study) -> Check:
    """Whether triples were left out because a model does not know their entities."""
    warnings, known = [], False
    for model in study.runs:
        triples = model.manifest.get("dataset", {}).get("triples", {}).get(model.table.split)
        known = known or triples is not None
        if triples and model.table.num_triples < triples and model.table.sampling is None:
            what = f"{triples - model.table.num_triples:,} of {triples:,} {model.table.split} triples were left out."
            warnings.append(f"{isolated(model.name)}: {what}")
    return Check("Unseen entities", " ".join(warnings), unknown=not known)


def leaks(study: Study) -> Check:
    """How many of the ranked triples leak from train."""
    split = study.models[0].table.split
    if study.dataset is None or split not in ("valid", "test"):
        return Check("Leaks", unknown=True)
    ranked, flags = np.unique(study.models[0].table.column("triple")), cached_audit(study.dataset).flags(split)
    if "leaked" not in flags:
        return Check("Leaks", unknown=True)
    leaked, *of_ways = (int(flags[kind][ranked].sum()) for kind in ("leaked", *WAYS))
    ways = "; ".join(f"{count:,} {words}" for count, words in zip(of_ways, WAYS.values(), strict=True) if count)
    warning = (
        f"{leaked:,} of {len(ranked):,} {split} triples ({percent(leaked / len(ranked))}) leak from train: {ways}. A "
        "triple may leak in several ways. Leaks may raise the metrics; the slice leak shows by how much."
    )
    return Check("Leaks", warning if leaked else "")


WAYS = {
    "repeated": "repeated",
    "reverse": "with head and tail swapped, under a reverse or symmetric relation",
    "duplicate": "under a relation with nearly the same pairs",
    "inverse": "with head and tail swapped, under an inverse relation",
}

cached_audit = cache(audit)


def lists(study: Study) -> Check:
    """How many answers the lists of predictions name; whether lists know the split, or name no entity or one twice."""
    runs = [run for run in study.runs if LISTED in run.table.columns]
    shares = ", ".join(dict.fromkeys(percent(run.table.column(LISTED).mean()) for run in runs))
    noted = [(it.name, [note for note in it.table.notes if Note.of(note).kind == "faulty-lists"]) for it in runs]
    told = [
        f"{isolated(name)}: {'; '.join(re.split('[:;]', it)[0] for it in notes)}." for name, notes in noted if notes
    ]
    return Check(f"Lists name {shares} of the answers", " ".join(told))


def relations(study: Study) -> Check:
    """Whether there are enough relations for intervals over them."""
    count = len(np.unique(study.models[0].table.column("relation")))
    few = f"{counted(count, 'relation')}: too few for intervals over relations (at least {FEWEST_UNITS})."
    return Check("Number of relations", few if count < FEWEST_UNITS else "")


def versions(study: Study) -> Check:
    """Whether the runs are of one dataset and one version of kgeval."""
    compared = {
        "datasets (SHA-256)": {
            run.manifest.get("dataset", {}).get("sha256") for run in study.runs if not run.table.fingerprint
        },
        "versions of kgeval": {run.manifest.get("versions", {}).get("kgeval") for run in study.runs},
    }
    warnings = []
    for differing, values in compared.items():
        if len(known := sorted(str(value)[:12] for value in values if value)) > 1:
            warnings.append(f"The runs have different {differing}: {', '.join(known)}.")
    unknown = not any(run.manifest for run in study.runs)
    return Check("Versions", " ".join(warnings), unknown=unknown and not warnings)


def alike(study: Study) -> Check:
    """Which models have ranks that cannot, or perhaps cannot, be compared."""
    return Check("Comparable", " ".join(f"{remark[:1].upper()}{remark[1:]}" for remark in study.grid.remarks))


def unaltered(study: Study) -> Check:
    """What has changed in the files of the runs since they were written."""
    changed = " ".join(note for run in study.runs for note in run.remarks)
    return Check("Files", changed, unknown=not any(run.manifest for run in study.runs))


SCREENS = ("bfloat16", "float32", "int8")
"""the kernels that first discard candidates in low precision, then score the others exactly; older runs have int8"""

CITATION = "@software{kgeval, author = {The kgeval authors}, title = {kgeval}, version = {%s}, license = {MIT}}"


def making(study: Study) -> Section:
    """Make the section of how each run was made."""
    named = [model.table for model in study.models if model.table.protocol != UNKNOWN]
    protocol = protocol_of(named[0]) if named else None
    rules = f"Protocol {protocol.name}: {protocol.summary}." if protocol else "The protocol of these ranks is unknown."
    content = {
        "protocol": rules,
        "ties": str(getattr(study.ties, "name", study.ties)),
        "models": [_model_in_words(model) for model in study.models],
        "citation": CITATION % version("kgeval"),
    }
    return Section("made", "How it was made", "How the results were made", content)


def _model_in_words(model: EvaluatedModel) -> dict[str, Any]:
    import yaml

    blocks = {
        name: model.manifest.get(name) or {} for name in ("dataset", "model", "ranking", "seeds", "seconds", "versions")
    }
    about, kernel = blocks["model"], blocks["ranking"].get("kernel")
    live = [f"{name.replace('_', ' ')} {value}" for name, value in about.items() if name != "live"]
    seeds = ", ".join(isolated(run.name) for run in model.seeds)
    seeds_run = f"{isolated(model.runs[model.middle].name)}, the run with the middle MRR {_place(model)}".strip()
    screened = f"; a first pass in {kernel} only discards candidates that cannot change a rank"
    counting = f"exact, from scores in float64{screened if kernel in SCREENS else f' (kernel {kernel})'}"
    facts = {
        "Evaluated": model.table.provenance,
        "Seeds": seeds and f"{seeds}; the rows below describe {seeds_run}",
        "Formula": about.get("formula"),
        "Model": "; ".join([str(about["live"]), *live]) if "live" in about else "",
        "Random seeds": ", ".join(f"{what} {seed}" for what, seed in blocks["seeds"].items()),
        "Read as": "; ".join(map(str, model.table.assumptions)),
        "Graph (fingerprint)": model.table.fingerprint,
        "Dataset (SHA-256)": blocks["dataset"].get("sha256"),
        "Time in seconds": ", ".join(f"{what} {took:g}" for what, took in blocks["seconds"].items()),
        "Ranks": counting if kernel else "",
        "Versions": ", ".join(f"{name} {version}" for name, version in blocks["versions"].items()),
        "Date": model.manifest.get("time"),
    }
    shown = _relative(dict(model.config), model.folder)
    # The command that repeats the run, if ``kgeval run`` made it.
    again = ""
    if model.folder and {"dataset", "model"} <= model.config.keys() and "evaluator" not in model.config:
        place = f"{_place(model)}/{StoredRun(model.folder).config_file.name}"
        again = f"kgeval run {shlex.quote(place)} --force"
    return {
        "name": model.name,
        "facts": [(name, _without_paths(str(fact), model)) for name, fact in facts.items() if fact],
        "notes": [_without_paths(note, model) for note in (*model.remarks, *model.table.notes)],
        "config": yaml.safe_dump(shown, sort_keys=False, allow_unicode=True) if model.config else "",
        "again": again,
    }


def _place(model: EvaluatedModel) -> str:
    """The path of the run directory from the working directory; its name alone, if it is not inside that directory."""
    if model.folder is None:
        return ""
    place = os.path.relpath(model.folder)
    place = model.folder.absolute().name if place.startswith("..") else place
    return f"./{place}" if place.startswith("-") else place


def _relative(content: Any, folder: Path | None) -> Any:
    """Replace absolute paths in a configuration: pages are passed on, and do not show private folders.

    >>> _relative({"model": {"path": "/runs/ck"}, "seed": 0}, Path("/runs/a"))
    {'model': {'path': '../ck'}, 'seed': 0}
    """
    return map_texts(content, lambda text: _relative_path(text, folder) if Path(text).is_absolute() else text)


def _relative_path(path: str, folder: Path | None) -> str:
    """Write a path relative to a run directory; its last two parts alone, if both share nothing but the root."""
    if folder is None or os.path.commonpath([path, folder.absolute()]) == Path(path).anchor:
        return "/".join(["…", *Path(path).parts[1:][-2:]])
    return os.path.relpath(path, folder)


def _without_paths(text: str, model: EvaluatedModel) -> str:
    """Replace, in a text on a run, the absolute paths of its folder and of all files that it read."""
    files: list[Any] = [*model.manifest.get("sha256", {}), *([model.folder] if model.folder else [])]
    map_texts(dict(model.config), lambda path: files.append(path) if Path(path).is_absolute() else None)
    known = {str(place) for file in files for place in (Path(file).absolute(), Path(file).absolute().parent)}
    for place in sorted(known - {os.sep}, key=len, reverse=True):
        text = text.replace(place, _relative_path(place, model.folder))
    return text
