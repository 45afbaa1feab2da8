# SPDX-License-Identifier: Apache-2.0
"""Files with several answers to a question: intervals count questions, however large the files are."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter as command_line
from epimeter.cli import grouped, streaming


@pytest.fixture
def answers(tmp_path):
    """Sixty questions, fifty answers each, that stand or fall together; whole, and in two files."""
    rng = np.random.default_rng(7)
    question = np.repeat(np.arange(60), 50)
    right = (rng.random(60) < 0.7)[question]
    confidence = np.round(np.clip(0.7 + 0.2 * rng.standard_normal(len(question)), 0.01, 0.99), 4)
    lines = [f"{c},{int(r)},q{q},{'ab'[q % 2]}" for c, r, q in zip(confidence, right, question, strict=True)]
    head = "confidence,correct,question,subject"
    (tmp_path / "all.csv").write_text("\n".join([head, *lines, ""]))
    (tmp_path / "one.csv").write_text("\n".join([head, *lines[::2], ""]))
    (tmp_path / "two.csv").write_text("\n".join([head, *lines[1::2], ""]))
    return tmp_path


def report(*arguments):
    result = CliRunner().invoke(command_line, ["evaluate", *map(str, arguments), "--metric", "ece,accuracy", "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def figures(found):
    return {
        one["metric"]: (one["value"], one["interval"]["low"], one["interval"]["high"]) for one in found["measurements"]
    }


def test_a_large_file_counts_its_questions(answers, monkeypatch):
    held, _ = report(answers / "all.csv")
    monkeypatch.setattr(streaming, "LARGE", 1)
    monkeypatch.setattr(grouped, "LARGE", 1)
    large, said = report(answers / "all.csv")
    assert figures(large) == figures(held)
    low, high = figures(large)["accuracy"][1:]
    assert high - low > 0.2  # sixty questions; three thousand rows would give 0.03
    assert "counts rows" not in said


def test_groups_without_names_give_the_same_figures(answers, monkeypatch):
    held, _ = report(answers / "all.csv")
    monkeypatch.setattr(grouped, "NAMED", 0)
    parted, _ = report(answers / "one.csv", answers / "two.csv")
    assert {name: value[0] for name, value in figures(parted).items()} == pytest.approx(
        {name: value[0] for name, value in figures(held).items()}
    )
    assert figures(parted)["accuracy"] == pytest.approx(figures(held)["accuracy"])


def test_more_rows_than_can_be_held_are_counted_as_rows_and_it_is_said(answers, monkeypatch):
    monkeypatch.setattr(grouped, "HELD", 1000)
    found, said = report(answers / "one.csv", answers / "two.csv")
    low, high = figures(found)["accuracy"][1:]
    assert high - low < 0.1
    assert "rows with one question are not independent" in said
