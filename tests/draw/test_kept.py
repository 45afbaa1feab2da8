# SPDX-License-Identifier: Apache-2.0
"""Risk and accuracy against coverage: the areas are the metrics, the bands hold what is seen, ties stay together."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter import draw
from epimeter.cli import epimeter as command_line
from epimeter.inference.spread import wilson
from epimeter.metrics import auarc, aurc
from epimeter.views import view


def answers(n=400, weights=False):
    rng = np.random.default_rng(0)
    said = np.round(rng.uniform(0.3, 1, n), 2)
    right = (rng.random(n) < said).astype(int)
    return view(right, said, kind="answer", sample_weight=rng.uniform(0.5, 2, n) if weights else None)


@pytest.mark.parametrize("weights", [False, True])
def test_the_areas_are_the_metrics_and_the_curves_mirror_each_other(weights):
    given = answers(weights=weights)
    risk, accuracy = draw.risk_coverage_curve(given), draw.accuracy_coverage_curve(given)
    step = np.diff(risk.coverage, prepend=0.0)
    assert risk.value == pytest.approx(float(np.sum(step * risk.share)), abs=1e-12)
    assert accuracy.value == pytest.approx(1 - risk.value, abs=1e-12)
    np.testing.assert_allclose(accuracy.share, 1 - risk.share)
    np.testing.assert_allclose((accuracy.low, accuracy.high), (1 - risk.high, 1 - risk.low))
    assert (risk.low <= risk.share).all() and (risk.share <= risk.high).all()
    assert (risk.best <= risk.share + 1e-12).all()


def test_every_point_is_the_share_wrong_among_the_answers_kept():
    given = answers()
    curve = draw.risk_coverage_curve(given, level=0.9)
    for coverage, threshold, share, low, high in zip(
        curve.coverage, curve.threshold, curve.share, curve.low, curve.high, strict=True
    ):
        kept = given.prob >= threshold
        assert coverage == pytest.approx(kept.mean())
        assert share == pytest.approx(1 - given.true[kept].mean())
        assert (low, high) == pytest.approx(wilson(share, kept.sum(), 0.9))


def test_an_event_is_read_as_an_answer(tmp_path):
    rng = np.random.default_rng(1)
    said = rng.random(200)
    true = (rng.random(200) < said).astype(int)
    assert draw.risk_coverage_curve(true, said).value == pytest.approx(float(aurc(true, said)))
    assert draw.accuracy_coverage_curve(true, said).value == pytest.approx(float(auarc(true, said)))
    right = (said >= 0.5) == true
    np.savez(tmp_path / "a.npz", confidence=np.maximum(said, 1 - said), correct=right)
    shown = CliRunner().invoke(command_line, ["draw", str(tmp_path / "a.npz"), "--curve", "risk_coverage", "--json"])
    assert json.loads(shown.output)["value"] == pytest.approx(float(aurc(true, said)))
