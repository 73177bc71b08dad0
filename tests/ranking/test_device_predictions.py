"""Predictions on a device of torch: the best answers are those of the reference, in its order and with its counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgeval import load_checkpoint, load_dataset, predict
from kgeval.base.errors import RunError, ScoreError
from kgeval.data.queries import Rows
from kgeval.ranking.kernels import kernel
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from tests.conftest import random_dataset
from tests.ranking.test_device import Live, hold_few
from tests.ranking.test_kernels import COMPILED, Vectors
from tests.ranking.test_screens import pairs_of_all_sizes

torch = pytest.importorskip("torch")

from kgeval.ranking.kernels.device.device_kernel import DeviceKernel  # noqa: E402
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors  # noqa: E402

DATA = random_dataset(20, entities=120, triples=300)
CPU = torch.device("cpu")


def few_values(similarity, **shape):
    """Whole numbers, of which most tie; no biases where distances have no screen with them."""
    scorer = Vectors(similarity, entities=120, **shape)
    scorer.bias = scorer.bias * (similarity != "l2")
    return scorer


def same(scorer, dataset=DATA, *, device="torch:cpu", memory_limit=None, **request):
    """Whether a device predicts what the reference does; its table."""
    table = predict(scorer, dataset, device=device, memory_limit=memory_limit, **request)
    assert table.data.equals(predict(scorer, dataset, kernel="reference", **request).data)
    return table


def refuse_other_best(queries, entities, k, *, known=None, drops_known=False, chunk=None, device=CPU, memory=2**28):
    """Select by the device and by the reference, chunk by chunk; return the device's kernel."""
    total, width = len(queries.vectors), len(entities.biases)
    known = Rows.of([[]] * total) if known is None else known
    found, on_device = [], DeviceKernel(device, memory)
    for made in (on_device, kernel("reference")):
        best = BestAnswers.none(known, k, drops_known=drops_known)
        for start in range(0, width, chunk or width):
            part = slice(start, start + (chunk or width))
            made.select_shared(queries, EntityVectors(entities.vectors[part], entities.biases[part]), start, best)
        found.append(best)
    assert (found[0].undefined == found[1].undefined).all()
    for name in ("scores", "positions", "tied"):
        ours, theirs = (getattr(best, name)[~best.undefined] for best in found)
        assert (ours == theirs).all(), name
    return on_device


@pytest.mark.parametrize(
    ("similarity", "known"), [*((similarity, "keep") for similarity in COMPILED), ("dot", "drop"), ("l1", "drop")]
)
def test_ties_are_in_the_order_of_their_ids_and_counted(similarity, known):
    scorer = few_values(similarity)
    for k, limit in ((1, None), (7, None), (7, "60kB"), (200, None)):
        table = same(scorer, k=k, known=known, memory_limit=limit)
        assert (table.column("tied") > 0).any()
        assert limit or k == 200 or not table.work["on_host"]


@pytest.mark.parametrize("device", [CPU, pytest.param(torch.device("cuda"), marks=pytest.mark.cuda)], ids=str)
@pytest.mark.parametrize("similarity", COMPILED)
def test_sizes_from_the_tiny_to_the_large(similarity, device):
    for biased in (False, similarity != "l2"):
        for dim in (2, 64):
            queries, entities, _ = pairs_of_all_sizes(similarity, dim, biased=biased)
            for k in (1, 5):
                ours = refuse_other_best(queries, entities, k, chunk=40, device=device)
                assert not ours.on_host


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # of the reference, which squares 1e200
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_vectors_are_selected_as_the_reference_does(data):
    numbers = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1 + 2.0**-23, 1e-30, -1e-30, 5e-324, 1e10, 3e20, 1e200])
    similarity, dim = data.draw(st.sampled_from(COMPILED)), data.draw(st.sampled_from([2, 4]))
    queries = QueryVectors(
        similarity,
        data.draw(arrays(np.float64, (4, dim), elements=numbers)),
        data.draw(arrays(np.float64, 4, elements=numbers)),
    )
    vectors = data.draw(arrays(np.float64, (12, dim), elements=numbers))
    biases = data.draw(arrays(np.float64, 12, elements=numbers)) * data.draw(st.sampled_from([0.0, 1.0]))
    known = Rows.of([sorted(data.draw(st.sets(st.integers(0, 11)))) for _ in range(4)])
    refuse_other_best(
        queries,
        EntityVectors(vectors, biases),
        data.draw(st.integers(1, 14)),
        known=known,
        drops_known=data.draw(st.booleans()),
        chunk=data.draw(st.integers(3, 12)),
    )


