"""The entropic calibration difference: clipped only when asked, and split into its two surprises."""

import math

import numpy as np
import pytest

from epimeter.errors import InputError
from epimeter.metrics import ecd, ecd_split, ecd_test, nll

CERTAIN = np.array([0, 1, 1, 0]), np.array([0.0, 1.0, 0.0, 0.3])


def test_nothing_is_clipped_until_it_is_asked_for():
    assert ecd(*CERTAIN) == math.inf
    assert ecd_split(*CERTAIN).to_dict()["clipped"] == 0
    value = ecd(*CERTAIN, eps=1e-6)
    moved = np.clip(CERTAIN[1], 1e-6, 1 - 1e-6)
    entropy = -np.mean(moved * np.log(moved) + (1 - moved) * np.log1p(-moved))
    assert value == pytest.approx(nll(CERTAIN[0], moved) - entropy, rel=1e-9)
    assert value.parameters["eps"] == 1e-6
    assert ecd_test(*CERTAIN, eps=1e-6).ecd == pytest.approx(value, rel=1e-9)


def test_the_split_adds_up_and_says_how_many_rows_were_moved():
    split = ecd_split(*CERTAIN, eps=0.01)
    assert split.ecd == pytest.approx(split.log_loss - split.entropy, abs=1e-12)
    assert split.clipped == 0.75
    assert ecd_split(*CERTAIN).log_loss == math.inf
    assert ecd_split(*CERTAIN).entropy == pytest.approx((0.3 * math.log(1 / 0.3) + 0.7 * math.log(1 / 0.7)) / 4)


def test_a_matrix_is_divided_by_its_new_sum():
    prob = np.array([[0.0, 0.0, 1.0], [0.2, 0.3, 0.5]])
    moved = np.clip(prob, 0.01, 0.99)
    moved /= moved.sum(axis=1, keepdims=True)
    assert ecd([0, 1], prob, eps=0.01) == pytest.approx(ecd([0, 1], moved), rel=1e-12)
    two = np.array([0.0, 0.4, 1.0])
    assert ecd([1, 0, 1], two, eps=0.1) == pytest.approx(ecd([1, 0, 1], np.column_stack([1 - two, two]), eps=0.1))


@pytest.mark.parametrize(("eps", "fault"), [(0.4, r"below 1 / 3"), (0.5, r"in \[0, 0.5\)"), (-1e-9, r"in \[0, 0.5\)")])
def test_a_clip_that_leaves_no_forecast_is_refused(eps, fault):
    with pytest.raises(InputError, match=fault):
        ecd([0, 1], np.array([[0.0, 0.0, 1.0], [0.2, 0.3, 0.5]]), eps=eps)


def test_clipping_is_done_where_asked_in_tests_too_and_said(tmp_path, capsys):
    """A map that says 0 and 1 makes ecd infinite; eps asks for clipped forecasts, whose labels are then drawn."""
    from epimeter.cli import main
    from epimeter.inference import calibration_tests

    rng = np.random.default_rng(2)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    p[:2], y[:2] = [0.0, 1.0], [1, 0]
    plain, moved = (calibration_tests(y, p, metrics=["ece", "ecd"], draws=99, eps=eps) for eps in (0.0, 1e-3))
    assert plain[1].value == np.inf and moved[0].p_value == plain[0].p_value
    assert moved[1].value == ecd(y, p, eps=1e-3)
    inside = np.clip(p, 1e-3, 1 - 1e-3)
    assert moved[1].p_value == calibration_tests(y, inside, metrics=["ecd"], draws=99)[0].p_value
    file = tmp_path / "rows.csv"
    file.write_text("y_true,y_prob\n" + "".join(f"{a},{b!r}\n" for a, b in zip(y.tolist(), p.tolist(), strict=True)))
    for words, said in (
        (
            ["evaluate", str(file), "--metric", "ecd,ece", "--set", "eps=0.001"],
            "ecd: forecasts were clipped to [0.001, 1",
        ),
        (["test", str(file), "--eps", "0.001", "--draws", "99"], "Forecasts are clipped to [0.001, 1 - 0.001]"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        told = " ".join(capsys.readouterr().out.split())
        assert said in told and " inf " not in told
