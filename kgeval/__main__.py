"""``python -m kgeval``."""

from kgeval.cli import main

main(prog_name="kgeval")
