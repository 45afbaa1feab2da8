# SPDX-License-Identifier: Apache-2.0
"""The logarithm of the core has the bits of its slow twin, at every level of the processor."""

import math

import numpy as np
import pytest
import twins

from epimeter.core import lib
from epimeter.summaries.logarithm import log


def numbers():
    rng = np.random.default_rng(0)
    ends = [0.0, -0.0, 5e-324, 1e-310, 2.0**-1022, math.sqrt(0.5), np.nextafter(1, 0), 1.0, math.sqrt(2), 1e308]
    return np.concatenate([ends, rng.random(5001), 10.0 ** -(rng.random(3000) * 320), 2.0 ** rng.uniform(-1, 1, 3000)])


@pytest.mark.parametrize("level", [1, 3, 4])
def test_the_logarithm_has_the_bits_of_its_slow_twin(level):
    x = numbers()
    best = lib.epi_level()
    try:
        lib.epi_limit_level(level)
        np.testing.assert_array_equal(log(x).view(np.int64), twins.log(x).view(np.int64))
        np.testing.assert_array_equal(log(x[20:29].reshape(3, 3).T), twins.log(x[20:29].reshape(3, 3).T))
    finally:
        lib.epi_limit_level(best)


def test_the_logarithm_is_near_the_true_one():
    x = numbers()[2:]
    np.testing.assert_allclose(log(x), np.log(x), rtol=5e-16, atol=1e-17)
