"""Candidates chosen per relation, in PyKEEN: ranks are those of brute force, also where PyKEEN restricts and stops."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from pykeen.evaluation import LCWAEvaluationLoop
from pykeen.pipeline import pipeline

import kgeval.pykeen
from kgeval.base.errors import InputError
from kgeval.pykeen import KGEvalEvaluator
from tests.pykeen.conftest import assert_same_ranks, run, trained

TYPED = {"kind": "typed"}


@pytest.fixture
def fitted(make, graph, request):
    return trained(make(request.param, embedding_dim=8), graph.training)


by_vectors_and_in_blocks = pytest.mark.parametrize("fitted", ["ComplEx", "TransD"], indirect=True)


def brute_force(model, triples, known, *, sides=("head", "tail"), allowed=range(14), listed=None):
    """Rank each answer among what train, the first of the known triples, has on its side of its relation, or a list."""
    train, facts = known[0].tolist(), {tuple(fact) for part in (*known, triples) for fact in part.tolist()}
    ranks = {}
    for side in sides:
        place = {"head": 0, "tail": 2}[side]
        rest = [column for column in (0, 1, 2) if column != place]
        predict = {"head": model.predict_h, "tail": model.predict_t}[side]
        counts = []
        for triple, scores in zip(triples.tolist(), predict(triples[:, rest]).tolist(), strict=True):
            of_type = listed or {fact[place] for fact in train if fact[1] == triple[1]} & set(allowed)
            changed = {entity: (*triple[:place], entity, *triple[place + 1 :]) for entity in of_type}
            rivals = [scores[entity] for entity, fact in changed.items() if fact not in facts]
            answer = scores[triple[place]]
            counts.append([1 + sum(rival > answer for rival in rivals), 1 + sum(rival >= answer for rival in rivals)])
        ranks[side] = [np.array(column) for column in zip(*counts, strict=True)]
    return ranks


def mean_reciprocal(ranks):
    return float(np.mean([2 / (best + worst) for best, worst in ranks.values()]))


@by_vectors_and_in_blocks
@pytest.mark.parametrize("targets", [("head", "tail"), ("head",), ("tail",)])
def test_typed_candidates_are_those_of_brute_force(fitted, test, known, targets):
    request = {"additional_filter_triples": known, "targets": targets}
    results, table = run(fitted, test, KGEvalEvaluator(corruption=TYPED), **request)
    expected = brute_force(fitted, test, known, sides=targets)
    assert_same_ranks(table, expected)
    assert results.get_metric("mrr") == pytest.approx(mean_reciprocal(expected), rel=1e-12)
    assert (table.column("candidates") < run(fitted, test, **request)[1].column("candidates")).any()


def test_lists_and_types_name_entities_by_their_ids(model, test, known, tmp_path):
    """All of one type compete for every relation, as all on a list do; a union adds what another list has."""
    listed = {0, 3, 4, 8, 11}
    for name, entities in (("list.txt", listed), ("more.txt", {1, 2, 3})):
        (tmp_path / name).write_text("".join(f"{entity}\n" for entity in entities))
    (tmp_path / "types.tsv").write_text("".join(f"{entity}\tstate\n" for entity in range(14)))
    of_list, more = ({"kind": "entities", "path": str(tmp_path / name)} for name in ("list.txt", "more.txt"))
    for corruption, competing in (
        (of_list, listed),
        ({"kind": "typed", "types": str(tmp_path / "types.tsv")}, set(range(14))),
        ({"kind": "union", "of": [of_list, more]}, listed | {1, 2, 3}),
    ):
        _, table = run(model, test, KGEvalEvaluator(corruption=corruption), additional_filter_triples=known)
        assert_same_ranks(table, brute_force(model, test, known, listed=competing))


@by_vectors_and_in_blocks
def test_typed_candidates_among_those_to_which_the_evaluation_is_restricted(fitted, test, known):
    allowed = [0, 1, 2, 3, 5, 6, 7, 9]
    among = {"restrict_entities_to": allowed, "pre_filtered_triples": False}
    _, table = run(fitted, test, KGEvalEvaluator(corruption=TYPED), additional_filter_triples=known, **among)
    kept = test[torch.isin(test[:, [0, 2]], torch.tensor(allowed)).all(dim=1)]
    assert 0 < len(kept) < len(test)
    assert_same_ranks(table, brute_force(fitted, kept, [*known, test], allowed=allowed))


def test_typed_candidates_in_a_pipeline_that_stops_early(graph, known):
    """The stopper's filter is train alone, as one tensor; the last evaluation's a list that starts with train."""
    result = pipeline(
        dataset=graph,
        model="ComplEx",
        model_kwargs={"embedding_dim": 8},
        training_kwargs={"num_epochs": 2, "use_tqdm": False},
        evaluator="kgeval",
        evaluator_kwargs={"corruption": TYPED},
        evaluation_kwargs={"use_tqdm": False},
        stopper="early",
        stopper_kwargs={"frequency": 1, "patience": 9, "metric": "mrr"},
        random_seed=1,
        device="cpu",
    )
    model = result.model.double().eval()
    stopped = brute_force(model, graph.validation.mapped_triples, known[:1])
    assert result.stopper.results[-1] == pytest.approx(mean_reciprocal(stopped), rel=1e-12)
    last = brute_force(model, graph.testing.mapped_triples, known)
    assert result.metric_results.get_metric("mrr") == pytest.approx(mean_reciprocal(last), rel=1e-12)


@pytest.mark.parametrize("corruption", [TYPED, {"kind": "popular", "count": 3}, {"kind": "degree", "count": 3}])
def test_what_learns_from_train_is_refused_where_there_is_none(model, test, corruption):
    with pytest.raises(InputError, match="additional_filter_triples"):
        run(model, test, KGEvalEvaluator(corruption=corruption))
    with pytest.raises(InputError, match="additional_filter_triples"):  # of which PyKEEN would pass none
        KGEvalEvaluator(filtered=False, corruption=corruption)
    bare = kgeval.Dataset.build(
        "bare",
        {"test": kgeval.Triples.of(test.numpy())},
        entities=kgeval.Vocabulary.numbered(14, "entity"),
        relations=kgeval.Vocabulary.numbered(55, "relation"),
    )
    with pytest.raises(InputError, match=r"chooses candidates by train triples, and dataset .* has none"):
        kgeval.pykeen.evaluate(model, bare, corruption=corruption)


def test_raw_ranks_among_typed_candidates_are_one_call(model, graph, test, known):
    raw = kgeval.pykeen.evaluate(model, graph, filter=[], corruption=TYPED)
    _, table = run(model, test, KGEvalEvaluator(corruption=TYPED), additional_filter_triples=known)
    np.testing.assert_array_equal(raw.column("greater"), table.column("raw_greater"))


def test_an_evaluation_loop_which_scores_everything_cannot_be_restricted(model, graph, known):
    loop = LCWAEvaluationLoop(
        triples_factory=graph.testing,
        model=model,
        evaluator=KGEvalEvaluator(corruption=TYPED),
        additional_filter_triples=known,
    )
    with pytest.raises(InputError, match="'typed' cannot be applied to scores that PyKEEN's evaluation loop"):
        loop.evaluate(batch_size=64, use_tqdm=False, num_workers=0, pin_memory=False)


def test_a_missing_file_of_negatives_is_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(InputError, match=r"none\.tsv: no such file"):
        KGEvalEvaluator(corruption={"kind": "file", "path": str(tmp_path / "none.tsv")})


def test_what_readers_should_know_is_logged_once(model, test, known, caplog):
    evaluator = KGEvalEvaluator(corruption=TYPED)
    with caplog.at_level(logging.WARNING, "kgeval.pykeen.evaluator"):
        for _ in range(2):
            run(model, test, evaluator, additional_filter_triples=known)
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("kgeval")]
    # What is to know of the data is logged once for all evaluators, as trials of a search have one each.
    of_data = [note for note in evaluator.table.notes if "in train" in note]
    assert [note for note in logged if note not in of_data] == [n for n in evaluator.table.notes if n not in of_data]
    caplog.clear()
    run(model, test, KGEvalEvaluator(corruption=TYPED), additional_filter_triples=known)
    assert of_data
    assert not [record for record in caplog.records if record.getMessage() in of_data]
    assert "head answers not of the type of its relation" in caplog.text


def test_a_sample_that_a_restriction_cuts_is_noted(model, test, known):
    request = {"additional_filter_triples": known, "pre_filtered_triples": False, "restrict_entities_to": range(7)}
    _, table = run(model, test, KGEvalEvaluator(corruption={"kind": "uniform", "count": 5}), **request)
    assert any("sampled from all entities, and then restricted" in note for note in table.notes)
