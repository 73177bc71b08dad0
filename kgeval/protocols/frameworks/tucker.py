"""The TuckER code: an answer's place in a sort of float32 sigmoids, which saturate; both directions pooled."""

from kgeval.protocols.protocol import Printed, Protocol
from kgeval.protocols.zeroed import Zeroed
from kgeval.ranking.levels import sigmoid32, under

TUCKER = Protocol(
    name="tucker",
    summary="the place in a sort of float32 sigmoids (ties: their mean); both directions pooled",
    level=under(sigmoid32),
    faults=(Zeroed(),),
    repeats="each",
    printed=(
        *(Printed(f"Hits @{k}", f"hits@{k}") for k in (10, 3, 1)),
        Printed("Mean rank", "mr"),
        Printed("Mean reciprocal rank", "mrr"),
    ),
    on_ties=(
        "Their sigmoids are the same in float32 (those of known answers are set to 0.0), and the code leaves them to "
        "its sort; here they take their mean"
    ),
)
