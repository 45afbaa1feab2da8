# SPDX-License-Identifier: Apache-2.0
"""Slices as they are shown: every value with its interval, the error without bias beside the biased one, and figures."""

import re

import numpy as np
import pandas
import pytest
from click.testing import CliRunner

from epimeter import evaluate, scan
from epimeter.cli import epimeter
from epimeter.errors import InputError
from epimeter.results import cell_text


def frame(n_slices=3, n_rows=900):
    rng = np.random.Generator(np.random.PCG64(0))
    prob = rng.random(n_rows)
    true = (rng.random(n_rows) < prob).astype(int)
    return pandas.DataFrame({"y_true": true, "y_prob": prob, "city": [f"city {k % n_slices}" for k in range(n_rows)]})


def head(reports):
    return next(line for line in str(reports).splitlines() if line.startswith("slice")).split()


def off(slices, points, **columns):
    """A frame in which some of five cities are off by so many points."""
    rng = np.random.Generator(np.random.PCG64(1))
    prob, place = rng.uniform(0.2, 0.8, 5_000), np.arange(5_000) % 5
    true = (rng.random(5_000) < prob - np.isin(place, slices) * points / 100).astype(float)
    return pandas.DataFrame({"prob": prob, "y": true, "city": [f"city {k}" for k in place], **columns})


@pytest.mark.parametrize("form", ["__str__", "to_html", "to_markdown", "to_latex"])
def test_first_lines_say_what_is_stated_and_in_which_slices_calibration_is_refuted(form):
    page = getattr(scan(off([3], 15), by="city"), form)()
    if form != "to_latex":  # tables alone
        assert "events: each row states the probability of outcome 1" in page and "5 slices by city" in page
        assert "refuted in 1 of 5 slices" in page and "by Holm): city 3." in page
        assert re.search(
            r"Furthest off on average is city 3: it says 1[0-9]\.[0-9] points too much for outcome 1", page
        )
    assert page.count("not refuted (p") == 4  # and all rows together are refuted
    if form == "__str__":
        assert page.index("refuted in 1 of 5") < page.index("brier_score")


def test_slices_that_chance_explains_are_not_refuted_and_say_how_the_rows_were_read():
    rows = off([], 0)
    rows.loc[:9, "y"] = np.nan
    text = str(scan(rows, by="city"))
    assert "Calibration is refuted in none of 5 slices" in text and "Furthest" not in text
    assert "10 rows have no label and were left out." in text


def test_what_is_odd_in_a_slice_is_said_with_its_name_once():
    rows = off([], 0)
    rows["prob"] = np.where(rows["city"] == "city 2", 1 - rows["prob"], rows["prob"])
    (caution,) = [line for line in str(scan(rows, by="city")).splitlines() if line.startswith("!")]
    assert caution.startswith("! city 2: ") and "1 - p passed?" in caution


def test_a_slice_shows_its_intervals_and_the_error_without_bias():
    reports = scan(frame(), by="city")
    ends = reports["city 1"]["ece"].interval
    line = next(line for line in str(reports).splitlines() if line.startswith("city 1"))
    assert f"[{ends.low:.3g}, {ends.high:.3g}]" in line
    assert head(reports) == ["slice", "rows", "brier_score", "ece", "drmsce_bcs", "esce", "calibration"]
    assert head(scan(frame(), "nll,accuracy", by="city")) == ["slice", "rows", "nll", "accuracy", "calibration"]


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


@pytest.mark.parametrize("by", [["city"], ["city", "size"]])
def test_all_rows_stand_first_with_the_numbers_of_a_report_without_slices(tmp_path, by):
    rows = off([3], 15, size=np.arange(5_000) % 2)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ["evaluate", str(tmp_path / "rows.csv"), *(word for name in by for word in ("--by", name))]
    text = CliRunner().invoke(epimeter, words).output
    line = next(line for line in text.splitlines() if line.startswith("all rows"))
    whole = evaluate(rows["y"], rows["prob"])
    assert f"5,000  {cell_text(whole['brier_score'].value)}" in re.sub(" +", "  ", line)
    assert cell_text(whole["ece"].value) in line and "refuted (p < 0.0001)" in line
    assert "the slices differ in how far they are off (Cochran's Q, p < 0.0001)" in text


def test_slices_that_are_off_alike_need_not_differ_and_one_slice_has_no_total():
    assert "need not differ in how far they are off" in str(scan(off([0, 1, 2, 3, 4], 15), by="city"))
    alone = scan(frame(1), by="city")
    assert alone.total is None and "all rows" not in str(alone)


def test_all_rows_of_many_slices_have_the_bits_of_one_pass():
    rows = frame(40, 4000)
    assert {line.metric: line.value for line in scan(rows, by="city").total.measurements} == {
        line.metric: line.value for line in scan(rows[["y_true", "y_prob"]]).measurements
    }
