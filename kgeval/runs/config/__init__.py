"""The configuration of a run: its keys, its YAML, and all that can be checked before anything is computed.

``load.py`` makes a ``RunConfig`` (``run_config.py``) from a file (``yaml_document.py``), and several from a file with
several datasets or seeds (``grid.py``). ``models.py`` has the keys of models, ``metric_request.py`` those of metrics.
Called by ``kgeval.runs`` and the command line.
"""
