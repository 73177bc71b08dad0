"""What baselines reach on real graphs: ``kgeval evaluate baseline:NAME --dataset FOLDER -m mrr -m hits@1 -m hits@10``.

The ties of every number are expected ones.
"""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Baseline, evaluate, load_dataset, summarize

METRICS = ("mrr", "hits@1", "hits@10")

FOUND = {
    ("umls", "popularity"): (0.668760, 0.535122, 0.882906),
    ("umls", "types"): (0.417554, 0.279718, 0.726185),
    ("umls", "symmetric"): (0.130259, 0.077011, 0.202827),
    ("umls", "inverse"): (0.069098, 0.027048, 0.116339),
    ("umls", "ppr"): (0.151370, 0.022693, 0.416036),
    ("umls", "random"): (0.058832, 0.017589, 0.103271),
    ("codex-s", "popularity"): (0.215813, 0.120041, 0.392730),
    ("codex-s", "types"): (0.055482, 0.014973, 0.128065),
    ("codex-s", "symmetric"): (0.121787, 0.101845, 0.142968),
    ("codex-s", "inverse"): (0.121795, 0.101850, 0.142986),
    ("codex-s", "ppr"): (0.054934, 0.020788, 0.101477),
    ("codex-s", "random"): (0.004239, 0.000521, 0.005213),
    ("fb15k-237", "popularity"): (0.234547, 0.172491, 0.356458),
    ("fb15k-237", "types"): (0.078836, 0.042082, 0.140426),
    ("fb15k-237", "symmetric"): (0.000706, 0.000067, 0.000692),
    ("fb15k-237", "inverse"): (0.000708, 0.000068, 0.000694),
    ("fb15k-237", "random"): (0.000711, 0.000070, 0.000701),
    ("wn18rr", "popularity"): (0.025629, 0.015475, 0.044469),
    ("wn18rr", "types"): (0.002162, 0.000373, 0.003733),
    ("wn18rr", "symmetric"): (0.346573, 0.346291, 0.346671),
    ("wn18rr", "inverse"): (0.335855, 0.335689, 0.335836),
    ("wn18rr", "random"): (0.000274, 0.000024, 0.000244),
}


@pytest.mark.parametrize(("name", "baseline"), FOUND, ids=" ".join)
def test_the_numbers_stand(name, baseline, request):
    path = "umls" if name == "umls" else request.getfixturevalue("shared") / "data" / name
    table = evaluate(Baseline(baseline), load_dataset(path))
    summary = summarize(table, METRICS, ties="expected")
    assert [summary[metric] for metric in METRICS] == pytest.approx(FOUND[name, baseline], abs=5e-7)


def test_on_wn18rr_inverse_and_symmetric_explain_a_third(shared):
    """Dettmers et al. (2018) report an MRR of .35 for their inverse model."""
    data = load_dataset(shared / "data/wn18rr")
    train = {*map(tuple, data.train.ids.tolist())}
    turned = np.array([(t, r, h) in train for h, r, t in data.test.ids.tolist()])
    assert (int(turned.sum()), len(turned)) == (1086, 3134)
    tables = {name: evaluate(Baseline(name), data) for name in ("symmetric", "inverse")}
    first = {name: table.column("score") == 1 for name, table in tables.items()}
    # The rules list an answer in just these rows, each time first or nearly so.
    assert first["symmetric"].reshape(2, -1).tolist() == [turned.tolist(), turned.tolist()]
    assert (first["inverse"] <= first["symmetric"]).all()
    for name, table in tables.items():
        rest = table.where(~first[name])
        explained = first[name].mean()
        assert {"symmetric": 0.3465, "inverse": 0.3357}[name] == pytest.approx(explained, abs=5e-5)
        assert summarize(rest, ["mrr"], ties="expected")["mrr"] < 0.001
        assert summarize(table, ["mrr"], ties="expected")["mrr"] == pytest.approx(explained, abs=0.001)
