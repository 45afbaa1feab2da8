# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: inert until a test uses the fixture or the marker.

def test_model(assert_calibrated):
assert_calibrated(y, p, ece=0.05)

@pytest.mark.calibration(ece=0.05, brier_score=0.2)
def test_other(calibration):
calibration(y, p)                       # held to the limits of the marker
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, so that strict runs take it."""
    config.addinivalue_line("markers", "calibration(METRIC=LIMIT, ...): limits for the fixture `calibration`")


@pytest.fixture
def assert_calibrated() -> Any:
    """The function `epimeter.testing.assert_calibrated`."""
    from epimeter.testing import assert_calibrated

    return assert_calibrated


@pytest.fixture
def calibration(request: pytest.FixtureRequest) -> Any:
    """A function of outcomes and probabilities that holds them to the limits of the marker `calibration`."""
    from functools import partial

    from epimeter.testing import assert_calibrated

    mark = request.node.get_closest_marker("calibration")
    if mark is None or not mark.kwargs or mark.args:
        pytest.fail("the fixture `calibration` needs limits: @pytest.mark.calibration(ece=0.05)", pytrace=False)
    return partial(assert_calibrated, **mark.kwargs)
