"""Candidates that are not drawn: all entities, those of a list, those that fit the relation, or a union of corruptions.

Each class is a corruption: a configuration names it by its ``kind``, and ranking asks it for the candidates of queries.
Modules are imported in functions here, since ``AllEntities`` is a default of every command's options.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kgeval.base.errors import DatasetError, first_few
from kgeval.base.notes import Amount, Example, Note, amount
from kgeval.base.settings import ByKind, listed
from kgeval.data import SIDES, SPLITS, Side, Split
from kgeval.ranking.corruption.generator import ALONE, CorruptionGenerator, generators, size_range, without_alone

if TYPE_CHECKING:
    from kgeval.base.arrays import IntArray
    from kgeval.data.dataset import Dataset
    from kgeval.data.entity_types import RelationCandidates
    from kgeval.data.queries import Queries, Rows
    from kgeval.data.triples import Triples
    from kgeval.ranking.corruption.candidates import Candidates


class AllEntities(CorruptionGenerator):
    """All entities of the dataset; if a relation is predicted, all relations.

    Exported as negatives and read again (``{kind: file}``), they give the same filtered ranks. Raw ranks differ,
    because known answers are not exported.

    >>> AllEntities()
    AllEntities(kind='all')
    """

    kind: Literal["all"] = "all"
    """every entity of the graph"""

    answers_relations: ClassVar[bool] = True

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        import numpy as np

        return np.zeros(len(queries), np.int64)

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        import numpy as np

        from kgeval.ranking.corruption.candidates import Candidates

        return Candidates.shared(np.arange(len(dataset.answers_of(queries.side))))

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        return f"all {len(dataset.entities):,} entities"


class EntityList(CorruptionGenerator):
    """The entities of a list, the same for all queries.

    An answer that is not on the list is ranked nevertheless, and a note says how many there were. Labels that the
    dataset does not have are left out, and a note says how many.

    >>> EntityList(path="drugs.txt")
    EntityList(kind='entities', path='drugs.txt')
    """

    kind: Literal["entities"] = "entities"
    """the entities of a list, the same for all queries"""
    path: str
    """a text file with the label of an entity on each line"""

    def read(self, dataset: Dataset) -> tuple[IntArray, list[str]]:
        """Read the ids of the entities, ascending, and the labels that the dataset does not have."""
        from kgeval.data.labelled_triples import read_listed

        return read_listed(Path(self.path), dataset.entities)

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        import numpy as np

        return np.zeros(len(queries), np.int64)

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        from kgeval.ranking.corruption.candidates import Candidates

        return Candidates.shared(self.content(dataset)[0])

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        import numpy as np

        ids, unknown = self.content(dataset)
        others = int((~np.isin(queries.answers, ids)).sum())
        answers, where = amount(others, f"{queries.side} answer"), Example.path(self.path)
        labels, few = amount(len(unknown), "label"), Example(f" ({first_few(unknown)})")
        of_answers = Note("candidates", answers, " not in ", where, "; ranked nevertheless.")
        of_labels = Note("left-out", labels, " in ", where, " not in the dataset: left out", few, ".")
        return tuple(note for reported, note in ((others, of_answers), (unknown, of_labels)) if reported)

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        return f"{len(self.content(dataset)[0]):,} entities of file {Path(self.path).name}"


class TypeConstrained(CorruptionGenerator):
    """The entities that fit the relation on the predicted side.

    By default these are the entities that the relation has on that side in the triples of ``splits``. With all three
    splits, as in OpenKE, every answer is a candidate, but test triples are used. With train, the default, an answer may
    not be a candidate; it is ranked nevertheless, and a note says how many there were. With ``types``, candidates are
    all entities that share a type with one of these entities; entities without a type are not candidates. With
    ``path``, a file lists the candidates of each relation.

    >>> TypeConstrained(types="prefix")
    TypeConstrained(kind='typed', path=None, types='prefix', splits=('train',))
    """

    kind: Literal["typed"] = "typed"
    """entities that the relation is known to take on the predicted side, or all entities of their types"""
    path: str | None = None
    """OpenKE's ``type_constrain.txt``, with ``entity2id.txt`` and ``relation2id.txt`` beside it; or a ``.json`` file
    ``{relation: [entity, …]}`` of the candidates of tails, such as ``rel2candidates.json`` of the few-shot sets"""
    types: str | None = None
    """the types of entities: a file with an entity and a type in each row; or ``prefix``, the text before ``::`` in a
    label (``Compound::DB00014``)"""
    splits: Annotated[
        tuple[Split, ...],
        BeforeValidator(listed, json_schema_input_type=Split | tuple[Split, ...]),
        Field(strict=False, min_length=1),
    ] = ("train",)
    """without ``path``: the splits whose triples show which entities, or which types, a relation has"""

    @model_validator(mode="after")
    def _one_source(self) -> TypeConstrained:
        if self.path is not None and "splits" in self.model_fields_set and self.splits != ("train",):
            raise ValueError("types come from a file (path) or from triples (splits), not from both")
        if self.path is not None and self.types is not None:
            raise ValueError("give either path (candidates of relations) or types (types of entities)")
        return self

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(Path(source) for source in (self.path, self.types) if source not in (None, "prefix"))

    @property
    def learns_from(self) -> tuple[Split, ...]:
        return self.splits if self.path is None else ()

    def read(self, dataset: Dataset) -> RelationCandidates:
        from kgeval.data.entity_types import observed_entities, read_candidates, typed_candidates

        if self.path is not None:
            return read_candidates(Path(self.path), dataset)
        triples = [part for name, part in dataset.splits.items() if name in self.splits]
        if self.types is not None:
            return typed_candidates(self.types, triples, dataset)
        return {side: observed_entities(triples, side, dataset) for side in SIDES}, ()

    def of_relations(self, side: Side, dataset: Dataset) -> Rows:
        """Return the candidates of each relation on a side, ascending; one row per relation.

        Raises
        ------
        DatasetError
            if the file lists no candidates of that side
        """
        rows: dict[Side, Rows] = self.content(dataset)[0]
        if side not in rows:
            raise DatasetError(
                f"{self.path}: it lists candidates of tails only, none of {side}s. Rank tails only: --sides tail (in "
                "Python sides='tail')."
            )
        return rows[side]

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        return self.of_relations(queries.side, dataset).lengths[queries.relations]

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        from kgeval.data.queries import Rows
        from kgeval.ranking.corruption.candidates import Candidates

        rows, relations = self.of_relations(queries.side, dataset), queries.relations
        return Candidates(Rows.spans(rows.offsets[relations], rows.offsets[relations + 1], rows.ids))

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        rows = self.of_relations(queries.side, dataset)
        untyped = int((rows.positions(queries.relations[queries.owners], queries.answers) < 0).sum())
        without = int((rows.lengths[queries.relations] == 0).sum())
        answers, alone = amount(untyped, f"{queries.side} answer"), amount(without, f"{queries.side} query")
        of_answers = Note("candidates", answers, " not of the type of its relation; ranked nevertheless.")
        of_queries = Note("candidates", alone, " with a relation without types", ALONE, ".")
        reported = tuple(note for count, note in ((untyped, of_answers), (without, of_queries)) if count)
        return (*reported, *self.content(dataset)[1])

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        source = ", ".join(self.splits) if self.path is None else f"file {Path(self.path).name}"
        if self.types is not None:
            source += f" and {f'file {Path(self.types).name}' if self.files else 'the prefixes of labels'}"
        return f"{size_range(sizes)} of {len(dataset.entities):,} entities, by type in {source}"


def _all_but_union() -> dict[str, type[CorruptionGenerator]]:
    """All corruptions but the union itself: a union of unions is the union of their parts."""
    return {kind: generator for kind, generator in generators().items() if generator is not CandidateUnion}


def _of_some(note: Note, side: Side) -> Note:
    """Say "some queries" for a number of queries: joined notes on blocks of queries differ in it."""
    some = f"some {side} queries"
    parts = (some if isinstance(part, Amount) and part.other.endswith("query") else part for part in note.parts)
    return Note(note.kind, *parts)


def _at_least_two(parts: tuple[CorruptionGenerator, ...]) -> tuple[CorruptionGenerator, ...]:
    """Refuse fewer than two corruptions; pydantic's own check would also do so if one of two had an error."""
    if len(parts) < 2:
        raise ValueError("a union needs at least two corruptions. Add one, or use the one without union")
    return parts


