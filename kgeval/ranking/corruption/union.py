"""The union of several corruptions, for example 1,000 entities drawn uniformly and 1,000 by degree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from kgeval.base.settings import ByKind
from kgeval.data import SPLITS, Side, Split
from kgeval.ranking.corruption.generator import ALONE, CorruptionGenerator, generators, size_range

if TYPE_CHECKING:
    from kgeval.base.arrays import IntArray
    from kgeval.data.dataset import Dataset
    from kgeval.data.queries import Queries, Rows
    from kgeval.data.triples import Triples
    from kgeval.ranking.corruption.candidates import Candidates


def _parts() -> dict[str, type[CorruptionGenerator]]:
    """All corruptions but the union itself: a union of unions is the union of their parts."""
    return {kind: generator for kind, generator in generators().items() if generator is not CandidateUnion}


def _several(parts: tuple[CorruptionGenerator, ...]) -> tuple[CorruptionGenerator, ...]:
    """Refuse fewer than two; pydantic's own check would do so where one of two has an error."""
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
        tuple[Annotated[CorruptionGenerator, ByKind(CorruptionGenerator, _parts)], ...],
        Field(strict=False),
        AfterValidator(_several),
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
        notes = tuple(
            re.sub(r"^[\d,]+ (\w+) quer(y|ies) ", r"some \1 queries ", note) for part in chosen for note in part.notes
        )
        rows, size = [part.per_query(len(queries)) for part in chosen], len(dataset.entities)
        owners, ids = np.divmod(np.unique(np.concatenate([row.owners * size + row.ids for row in rows])), size)
        return Candidates(Rows.sized(np.bincount(owners, minlength=len(queries)), ids), notes)

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        notes = [note for part in self.content(dataset) for note in part.notes(queries, dataset)]
        return tuple(dict.fromkeys(note.replace(ALONE, "") for note in notes))

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        parts = [part.describe(dataset, sizes[:0]) for part in self.content(dataset)]
        return f"{size_range(sizes)}, the union of {' and '.join(parts)}"
