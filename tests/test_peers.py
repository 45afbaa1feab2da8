"""Other packages as oracles: where they compute the same definition they must give the same number.

Data are continuous: at ties and on bin edges peers differ from each other, and from their papers.
"""

import warnings

import calibstats
import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

from epimeter import metrics

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import relplot
    from relplot.metrics import binnedECE


def sample(kind, seed, n=3000):
    """Outcomes and confidences: spread out, U-shaped, confident, or over-confident."""
    rng = np.random.default_rng(seed)
    p = {
        "spread": lambda: rng.random(n),
        "u-shaped": lambda: rng.beta(0.4, 0.4, n),
        "confident": lambda: rng.beta(8, 1, n),
        "over-confident": lambda: rng.beta(3, 1, n),
    }[kind]()
    truth = p**1.7 if kind == "over-confident" else p
    return (rng.random(n) < truth).astype(np.int64), p


DATA = [(kind, seed) for kind in ("spread", "u-shaped", "confident", "over-confident") for seed in range(3)]
each_sample = pytest.mark.parametrize(
    ("y", "p"), [sample(*chosen) for chosen in DATA], ids=[f"{k}-{s}" for k, s in DATA]
)


@each_sample
@pytest.mark.parametrize("bins", [2, 10, 15, 37])
def test_binned_errors_agree_with_calibstats(y, p, bins):
    assert metrics.ece(y, p, bins=bins) == pytest.approx(calibstats.ece(p, y, n_bins=bins), abs=1e-12)
    assert metrics.mce(y, p, bins=bins) == pytest.approx(calibstats.mce(p, y, n_bins=bins), abs=1e-12)
    rms = calibstats.calibration_error(p, y, n_bins=bins, norm="l2")
    assert metrics.lp_ce(y, p, bins=bins, norm=2) == pytest.approx(rms, abs=1e-12)


@each_sample
def test_debiased_error_agrees_with_calibstats(y, p):
    theirs = calibstats.debiased_ece(p, y, n_bins=10)
    ours = metrics.drmsce(y, p, bins=10, binning="width")
    assert ours == pytest.approx(theirs, abs=1e-12)


@each_sample
def test_scores_agree_with_calibstats_and_scikit_learn(y, p):
    assert metrics.brier_score(y, p) == pytest.approx(brier_score_loss(y, p), abs=1e-12)
    assert metrics.nll(y, p) == pytest.approx(log_loss(y, p), rel=1e-12)
    assert metrics.brier_score(y, p) == pytest.approx(calibstats.brier_score(p, y), abs=1e-12)


@each_sample
def test_binned_error_agrees_with_relplot_and_the_curve_of_scikit_learn(y, p):
    assert metrics.ece(y, p, bins=10) == pytest.approx(binnedECE(p, y, nbins=10), abs=1e-12)
    seen, said = calibration_curve(y, p, n_bins=10)
    share = np.histogram(p, np.linspace(0, 1, 11))[0] / len(p)
    assert metrics.ece(y, p, bins=10) == pytest.approx(share[share > 0] @ np.abs(seen - said), abs=1e-12)


@each_sample
def test_smooth_error_agrees_with_relplot_within_its_step(y, p):
    # Theirs looks for the fixed point by bisection with a step of 0.001 and rounds to a grid.
    assert metrics.smece(y, p) == pytest.approx(relplot.smECE(p, y), abs=2e-3)


@each_sample
def test_isotonic_error_agrees_with_scikit_learn(y, p):
    fitted = IsotonicRegression(y_min=0, y_max=1).fit(p, y).predict(p)
    reliability = np.mean((p - y) ** 2) - np.mean((fitted - y) ** 2)
    assert metrics.corp(y, p).mcb == pytest.approx(reliability, abs=1e-12)
