"""The base: what every room needs and no graph or model is part of.

``errors`` has the exceptions, ``registries`` finds the members of every registry, ``settings`` makes configurations of
pydantic, ``tables`` lays numbers out as text, HTML, Markdown, LaTeX and CSV; ``files``, ``containers`` and ``pickled``
read untrusted files within bounds, ``storage`` and ``parquet_tables`` write files whole or not at all, ``threads`` and
``compiling`` run loops, ``progress`` shows them, ``contexts`` hold values for a block. ``notes`` are sentences on
results that know their kind.

Called by every room; imports none. What knows of a triple, a score or a metric belongs in another room.
"""
