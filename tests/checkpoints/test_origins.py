"""Where every option of a real checkpoint came from: the framework's setting behind it, or the framework's code."""

from __future__ import annotations

import pytest

from kgeval import load_checkpoint
from tests.checkpoints.frameworks import ALL, folder_of, options_of

CONFIG = "the config in checkpoint_best.pt"

ORIGINS = {
    ("ampligraph", "RotatE"): {"norm": "the code of AmpliGraph"},
    ("conve", "ConvE"): {"height": "embedding_shape1 (option)"},
    ("dgl-ke", "RotatE"): {"norm": "the code of DGL-KE", "gamma": "config.json", "hidden_dim": "config.json"},
    ("dgl-ke", "TransE_l1"): {"norm": "model_name (config.json)"},
    ("libkge", "conve"): {"height": f"2D_aspect_ratio ({CONFIG})"},
    ("libkge", "transe-l1"): {"norm": f"l_norm ({CONFIG})"},
    ("openke", "rotate"): {"norm": "the code of OpenKE", "rel_embedding_range": "rotate.ckpt"},
    ("openke", "transd"): {"norm": "p_norm (option)", "normalization": "the code of OpenKE"},
    ("openke", "transh"): {"norm": "p_norm (option)", "normalization": "norm_flag (option)"},
    ("pbg", "dyn-linear-dot"): {"operand": "dynamic_relations (config.json)", "bias": "config.json"},
    ("rotate", "RotatE"): {"norm": "the code of RotatE", "embedding_range": "checkpoint"},
    ("torchkge", "transe-l2"): {"norm": "dissimilarity_type (option)"},
}
"""some of them, as each framework's code and files have it"""


@pytest.mark.parametrize(("framework", "variant"), ALL)
def test_every_option_has_an_origin(shared, framework, variant):
    checkpoint = load_checkpoint(folder_of(shared, framework, variant), **options_of(shared, framework, variant))
    told = checkpoint.describe()
    assert told["options"].keys() <= told["origins"].keys()
    assert ORIGINS.get((framework, variant), {}).items() <= told["origins"].items()
