"""The real checkpoints of UMLS: which there are, what their files do not say, and the ranks their frameworks gave."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

LABELS = {"libkge": "checkpoints/libkge/_data/umls", "openke": "checkpoints/openke/_data/umls"}
"""where labels lie that are in none of the checkpoint's files"""

TRANSE = {"model": "TransE"}

CASES = {
    "ampligraph": {"ComplEx": {}, "DistMult": {}, "HolE": {}, "RotatE": {}, "TransE": {}},
    "conve": {"ComplEx": {}, "ConvE": {"embedding_shape1": 8}, "DistMult": {}},
    "dgl-ke": {
        "ComplEx": {},
        "ComplEx-de_dr": {},
        "DistMult": {},
        "RESCAL": {},
        "RotatE": {},
        "SimplE": {},
        "SimplE-clamp": {},
        "TransE_l1": {},
        "TransE_l2": {},
        "TransR": {},
    },
    "kbc": {"CP": {}, "ComplEx": {}},
    "libkge": {
        "complex": {},
        "complex-reciprocal": {},
        "conve": {},
        "cp": {},
        "distmult": {},
        "relational_tucker3": {},
        "rescal": {},
        "rotate": {},
        "simple": {},
        "transe-l1": {},
        "transe-l2": {},
    },
    "marius": {"ComplEx": {}, "ComplEx-noinverse": {}, "DistMult": {}, "DistMult-noinverse": {}, "TransE": {}},
    "openke": {
        "complex": {},
        "distmult": {"model": "DistMult"},
        "rescal": {"loss": "SoftplusLoss"},
        "rescal-margin": {"loss": "MarginLoss"},
        "rotate": {},
        "simple": {},
        "transd": {"p_norm": 1, "norm_flag": True},
        "transe-p1": {**TRANSE, "p_norm": 1, "norm_flag": True},
        "transe-p1-margin": {**TRANSE, "p_norm": 1, "norm_flag": False},
        "transe-p2": {**TRANSE, "p_norm": 2, "norm_flag": False},
        "transh": {"p_norm": 1, "norm_flag": True},
    },
    "pbg": {
        **{f"dyn-{name}": {} for name in ("affine-cos", "diagonal-dot", "linear-dot", "translation-cos")},
        **{f"dyn-translation-{name}": {} for name in ("dot", "l2", "squared_l2")},
        **{f"dyn-complex_diagonal-dot{name}": {} for name in ("", "-bias", "-maxnorm")},
        **{f"static-{name}": {} for name in ("complex_diagonal-dot", "diagonal-dot", "diagonal-dot-global_emb")},
        **{f"static-{name}": {} for name in ("linear-dot", "translation-cos", "translation-dot-global_emb")},
    },
    "pyg": {
        "complex": {},
        "complex-wrapped": {},
        "distmult": {"model": "DistMult"},
        "rotate": {},
        "transe-p1": {**TRANSE, "p_norm": 1},
        "transe-p2": {**TRANSE, "p_norm": 2},
        "transe-p2-module": {},
    },
    "pykeen": {
        "boxe": {},
        "complex": {},
        "complex-inverse": {},
        "conve": {},
        "cp": {},
        "distmult": {},
        "mure": {},
        "pairre": {},
        "quate": {},
        "rescal": {},
        "rotate": {},
        "simple": {},
        "simple-clamp": {},
        "transe": {},
        "transe-l2": {},
        "tucker": {},
    },
    "rotate": {"ComplEx": {}, "DistMult": {}, "RotatE": {}, "TransE": {}, "pRotatE": {}},
    "torchkge": {
        "complex": {},
        "distmult": {"model": "DistMult"},
        "distmult-unnormalized": {"model": "DistMult"},
        "hole": {"model": "HolE"},
        "rescal": {},
        "transe-l1": {**TRANSE, "dissimilarity_type": "L1"},
        "transe-l2": {**TRANSE, "dissimilarity_type": "L2"},
    },
    "transx": {"kb2e": {"L1_flag": True}, "openke": {"L1_flag": True}},
    "tucker": {"TuckER": {}},
}
"""framework: variant: the options that its files do not hold"""

UNFILTERED = {"pyg"}
"""the frameworks whose protocol filters nothing"""

MODULES = {("pyg", "transe-p2-module")}
"""models that torch alone does not load, because their own classes are in the file"""

ALL = [(framework, variant) for framework, variants in CASES.items() for variant in variants]

ENCODED = [("dual-encoder", "umls")]
"""what was made of the queries of tails alone: tests/checkpoints/test_finished.py"""

UNREAD = [
    ("tkbc", "icews14-TNTComplEx"),
]
"""what there is of frameworks that have no reader yet"""


def folder_of(shared: Path, framework: str, variant: str) -> Path:
    return shared / "checkpoints" / framework / f"umls-{variant}"


def options_of(shared: Path, framework: str, variant: str) -> dict[str, object]:
    """What to give to ``load_checkpoint``."""
    labels = {"labels": str(shared / LABELS[framework])} if framework in LABELS else {}
    return {**CASES[framework][variant], **labels}


@cache
def expected_ranks(folder: Path, name: str = "expected_ranks.tsv") -> dict[tuple[str, ...], tuple[float, float]]:
    """Map (head, relation, tail, side) to the framework's raw and filtered rank."""
    with (folder / name).open(encoding="utf-8") as lines:
        rows = csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t")
        assert next(rows) == ["head", "relation", "tail", "side", "raw_rank", "filtered_rank"]
        return {(*key,): (float(raw_rank), float(rank)) for *key, raw_rank, rank in rows}
