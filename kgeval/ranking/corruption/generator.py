"""Corruption generators: the base class of the rules that choose the candidates of queries.

``model_ranking``, ``predictions/predict`` and ``export`` call ``choose``: queries, known answers and the dataset go in,
``Candidates`` come out. A subclass of your own adds a rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_origin

from pydantic import PrivateAttr
from typing_extensions import Self

from kgeval.base.errors import InputError, naming
from kgeval.base.notes import Note
from kgeval.base.registries import by_name, load_entry_points, subclasses
from kgeval.base.settings import ByKind, Settings, names_by

if TYPE_CHECKING:
    from kgeval.base.arrays import IntArray
    from kgeval.data import Side, Split
    from kgeval.data.dataset import Dataset
    from kgeval.data.queries import Queries, Rows
    from kgeval.data.triples import Triples
    from kgeval.ranking.corruption.candidates import Candidates


ALONE = "; each such answer ranks 1 of 1"
"""the end of a note on queries that get no candidates from a corruption; true unless another part of a union adds
some"""


def without_alone(notes: Iterable[str]) -> tuple[str, ...]:
    """Return each different note once, without the part ``ALONE``."""
    every = map(Note.of, notes)
    return tuple(dict.fromkeys(Note(note.kind, *(part for part in note.parts if part != ALONE)) for note in every))


class ReadOnce(Settings):
    """Settings that read files or compute something once for a dataset; no file is read again later."""

    _prepared: tuple[Dataset | None, Any] = PrivateAttr(default=(None, None))
    """the dataset that the settings were prepared for, and what :meth:`read` returned for it"""

    def prepare(self, dataset: Dataset) -> Self:
        """Return the same settings with what :meth:`read` returned; a missing or malformed file is refused here."""
        if self._prepared[0] is not None and self._prepared[0].is_same(dataset):
            return self
        prepared = self.model_copy()
        prepared._prepared = dataset, self.read(dataset)
        return prepared

    def read(self, dataset: Dataset) -> Any:
        """Read the files, or compute what all results depend on; :meth:`content` then gives it."""
        return None

    def content(self, dataset: Dataset) -> Any:
        """Return what :meth:`read` returns for a dataset; it is called now if :meth:`prepare` has not called it."""
        return self.prepare(dataset)._prepared[1]


class CorruptionGenerator(ReadOnce):
    """Chooses the candidates of a query: the entities that are ranked with its answer.

    A generator is also its configuration: ``{kind: uniform, count: 500}`` means ``Uniform(count=500)``. An answer is
    never its own candidate, and known answers are filtered out later, whatever the generator chooses.

    To write one, override :meth:`candidates`, and :meth:`read` if it reads files. Its ``kind`` is a ``Literal``, the
    name in configurations. A package declares it in the entry point group ``kgeval.corruptions``.

    Examples
    --------
    >>> import kgeval
    >>> import numpy as np
    >>> from kgeval.data.queries import Queries, Rows
    >>> from kgeval.ranking.corruption.candidates import Candidates
    >>> class FirstEntities(CorruptionGenerator):
    ...     count: int
    ...     def candidates(self, queries: Queries, known: Rows, dataset: kgeval.Dataset) -> Candidates:
    ...         return Candidates.shared(np.arange(self.count))
    >>> kgeval.evaluate(lambda h, r, t: t, "nations", corruption=FirstEntities(count=5)).provenance.candidates
    '5 by FirstEntities'
    """

    kind: Any = "own"  # a Literal in each class
    """what chooses the candidates"""

    allows_known: ClassVar[bool] = False
    """whether known answers may be among its negatives"""

    leaves_out_answers: ClassVar[bool] = False
    """whether its candidates are negatives, which leave out the answers, so that no answers can be predicted from
    them"""

    answers_relations: ClassVar[bool] = False
    """whether it chooses relations too, for the queries of the side relation"""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it reads: by default the file of its setting ``path``, if it has this setting."""
        path = getattr(self, "path", None)
        return () if path is None else (Path(path),)

    @property
    def learns_from(self) -> tuple[Split, ...]:
        """The splits whose triples its choice depends on."""
        return ()

    def known_splits(self, dataset: Dataset) -> tuple[Split, ...] | None:
        """Return the splits of the default filter, if these candidates decide it; ``None`` if the protocol does."""
        return None

    def queries(self, triples: Triples, side: Side) -> Queries:
        """Collect the queries that get candidates: by default each distinct query once, with all of its answers."""
        from kgeval.data.queries import Queries

        return Queries.of(triples, side)

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray | None:
        """Return the largest number of candidates that this corruption gives each query; int64[query].

        Queries are then processed in batches that fit into memory. ``None``: all queries at once.
        """
        return None

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        """Return notes on the candidates of all these queries, which may be chosen in batches."""
        return ()

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        """Choose the candidates of each query.

        Parameters
        ----------
        queries
            queries of one side, from :meth:`queries`
        known
            the known answers of each query: a row each, ascending
        dataset
            the graph, whose ids all three share
        """
        raise NotImplementedError

    def choose(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        """Choose the candidates of each query, and check them.

        Raises
        ------
        InputError
            if they are not ascending ids of entities, or relations, for each query
        """
        from kgeval.ranking.corruption.candidates import Candidates

        candidates: Any = self.candidates(queries, known, dataset)
        where = f"the corruption {self.kind!r}"
        if not isinstance(candidates, Candidates):
            raise InputError(f"{where} returned {candidates!r:.60}. Return Candidates.")
        with naming(where, InputError):
            candidates.check(len(queries), len(dataset.answers_of(queries.side)))
        return candidates

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        """Describe the chosen candidates, as in ``20 uniform (seed 0)``; sizes are int64[query]."""
        return f"{size_range(sizes)} by {type(self).__name__}"


def size_range(sizes: IntArray) -> str:
    """Write how many candidates queries have; ``some`` if the sizes are not known.

    >>> import numpy as np
    >>> size_range(np.array([1, 2310, 7])), size_range(np.array([500, 500])), size_range(np.array([]))
    ('1 to 2,310', '500', 'some')
    """
    if not len(sizes):
        return "some"
    fewest, most = int(sizes.min()), int(sizes.max())
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"


@cache
def generators() -> dict[str, type[CorruptionGenerator]]:
    """All corruption generators by kind: kgeval's own, and those that installed packages bring."""
    every = sorted(subclasses("kgeval.ranking.corruption", CorruptionGenerator), key=lambda it: it.__name__)
    named = [it for it in every if get_origin(it.model_fields["kind"].annotation) is Literal]
    further = load_entry_points("kgeval.corruptions", CorruptionGenerator, classes=True)
    return by_name("corruptions", [*named, *further], names_by("kind"))


Corruption = Annotated[CorruptionGenerator, ByKind(CorruptionGenerator, generators)]
"""Any corruption generator: the type of the configuration's ``corruption`` block."""