class CandidateUnion(CorruptionGenerator):
    """The entities that at least one of several corruptions chooses.

    DGL-KE (Zheng et al., 2020) evaluates Freebase with 1,000 entities drawn uniformly and 1,000 by degree, without a
    filter. Here an entity chosen by several parts counts once, so a query may have fewer than 2,000 candidates.
    Every part chooses the same as it would alone, so two draws of one kind need different seeds. Exported negatives
    never contain known answers, even if a part allows them.

    >>> CandidateUnion(of=[{"kind": "uniform", "count": 1000}, {"kind": "degree", "count": 1000}]).of[1]
    DegreeWeighted(kind='degree', count=1000, seed=0, allow_known=False)
    """

    kind: Literal["union"] = "union"
    """the entities that any of several corruptions chooses"""
    of: Annotated[
        tuple[Annotated[CorruptionGenerator, ByKind(CorruptionGenerator, _all_but_union)], ...],
        Field(strict=False),
        AfterValidator(_at_least_two),
    ]
    """the corruptions, two or more"""

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(file for part in self.of for file in part.files))

    @property
    def leaves_out_answers(self) -> bool:  # type: ignore[override]
        return any(part.leaves_out_answers for part in self.of)

    @property
    def learns_from(self) -> tuple[Split, ...]:
        return tuple(split for split in SPLITS if any(split in part.learns_from for part in self.of))

    def read(self, dataset: Dataset) -> tuple[CorruptionGenerator, ...]:
        return tuple(part.prepare(dataset) for part in self.of)

    def queries(self, triples: Triples, side: Side) -> Queries:
        """Make one query of every triple if a part has different candidates for each triple."""
        return max((part.queries(triples, side) for part in self.of), key=len)

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray | None:
        import numpy as np

        from kgeval.data.queries import Rows

        parts, none = self.content(dataset), np.zeros(0, np.int64)
        widths = [part.widths(queries, dataset) for part in parts]
        if any(width is None for width in widths):
            return None
        # Candidates that all queries share have no width of their own, but are united with those of each query.
        chosen = [part.candidates(queries[:0], Rows.sized(none, none), dataset) for part in parts]
        return np.asarray(np.sum(widths, axis=0) + sum(some.max_width for some in chosen), np.int64)

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        import numpy as np

        from kgeval.data.queries import Rows
        from kgeval.ranking.corruption.candidates import Candidates

        chosen = [part.choose(queries, known, dataset) for part in self.content(dataset)]
        # A note that counts these queries would stand once for each block of queries, with another count each time.
        notes = tuple(_of_some(Note.of(note), queries.side) for part in chosen for note in part.notes)
        rows, size = [part.per_query(len(queries)) for part in chosen], len(dataset.entities)
        owners, ids = np.divmod(np.unique(np.concatenate([row.owners * size + row.ids for row in rows])), size)
        return Candidates(Rows.sized(np.bincount(owners, minlength=len(queries)), ids), notes)

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        return without_alone(note for part in self.content(dataset) for note in part.notes(queries, dataset))

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        parts = [part.describe(dataset, sizes[:0]) for part in self.content(dataset)]
        return f"{size_range(sizes)}, the union of {' and '.join(parts)}"
