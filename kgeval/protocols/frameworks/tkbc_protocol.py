"""facebookresearch/tkbc, for temporal graphs: kbc's rules, with the known answers of the same time."""

from dataclasses import replace

from kgeval.protocols.frameworks.kbc_protocol import KBC

TKBC = replace(
    KBC,
    name="tkbc",
    summary="of temporal graphs: as kbc, filtered at the same time; pessimistic ranks, the mean of the sides' means",
    tie_note="tkbc counts every tie against the answer",
)
