"""A policy, predictions, a verdict; and the forms in which other tools read it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter
from epimeter.errors import InputError
from epimeter.gate import judge, read_policy
from epimeter.testing import assert_calibrated

pytest_plugins = ["pytester"]


def predictions(path, n=1500, seed=0, shift=0.0, places=("en", "de")):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    y = (rng.random(n) < np.clip(p + shift, 0, 1)).astype(int)
    rows = [
        f"{i},{a!r},{b},{places[i % len(places)]}" for i, (a, b) in enumerate(zip(p.tolist(), y.tolist(), strict=True))
    ]
    path.write_text("\n".join(["id,prob,label,lang", *rows]) + "\n")


def policy(folder, *requirements, head=""):
    lines = ["[gate.triage]", 'data = "pred*.csv"', head]
    for requirement in requirements:
        lines += ["", "[[gate.triage.require]]", requirement]
    path = folder / "epimeter.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def verdicts(path):
    return judge(read_policy(path)).verdicts


def run(*arguments):
    return CliRunner().invoke(epimeter, [str(argument) for argument in arguments])


def test_a_limit_is_kept_broken_or_undecided_by_the_interval_and_not_by_the_bare_value(tmp_path):
    predictions(tmp_path / "pred.csv")
    value = verdicts(policy(tmp_path, 'metric = "brier_score"\nat_most = 0.9'))[0].value
    for limit, outcome in ((value + 0.05, "pass"), (value - 0.05, "fail"), (value + 1e-4, "fail")):
        (found,) = verdicts(policy(tmp_path, f'metric = "brier_score"\nat_most = {limit}'))
        assert found.outcome == outcome and found.n_rows == 1500
    assert "undecided" in found.reason
    (found,) = verdicts(policy(tmp_path, f'metric = "brier_score"\nat_most = {value + 1e-4}\nundecided = "warn"'))
    assert found.outcome == "warn"
    (found,) = verdicts(policy(tmp_path, f'metric = "brier_score"\nat_most = {value + 1e-4}\ndecide = "value"'))
    assert found.outcome == "pass"
    (found,) = verdicts(policy(tmp_path, f'metric = "success_rate"\nat_least = {0.5}'))
    assert found.outcome == "pass" and "lower end" in found.reason


def test_too_few_rows_no_file_and_empty_files_are_never_a_pass(tmp_path):
    path = policy(tmp_path, 'metric = "ece"\nat_most = 1.0', head="minimum_rows = 2000")
    assert run("gate", path).exit_code == 2
    predictions(tmp_path / "pred.csv")
    (found,) = verdicts(path)
    assert found.outcome == "cannot judge" and "1,500 rows are fewer than the 2,000" in found.reason
    (tmp_path / "pred.csv").write_text("id,prob,label,lang\n")
    assert verdicts(path)[0].outcome == "cannot judge"


def test_every_slice_is_judged_and_the_one_that_fails_is_named(tmp_path):
    predictions(tmp_path / "pred1.csv", places=("en", "de"))
    predictions(tmp_path / "pred2.csv", shift=-0.3, seed=1, places=("fr",))
    found = verdicts(policy(tmp_path, 'metric = "drmsce_bcs"\nat_most = 0.15', head='by = "lang"'))
    assert {v.slice: v.outcome for v in found} == {None: "pass", "de": "pass", "en": "pass", "fr": "fail"}


def test_many_slices_do_not_fail_by_chance(tmp_path):
    places = tuple(f"s{i}" for i in range(40))
    predictions(tmp_path / "pred.csv", n=4000, places=places)
    limit = 'metric = "brier_score"\nat_most = 0.1668\nundecided = "warn"'  # the truth of uniform calibrated forecasts is 1/6
    free = verdicts(policy(tmp_path, limit, head='by = "lang"\nmultiplicity = "none"'))
    held = verdicts(policy(tmp_path, limit, head='by = "lang"'))
    assert sum(v.outcome == "fail" for v in free[1:]) > sum(v.outcome == "fail" for v in held[1:]) == 0


def test_a_baseline_is_paired_by_id_and_a_summary_by_its_interval(tmp_path):
    predictions(tmp_path / "pred.csv")
    lines = (tmp_path / "pred.csv").read_text().splitlines()
    (tmp_path / "main.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    (found,) = verdicts(policy(tmp_path, 'metric = "brier_score"\nnot_worse_than = "main.csv"\nmargin = 0.001'))
    assert found.outcome == "pass" and found.value == 0 and found.interval.high == 0
    assert run("summarise", tmp_path / "main.csv", "-o", tmp_path / "main.epi").exit_code == 0
    (found,) = verdicts(policy(tmp_path, 'metric = "brier_score"\nnot_worse_than = "main.epi"\nmargin = 0.05'))
    assert found.outcome == "pass" and found.interval.low < 0 < found.interval.high < 0.05
    predictions(tmp_path / "pred.csv", shift=-0.4)
    (found,) = verdicts(policy(tmp_path, 'metric = "brier_score"\nnot_worse_than = "main.epi"\nmargin = 0.05'))
    assert found.outcome == "fail"


@pytest.mark.parametrize(
    ("requirement", "head", "says"),
    [
        ('metric = "ece"\nat_mots = 0.05', "", "did you mean 'at_most'"),
        ('metric = "ecee"\nat_most = 0.05', "", "no metric is called 'ecee'.*line 5"),
        ('metric = "ece"', "", "one of at_most, at_least, not_worse_than; got none"),
        ('metric = "ece"\nat_most = 1\nat_least = 0', "", "got at_most and at_least"),
        ('metric = "ece"\nat_most = true', "", "at_most must be a number"),
        ('metric = "ece"\nat_most = nan', "", "at_most must be a number"),
        ('metric = "ece"\nat_most = 1\ndecide = "best"', "", "decide must be interval, upper, lower, value"),
        ('metric = "ece"\nat_most = 1\nmargin = 0.1', "", "margin belongs to not_worse_than"),
        ('metric = "ece"\nat_most = 1\nparameters = { bins = 0 }', "", "bins"),
        ('metric = "ece"\nat_most = 1', "minimum_rows = 0", "minimum_rows"),
        ('metric = "ece"\nat_most = 1', "slices = 3", "has no key 'slices'"),
    ],
)
def test_a_policy_with_a_fault_is_refused_in_one_sentence(requirement, head, says, tmp_path):
    with pytest.raises(InputError, match=says):
        read_policy(policy(tmp_path, requirement, head=head))


def _object(**needed):
    return {"type": "object", "required": sorted(needed), "properties": needed}


TEXT = {"type": "string", "minLength": 1}
WORDS = _object(text=TEXT)
WHOLE = {"type": "integer", "minimum": 1}
CODE_SCANNING = _object(
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={"type": "array", "minItems": 1, "items": _object(
        tool=_object(driver=_object(name=TEXT, rules={"type": "array", "items": _object(
            id=TEXT, shortDescription=WORDS, fullDescription=WORDS, help=WORDS)})),
        results={"type": "array", "items": _object(
            ruleId=TEXT,
            level={"enum": ["none", "note", "warning", "error"]},
            message=WORDS,
            partialFingerprints={"type": "object", "minProperties": 1, "additionalProperties": TEXT},
            locations={"type": "array", "minItems": 1, "items": _object(physicalLocation=_object(
                artifactLocation=_object(uri=TEXT),
                region=_object(startLine=WHOLE, startColumn=WHOLE, endLine=WHOLE, endColumn=WHOLE)))})})})  # fmt: skip
"""What GitHub's documentation of SARIF for code scanning calls required of SARIF 2.1.0."""


