"""Levels that nobody earned are not claimed, wherever a user looks: each of these was wrong once."""

import json

import numpy as np
import pandas
import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter

DECLARED = """
[system]
organization = "Acme"
system_id = "bot"
model_version = "1"
[unknowns]
taxonomy = ["operational"]
method = "confidence"
threshold = "0.5"
validation = "held-out unknowns"
[flags]
frequency_kept = true
third_party_verification = true
continuous_monitoring = true
"""


@pytest.fixture
def file(tmp_path):
    """Predictions of a system that is calibrated and knows what it does not know."""

    def write(name="data.csv", rows=1500, over=0.0, **columns):
        rng = np.random.default_rng(1)
        unknown = rng.random(rows) < 0.4
        confidence = np.where(unknown, 0.5, 1.0) * rng.random(rows)
        frame = pandas.DataFrame({
            "confidence": confidence,
            "correct": (rng.random(rows) < confidence - over).astype(int),
            "unknown": unknown.astype(int),
            "timestamp": pandas.date_range("2026-10-20", periods=rows, freq="15min", tz="UTC").map(str),
            **columns,
        })  # fmt: skip
        path = tmp_path / name
        if name.endswith(".json"):
            about = {"dataset_id": "6f1c2a34-9d0e-4b57-8a61-0c9f3e7d2b15", "created_at": "2026-11-15T00:00:00Z"}
            listed = [{**row, "correct": bool(row["correct"])} for row in frame.to_dict(orient="records")]
            path.write_text(json.dumps({**about, "domain": "medical", "predictions": listed}))
        else:
            frame.to_csv(path, index=False)
        return path

    return write


def run(*words):
    return CliRunner().invoke(epimeter, [str(word) for word in words], catch_exceptions=True)


def evaluated(*words, standard="both"):
    done = run("evaluate", *words, "--standard", standard, "--date", "2026-11-15", "--draws", "49", "--json")
    assert done.exit_code == 0, done.output + str(done.exception)
    return json.loads(done.stdout)


def test_the_domain_in_the_file_counts_and_a_contradiction_is_refused(file):
    path = file("set.json")
    made = evaluated(path)
    assert made["metrics"]["ers"]["domain"] == "medical" and made["metrics"]["onto"]["domain"] == "healthcare"
    assert evaluated(path, "--domain", "medical")["metrics"]["ers"] == made["metrics"]["ers"]
    refused = run("evaluate", path, "--standard", "ers", "--domain", "general")
    assert "set.json says medical, the option says general" in str(refused.exception)
    path.write_text(path.read_text().replace("6f1c2a34-9d0e-4b57-8a61-0c9f3e7d2b15", "d-1"))
    assert "dataset_id must be a UUID" in str(run("evaluate", path, "--standard", "ers").exception)


def test_the_domain_in_a_column_counts_and_must_be_one(file, tmp_path):
    """A table says its domain in a column, as the document of ERS 3.1 does in a field."""
    path = file(domain="medical")
    made = evaluated(path)
    assert made["metrics"]["ers"]["domain"] == "medical" and made["metrics"]["onto"]["domain"] == "healthcare"
    refused = run("evaluate", path, "--standard", "ers", "--domain", "general")
    assert "data.csv says medical, the option says general" in str(refused.exception)
    pandas.read_csv(path).to_parquet(tmp_path / "data.parquet")
    assert evaluated(tmp_path / "data.parquet")["metrics"]["ers"] == made["metrics"]["ers"]
    several = file(domain=["medical", "legal"] * 750)
    assert "says legal, medical. Evaluate each domain by itself" in str(
        run("evaluate", several, "--standard", "ers").exception
    )
    assert evaluated(several, "--column", "domain=", standard="ers")["metrics"]["ers"]["domain"] == "general"
    other = file(domain="example.org")
    assert "Say which it is with --domain" in str(run("evaluate", other, "--standard", "ers").exception)
    assert evaluated(other, "--domain", "code", standard="ers")["metrics"]["ers"]["domain"] == "code"


@pytest.mark.parametrize("words", [("--bins", "1"), ("--ers-threshold", "1.0")])
def test_other_bins_and_thresholds_are_shown_without_a_level(file, words):
    made = evaluated(file(over=0.2), *words)["verdicts"]
    assert (made["ers"]["level"], made["ers"]["status"]) == ("NONE", "NOT_CLAIMED")
    assert "(C-53)" in made["ers"]["unclaimed"] and made["ers"]["regulatory_status"] == "not stated"
    if words[0] == "--bins":
        assert made["onto"]["measured_level"] == "none" and "42001-5.2.3-a" in made["onto"]["unclaimed"]


@pytest.mark.parametrize("words", [("--bins", "2"), ("--strategy", "equal_mass", "--bins", "10")])
def test_no_mark_class_or_level_stands_beside_numbers_of_another_method(file, words):
    path = file(over=0.2)
    made = evaluated(path, *words)
    assert made["verdicts"]["ers"]["assurance"] is None or words[0] != "--bins"
    assert made["verdicts"]["onto"]["assurance"] is None and made["verdicts"]["onto"]["risk"] is None
    assert "without a class of risk" in made["verdicts"]["onto"]["statement"]
    assert not [one["limits"] for one in made["readings"] if one["name"].startswith("onto.") and one["limits"]]
    said = run("evaluate", path, "--standard", "42001", *words, "--date", "2026-11-15", "--draws", "49").output
    assert "Level 1" not in said and "risk LOW" not in said and "not for this method (C-53)" in said


