"""The arguments of ``evaluate`` and of the generators: refused by name, with the nearest valid value."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import evaluate
from kgeval.base.errors import ConfigError, InputError
from kgeval.base.threads import threads as own_threads
from kgeval.ranking.corruption import FileNegatives, Uniform
from kgeval.ranking.evaluation import Evaluation
from tests.conftest import random_dataset


def scores(heads, relations, tails):
    return (heads * 7 + relations * 3 + tails * 5) % 11


@pytest.fixture(scope="module")
def graph():
    return random_dataset()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "tst"}, "split: there is no split and no file 'tst'. Did you mean 'test'?"),
        ({"sides": "tial"}, "sides.0: unknown value 'tial'. Did you mean 'tail'?"),
        ({"sides": ["tail", "tail"]}, "sides: a side is repeated in ['tail', 'tail']. Name each side once."),
        ({"sides": []}, "sides: expected at least 1 of them, found []."),
        ({"sides": 5}, "sides: expected a list, found 5."),
        ({"filter": "trian"}, "filter.0: there is no split and no file 'trian'. Did you mean 'train'?"),
        ({"filter": ["train", 3]}, "filter.1: expected text, found 3."),
        ({"corruption": "uniform"}, "corruption: expected a block with the key 'kind', found 'uniform'. Choose"),
        ({"corruption": {"kind": "unifrm"}}, "corruption: unknown kind 'unifrm'. Did you mean 'uniform'?"),
        ({"corruption": {"kind": "uniform"}}, "corruption.count: required, but missing."),
        ({"unseen": "worts"}, "unseen: unknown value 'worts'. Did you mean 'worst'?"),
        ({"nan": None}, "nan: unknown value None. Choose one of 'error', 'worst'."),
        ({"batch_size": 0}, "batch_size: expected at least 1, found 0."),
        ({"batch_size": 1.5}, "batch_size: expected a whole number, found 1.5."),
        ({"threads": "2"}, "threads: expected a whole number, found '2'."),
        ({"kernel": "compild"}, "kernel: unknown value 'compild'. Did you mean 'compiled'?"),
    ],
)
def test_a_bad_argument_is_named(graph, arguments, message):
    with pytest.raises(InputError) as refusal:
        evaluate(scores, graph, **arguments)
    first, line = str(refusal.value).splitlines()
    assert first == "arguments of the evaluation:"
    assert line.strip().startswith(message)


def test_all_bad_arguments_are_named_at_once(graph):
    with pytest.raises(InputError) as refusal:
        evaluate(scores, graph, split="tst", sides="tial", threads=0)
    named = [line.split(":")[0].strip() for line in str(refusal.value).splitlines()[1:]]
    assert named == ["split", "sides.0", "threads"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(count=0), "count: expected at least 1, found 0."),
        (lambda: Uniform(count=5, sed=1), "sed: unknown key 'sed'. Did you mean 'seed'?"),
        (lambda: FileNegatives(path=5), "path: expected text, found 5."),
        (lambda: Evaluation(spilt="test"), "spilt: unknown key 'spilt'. Did you mean 'split'?"),
    ],
)
def test_settings_refuse_bad_arguments(make, message):
    """What ``kgeval negatives`` says of more of them is frozen in tests/contracts/frozen/refusals.json."""
    with pytest.raises(InputError) as refusal:
        make()
    assert str(refusal.value).splitlines()[1].strip() == message


@pytest.mark.parametrize("protocol", [3, ["standard"], None, np.str_])
def test_a_protocol_has_a_name(graph, protocol):
    with pytest.raises(ConfigError, match="protocol: expected a name, found"):
        evaluate(scores, graph, protocol=protocol)


# Threads


def threads():
    """How many threads each library would use now."""
    import torch
    from threadpoolctl import threadpool_info

    pools = {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}
    return {"kgeval": own_threads(), "torch": torch.get_num_threads(), **pools}


def test_threads_bind_every_library_and_only_for_a_while(graph, two_threads):
    np.ones((2, 2)) @ np.ones((2, 2))
    before, during = threads(), []

    def watched(heads, relations, tails):
        during.append(threads())
        return scores(heads, relations, tails)

    evaluate(watched, graph, threads=1)
    assert len(before) >= 3
    assert all(count == 1 for seen in during for count in seen.values())
    assert before.items() <= threads().items()
    with pytest.raises(ZeroDivisionError):  # a failure releases them too
        evaluate(lambda heads, relations, tails: 1 // 0, graph, threads=1)
    assert before.items() <= threads().items()
