"""PyKEEN's own command line, with the evaluator among its choices.

``kgeval pykeen`` is this command: what ``pykeen`` does, and ``--evaluator kgeval``.
"""

from __future__ import annotations

import click
from pykeen.cli import main

import kgeval.pykeen  # noqa: F401  # registers the evaluator before PyKEEN fixes the choices of --evaluator

pykeen_command: click.Command = main
