# SPDX-License-Identifier: Apache-2.0
"""ONTO 42003:2025, a test a clause; names begin with the clause's id."""

import jsonschema
import pytest
from standard_samples import LIABILITY, SOURCES, declared, liable, sample, whole_json

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.passport import passport
from epimeter.standards import comparison, exposure, failure_rate
from epimeter.standards.exposure_inputs import liability_inputs
from epimeter.standards.onto42003 import INCIDENT_COSTS, MULTIPLIERS, REFERENCE_RATES, REGULATORY_WEIGHTS
from epimeter.standards.schedule import LiabilityState, liability_due
from epimeter.standards.schemas import schema


def test_42003_4_2_2_a_the_failure_rate():
    assert failure_rate(0.10, 0.70) == pytest.approx(0.22)


def test_42003_4_2_3_a_the_baseline_is_a_number_or_marked_as_not_measured():
    assert liable().to_dict()["results"]["baseline"] == "not measured"
    both = liable(baseline_failure_rate=0.23).to_dict()["results"]
    assert both["baseline"]["failure_rate"] == 0.23
    assert both["mitigated"]["exposure"] > 0


def test_42003_4_2_3_b_reference_rates_are_shown_and_never_used():
    made = liable()
    assert REFERENCE_RATES["medical_diagnosis"] == (0.23, 0.04, 0.02)
    assert made.result.failure_rate not in {rate for rates in REFERENCE_RATES.values() for rate in rates}
    assert any(
        "shown and not used" in block.caption for s in made.sections for block in s.blocks if hasattr(block, "caption")
    )


def test_42003_4_3_1_a_the_four_parts_sum_to_the_cost():
    parts = {"direct": 1, "legal": 2, "regulatory": 3, "consequential": 4}
    assert liable(reference_cost=None, incident_cost=parts).inputs.incident_cost == 10
    with pytest.raises(InputError, match=r"four parts .*42003-4\.3\.1-a"):
        liable(reference_cost=None, incident_cost={"direct": 1})


@pytest.mark.parametrize(
    ("name", "total"),
    [("medical_diagnosis", 2_400_000), ("legal_advisory", 890_000), ("financial_planning", 1_200_000),
     ("code_generation", 4_500_000), ("customer_service", 50_000), ("content_generation", 250_000)],
)  # fmt: skip
def test_42003_4_3_2_a_the_reference_costs_sum(name, total):
    assert INCIDENT_COSTS[name].total == total


def test_42003_4_3_3_a_three_adjustments_default_to_one():
    assert liable().inputs.adjustments == {"size": 1, "geography": 1, "history": 1}
    assert liable(adjustments={"size": 2, "history": 0.5, "geography": 3}).inputs.incident_cost == 7_200_000


def test_42003_4_4_2_a_multipliers_are_an_enumeration():
    assert sorted(MULTIPLIERS.values()) == [0.5, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0]
    with pytest.raises(InputError, match="domains must be one of"):
        liable(domains=["space"])
    with pytest.raises(InputError, match=r"42003-4\.4\.2-a"):
        liable(domains=[])


def test_42003_4_4_3_a_the_highest_multiplier_unless_volumes_are_tracked():
    untracked = liable(domains=["consumer-facing", "life-critical"])
    assert untracked.inputs.multiplier == 3
    tracked = liable(domains={"consumer-facing": 90_000, "life-critical": 10_000})
    assert tracked.inputs.weighted_volume == 90_000 + 30_000
    assert tracked.result.exposure == pytest.approx(untracked.result.exposure * 120_000 / 300_000)


def test_42003_4_5_2_a_regulatory_weights_are_an_enumeration():
    assert REGULATORY_WEIGHTS == {"high": 1.5, "standard": 1.2, "emerging": 1.1, "minimal": 1.0}
    with pytest.raises(InputError, match="regulatory must be one of"):
        liable(regulatory="strict")


def test_42003_5_1_a_the_product_of_the_factors():
    assert exposure(100_000, 0.23, 2_400_000, 3.0, 1.5) == pytest.approx(248_400_000_000)
    assert exposure(100_000, 0.23, 2_400_000, 3.0, 1.5, 0.001) == pytest.approx(248_400_000)
    assert exposure(1, 0.31, 890_000, 2.5, 1.2) == pytest.approx(827_700)


def test_42003_5_2_a_the_baseline_amount():
    found = liable(baseline_failure_rate=0.23).result
    assert found.baseline_exposure == pytest.approx(100_000 * 0.23 * 2_400_000 * 3 * 1.5)


def test_42003_5_3_a_the_mitigated_amount():
    found = liable().result
    assert found.exposure == pytest.approx(100_000 * found.failure_rate * 2_400_000 * 3 * 1.5)


def test_42003_5_4_a_the_reduction_may_be_negative():
    assert comparison(100, 150).reduction == -50


