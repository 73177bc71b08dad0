"""The audit of a dataset, held against sets of pairs, against a case worked by hand, and against published facts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kgeval
from kgeval import Dataset, Vocabulary
from kgeval.analysis import audit
from kgeval.analysis.audits.searches import KINDS, RelatedRelations, flags_of, leaks_of
from kgeval.base.errors import DatasetError, InputError
from tests.analysis.ranked_rows import graph_of
from tests.analysis.relations_by_sets import flagged, related, sets_of, turned
from tests.conftest import unwrapped

SPLITS = ("train", "valid", "test")
ENTITIES, RELATIONS = 5, 4


triples = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=25
)
splits = st.tuples(triples, triples, triples)
thresholds = st.sampled_from([0.25, 0.5, 2 / 3, 0.8, 1])


@given(splits, thresholds)
@example(([(0, 0, 1), (0, 0, 2), (1, 1, 0), (3, 2, 3)], [(2, 1, 0)], [(2, 1, 0), (3, 2, 3), (4, 3, 4)]), 0.8)
@example(([], [], [(0, 0, 1)]), 0.8)
@example(([(0, 0, 1)], [], []), 0.8)
def test_related_relations_and_flagged_triples_are_those_of_the_definitions(rows, threshold):
    data = graph_of(*rows, relations=RELATIONS)
    found = audit(data, threshold=threshold)
    for kind, pairs in related(data, threshold).items():
        listed = [(one.subject, one.partner or one.subject) for one in found.of_kind(kind)]
        assert sorted(tuple(map(data.relations.id, labels)) for labels in listed) == sorted(pairs), kind
        assert found.count(kind) == len(pairs)
    for split in data.splits:
        if split != "train":
            flags = {kind: values.tolist() for kind, values in found.flags(split).items()}
            assert flags == flagged(data, split, threshold)
            for kind, values in flags.items():
                assert found.count(kind, split) == sum(values)
                by_relation = Counter(data.split(split).relations[values].tolist())
                listed = [one for one in found.of_kind(kind) if one.split == split]
                assert {data.relations.id(one.subject): one.count for one in listed} == by_relation


@given(splits, thresholds)
def test_counts_and_totals_of_pairs_of_relations(rows, threshold):
    data = graph_of(*rows, relations=RELATIONS)
    _, _, pairs, trained = sets_of(data)
    for one in audit(data, threshold=threshold).findings:
        if one.kind not in related(data, threshold):
            continue
        r, q = (data.relations.id(label) for label in (one.subject, one.partner or one.subject))
        if one.kind == "near-duplicate relations":
            expected = len(pairs[r] & pairs[q]), max(len(pairs[r]), len(pairs[q]))
        elif one.kind == "inverse rules":
            expected = len(trained[r] & turned(trained[q])), min(len(trained[r]), len(trained[q]))
        elif one.kind == "Cartesian relations":
            expected = len(pairs[r]), len({h for h, _ in pairs[r]}) * len({t for _, t in pairs[r]})
        else:
            expected = len(pairs[r] & turned(pairs[q])), max(len(pairs[r]), len(pairs[q]))
        assert (one.count, one.total) == expected
        assert one.share == one.count / one.total >= threshold


@given(splits)
def test_degrees_are_those_of_counting(rows):
    data = graph_of(*rows, relations=RELATIONS)
    parts, *_ = sets_of(data)
    places = Counter(entity for part in parts.values() for h, _, t in part for entity in (h, t))
    top = sorted(places, key=lambda entity: (-places[entity], entity))[: math.ceil(0.01 * len(places))]
    every = [row for part in parts.values() for row in part]
    found = audit(data)
    assert found.count("triples at hubs") == sum(h in top or t in top for h, _, t in every)
    assert [one.subject for one in found.of_kind("triples at hubs")] == [f"e{entity}" for entity in top]
    assert found.count("entities that appear once") == sum(count == 1 for count in places.values())
    if "test" in parts:
        tested = Counter(r for _, r, _ in parts["test"])
        few = {f"r{r}": tested[r] for r in range(RELATIONS) if tested[r] < 10}
        listed = found.of_kind("relations with few test triples")
        assert {one.subject: one.count for one in listed} == few
        assert [one.count for one in listed] == sorted(few.values())
    else:
        assert found.of_kind("relations with few test triples") == ()


def test_a_tenth_test_triple_is_enough():
    rows = [(h, 0, t) for h in range(5) for t in range(2)] + [(h, 1, t) for h in range(3) for t in range(3)]
    (finding,) = audit(graph_of(test=rows, relations=2)).of_kind("relations with few test triples")
    assert (finding.subject, finding.count, finding.total) == ("r1", 9, 19)


def folded(label, *, space, case):
    """What is left of a label, by Python's own functions."""
    label = unicodedata.normalize("NFC", label)
    label = " ".join(label.split()) if space else label
    return unicodedata.normalize("NFC", label.lower()) if case else label


