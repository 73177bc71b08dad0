"""The runs: experiments from configuration files.

``config`` reads YAML to a checked ``RunConfig``; ``runner.py`` evaluates each model as a job of ``jobs.py``, trains it
first where the configuration says so, divides it into the parts of ``shards.py``, continues what was interrupted, and
writes a run directory (``kgeval.ranking.run_directory``) for each. ``stored.py`` reads runs again, for other metrics.

Called by the command line. A new key of a configuration is a field of a settings class in ``config``.
"""
