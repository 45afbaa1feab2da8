"""One class only: refused by the commands, a caution where a part of the rows may well hold one."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import epimeter
from epimeter.cli import epimeter as command_line
from epimeter.errors import InputError

SAID = np.linspace(0.02, 0.98, 60)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"y_prob": SAID, "y_true": 1, "site": ["n", "s"] * 30}).to_csv("events.csv", index=False)
    pd.DataFrame({"p_cat": SAID, "p_dog": 1 - SAID, "label": "dog"}).to_csv("classes.csv", index=False)
    pd.DataFrame({"confidence": SAID, "correct": 1}).to_csv("answers.csv", index=False)
    mixed = pd.DataFrame({"y_prob": SAID, "y_true": [0, 1] * 30, "site": ["n", "s"] * 30})
    mixed.to_csv("mixed.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    "typed",
    [
        "evaluate events.csv -o out.json",
        "evaluate events.csv --row-limit 10 -o out.json",
        "evaluate classes.csv -o out.json",
        "evaluate classes.csv --row-limit 10 -o out.json",
        "evaluate events.csv --standard ers -o out.json",
        "test events.csv",
        "compare mixed.csv events.csv",
        "draw events.csv -o out.png",
        "recalibrate fit events.csv -o out.json",
    ],
)
def test_a_file_of_one_class_is_refused_and_nothing_is_written(folder, typed):
    before = set(folder.iterdir())
    run = CliRunner().invoke(command_line, typed.split())
    assert isinstance(run.exception, InputError)
    assert "must hold" in str(run.exception) and "all 60 rows of" in str(run.exception)
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("limit", ["1000", "10"])
def test_classes_named_in_the_order_of_their_columns_are_told_and_refused_by_name(folder, limit):
    rows = pd.DataFrame({"p_0": SAID, "p_1": 1 - SAID, "label": ["dog", "cat"] * 30})
    rows.to_csv("both.csv", index=False)
    rows.assign(label="dog").to_csv("one.csv", index=False)
    named = ["--classes", "cat,dog", "--row-limit", limit]
    told = CliRunner().invoke(command_line, ["evaluate", "both.csv", *named])
    assert "named in the order of their columns: p_0 is cat, p_1 is dog" in " ".join(told.output.split()), told.output
    refused = CliRunner().invoke(command_line, ["evaluate", "one.csv", *named])
    assert "all 60 rows of one.csv have 'dog'" in str(refused.exception)


def test_answers_slices_and_python_keep_a_report_with_a_caution(folder):
    told = CliRunner().invoke(command_line, ["evaluate", "answers.csv"])
    assert told.exit_code == 0 and "every answer is right" in told.output
    assert CliRunner().invoke(command_line, ["evaluate", "mixed.csv", "--by", "site"]).exit_code == 0
    report = epimeter.evaluate(np.ones(60), SAID)
    assert any(caution.startswith("one class only: outcome 1 came true in every row") for caution in report.cautions)
