# SPDX-License-Identifier: Apache-2.0
"""True calibration functions: how often comes true what is stated with a probability, by how strong a fault there is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from epimeter.special import expit, logit

Floats = NDArray[np.float64]
Shape = Callable[[Floats, float], Floats]
"""From probabilities and a strength to the probabilities that hold."""


def calibrated(prob: Floats, strength: float) -> Floats:
    """What is said is what comes."""
    return prob


def scaled(prob: Floats, strength: float) -> Floats:
    """The logit times the strength: below 1 the forecasts are too bold, above 1 too timid."""
    return np.asarray(expit(strength * logit(prob)))


def wavy(prob: Floats, strength: float) -> Floats:
    """Too much and too little in turns, so that the errors cancel in the mean."""
    return prob + strength * prob * (1 - prob) * np.sin(4 * np.pi * prob)


def warmed(prob: Floats, strength: float) -> Floats:
    """The forecasts at a temperature: above 1 it mends forecasts that are too bold."""
    return np.asarray(expit(logit(prob) / strength))


def shifted(prob: Floats, strength: float) -> Floats:
    """The logit moved: below 0 the event is rarer than stated."""
    return np.asarray(expit(logit(prob) + strength))


def noisy(prob: Floats, strength: float) -> Floats:
    """Labels that were written down wrongly in a share of the rows."""
    return (1 - 2 * strength) * prob + strength


def warmed_classes(prob: Floats, strength: float) -> Floats:
    """Every class at a temperature."""
    score = np.log(prob) / strength
    chance = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def noisy_classes(prob: Floats, strength: float) -> Floats:
    """A share of the labels is any class at random."""
    return np.asarray((1 - strength) * prob + strength / prob.shape[1])


WHOLE: dict[Shape, Shape] = {warmed: warmed_classes, noisy: noisy_classes}
"""Faults that touch every class; the others touch the top label, and the other classes share what is left as before."""