pieces = ["a", "A", "é", "É", "e\u0301", "E\u0301", " ", "  ", "\u00a0", "\u2003", "\t", "b", "\u00c5", "\u212b"]
labels = st.lists(st.lists(st.sampled_from(pieces), max_size=3).map("".join), unique=True, min_size=1, max_size=30)


@given(labels)
def test_label_twins_are_those_of_pythons_own_functions(texts):
    data = Dataset.build("twins", {}, entities=Vocabulary(texts), relations=Vocabulary(["r"], "relation"))
    groups = {}
    for text in texts:
        groups.setdefault(folded(text, space=True, case=True), []).append(text)
    expected = {}
    for group in groups.values():
        if len(group) > 1:
            forms, spaced = ({folded(text, space=space, case=False) for text in group} for space in (False, True))
            way = "Unicode form" if len(forms) == 1 else "white space" if len(spaced) == 1 else "case"
            expected[group[0], group[1]] = (len(group), way)
    found = audit(data)
    assert {
        (one.subject, one.partner): (one.count, one.detail) for one in found.of_kind("entity label twins")
    } == expected
    assert found.count("entity label twins") == sum(size for size, _ in expected.values())
    assert found.count("relation label twins") == 0


FAMILY = {
    "train": [
        *[("Eve", "parent_of", child) for child in ("Abel", "Cain", "Seth", "Awan")],
        *[(child, "child_of", "Eve") for child in ("Abel", "Cain", "Seth")],
        *[("Eve", "mother_of", child) for child in ("Abel", "Cain", "Seth", "Awan")],
        ("Adam", "married_to", "Eve"),
        ("Cain", "married_to", "Awan"),
    ],
    "valid": [("Eve", "married_to", "Adam")],
    "test": [
        ("Awan", "child_of", "Eve"),
        ("Awan", "married_to", "Cain"),
        ("Eve", "mother_of", "Abel"),
        ("Enoch", "child_of", "Cain"),
        ("Abel", "killed_by", "Cain"),
        ("Eve", "married_to", "Adam"),
    ],
}


@pytest.fixture
def family():
    """Of child_of, four of five pairs stand turned round in parent_of and mother_of."""
    return Dataset.from_labels(**FAMILY, name="family")


def test_a_case_worked_by_hand(family):
    found = audit(family)
    pairs = {kind: [(one.subject, one.partner, one.count, one.total) for one in found.of_kind(kind)] for kind in KINDS}
    assert pairs["near-duplicate relations"] == [("mother_of", "parent_of", 4, 4)]
    assert pairs["reverse-duplicate relations"] == [
        ("child_of", "mother_of", 4, 5),
        ("child_of", "parent_of", 4, 5),
    ]
    assert pairs["symmetric relations"] == [("married_to", None, 4, 4)]
    assert pairs["Cartesian relations"] == [("mother_of", None, 4, 4), ("parent_of", None, 4, 4)]
    # In train nothing stands both ways under married_to, and three of three pairs of child_of do.
    assert pairs["inverse rules"] == [("child_of", "mother_of", 3, 3), ("child_of", "parent_of", 3, 3)]
    flags = {kind: np.flatnonzero(flag).tolist() for kind, flag in found.flags("test").items()}
    leaks = {"repeated": [2], "reverse": [0, 1, 2, 5], "duplicate": [2], "inverse": [0, 2], "leaked": [0, 1, 2, 5]}
    assert flags == leaks | {"Cartesian": [2], "in valid too": [5], "unseen entity": [3], "unseen relation": [4]}
    (example,) = (one for one in found.of_kind("unseen entity") if one.split == "test")
    assert (example.subject, example.count, example.total) == ("child_of", 1, 2)
    assert example.detail == "(Enoch, child_of, Cain)"
    assert found.count("leaked") == found.count("leaked", "test") + found.count("leaked", "valid") == 5


