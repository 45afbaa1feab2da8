"""Scores before softmax: said outright, read alike from arrays, frames and files, refused with their place."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import epimeter
from epimeter.cli import epimeter as command_line
from epimeter.errors import InputError, ReadError


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    prob = rng.dirichlet(np.ones(3), 90)
    true = np.array([rng.choice(3, p=p) for p in prob])
    frame = pd.DataFrame(np.log(prob) + 2, columns=["logit_0", "logit_1", "logit_2"]).assign(label=true)
    frame.to_csv("scores.csv", index=False)
    frame.to_parquet("scores.parquet")
    return prob, true, frame


def test_scores_of_a_file_a_frame_and_arrays_make_one_report(rows):
    prob, true, frame = rows
    plain = epimeter.evaluate(true, prob, metrics="ece,brier_score")
    found = [
        epimeter.evaluate(true, np.log(prob) + 2, logits=True, metrics="ece,brier_score"),
        epimeter.evaluate(frame, logits=True, metrics="ece,brier_score"),
        epimeter.evaluate("scores.csv", logits=True, metrics="ece,brier_score"),
        epimeter.scan("scores.parquet", "ece,brier_score", logits=True),
        epimeter.scan(["scores.csv", "scores.csv"], "ece,brier_score", logits=True),
    ]
    for report in found:
        assert report.kind == "classes"
        assert report.source["notes"] == ["scores were turned into probabilities by softmax"]
        assert float(report["ece"]) == pytest.approx(float(plain["ece"]), abs=1e-12)
        assert float(report["brier_score"]) == pytest.approx(float(plain["brier_score"]), abs=1e-12)


def test_one_score_a_row_goes_through_the_logistic_function(rows):
    chance = np.linspace(0.05, 0.95, 40)
    true = np.tile([0, 1], 20)
    pd.DataFrame({"logit": np.log(chance / (1 - chance)), "label": true}).to_csv("one.csv", index=False)
    told = epimeter.evaluate("one.csv", logits=True, metrics="brier_score")
    assert told.kind == "event"
    assert float(told["brier_score"]) == pytest.approx(np.mean((chance - true) ** 2), abs=1e-12)


def test_an_infinite_score_is_refused_with_its_line(rows):
    frame = rows[2].copy()
    frame.loc[7, "logit_1"] = np.inf
    frame.to_csv("endless.csv", index=False)
    run = CliRunner().invoke(command_line, ["evaluate", "endless.csv", "--logits"])
    assert "must be finite scores; line 9 of endless.csv has inf" in str(run.exception)


def test_scores_that_are_not_said_to_be_such_are_refused_with_the_option(rows):
    with pytest.raises(ReadError, match="Say logits=True"):
        epimeter.evaluate("scores.csv")


def test_probabilities_are_no_scores(rows):
    prob, true, _ = rows
    with pytest.raises(InputError, match="probabilities already"):
        epimeter.evaluate(true, prob, logits=True)
    pd.DataFrame(prob, columns=["p_0", "p_1", "p_2"]).assign(label=true).to_csv("probs.csv", index=False)
    with pytest.raises(ReadError, match="Leave logits=True out"):
        epimeter.evaluate("probs.csv", logits=True)


def test_what_is_certified_is_stated_as_probabilities(rows):
    for typed in (
        ["evaluate", "scores.csv", "--standard", "ers"],
        ["summarise", "scores.csv", "--evidence", "-o", "x.epi"],
    ):
        assert "as they were stated" in CliRunner().invoke(command_line, [*typed, "--logits"]).output


def test_rows_that_make_a_score_infinite_are_named_by_their_lines(rows):
    said, true = np.linspace(0.05, 0.95, 40), np.tile([0.0, 1.0], 20)
    said[3], true[1] = 0, np.nan  # what has no label is left out, and counts among the lines
    pd.DataFrame({"y_prob": said, "y_true": true}).to_csv("zero.csv", index=False)
    told = CliRunner().invoke(command_line, ["evaluate", "zero.csv", "--metric", "nll"])
    assert "1 row said 0 for what came true (line 5)" in told.output
    assert epimeter.evaluate("zero.csv", metrics="nll")["nll"].infinite == "1 row said 0 for what came true (line 5)"
    assert "(y_true[3])" in epimeter.evaluate(true, said, metrics="nll")["nll"].infinite
