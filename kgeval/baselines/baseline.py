"""What a baseline is, and which there are: kgeval's own, and those that installed packages bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from kgeval.arrays import FloatArray, IntArray
from kgeval.data.dataset import Dataset, Split
from kgeval.data.loading import as_dataset
from kgeval.data.queries import Queries
from kgeval.data.vocabulary import Vocabulary
from kgeval.discovery import brought, by_name, subclasses
from kgeval.errors import DatasetError, InputError, did_you_mean
from kgeval.scorers.scorer import Numbering, Scorer, refuse_other_queries
from kgeval.settings.by_kind import names_by
from kgeval.settings.settings import Settings


@dataclass(frozen=True, eq=False, repr=False)
class FittedBaseline:
    """A scorer of all entities of the dataset, those that train never has too."""

    settings: Mapping[str, Any]
    """the baseline's name and settings"""
    model: Scorer
    """the scores, in the ids of the dataset"""
    entities: Vocabulary
    relations: Vocabulary
    numbering: Numbering = "dataset"
    layouts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title}: {len(self.entities)} entities, {len(self.relations)} relations)"

    @property
    def title(self) -> str:
        return f"baseline {self.settings['baseline']}"

    @property
    def num_entities(self) -> int:
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        return len(self.relations)

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        refuse_other_queries(queries, candidates)
        return self.model.scores(queries, candidates)

    def describe(self) -> dict[str, Any]:
        """Tell what it is, as the manifest of a run does."""
        return dict(self.settings)


Task = Literal["ranking", "classification", "confidences"]
"""what a baseline is compared with a model in"""


class Baseline(Settings):
    """A predictor that counts train triples and learns nothing, by its name and its settings.

    It is ranked as any model is: ``kgeval.evaluate(kgeval.Baseline("inverse"), data)``. What it knows nothing about
    ties, so its metrics are best read under the tie policy ``expected``.

    A baseline is its own configuration: ``{baseline: ppr, damping: 0.9}`` *is* ``Baseline("ppr", damping=0.9)``. To
    write one, give a subclass a name, the ``Literal`` of its field ``baseline``, and override :meth:`learn`; declared
    in the group ``kgeval.baselines`` of entry points, it is known by that name.

    Raises
    ------
    InputError
        if the name or a setting is unknown, with the nearest one

    Examples
    --------
    >>> from kgeval import evaluate, load_dataset, summarize
    >>> Baseline("inverse", threshold=0.9)
    InverseBaseline(baseline='inverse', threshold=0.9)
    >>> table = evaluate(Baseline("inverse"), load_dataset("nations"))
    >>> table.provenance.model, int(table.column("tied").max())
    ('baseline inverse', 13)
    >>> policies = ("optimistic", "expected", "pessimistic")
    >>> [round(summarize(table, ["mrr"], ties=policy)["mrr"], 3) for policy in policies]
    [0.958, 0.527, 0.361]
    """

    display_name: ClassVar[str] = "settings of the baseline"
    title: ClassVar[str] = ""
    """what stands first, in a few words"""
    rule: ClassVar[str] = ""
    """how it scores"""
    source: ClassVar[str] = ""
    tasks: ClassVar[tuple[Task, ...]] = ("ranking",)
    """what it is compared with models in"""
    learns_from: ClassVar[tuple[Split, ...]] = ("train",)
    """the splits whose triples it counts"""
    ties: ClassVar[str] = "expected"
    """the tie policy of its metrics, where neither a user nor the protocol of a framework says another"""
    trains: ClassVar[bool] = False
    """whether it is trained before it is evaluated: never"""

    kind: Literal["baseline"] = Field(default="baseline", repr=False)
    """a model that learns nothing"""
    baseline: str = "own"
    """its name"""

    def __new__(cls, name: str | None = None, /, **settings: Any) -> Baseline:
        return super().__new__(find_baseline(name or settings.get("baseline", "")) if cls is Baseline else cls)

    def __init__(self, name: str | None = None, /, **settings: Any) -> None:
        super().__init__(**({"baseline": name} if name else {}) | settings)

    # As for Settings: nested ones are made without this, so that one message has the problems of all.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def fit(self, dataset: Dataset | str | Path) -> FittedBaseline:
        """Count the train triples of a dataset.

        Raises
        ------
        InputError
            if it ranks nothing, or the dataset has not the triples that it counts
        """
        dataset = as_dataset(dataset)
        self.check(dataset)
        settings = self.model_dump(mode="json", exclude={"kind"})
        return FittedBaseline(settings, self.learn(dataset), dataset.entities, dataset.relations)

    def check(self, dataset: Dataset) -> None:
        """Refuse, before any work, to rank where it ranks nothing or the dataset lacks the triples that it counts."""
        if "ranking" not in self.tasks:
            ranked = [name for name, other in baselines().items() if "ranking" in other.tasks]
            where = f"it stands beside every model in {self.tasks[0]}. {did_you_mean('', ranked)}"
            raise InputError(f"the baseline {self.baseline!r} ranks nothing: {where}")
        for split in self.learns_from:
            if split not in dataset.splits:
                missing = f"no {split} triples, which baseline {self.baseline} counts"
                raise DatasetError(f"dataset {dataset.name} has {missing}.")

    def learn(self, dataset: Dataset) -> Scorer:
        """Return the scorer of a dataset's entities, in its ids; what ties in it ties in the ranking."""
        raise NotImplementedError


@cache
def baselines() -> dict[str, type[Baseline]]:
    """All baselines, by name."""
    own = [found for found in subclasses("kgeval.baselines", Baseline) if found.title]
    every = [*own, *brought("kgeval.baselines", Baseline, classes=True)]
    return by_name("baselines", every, names_by("baseline"))


def find_baseline(name: Any) -> type[Baseline]:
    if not isinstance(name, str) or name not in baselines():
        what = f"unknown baseline {name!r:.60}" if name else "a baseline goes by its name"
        raise InputError(f"{what}. {did_you_mean(str(name)[:60], baselines())}")
    return baselines()[name]
