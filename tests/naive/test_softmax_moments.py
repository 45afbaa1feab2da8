# SPDX-License-Identifier: Apache-2.0
"""The loop of temperature scaling against its definition, with the same bits at every level of the processor."""

import math

import numpy as np
import pytest

from epimeter.core import lib
from epimeter.core.class_loops import softmax_moments
from epimeter.errors import EpimeterError


def by_definition(row, cold):
    top = max(cold * s for s in row)
    chance = [math.exp(cold * s - top) for s in row]
    total = math.fsum(chance)
    mean = math.fsum(c * s for c, s in zip(chance, row, strict=True)) / total
    return top, total, mean, math.fsum(c * (s - mean) ** 2 for c, s in zip(chance, row, strict=True)) / total


@pytest.mark.parametrize("cold", [0.01, 0.7, 1.0, 3.1, 100.0])
@pytest.mark.parametrize("classes", [1, 2, 3, 7, 8, 9, 15, 16, 17, 100])
def test_the_moments_are_those_of_the_definition(classes, cold):
    score = np.random.default_rng(classes).normal(scale=8.0, size=(40, classes))
    score[1] = 0.0  # all classes alike
    score[2, 0] = -27.6  # as little as a clipped probability can say
    # A mean near 0 is a difference of scores: it is as exact as they are large.
    np.testing.assert_allclose(
        softmax_moments(score, cold).T, [by_definition(row, cold) for row in score], rtol=4e-14, atol=1e-14
    )


@pytest.mark.parametrize("classes", [2, 10, 37])
def test_every_level_of_the_processor_gives_the_same_bits(classes):
    score = np.random.default_rng(1).normal(scale=5.0, size=(500, classes))
    best = lib.epi_level()
    made = []
    try:
        for level in (1, 3, 4):
            lib.epi_limit_level(level)
            made.append(softmax_moments(score, 1.3).tobytes())
    finally:
        lib.epi_limit_level(best)
    assert made[0] == made[1] == made[2]


def test_a_chance_too_small_for_a_normal_number_counts_as_none():
    assert softmax_moments(np.array([[0.0, -8.0]]), 100.0).T.tolist() == [[0.0, 1.0, 0.0, 0.0]]


def test_an_inverse_temperature_must_be_positive():
    with pytest.raises(EpimeterError):
        softmax_moments(np.zeros((1, 2)), 0.0)
