"""The reports: what runs say, as one page and as pictures.

``evaluated_models.py`` reads the runs of a page or a picture, ``study.py`` has their numbers. ``page.py`` makes the
page of ``kgeval.report`` of the sections in ``standings.py``, ``trust.py`` and ``origins.py``; ``plots.py`` makes
single pictures; both are drawn by ``pictures.py`` in the look of ``theme.py``. Numbers are those of ``kgeval.metrics``
and ``kgeval.analysis``.

Called by ``kgeval.runs``, the command line and the user. A new section of the page is a function from ``Study`` to
``Section`` and a template.
"""
