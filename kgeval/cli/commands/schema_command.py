"""``kgeval schema``: print the JSON schema of the configuration."""

from __future__ import annotations

import click

from kgeval.cli.shared_options import JSON


@click.command("schema")
@JSON
def command(as_json: bool) -> None:  # noqa: ARG001  # a schema is JSON in any case
    """Print the JSON schema of the configuration, for editors."""
    from kgeval.cli.streams import say_json
    from kgeval.runs.config.run_config import RunConfig

    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **RunConfig.model_json_schema()}
    say_json(schema)