def test_the_forms_are_read_back_by_foreign_parsers(tmp_path):
    import jsonschema
    from junitparser import JUnitXml
    from sarif_pydantic import Sarif

    predictions(tmp_path / "pred.csv")
    path = policy(
        tmp_path,
        'metric = "ece"\nat_most = 0.9',
        'metric = "nll"\nat_most = 0.01',
        'metric = "ece"\nat_most = 0.9\nparameters = { bins = 5 }',
    )
    files = {name: tmp_path / name for name in ("g.xml", "g.sarif", "b.json", "g.json", "g.md")}
    done = run("gate", path, "--junit", files["g.xml"], "--sarif", files["g.sarif"], "--shields", files["b.json"],
               "-o", files["g.json"])  # fmt: skip
    assert done.exit_code == 1
    (suite,) = JUnitXml.fromfile(str(files["g.xml"]))
    assert (suite.tests, suite.failures, suite.errors) == (3, 1, 0)
    assert [bool(case.result) and case.result[0].type == "fail" for case in suite] == [False, True, False]
    (run_,) = Sarif.model_validate_json(files["g.sarif"].read_text()).runs
    (result,) = run_.results
    assert result.rule_id == "nll" and result.locations[0].physical_location.region.start_line == 9
    assert path.read_text().splitlines()[8] == "[[gate.triage.require]]"
    told = json.loads(files["g.sarif"].read_text())
    jsonschema.validate(told, json.loads((Path(__file__).parent / "sarif" / "sarif-2.1.0.json").read_text()))
    jsonschema.validate(told, CODE_SCANNING)
    assert all(rule.get("name") != rule["id"] for rule in told["runs"][0]["tool"]["driver"]["rules"])
    moved = path.with_name("moved.toml")
    moved.write_text("\n\n" + path.read_text())
    run("gate", moved, "--sarif", tmp_path / "moved.sarif")
    again = json.loads((tmp_path / "moved.sarif").read_text())["runs"][0]["results"]
    prints = [one["partialFingerprints"] for one in (told["runs"][0]["results"][0], again[0])]
    assert prints[0] == prints[1]
    assert json.loads(files["b.json"].read_text())["message"] == "fail"
    told = json.loads(files["g.json"].read_text())
    assert told["exit_code"] == 1 and [v["outcome"] for v in told["verdicts"]] == ["pass", "fail", "pass"]
    assert run("gate", path, "-o", files["g.md"]).exit_code == 1 and "nll at most 0.01" in files["g.md"].read_text()
    same = run("gate", path, "--junit", files["g.xml"], "--sarif", files["g.xml"])
    assert "--junit and --sarif both name" in same.output
    assert same.exit_code == 2 and files["g.xml"].read_text().startswith("<?xml")


