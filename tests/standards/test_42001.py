# SPDX-License-Identifier: Apache-2.0
"""ONTO 42001:2025, a test a clause; names begin with the clause's id."""

import math

import numpy as np
import pytest
from standard_samples import UNKNOWNS, columns, declared, evaluated, liable, sample, whole_json

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.passport import passport
from epimeter.standards import (
    exposure,
    failure_rate,
    igr,
    onto_ece,
    onto_evaluate,
    onto_level,
    onto_u_recall,
    ors,
    risk_index,
    schedule,
)
from epimeter.standards.bands import RISK
from epimeter.standards.conformity import CONDITIONS, claim
from epimeter.standards.declaration import declaration
from epimeter.standards.onto42001 import DOMAINS, LEVELS
from epimeter.standards.onto42003 import INCIDENT_COSTS
from epimeter.standards.pages import standards_sections
from epimeter.standards.unknowns import TAXONOMIES, by_confidence, recall_by_category, taxonomy_of


def test_42001_1_b_there_is_a_statement_and_no_certificate():
    verdict = evaluated().verdicts["onto"]
    assert verdict["statement"]
    assert not any("certificate" in name for name in verdict)


def test_42001_2_a_the_document_is_always_called_onto_42001():
    assert evaluated(standard="42001").to_dict()["standards"] == ["ONTO 42001:2025"]


def test_42001_3_a_unknown_is_a_column_of_its_own():
    correct, prob, unknown, _ = columns()
    assert onto_u_recall(unknown, prob).u_recall != onto_u_recall(1 - correct, prob).u_recall


def test_42001_4_2_a_without_unknowns_no_level_is_claimed():
    made = evaluated(sample(unknown=np.zeros(1200, int)), standard="42001")
    assert made.onto is None
    assert made.verdicts["onto"]["level"] == "none"
    assert made.metrics["onto"]["u_recall"] is None
    assert made["onto.ece"].value is not None


def test_42001_4_2_b_mce_and_igr_are_reported():
    onto = evaluated().metrics["onto"]
    assert onto["mce"] >= onto["ece"]
    assert onto["igr"]["igr"] > 0


def test_42001_5_1_a_ece_is_always_there():
    assert evaluated(standard="42001").metrics["onto"]["ece"] >= 0


def test_42001_5_1_b_the_method_is_documented():
    method = evaluated(strategy="adaptive").methodology
    assert method["strategy"] == "adaptive"
    assert method["bins"] == 10
    assert method["sample_size"] == 1200
    assert method["software"].startswith("epimeter ")


def test_42001_5_1_c_the_next_evaluation_is_in_the_result():
    assert evaluated(standard="42001", domain="consumer").next_evaluation == "2026-11-27"


def test_42001_5_1_1_a_before_first_deployment():
    assert schedule.onto_due(None, "legal").reasons[0].endswith("(42001-5.1.1-a)")
    told = declaration({"system": {"pre_deployment": True}})
    assert evaluated(declaration=told).methodology["pre_deployment"] is True


def test_42001_5_1_1_b_a_new_model_is_due_now():
    found = schedule.onto_due("2026-01-01", "consumer", model_version="2", last_model_version="1")
    assert found.due == "2026-01-01"
    assert "due now" in found.reasons[0]


@pytest.mark.parametrize(
    ("domain", "due"),
    [
        ("healthcare", "2028-03-01"),
        ("legal", "2028-03-01"),
        ("financial", "2028-03-01"),
        ("critical_infrastructure", "2028-03-01"),
        ("general_enterprise", "2028-04-30"),
        ("consumer", "2028-07-29"),
    ],
)
def test_42001_5_1_1_c_the_longest_interval_of_each_domain(domain, due):
    assert schedule.onto_due("2028-01-31", domain).due == due


def test_42001_5_1_1_c_the_earlier_date_counts_when_both_are_claimed():
    assert schedule.next_evaluation("2026-01-31", ers_level="L1", onto_domain="consumer") == "2026-07-30"
    assert schedule.next_evaluation("2026-01-31", ers_level="L3", onto_domain="consumer") == "2026-02-28"
    assert schedule.next_evaluation("2026-01-31", ers_level="NONE") is None


def slow_errors(correct, prob, groups):
    gaps = [abs(correct[g].mean() - prob[g].mean()) for g in groups]
    weights = [len(g) / len(prob) for g in groups]
    return sum(w * g for w, g in zip(weights, gaps, strict=True)), max(gaps)


