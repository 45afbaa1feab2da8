# SPDX-License-Identifier: Apache-2.0
"""Numbers at the ends of their ranges: single precision, sums that round above 1, entropies next to 1, odd columns."""

import math

import numpy as np
import pytest
from standard_samples import LIABILITY, columns, evaluated, sample

from epimeter.errors import InputError
from epimeter.standards import (
    ers_dataset_check,
    ers_next_evaluation,
    ers_u_recall,
    igr,
    liability,
    observed_failure_rate,
    onto_evaluate,
    onto_u_recall,
    ors,
)
from epimeter.standards.exposure_inputs import liability_inputs
from epimeter.standards.exposure_report import liability_report
from epimeter.standards.records import records
from epimeter.standards.unknowns import recall_by_category

COSTS = {"query_volume": 1000, "incident_cost": 10.0, "draws": 19}


def test_single_and_double_precision_of_the_same_data_give_the_same_metrics():
    correct, prob, unknown, _ = columns(400)
    single = np.round(prob, 1).astype(np.float32)  # 0.7 in single precision lies below 0.7
    double = single.astype(np.float64)
    assert ers_u_recall([0], np.float32([0.7])) == 100
    assert ers_u_recall(correct, single) == ers_u_recall(correct, double)
    assert onto_u_recall(unknown, single, threshold=0.7) == onto_u_recall(unknown, double, threshold=0.7)
    assert observed_failure_rate(correct, single, unknown) == observed_failure_rate(correct, double, unknown)
    assert liability(correct, single, unknown, threshold=0.7, **COSTS) == liability(
        correct, double, unknown, threshold=0.7, **COSTS
    )
    made = [evaluated(records(correct, p, unknown=unknown), unknown_threshold=0.7) for p in (single, double)]
    assert made[0].dataset_digest == made[1].dataset_digest
    assert made[0].metrics == made[1].metrics


@pytest.mark.parametrize("strategy", ["equal_width", "equal_mass", "adaptive"])
@pytest.mark.parametrize("n", [20, 49, 1000])
def test_a_system_that_is_always_sure_and_wrong_has_an_error_of_1(n, strategy):
    wrong, sure = np.zeros(n, int), np.ones(n)
    assert onto_evaluate(wrong, sure, np.ones(n, int), strategy=strategy).ece == pytest.approx(1, abs=1e-12)
    assert liability(wrong, sure, np.ones(n, int), strategy=strategy, **COSTS).failure_rate == pytest.approx(1)


def test_weights_that_sum_to_a_little_more_than_1_keep_the_score_within_100():
    weights = (0.35, 0.45, 0.2 + 9e-10)
    assert ors(1, 0, "healthcare", weights) == 100
    assert onto_evaluate([0], [1.0], [1], domain="healthcare", weights=weights).risk == "CRITICAL"


def test_information_next_to_a_coin_toss_is_not_lost_to_rounding():
    n = 2**21
    correct = np.arange(n) % 2
    correct[0] = 1  # one more right than wrong: 1 - h(1/2 + e) = 2 e^2 / ln 2 + ...
    made = igr(correct, np.full(n, 0.5 + 4 / n))
    assert made.justified == pytest.approx(2 / math.log(2) / n**2, rel=1e-9)
    assert made.igr == pytest.approx(16, rel=1e-9)
    assert igr([1, 0], [0.5 + 1e-9] * 2).igr == math.inf


def test_every_record_has_its_class():
    with pytest.raises(InputError, match="one entry a record, 3"):
        ers_dataset_check([1, 0, 1], [0.2, 0.4, 0.9], classes=["a", "b"])
    made = ers_dataset_check([1, 0, 1], [0.2, 0.4, 0.9], classes=["a", None, "a"])
    assert made.largest_share == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="one entry a record"):
        recall_by_category([1, 0], [1, 0], ["novel"])


def test_there_is_no_level_between_two_levels():
    with pytest.raises(InputError, match="whole number"):
        ers_next_evaluation("2026-01-31", 1.5)


def test_liability_uses_the_error_and_the_recall_of_the_evaluation():
    correct, prob, unknown, _ = columns(400)
    detected = unknown * (np.arange(400) % 3 > 0)
    given = sample(400, detected=detected)
    found = evaluated(given, bins=20).onto
    told = liability_report(given, liability_inputs(LIABILITY), date="2026-05-31", bins=20)
    assert (told.ece, told.u_recall) == (found.ece, found.u_recall)
    assert told.result.failure_rate == pytest.approx(0.4 * found.ece + 0.6 * (1 - found.u_recall))
    assert told.result == liability(
        correct,
        prob,
        unknown,
        query_volume=100_000,
        incident_cost=2_400_000,
        domain_multiplier=3.0,
        regulatory_weight=1.5,
        draws=99,
        bins=20,
        detected=detected,
    )
