"""The past of a query: which facts of a history lie before its time, and with what answers.

Baselines of temporal graphs score by it (:class:`PastAnswers`), and slices divide rows by it (:func:`last_times`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.data import History
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Rows, starts_of_runs
from kgeval.data.triples import Triples


def facts_of(dataset: Dataset, history: History) -> Triples:
    """Return the distinct facts of a history at all times; for a query, a caller uses those before its time alone."""
    names = [*dataset.splits] if history == "observed" else history.split("+")
    return Triples.concatenated([dataset.split(name) for name in names]).distinct().triples


@dataclass(frozen=True, eq=False)
class PastAnswers:
    """The facts of a history, sorted by query, answer and time; a pair is a query and one of its answers.

    >>> past = PastAnswers.of(keys=np.array([4, 4]), answers=np.array([7, 9]), times=np.array([0, 2]), span=3)
    >>> [past.before(np.array([4]), np.array([time]))[0].ids.tolist() for time in range(3)]
    [[], [7], [7]]
    """

    keys: IntArray
    """the query of each distinct pair, as one number; int64[pair], ascending"""
    answers: IntArray
    """the answer of each pair; int64[pair], ascending within a query"""
    starts: IntArray
    """where the facts of each pair begin in ``times``; int64[pair + 1]"""
    times: IntArray
    """the time of each fact; int64[fact], ascending within a pair"""
    moments: IntArray
    """the pair and the time of each fact as one number, pair × span + time; int64[fact], ascending"""
    span: int
    """a number larger than any time"""

    @classmethod
    def of(cls, keys: IntArray, answers: IntArray, times: IntArray, span: int) -> PastAnswers:
        """Sort facts that are given as numbers of queries, answers and times; int64[fact] each."""
        order = np.lexsort((times, answers, keys))
        keys, answers, times = keys[order], answers[order], times[order]
        first = starts_of_runs(keys, answers)
        starts = np.append(first, len(order))
        moments = np.repeat(np.arange(len(first)), np.diff(starts)) * span + times
        return cls(keys[first], answers[first], starts, times, moments, span)

    def before(self, keys: IntArray, times: IntArray) -> tuple[Rows, IntArray]:
        """List the answers to each query before its time, and for each answer its last fact; int64[listed answer]."""
        starts, stops = np.searchsorted(self.keys, keys, "left"), np.searchsorted(self.keys, keys, "right")
        pairs = Rows.spans(starts, stops, np.arange(len(self.keys)))
        last = np.searchsorted(self.moments, pairs.ids * self.span + times[pairs.owners]) - 1
        past = last >= self.starts[pairs.ids]
        pairs = pairs.where(past)
        return Rows(pairs.offsets, self.answers[pairs.ids]), last[past]

    @cached_property
    def counts(self) -> IntArray:
        """The number of facts of the same pair up to and with each fact; int64[fact]."""
        return 1 + np.arange(len(self.times)) - np.repeat(self.starts[:-1], np.diff(self.starts))


def last_times(keys: IntArray, times: IntArray, past_keys: IntArray, past_times: IntArray) -> IntArray:
    """Find the last past time of each key before its time, -1 where there is none; int64[key].

    >>> last_times(np.array([5, 5, 6]), np.array([2, 0, 9]), np.array([5, 5]), np.array([0, 1]))
    array([ 1, -1, -1])
    """
    span = 1 + max(int(column.max(initial=0)) for column in (times, past_times))
    past = PastAnswers.of(past_keys, np.zeros_like(past_keys), past_times, span)
    there, last = past.before(keys, times)
    found = np.full(len(keys), -1)
    found[there.owners] = past.times[last]
    return found