def test_it_says_what_it_found(family):
    found = audit(family)
    text = str(found)
    assert re.search(r"\nleaked +4 +66\.7% +1 +100\.0%\n", text)
    assert (
        "inverse rules: In train, at least 80% of one relation's pairs are in the other, swapped (Dettmers et "
        "al., 2018). Worst: child_of and mother_of (3 of 3), child_of and parent_of (3 of 3)." in unwrapped(text)
    )
    assert "label twins:" not in text
    assert found.to_csv() == found.to_frame().to_csv(index=False)
    html = found._repr_html_()
    assert html.count("<table") == 4
    assert ">66.7%</td>" in html
    assert repr(found) == f"Audit(family: {len(found.findings)} findings at threshold 0.8)"
    named = audit(kgeval.data.human_names.with_names(family, {"married_to": "spouse"}))
    assert "Worst: spouse (married_to) (4 of 4)." in unwrapped(named)
    assert named.of_kind("symmetric relations")[0].subject == "married_to"


def test_labels_of_any_kind_are_shown_as_they_are():
    odd = ["<b>x</b>", "", "{threshold}", "a\tb", "\u202e", "Zo\u00eb", "Zoe\u0308"]
    data = Dataset.from_labels(train=[(first, "{0} %s", second) for first in odd for second in odd], entities=odd)
    found = audit(data)
    assert "'Zo\\xeb' and 'Zoe\\u0308' (Unicode form)" in unwrapped(found)
    assert "{0} %s (49 of 49)" in unwrapped(found)
    assert "<b>x" not in found._repr_html_()


def test_data_and_frame_have_every_finding(family):
    found = audit(family, threshold=0.5)
    content, frame = found.to_dict(), found.to_frame()
    assert (content["dataset"], content["threshold"], content["triples"]["test"]) == ("family", 0.5, 6)
    assert [*content["findings"]] == [*KINDS]
    assert sum(map(len, content["findings"].values())) == len(frame) == len(found.findings)
    assert [*frame.columns] == ["kind", "subject", "partner", "split", "count", "total", "share", "detail"]
    assert (frame["share"] == frame["count"] / frame["total"]).all()
    assert {"kind": "leaked", "count": 4, "total": 6, "split": "test", "share": 4 / 6} in content["counts"]
    assert content["findings"]["symmetric relations"] == [
        {"subject": "married_to", "count": 4, "total": 4, "share": 1.0}
    ]


@pytest.mark.parametrize("threshold", [0, -1, 1.01, math.nan, True, "0.8", None])
def test_a_threshold_that_is_no_share_is_refused(family, threshold):
    with pytest.raises(InputError, match=r"threshold .*: expected a share above 0 and at most 1, found"):
        audit(family, threshold=threshold)


def test_what_there_is_not_is_refused(family):
    found = audit(family)
    without_valid = audit(graph_of(train=[(0, 0, 1)], test=[(1, 0, 0)]))
    for ask, error, message in (
        (lambda: found.flags("train"), DatasetError, "Choose 'valid' or 'test'"),
        (lambda: without_valid.flags("valid"), DatasetError, "it has no valid triples"),
        (lambda: found.of_kind("leeked"), InputError, r"an audit has no kind 'leeked'\. Did you mean 'leaked'"),
        (lambda: found.count("symmetry"), InputError, "no kind"),
        (lambda: found.count("leaked", "tset"), DatasetError, r"no split and no file 'tset'\. Did you mean 'test'"),
        (lambda: found.count("symmetric relations", "test"), InputError, "split test, was not searched for 'symmetric"),
        (lambda: audit(5), DatasetError, "a folder or a PyKEEN name, not 5"),
    ):
        with pytest.raises(error, match=message):
            ask()


@pytest.mark.parametrize("rows", [{}, {"train": [(0, 0, 0)]}, {"valid": [(0, 0, 1)]}, {"test": [(0, 3, 1)]}])
def test_splits_that_are_not_there_are_no_matter(rows):
    found = audit(graph_of(**rows, relations=RELATIONS))
    assert found.to_dict()["triples"] == {split: len(part) for split, part in rows.items()}
    assert str(found)
    assert found._repr_html_()
    assert set(found.split_flags) == {*rows} - {"train"}


