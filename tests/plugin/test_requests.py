"""The arguments of the evaluator: odd forms are taken, wrong ones refused, and none changes the evaluator."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest
from pykeen.evaluation import Evaluator

from kgeval.errors import DatasetError, InputError, MetricError
from kgeval.pykeen import KGEvalEvaluator
from tests.plugin.conftest import assert_same_ranks


@pytest.fixture
def model(make):
    return make("DistMult", embedding_dim=8)


@pytest.fixture
def test(graph):
    return graph.testing.mapped_triples


def evaluated(model, triples, evaluator=None, **request):
    evaluator = evaluator or KGEvalEvaluator()
    evaluator.evaluate(model, triples, use_tqdm=False, **request)
    return evaluator.table


def test_it_takes_what_pykeens_evaluators_take():
    ours, theirs = (inspect.signature(kind.evaluate).parameters for kind in (KGEvalEvaluator, Evaluator))
    assert [(name, each.default) for name, each in ours.items()] == [
        (name, each.default) for name, each in theirs.items()
    ]


def test_arrays_and_one_word_do_as_well(model, test, known, theirs):
    _, ranks = theirs(model, test, additional_filter_triples=known, targets=["tail"])
    arrays = [part.numpy() for part in known]
    assert_same_ranks(evaluated(model, test.int(), additional_filter_triples=known, targets="tail"), ranks)
    assert_same_ranks(evaluated(model, test.numpy(), additional_filter_triples=arrays, targets="tail"), ranks)
    _, ranks = theirs(model, test, additional_filter_triples=known[0])
    assert_same_ranks(evaluated(model, test, additional_filter_triples=arrays[0]), ranks)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"restrict_entities_to": [*range(10), 99]}, "ids from 0 to 99, and the model's are 0 to 13"),
        ({"restrict_entities_to": ["usa"]}, "not to 'usa'"),
        ({"restrict_entities_to": []}, "restrict_entities_to is empty"),
        ({"additional_filter_triples": np.array([[0, 77, 1]])}, "filter 0, triple 0 names relation id 77"),
        ({"batch_size": 0}, "batch_size: expected at least 1"),
        ({"targets": "tial"}, "Did you mean 'tail'"),
    ],
)
def test_what_cannot_be_meant_is_refused(model, test, request_, message):
    with pytest.raises((InputError, DatasetError), match=message):
        evaluated(model, test, pre_filtered_triples=False, **request_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filtered": "no"}, "filtered is True or False, found 'no'"),
        ({"unseen": "drop"}, "no option 'unseen'"),
        ({"memory_limit": "lots"}, "expected bytes, such as 2000000000 or 2GB, found 'lots'"),
    ],
)
def test_odd_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        KGEvalEvaluator(**options)


def test_a_cut_off_of_nothing_is_no_metric():
    with pytest.raises(MetricError, match="whole number of at least 1"):
        KGEvalEvaluator.metric_result_cls.key_from_string("hits@0")


@pytest.mark.parametrize("size", [-3, 0, "many", 2.5])
def test_batch_sizes_that_are_none_are_refused_at_once(size):
    with pytest.raises(InputError, match="batch_size"):
        KGEvalEvaluator(batch_size=size)


def test_the_mode_of_another_kind_of_model_is_refused(model, test):
    with pytest.raises(InputError, match="DistMult has no entities for mode='testing'"):
        evaluated(model, test, KGEvalEvaluator(mode="testing"))


def test_arguments_of_metrics_stay_with_their_metrics(model, test):
    evaluator = KGEvalEvaluator(
        metrics=["ndcg@10", "hits@k", "mrr"], metrics_kwargs=[None, {"k": 7}, None], add_defaults=False
    )
    results = evaluator.evaluate(model, test, use_tqdm=False).to_flat_dict()
    assert {"both.realistic.hits_at_7", "both.expected.ndcg@10", "both.optimistic.inverse_harmonic_mean_rank"} < {
        *results
    }


def test_nothing_of_one_evaluation_is_left_in_the_next(make, model, test, known):
    """Another model, with other entities, other candidates and another filter."""
    reused, other = KGEvalEvaluator(), make("TransD", embedding_dim=4)
    evaluated(model, test, reused, additional_filter_triples=known, restrict_entities_to=range(14), batch_size=3)
    assert evaluated(other, test[:20], reused, targets=["head"]).data.equals(
        evaluated(other, test[:20], targets=["head"]).data
    )


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_evaluators_and_results_can_be_copied_and_pickled(model, test, twin):
    evaluator = KGEvalEvaluator(metrics=["ndcg@10"], corruption={"kind": "uniform", "count": 4})
    results = evaluator.evaluate(model, test, use_tqdm=False)
    assert twin(evaluator).table.data.equals(evaluator.table.data)
    assert twin(results).to_flat_dict() == results.to_flat_dict()
    assert evaluated(model, test, twin(evaluator)).data.equals(evaluator.table.data)
