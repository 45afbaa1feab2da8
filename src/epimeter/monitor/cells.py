# SPDX-License-Identifier: Apache-2.0
"""The totals of a window as one vector of whole numbers, and as the bytes in which a database and a state keep it.

Layout, 68 numbers of 64 bits: rows, outcomes, and the confidence stated (units, then steps of 2^-44) per range of confidence, the
sum of all stated confidences behind those of the ranges; how many confidences lie in each of 20 cells; then the further facts.
Vectors are added as they are, with the carry of the steps; of two numbers of classes and two scales the larger is kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries.fixed import Fixed, normalised

Cells = NDArray[np.int64]
RANGES, CELLS = 10, 20
"""Ranges of confidence in which calibration is watched, and cells in which confidences are counted."""
ROWS, TRUE, SUM_UNITS, SUM_STEPS, SHOWN = slice(0, 10), slice(10, 20), slice(20, 31), slice(31, 42), slice(42, 62)
NEVER, OFF_SCALE, DELAYS, DELAY, CLASSES, SCALE = range(62, 68)
LARGEST = slice(CLASSES, SCALE + 1)
"""Numbers of which the larger is kept; the scale is a double that is not negative, whose bits are in the same order."""
SIZE = 68
SAID = np.r_[SUM_UNITS.stop - 1, SUM_STEPS.stop - 1, SHOWN]
"""What tells two sets of predictions apart: the sum of their confidences, and how many lie in each cell."""
FEWEST_TO_REPEAT = 20
"""Rows from which a window can be called a repetition of another."""
FURTHER = {
    "never": NEVER,
    "off_scale": OFF_SCALE,
    "scale": SCALE,
    "classes": CLASSES,
    "delays": DELAYS,
    "delay": DELAY,
}
VERSION = b"\x01"
"""First byte of packed vectors; JSON, in which totals were kept before, begins with another."""


def added(cells: Cells) -> Cells:
    """The sum of vectors, along the first axis."""
    made = np.asarray(cells.sum(axis=0))
    _carry(made)
    made[..., LARGEST] = cells[..., LARGEST].max(axis=0)
    return made


def taken_off(cells: Cells, others: Cells) -> Cells:
    """One vector less another; numbers may become negative."""
    made = cells - others
    _carry(made)
    made[LARGEST] = np.maximum(cells[LARGEST], others[LARGEST])
    return made


def _carry(cells: Cells) -> None:
    sums = normalised(cells[..., SUM_UNITS], cells[..., SUM_STEPS])
    cells[..., SUM_UNITS], cells[..., SUM_STEPS] = sums.units, sums.steps


def stated(cells: Cells) -> NDArray[np.float64]:
    """The confidence stated in each range, and over all, as doubles: shape (..., ranges + 1)."""
    return Fixed(cells[..., SUM_UNITS], cells[..., SUM_STEPS]).floats()


def same_stated(cells: Cells, others: Cells) -> NDArray[np.bool_]:
    """Whether two sets of predictions hold the same confidences, to the last bit of their sum."""
    equal = (cells == others)[..., SAID]
    return np.asarray(equal.all(axis=-1))


def bits_of(scale: float) -> int:
    """A scale as it stands among whole numbers."""
    return int(np.float64(scale).view(np.int64))


def plain(cells: Cells) -> dict[str, Any]:
    """A vector as plain values, whole numbers throughout but for the scale."""
    units, steps = cells[SUM_UNITS].tolist(), cells[SUM_STEPS].tolist()
    made: dict[str, Any] = {
        "rows": cells[ROWS].tolist(),
        "true": cells[TRUE].tolist(),
        "prob": [[u, s] for u, s in zip(units[:RANGES], steps[:RANGES], strict=True)],
        "shown": cells[SHOWN].tolist(),
        "stated": [units[RANGES], steps[RANGES]],
    }
    further: dict[str, Any] = {name: int(cells[place]) for name, place in FURTHER.items()}
    further["scale"] = float(cells[SCALE].view(np.float64))
    return made | {name: value for name, value in further.items() if value}


def from_plain(state: dict[str, Any]) -> Cells:
    """The vector back."""
    made = np.zeros(SIZE, np.int64)
    pairs = np.array([*state["prob"], state["stated"]], np.int64).reshape(RANGES + 1, 2)
    for place, name in ((ROWS, "rows"), (TRUE, "true"), (SHOWN, "shown")):
        made[place] = np.array(state[name], np.int64)
    made[SUM_UNITS], made[SUM_STEPS] = pairs.T
    for name, cell in FURTHER.items():
        made[cell] = bits_of(state.get(name, 0.0)) if name == "scale" else state.get(name, 0)
    return made


def packed(cells: Cells) -> bytes:
    """Vectors as bytes, one behind the other."""
    return VERSION + cells.astype("<i8", copy=False).tobytes()


def unpacked(totals: Sequence[Any]) -> Cells:
    """Single vectors, shape (n, 68): as bytes, or as the JSON of before."""
    made = [
        from_plain(json.loads(one))
        if isinstance(one, str) or bytes(one[:1]) == b"{"
        else np.frombuffer(bytes(one), "<i8", SIZE, 1)
        for one in totals
    ]
    return np.array(made, np.int64).reshape(-1, SIZE)
