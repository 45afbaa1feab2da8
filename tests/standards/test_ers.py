# SPDX-License-Identifier: Apache-2.0
"""ONTO-ERS 1.0.0, a test a clause; names begin with the clause's id."""

import dataclasses
import datetime
import re

import jsonschema
import numpy as np
import pytest
from standard_samples import NOW, START, columns, evaluated, sample

from epimeter.errors import InputError, VerificationError
from epimeter.standards import (
    ers_dataset_check,
    ers_ece,
    ers_ece_band,
    ers_evaluate,
    ers_level,
    ers_next_evaluation,
    ers_raw,
    ers_score,
    ers_u_recall,
    ers_u_recall_band,
    risk_index,
    schedule,
)
from epimeter.standards.bands import ERS_ECE, ERS_U_RECALL, RISK
from epimeter.standards.conformance import page
from epimeter.standards.ers import epistemic_gap
from epimeter.standards.records import records
from epimeter.standards.schemas import schema
from epimeter.trust.names import id_of

VECTOR = ([1, 0, 1, 0], [0.9, 0.9, 0.5, 0.5])


def test_ERS_0_a_inputs_come_back_unchanged():
    correct, prob, unknown, times = columns(300)
    before = [column.copy() for column in (correct, prob, unknown, times)]
    evaluated(records(correct, prob, unknown=unknown, timestamp=times, now=NOW))
    for column, kept in zip((correct, prob, unknown, times), before, strict=True):
        assert np.array_equal(column, kept)


@pytest.mark.parametrize("wrong", [1.2, -0.05, np.nan, np.inf])
def test_ERS_1_1_c_a_confidence_outside_0_to_1_is_refused(wrong):
    with pytest.raises(InputError, match="y_prob"):
        records([1, 0], [0.5, wrong])


def test_ERS_1_1_c_empty_data_are_refused():
    with pytest.raises(InputError):
        ers_evaluate([], [])


def test_ERS_1_1_d_accuracy_is_the_mean_of_correct():
    correct, prob, *_ = columns(300)
    assert ers_evaluate(correct, prob).accuracy == pytest.approx(np.mean(correct), abs=1e-15)


def test_ERS_1_1_e_the_gap_of_a_record_is_its_distance_from_the_outcome():
    assert epistemic_gap([1, 0], [0.9, 0.75]).tolist() == pytest.approx([0.1, 0.75])


def test_ERS_1_2_a_ece_lies_in_0_to_1():
    assert 0 <= evaluated().ers.ece <= 1
    assert ers_ece([0], [1.0]) == 1


def test_ERS_1_2_b_u_recall_is_in_percent():
    assert ers_u_recall([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.9]) == 75


def test_ERS_1_2_c_the_score_is_a_whole_number_in_0_to_100():
    for ece, recall in ((0, 100), (1, 0), (0.123, 45.6)):
        score = ers_score(ece, recall, "medical")
        assert isinstance(score, int)
        assert 0 <= score <= 100


