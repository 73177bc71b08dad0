"""TREC files: pytrec_eval computes of them what kgeval computes of the ranks."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import DualEncoder, evaluate, predict, summarize
from kgeval.base.errors import InputError
from kgeval.data.triples import SIDES
from kgeval.ranking.predictions.prediction_files import write_trec
from tests.conftest import random_dataset

DATA = random_dataset(11, entities=20, triples=300)
RNG = np.random.default_rng(0)
QUERY = {side: RNG.normal(size=(20, 4, 8)) for side in SIDES}
MODEL = DualEncoder(
    DATA.test,
    RNG.normal(size=(20, 8)),
    similarity="dot",
    **{side: QUERY[side][tuple(DATA.test.queries_of_side(side)[:2])] for side in SIDES},
)
FILTER = ("train", "valid")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    table = predict(MODEL, DATA, k=20, known="drop", filter=FILTER)
    run = write_trec(table, DATA, tmp_path_factory.mktemp("trec") / "model.trec")
    return run, run.with_suffix(".qrels")


@pytest.fixture(scope="module")
def expected():
    ranks = evaluate(MODEL, DATA)
    assert not ranks.column("tied").any()
    return summarize(ranks, ["map", "ndcg@10", "p@4"])


def test_pytrec_eval_computes_the_same(files, expected):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    with files[0].open() as run, files[1].open() as qrels:
        answers, predicted = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)
    found = pytrec_eval.RelevanceEvaluator(answers, {"map", "ndcg_cut.10", "P.4"}).evaluate(predicted)
    assert set(found) == set(answers)
    for theirs, ours in (("map", "map"), ("ndcg_cut_10", "ndcg@10"), ("P_4", "p@4")):
        assert np.mean([values[theirs] for values in found.values()]) == pytest.approx(expected[ours], rel=1e-12)


def test_a_line_is_as_trec_has_it(files):
    table = predict(MODEL, DATA, k=20, known="drop", filter=FILTER)
    first = files[0].read_text().splitlines()[0].split(" ")
    side, anchor, relation = (table.column(name)[0] for name in ("side", "anchor", "relation"))
    assert first == [f"{side}-{anchor}-{relation}", "Q0", str(table.column("entity")[0]), "1", "20", "DualEncoder"]
    assert len(files[1].read_text().splitlines()) == 2 * len(DATA.test)


def test_what_cannot_be_written_is_refused(tmp_path):
    other = predict(MODEL, DATA, queries=[(*DATA.test.ids[0, :2].tolist(), -1)], k=2)
    with pytest.raises(InputError, match="these predictions are for other queries"):
        write_trec(other, DATA, tmp_path / "run.trec")
    with pytest.raises(InputError, match="this is the ending of the file of answers"):
        write_trec(predict(MODEL, DATA, k=2), DATA, tmp_path / "run.qrels")
