"""A checkpoint format that is a table: a TransM in a ``.pkl`` of named arrays."""

from kgeval.models.checkpoints.state_dict_format import Model, Option, StateDictFormat, Take, holds, named
from kgeval_foreign.family import TransM

ARRAYS = {
    "entity": named("points"),
    "relation": named("shifts"),
    "weight": Take("weights", lambda tensors: tensors.take("weights", None)),
    "norm": Option("p", {1: 1, 2: 2}),
}

READER = StateDictFormat(
    name="transm-table",
    framework="the TransM code",
    summary="a TransM in a .pkl of named arrays",
    what="model of the TransM code",
    files=(holds({".pkl"}, {"points", "shifts"}),),
    models={"TransM": Model(TransM, ARRAYS)},
).reader()
