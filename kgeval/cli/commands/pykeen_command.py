"""``kgeval pykeen``: PyKEEN's own command line, in which ``--evaluator kgeval`` is a choice."""

from __future__ import annotations

from kgeval.pykeen.command import command

__all__ = ["command"]
