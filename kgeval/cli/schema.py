"""``kgeval schema``: print the JSON schema of the configuration."""

from __future__ import annotations

import click


@click.command("schema")
def command() -> None:
    """Print the JSON schema of the configuration, for editors."""
    from kgeval.runs.config import RunConfig
    from kgeval.runs.directory import as_json

    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **RunConfig.model_json_schema()}
    click.echo(as_json(schema), nl=False)
