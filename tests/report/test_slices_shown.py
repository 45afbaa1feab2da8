# SPDX-License-Identifier: Apache-2.0
"""Slices as they are shown: every value with its interval, the error without bias beside the biased one, and figures."""

import re

import numpy as np
import pandas
import pytest

from epimeter import scan
from epimeter.errors import InputError


def frame(n_slices=3, n_rows=900):
    rng = np.random.Generator(np.random.PCG64(0))
    prob = rng.random(n_rows)
    true = (rng.random(n_rows) < prob).astype(int)
    return pandas.DataFrame({"y_true": true, "y_prob": prob, "city": [f"city {k % n_slices}" for k in range(n_rows)]})


def test_a_slice_shows_its_intervals_and_the_error_without_bias():
    reports = scan(frame(), by="city")
    ends = reports["city 1"]["ece"].interval
    line = next(line for line in str(reports).splitlines() if line.startswith("city 1"))
    assert f"[{ends.low:.3g}, {ends.high:.3g}]" in line
    assert str(reports).splitlines()[0].split() == ["slice", "rows", "brier_score", "ece", "drmsce_bcs", "esce"]
    asked = scan(frame(), "nll,accuracy", by="city")
    assert str(asked).splitlines()[0].split() == ["slice", "rows", "nll", "accuracy"]


def test_pages_and_pictures_show_the_slices_beside_each_other(tmp_path):
    reports = scan(frame(), by="city")
    page = reports.to_html()
    assert page.count("<svg") == 2 and "Expected calibration error by slice" in page
    shown = re.search(r'aria-label="ece of 3 slices[^"]*"', page)
    assert shown and "is furthest from 0" in shown.group()
    for suffix in ("png", "svg"):
        assert reports.save(tmp_path / f"slices.{suffix}").stat().st_size > 5_000
    assert "city 2 (300)" in (tmp_path / "slices.svg").read_text()


def test_slices_of_one_row_have_a_line_and_too_many_have_no_picture(tmp_path):
    lonely = scan(frame(9, 9), by="city")
    assert "city 8" in lonely.to_html()
    lonely.save(tmp_path / "lonely.svg")
    with pytest.raises(InputError, match="1 to 40; got 45"):
        scan(frame(45, 900), by="city").save(tmp_path / "many.png")
