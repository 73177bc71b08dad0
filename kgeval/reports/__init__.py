"""The reports: what runs say, as one page and as pictures.

``evaluated_models.py`` reads the runs of a page or a picture; ``study.py`` computes the numbers that its parts share.
``page.py`` builds the page of ``kgeval.report`` from the sections in ``standings.py``, ``trust.py``, ``origins.py`` and
``suite.py``; ``plots.py`` makes single pictures; ``methods.py`` writes a paragraph for a paper. ``pictures.py`` draws
the charts of pages and pictures, in the look of ``theme.py``. Metrics and tests come from ``kgeval.metrics`` and
``kgeval.analysis``.

Called by ``kgeval.runs``, the command line and the user. A new section of the page is a function from ``Study`` to
``Section``, and a template.
"""
