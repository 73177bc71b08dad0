"""Models of facebookresearch/kbc and tkbc: a ``state_dict``, trained with reciprocal relations.

The scripts save nothing; a ``state_dict`` is what their users save. The labels are in ``ent_id``, ``rel_id`` and
``ts_id``; without them, ids are those of the sorted labels of all splits, as the code gives them. The static ComplEx
of tkbc has the tensors of kbc's, and is read as such.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgeval.checkpoints.reader import PICKLED
from kgeval.checkpoints.shared.state_dict_format import Model, StateDictFormat, halves, holds, named
from kgeval.checkpoints.shared.tensors import names_in
from kgeval.scorers.families.bilinear import CP
from kgeval.scorers.families.complex import ComplEx, TComplEx, TNTComplEx

ENTITY, RELATION, TIME, TIMELESS = (f"embeddings.{index}.weight" for index in range(4))

STATIC = (frozenset({"lhs.weight", "rel.weight", "rhs.weight"}), frozenset({ENTITY, RELATION}))
"""the tensors of a CP and of a ComplEx"""

TEMPORAL = frozenset({ENTITY, RELATION, TIME})

TABLES: dict[str, Any] = {"entity": named(ENTITY), "relation": named(RELATION)}


def _is_static(file: Path) -> bool:
    return holds({".pt", ".pth", ".pkl", ".model"}, *STATIC)(file) and TIME not in names_in(file)


KBC = StateDictFormat(
    name="kbc",
    framework="kbc",
    summary="a state_dict of a CP or ComplEx of facebookresearch/kbc (.pt), ent_id and rel_id beside it",
    what="state_dict of a kbc model",
    files=(_is_static,),
    models={
        "CP": Model(CP, {"entity": halves("lhs.weight", "rhs.weight"), "relation": named("rel.weight")}, "lhs.weight"),
        "ComplEx": Model(ComplEx, TABLES),
    },
    numbering="sorted",
    reciprocal=True,
    known_by=STATIC,
).reader()

TKBC = StateDictFormat(
    name="tkbc",
    framework="tkbc",
    summary="a state_dict of a TComplEx or TNTComplEx of facebookresearch/tkbc (.pt); ent_id, rel_id, ts_id beside it",
    what="state_dict of a tkbc model",
    files=(holds(PICKLED, TEMPORAL),),
    models={
        "TNTComplEx": Model(TNTComplEx, TABLES | {"time": named(TIME), "timeless": named(TIMELESS)}, TIMELESS),
        "TComplEx": Model(TComplEx, TABLES | {"time": named(TIME)}),
    },
    numbering="sorted",
    reciprocal=True,
    known_by=(TEMPORAL,),
).reader()
