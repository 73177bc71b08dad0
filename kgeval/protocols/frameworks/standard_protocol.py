"""kgeval's own protocol: filtered by every split, realistic ranks, both sides."""

from kgeval.protocols.protocol import Protocol

STANDARD = Protocol(
    name="standard",
    summary="filtered by train, valid and test; realistic ranks; exact ties",
    predicts_relations=True,
)
