"""Arrays in pickles: those of plain numbers are read as numpy reads them, all others are refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_pickle

NUMBERS = st.sampled_from(["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    array=NUMBERS.flatmap(lambda kind: st_numpy.arrays(kind, st_numpy.array_shapes(min_dims=1, max_dims=3))),
    protocol=st.integers(0, 5),
    columns_first=st.booleans(),
)
def test_numbers_are_read_as_numpy_reads_them(tmp_path, array, protocol, columns_first):
    array = np.asfortranarray(array) if columns_first else array
    (tmp_path / "a.pickle").write_bytes(pickle.dumps({"ids": array}, protocol=protocol))
    found = read_pickle(tmp_path / "a.pickle")["ids"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


class Filled:
    """An array whose pickle fills it with a state of its own."""

    def __init__(self, *states):
        self.states = states

    def __reduce__(self):
        return np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"), self.states[0]


INT8 = np.dtype("i1")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ((1, (-1, -2), INT8, False, b"ab"), "an array of the shape (-1, -2)"),
        ((1, (2**62, 2), INT8, False, b"ab"), "damaged"),
        ((1, (3,), INT8, False, b"ab"), "damaged"),
        ((1, 2, INT8, False, b"ab"), "an array of the shape 2"),
        ((1, (2,), INT8, False, [1, 2]), "an array of objects"),
        ((1, (2,), np.dtype("O"), False, b"ab" * 8), "which are no plain numbers"),
        ((1, (2,), np.dtype(">i8"), False, b"ab" * 8), "which are no plain numbers"),
        ((1, (2,), np.dtype("U1"), False, b"ab" * 4), "which are no plain numbers"),
        ((1, (2,), "i1", False, b"ab"), "an array of objects"),
        ((1, (2,)), "damaged"),
        (5, "damaged"),
    ],
    ids=repr,
)
def test_arrays_that_cannot_be_are_refused(tmp_path, state, message):
    (tmp_path / "a.pickle").write_bytes(pickle.dumps(Filled(state), protocol=4))
    with pytest.raises(CheckpointError) as caught:
        read_pickle(tmp_path / "a.pickle")
    assert message in str(caught.value)
