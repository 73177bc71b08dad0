"""PyTorch-BigGraph: all ties count; the sums of both sides are averaged."""

from kgeval.protocols.means import sum32
from kgeval.protocols.protocol import Printed, Protocol

PBG = Protocol(
    name="pbg",
    summary="pessimistic ranks; the mean of the sides' means, of float32 sums; no hits at 3, a random AUC",
    ties="pessimistic",
    repeats="each",
    sides="apart",
    mean=sum32,
    printed=(
        Printed("pos_rank", "mr"),
        Printed("mrr", "mrr"),
        *(Printed(f"r{k}", f"hits@{k}") for k in (1, 10, 50)),
    ),
    text="{:.6g}".format,
    on_ties="PyTorch-BigGraph counts every tie against the answer",
)
