# SPDX-License-Identifier: Apache-2.0
"""The calibration error of Humanity's Last Exam: bins of a hundred answers by confidence."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import AtLeast
from epimeter.metrics.selective.areas import READ
from epimeter.summaries.rows import OrderedAnswers, OrderedRows


@metric(
    title="Calibration error of Humanity's Last Exam",
    family="selective",
    reads=OrderedAnswers(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    weighted=False,
    equation=r"CE=\sqrt{\sum_b\frac{n_b}{N}\big(\bar y_b-\bar c_b\big)^2}",
    where={"b": "bins of a hundred answers in order of confidence; the last takes what is left over"},
    source="Phan et al. 2025, Humanity's Last Exam, and its published code; Hendrycks, Mazeika and Dietterich 2019 ICLR; "
    "beyond the review",
    matrix=READ,
    pitfalls="The published code leaves out the last bin, up to 199 of the most confident answers, and cuts a run of equal "
    "confidences where a sort happens to leave its answers. Here every bin counts, as in inspect-evals, and a run "
    "goes whole to "
    "the bin that holds its middle. as_printed=True leaves out the last bin and cuts runs, each part with the "
    "run's accuracy: "
    "the published number where no confidences are equal. inspect-evals cuts every percent to a whole one first (87.9 to 87), "
    "which lowers the confidence by up to a point; here it is taken as stated.",
    aliases=("cerr",),
)
def hle_ce(rows: OrderedRows, *, per_bin: Annotated[int, AtLeast(1)] = 100, as_printed: bool = False) -> float:
    """Root mean square gap between confidence and accuracy in bins of a hundred answers.

    Parameters
    ----------
    per_bin
        Answers in a bin.
    as_printed
        As the published code computes it, without the last bin.
    """
    n = rows.n_rows
    if n < (2 * per_bin if as_printed else 1):
        least = f"{2 * per_bin} answers as printed, since the last bin is left out" if as_printed else "one answer"
        raise UndefinedMetricError(f"hle_ce needs at least {least}; got {n}")
    bins = max(1, n // per_bin)
    starts = rows.starts
    run = np.diff(np.append(starts, n))
    gap = np.repeat(rows.levels.residual / run, run)  # every answer of a run with the run's accuracy
    middle = np.repeat(starts + (run - 1) // 2, run)
    place = np.minimum((np.arange(n) if as_printed else middle) // per_bin, bins - 1)
    size = np.bincount(place, minlength=bins)
    total = np.bincount(place, weights=gap, minlength=bins)
    filled = size > 0
    if as_printed:
        filled[-1] = False
    return math.sqrt(math.fsum((total[filled] ** 2 / size[filled]).tolist()) / n)
