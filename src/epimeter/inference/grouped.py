# SPDX-License-Identifier: Apache-2.0
"""Tests where rows come in groups: one row of each group is taken, many times.

Answers to one question depend on each other in a way nobody knows. A test on one answer a question needs no knowledge of it;
which answer is taken is chosen at random, and so that the verdict does not hang on the choice it is made several times. Twice the
mean of p-values is a p-value whatever their dependence (Rueschendorf 1982; Vovk and Wang 2020, Biometrika 107).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError

CHOICES = 20
"""How often one row of each group is chosen."""


def has_repeats(groups: Any, n_rows: int) -> bool:
    """Whether any group has more than one row."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise InputError(f"groups must have one label per row, {n_rows}; got shape {labels.shape}", field="groups")
    return len(np.unique(labels)) < n_rows


def choices_of_one(groups: Any, seed: int) -> list[NDArray[np.int64]]:
    """One row of each group, chosen at random, several times; in the order of the rows."""
    number = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    order = np.argsort(number, kind="stable")
    size = np.bincount(number)
    start = np.cumsum(size) - size
    made = []
    for choice in range(CHOICES):
        uniform = np.random.Generator(np.random.PCG64([seed, choice])).random(len(size))
        made.append(np.sort(order[start + np.floor(uniform * size).astype(np.int64)]))
    return made


def mean_p_value(p_values: Sequence[float]) -> float:
    """Twice the mean of p-values, at most 1."""
    return min(1.0, 2.0 * float(np.mean(p_values)))
