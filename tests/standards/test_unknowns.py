# SPDX-License-Identifier: Apache-2.0
"""Mechanisms that flag unknown inputs, and how they are validated."""

import numpy as np
import pytest

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.standards.unknowns import (
    by_confidence,
    by_disagreement,
    by_entropy,
    by_mahalanobis,
    by_neighbours,
    by_score,
    operating_point,
    roc,
    validated,
)

RNG = np.random.default_rng(0)


def test_a_confidence_threshold_flags_below_it():
    found = by_confidence([0.49, 0.5, 0.9], threshold=0.5)
    assert found.detected.tolist() == [True, False, False]
    assert set(found.documentation) == {"method", "threshold", "validation"}


def test_entropy_is_0_for_certainty_and_1_for_a_uniform_row():
    found = by_entropy([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.98, 0.01, 0.01]])
    assert found.score.tolist() == pytest.approx([0, 1, found.score[2]])
    assert found.detected.tolist() == [False, True, False]


@pytest.mark.parametrize("measure", ["information", "votes"])
def test_members_that_agree_are_not_flagged_and_those_that_do_not_are(measure):
    first = [[0.9, 0.1], [0.95, 0.05]]
    second = [[0.9, 0.1], [0.05, 0.95]]
    found = by_disagreement([first, second], measure=measure, threshold=0.1)
    assert found.detected.tolist() == [False, True]
    assert found.score[0] == pytest.approx(0, abs=1e-12)


def test_an_ensemble_has_at_least_two_members_of_one_shape():
    with pytest.raises(InputError, match="at least two"):
        by_disagreement([[[0.5, 0.5]]])
    with pytest.raises(InputError, match="alike"):
        by_disagreement([[[0.5, 0.5]], [[0.5, 0.3, 0.2]]])


def test_mahalanobis_distance_is_the_plain_formula():
    known, rows = RNG.normal(size=(200, 3)), RNG.normal(size=(5, 3))
    centre, spread = known.mean(axis=0), np.cov(known.T)
    slow = [np.sqrt((row - centre) @ np.linalg.inv(spread) @ (row - centre)) for row in rows]
    assert by_mahalanobis(rows, known, threshold=2.0).score.tolist() == pytest.approx(slow)


def test_mahalanobis_distance_to_the_nearest_class():
    known = np.concatenate([RNG.normal(-5, 1, (100, 2)), RNG.normal(5, 1, (100, 2))])
    classes = ["a"] * 100 + ["b"] * 100
    found = by_mahalanobis([[-5.0, -5.0], [0.0, 0.0]], known, threshold=3.0, classes=classes)
    assert found.detected.tolist() == [False, True]


def test_a_direction_in_which_known_data_do_not_vary_says_nothing():
    known = np.column_stack([RNG.normal(size=50), np.zeros(50)])
    assert np.isfinite(by_mahalanobis([[0.0, 1.0]], known, threshold=1.0).score).all()


def test_neighbour_distance_is_to_the_kth_neighbour_of_unit_length():
    known, rows = RNG.normal(size=(60, 4)), RNG.normal(size=(7, 4))

    def unit(a):
        return a / np.linalg.norm(a, axis=1, keepdims=True)

    slow = np.sort(np.linalg.norm(unit(rows)[:, None] - unit(known)[None], axis=2), axis=1)[:, 4]
    assert by_neighbours(rows, known, threshold=0.5, neighbours=5).score.tolist() == pytest.approx(slow.tolist())


def test_a_pure_shift_is_seen_by_the_plain_distance_and_not_by_directions():
    known = RNG.normal(size=(400, 4)) + 10
    moved = known[:50] * 1.6
    plain = by_neighbours(moved, known, threshold=4.0, neighbours=5, scaled=False)
    assert plain.detected.mean() > 0.95 and "scaled" not in plain.method
    assert by_neighbours(known[:50], known, threshold=4.0, neighbours=5, scaled=False).detected.mean() < 0.05
    assert by_neighbours(moved, known, threshold=0.3, neighbours=5).detected.mean() < 0.05


@pytest.mark.parametrize("mechanism", [by_mahalanobis, by_neighbours])
def test_reference_data_must_be_others_than_those_judged(mechanism):
    rows = RNG.normal(size=(20, 2))
    with pytest.raises(InputError, match=r"other data than those judged \(42001-6\.3\.2-a\)"):
        mechanism(rows, rows, threshold=1.0)
    with pytest.raises(InputError, match="same columns"):
        mechanism(rows, rows[:, :1], threshold=1.0)


def test_an_external_score_may_run_either_way():
    assert by_score([1, 2, 3], threshold=2).detected.tolist() == [False, True, True]
    assert by_score([1, 2, 3], threshold=2, unknown_is_high=False).detected.tolist() == [True, True, False]


def test_the_area_is_the_share_of_pairs_in_order_ties_half():
    unknown, score = RNG.integers(0, 2, 60), RNG.integers(0, 6, 60).astype(float)
    pairs = [(a > b) + 0.5 * (a == b) for a in score[unknown == 1] for b in score[unknown == 0]]
    assert roc(unknown, score).auroc == pytest.approx(np.mean(pairs))


def test_a_roc_needs_both_kinds():
    with pytest.raises(UndefinedMetricError, match="known and unknown"):
        roc([1, 1], [0.1, 0.2])


def test_operating_points():
    unknown, score = [0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.6, 0.5, 0.8, 0.9]
    assert operating_point(unknown, score, u_recall=1.0) == 0.5
    assert operating_point(unknown, score, false_alarm_rate=0.0) == 0.8
    assert operating_point(unknown, score) in (0.5, 0.8)
    with pytest.raises(InputError, match="not by both"):
        operating_point(unknown, score, u_recall=1.0, false_alarm_rate=0.0)


def test_a_threshold_is_judged_on_other_data_than_it_was_chosen_on():
    rng = np.random.default_rng(5)
    unknown = rng.integers(0, 2, 4000)
    score = unknown + rng.normal(size=4000)
    found = validated(
        unknown[:2000], score[:2000], tuning_unknown=unknown[2000:], tuning_score=score[2000:], u_recall=0.8
    )
    assert 0.75 < found.u_recall < 0.85
    assert 0.7 < found.auroc < 0.8
    assert "chosen on 2,000 other records" in found.sentence
    with pytest.raises(InputError, match=r"other data than those judged \(42001-6\.3\.2-a\)"):
        validated(unknown, score, tuning_unknown=unknown, tuning_score=score)
