"""Sun et al. (2020), A Re-evaluation of Knowledge Graph Completion Methods: RANDOM, any place among the ties."""

from kgeval.protocols.protocol import Protocol

RANDOM = Protocol(
    name="sun-random",
    summary="filtered by train, valid and test; ties are broken at random, keyed by seed and triple (Sun et al., 2020)",
    ties="random",
    metrics=("mrr", "mr", "hits@1", "hits@3", "hits@10", "count"),
)
