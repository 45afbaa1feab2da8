"""A certificate and summaries made by an earlier product verify, reproduce and merge for ever.

`first/` was made by version 0.1.0 before its loops were compiled: records.csv, its certificate with trust root and status list, and
the summaries of its first and second 600 rows. Files of later products get a folder of their own; none is ever made again.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter

FIRST = Path(__file__).parent / "first"
FINGERPRINT = "c2ea77846f39203aaa4a4df3b4559878cc818aa8ca4c3d4f365383e0b1534cbb"


def typed(*words):
    return CliRunner().invoke(epimeter, [str(word) for word in words])


def test_the_certificate_verifies():
    root = ("--root", FIRST / "trust-root.json", "--fingerprint", FINGERPRINT, "--status", FIRST / "status.json")
    done = typed("verify", FIRST / "certificate.json", *root, "--at", "2026-11-15T22:20:00Z")
    assert done.exit_code == 0, done.output
    assert "VALID: authentic and current" in done.output


def test_the_certificate_reproduces_from_its_records():
    done = typed("reproduce", FIRST / "certificate.json", FIRST / "records.csv")
    assert done.exit_code == 0, done.output
    assert "every number and digest agrees" in done.output


@pytest.mark.parametrize("order", [("week1.epi", "week2.epi"), ("week2.epi", "week1.epi")])
def test_the_summaries_merge_to_the_summary_of_both(tmp_path, order):
    done = typed("merge", *(FIRST / name for name in order), "-o", tmp_path / "both.epi")
    assert done.exit_code == 0, done.output
    assert values_of(tmp_path / "both.epi", tmp_path) == values_of(FIRST / "both.epi", tmp_path)


def test_the_report_of_the_summary_has_the_values_it_had(tmp_path):
    then = {one["metric"]: one["value"] for one in json.loads((FIRST / "both.json").read_text())["measurements"]}
    now = values_of(FIRST / "both.epi", tmp_path)
    assert {name: now[name] for name in then} == then


def values_of(summary, folder):
    done = typed("report", summary, "-o", folder / "report.json")
    assert done.exit_code == 0, done.output
    return {one["metric"]: one["value"] for one in json.loads((folder / "report.json").read_text())["measurements"]}
