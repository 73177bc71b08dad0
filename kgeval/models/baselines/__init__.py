"""Baselines: predictors that count train triples and learn nothing. A useful model should be better than they are.

This file has their base class, the list of all, and the baselines that score labelled triples; the other files have the
baselines that rank. Users and configurations name a baseline; ``kgeval.evaluate`` fits it to a dataset, which makes a
scorer. To add one, declare a class in a file of this folder.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from pydantic import Field, model_validator

from kgeval.base.arrays import Float64Array
from kgeval.base.errors import DatasetError, InputError, did_you_mean, refuse_unknown
from kgeval.base.registries import by_name, load_entry_points, subclasses
from kgeval.base.settings import Settings, names_by
from kgeval.data import History
from kgeval.data.dataset import Dataset, Split
from kgeval.data.loading import as_dataset
from kgeval.data.triples import LabelledTriples, Triples, find_sorted, reverse
from kgeval.models.scorer import LabelledScorer, Scorer

Task = Literal["ranking", "classification", "confidences"]
"""the evaluations in which baselines are compared with models"""


class Baseline(Settings):
    """A predictor that counts train triples and learns nothing, given by its name and settings.

    It is ranked like any model: ``kgeval.evaluate(kgeval.Baseline("inverse"), data)``. Entities that it cannot tell
    apart get equal scores, so the tie policy ``expected`` fits its metrics best.

    A baseline is also its configuration: ``{baseline: ppr, damping: 0.9}`` means ``Baseline("ppr", damping=0.9)``. To
    write one, give a subclass a field ``baseline``, a ``Literal`` with its name, and override :meth:`learn`; or if it
    looks back in a temporal graph, set ``needs_times`` and override :meth:`learn_from`. A package declares it in the
    entry point group ``kgeval.baselines``.

    Raises
    ------
    InputError
        if the name or a setting is unknown; the message names the nearest one

    Examples
    --------
    >>> from kgeval import evaluate, load_dataset, summarize
    >>> Baseline("inverse", threshold=0.9)
    InverseBaseline(baseline='inverse', threshold=0.9, history='train')
    >>> table = evaluate(Baseline("inverse"), load_dataset("nations"))
    >>> table.provenance.model, int(table.column("tied").max())
    ('baseline inverse', 13)
    >>> policies = ("optimistic", "expected", "pessimistic")
    >>> [round(summarize(table, ["mrr"], ties=policy)["mrr"], 3) for policy in policies]
    [0.958, 0.527, 0.361]
    """

    display_name: ClassVar[str] = "settings of the baseline"
    title: ClassVar[str] = ""
    """what it ranks first, in a few words"""
    rule: ClassVar[str] = ""
    """the score of an answer or a triple, in words"""
    source: ClassVar[str] = ""
    """where the rule is from"""
    tasks: ClassVar[tuple[Task, ...]] = ("ranking",)
    """the evaluations in which it is compared with models"""
    learns_from: ClassVar[tuple[Split, ...]] = ("train",)
    """the splits whose triples it counts"""
    ties: ClassVar[str] = "expected"
    """the tie policy of its metrics, unless the user or the protocol sets another"""
    needs_times: ClassVar[bool] = False
    """whether it looks back from the time of a query, at the facts of a history (:meth:`learn_from`)"""
    trains: ClassVar[bool] = False
    """whether it is trained before it is evaluated: never"""

    kind: Literal["baseline"] = Field(default="baseline", repr=False)
    """a baseline: a rule without parameters"""
    baseline: Any = "own"  # a Literal in each class
    """its name"""

    def __new__(cls, name: str | None = None, /, **settings: Any) -> Baseline:
        return super().__new__(find_baseline(name or settings.get("baseline", "")) if cls is Baseline else cls)

    def __init__(self, name: str | None = None, /, **settings: Any) -> None:
        super().__init__(**({"baseline": name} if name else {}) | settings)

    # As in Settings: pydantic makes nested baselines without this __init__, so that one message has all problems.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _history_is_of_the_evaluation(cls, settings: Any) -> Any:
        if cls.needs_times and isinstance(settings, dict) and "history" in settings:
            raise ValueError("history: the evaluation has it: --history, evaluation.history, evaluate(…, history=…)")
        return settings

    def fit(self, dataset: Dataset | str | Path, *, history: History | None = None) -> FittedBaseline:
        """Count the train triples of a dataset; if the baseline looks back in a temporal graph, the facts of a history.

        Raises
        ------
        InputError
            if the baseline does not rank, or the dataset lacks the triples that it counts
        """
        dataset = as_dataset(dataset)
        self.check(dataset)
        refuse_unknown("history: unknown value", history or "train", get_args(History))
        looked = (history or "train") if self.needs_times else history and "train"
        scorer = self.learn_from(dataset, looked or "train")
        return FittedBaseline(scorer, dataset.entities, dataset.relations, baseline=self, history=looked)

    def check(self, dataset: Dataset) -> None:
        """Refuse a baseline that does not rank, and a dataset without the triples that it counts."""
        if "ranking" not in self.tasks:
            ranked = [name for name, other in baselines().items() if "ranking" in other.tasks]
            where = f"it is part of every {self.tasks[0]}. {did_you_mean('', ranked, listed='baselines')}"
            raise InputError(f"the baseline {self.baseline!r} does not rank: {where}")
        if self.needs_times and dataset.times is None:
            raise DatasetError(f"dataset {dataset.name} has no times, which baseline {self.baseline} needs.")
        for split in self.learns_from:
            if split not in dataset.splits:
                raise DatasetError(f"{dataset.name} has no {split} triples; baseline {self.baseline} counts them.")

    def learn(self, dataset: Dataset) -> Scorer:
        """Return the scorer of a dataset's entities, in its ids. Equal scores are ties of the ranking."""
        raise NotImplementedError

    def learn_from(self, dataset: Dataset, history: History) -> Scorer:
        """Return the scorer by the facts of a history; if the baseline needs no times, by train, whatever is given."""
        return self.learn(dataset)


