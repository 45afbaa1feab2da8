# SPDX-License-Identifier: Apache-2.0
"""Comparisons as they are typed: rows paired by place, every value of the report, all pairs at once, models over each other."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter.cli import compare as compare_command
from epimeter.cli import epimeter


def typed(*words):
    done = CliRunner().invoke(epimeter, ["compare", *map(str, words), "--draws", "29"])
    return done.output if done.exception is None else f"{done.output}{done.exception}"


@pytest.fixture
def files(tmp_path):
    """Answers of three models to the same questions in one order, without ids; each is right on rows of its own."""
    rng = np.random.Generator(np.random.PCG64(0))
    made = []
    for name, shift in (("a", 0.0), ("b", 0.25), ("c", 0.02)):
        said = rng.uniform(0.5, 1, 400)
        right = (rng.random(400) < said - shift).astype(int)
        lines = [f"{r},{s:.6f}" for r, s in zip(right, said, strict=True)]
        made.append(tmp_path / f"{name}.csv")
        made[-1].write_text("correct,confidence\n" + "\n".join(lines) + "\n")
    return made


def test_models_that_are_right_on_different_rows_are_paired_by_place_when_told(files):
    alone, told = (json.loads(typed(*files[:2], "--json", *words)) for words in ((), ("--paired",)))
    assert alone["pairing"] == "different rows" and told["pairing"] == "same rows"
    assert {d["method"] for d in told["differences"]} >= {"paired bootstrap; swapping test"}
    short = files[0].with_name("short.csv")
    short.write_text("\n".join(files[1].read_text().splitlines()[:100]) + "\n")
    assert "must be equally many; " in typed(files[0], short, "--paired")
    assert "contradict" in typed(*files[:2], "--paired", "--unpaired")


def test_events_paired_by_place_must_have_the_same_outcomes(tmp_path):
    for name, first in (("a", 1), ("b", 0)):
        (tmp_path / f"{name}.csv").write_text(f"y_true,y_prob\n0,0.2\n{first},0.6\n1,0.7\n")
    assert "the first is row 1, counted from 0" in typed(tmp_path / "a.csv", tmp_path / "b.csv", "--paired")


def test_every_value_of_the_report_is_compared_unless_asked_otherwise(files, monkeypatch):
    told = json.loads(typed(*files[:2], "--paired", "--json"))["differences"]
    names = ["brier_score", "nll", "ece", "mce", "esce", "abc", "drmsce_bcs", "ecd"]
    assert [d["metric"] for d in told] == names
    assert all(d["interval"]["low"] <= d["interval"]["high"] for d in told)
    # Above a size, metrics that sort every replicate are left out, and it is said how to have them.
    monkeypatch.setattr(compare_command, "PATIENCE", 10_000)
    shown = " ".join(typed(*files[:2], "--paired").split())
    assert "drmsce_bcs is left out: 800 rows would be put in order 29 times" in shown
    whole = json.loads(typed(*files[:2], "--paired", "-m", "report", "--json"))["differences"]
    assert whole == told


def test_the_verdict_names_the_better_model_once_whatever_the_number_of_draws(files):
    """29 draws give no p-value below 1/30; Hoeffding's bound does."""
    sure = files[0].with_name("sure.csv")
    sure.write_text(files[0].read_text().replace("\n0,0.", "\n0,0.00").replace("\n1,0.", "\n1,0.99"))
    shown = " ".join(typed(sure, *files[:2], "--paired", "-m", "brier_score,nll").split())
    assert "sure is better than a by brier_score and nll; sure is better than b by brier_score and nll" in shown


def test_three_models_stand_in_a_matrix_and_on_one_sheet(files):
    page = files[0].with_name("models.svg")
    shown = typed(*files, "--paired", "-m", "brier_score", "--figure", page)
    matrix = shown[shown.index("Differences by brier_score: row minus column") :]
    row = next(line for line in matrix.splitlines() if line.split()[:1] == ["b"])
    back = next(line for line in matrix.splitlines() if line.split()[:1] == ["a"])
    assert row.split()[1].lstrip("+-") == back.split()[2].lstrip("+-") and row.split()[1][0] != back.split()[2][0]
    drawn = page.read_text()
    assert "Said against seen" in drawn and "a - c" in drawn


def test_ids_that_do_not_match_are_told(tmp_path):
    for name, ids in (("a", range(60)), ("b", range(30, 90)), ("c", [*range(59), 0])):
        lines = [f"{number},{number % 2},0.{2 + number % 7}" for number in ids]
        (tmp_path / f"{name}.csv").write_text("id,y_true,y_prob\n" + "\n".join(lines) + "\n")
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    assert "30 ids are in all files and others are not" in json.loads(typed(*files[:2], "--json"))["pairing"]
    assert "ids of " in typed(files[0], files[2], "--json") and "repeat" in typed(files[0], files[2], "--json")
    assert "must hold the same rows, by ids or by outcomes row by row; ids of" in typed(*files)


IMPOSSIBLE = "y_true,y_prob\n" + "\n".join(
    f"{int(k % 3 == 0)},{0.0 if k in (3, 6) else 0.2 + 0.5 * (k % 3 == 0)}" for k in range(90)
)


@pytest.fixture
def impossible(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zero.csv").write_text(IMPOSSIBLE)
    (tmp_path / "plain.csv").write_text(IMPOSSIBLE.replace(",0.0", ",0.1"))


@pytest.mark.filterwarnings("error")
def test_by_an_infinite_score_nothing_is_tested_and_the_rows_are_named(impossible):
    run = CliRunner().invoke(
        epimeter, ["compare", "zero.csv", "plain.csv", "-m", "nll,brier_score", "--draws", "50", "--json"]
    )
    found = json.loads(run.output)
    by_name = {line["metric"]: line for line in found["differences"]}
    assert by_name["nll"]["value_first"] == by_name["nll"]["value"] == "inf" and by_name["nll"]["p_value"] is None
    assert by_name["brier_score"]["adjusted"] == by_name["brier_score"]["p_value"]  # the other is no test
    assert found["cautions"] == ["zero: nll: infinite, since 2 rows said 0 for what came true (line 5, line 8)"]
    assert found["states"] == "events: each row states the probability of outcome 1"
    twice = CliRunner().invoke(epimeter, ["compare", "zero.csv", "zero.csv", "-m", "nll", "--draws", "50"]).output
    assert "nan" not in twice and "by an infinite score" in " ".join(twice.split())


def test_tests_and_comparisons_say_what_is_odd_in_words_of_the_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    prob = rng.random(400)
    true = (rng.random(400) < prob).astype(object)
    true[:5] = ""
    (tmp_path / "a.csv").write_text(
        "\n".join(["y_true,y_prob", *(f"{y},{1 - p}" for y, p in zip(true, prob, strict=True))])
    )
    for line in ("test a.csv --draws 50", "compare a.csv a.csv --draws 50"):
        said = " ".join(CliRunner().invoke(epimeter, line.split()).output.split())
        assert "events: each row states the probability of outcome 1" in said and "kind event" not in said
        assert "5 of 400 rows have no label and were left out." in said
        assert "1 - p passed?" in said
        assert "over-confiden" not in said
    said = " ".join(CliRunner().invoke(epimeter, ["test", "a.csv", "--draws", "50"]).output.split())
    assert "its probabilities are surer than the outcomes bear out is established" in said
