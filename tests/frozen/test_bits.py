# SPDX-License-Identifier: Apache-2.0
"""The default report of two hundred random data sets has the bits it had, on whatever machine this runs."""

import json

import pytest
from data_sets import BITS, SEEDS, values

THEN = json.loads(BITS.read_text())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_values_have_the_bits_they_had(seed):
    assert values(seed) == THEN[str(seed)]
