"""Settings are declared once: what functions and commands take are fields, with their defaults and descriptions."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import InputError
from kgeval.base.settings import descriptions
from kgeval.cli import main
from kgeval.cli.options import DescribedOption
from kgeval.ranking.evaluation import Evaluation, EvaluationKeywords
from kgeval.runs.config.run_config import RunConfig
from tests.conftest import random_dataset


def test_keywords_are_the_fields():
    assert get_type_hints(EvaluationKeywords).keys() == Evaluation.model_fields.keys() - {"keep"}  # that is of runs


@pytest.mark.parametrize("name", ["answers", "evaluate", "explain", "predict"])
def test_every_keyword_is_described(name):
    function = getattr(kgeval, name)
    for keyword in inspect.signature(function).parameters.keys() & Evaluation.model_fields.keys():
        words = descriptions(Evaluation)[keyword].split()
        assert f"\n    {keyword}\n" in function.__doc__
        assert " ".join(words) in " ".join(function.__doc__.split())


@pytest.mark.parametrize("call", [kgeval.evaluate, kgeval.predict, kgeval.answers])
def test_an_unknown_keyword_is_refused_with_the_nearest(call):
    with pytest.raises(InputError, match=r"no argument 'thread'\. Did you mean 'threads'"):
        call(lambda h, r, t: h, random_dataset(), thread=1)


def test_numbers_may_be_numpys():
    plain = kgeval.evaluate(lambda h, r, t: h + t, random_dataset(), batch_size=3, threads=2)
    of_numpy = {"batch_size": np.int64(3), "threads": np.uint8(2), "memory_limit": np.int32(10**6)}
    assert kgeval.evaluate(lambda h, r, t: h + t, random_dataset(), **of_numpy).data.equals(plain.data)
    assert kgeval.corruption.Uniform(count=np.int64(3)) == kgeval.corruption.Uniform(count=3)
    for wrong in (np.float64(3), np.bool_(True), np.int64(0)):
        with pytest.raises(InputError, match="batch_size: expected"):
            kgeval.evaluate(lambda h, r, t: h, random_dataset(), batch_size=wrong)


@pytest.mark.parametrize("name", ["answers", "evaluate", "predict", "summarize"])
def test_options_of_the_configuration_are_made_of_its_fields(name):
    fields = {**RunConfig.model_fields, **Evaluation.model_fields}
    rest = {"dataset", "task"}  # of two words each: what is read, and as what
    rest |= (
        {"split", "filter", "times", "history"} if name == "summarize" else set()
    )  # of text files of ranks, not of the run
    options = main.get_command(None, name).params
    made = {option.name for option in options if isinstance(option, DescribedOption) and option.place}
    assert {option.name for option in options} & fields.keys() - rest <= made
    assert made