def test_what_is_too_much_is_said_and_never_counted_as_none():
    """33,000 relations stand between the same two entities, both ways."""
    many = [triple for row in range(33_000) for triple in (("a", f"r{row}", "b"), ("b", f"r{row}", "a"))]
    found = audit(Dataset.from_labels(**FAMILY | {"train": [*FAMILY["train"], *many]}, name="family"))
    assert found.notes == (
        "relations that are near-duplicate, or symmetric or reverse-duplicate, or partners of inverse rules were not "
        "searched for: too many facts have the same two entities.",
    )
    assert "not searched for" in str(found)
    assert found.flags("test")["repeated"].tolist() == [False, False, True, False, False, False]
    assert set(found.flags("test")) == {"repeated", "Cartesian", "in valid too", "unseen entity", "unseen relation"}
    for kind in ("leaked", "reverse", "near-duplicate relations"):
        with pytest.raises(InputError, match=f"family was not searched for '{kind}': relations that are near"):
            found.count(kind)
    assert found.count("Cartesian relations") == 2


def test_one_search_may_be_too_much_or_all():
    graph = graph_of(train=[(0, 0, 1)], test=[(1, 0, 0), (0, 0, 1)])
    one = replace(RelatedRelations.of(graph, 0.8), reverses=None)
    assert one.unknown.startswith("relations that are symmetric or reverse-duplicate were not searched for: ")
    assert set(leaks_of(one, graph.test)) == {"repeated", "duplicate", "inverse"}

    class Many(Vocabulary):
        def __len__(self):
            return 2**31

    huge = Dataset.build("huge", graph.splits, entities=Many(list(graph.entities)), relations=graph.relations)
    none = RelatedRelations.of(huge, 0.8)
    assert "too many entities and relations" in none.unknown
    assert set(flags_of(graph, "test", none, np.array([0]))) == {"unseen entity", "unseen relation"}


KINDS_COUNTED = [
    *("near-duplicate relations", "reverse-duplicate relations", "symmetric relations", "Cartesian relations"),
    *("inverse rules", "reverse", "inverse", "leaked", "Cartesian", "unseen entity", "triples at hubs"),
    *("relations with few test triples", "entities that appear once"),
]
COUNTS = {
    "umls": [0, 0, 2, 13, 5, 11, 17, 19, 157, 0, 743, 28, 0],
    "wn18rr": [0, 0, 3, 0, 3, 1052, 1052, 1052, 0, 210, 21999, 1, 5754],
    "fb15k-237": [2, 1, 24, 14, 36, 0, 0, 0, 757, 28, 113774, 55, 314],
    "codex-s": [0, 0, 3, 1, 3, 254, 254, 254, 3, 0, 10049, 22, 0],
}
"""What ``kgeval audit NAME`` prints: of all splits, and of triples, of test."""


@pytest.mark.parametrize("name", COUNTS)
def test_real_graphs(name, request):
    data = kgeval.load_dataset(name if name == "umls" else request.getfixturevalue("shared") / "data" / name)
    found = audit(data)
    of_test = {tally.kind: tally.split for tally in found.tallies if tally.split}
    assert [found.count(kind, "test" if kind in of_test else None) for kind in KINDS_COUNTED] == COUNTS[name]
    assert found.count("repeated") == found.count("in valid too") == found.count("entity label twins") == 0


def test_wn18rr_keeps_symmetric_relations_and_no_other_inverse(shared):
    """Dettmers et al. (2018) took one relation of each inverse pair out of WN18; what is its own inverse stayed."""
    found = audit(kgeval.load_dataset(shared / "data/wn18rr"))
    symmetric = ["_derivationally_related_form", "_verb_group", "_similar_to"]
    assert [one.subject for one in found.of_kind("symmetric relations")] == symmetric
    assert [(one.subject, one.partner) for one in found.of_kind("inverse rules")] == [
        (name, None) for name in symmetric
    ]


def test_fb15k_237_was_cleaned_of_test_triples_whose_pair_train_has(shared):
    """Toutanova and Chen (2015) took out of valid and test every triple whose two entities train links directly."""
    data = kgeval.load_dataset(shared / "data/fb15k-237")
    assert not any(audit(data, threshold=0.01).flags(split)["leaked"].any() for split in ("valid", "test"))