@dataclass(frozen=True, eq=False, repr=False)
class FittedBaseline(LabelledScorer):
    """A baseline that has counted a dataset. It scores all entities, also those that are not in train."""

    baseline: Baseline = field(kw_only=True)
    history: History | None = field(default=None, kw_only=True)
    """the history whose facts it counts; None if no history was given"""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title}: {self.num_entities} entities, {self.num_relations} relations)"

    @property
    def title(self) -> str:
        """Its name, with the settings that are not the usual ones."""
        settings = self.baseline.model_dump(mode="json", exclude={"kind", "baseline"}, exclude_defaults=True)
        changed = [f"{key} {value}" for key, value in settings.items()]
        return f"baseline {self.baseline.baseline}" + f" ({', '.join(changed)})" * bool(changed)

    def describe(self) -> dict[str, Any]:
        """Return the entry of the baseline in the manifest of a run."""
        return self.baseline.model_dump(mode="json", exclude={"kind"})


@cache
def baselines() -> dict[str, type[Baseline]]:
    """All baselines, by name."""
    local = [kind for kind in subclasses("kgeval.models.baselines", Baseline) if kind.title]
    every = [*local, *load_entry_points("kgeval.baselines", Baseline, classes=True)]
    return by_name("baselines", every, names_by("baseline"))


def find_baseline(name: Any) -> type[Baseline]:
    """Find the class of a baseline by its name."""
    if not isinstance(name, str) or name not in baselines():
        fault = f"unknown baseline {name!r:.60}" if name else "the name of the baseline is missing"
        raise InputError(f"{fault}. {did_you_mean(str(name)[:60], baselines(), listed='baselines')}")
    return baselines()[name]


class LabelBaseline(Baseline):
    """A baseline that scores triples, not the answers of queries."""

    threshold: ClassVar[float | None] = None
    """the lowest score of a triple predicted true; by default the best threshold of each relation in validation"""

    @abstractmethod
    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        """Return the rule, which may look at train and at the labelled triples of validation."""


TripleRule = Callable[[Triples], Float64Array]
"""triples -> their scores, float64[triple]"""


def label_baselines(task: Task) -> tuple[LabelBaseline, ...]:
    """List the baselines of a task on labelled triples.

    >>> [it.baseline for it in label_baselines("classification")]
    ['relation majority', 'tail frequency']
    """
    return tuple(kind() for kind in baselines().values() if issubclass(kind, LabelBaseline) and task in kind.tasks)


class RelationMajority(LabelBaseline):
    """All triples of a relation have one score, the share of true triples in validation; true from one half on."""

    title = "predicts the majority label of the relation in valid"
    rule = "share of true triples of the relation in valid; true if at least 1/2"
    source = "Safavi and Koutra, 2020"
    tasks = ("classification",)
    threshold = 0.5

    baseline: Literal["relation majority"] = "relation majority"
    """the majority of the relation's validation triples"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        shares = _means_by_relation(valid, dataset)
        return lambda triples: shares[triples.relations]


class TailFrequency(LabelBaseline):
    """The count of ``popularity`` for the tail of the triple."""

    title = "scores a triple by how often train has its relation and tail"
    rule = "number of train triples with this relation and tail"
    source = "Safavi and Koutra, 2020"
    tasks = ("classification",)

    baseline: Literal["tail frequency"] = "tail frequency"
    """counts of tails by relation"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        train, size = dataset.split("train"), len(dataset.entities)
        keys, counts = np.unique(train.relations * size + train.tails, return_counts=True)

        def count(triples: Triples) -> Float64Array:
            places = find_sorted(keys, triples.relations * size + triples.tails)
            return np.where(places < 0, 0, counts[places]).astype(np.float64)

        return count


class SameOrReversed(LabelBaseline):
    """The largest confidence of the same or the reversed train triple, else the mean of the relation in train."""

    title = "predicts the confidence of the same or the reversed train triple"
    rule = "largest confidence of (h, r, t) and (t, r, h) in train, else the relation's mean"
    source = "kgeval"
    tasks = ("confidences",)

    baseline: Literal["same or reversed"] = "same or reversed"
    """confidences of train, either way round"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        train = confidences_of_train(dataset)
        means = _means_by_relation(train, dataset)
        either = Triples.concatenated([train.triples.without_contexts(), reverse(train.triples)])
        both = LabelledTriples(either, np.tile(train.labels, 2))

        def look_up(triples: Triples) -> Float64Array:
            best = both.largest(triples)
            return np.where(np.isnan(best), means[triples.relations], best)

        return look_up


def _means_by_relation(labelled: LabelledTriples, dataset: Dataset) -> Float64Array:
    """Return the mean label of each relation's triples, or of all triples if it has none; float64[relation]."""
    relations, size = labelled.triples.relations, len(dataset.relations)
    totals = np.bincount(relations, minlength=size)
    sums = np.bincount(relations, labelled.labels, minlength=size)
    means: Float64Array = np.divide(sums, totals, out=np.full(size, float(labelled.labels.mean())), where=totals > 0)
    return means


def confidences_of_train(dataset: Dataset) -> LabelledTriples:
    """Return the train triples with their confidences; refuse a dataset that has none."""
    if "train" not in dataset.confidences:
        raise DatasetError(f"dataset {dataset.name} has no confidences: its files need a fourth column.")
    return dataset.confidences["train"]
