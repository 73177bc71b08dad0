"""A protocol: raw, and every tie counts against the answer."""

from kgeval.ranking.protocols.protocol import NOTHING, Protocol

CAUTIOUS = Protocol(
    name="cautious",
    summary="pessimistic ranks, no filter",
    ties="pessimistic",
    filter=NOTHING,
    metrics=("mr", "hits@3"),
)
