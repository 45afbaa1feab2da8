# SPDX-License-Identifier: Apache-2.0
"""epimeter evaluate --standard and epimeter passport, from the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from standard_samples import columns

from epimeter.cli import epimeter
from epimeter.errors import EpimeterError

TAXONOMY = ["--taxonomy", "operational"]


def frame(n=1200):
    correct, prob, unknown, times = columns(n)
    return pd.DataFrame(
        {"timestamp": pd.to_datetime(times, utc=True), "confidence": prob, "correct": correct, "unknown": unknown}
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "p.parquet"
    frame().to_parquet(path)
    return path


def run(*arguments):
    return CliRunner().invoke(epimeter, [str(a) for a in arguments], catch_exceptions=True)


def refused(*arguments):
    """The sentence of a refusal."""
    outcome = run(*arguments)
    assert isinstance(outcome.exception, EpimeterError), outcome.output
    return str(outcome.exception)


def evaluated(path, *more):
    outcome = run("evaluate", path, "--standard", "both", "--draws", "49", "--date", "2026-06-01", "--json", *more)
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


def test_evaluate_prints_verdicts_of_both_standards(table):
    outcome = run("evaluate", table, "--standard", "both", "--domain", "medical", "--draws", "49")
    assert outcome.exit_code == 0, outcome.output
    for part in ("ONTO-ERS: ERS L", "ONTO 42001:", "Next evaluation:", "What this does not prove"):
        assert part in outcome.stdout


def written(data, folder):
    """The same records as Parquet, CSV, JSON, NDJSON, Arrow and npz."""
    text = data.assign(timestamp=data.timestamp.dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    data.to_parquet(folder / "a.parquet")
    data.to_feather(folder / "a.arrow")
    text.to_csv(folder / "a.csv", index=False)
    # Fifteen digits are too few for a double; json's own writer gives the shortest that reads back the same.
    rows = text.to_dict("records")
    (folder / "a.json").write_text(json.dumps(rows))
    (folder / "a.ndjson").write_text("\n".join(map(json.dumps, rows)))
    return [folder / f"a.{kind}" for kind in ("parquet", "arrow", "csv", "json", "ndjson")]


def test_the_same_records_have_the_same_bits_in_every_format(tmp_path):
    found = [evaluated(path) for path in written(frame(400), tmp_path)]
    assert len({json.dumps(one["metrics"]) for one in found}) == 1
    assert len({json.dumps(one["readings"]) for one in found}) == 1
    assert len({one["evidence"]["dataset_digest"] for one in found}) == 1


@pytest.mark.parametrize(("suffix", "sign"), [(".html", "<!doctype html>"), (".md", "# Evaluation of"), (".json", "{")])
def test_the_suffix_of_the_file_chooses_the_rendering(table, tmp_path, suffix, sign):
    path = tmp_path / f"report{suffix}"
    outcome = run("evaluate", table, "--standard", "both", "--draws", "49", "-o", path)
    assert outcome.exit_code == 0, outcome.output
    assert path.read_text().startswith(sign)


def test_a_report_without_a_standard_has_a_page_too(table, tmp_path):
    path = tmp_path / "report.html"
    assert run("evaluate", table, "-o", path).exit_code == 0
    assert "Reliability: said against seen" in path.read_text()


def test_times_without_a_zone_are_refused_unless_they_are_said_to_be_utc(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,confidence,correct\n2026-01-01T00:00:00Z,0.5,1\n2026-01-02T00:00:00,0.5,0\n")
    sentence = refused("evaluate", path, "--standard", "ers")
    assert sentence.startswith("timestamp must have a time zone")
    assert "(ERS-3.1-d); line 3 of p.csv has none" in sentence
    assert run("evaluate", path, "--standard", "ers", "--assume-utc", "--draws", "9", "-m", "ece").exit_code == 0


def test_times_to_come_are_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("timestamp,confidence,correct\n2026-01-01T00:00:00Z,0.5,1\n2999-01-02T00:00:00Z,0.5,0\n")
    assert "must not lie in the future (ERS-3.1-d); line 3 of p.csv" in refused("evaluate", path, "--standard", "ers")


def test_the_column_unknown_is_asked_for_by_name(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("confidence,correct\n0.5,1\n0.6,0\n")
    sentence = refused("evaluate", path, "--standard", "both")
    assert sentence.startswith("unknown must be given for every record")
    assert "(42001-6.1-a); p.csv has no such column" in sentence


def test_a_confidence_out_of_range_names_its_line(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("confidence,correct\n0.5,1\n1.6,0\n")
    assert "p.csv, line 3" in refused("evaluate", path, "--standard", "ers")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--domain", "retail"], "domain must be one of"),
        (["--weights", "0.5,0.5,0.5", "--weights-reason", "x"], "weights must sum to 1"),
        (["--weights", "0.4,0.4,0.2"], "weights_reason must say why"),
        (["--weights", "a,b"], "weights must be three numbers"),
        (["--strategy", "fancy"], "strategy must be one of"),
        (["--taxonomy", "weather"], "taxonomy must be of"),
        (["--unknown-threshold", "2"], "threshold must be in"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(table, options, words):
    sentence = refused("evaluate", table, "--standard", "both", *options)
    assert words in sentence
    assert "\n" not in sentence


def test_another_strategy_than_the_baseline_is_refused(table, tmp_path):
    path = tmp_path / "last.json"
    path.write_text(json.dumps(evaluated(table)))
    sentence = refused("evaluate", table, "--standard", "both", "--baseline", path, "--strategy", "adaptive")
    assert "(42001-5.2.3-b)" in sentence
    again = evaluated(table, "--baseline", path, "--strategy", "adaptive", "--new-baseline", "few distinct confidences")
    assert "few distinct confidences" in again["baseline"]


def test_unlabelled_records_are_counted(tmp_path):
    data = frame(400)
    data["correct"] = data["correct"].astype(object)
    data.loc[:99, "correct"] = None
    data.to_parquet(tmp_path / "p.parquet")
    made = evaluated(tmp_path / "p.parquet")
    assert made["records"]["unlabelled"] == 100
    assert made["records"]["labelled"] == 300


def test_detected_and_category_columns_are_used(tmp_path):
    data = frame(400)
    data["detected"] = data["unknown"]
    data["category"] = np.where(data["unknown"] == 1, "novel", None)
    data.to_parquet(tmp_path / "p.parquet")
    made = evaluated(tmp_path / "p.parquet")
    assert made["metrics"]["onto"]["u_recall"] == 1
    assert made["categories"][0]["category"] == "novel"


def test_liability_comes_from_the_declaration(table, tmp_path):
    toml = tmp_path / "system.toml"
    sources = "\n".join(
        f'{name} = "log"'
        for name in ("query_volume", "failure_rate", "incident_cost", "domain_class", "regulatory_context")
    )
    toml.write_text(
        '[liability]\nquery_volume = 10\ndomains = ["life-critical"]\nregulatory = "high"\ndraws = 9\n'
        f'reference_cost = "code_generation"\n[liability.sources]\n{sources}\n'
    )
    made = evaluated(table, "--declare", toml)
    assert made["liability"]["inputs"]["incident_cost"]["total"] == 4_500_000


def test_a_passport_from_predictions_and_from_an_evaluation_is_the_same(table, tmp_path):
    given = ["--draws", "49", "--date", "2026-06-01", *TAXONOMY]
    assert run("passport", table, *given, "-o", tmp_path / "a.json").exit_code == 0
    report = tmp_path / "e.json"
    report.write_text(json.dumps(evaluated(table, *TAXONOMY)))
    assert run("passport", report, "-o", tmp_path / "b.json").exit_code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    same = run("passport", "diff", tmp_path / "a.json", tmp_path / "b.json")
    assert same.stdout == "nothing changed\n"
    assert run("passport", report, "-o", tmp_path / "b.pdf").exit_code == 0
    assert (tmp_path / "b.pdf").read_bytes().startswith(b"%PDF")


def test_a_passport_without_a_taxonomy_is_refused(table):
    assert "taxonomy must be documented" in refused("passport", table, "--draws", "9")


def test_a_passport_is_pdf_or_json(table, tmp_path):
    outcome = run("passport", table, "--draws", "9", *TAXONOMY, "-o", tmp_path / "p.docx")
    assert outcome.exit_code == 2
    assert "a passport is a .pdf or a .json file" in outcome.output


def test_a_verification_address_is_a_web_address(table):
    assert "must begin with https://" in refused(
        "passport", table, "--draws", "9", *TAXONOMY, "--verify-url", "javascript:1"
    )
