"""The TuckER code: an answer's place in a sort of float32 sigmoids, which saturate; both directions pooled."""

from kgeval.protocols.framework_metric import FrameworkMetric
from kgeval.protocols.protocol import Protocol
from kgeval.protocols.quirks.zeroed import KnownAnswersKeepZero
from kgeval.ranking.tie_rules import sigmoid32, tied_under

TUCKER = Protocol(
    name="tucker",
    summary="the place in a sort of float32 sigmoids (ties: their mean); both directions pooled",
    tie_rule=tied_under(sigmoid32),
    quirks=(KnownAnswersKeepZero(),),
    repeats="each",
    framework_metrics=(
        *(FrameworkMetric(f"Hits @{k}", f"hits@{k}") for k in (10, 3, 1)),
        FrameworkMetric("Mean rank", "mr"),
        FrameworkMetric("Mean reciprocal rank", "mrr"),
    ),
    tie_note=(
        "Their sigmoids are the same in float32 (those of known answers are set to 0.0), and the code leaves them to "
        "its sort; here they take their mean"
    ),
)
