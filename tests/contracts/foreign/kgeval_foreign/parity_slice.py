"""A slice: whether the answer has an odd id or an even one."""

from kgeval.analysis.slices.slice import Categories, Slice

ANSWER_PARITY = Slice(
    name="answer-parity",
    title="whether the answer has an odd id",
    rule="its id modulo 2",
    source="kgeval-foreign",
    assign=lambda rows, dataset: Categories(rows.answers % 2, ("even", "odd")),
    needs=(),
)
