"""The e-detector keeps its promises: e-values are worth at most 1 on average, alarms are rare without change and soon with one."""

import numpy as np
import pytest
from benchmarks.monitoring import Setting, drawn

from epimeter.errors import InputError
from epimeter.inference.detectors import (
    BETS,
    Reference,
    bias_sequence,
    log_e_values,
    log_mean,
    log_weights,
    onset,
    onward,
)
from epimeter.inference.sequential import CalibrationMonitor, confidence_sequence

ROWS = np.array([40.0, 90.0, 300.0, 1200.0])
MEANS = np.array([0.2, 0.5, 0.7, 0.95])


def reference(rows=ROWS * 50, gap=0.0, doubt=0.05):
    return Reference(rows, np.round(rows * (MEANS + gap)), rows * MEANS, doubt)


@pytest.mark.parametrize("side", [1, -1])
def test_an_e_value_is_worth_at_most_one_on_the_border_of_the_null(side):
    rng = np.random.default_rng(3)
    # A reference without error and outcomes exactly a tolerance away: the worst case of the null. The single
    # probabilities of a range differ, as they do in practice.
    known = Reference(ROWS * 1e12, ROWS * 1e12 * MEANS, ROWS * 1e12 * MEANS)
    chance = np.clip(MEANS + side * 0.02, 0, 1)
    true = np.stack([rng.binomial(ROWS.astype(int), chance) for _ in range(4000)]).astype(float)
    e = np.exp(log_e_values(ROWS, true, ROWS * MEANS, known, 0.02))
    assert e.shape == (4000, 5, 2, len(BETS))
    spread = e.std(axis=0) / np.sqrt(len(e))
    assert (e.mean(axis=0) <= 1 + 4 * spread).all()
    # and close to 1 where the bet is small: the null is not simply shunned
    assert e.mean(axis=0)[0, 0 if side > 0 else 1, 0] == pytest.approx(1, abs=0.05)


def test_rows_may_be_added_one_by_one():
    known = reference()
    true = np.array([10.0, 40.0, 200.0, 1150.0])
    whole = log_e_values(ROWS, true, ROWS * MEANS, known, 0.01)
    half = log_e_values(ROWS / 2, true / 2, ROWS * MEANS / 2, known, 0.01)
    assert whole == pytest.approx(2 * half)


def test_the_weights_of_all_bets_sum_to_one_and_spare_ranges_without_a_reference():
    known = reference(np.array([0.0, 29.0, 300.0, 1200.0]))
    weights = np.exp(log_weights(known))
    assert weights.sum() == pytest.approx(1)
    assert weights[1:3].sum() == 0
    assert weights[0].sum() == pytest.approx(0.5)
    nothing = np.exp(log_weights(reference(np.zeros(4))))
    assert nothing.sum() == 0


def test_a_reference_of_few_rows_gives_little_evidence():
    true = np.round(ROWS * (MEANS - 0.08))
    large, small = (
        log_e_values(ROWS, true, ROWS * MEANS, reference(ROWS * times), 0.01).max() for times in (1000, 0.4)
    )
    assert large > 20 > small


def test_a_shiryaev_roberts_sum_of_fair_bets_grows_by_one_a_window():
    log_sum = np.array([-np.inf])
    for window in range(1, 30):
        log_sum = onward(log_sum, np.zeros(1))
        assert np.exp(log_sum[0]) == pytest.approx(window)


@pytest.mark.parametrize(
    "setting",
    [
        Setting("daily", 20_000, 120, 20, 365),
        Setting("daily, tolerance 0", 20_000, 120, 20, 365, tolerance=0.0),
        Setting("daily, small reference, tolerance 0", 500, 120, 3, 365, tolerance=0.0),
        Setting("daily, off by the tolerance", 20_000, 120, 20, 365, shift=0.01),
        Setting("hourly, tolerance 0", 833, 240, 480, 8760, tolerance=0.0),
    ],
    ids=lambda setting: setting.name,
)
def test_without_change_alarms_are_rarer_than_promised(setting):
    _, alarms = drawn(setting, 60, 11)
    assert alarms.mean() <= setting.windows / setting.threshold


def test_five_points_are_found_within_two_days_of_labels():
    first, _ = drawn(Setting("shift", 20_000, 24, 20, 365, shift=-0.05, starts=20), 60, 12)
    assert ((first >= 20) & (first <= 21)).mean() >= 0.95


def test_a_shift_of_one_slice_in_ten_is_found():
    first, _ = drawn(Setting("slice", 20_000, 26, 20, 365, shift=-0.10, starts=20, slices=10), 20, 13)
    assert ((first >= 20) & (first <= 21)).mean() >= 0.95


def test_the_beginning_of_a_change_is_named_with_its_uncertainty():
    began = onset(np.array([-3.0, -2.0, -4.0, 5.0, 6.0, 4.0]))
    assert (began.at, began.first, began.last) == (3, 3, 3)
    vague = onset(np.array([-3.0, 0.1, -0.2, 0.2]))
    assert vague.at == 3 and vague.first == 1 and vague.last == 3


def test_evidence_is_the_weighted_mean_of_the_sums():
    known = reference()
    weights = log_weights(known)
    assert log_mean(np.full(weights.shape, 2.5), weights) == pytest.approx(2.5)
    assert log_mean(np.full(weights.shape, -np.inf), weights) == -np.inf


def test_the_sequence_from_totals_is_the_one_from_rows():
    rng = np.random.default_rng(5)
    prob = rng.random(500)
    true = (rng.random(500) < prob).astype(int)
    rows = confidence_sequence(true, prob, alpha=0.05)
    assert bias_sequence(np.array(500.0), (true - prob).sum(), 0.05) == pytest.approx((rows.low, rows.high))


def test_a_calibration_monitor_is_saved_loaded_and_fed_in_chunks(tmp_path):
    rng = np.random.default_rng(8)
    prob = rng.random(900)
    true = (rng.random(900) < prob**2).astype(int)
    whole = CalibrationMonitor().feed(true, prob)
    state = CalibrationMonitor()
    for begin in (0, 1, 300, 850):
        end = {0: 1, 1: 300, 300: 850, 850: 900}[begin]
        state.feed(true[begin:end], prob[begin:end]).save(tmp_path / "state.json")
        state = CalibrationMonitor.load(tmp_path / "state.json")
    assert state == whole and state.alarm
    certain = CalibrationMonitor().feed([0], [1.0])
    certain.save(tmp_path / "state.json")
    assert CalibrationMonitor.load(tmp_path / "state.json") == certain
    (tmp_path / "state.json").write_text("[1]")
    with pytest.raises(InputError, match="not the state of a calibration monitor"):
        CalibrationMonitor.load(tmp_path / "state.json")
