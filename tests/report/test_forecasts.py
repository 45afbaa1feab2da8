"""Forecasts of a number or of a set from files: typed commands, reports, refusals that name the line."""

import json

import numpy as np
import pandas as pd
import pytest

from epimeter import evaluate_forecasts
from epimeter.cli import main
from epimeter.readers.forecast_table import read_forecasts
from epimeter.report import forecast_pass


@pytest.fixture
def run(capsys):
    """A typed command: what it says on both streams, and its exit code held against the one expected."""

    def typed(*words, code=0):
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        said = capsys.readouterr()
        assert (left.value.code or 0) == code, said.out + said.err
        return said.out + said.err

    return typed


@pytest.fixture
def frames():
    rng = np.random.default_rng(5)
    mean, std = rng.normal(10, 3, 400), rng.uniform(0.5, 2, 400)
    y = mean + 1.5 * std * rng.normal(size=400)
    members = mean[:, None] + std[:, None] * rng.normal(size=(400, 9))
    label = rng.integers(0, 3, 400)
    sets = ["abc"[k] + (";" + "abc"[(k + 1) % 3] if k else "") for k in label]
    return {
        "normal": pd.DataFrame({"y": y, "mean": mean, "std": std}),
        "quantiles": pd.DataFrame(
            {"target": y, "q0.05": mean - 1.645 * std, "q0.5": mean, "q0.95": mean + 1.645 * std}
        ),
        "ensemble": pd.DataFrame({"y": y} | {f"member_{i}": members[:, i] for i in range(9)}),
        "interval": pd.DataFrame({"y_true": y, "lower": mean - std, "upper": mean + std}),
        "set": pd.DataFrame({"label": ["abc"[k] for k in label], "set": sets}),
    }


@pytest.mark.parametrize("kind", ["normal", "quantiles", "ensemble", "interval", "set"])
def test_a_file_of_each_kind_is_known_by_its_columns_and_reported_in_every_form(run, tmp_path, frames, kind):
    frames[kind].to_csv(tmp_path / "rows.csv", index=False)
    frames[kind].to_parquet(tmp_path / "rows.parquet")
    told = run("evaluate", tmp_path / "rows.csv", "--draws", "99")
    assert "Report on forecasts" in told and "hold the truth" in told
    found = json.loads(run("evaluate", tmp_path / "rows.parquet", "--json", "--draws", "99"))
    assert (found["kind"], found["n_rows"]) == (kind, 400)
    share = next(m for m in found["measurements"] if m["metric"] in ("picp", "set_coverage"))
    assert 0 < share["value"] < 1 or kind == "set"
    assert share["interval"]["low"] <= share["value"] <= share["interval"]["high"]
    for suffix in ("html", "md", "csv", "tex", "png"):
        run("evaluate", tmp_path / "rows.csv", "--draws", "99", "-o", tmp_path / f"report.{suffix}")
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page and "<script" not in page
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")


def test_gaussian_states_are_read_with_deviations_variances_or_covariances(run, tmp_path):
    rng = np.random.default_rng(6)
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    state = rng.multivariate_normal([0, 0], covariance, 300)
    frame = pd.DataFrame({"y_0": state[:, 0], "y_1": state[:, 1], "mean_0": 0.0, "mean_1": 0.0})
    frame.assign(cov_0_0=2.0, cov_0_1=0.6, cov_1_1=1.0).to_csv(tmp_path / "whole.csv", index=False)
    frame.assign(std_0=0.8, std_1=0.6).to_csv(tmp_path / "bold.csv", index=False)
    told = run("evaluate", tmp_path / "whole.csv", "--draws", "99")
    assert "Errors are as large as the stated covariance says" in told and "nees_test" in told
    nees = json.loads(run("evaluate", tmp_path / "whole.csv", "--json", "--draws", "99"))["measurements"]
    value = next(m["value"] for m in nees if m["metric"] == "nees_test")
    assert value == pytest.approx(np.mean(np.einsum("ij,jk,ik->i", state, np.linalg.inv(covariance), state)))
    assert "larger than the stated covariance says" in run("evaluate", tmp_path / "bold.csv", "--draws", "99")
    frame.assign(cov_0_0=1.0, cov_0_1=2.0, cov_1_1=1.0).to_csv(tmp_path / "bad.csv", index=False)
    assert "must be positive definite" in run("evaluate", tmp_path / "bad.csv", code=2)
    frame.assign(std_0=1.0, std_2=1.0).to_csv(tmp_path / "gap.csv", index=False)
    assert "numbered from 0 without a gap" in run("evaluate", tmp_path / "gap.csv", code=2)


def test_python_and_the_command_give_the_same_numbers(run, tmp_path, frames):
    frame = frames["normal"]
    frame.to_json(tmp_path / "rows.ndjson", orient="records", lines=True, double_precision=15)
    again = read_forecasts(tmp_path / "rows.ndjson")
    here = evaluate_forecasts(again.true, **again.stated, intervals=None)
    there = json.loads(run("evaluate", tmp_path / "rows.ndjson", "--interval", "none", "--json"))
    assert {m["metric"]: m["value"] for m in there["measurements"]} == {m.metric: m.value for m in here.values()}
    assert here.verdict.refuted and here.verdict.test == "coverage"
    assert any("too small" in sentence for sentence in here.verdict.sentences)


