"""What users rest on is as it was: counts, predictions, output, results, formats, names; each contract has a file."""

from __future__ import annotations

import pytest

from tests.contracts.frozen.golden import CONTRACTS, difference, text_of


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_is_kept(name):
    different = difference(name, text_of(name))
    assert not different, f"run scripts/freeze {name} to see it, and scripts/freeze --write to keep it:\n{different}"