def test_42003_5_5_a_a_reduction_in_percent_needs_a_baseline():
    assert comparison(248_400_000, 43_200_000).reduction_percent == pytest.approx(82.6, abs=0.05)
    with pytest.raises(UndefinedMetricError, match=r"42003-5\.5-a"):
        comparison(0, 1)


def test_42003_5_6_a_a_return_needs_a_cost():
    assert comparison(100, 50, 10).roi_percent == pytest.approx(400)
    with pytest.raises(UndefinedMetricError, match=r"42003-5\.6-a"):
        comparison(100, 50, 0)


@pytest.mark.parametrize("name", list(SOURCES))
def test_42003_6_1_a_every_source_must_be_named(name):
    with pytest.raises(InputError, match=rf"sources\.{name} must say .*42003-6\.1-a"):
        liability_inputs(LIABILITY | {"sources": SOURCES | {name: "  "}})


def test_42003_6_2_a_point_interval_and_assumptions():
    made = liable()
    summary = made.to_dict()["executive_summary"]
    assert summary["low"] <= summary["exposure"] <= summary["high"]
    assert summary["level"] == 0.8
    assert made.assumptions


BEFORE = LiabilityState(query_volume=1000, domains=("life-critical",), ece=0.1, u_recall=0.7, regulation="high")


@pytest.mark.parametrize(
    ("changes", "today", "reason"),
    [
        ({}, "2026-01-31", None),
        ({"query_volume": 1250}, "2026-01-31", None),
        ({"query_volume": 750}, "2026-01-31", None),
        ({"query_volume": 1250.01}, "2026-01-31", "25 %"),
        ({"domains": ("internal-only",)}, "2026-01-31", "domain class"),
        ({"ece": 0.11}, "2026-01-31", "metrics"),
        ({"regulation": "minimal"}, "2026-01-31", "regulatory context"),
        ({}, "2026-12-31", "a year has passed"),
    ],
)
def test_42003_6_3_a_five_triggers_and_exactly_25_percent_is_none(changes, today, reason):
    now = LiabilityState(**{f: getattr(BEFORE, f) for f in BEFORE.__dataclass_fields__} | changes)
    found = liability_due("2025-12-31", BEFORE, now, today)
    assert (found.reasons == ()) is (reason is None)
    assert found.due == ("2026-12-31" if reason is None else today)
    if reason:
        assert reason in found.reasons[0]


def test_42003_6_3_a_a_report_of_29_february_is_due_on_28_february():
    assert liability_due("2028-02-29", BEFORE, BEFORE, "2028-03-01").due == "2029-02-28"


def test_42003_7_1_a_five_sections():
    titles = [section.title for section in liable().sections]
    assert [title.removeprefix("Liability: ") for title in titles] == [
        "executive summary", "inputs", "results", "assumptions and limits", "recommendations"
    ]  # fmt: skip
    facts = liable().to_dict()
    assert {"executive_summary", "inputs", "results", "assumptions", "recommendations"} <= set(facts)


def test_42003_7_2_a_the_json_follows_its_schema():
    checker = jsonschema.Draft202012Validator(schema("liability"))
    for made in (
        liable(),
        liable(baseline_failure_rate=0.3, mitigation_cost=5.0),
        liable(domains={"internal-only": 10}),
    ):
        checker.validate(made.to_dict())


def test_42003_7_3_a_liability_goes_into_the_passport():
    evaluation = whole_json(declaration=declared()) | {"liability": liable().to_dict()}
    assert passport(evaluation)["liability"]["standard"] == "ONTO 42003:2025"


def test_42003_8_1_a_formula_inputs_report_and_updates_are_all_there():
    made = liable(sample(400))
    facts = made.to_dict()
    assert "=" in made.formula
    assert set(facts["inputs"]["sources"]) == set(SOURCES)
    state = LiabilityState.of(facts["state"])
    assert liability_due("2026-05-31", state, state, "2026-06-01").reasons == ()


def test_42003_A_3_a_the_report_says_whether_the_figure_is_a_maximum():
    assert "theoretical maximum" in liable().summary
    materialised = liable(materialisation=0.001)
    assert "probability 0.001" in materialised.summary
    assert materialised.result.exposure == pytest.approx(liable().result.exposure / 1000)


def test_amounts_have_separators_and_every_factor_is_shown():
    formula = liable().formula
    for factor in ("100,000 (queries a year)", "2,400,000.00 (incident cost)", "3 (domain)", "1.5 (regulation)"):
        assert factor in formula
    assert "USD " in formula


def test_scenarios_scale_the_cost_and_stay_apart():
    made = liable(scenarios={"low": 0.1, "high": 10})
    assert made.scenarios["high"][0] == pytest.approx(100 * made.scenarios["low"][0])
