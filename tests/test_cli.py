"""The command as a person types it: a real process, its output, its exit code."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter.cli import COMMANDS, epimeter

RNG = np.random.Generator(np.random.PCG64(5))
PROB = RNG.random(300)
TRUE = (RNG.random(300) < PROB).astype(int)


def run(*arguments, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "epimeter", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "my predictions.csv"
    path.write_text("confidence,correct\n" + "".join(f"{p!r},{y}\n" for p, y in zip(PROB.tolist(), TRUE, strict=True)))
    return path


def test_evaluate_prints_a_report_with_a_diagram(csv):
    done = run("evaluate", csv)
    assert done.returncode == 0
    assert done.stderr == ""
    for part in ("300 rows", "ece", "brier_score", "●", "only 300 rows", "confidence = confidence"):
        assert part in done.stdout


def test_evaluate_writes_json_with_bins_and_conventions(csv):
    done = run("evaluate", csv, "--json", "--metric", "ece,t_cal", "--bins", "5")
    report = json.loads(done.stdout)
    assert report["n_rows"] == 300
    ece, test = report["measurements"]
    assert ece["parameters"] == {"bins": 5, "binning": "width"}
    assert len(ece["bins"]["count"]) == 5
    assert sum(ece["bins"]["count"]) == 300
    assert "[a, b)" in ece["convention"]
    assert test["fields"]["p_value"] == test["value"]


def test_standard_input_and_pipes_work(csv):
    piped = run("evaluate", "-", stdin=csv.read_text())
    assert piped.returncode == 0
    assert "standard input" in piped.stdout


def test_output_goes_to_a_file(csv, tmp_path):
    target = tmp_path / "report.json"
    done = run("evaluate", csv, "--json", "-o", target)
    assert done.returncode == 0
    assert json.loads(target.read_text())["n_rows"] == 300


def test_a_requirement_that_fails_exits_with_one(csv):
    assert run("evaluate", csv, "--require", "ece<=0.5").returncode == 0
    done = run("evaluate", csv, "--require", "ece<=0.0001", "--require", "spiegelhalter_z.p_value>2")
    assert done.returncode == 1
    assert "ece is 0." in done.stderr
    assert "spiegelhalter_z.p_value" in done.stderr


def test_all_measures_what_the_data_allow_and_says_why_not(csv):
    done = run("evaluate", csv, "--all", "--json")
    report = json.loads(done.stdout)
    measured = {m["metric"] for m in report["measurements"]}
    assert len(measured) > 100
    assert report["left_out"]["pce"] == "needs the column groups"
    assert "features" in report["left_out"]["vece"]
    assert not measured & set(report["left_out"])


def test_metrics_lists_all_and_shows_a_card():
    listed = run("metrics")
    assert listed.returncode == 0
    for name in ("brier_score", "ece", "smece", "ecce_r", "d_ece", "bootstrap_interval"):
        assert name in listed.stdout
    card = run("metrics", "ece").stdout
    for part in ("Equation", "Range", "bins (default 10, in [1, 1000000])", "Pitfalls", "Source", "Naeini"):
        assert part in card
    assert json.loads(run("metrics", "ece", "--json").stdout)["parameters"][0]["schema"]["minimum"] == 1


def test_demo_runs():
    done = run("demo")
    assert done.returncode == 0
    assert "10,000 rows" in done.stdout


BAD = {
    "no such file": (["evaluate", "nowhere.csv"], "nowhere.csv"),
    "an empty folder": (["evaluate", "EMPTY"], "holds no file of a known format"),
    "unknown metric": (["evaluate", "FILE", "--metric", "ece15"], "did you mean 'ece'"),
    "unknown parameter": (["evaluate", "FILE", "--set", "colour=3"], "'colour'"),
    "bad parameter": (["evaluate", "FILE", "--bins", "0"], "in [1, 1000000]; got 0"),
    "bad requirement": (["evaluate", "FILE", "--require", "ece is small"], "METRIC<=NUMBER"),
    "bad column": (["evaluate", "FILE", "--column", "confidence"], "NAME=VALUE"),
    "missing column": (["evaluate", "FILE", "--column", "confidence=nope"], "nope"),
    "all and some": (["evaluate", "FILE", "--all", "--metric", "ece"], "exclude"),
    "unknown command": (["measure"], "No such command"),
    "detection without truth": (["evaluate", "FILE", "--task", "detection"], "--truth"),
    "unknown card": (["metrics", "nonsense"], "no metric is called"),
    "unwritable output": (["evaluate", "FILE", "-o", "/nowhere/at/all.txt"], "/nowhere/at/all.txt"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_use_is_one_sentence_and_exit_code_two(case, csv, tmp_path):
    arguments, words = BAD[case]
    empty = tmp_path / "EMPTY"
    empty.mkdir()
    done = run(*[{"FILE": csv, "EMPTY": empty}.get(a, a) for a in arguments])
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_fault_in_a_row_names_the_line(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("confidence,correct\n0.5,1\n0.7,0\n1.25,1\n")
    done = run("evaluate", path)
    assert done.returncode == 2
    assert "y_prob[2] = 1.25" in done.stderr
    assert "line 4" in done.stderr


def test_detections_are_evaluated_from_coco_files(tmp_path):
    truth = {
        "images": [{"id": 1, "width": 100, "height": 100}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    found = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 9], "score": 0.8 - 0.05 * i} for i in range(12)]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "found.json").write_text(json.dumps(found))
    done = run("evaluate", tmp_path / "found.json", "--task", "detection", "--truth", tmp_path / "truth.json", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    values = {m["metric"]: m["value"] for m in report["measurements"]}
    assert values["match_detections"] == pytest.approx(1 / 12)
    assert set(values) >= {"d_ece", "laece", "egce", "qgc", "sgc", "l1cbod", "detection_ace"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command):
    shown = CliRunner().invoke(epimeter, [command, "--help"])
    assert shown.exit_code == 0
    assert shown.output.startswith("Usage: ") and f" {command} " in shown.output.splitlines()[0]
    assert "\\" not in shown.output  # a mark of the formatter that it did not understand
    examples = [line.strip() for line in shown.output.splitlines() if line.startswith("  epimeter ")]
    assert all(line.split()[1] in COMMANDS for line in examples)


def test_no_command_writes_over_the_file_it_reads(csv):
    before = csv.read_bytes()
    for arguments in (
        ("evaluate", csv, "-o", csv),
        ("summarise", csv, "-o", csv),
        ("test", csv, "-o", csv),
        ("compare", csv, csv, "-o", csv),
        ("draw", csv, "--json", "-o", csv),
        ("passport", csv, "-o", csv),
    ):
        done = run(*arguments)
        assert done.returncode == 2
        assert "--output must be another file than those that are read" in done.stderr
        assert csv.read_bytes() == before


def test_outputs_that_are_closed_or_know_few_letters_do_no_harm(csv):
    command = [sys.executable, "-m", "epimeter", "evaluate", str(csv)]
    done = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", *command], capture_output=True, timeout=120)
    assert (done.returncode, b"300 rows" in done.stdout) == (0, True)
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    narrow = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, capture_output=True, timeout=120, env=narrow)
    assert (done.returncode, b"\\u25cf" in done.stdout) == (0, True)
