"""The reports: what runs say, as one page and as pictures.

``page.py`` makes the page of ``kgeval.report``, its sections from ``study.py``; ``plots.py`` has the pictures, drawn by
``pictures.py`` in the look of ``theme.py``; ``reading.py`` reads the runs of both. Numbers are those of
``kgeval.metrics`` and ``kgeval.analysis``: nothing is computed here but places in a picture.

Called by ``kgeval.runs``, the command line and the user. A new section of the page is a function in ``study.py`` and a
template.
"""
