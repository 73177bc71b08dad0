"""The models: whatever scores triples. Higher means more plausible, always.

A ``Scorer`` (``scorer.py``) gives scores of candidates, or vectors and a similarity. ``families`` have the formulas of
embedding models, ``adapters`` wrap functions, arrays and live models, ``checkpoints`` read files of all frameworks, and
``baselines`` count train triples. ``alignment.py`` brings a model into the ids of a dataset.

Called by ``kgeval.ranking``, which knows nothing of a model but its scores. Families, readers and baselines are
imported by nobody: ``families()``, ``checkpoints.readers.formats()`` and ``Baseline`` find them by their files, so a
new one is a new class in a file of its folder.
"""
