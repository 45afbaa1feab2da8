# SPDX-License-Identifier: Apache-2.0
"""The interval of the ERS is shown as the score is: cut to whole numbers, so that it lies where its verdict says (C-07)."""

import math

import numpy as np

from epimeter.documents.markdown import markdown
from epimeter.standards.evaluation import evaluate_standards
from epimeter.standards.pages import standards_document
from epimeter.standards.records import records


def test_the_interval_of_a_cut_score_is_cut():
    rng = np.random.default_rng(4)
    said = rng.random(1500)
    made = evaluate_standards(records(rng.random(1500) < said, said), standard="ers", date="2026-11-16")
    span = next(one.interval for one in made.readings if one.name == "ers.ers")
    assert span.low % 1 and span.high % 1
    line = next(line for line in markdown(standards_document(made)).splitlines() if line.startswith("| ERS |"))
    assert f"| {math.floor(span.low)} to {math.floor(span.high)} |" in line
