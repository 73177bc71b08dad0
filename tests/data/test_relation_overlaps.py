"""Overlaps of relations, held against sets of pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgeval.data.relation_overlaps import PairedFacts
from kgeval.data.triples import Triples

ENTITIES, RELATIONS = 4, 4

triples = st.lists(st.tuples(*(st.integers(0, 3),) * 3), max_size=30)


def by_definition(rows, *, turned):
    """Every two relations that have a pair in common, with how many."""
    pairs = {r: {(h, t) for h, q, t in rows if q == r} for r in range(RELATIONS)}
    other = {r: {(t, h) for h, t in pairs[r]} if turned else pairs[r] for r in pairs}
    common = {(r, q): len(pairs[r] & other[q]) for r in pairs for q in pairs if turned or r != q}
    return {key: count for key, count in common.items() if count}, {r: len(pairs[r]) for r in pairs}


def as_dictionary(found):
    return {(int(r), int(q)): int(count) for r, q, count in zip(found.first, found.second, found.shared, strict=True)}


@given(triples, triples, st.booleans(), st.sampled_from([1, 7, 2**24]), st.sampled_from([-1, 2**24]))
@example([(0, 0, 0), (0, 1, 0)], [(0, 0, 0)], True, 2**24, -1)
@example([], [], False, 2**24, -1)
@example([], [], False, 2**24, 2**24)
def test_overlaps_are_those_of_sets(rows, more, turned, at_once, dense):
    facts = PairedFacts.of([Triples.of(rows), Triples.of(more)], ENTITIES, RELATIONS)
    common, sizes = by_definition({*rows, *more}, turned=turned)
    facts = replace(facts, at_once=at_once, dense=dense)
    found = facts.turned(least=0) if turned else facts.shared(least=0)
    assert as_dictionary(found) == common
    assert list(as_dictionary(found)) == sorted(common)
    assert found.sizes.tolist() == [*sizes.values()]
    for share in (0.25, 0.5, 2 / 3, 0.8, 1):
        both = {key for key, count in common.items() if all(count / sizes[r] >= share for r in key)}
        either = {key for key, count in common.items() if any(count / sizes[r] >= share for r in key)}
        assert {*as_dictionary(found.of_both(share))} == both
        least = facts.turned(least=share) if turned else facts.shared(least=share)
        assert {*as_dictionary(least)} == either
    assert [found.partners(np.array([r])).row(0).tolist() for r in range(RELATIONS)] == [
        [q for q in range(RELATIONS) if (r, q) in common] for r in range(RELATIONS)
    ]


@given(triples, triples)
def test_facts_hold_what_they_were_made_of(rows, sought):
    facts = PairedFacts.of([Triples.of(rows)], ENTITIES, RELATIONS)
    assert facts.holds(Triples.of(sought)).tolist() == [row in rows for row in sought]


@given(triples, triples, st.booleans(), st.sampled_from([1, 5, 2**23]))
def test_partners_are_looked_for_under_every_relation_that_overlaps(rows, sought, turned, at_once):
    facts = PairedFacts.of([Triples.of(rows)], ENTITIES, RELATIONS)
    partners = facts.turned(least=0.3)
    found = replace(facts, at_once=at_once).partnered(Triples.of(sought), partners, turned=turned)
    overlaps = {*as_dictionary(partners)}
    assert found.tolist() == [
        any((r, q) in overlaps and ((t, q, h) if turned else (h, q, t)) in rows for q in range(RELATIONS))
        for h, r, t in sought
    ]


@pytest.mark.parametrize(("count", "found"), [(4, 12), (2000, 2000 * 1999), (2100, None), (33_000, None)])
def test_what_is_too_much_is_none(count, found):
    """More than 2²² pairs of relations to list; more than 2³⁰ pairs of facts to compare."""
    assert PairedFacts.of([], 2**31, 2) is None
    shared = PairedFacts.of([Triples.of([(0, r, 1) for r in range(count)])], ENTITIES, count).shared(least=1)
    assert shared is None if found is None else len(shared.first) == found


@given(triples)
def test_what_is_turned_twice_is_as_it_was(rows):
    """Swapping every head and tail swaps nothing in the counts; the pair (r, q) counts as (q, r)."""
    facts = PairedFacts.of([Triples.of(rows)], ENTITIES, RELATIONS)
    swapped = PairedFacts.of([Triples.of([(t, r, h) for h, r, t in rows])], ENTITIES, RELATIONS)
    turned = as_dictionary(facts.turned(least=0))
    assert turned == as_dictionary(swapped.turned(least=0)) == {(q, r): count for (r, q), count in turned.items()}
    assert as_dictionary(facts.shared(least=0)) == as_dictionary(swapped.shared(least=0))