def test_ERS_2_1_a_ece_weighs_the_gaps_by_the_rows():
    correct, prob, *_ = columns(500)
    bins = np.minimum((prob * 10).astype(int), 9)
    slow = sum(abs(correct[bins == b].mean() - prob[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    assert ers_ece(correct, prob) == pytest.approx(slow, abs=1e-12)


def test_ERS_2_1_b_three_tenths_is_in_the_fourth_bin_and_one_in_the_last():
    # Alone in its bin a record has gap |1 - c|; together with 0.35 the gap is that of the mean.
    assert ers_ece([1, 0], [0.3, 0.35]) == pytest.approx(abs(0.5 - 0.325))
    assert ers_ece([1, 0], [0.3, 0.25]) == pytest.approx((0.7 + 0.25) / 2)
    assert ers_ece([1, 0], [1.0, 0.95]) == pytest.approx(abs(0.5 - 0.975))


def test_ERS_2_1_b_the_number_of_bins_is_a_parameter():
    assert ers_ece(*VECTOR, bins=1) == pytest.approx(abs(0.5 - 0.7))


@pytest.mark.parametrize("k", range(11))
def test_ERS_2_1_c_every_tenth_has_the_index_of_the_formula(k):
    share, expected = k / 10, min(int(k / 10 * 10), 9)
    together = (expected + 0.5) / 10
    assert ers_ece([1, 0], [share, together]) == pytest.approx(abs(0.5 - (share + together) / 2))


def test_ERS_2_1_f_an_end_belongs_to_the_better_class():
    names = [ERS_ECE[ers_ece_band(value)].name for value in (0.05, 0.10, 0.15, 0.25, 0.2500001)]
    assert names == ["Excellent", "Good", "Acceptable", "Poor", "Critical"]


def test_ERS_2_2_a_u_recall_counts_wrong_answers_below_the_threshold():
    assert ers_u_recall([0, 0, 1, 1], [0.6, 0.8, 0.1, 0.9]) == 50


def test_ERS_2_2_b_wrong_at_exactly_the_threshold_was_not_seen():
    assert ers_u_recall([0], [0.7]) == 0
    assert ers_u_recall([0], [0.7], threshold=0.71) == 100


def test_ERS_2_2_d_without_wrong_answers_it_is_100():
    assert ers_u_recall([1, 1], [0.9, 0.2]) == 100


def test_ERS_2_2_e_an_end_belongs_to_the_better_class():
    names = [ERS_U_RECALL[ers_u_recall_band(value)].name for value in (70, 50, 30, 29.9)]
    assert names == ["Good", "Moderate", "Poor", "Critical"]


def test_ERS_2_3_a_the_score_before_cutting():
    assert ers_raw(0.08, 67.5) == pytest.approx(32.25, abs=1e-9)


@pytest.mark.parametrize(
    ("domain", "modifier"), [("medical", 15), ("legal", 10), ("financial", 10), ("code", 5), ("general", 0)]
)
def test_ERS_2_3_b_every_domain_has_its_modifier(domain, modifier):
    assert ers_raw(0, 100, domain) == modifier


def test_ERS_2_3_c_the_score_is_cut_not_rounded():
    assert ers_score(0.1299, 100) == 25
    assert ers_score(1, 0) == 100
    assert ers_score(0.29, 100) == 58, "57.99999999999999 in doubles is 58"


def test_ERS_2_3_d_an_unknown_domain_is_an_error_not_zero():
    with pytest.raises(InputError, match="domain must be one of"):
        ers_score(0.1, 50, "retail")
    with pytest.raises(InputError, match=r"ERS-2\.3-d"):
        evaluated(domain="retail", standard="ers")


@pytest.mark.parametrize(
    ("score", "name"), [(25, "LOW"), (26, "MODERATE"), (50, "MODERATE"), (51, "HIGH"), (75, "HIGH"), (76, "CRITICAL")]
)
def test_ERS_2_3_e_risk_classes_at_their_limits(score, name):
    assert RISK[risk_index(score)].name == name


@pytest.mark.parametrize(("n", "passed"), [(999, 0), (1000, 1)])
def test_ERS_3_1_a_a_thousand_predictions(n, passed):
    correct, prob, *_ = columns(n)
    assert ers_dataset_check(correct, prob).sample_size_ok == passed


def test_ERS_3_1_b_exactly_80_percent_of_one_class_passes():
    prob = np.full(10, 0.5)
    assert ers_dataset_check([1] * 8 + [0] * 2, prob).balance_ok == 1
    assert ers_dataset_check([1] * 9 + [0], prob).balance_ok == 0


def test_ERS_3_1_b_given_classes_bar_a_certificate_and_right_or_wrong_only_warns():
    correct, prob, _, times = columns(1200)
    one = records(correct, prob, timestamp=times, classes=["a"] * 1000 + ["b"] * 200, now=NOW)
    row = next(r for r in evaluated(one, standard="ers").requirements if r.id == "ERS-3.1-b")
    assert row.blocks and not row.passed
    none = next(r for r in evaluated(standard="ers").requirements if r.id == "ERS-3.1-b")
    assert not none.blocks


@pytest.mark.parametrize(("bins", "passed"), [(7, 0), (8, 1)])
def test_ERS_3_1_c_eight_of_ten_bins(bins, passed):
    prob = (np.arange(100) % bins + 0.5) / 10
    assert ers_dataset_check(np.arange(100) % 2, prob).coverage_ok == passed


@pytest.mark.parametrize(("microseconds", "passed"), [(0, True), (-1000000, False)])
def test_ERS_3_1_d_a_span_of_exactly_seven_days_passes(microseconds, passed):
    week = np.timedelta64(7 * 86_400_000_000 + microseconds, "us")
    correct, prob, *_ = columns(1000)
    times = np.full(1000, START)
    times[-1] = START + week
    made = evaluated(records(correct, prob, timestamp=times, now=NOW), standard="ers")
    assert next(r for r in made.requirements if r.id == "ERS-3.1-d").passed is passed


def test_ERS_3_1_d_without_timestamps_the_span_fails():
    correct, prob, *_ = columns(1000)
    made = evaluated(records(correct, prob), standard="ers")
    assert not next(r for r in made.requirements if r.id == "ERS-3.1-d").passed
    assert not made.certificate_possible


EXAMPLE = {
    "dataset_id": "6f1c2a34-9d0e-4b57-8a61-0c9f3e7d2b15",
    "created_at": "2026-02-02T10:00:00Z",
    "domain": "medical",
    "predictions": [
        {
            "id": "p-1",
            "timestamp": "2026-02-01T08:00:00Z",
            "confidence": 0.87,
            "correct": True,
            "ground_truth_source": "human",
        }
    ],
}


def test_ERS_3_1_e_the_schema_takes_these_fields_and_no_others():
    checker = jsonschema.Draft202012Validator(schema("dataset"))
    assert checker.is_valid(EXAMPLE)
    assert not checker.is_valid(EXAMPLE | {"extra": 1})
    assert not checker.is_valid({k: v for k, v in EXAMPLE.items() if k != "domain"})
    wrong = EXAMPLE["predictions"][0] | {"ground_truth_source": "guess"}
    assert not checker.is_valid(EXAMPLE | {"predictions": [wrong]})


def test_ERS_3_2_a_records_without_ground_truth_are_counted_and_left_out():
    made = evaluated(sample(1000, unlabelled=300), standard="ers")
    assert made.records["unlabelled"] == 300
    assert made.ers.sample_size == 1000
    assert any("no ground truth" in sentence for sentence in made.cautions)


def test_ERS_3_2_b_one_verdict_a_requirement_and_counts_by_source():
    sources = np.array((["human", "automated", None] * 400), object)
    made = evaluated(sample(1200, ground_truth_source=sources), standard="ers")
    assert [r.id for r in made.requirements] == ["ERS-3.1-a", "ERS-3.1-b", "ERS-3.1-b", "ERS-3.1-c", "ERS-3.1-d"]
    assert made.records["ground_truth_sources"] == {"human": 400, "automated": 400, "not stated": 400}


def test_ERS_3_2_b_a_source_that_is_none_of_the_three_is_refused():
    with pytest.raises(InputError, match=r"ERS-3\.1-e\); record 2 has 'oracle'"):
        sample(3, ground_truth_source=np.array(["human", "human", "oracle"], object))


def test_ERS_3_2_c_all_three_metrics_are_in_every_result():
    assert {"ece", "u_recall", "ers"} <= set(evaluated(standard="ers").metrics["ers"])


def test_ERS_3_2_d_a_certificate_is_possible_only_with_data_and_level():
    assert evaluated(standard="ers", domain="general").certificate_possible
    assert not evaluated(sample(500), standard="ers", domain="general").certificate_possible


def test_ERS_3_3_a_data_and_code_determine_the_result():
    first, second = evaluated(), evaluated()
    assert first.to_dict() == second.to_dict()
    assert first.dataset_digest == second.dataset_digest


def test_ERS_3_3_b_version_and_code_hash_are_in_the_result():
    evidence = evaluated().to_dict()["evidence"]
    assert evidence["version"]
    assert re.fullmatch(r"sha-256:[0-9a-f]{64}", evidence["code_digest"])


@pytest.mark.parametrize(("limits", "level"), [((0.20, 30, 70), 1)])
def test_ERS_4_1_a_level_1_at_its_limits(limits, level):
    assert ers_level(*limits) == level


def test_ERS_4_1_b_level_2_at_its_limits():
    assert ers_level(0.15, 50, 50) == 2


def test_ERS_4_1_c_level_3_at_its_limits():
    assert ers_level(0.10, 70, 30) == 3


def test_ERS_4_1_d_the_highest_level_whose_limits_are_all_met():
    assert ers_level(0.10, 70, 31) == 2
    assert ers_level(0.21, 100, 0) == 0
    made = ers_evaluate([0], [1.0])
    assert made.level == "NONE"


def test_ERS_5_1_a_certificates_are_named_by_year_and_serial_and_last_twelve_months():
    assert id_of("ONTO-CERT-2026-7Q4MK8ZD2N0R5TVX", "id")
    with pytest.raises(VerificationError):
        id_of("ONTO-CERT-26-ABCD", "id")
    assert schedule.expiry("2028-02-29") == "2029-02-28"
    facts = {"issued": "2026-01-01", "next_due": "2026-04-01"}
    assert schedule.certificate_status("2026-04-08", **facts) == "VALID"
    assert schedule.certificate_status("2026-04-09", **facts) == "SUSPENDED"
    assert schedule.certificate_status("2027-01-01", **facts) == "EXPIRED"
    assert schedule.certificate_status("2027-01-01", **facts, revoked=True) == "REVOKED"


def test_ERS_5_1_e_a_changed_digit_breaks_the_signature():
    from epimeter.trust.envelope import open_sealed, seal
    from epimeter.trust.keys import PrivateKey

    key = PrivateKey.from_seed(bytes(32))
    sealed = seal({"metrics": {"ece": 0.08}}, "certificate", key)
    trusted = {key.public.id: key.public}
    assert open_sealed(sealed, "certificate", trusted).document == {"metrics": {"ece": 0.08}}
    forged = dataclasses.replace(sealed, payload=sealed.payload.replace(b"0.08", b"0.07"))
    with pytest.raises(VerificationError):
        open_sealed(forged, "certificate", trusted)


@pytest.mark.parametrize(
    ("date", "level", "due"),
    [
        ("2026-01-31", "L3", "2026-02-28"),
        ("2028-01-31", "L3", "2028-02-29"),
        ("2026-11-30", "L2", "2027-02-28"),
        ("2028-02-29", "L1", "2029-02-28"),
        ("2026-01-31", "NONE", None),
    ],
)
def test_ERS_6_2_b_the_next_evaluation_is_calendar_months_on(date, level, due):
    assert ers_next_evaluation(date, level) == due


def test_ERS_6_2_b_a_moment_counts_by_its_day_in_utc():
    late = datetime.datetime(2026, 2, 1, 0, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert ers_next_evaluation(late, "L3") == "2026-02-28"


def test_ERS_7_1_a_the_act_is_mapped_by_articles_9_11_13_15():
    rows = [row for row in evaluated().to_dict()["mapping"]["rows"] if row["framework"] == "eu_ai_act"]
    assert [row["clause"] for row in rows] == ["Article 9", "Article 11", "Article 13", "Article 15"]


def test_ERS_7_2_a_nist_is_mapped():
    rows = [row for row in evaluated().to_dict()["mapping"]["rows"] if row["framework"] == "nist_ai_rmf"]
    assert {row["clause"] for row in rows} == {"MEASURE", "MANAGE", "GOVERN"}


def test_ERS_7_3_a_iso_is_mapped_with_its_own_titles():
    rows = {
        row["clause"]: row["title"]
        for row in evaluated().to_dict()["mapping"]["rows"]
        if row["framework"] == "iso_42001"
    }
    assert rows["8.2"] == "AI risk assessment"
    assert rows["9.1"].startswith("Monitoring, measurement")


def test_ERS_8_3_a_the_version_of_the_standard_is_in_every_result():
    assert evaluated(standard="ers").to_dict()["spec_version"] == "1.0.0"


def test_ERS_A_a_the_reference_implementation_is_the_printed_code_not_a_repository():
    assert "| ERS-A-a | informative |" in page({})


def test_ERS_B_a_the_printed_test_vector():
    made = ers_evaluate(*VECTOR)
    assert made.ece == pytest.approx(0.20, abs=1e-12)
    assert made.u_recall == 50.0
    assert made.ers == 65