def test_few_candidates_are_scored_canonically():
    rng = np.random.default_rng(0)
    queries = QueryVectors("dot", rng.normal(size=(300, 100)), np.zeros(300))
    entities = EntityVectors(rng.normal(size=(2000, 100)).astype(np.float32), np.zeros(2000))
    work = refuse_other_best(queries, entities, 10).stats()
    assert work["screened"] == 300 * 2000
    assert work["rescored"] <= 1.01 * 300 * 10
    assert work["refined"] < 0.05 * work["screened"]


@pytest.mark.parametrize("known", ["keep", "drop"])
def test_equal_rows_and_fewer_candidates_than_places(known):
    scorer = few_values("dot")
    scorer.entity = np.tile(scorer.entity[:30], (4, 1))
    same(scorer, k=3, known=known)
    table = same(scorer, k=119, known=known, nan="worst")
    assert any("nearly equal" in what for what in table.work["on_host"])


def test_a_device_that_runs_out_of_memory_takes_less(monkeypatch):
    widths = hold_few(monkeypatch, 20)
    same(few_values("dot"), k=3)
    assert [width for width in widths if width > 20] == [120, 60, 30]
    hold_few(monkeypatch, 0)
    with pytest.raises(RunError, match="no memory left for a single candidate"):
        same(few_values("dot"), k=3)


def test_nothing_is_merged_twice_where_memory_ends_in_the_middle(monkeypatch):
    whole, calls = DeviceVectors.of_queries, []

    def second_fails(queries, part, device):
        calls.append(part)
        if len(calls) == 2:
            raise torch.cuda.OutOfMemoryError
        return whole(queries, part, device)

    monkeypatch.setattr(DeviceVectors, "of_queries", second_fails)
    queries, entities, _ = pairs_of_all_sizes("dot", 2, biased=True)
    five_queries_a_block = 5 * 128 * (1 + queries.vectors.shape[1])
    ours = refuse_other_best(queries, entities, 3, memory=five_queries_a_block)
    assert calls[:3] == [slice(0, 5), slice(5, 10), slice(0, 40)]  # after the failure, all of it again
    assert not ours.on_host


def test_numbers_without_a_bound_are_left_to_the_processor():
    scorer = few_values("dot")
    scorer.entity = scorer.entity.astype(np.float64) * 1e150
    table = same(scorer, k=3)
    assert any("rounding has no bound" in note for note in table.notes)
    scorer.entity[7] = np.nan
    with pytest.raises(ScoreError, match="NaN for"):
        predict(scorer, DATA, k=3, device="torch:cpu")
    same(scorer, k=3, nan="worst")


@pytest.mark.parametrize("known", ["keep", "drop"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_finished_scores_are_selected_where_they_are(dtype, known, monkeypatch):
    live = Live(dtype)
    live.table[:, :, 5], live.table[:, :, 9], live.table[:, ::2, 11] = -torch.inf, -0.0, torch.inf
    expected = {k: predict(live, DATA, k=k, known=known, kernel="reference").data for k in (1, 3, 119)}
    assert (expected[3]["tied"].to_numpy() > 0).any()
    monkeypatch.setattr("kgeval.ranking.engine.Engine.finished_scores", None)
    for k, data in expected.items():
        for limit in ("100kB", None):
            found = predict(live, DATA, k=k, known=known, device="torch:cpu", memory_limit=limit)
            assert found.data.equals(data)


def test_nan_in_tensors_is_refused_or_worst():
    with pytest.raises(ScoreError, match="candidate e0007"):
        predict(Live(torch.float32, hole=True), DATA, device="torch:cpu")
    same(Live(torch.float32, hole=True), k=5, nan="worst")


def test_a_real_model_with_views_predicts_alike(shared):
    model = load_checkpoint(shared / "checkpoints/pykeen/umls-pairre")
    data = load_dataset(shared / "checkpoints/pykeen/_data/umls")
    table = predict(model, data, k=10, device="torch:cpu")
    assert table.data.equals(predict(model, data, k=10).data)
    assert not table.work["on_host"]
