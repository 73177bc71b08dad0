"""Names and types that files and programs of users rest on."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from click.testing import CliRunner

from kgeval import answers, classify, evaluate, predict
from tests.contracts.frozen.exact_models import ExactModel, graph


def tables() -> dict[str, object]:
    """List the columns, types and metadata keys of each table's Parquet file."""
    dataset = graph("small")
    model = ExactModel(dataset, "dot", biased=True)
    made = {
        "ranks": evaluate(model, dataset),
        "labels": classify(model, dataset),
        "predictions": predict(model, dataset, k=1),
        "answer sets": answers(model, dataset, list_sets=True).sets,
    }
    return {name: columns_of(table) for name, table in made.items()}


def columns_of(table) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        table.to_parquet(path)
        schema = pq.read_schema(path)
    columns = {field.name: str(field.type) for field in schema}
    return {"columns": columns, "metadata": sorted(key.decode() for key in schema.metadata or {})}


def public_names() -> dict[str, list[str]]:
    modules = ("kgeval", *(f"kgeval.{name}" for name in ("analysis", "corruption", "metrics", "pykeen", "tasks")))
    return {name: sorted(importlib.import_module(name).__all__) for name in modules}


def schema() -> dict[str, object]:
    """Give the JSON schema of a configuration, line by line."""
    from kgeval.cli import main

    return {"kgeval schema": CliRunner().invoke(main, ["schema"]).output.splitlines()}


CONTRACTS = {"tables": tables, "names": public_names, "schema": schema}
