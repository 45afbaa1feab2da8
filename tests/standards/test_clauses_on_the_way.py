# SPDX-License-Identifier: Apache-2.0
"""Clauses where a user meets them: in an evaluation, in a liability report, at the command."""

import json

import numpy as np
import pytest
from standard_samples import NOW, SYSTEM, declared, evaluated, liable, whole_json

from epimeter.cli import main
from epimeter.standards import ers_evaluate
from epimeter.standards.records import records

KEPT = {"frequency_kept": True, "third_party_verification": True, "continuous_monitoring": True}


def sound(n=4000):
    """Records of a system whose numbers meet Level 3: calibrated, and every unknown input flagged."""
    rng = np.random.default_rng(5)
    prob = rng.uniform(0.02, 0.98, n)
    unknown = rng.random(n) < 0.3
    times = np.datetime64("2026-03-01", "us") + np.arange(n) * np.timedelta64(200, "s")
    return records(rng.random(n) < prob, prob, unknown=unknown, detected=unknown, timestamp=times, now=NOW)


def test_42001_5_1_1_b_an_evaluation_of_a_new_version_says_that_it_was_due():
    before = whole_json(declaration=declared())
    told = declared(system=SYSTEM | {"model_version": "3.0"})
    found = evaluated(declaration=told, baseline=before)
    assert any("42001-5.1.1-b" in one for one in found.due), found.due


@pytest.mark.parametrize(
    ("domain", "late"),
    [("healthcare", True), ("legal", True), ("financial", True), ("critical_infrastructure", True),
     ("general_enterprise", False), ("consumer", False)],
)  # fmt: skip
def test_42001_5_1_1_c_an_evaluation_after_82_days_is_late_where_30_are_allowed(domain, late):
    facts = {"declaration": declared(flags={"frequency_kept": True}), "onto_domain": domain}
    before = whole_json(date="2026-03-10", **facts)
    found = evaluated(baseline=before, **facts)
    assert any("overdue" in one for one in found.due) is late
    assert found.claim.flags["frequency_kept"] is not late


def test_42001_8_1_a_numbers_alone_with_what_must_be_documented_make_level_1():
    given = sound()
    assert evaluated(given).claim.level == "none"
    assert evaluated(given, declaration=declared()).claim.level == "Level 1"


@pytest.mark.parametrize(("kept", "made"), [(False, True), (True, False)])
def test_42001_8_1_b_level_2_needs_the_frequency_and_a_passport(kept, made):
    found = evaluated(sound(), declaration=declared(flags={"frequency_kept": kept}), passport=made)
    assert found.claim.level == "Level 1" and any("42001-8.1-b" in one for one in found.claim.missing)
    whole = evaluated(sound(), declaration=declared(flags={"frequency_kept": True}), passport=True)
    assert whole.claim.level == "Level 2"


def test_42001_8_2_a_the_tier_stands_beside_the_level():
    given = sound()
    tiers = [
        evaluated(given, declaration=declared(flags=flags), passport=passport).claim.tier
        for flags, passport in (({}, False), ({"frequency_kept": True}, True))
    ]
    assert tiers == ["Tier 1 Audit", "Tier 2 Monitoring"]


@pytest.mark.parametrize(("name", "total"), [("medical_diagnosis", 2_400_000), ("customer_service", 50_000)])
def test_42003_4_3_2_a_a_report_takes_the_reference_cost_by_its_name(name, total):
    assert liable(reference_cost=name).inputs.incident_cost == total


def test_ERS_3_1_e_the_command_reads_the_document_of_the_standard(tmp_path, capsys):
    document = {
        "dataset_id": "6f1c1a5e-58a1-4c2e-9a77-0b7a5c2f3d11",
        "created_at": "2026-01-10T00:00:00Z",
        "domain": "medical",
        "predictions": [
            {"id": f"p{row}", "timestamp": f"2026-01-0{1 + row % 9}T00:00:00Z", "confidence": row % 10 / 10 + 0.05,
             "correct": row % 3 > 0, "ground_truth_source": "human"}
            for row in range(40)
        ],
    }  # fmt: skip
    (tmp_path / "ers.json").write_text(json.dumps(document))
    with pytest.raises(SystemExit, match="0"):
        main(["evaluate", str(tmp_path / "ers.json"), "--standard", "ers", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["ers"]["domain"] == "medical" and found["records"]["ground_truth_sources"] == {"human": 40}
    (tmp_path / "ers.json").write_text(json.dumps(document | {"dataset_id": "october"}))
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(tmp_path / "ers.json"), "--standard", "ers"])
    assert "ERS-3.1-e" in capsys.readouterr().err


def test_ERS_A_a_the_printed_code_is_what_is_computed():
    """The code of 2.1 to 2.3, line by line, on the vector of annex B and on others."""
    rng = np.random.default_rng(3)
    cases = [([0.9, 0.9, 0.5, 0.5], [True, False, True, False])]
    cases += [((rng.integers(0, 101, 50) / 100).tolist(), (rng.random(50) < 0.6).tolist()) for _ in range(20)]
    for confidence, correct in cases:
        bins = [[] for _ in range(10)]
        for c, y in zip(confidence, correct, strict=True):
            bins[min(int(c * 10), 9)].append((c, y))
        gaps = [
            len(b) / len(correct) * abs(sum(y for _, y in b) / len(b) - sum(c for c, _ in b) / len(b))
            for b in bins
            if b
        ]
        wrong = [c for c, y in zip(confidence, correct, strict=True) if not y]
        recall = 100 * sum(c < 0.7 for c in wrong) / len(wrong) if wrong else 100
        found = ers_evaluate(correct, confidence)
        assert (found.ece, found.u_recall) == pytest.approx((sum(gaps), recall), abs=1e-12)
