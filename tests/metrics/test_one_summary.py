"""One ``summarize`` and one ``Summary``: ranks, labels and confidences are read, printed and looked up alike."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from kgeval import CallableScorer, Dataset, ScoredLabels, Summary, Triples, Vocabulary, compare, evaluate, summarize
from kgeval.base.errors import MetricError
from kgeval.metrics.labels.fitted import ConfidenceMapping
from tests.conftest import unwrapped
from tests.metrics.example_ranks import HASHED

TABLE = HASHED
LABELS = {
    split: ScoredLabels([0.1, 0.4, 0.5, 0.9], [0, 1, 0, 1], ["<likes>", "<likes>", "a & b", "a & b"])
    for split in ("valid", "test")
}


@pytest.mark.parametrize("table", [TABLE, LABELS], ids=["ranks", "labels"])
def test_every_table_has_a_default_and_one_kind_of_result(table):
    summary = summarize(table)
    assert isinstance(summary, Summary)
    assert summary.to_dict()["provenance"] == summary.provenance.to_dict()
    assert all(note in unwrapped(summary) for note in summary.notes)
    for name, value in summary.groups[0].values.items():
        if value is not None:
            assert summary[str(name)] == summary.of("model", str(name)) == value
    with pytest.raises(MetricError, match="the summary has no predictor 'baseline'"):
        summary.of("baseline", str(name))


def test_labels_are_grouped_by_relation():
    summary = summarize(LABELS, ["roc_auc", "relation.roc_auc"], by="relation")
    assert [group.key for group in summary.groups] == [{}, {"relation": "<likes>"}, {"relation": "a & b"}]
    assert summary.of("model", "roc_auc", relation="a & b") == 1
    assert summary["roc_auc"] == 0.75  # three of the four (true, false) pairs are in order
    assert summary.flat() == {
        "roc_auc": 0.75, "relation.roc_auc": 1, "relation=<likes>/roc_auc": 1, "relation=a & b/roc_auc": 1,
    }  # fmt: skip
    assert dict(summary) == {"roc_auc": 0.75, "relation.roc_auc": 1}
    frame = summary.to_frame()
    assert frame["predictor"].tolist() == ["model"] * 3
    assert frame["roc_auc"].tolist() == [0.75, 1, 1]
    with pytest.raises(MetricError, match=r"the summary has no group {'relation': 'b'}"):
        summary.of("model", "roc_auc", relation="b")
    with pytest.raises(MetricError, match="grouped by 'relation' only, found 'side'"):
        summarize(LABELS, by="side")


def test_a_summary_of_groups_alone_is_no_mapping_of_all_rows():
    summary = summarize(TABLE, ["mrr"], by="side")
    for use in (dict, list, len):
        with pytest.raises(MetricError, match=r"grouped by side: use its \.flat\(\), \.groups or"):
            use(summary)
    assert summary.flat()["side=head/mrr"] == summary.of("model", "mrr", side="head")
    assert summary  # there are groups


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (TABLE, {"calibration": "isotonic"}, "calibration: not an option for ranks, whose options are ties"),
        (TABLE, {"high_confidence": 0.5}, "high_confidence: not an option for ranks"),
        (TABLE, {"mapping": ConfidenceMapping(kind="logistic")}, "mapping: not an option for ranks"),
        (LABELS, {"ties": "random"}, "ties: not an option for classification, whose options are calibration"),
        (LABELS, {"chance": "without-answer"}, "chance: not an option for classification"),
        (LABELS, {"popularity": np.ones(2)}, "popularity: not an option for classification"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(table, options, message):
    with pytest.raises(MetricError, match=message):
        summarize(table, **options)


def cells(html):
    """Every cell of the first table, row by row, as an XML parser reads them."""
    return [[cell.text or "" for cell in row] for row in ET.fromstring(html).find(".//table").iter("tr")]


@pytest.mark.parametrize("by", [(), "relation"])
@pytest.mark.parametrize("table", [TABLE, LABELS], ids=["ranks", "labels"])
def test_notebooks_show_what_terminals_show(table, by):
    summary = summarize(table, by=by)
    columns, rows = summary.table()
    assert cells(summary._repr_html_()) == [columns, *rows]
    lines = str(summary).splitlines()
    first = lines.index("") + 2
    printed = [line.split()[-1] for line in lines[first : first + len(rows)]]
    assert printed == [row[-1].split()[-1] if row[-1] else row[0].split()[-1] for row in rows]


def test_labels_of_a_graph_are_escaped():
    entities, relations = Vocabulary(["<script>", "&", "c"]), Vocabulary(["<b>"], "relation")
    data = Dataset.build("<i>", {"test": Triples.of([(0, 0, 1)])}, entities=entities, relations=relations)
    table = evaluate(CallableScorer(lambda h, r, t: h + t, 3, 1), data)
    summary = summarize(table, ["mrr"], by=["head", "relation"])
    html = summary._repr_html_()
    assert cells(html)[1][:2] == ["<script>", "<b>"]
    assert "<script>" not in html
    compared = compare({"<model>": table, "other": table}, ["mrr"])
    assert cells(compared._repr_html_())[1][0] == "<model>"
