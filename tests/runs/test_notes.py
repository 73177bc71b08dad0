"""Notes on several models: what holds for all of them is said once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kgeval.runs.outcome import notes_by_model


def outcomes(**notes):
    return [SimpleNamespace(name=name, notes=tuple(told)) for name, told in notes.items()]


@pytest.mark.parametrize(
    ("models", "told"),
    [
        (outcomes(a=["leak", "tied"], b=["leak"], c=["drawn", "leak"]), ["leak", "a: tied", "c: drawn"]),
        (outcomes(a=["leak"], b=[]), ["a: leak"]),
        (outcomes(a=["leak"]), ["a: leak"]),
        ([SimpleNamespace(name="", notes=("leak",))], ["leak"]),
        ([], []),
    ],
)
def test_what_holds_for_every_model_is_said_once(models, told):
    assert notes_by_model(models) == told
