"""How was it made? The protocol in words, configuration, fingerprints, seconds, notes, and how to do it again."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from kgeval.protocols.protocol import protocol_of
from kgeval.provenance import UNKNOWN
from kgeval.reports.evaluated_model import EvaluatedModel
from kgeval.reports.isolation import isolated
from kgeval.reports.sections.section import Section
from kgeval.reports.study import Study
from kgeval.run_directory.contents import CONFIG

CITATION = "@software{kgeval, author = {The kgeval authors}, title = {kgeval}, version = {%s}, license = {MIT}}"


def making(study: Study) -> Section:
    """Tell of each model what its run wrote down."""
    table = study.models[0].table
    named = [model.table for model in study.models if model.table.protocol != UNKNOWN]
    protocol = protocol_of(named[0]) if named else None
    content = {
        "provenance": str(table.provenance),
        "protocol": f"Protocol {protocol.name}: {protocol.summary}."
        if protocol
        else "The ranks do not tell their protocol.",
        "ties": str(getattr(study.ties, "name", study.ties)),
        "models": [_described(model) for model in study.models],
        "citation": CITATION % version("kgeval"),
    }
    return Section("made", "How it was made", "How it was made, and how to make it again", content)


def _described(model: EvaluatedModel) -> dict[str, Any]:
    """Lay out what a run wrote down; a table alone has its provenance and notes."""
    import yaml

    facts = [("Ranks of", str(model.table.provenance))]
    if model.seeds:
        seeds = ", ".join(isolated(run.name) for run in model.seeds)
        facts.append(("Seeds", f"{seeds}; all else here is of {model.folder or 'the run in the middle'}"))
    about, dataset = model.manifest.get("model", {}), model.manifest.get("dataset", {})
    if "formula" in about:
        facts.append(("Formula", str(about["formula"])))
    if "live" in about:
        parts = (f"{name.replace('_', ' ')} {value}" for name, value in about.items() if name != "live")
        facts.append(("Model", "; ".join([str(about["live"]), *parts])))
    if drawn := model.manifest.get("seeds"):
        facts.append(("Random seeds", ", ".join(f"{what} {seed}" for what, seed in drawn.items())))
    if "sha256" in dataset:
        facts.append(("Dataset, SHA-256", str(dataset["sha256"])))
    if seconds := model.manifest.get("seconds"):
        facts.append(("Seconds", ", ".join(f"{what} {took:g}" for what, took in seconds.items())))
    if kernel := model.manifest.get("ranking", {}).get("kernel"):
        facts.append(("Kernel", str(kernel)))
    if versions := model.manifest.get("versions"):
        facts.append(("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())))
    if time := model.manifest.get("time"):
        facts.append(("Evaluated", str(time)))
    config = yaml.safe_dump(dict(model.config), sort_keys=False, allow_unicode=True) if model.config else ""
    return {
        "name": model.name,
        "facts": facts,
        "notes": [*model.remarks, *model.table.notes],
        "config": config,
        "again": f"kgeval run {model.folder / CONFIG} --force" if "model" in model.config and model.folder else "",
    }
