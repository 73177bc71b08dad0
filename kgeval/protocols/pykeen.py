"""PyKEEN's protocol: what its pipeline reports by default."""

from kgeval.protocols.protocol import Protocol

PYKEEN = Protocol(
    name="pykeen",
    summary="filtered by train, valid and test, as the pipeline does; realistic ranks; the metrics PyKEEN prints",
    ties="realistic",
    filter=("train", "valid", "test"),
    metrics=(
        "inverse_harmonic_mean_rank",
        "hits_at_1",
        "hits_at_3",
        "hits_at_5",
        "hits_at_10",
        "arithmetic_mean_rank",
        "adjusted_arithmetic_mean_rank",
        "adjusted_arithmetic_mean_rank_index",
        "count",
    ),
)
