"""The runs: experiments from configuration files.

``config`` reads YAML to a checked ``RunConfig``. ``runner.py`` evaluates each model as a job (``jobs.py``), writes a
run directory (``kgeval.stored``) for each, and continues what was interrupted (``resume.py``). A model
may be trained first (``training.py``), and its ranking divided into shards (``shards.py``) that are ranked elsewhere
(``executors.py``). What comes out is an ``Outcome`` (``outcome.py``): a table of ranks with its metrics, which may have
bounds (``metric_bounds.py``) and go to trackers (``trackers.py``). ``stored.py`` reads runs again, for other metrics;
``compared_runs.py`` reads several, to compare them; ``calibration.py`` reads one, to give predictions probabilities.

Called by the command line. A new key of a configuration is a field of a settings class in ``config``.
"""