def test_the_steps_of_the_action_and_of_the_hook_run_as_a_runner_runs_them(tmp_path):
    import yaml

    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    predictions(tmp_path / "pred.csv")
    policy(tmp_path, 'metric = "nll"\nat_most = 0.01')
    with open(os.path.join(root, "action.yml")) as file:
        action = yaml.safe_load(file)
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "judge")
    (tmp_path / "epimeter").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m epimeter "$@"\n')
    (tmp_path / "epimeter").chmod(0o755)
    env = os.environ | {
        "PATH": f"{tmp_path}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
        "POLICY": "epimeter.toml",
        "FOLDER": "out",
        "GITHUB_ACTIONS": "true",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "output").read_text() == "outcome=fail\n"
    assert "::error file=epimeter.toml,line=5," in done.stdout
    assert "nll at most 0.01" in (tmp_path / "summary").read_text()
    assert sorted(os.listdir(tmp_path / "out")) == ["badge.json", "gate.json", "gate.sarif", "gate.xml"]
    with open(os.path.join(root, ".pre-commit-hooks.yaml")) as file:
        (hook,) = yaml.safe_load(file)
    checked = subprocess.run(
        [*hook["entry"].split(), "epimeter.toml"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert checked.returncode == 0 and "1 gates, 1 requirements" in checked.stdout


def test_predictions_in_memory_are_held_to_limits(tmp_path):
    rng = np.random.Generator(np.random.PCG64(0))
    p = rng.random(3000)
    y = (rng.random(3000) < p).astype(int)
    assert_calibrated(y, p, ece=0.05, success_rate=0.6)
    with pytest.raises(AssertionError, match="nll at most 0.1"):
        assert_calibrated(y, p, ece=0.05, nll=0.1)
    with pytest.raises(AssertionError, match="undecided"):
        assert_calibrated(y[:50], p[:50], brier_score=0.17)
    with pytest.raises(InputError, match="always hold"):
        assert_calibrated(y, p)


def test_the_plugin_is_inert_until_it_is_used(pytester):
    pytester.makepyfile(
        """
        import numpy as np, pytest
        p = np.linspace(0.01, 0.99, 2000)
        y = (np.arange(2000) * 0.6180339 % 1 < p).astype(int)

        def test_with_the_fixture(assert_calibrated):
            assert_calibrated(y, p, ece=0.05)

        @pytest.mark.calibration(ece=0.05)
        def test_with_the_marker(calibration):
            calibration(y, p)

        @pytest.mark.calibration(nll=0.01)
        def test_that_fails(calibration):
            calibration(y, p)

        def test_without_limits(calibration):
            pass
        """
    )
    done = pytester.runpytest_subprocess("-p", "epimeter.pytest_plugin", "--strict-markers")
    done.assert_outcomes(passed=2, failed=1, errors=1)
    code = "import sys, epimeter.pytest_plugin; assert not {'numpy', 'epimeter.card'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_output_replaces_what_a_gate_reads(tmp_path):
    for name in ("a.csv", "before.csv"):
        (tmp_path / name).write_text("y_true,y_prob\n" + "1,0.8\n0,0.3\n" * 30)
    path = tmp_path / "the policy.toml"
    path.write_text(
        '[gate.x]\ndata = "a*.csv"\n[[gate.x.require]]\nmetric = "ece"\nat_most = 0.0001\n'
        '[[gate.x.require]]\nmetric = "brier_score"\nnot_worse_than = "before.csv"\n'
    )
    for option in ("--junit", "--sarif", "--shields"):
        for name in ("a.csv", "before.csv"):
            done = run("gate", path, option, tmp_path / name)
            assert done.exit_code == 2 and f"{option} must be another file than those that are read" in done.output
        assert f"{option} must be another file" in run("gate", path, option, path).output
        assert f"{option} must lie in a folder that exists" in run("gate", path, option, tmp_path / "no" / "g").output
    assert (tmp_path / "a.csv").read_text().startswith("y_true")
    run("gate", path, "--sarif", tmp_path / "g.sarif")
    found = json.loads((tmp_path / "g.sarif").read_text())["runs"][0]["results"][0]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("the%20policy.toml")


@pytest.fixture
def forecasts(tmp_path):
    """Forecasts of a number in two files and two regions; the intervals of one region are too narrow."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(3)
    n = 1200
    mean, std = rng.normal(10, 3, n), rng.uniform(0.5, 2, n)
    region = np.tile(["north", "south"], n // 2)
    y = mean + std * rng.normal(size=n) * np.where(region == "south", 1.8, 1.0)
    rows = pd.DataFrame({"id": np.arange(n), "y": y, "mean": mean, "std": std, "region": region})
    rows[:700].to_csv(tmp_path / "a.csv", index=False)
    rows[700:].to_parquet(tmp_path / "b.parquet")
    worse = rows.assign(mean=rows["mean"] + 0.05 * rng.normal(size=n)).sample(frac=1, random_state=1)
    worse.to_csv(tmp_path / "main.csv", index=False)
    return rows


def test_forecasts_of_numbers_are_judged_in_several_files_by_slice_and_against_a_baseline(tmp_path, forecasts):
    path = tmp_path / "epimeter.toml"
    path.write_text(
        '[gate.demand]\ndata = ["a.csv", "b.parquet"]\nby = "region"\n'
        '[[gate.demand.require]]\nmetric = "picp"\nat_least = 0.8\nparameters = { level = 0.9 }\n'
        '[[gate.demand.require]]\nmetric = "crps"\nnot_worse_than = "main.csv"\nmargin = 0.01\n'
    )
    found = json.loads(run("gate", path, "--json").stdout)
    outcome = {(v["metric"], v["slice"]): v for v in found["verdicts"]}
    assert {key: v["outcome"] for key, v in outcome.items() if key[0] == "picp"} == {
        ("picp", None): "fail",
        ("picp", "north"): "pass",
        ("picp", "south"): "fail",
    }
    whole = outcome["crps", None]
    assert whole["outcome"] == "pass" and whole["n_rows"] == 1200
    # The pairs of rows make a hundredth of the width that two samples of this size would have.
    assert whole["interval"]["method"] == "paired rows" and whole["interval"]["high"] - whole["interval"]["low"] < 0.01


@pytest.mark.parametrize("metric", ["crps", "interval_score", "pinball_loss", "picp"])
def test_how_much_worse_a_forecast_is_has_the_difference_of_the_values_whatever_the_interval(
    tmp_path, forecasts, metric
):
    import dataclasses

    from epimeter.gate.forecasts import against_forecasts, measured_forecasts, read_gate_forecasts
    from epimeter.gate.policy import Gate, Requirement

    one = Requirement(metric=metric, not_worse_than="main.csv")
    gate = Gate(name="g", data=(), requirements=(one,), folder=tmp_path)
    now, before = (read_gate_forecasts(gate, paths, ()) for paths in (
        [str(tmp_path / "a.csv"), str(tmp_path / "b.parquet")], [str(tmp_path / "main.csv")]))  # fmt: skip
    sign = -1 if metric == "picp" else 1
    expected = sign * (measured_forecasts(one, now, 0.95, False)[0] - measured_forecasts(one, before, 0.95, False)[0])
    for rows in (now, dataclasses.replace(now, id=None)):
        change, around = against_forecasts(gate, one, rows, None)
        assert change == pytest.approx(expected, abs=1e-12)
        assert around.low <= change <= around.high


def test_a_gate_of_probabilities_and_of_numbers_at_once_is_refused(tmp_path):
    path = tmp_path / "epimeter.toml"
    text = '[gate.x]\ndata = "a.csv"\n{}[[gate.x.require]]\nmetric = "crps"\nat_most = 1\n'
    path.write_text(text.format("") + '[[gate.x.require]]\nmetric = "ece"\nat_most = 1\n')
    assert "make two gates of it" in str(run("gate", path, "--check").exception)
    path.write_text(text.format('kind = "event"\n'))
    assert "or leave kind out" in str(run("gate", path, "--check").exception)


def test_a_summary_is_a_baseline_of_the_slices_it_was_made_with_and_of_all_rows_otherwise(tmp_path):
    rng = np.random.Generator(np.random.PCG64(4))
    p = rng.beta(2, 2, 3000)
    y, language = (rng.random(3000) < p).astype(int), np.tile(["de", "en", "fr"], 1000)
    lines = [f"{a},{b},{c}" for a, b, c in zip(y, p, language, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["y_true,y_prob,language", *lines]))
    for name, by in (("main.epi", ()), ("sliced.epi", ("--by", "language"))):
        assert run("summarise", tmp_path / "rows.csv", *by, "-o", tmp_path / name).exit_code == 0
    path = tmp_path / "epimeter.toml"
    for name, slices in (("main.epi", [None]), ("sliced.epi", ["de", "en", "fr"])):
        path.write_text(
            f'[gate.g]\ndata = "rows.csv"\nby = "language"\n[[gate.g.require]]\nmetric = "brier_score"\n'
            f'not_worse_than = "{name}"\nmargin = 0.1\n'
        )
        done = run("gate", path, "--json")
        found = json.loads(done.stdout)["verdicts"]
        assert done.exit_code == 0 and [one["slice"] for one in found] == slices
        assert {one["outcome"] for one in found} == {"pass"} and {one["value"] for one in found} == {0.0}
        assert ("main.epi holds no slices" in found[0]["reason"]) == (name == "main.epi")
    path.write_text(path.read_text().replace('by = "language"', 'by = ["language", "language"]'))
    assert run("gate", path).exit_code == 2
    path.write_text(path.read_text().replace('by = ["language", "language"]', ""))
    assert "has language, not none" in run("gate", path).stdout
