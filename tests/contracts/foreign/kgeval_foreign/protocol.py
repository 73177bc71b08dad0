"""A protocol: raw, and every tie counts against the answer."""

from kgeval.ranking.protocols.framework_metric import NOTHING
from kgeval.ranking.protocols.protocol import Protocol

CAUTIOUS = Protocol(
    name="cautious",
    summary="pessimistic ranks, no filter",
    ties="pessimistic",
    filter=NOTHING,
    metrics=("mr", "hits@3"),
)
