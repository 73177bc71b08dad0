"""KB2E's ``Test_TransE``: the place in an unstable sort; mean rank and hits at 10 by side, raw and filtered."""

from kgeval.data.triples import Side
from kgeval.protocols.framework_metric import FrameworkMetric, Setting
from kgeval.protocols.protocol import Protocol

_SIDES: dict[str, Side] = {"left": "head", "right": "tail"}

_SETTINGS: tuple[Setting, ...] = ("raw", "filtered")

KB2E = Protocol(
    name="kb2e",
    summary="the place in an unstable sort (ties: their mean); mean rank and hits at 10 of each side, raw and filtered",
    repeats="each",
    metrics=("mr", "hits@10", "count"),
    framework_metrics=tuple(
        FrameworkMetric(f"{name} {short}_{setting}", metric, side, setting)
        for name, side in _SIDES.items()
        for setting in _SETTINGS
        for short, metric in (("mean_rank", "mr"), ("hits@10", "hits@10"))
    ),
    text="{:g}".format,
    tie_note="KB2E leaves their order to an unstable sort; here they take the mean of their ranks",
)
