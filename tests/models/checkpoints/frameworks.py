"""The real checkpoints of UMLS: which there are, what their files do not say, and the ranks their frameworks gave."""

from __future__ import annotations

import csv
import shutil
from functools import cache
from pathlib import Path

LABELS = {"libkge": "checkpoints/libkge/_data/umls", "openke": "checkpoints/openke/_data/umls"}
"""where labels lie that are in none of the checkpoint's files"""

TRANSE_1, TRANSE_2 = ({"model": "TransE", "p_norm": norm} for norm in (1, 2))

VARIANTS = {
    "ampligraph": "RotatE DistMult ComplEx HolE TransE",
    "conve": "ConvE ComplEx DistMult",
    "dglke": "TransR SimplE ComplEx ComplEx-de_dr DistMult RESCAL RotatE SimplE-clamp TransE_l1 TransE_l2",
    "kbc": "CP ComplEx",
    "libkge": "conve cp complex complex-reciprocal distmult relational_tucker3 rescal rotate simple "
    "transe-l1 transe-l2",
    "marius": "ComplEx ComplEx-noinverse DistMult DistMult-noinverse TransE",
    "openke": "rotate transd complex distmult rescal rescal-margin simple transe-p1 transe-p1-margin transe-p2 transh",
    "pbg": "dyn-complex_diagonal-dot static-linear-dot dyn-affine-cos dyn-diagonal-dot dyn-linear-dot "
    "dyn-translation-cos dyn-translation-dot dyn-translation-l2 dyn-translation-squared_l2 "
    "dyn-complex_diagonal-dot-bias dyn-complex_diagonal-dot-maxnorm static-complex_diagonal-dot static-diagonal-dot "
    "static-diagonal-dot-global_emb static-translation-cos static-translation-dot-global_emb",
    "pyg": "rotate transe-p2-module complex complex-wrapped distmult transe-p1 transe-p2",
    "pykeen": "tucker conve boxe complex complex-inverse cp distmult mure pairre quate rescal rotate simple "
    "simple-clamp transe transe-l2",
    "rotate": "pRotatE RotatE ComplEx DistMult TransE",
    "torchkge": "complex rescal distmult distmult-unnormalized hole transe-l1 transe-l2",
    "transx": "kb2e openke",
    "tucker": "TuckER",
}
"""framework: its models; the first two of each, small ones with layers where it has any, are also damaged"""

OPTIONS = {
    ("conve", "ConvE"): {"embedding_shape1": 8},
    ("openke", "distmult"): {"model": "DistMult"},
    ("openke", "rescal"): {"loss": "SoftplusLoss"},
    ("openke", "rescal-margin"): {"loss": "MarginLoss"},
    ("openke", "transd"): {"p_norm": 1, "norm_flag": True},
    ("openke", "transe-p1"): {**TRANSE_1, "norm_flag": True},
    ("openke", "transe-p1-margin"): {**TRANSE_1, "norm_flag": False},
    ("openke", "transe-p2"): {**TRANSE_2, "norm_flag": False},
    ("openke", "transh"): {"p_norm": 1, "norm_flag": True},
    ("pyg", "distmult"): {"model": "DistMult"},
    ("pyg", "transe-p1"): TRANSE_1,
    ("pyg", "transe-p2"): TRANSE_2,
    ("torchkge", "distmult"): {"model": "DistMult"},
    ("torchkge", "distmult-unnormalized"): {"model": "DistMult"},
    ("torchkge", "hole"): {"model": "HolE"},
    ("torchkge", "transe-l1"): {"model": "TransE", "dissimilarity_type": "L1"},
    ("torchkge", "transe-l2"): {"model": "TransE", "dissimilarity_type": "L2"},
    ("transx", "kb2e"): {"L1_flag": True},
    ("transx", "openke"): {"L1_flag": True},
}
"""what the files do not hold"""

UNFILTERED = {"pyg"}
"""the frameworks whose protocol filters nothing"""

MODULES = {("pyg", "transe-p2-module")}
"""models that torch alone does not load, because their own classes are in the file"""

ALL = [(framework, variant) for framework, variants in VARIANTS.items() for variant in variants.split()]

ENCODED = [("dual-encoder", "umls")]
"""what was made of the queries of tails alone: tests/models/checkpoints/test_finished.py"""

ELSEWHERE = [("tkbc", "icews14-TNTComplEx")]
"""those of another graph: tests/models/checkpoints/test_tkbc.py"""


FOLDERS = {"dglke": "dgl-ke"}
"""the folders of real checkpoints that are not called like their format"""


def folder_of(shared: Path, framework: str, variant: str) -> Path:
    return shared / "checkpoints" / FOLDERS.get(framework, framework) / f"umls-{variant}"


UNREAD = ("expected", "kge.log", "trace", "train.log", "training_stats", "results", "numeric", "checkpoint_0")
"""how the names of files begin that no reader opens"""


def sources(folder: Path) -> list[Path]:
    """The files of a checkpoint that a reader may open."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(UNREAD)]


def copied(sound: Path, folder: Path) -> None:
    """Copy what a reader may open, so that it can be changed."""
    for path in sources(sound):
        copy = folder / path.relative_to(sound)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def options_of(shared: Path, framework: str, variant: str) -> dict[str, object]:
    """What to give to ``load_checkpoint``."""
    labels = {"labels": str(shared / LABELS[framework])} if framework in LABELS else {}
    return {**OPTIONS.get((framework, variant), {}), **labels}


@cache
def expected_ranks(folder: Path, name: str = "expected_ranks.tsv") -> dict[tuple[str, ...], tuple[float, float]]:
    """Map (head, relation, tail, side) to the framework's raw and filtered rank."""
    with (folder / name).open(encoding="utf-8") as lines:
        rows = csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t")
        assert next(rows) == ["head", "relation", "tail", "side", "raw_rank", "filtered_rank"]
        return {(*key,): (float(raw_rank), float(rank)) for *key, raw_rank, rank in rows}
