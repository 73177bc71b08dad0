"""Counting on a device of torch: on its CPU device all the way, integer for integer; with CUDA where there is a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Dataset, evaluate, load_checkpoint, load_dataset
from kgeval.base.errors import InputError, RunError, ScoreError
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries
from kgeval.models.similarity import PRODUCTS, canonical
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.engine import Engine
from kgeval.ranking.kernels import kernel
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.ranking_task import RankingTask
from tests.conftest import random_dataset
from tests.ranking.test_kernels import COMPILED, Vectors
from tests.ranking.test_screens import pairs_of_all_sizes

torch = pytest.importorskip("torch")

from kgeval.ranking.kernels.device.device_blocks import score_pairs  # noqa: E402
from kgeval.ranking.kernels.device.device_kernel import DeviceKernel, comparison_of  # noqa: E402
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors  # noqa: E402
from kgeval.ranking.kernels.device.screen import bounds_of_answers, bounds_of_candidates  # noqa: E402

DATA = random_dataset(20, entities=120, triples=700)
CPU = torch.device("cpu")


def on_device(query_vectors, entity_vectors, device=CPU):
    products = query_vectors.similarity in PRODUCTS
    everyone = slice(0, len(query_vectors.vectors))
    return (
        DeviceVectors.of_queries(query_vectors, everyone, device),
        DeviceVectors.of_entities(entity_vectors, device, products=products),
    )


def normal(similarity, *, entities=120, dim=8):
    return Vectors(similarity, np.random.default_rng(0).normal(size=(entities, dim)).astype(np.float32))


def same(scorer, dataset=DATA, *, device="torch:cpu", **settings):
    """Whether a device gives the reference's integers; its table."""
    table = evaluate(scorer, dataset, device=device, **settings)
    settings.pop("memory_limit", None)
    assert table.to_pandas().equals(evaluate(scorer, dataset, kernel="reference", **settings).to_pandas())
    return table


def refuse_wrong_decisions(query_vectors, entity_vectors, scores, device=CPU):
    """Each third candidate plays the answer: it must not be decided against itself, nor any other wrongly."""
    similarity, (queries, entities) = query_vectors.similarity, on_device(query_vectors, entity_vectors, device)
    owners, candidates = torch.arange(len(scores), device=device), bounds_of_candidates(similarity, entities)
    for candidate in range(0, scores.shape[1], 3):
        thresholds = torch.from_numpy(scores[:, candidate].copy()).to(device)
        sides = bounds_of_answers(similarity, queries, entities, (thresholds, thresholds), owners), candidates
        found = comparison_of(device)[0](similarity, queries.rounded[owners], entities.rounded, *sides)
        undecided = np.zeros(scores.shape, np.bool_)
        undecided[found.answers.cpu().numpy(), found.candidates.cpu().numpy()] = True
        assert undecided[:, candidate].all()
        sure, above = found.above.cpu().numpy(), scores > scores[:, candidate, None]
        assert (sure == (above & ~undecided).sum(axis=1)).all()


@pytest.mark.parametrize("device", [CPU, pytest.param(torch.device("cuda"), marks=pytest.mark.cuda)], ids=str)
@pytest.mark.parametrize(
    ("similarity", "biased"),
    [*((similarity, False) for similarity in COMPILED), *((name, True) for name in COMPILED if name != "l2")],
)
@pytest.mark.parametrize("dim", [2, 64, 400])
def test_every_pair_is_within_its_own_band(dim, similarity, biased, device):
    refuse_wrong_decisions(*pairs_of_all_sizes(similarity, dim, biased=biased), device)