def test_numbers_carry_no_level_that_only_verdicts_may_claim(file):
    """A reader of the JSON found "Level 3", "Tier 3 Certified" among the metrics with nothing declared."""
    made = evaluated(file())
    for numbers in made["metrics"].values():
        assert not {"level", "level_index", "tier", "risk", "risk_index"} & set(numbers)
    assert made["verdicts"]["onto"]["level"] == "none" and made["verdicts"]["onto"]["tier"] == "none"
    assert "risk LOW: standard monitoring" in made["verdicts"]["onto"]["statement"]


def test_the_statement_on_a_handful_of_records_names_no_class_of_risk(file):
    made = evaluated(file(rows=40))["verdicts"]["onto"]
    assert made["risk"] is None and "risk LOW" not in made["statement"] and "risk MODERATE" not in made["statement"]
    assert "needs at least 50 records" in made["statement"]


def test_one_record_is_no_evidence(file):
    path = file(rows=1)
    made = evaluated(path, standard="ers")
    assert (made["verdicts"]["ers"]["level"], made["verdicts"]["ers"]["status"]) == ("NONE", "INSUFFICIENT_DATA")
    assert made["next_evaluation"] is None and made["metrics"]["ers"]["ece"] is not None
    said = run("evaluate", path, "--standard", "ers", "--draws", "9").output
    assert "ERS L3" not in said and "ERS-3.1-a" in said and "Compliant" not in said


@pytest.mark.parametrize(("records", "level"), [(49, "none"), (50, "Level 3")])
def test_a_handful_of_records_claims_no_level_of_42001(file, records, level):
    made = evaluated(file(rows=records, confidence=0.97, correct=1, unknown=1, detected=1), standard="42001")
    assert made["verdicts"]["onto"]["measured_level"] == level
    assert (made["verdicts"]["onto"]["unclaimed"] is None) is (level != "none")


def test_what_the_operator_declares_is_called_so_and_an_overdue_duty_lowers_the_level(file, tmp_path):
    path, told = file(), tmp_path / "told.toml"
    told.write_text(DECLARED)
    made = evaluated(path, "--declare", told)["verdicts"]
    assert made["ers"]["assessed"] == "self-assessed"
    assert made["onto"]["level"] == "Level 1" and not made["onto"]["flags"]["passport_generated"]
    done = run("passport", path, "--declare", told, "--date", "2026-11-15", "--draws", "49")
    conformance = json.loads(done.stdout)["conformance"]
    assert (conformance["level"], conformance["assessed"]) == ("Level 2", "self-assessed")
    assert "Level 2 (self-assessed)" in conformance["statement"]
    text = run("evaluate", path, "--declare", told, "--standard", "both", "--draws", "9").output
    assert "L3 (self-assessed)" in text
    before = tmp_path / "before.json"
    before.write_text(json.dumps(evaluated(path, "--declare", told) | {"date": "2026-05-01"}))
    late = run("passport", path, "--declare", told, "--baseline", before, "--date", "2026-11-15", "--draws", "9")
    assert json.loads(late.stdout)["conformance"]["level"] == "Level 1"


def test_the_digest_covers_every_column_that_a_verdict_uses(file):
    made = evaluated(file(), standard="ers")["evidence"]["dataset_digest"]
    assert made.startswith("epi-col-v2:")
    times = pandas.date_range("2026-10-20", periods=1500, freq="1min", tz="UTC").map(str)
    others = [
        evaluated(file(**columns), standard="ers")["evidence"]["dataset_digest"]
        for columns in ({"timestamp": times}, {"class": ["a", "b", "c"] * 500}, {"ground_truth_source": "human"})
    ]
    assert len({made, *others}) == 4


def test_an_interval_holds_its_value_and_ors_has_no_part_in_levels(file):
    made = evaluated(file())
    (reading,) = [one for one in made["readings"] if one["name"] == "onto.mce"]
    (other,) = [one for one in made["report"]["measurements"] if one["metric"] == "mce"]
    ends = [reading["interval"][name] for name in ("low", "high")]
    assert ends[0] <= reading["value"] <= ends[1]
    assert ends == [other["interval"][name] for name in ("low", "high")]
    deciding = {
        one["assurance"]["assurance"] for one in made["readings"] if one["name"] in ("onto.ece", "onto.u_recall")
    }
    assert made["verdicts"]["onto"]["assurance"] == ("firm" if deciding == {"firm"} else "marginal")


def test_an_evaluation_is_not_older_than_its_data(file):
    refused = run("evaluate", file(), "--standard", "ers", "--date", "2026-09-01")
    assert "date must not lie before the data" in str(refused.exception)


def test_old_data_and_unknown_sources_are_named_before_anybody_certifies(file):
    done = run("evaluate", file(), "--standard", "ers", "--date", "2027-06-01", "--draws", "9", "--json")
    said = " ".join(json.loads(done.stdout)["cautions"])
    assert "days before the evaluation; ERS 4.2" in said and "source of ground truth is not stated" in said