def test_requirements_metrics_and_levels_are_taken(run, tmp_path, frames):
    frames["interval"].to_csv(tmp_path / "rows.csv", index=False)
    told = run(
        "evaluate", tmp_path / "rows.csv", "--metric", "picp", "--require", "picp>=0.9", "--set", "level=0.68", code=1
    )
    assert "required >= 0.9" in told and "nobody said" not in told
    assert "taken to be of level 0.9, which nobody said" in run("evaluate", tmp_path / "rows.csv", "--draws", "99")
    assert "measures probabilities" in run("evaluate", tmp_path / "rows.csv", "--metric", "ece", code=2)
    assert "--bins does not apply" in run("evaluate", tmp_path / "rows.csv", "--bins", "9", code=2)


@pytest.mark.parametrize("kind", ["quantiles", "set"])
def test_several_files_are_one_sample_and_slices_have_a_report_each(run, tmp_path, frames, kind):
    frame = frames[kind].assign(region=["north", "south", "south", None] * 100, id=range(400))
    frame.to_csv(tmp_path / "whole.csv", index=False)
    for day, part in (("1", frame[:150]), ("2", frame[150:])):
        (tmp_path / "parts" / f"day={day}").mkdir(parents=True)
        part.to_parquet(tmp_path / "parts" / f"day={day}" / "rows.parquet")
    options = ("--json", "--interval", "none")
    whole = json.loads(run("evaluate", tmp_path / "whole.csv", *options))
    for sources in ([tmp_path / "parts"], [tmp_path / "parts/*/*.parquet"], sorted(tmp_path.glob("parts/*/*"))):
        assert json.loads(run("evaluate", *sources, *options))["measurements"] == whole["measurements"]
    by = json.loads(run("evaluate", tmp_path / "parts", "--by", "region", "--by", "day", *options))
    assert sum(report["n_rows"] for report in by.values()) == 400
    assert {"region=north, day=1", "region=(none), day=2"} <= set(by)
    frame[frame.region == "north"].to_csv(tmp_path / "north.csv", index=False)
    alone = json.loads(run("evaluate", tmp_path / "north.csv", *options))
    north = json.loads(run("evaluate", tmp_path / "whole.csv", "--by", "region", "--slice", "north", *options))
    assert north["measurements"] == alone["measurements"]
    share = "set_coverage" if kind == "set" else "picp"
    for suffix in ("html", "png"):
        run("evaluate", tmp_path / "whole.csv", "--by", "region", "-m", share, "-o", tmp_path / f"by.{suffix}")
    assert "Forecasts by slice" in (tmp_path / "by.html").read_text()
    told = run("evaluate", tmp_path / "whole.csv", "--by", "region", "-m", share, "--require", f"{share}>=1.1", code=1)
    assert f"north: {share} is" in told and "south" in told


def test_files_that_do_not_belong_together_are_refused_and_a_fault_names_its_file(run, tmp_path, frames):
    for kind in ("normal", "interval", "quantiles"):
        frames[kind].to_csv(tmp_path / f"{kind}.csv", index=False)
    frames["quantiles"].drop(columns="q0.5").to_csv(tmp_path / "fewer.csv", index=False)
    frames["normal"].assign(weight=1.0).to_csv(tmp_path / "weighted.csv", index=False)
    frames["normal"].assign(std=[1.0] * 7 + [-1.0] + [1.0] * 392).to_csv(tmp_path / "bad.csv", index=False)
    for files, says in (
        (("normal", "interval"), "normal.csv states normal, interval.csv interval"),
        (("quantiles", "fewer"), "must state the same quantiles; quantiles.csv and fewer.csv differ"),
        (("normal", "weighted"), "weighted.csv has weight for weight, normal.csv has none"),
        (("normal", "bad"), "(bad.csv, line 9)"),
    ):
        assert says in run("evaluate", *(tmp_path / f"{name}.csv" for name in files), code=2)
    assert "'colour'" in run("evaluate", tmp_path / "normal.csv", "--by", "colour", code=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y,mean,std\n1,1,1\n2,2,-1\n", "std must be above 0; 1 of 2 does not, the first: std[1] = -1"),
        ("y,q0.1,q0.9\n1,0,2\n2,3,1\n", "quantiles must not cross; 1 of 2 rows do, the first is row 1"),
        ("y,lower,upper\n1,0,2\n2,3,1\n", "lower must not be above upper"),
        ("y,mean,std\n1,1,1\n2,,1\n", "mean must be present in every row with a truth; line 3"),
        ("y,lower,upper,mean,std\n1,0,2,1,1\n", "a forecast must be stated in one way"),
        ("y,set\na,\nb,\n", "sets must not all be empty"),
        ("y,mean,std\n,1,1\n,2,1\n", "y must be known for at least one row; all 2 are missing"),
        ("y,mean,std\n1,x,1\n", "mean must be numbers; line 2"),
    ],
)
def test_bad_files_are_refused_in_one_sentence_that_says_where(run, tmp_path, text, words):
    (tmp_path / "rows.csv").write_text(text)
    told = run("evaluate", tmp_path / "rows.csv", code=2)
    assert words in told and "Traceback" not in told
    if "the first" in words:
        assert "rows.csv, line 3" in told


