"""The models: whatever scores triples. Higher means more plausible, always.

A ``Scorer`` (``scorer.py``) takes queries and returns the scores of their candidates, or vectors and a similarity.
``families`` have the formulas of embedding models, ``adapters`` wrap functions, arrays and live models, ``checkpoints``
read files of all frameworks, and ``baselines`` count train triples. ``alignment.py`` brings a model into the ids of a
dataset.

Called by ``kgeval.ranking``, which knows nothing of a model but its scores. No list has the names of all families,
readers and baselines: ``families()``, ``checkpoints.readers.formats()`` and ``Baseline`` find them in the files of
their folders, so a new one is a new class (or ``Reader``) in a file there.
"""
