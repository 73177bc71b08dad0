"""Ranking: from scores to three integers of every test triple and side, how many candidates score above, tie, and are.

``evaluate`` ranks a model by the rules of a ``protocols`` member; ``corruption`` chooses the candidates, ``engine`` and
``kernels`` compare scores, ``rank_table`` keeps the integers.
``predictions`` are the best candidates instead, ``tasks`` the scores of labelled triples; ``recorder``, ``count`` and
``import_ranks`` take what other programs computed.

Called by ``kgeval.analysis``, ``kgeval.runs`` and the user. Protocols and corruptions are imported by nobody:
``protocols.protocol.protocols()`` and ``corruption.generator.generators()`` find them by their files.
"""
