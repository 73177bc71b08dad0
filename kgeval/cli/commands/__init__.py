"""The commands: a file for each, or for a few that belong together.

A command is a function with options above it, which are attributes of classes (:mod:`kgeval.cli.options`) or made of
settings (:mod:`kgeval.cli.setting_options`), and its helpers below. ``COMMANDS`` in :mod:`kgeval.cli` names all
commands.
"""
