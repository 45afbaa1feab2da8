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


def several_answers(folder):
    path = folder / "answers.csv"
    rows = [
        (q, 0.05 + 0.1 * ((q + e) % 10), (q * 7 + e) % 3 == 0, f"2026-01-{1 + q % 20:02}T00:00:00Z")
        for q in range(40)
        for e in range(3)
    ]
    text = "question,confidence,correct,timestamp\n" + "".join(f"q{q},{p:.2f},{int(y)},{t}\n" for q, p, y, t in rows)
    path.write_text(text)
    return str(path)


def test_a_summary_says_that_it_counts_rows_and_so_does_what_it_is_merged_into(tmp_path):
    file, alone = several_answers(tmp_path), tmp_path / "alone.csv"
    alone.write_text("confidence,correct\n0.5,1\n0.25,0\n")
    for source, name in ((file, "a.epi"), (str(alone), "b.epi")):
        assert CliRunner().invoke(command_line, ["summarise", source, "-o", str(tmp_path / name)]).exit_code == 0
    merged = ["merge", str(tmp_path / "b.epi"), str(tmp_path / "a.epi"), "-o", str(tmp_path / "c.epi")]
    assert CliRunner().invoke(command_line, merged).exit_code == 0
    said = {
        name: CliRunner().invoke(command_line, ["report", str(tmp_path / name)]).output
        for name in ("a.epi", "b.epi", "c.epi")
    }
    assert "rows of one question are not independent, and a summary counts rows" in said["a.epi"]
    assert "rows of one question" in said["c.epi"] and "rows of one question" not in said["b.epi"]


def test_evidence_of_answers_that_are_not_independent_is_refused(tmp_path):
    file = several_answers(tmp_path)
    done = CliRunner().invoke(command_line, ["summarise", file, "--evidence", "-o", str(tmp_path / "a.epi")])
    assert "120 answers to 40 questions" in str(done.exception) and "--unit question" in str(done.exception)
