# SPDX-License-Identifier: Apache-2.0
"""An interval holds the value that stands beside it, in every report and by every method."""

import numpy as np
import pytest

import epimeter
from epimeter.results import Interval


@pytest.mark.parametrize("seed", range(6))
def test_no_line_stands_outside_its_interval(seed):
    rng = np.random.default_rng(seed)
    n = (60, 300)[seed % 2]
    said = rng.random(n)
    came = rng.random(n) < said
    mean = rng.normal(size=n)
    reports = [epimeter.evaluate(came, said, intervals=how, draws=199) for how in ("asymptotic", "bootstrap")]
    reports.append(epimeter.evaluate_forecasts(mean + rng.normal(size=n), mean=mean, std=np.ones(n), draws=199))
    for line in (line for report in reports for line in report.measurements if line.interval is not None):
        corrected = line.value < 0 == line.interval.low  # an estimate of what cannot be negative, less its bias
        assert line.interval.low <= line.value <= line.interval.high or corrected, line


def test_what_is_widened_says_so():
    made = Interval(low=0.0, high=0.02, level=0.95, method="basic bootstrap")
    assert made.holding(0.01) is made and made.holding(-0.01) is made
    assert made.holding(0.03).high == 0.03 and made.holding(0.03).method.endswith("widened to hold the value")
