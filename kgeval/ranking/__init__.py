"""Ranking: from scores to three counts for each test triple and side: candidates above the answer, tied, and in all.

``evaluate`` ranks a model by the rules of a protocol (folder ``protocols``). ``corruption`` chooses the candidates,
``engine`` and ``kernels`` compute and compare scores, ``rank_table`` keeps the counts. ``predictions`` finds the best
candidates of queries instead, ``tasks`` scores labelled triples. ``recorder``, ``count`` and ``import_ranks`` take
scores or ranks that other programs computed.

Called by ``kgeval.analysis``, ``kgeval.runs`` and the user. No module needs to import a new protocol or corruption:
``protocols.protocol.protocols()`` and ``corruption.generator.generators()`` find them by their files.
"""
