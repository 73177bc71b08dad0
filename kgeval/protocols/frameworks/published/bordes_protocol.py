"""Bordes et al. (2013), Translating Embeddings for Modeling Multi-relational Data: its raw and filtered settings."""

from kgeval.protocols.filters import NOTHING
from kgeval.protocols.protocol import Protocol

RAW = Protocol(
    name="bordes-raw",
    summary="nothing is filtered; realistic ranks; mean rank and hits at 10 (Bordes et al., 2013)",
    filter=NOTHING,
    metrics=("mr", "hits@10", "count"),
)

FILTERED = Protocol(
    name="bordes-filtered",
    summary="filtered by train, valid and test; realistic ranks; mean rank and hits at 10 (Bordes et al., 2013)",
    metrics=("mr", "hits@10", "count"),
)
