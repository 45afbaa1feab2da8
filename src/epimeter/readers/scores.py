# SPDX-License-Identifier: Apache-2.0
"""Scores before softmax into probabilities, where the caller says that a column holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.readers.block import Block

SUMS = 1e-3
"""How far from 1 the rows of a matrix may sum to look like probabilities already."""


MANY = 30
"""Rows from which a column of scores that all lie in [0, 1] is no chance."""


def probabilities(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Softmax of the rows of a matrix, the logistic function of a vector."""
    from scipy.special import expit, softmax

    wide = scores.astype(np.float64)
    return np.asarray(softmax(wide, axis=1) if wide.ndim == 2 else expit(wide))


def are_probabilities(scores: NDArray[Any]) -> bool:
    """Whether what is said to be scores looks like probabilities already: no softmax is meant to be taken twice."""
    if scores.ndim == 1:
        return len(scores) >= MANY and bool(((scores >= 0) & (scores <= 1)).all())
    known = scores[~np.isnan(scores).any(axis=1)]
    return bool(len(known)) and bool((known >= 0).all()) and bool((np.abs(known.sum(axis=1) - 1) <= SUMS).all())


def turned(block: Block, name: str, scores: NDArray[Any]) -> NDArray[np.float64]:
    """The scores of a block as probabilities; infinite ones are refused with their place in the file."""
    bad = np.isinf(scores)
    if bad.any():
        rows = bad if bad.ndim == 1 else bad.any(axis=1)
        first = scores[rows][0] if bad.ndim == 1 else scores[rows][0][bad[rows][0]][0]
        raise block.fault(name, "must be finite scores", rows, f"has {first}")
    if are_probabilities(scores):
        raise block.fault(
            name,
            "must hold scores before softmax",
            0,
            "and all others have probabilities already",
            "Leave --logits out",
            1,
        )
    return probabilities(scores)
