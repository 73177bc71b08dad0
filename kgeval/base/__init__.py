"""The base: helpers for every other room (package of kgeval), without graphs and models.

``errors`` has the exceptions, ``registries`` finds the members of every registry, ``settings`` makes configurations of
pydantic, ``tables`` lays numbers out as text, HTML, Markdown, LaTeX and CSV; ``files``, ``containers`` and ``pickled``
read untrusted files within bounds, ``storage`` and ``parquet_tables`` write files whole or not at all, ``threads`` and
``compiling`` run loops, ``progress`` shows them, ``contexts`` holds values for a ``with`` block. ``notes`` are
sentences on results that know their kind.

Every room calls it; it imports none. Code that knows triples, scores or metrics belongs in another room.
"""