def width_groups(prob, bins=10):
    index = np.minimum((prob * bins).astype(int), bins - 1)
    return [np.flatnonzero(index == b) for b in range(bins) if (index == b).any()]


def mass_groups(prob, bins=15):
    group = np.concatenate([np.full(len(part), b) for b, part in enumerate(np.array_split(prob, bins))])
    index = np.array([group[(np.sum(prob < p) + np.sum(prob <= p) - 1) // 2] for p in prob])
    return [np.flatnonzero(index == b) for b in np.unique(index)]


def adaptive_groups(prob, bins=10):
    index = np.minimum((prob * bins).astype(int), bins - 1)
    enough, groups, held = max(50, len(prob) / (2 * bins)), [], []
    for b in range(bins):
        held += np.flatnonzero(index == b).tolist()
        if len(held) >= enough:
            groups.append(held)
            held = []
    if held and groups:
        groups[-1] = groups[-1] + held
    return [np.array(g) for g in groups or [held]]


def test_42001_5_2_1_a_ece_is_the_weighted_average_of_the_gaps():
    correct, prob, *_ = columns(400)
    assert onto_ece(correct, prob).ece == pytest.approx(slow_errors(correct, prob, width_groups(prob))[0], abs=1e-12)


def test_42001_5_2_2_a_it_is_the_formula_of_annex_a():
    assert onto_ece([1, 0, 1, 0], [0.9, 0.9, 0.5, 0.5]).ece == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize(
    ("strategy", "groups"), [("equal_width", width_groups), ("equal_mass", mass_groups), ("adaptive", adaptive_groups)]
)
def test_42001_5_2_3_a_three_strategies(strategy, groups):
    correct, prob, *_ = columns(700)
    found = onto_ece(correct, prob, strategy=strategy)
    assert (found.ece, found.mce) == pytest.approx(slow_errors(correct, prob, groups(prob)), abs=1e-12)


def test_42001_5_2_3_b_another_strategy_needs_a_new_baseline():
    before = evaluated().to_dict()
    assert evaluated(baseline=before).baseline.startswith("same method")
    with pytest.raises(
        InputError, match=r"strategy must stay equal_width with 10 bins .*42001-5\.2\.3-b.* got adaptive"
    ):
        evaluated(baseline=before, strategy="adaptive")
    declared_anew = evaluated(baseline=before, strategy="adaptive", new_baseline="confidences are discrete now")
    assert "confidences are discrete now" in declared_anew.baseline


def test_42001_5_2_3_b_the_baseline_must_be_of_the_same_system():
    before = evaluated(declaration=declared()).to_dict()
    other = declaration({"system": {"system_id": "other"}})
    with pytest.raises(InputError, match="same system"):
        evaluated(baseline=before, declaration=other)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_42001_5_2_4_a_ece_at_the_limits_is_met(level):
    limits = LEVELS[level - 1]
    assert onto_level(limits.ece, 1.0) == level
    assert onto_level(limits.ece + 1e-6, 1.0) == level - 1


def test_42001_5_3_1_a_mce_is_the_worst_gap():
    assert onto_ece([1, 1, 0], [0.95, 0.55, 0.45]).mce == pytest.approx(0.45)


def test_42001_5_3_2_a_mce_follows_annex_a_2():
    correct, prob, *_ = columns(400)
    assert onto_ece(correct, prob).mce == pytest.approx(slow_errors(correct, prob, width_groups(prob))[1], abs=1e-12)


@pytest.mark.parametrize("domain", ["healthcare", "legal", "financial", "critical_infrastructure"])
def test_42001_5_3_3_a_mce_is_reported_in_high_stakes(domain):
    assert evaluated(sample(300), standard="42001", domain=domain)["onto.mce"].value is not None


def test_42001_6_1_a_without_the_column_unknown_nothing_is_evaluated():
    with pytest.raises(InputError, match=r"unknown must be given .*42001-6\.1-a"):
        evaluated(sample(unknown=None), standard="42001")
    assert evaluated(sample(unknown=None), standard="ers").ers is not None


def test_42001_6_1_b_detection_is_measured_by_u_recall():
    assert evaluated().onto.u_recall == onto_u_recall(*(columns()[i] for i in (2, 1))).u_recall


def test_42001_6_1_c_a_passport_needs_the_taxonomy():
    with pytest.raises(InputError, match=r"taxonomy must be documented .*42001-6\.1-c"):
        passport(whole_json())
    assert passport(whole_json(declaration=declared()))["unknowns"]["taxonomy"] == ["operational"]


def test_42001_6_1_c_no_level_without_a_documented_taxonomy():
    flags = {condition.name: True for condition in CONDITIONS}
    assert claim(3, flags).level == "Level 3"
    found = claim(3, flags | {"taxonomy_documented": False})
    assert found.level == "none"
    assert "42001-6.1-c" in found.missing[0]


def test_42001_6_2_2_a_the_share_of_unknowns_that_were_flagged():
    assert onto_u_recall([1, 1, 1, 0], [0.2, 0.4, 0.9, 0.1]).u_recall == pytest.approx(2 / 3)


def test_42001_6_2_3_a_taxonomies_are_an_enumeration_and_categories_have_their_own_recall():
    assert set(TAXONOMIES) == {"distribution", "epistemic", "operational"}
    assert taxonomy_of("distribution, operational") == ("distribution", "operational")
    with pytest.raises(InputError, match=r"42001-6\.2\.3-a"):
        taxonomy_of("weather")
    found = recall_by_category([1, 1, 1, 0], [1, 0, 1, 1], ["novel", "novel", None, None])
    assert {c.category: (c.u_recall, c.unknowns) for c in found} == {"novel": (0.5, 2), "other": (1.0, 1)}


def test_42001_6_2_3_b_the_taxonomy_is_in_the_passport():
    made = passport(whole_json(declaration=declared(unknowns=UNKNOWNS | {"taxonomy_text": "rare diseases"})))
    assert made["unknowns"]["taxonomy_text"] == "rare diseases"


@pytest.mark.parametrize("level", [1, 2, 3])
def test_42001_6_2_4_a_u_recall_at_the_limits_is_met(level):
    limits = LEVELS[level - 1]
    assert onto_level(0.0, limits.u_recall) == level
    assert onto_level(0.0, limits.u_recall - 1e-6) == level - 1


def test_42001_6_3_1_a_a_column_detected_overrules_the_threshold():
    _, prob, unknown, _ = columns()
    assert by_confidence(prob).detected.tolist() == (prob < 0.5).tolist()
    made = evaluated(sample(detected=unknown))
    assert made.onto.u_recall == 1
    assert made.onto.false_alarm_rate == 0
    assert made.methodology["mechanism"] == "column detected"


def test_42001_6_3_2_a_method_threshold_and_validation_are_three_fields():
    for name in ("method", "threshold", "validation"):
        told = declared(unknowns={**UNKNOWNS, name: ""})
        assert not told.mechanism_documented
        assert not evaluated(declaration=told).claim.flags["mechanism_documented"]
    assert declared().mechanism_documented


def test_42001_7_1_a_ors_is_always_there():
    assert 0 <= evaluated().metrics["onto"]["ors"] <= 100


def test_42001_7_2_2_a_the_composite_score():
    assert ors(0.08, 0.74, "financial") == pytest.approx(37.0333, abs=1e-4)
    assert ors(0.9, 1.0, "consumer") == pytest.approx(35 + 6), "the error counts at most as 0.3"


@pytest.mark.parametrize(
    ("domain", "factor"),
    [
        ("healthcare", 1.0),
        ("legal", 0.9),
        ("financial", 0.8),
        ("critical_infrastructure", 0.85),
        ("general_enterprise", 0.5),
        ("consumer", 0.3),
    ],
)
def test_42001_7_2_3_a_domain_factors(domain, factor):
    assert ors(0.0, 1.0, domain) == pytest.approx(20 * factor)


@pytest.mark.parametrize(
    ("score", "name"), [(25, "LOW"), (25.5, "MODERATE"), (50, "MODERATE"), (50.1, "HIGH"), (75.1, "CRITICAL")]
)
def test_42001_7_2_4_a_classes_go_by_value(score, name):
    assert RISK[risk_index(score)].name == name


def test_42001_7_3_a_another_composite_can_only_be_noted():
    told = declaration({"system": {"notes": "we also use a score of our own"}})
    assert evaluated(declaration=told).to_dict()["declaration"]["notes"] == "we also use a score of our own"


def held(**wanted):
    return {condition.name: True for condition in CONDITIONS} | wanted


def test_42001_8_1_a_level_1_needs_the_numbers():
    assert claim(1, held()).level == "Level 1"
    assert claim(0, held()).level == "none"


@pytest.mark.parametrize("flag", ["frequency_kept", "passport_generated"])
def test_42001_8_1_b_level_2_needs_two_flags_more(flag):
    found = claim(2, held(**{flag: False}))
    assert found.level == "Level 1"
    assert "42001-8.1-b" in found.missing[0]


@pytest.mark.parametrize("flag", ["third_party_verification", "continuous_monitoring", "liability_assessed"])
def test_42001_8_1_c_level_3_needs_three_flags_more(flag):
    assert claim(3, held(**{flag: False})).level == "Level 2"


def test_42001_8_1_c_the_score_itself_has_no_limit():
    worst = onto_evaluate([1, 0] * 50, [0.5] * 100, [1] * 100, domain="healthcare", threshold=1.0)
    assert worst.level_index == 3


@pytest.mark.parametrize(("level", "tier"), [(1, "Tier 1 Audit"), (2, "Tier 2 Monitoring"), (3, "Tier 3 Certified")])
def test_42001_8_2_a_each_level_has_its_tier(level, tier):
    assert claim(level, held()).tier == tier


def test_42001_8_3_a_the_statement_holds_level_values_date_method_and_scope():
    made = evaluated(declaration=declared(flags={"frequency_kept": True}))
    for part in (
        made.claim.level if made.claim.level_index else "no level",
        f"ECE {made.onto.ece:.4f}",
        f"U-Recall {made.onto.u_recall:.4f}",
        f"ORS {made.onto.ors:.1f}",
        "2026-05-31",
        "A.1 (equal_width, 10 bins)",
        "scope: adults",
    ):
        assert part in made.statement
    assert RISK[made.onto.risk_index].action in made.statement


def test_42001_A_1_1_a_two_bins_by_hand():
    found = onto_ece([1, 0, 0], [0.95, 0.95, 0.05])
    assert found.ece == pytest.approx(2 / 3 * 0.45 + 1 / 3 * 0.05)


def test_42001_A_1_2_a_confidence_1_is_in_the_last_bin():
    assert onto_ece([1, 0], [1.0, 0.92]).bins == 1


def test_42001_A_1_3_a_small_bins_join_their_neighbours():
    correct, prob, *_ = columns(300)
    assert onto_ece(correct, prob, strategy="adaptive").bins == len(adaptive_groups(prob))
    assert onto_ece([1, 0], [0.1, 0.9], strategy="adaptive").bins == 1


def test_42001_A_2_a_empty_bins_have_no_gap():
    assert onto_ece([1], [1.0]).mce == 0


def test_42001_A_3_1_a_without_unknowns_there_is_no_u_recall():
    with pytest.raises(UndefinedMetricError, match=r"42001-A\.3\.1-a"):
        onto_u_recall([0, 0], [0.1, 0.9])


def test_42001_A_3_2_a_exactly_at_the_threshold_is_not_detected():
    assert onto_u_recall([1], [0.5]).u_recall == 0
    assert onto_u_recall([1], [0.5], threshold=0.51).u_recall == 1


def test_42001_A_4_1_a_information_claimed_over_information_justified():
    found = igr([1, 0, 1, 1], [0.9, 0.9, 0.9, 0.9])

    def entropy(p):
        return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))

    assert found.igr == pytest.approx((1 - entropy(0.9)) / (1 - entropy(0.75)))


def test_42001_A_4_2_a_calibrated_bins_give_exactly_one():
    assert igr([1, 0], [0.5, 0.5]).igr == 1
    assert igr([1, 1, 1, 0], [0.75] * 4).igr == 1
    assert igr([1, 1, 1, 0], [0.95] * 4).igr > 1


def test_42001_A_5_1_a_as_in_clause_7():
    assert ors(0.15, 0.5, "general_enterprise") == pytest.approx(100 * (0.35 * 0.5 + 0.45 * 0.5 + 0.2 * 0.5))


def test_42001_A_5_2_a_the_least_score_is_6():
    assert min(ors(0, 1, domain) for domain in DOMAINS) == pytest.approx(6)
    assert max(ors(1, 0, domain) for domain in DOMAINS) == pytest.approx(100)


@pytest.mark.parametrize(
    ("weights", "reason", "words"),
    [
        ((0.5, 0.5, 0.2), "x", "must sum to 1"),
        ((0.7, 0.16, 0.14), "x", "below 0.15"),
        ((0.4, 0.4, 0.2), "", "weights_reason"),
        ((0.5, 0.5), "x", "three numbers"),
    ],
)
def test_42001_A_5_3_a_weights_have_three_conditions(weights, reason, words):
    with pytest.raises(InputError, match=words) as refusal:
        evaluated(sample(300), weights=weights, weights_reason=reason)
    assert "42001-A.5.3-a" in str(refusal.value) or "three numbers" in str(refusal.value)


def test_42001_A_5_3_a_015_is_allowed_with_a_reason():
    made = evaluated(sample(300), weights=(0.7, 0.15, 0.15), weights_reason="calibration matters most")
    assert made.onto.ors == pytest.approx(ors(made.onto.ece, made.onto.u_recall, "healthcare", (0.7, 0.15, 0.15)))
    assert made.methodology["weights_reason"] == "calibration matters most"


def test_42001_B_1_1_a_few_records_are_a_warning_not_an_error():
    made = evaluated(sample(300))
    assert any("500 unknown inputs" in sentence for sentence in made.cautions)
    assert any("1,000 records" in sentence for sentence in made.cautions)


def test_42001_B_1_2_a_three_yes_or_no_fields():
    told = declared(contents={"in_distribution": True, "known_unknowns": False})
    made = evaluated(declaration=told)
    said = {r.title: r.figure for r in made.requirements if r.id == "42001-B.1.2-a"}
    assert list(said.values()) == ["yes", "no", "not stated"]
    with pytest.raises(InputError, match="true or false"):
        declared(contents={"edge_cases": "some"})


def test_42001_B_2_1_a_sources_of_confidence_are_an_enumeration():
    assert declared(methodology={"confidence_source": "softmax"}).confidence_source == "softmax"
    with pytest.raises(InputError, match="confidence_source must be one of"):
        declared(methodology={"confidence_source": "gut feeling"})


def test_42001_B_2_2_a_recalibrations_are_an_enumeration():
    assert (
        evaluated(declaration=declared(methodology={"recalibration": "platt"})).methodology["recalibration"] == "platt"
    )
    with pytest.raises(InputError, match="recalibration must be one of"):
        declared(methodology={"recalibration": "magic"})


def test_42001_B_3_1_a_the_report_has_its_six_sections():
    titles = [section.title for section in standards_sections(evaluated(declaration=declared()))]
    assert {"Verdict", "Scores and their limits", "Data", "Method"} <= set(titles)
    assert titles[-1] == "What this does not prove"


def test_42001_B_3_2_a_the_passport_has_its_fields():
    made = passport(whole_json(declaration=declared()))
    assert set(made["metrics"]) >= {"ece", "mce", "u_recall", "false_alarm_rate", "ors", "intervals"}
    assert set(made["system"]) >= {"organization", "system_id", "model_version", "domain"}
    assert set(made["conformance"]) >= {"level", "tier", "flags"}


def test_42001_B_4_1_a_a_single_day_and_no_unknowns_are_warned_of():
    same = np.full(1200, np.datetime64("2026-03-01T10:00:00", "us"))
    made = evaluated(sample(timestamp=same, unknown=np.zeros(1200, int)))
    assert any("single day" in sentence for sentence in made.cautions)
    assert any("none of the records is one" in sentence for sentence in made.cautions)


def test_42001_C_1_a_robustness_is_mapped_to_article_15():
    rows = {row["clause"]: row for row in evaluated().to_dict()["mapping"]["rows"]}
    assert "U-Recall" in rows["Article 15"]["evidence"]
    assert rows["Article 11"]["evidence"] == "epistemic passport"


def test_42001_C_2_a_nist_functions_are_mapped():
    rows = {row["clause"]: row for row in evaluated().to_dict()["mapping"]["rows"]}
    assert "42001-C.2-a" in rows["GOVERN"]["source"]


def test_42001_D_2_a_exposure_takes_the_failure_rate_of_42003():
    assert exposure(1000, failure_rate(0.1, 0.7), 100) == pytest.approx(1000 * 0.22 * 100)


def test_42001_D_3_a_incident_costs_are_those_of_42003():
    assert INCIDENT_COSTS["legal_advisory"].total == 890_000
    assert liable(reference_cost="legal_advisory").inputs.incident_cost == 890_000