@pytest.mark.cuda
@pytest.mark.parametrize("similarity", COMPILED)
def test_long_sums_of_one_sign_stay_within_the_band(similarity):
    """Where every addition is cut off, all of them lose in one direction."""
    rng = np.random.default_rng(0)
    queries, entities = rng.random((40, 8000)) + 1, (rng.random((90, 8000)) + 1).astype(np.float32)
    scores = canonical(similarity, queries[:, None], entities.astype(np.float64))
    vectors = QueryVectors(similarity, queries, np.zeros(40)), EntityVectors(entities, np.zeros(90))
    refuse_wrong_decisions(*vectors, scores, torch.device("cuda"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("similarity", COMPILED)
def test_what_encloses_a_score_on_a_device_holds_it(similarity, dtype):
    query_vectors, entity_vectors, scores = pairs_of_all_sizes(similarity, 64, dtype=dtype, biased=True)
    queries, entities = on_device(query_vectors, entity_vectors)
    owners, candidates = (torch.from_numpy(grid.ravel()) for grid in np.indices((40, 90)))
    for memory in (2000, 2**30):
        bounds = score_pairs(similarity, queries, entities, owners, candidates, memory=memory)
        lows, highs = (part.numpy().reshape(40, 90) for part in bounds)
        assert (lows <= scores).all()
        assert (scores <= highs).all()
        sizes = query_vectors.norms[:, None] * entity_vectors.norms + np.abs(scores) + np.abs(entity_vectors.biases)
        assert (highs - lows <= 1e-11 * (1 + sizes)).all()


def test_scales_are_powers_of_two_and_nothing_overflows():
    vectors = np.array([[1e15, 1.0], [3e-40, 0.0], [0.0, 0.0], [5e-324, 1.0]])
    rounded = DeviceVectors.of_queries(QueryVectors("dot", vectors, np.zeros(4)), slice(0, 4), CPU)
    assert torch.isfinite(rounded.rounded).all()
    assert (torch.frexp(rounded.scales).mantissa == 0.5).all()
    lost = vectors - rounded.rounded[:, :2].double().numpy() / rounded.scales.numpy()[:, None]
    assert (np.linalg.norm(lost, axis=1) <= rounded.errors.numpy()).all()


@pytest.mark.parametrize("similarity", COMPILED)
def test_candidates_one_at_a_time_and_one_entity_is_first(similarity):
    few = random_dataset(3, entities=12, triples=60)
    assert len(same(Vectors(similarity, entities=12, dim=2), few, memory_limit=4096))
    alone = Dataset.from_labels(train=[("a", "r", "a")], test=[("a", "r", "a")])
    assert same(Vectors(similarity, entities=1, relations=1), alone).column("candidates").tolist() == [1, 1]


@pytest.mark.parametrize("settings", [{}, {"corruption": Uniform(count=40)}, {"filter": ()}], ids=str)
@pytest.mark.parametrize("similarity", COMPILED)
def test_equal_rows_tie(similarity, settings):
    scorer = normal(similarity)
    scorer.entity = np.tile(scorer.entity[:30], (4, 1))
    table = same(scorer, **settings)
    assert (table.column("tied") > 0).any()
    assert table.work["refined"]


@pytest.mark.parametrize("protocol", ["libkge", "ampligraph", "openke"])
def test_tie_intervals_of_protocols(protocol):
    same(normal("dot"), protocol=protocol)


@pytest.mark.parametrize("similarity", COMPILED)
def test_counts_from_other_scores_than_the_answers(similarity):
    """An answer is then a candidate as any other."""
    queries = Queries.of(DATA.test, "tail")
    whole = RankingTask.of(queries, Candidates.shared(np.arange(120)), known_answers(queries, [DATA.train]))
    scorer = normal(similarity)
    scores = Engine(kernel("reference")).rank(scorer, whole).scores
    for shift in (-0.5, 0.0, 1e-12):
        task = whole.counted_from(scores + shift)
        ours, theirs = (Engine(made).rank(scorer, task) for made in (DeviceKernel(CPU, 2**28), kernel("reference")))
        for name in ("raw", "filtered"):
            for counts in ("greater", "tied", "candidates"):
                assert (getattr(getattr(ours, name), counts) == getattr(getattr(theirs, name), counts)).all()


def test_what_has_no_bound_is_left_to_the_processor_and_said():
    huge, biased = normal("dot"), normal("l2")
    huge.entity = huge.entity.astype(np.float64) * 1e150
    biased.bias = np.arange(120) / 100
    for scorer, why in ((huge, "rounding has no bound"), (biased, "distances with biases")):
        table = same(scorer)
        assert any(why in note for note in table.notes)
        assert table.work["screened"] in (0, 2 * len(DATA.test) * 120)


def test_nan_is_refused_or_worst_as_everywhere():
    scorer = normal("dot")
    scorer.entity[7] = np.nan
    with pytest.raises(ScoreError, match="NaN for"):
        evaluate(scorer, DATA, device="torch:cpu")
    table = same(scorer, nan="worst")
    assert any("or NaN" in note for note in table.notes)


class Live:
    """A model whose scores are tensors, in few values each, so that many tie."""

    num_entities, num_relations = 120, 4

    def __init__(self, dtype, hole=False):
        self.table = torch.randint(-3, 4, (4, 120, 120), generator=torch.Generator().manual_seed(0)).to(dtype)
        if hole:
            self.table[:, :, 7] = torch.nan

    def scores(self, queries, candidates):
        return self.score_tensor(queries, candidates, CPU).double().numpy()

    def score_tensor(self, queries, candidates, device):
        if device != CPU:
            return None
        rows = self.table[queries.relations, queries.anchors]
        ids = torch.from_numpy(candidates)
        return rows[:, ids] if ids.ndim == 1 else torch.take_along_dim(rows, ids, dim=1)


@pytest.mark.parametrize("settings", [{}, {"corruption": Uniform(count=40)}, {"protocol": "libkge"}], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_finished_scores_are_counted_where_they_are(dtype, settings, monkeypatch):
    expected = evaluate(Live(dtype), DATA, kernel="reference", **settings).to_pandas()
    assert (expected["tied"] > 0).any()
    monkeypatch.setattr("kgeval.ranking.engine.Engine.finished_scores", None)
    for limit in ("50kB", None):
        found = evaluate(Live(dtype), DATA, device="torch:cpu", memory_limit=limit, **settings)
        assert found.to_pandas().equals(expected)


def test_nan_in_tensors():
    with pytest.raises(ScoreError, match="candidate e0007"):
        evaluate(Live(torch.float32, hole=True), DATA, device="torch:cpu")
    same(Live(torch.float32, hole=True), nan="worst")


def hold_few(monkeypatch, most):
    """Let the device's memory hold so many candidates; the widths of the chunks that it was to hold."""
    whole, widths = DeviceVectors.of_entities, []

    def small(entities, device, *, products):
        widths.append(len(entities.biases))
        if widths[-1] > most:
            raise torch.cuda.OutOfMemoryError
        return whole(entities, device, products=products)

    monkeypatch.setattr(DeviceVectors, "of_entities", small)
    return widths


@pytest.mark.parametrize("similarity", ["dot", "modulus"])
def test_a_device_that_runs_out_of_memory_takes_less(similarity, monkeypatch):
    widths = hold_few(monkeypatch, 20)
    same(normal(similarity))
    assert [width for width in widths if width > 20] == [120, 60, 30]
    same(normal(similarity), corruption=Uniform(count=40))
    hold_few(monkeypatch, 0)
    with pytest.raises(RunError, match="no memory left for a single candidate"):
        evaluate(normal(similarity), DATA, device="torch:cpu")


def test_where_most_scores_are_equal_the_processor_takes_over():
    table = same(Vectors("dot", np.ones((120, 8), np.float32)), memory_limit=100_000)
    assert table.work["screened"] < 2 * len(DATA.test) * 120
    assert any("nearly equal" in note for note in table.notes)


@pytest.mark.parametrize("name", ["complex", "distmult", "rotate", "transe", "transe-l2", "pairre"])
def test_real_models_rank_alike(shared, name):
    model = load_checkpoint(shared / f"checkpoints/pykeen/umls-{name}")
    data = load_dataset(shared / "checkpoints/pykeen/_data/umls")
    table = evaluate(model, data, device="torch:cpu")
    assert table.to_pandas().equals(evaluate(model, data).to_pandas())
    assert not table.work["on_host"]


def test_devices_that_are_not_there_are_refused(monkeypatch):
    def refuse(message, device, **settings):
        with pytest.raises(InputError, match=message):
            evaluate(normal("dot"), DATA, device=device, **settings)

    refuse(r"device: unknown device 'gpu'. Choose auto, cpu, cuda, or one GPU", "gpu")
    refuse("kernel: 'compiled' runs on the CPU", "cuda", kernel="compiled")
    refuse(r"device: unknown device 'cuda:0,cuda:1'", "cuda:0,cuda:1")
    monkeypatch.setattr("torch.version.cuda", None)
    refuse(r"is built without CUDA. Install", "cuda")
    monkeypatch.setattr("torch.version.cuda", "12.4")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    refuse(r"torch finds no GPU. Check whether nvidia-smi", "cuda:1")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    refuse(r"device: cuda:3, this machine has 2 GPUs \(cuda:0, cuda:1\)", "cuda:3")


@pytest.mark.cuda
@pytest.mark.parametrize("settings", [{}, {"corruption": Uniform(count=40)}], ids=str)
@pytest.mark.parametrize("similarity", COMPILED)
def test_a_gpu_gives_the_references_integers(similarity, settings):
    data = random_dataset(21, entities=1000, triples=3000)
    same(normal(similarity, entities=1000, dim=200), data, device="cuda", **settings)