def test_rows_without_a_truth_are_left_out_and_counted_and_names_can_be_said(run, tmp_path):
    (tmp_path / "rows.csv").write_text("seen,m,s\n1,1,1\n,2,1\n3,2.5,1\n")
    roles = ["--column", "truth=seen", "--column", "mean=m", "--column", "std=s"]
    told = run("evaluate", tmp_path / "rows.csv", "--task", "distribution", *roles)
    assert "1 of 3 rows have no truth and were left out." in told
    assert "truth = seen, mean = m, std = s" in told
    assert "no role of a forecast is called 'confidence'" in run(
        "evaluate", tmp_path / "rows.csv", "--task", "distribution", "--column", "confidence=m", code=2
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y,mean,std\n1e74,1e74,1e-70\n-1e74,1e74,1e-3\n2,2,1\n", "hold the truth in 66.7% of the rows"),
        ("y,lower,upper\n5,5,5\n5,5,5\n", "every truth is 5: nothing"),
        ("y,lower,upper\n5,-inf,inf\n5,4,5\n", "inf  Mean width of the prediction intervals"),
        ("y,q0.1,q0.4\n5,4,6\n", "picp: no quantile of level 0.05 is stated; those stated are 0.1, 0.4"),
    ],
)
def test_extreme_files_have_a_report_too(run, tmp_path, text, words):
    (tmp_path / "rows.csv").write_text(text)
    assert words in run("evaluate", tmp_path / "rows.csv", "--draws", "49")
    run("evaluate", tmp_path / "rows.csv", "--draws", "49", "-o", tmp_path / "report.html")


def test_a_file_of_probabilities_is_still_one(run, tmp_path):
    (tmp_path / "rows.csv").write_text("y_true,y_prob,lower,upper\n1,0.8,0,1\n0,0.3,0,1\n1,0.6,0,1\n")
    told = run("evaluate", tmp_path / "rows.csv")
    assert "each row states the probability of outcome 1" in told
    assert "0.0       probability stated for outcome 1      1.0" in told  # under the diagram


@pytest.mark.parametrize("kind", ["normal", "ensemble", "set"])
def test_more_rows_than_the_limit_are_measured_in_one_pass_with_the_same_bits(run, tmp_path, frames, kind, monkeypatch):
    frame = frames[kind].assign(weight=np.arange(400) % 3 + 0.5) if kind == "ensemble" else frames[kind]
    frame[:150].to_csv(tmp_path / "a.csv", index=False)
    frame[150:].to_parquet(tmp_path / "b.parquet")
    files = tmp_path / "a.csv", tmp_path / "b.parquet"
    held = json.loads(run("evaluate", *files, "--json", "--draws", "199"))
    monkeypatch.setattr(forecast_pass, "SHOWN", 120)
    passed = json.loads(run("evaluate", *files, "--json", "--draws", "199", "--row-limit", "100"))
    assert passed["n_rows"] == 400 and passed["verdict"]["coverage"] == held["verdict"]["coverage"]
    assert any("every 4th row" in line for line in passed["cautions"])
    before = {m["metric"]: m for m in held["measurements"]}
    assert len(passed["measurements"]) + len(passed["left_out"]) == len(before) + len(held["left_out"])
    for m in passed["measurements"]:
        assert m["value"] == before[m["metric"]]["value"]
        ends, others = m["interval"], before[m["metric"]]["interval"]
        room = 0.5 * (others["high"] - others["low"]) if "parts" in ends["method"] else 1e-9
        assert ends["low"] == pytest.approx(others["low"], abs=room) and ends["high"] == pytest.approx(
            others["high"], abs=room
        )
    needs = "pit_test" if kind != "set" else "class_conditional_coverage"
    if kind != "ensemble":  # whose weights refuse it first
        assert "more than row_limit (100)" in passed["left_out"][needs]
        said = run("evaluate", *files, "--metric", needs, "--row-limit", "100", code=2)
        assert f"{needs} cannot be measured on these data: needs all rows" in said
    assert needs in before or kind == "ensemble"


def test_a_piece_of_nothing_but_empty_sets_is_no_fault_of_the_whole(run, tmp_path, frames):
    frames["set"].to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "b.csv").write_text("label,set\na,[]\nb,[]\n")
    found = json.loads(run("evaluate", tmp_path / "a.csv", tmp_path / "b.csv", "--row-limit", "100", "--json"))
    assert found["n_rows"] == 402 and "2 of 402 sets are empty; they cover nothing" in found["cautions"]
