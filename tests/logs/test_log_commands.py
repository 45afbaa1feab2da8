# SPDX-License-Identifier: Apache-2.0
"""Logs as they are typed on the command line, and what the standards make of declined answers and repeated questions."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter
from epimeter.readers import Choice, read
from epimeter.standards.evaluation import evaluate_standards
from epimeter.standards.records import records_of

DATA = Path(__file__).parent / "data"
CHOICE, EPOCHS = DATA / "inspect_verbal_conf_choice.json", DATA / "inspect_mc_epochs5.json"


def typed(*words):
    return CliRunner().invoke(epimeter, [str(word) for word in words], catch_exceptions=False)


def test_evaluate_reads_a_log_and_says_where_its_confidence_comes_from():
    found = json.loads(typed("evaluate", CHOICE, "--confidence", "verbalised", "--json").stdout)
    assert found["n_rows"] == 12 and found["kind"] == "answer"
    assert found["source"]["confidence_source"] == "verbalised"
    assert any("given by 12 of 12 answers" in note for note in found["source"]["notes"])


def test_slices_of_logs_are_columns_of_their_answers():
    found = json.loads(typed("evaluate", CHOICE, "--by", "metadata.subject", "--json").stdout)
    assert set(found) == {"law", "medicine"} and sum(part["n_rows"] for part in found.values()) == 12


def test_convert_writes_one_row_an_answer(tmp_path):
    made = typed("convert", DATA / "inspect_errors_some.json", "-o", tmp_path / "rows.parquet")
    assert made.exit_code == 0 and "12 answers" in made.stderr
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert len(rows) == 12 and {"id", "epoch", "question", "confidence", "correct"} <= set(rows[0])
    errored = next(row for row in rows if row["why"] == "error")
    assert errored["confidence"] is None and errored["correct"] is None
    for suffix in ("csv", "jsonl", "arrow"):
        assert typed("convert", CHOICE, "-o", tmp_path / f"rows.{suffix}").exit_code == 0
        assert read(tmp_path / f"rows.{suffix}").n_rows == 12


@pytest.mark.parametrize(
    "words",
    [
        ("draw", CHOICE, "--json"),
        ("test", EPOCHS, "--draws", "39", "--json"),
        ("passport", CHOICE, "--standard", "ers", "--draws", "50"),
        ("evaluate", EPOCHS, "--unit", "question", "--json"),
        ("evaluate", DATA / "inspect_mc_logprobs.json", "--kind", "classes", "--json"),
    ],
)
def test_every_command_takes_a_log(words):
    made = typed(*words)
    assert made.exit_code == 0 and json.loads(made.stdout)


def test_a_folder_is_read_with_all_its_logs_and_without_their_summaries():
    found = json.loads(typed("evaluate", DATA / "lm_eval_b", "--json").stdout)
    assert found["n_rows"] == 60


def test_summaries_are_made_of_logs(tmp_path):
    made = typed("summarise", CHOICE, "--by", "subject", "-o", tmp_path / "s.epi")
    assert made.exit_code == 0 and "12 rows" in made.stderr


def test_two_models_are_compared_question_by_question_with_their_own_outcomes():
    first, second = (next((DATA / name).glob("samples_toy_mc_*")) for name in ("lm_eval_a", "lm_eval_b"))
    made = typed("compare", first, second, "--metric", "accuracy", "--draws", "99", "--json")
    found = json.loads(made.stdout)
    assert found["pairing"] == "same rows"
    difference = found["differences"][0]
    assert (difference["value_first"], difference["value_second"]) == (pytest.approx(0.6), pytest.approx(26 / 60))


def test_tests_say_how_many_questions_stand_behind_the_answers():
    found = json.loads(typed("test", EPOCHS, "--draws", "39", "--json").stdout)
    assert (found["n_rows"], found["n_units"]) == (20, 4)
    assert "20 answers to 4 questions" in typed("test", EPOCHS, "--draws", "39").stdout


def declined_table(folder):
    """Unknown inputs that the system mostly declined: their outcome is empty, and whether they were detected is known."""
    rng = np.random.Generator(np.random.PCG64(11))
    lines = ["confidence,correct,unknown,detected"]
    lines += [f"{c:.3f},{int(rng.random() < c)},0,0" for c in rng.uniform(0.5, 0.95, 200)]
    lines += ["0.6,,1,1"] * 79 + ["0.6,0,1,0"] * 21
    path = folder / "declined.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_u_recall_needs_no_outcome_of_declined_answers(tmp_path):
    table = read(declined_table(tmp_path))
    assert table.n_rows == 221 and len(table.silent_unknown) == 79
    found = evaluate_standards(records_of(table), standard="both", date="2026-11-15", draws=50)
    assert found.onto.u_recall == pytest.approx(0.79)
    reading = next(reading for reading in found.readings if reading.name == "onto.u_recall")
    assert reading.interval.low < 0.79 < reading.interval.high


def test_standards_count_questions():
    table = read(EPOCHS, columns=Choice())
    records = records_of(table)
    assert any("20 answers to 4 questions" in note for note in records.notes)
    alone = evaluate_standards(records_of(read(CHOICE)), standard="ers", date="2026-11-15")
    assert alone.readings[0].interval is not None
    rng = np.random.Generator(np.random.PCG64(3))
    c = rng.uniform(0.5, 0.9, 60)
    y = (rng.random(60) < c).astype(int)
    columns = {"confidence": np.repeat(c, 10), "correct": np.repeat(y, 10)}
    naive, honest = (
        evaluate_standards(records_of(read(frame)), standard="ers", date="2026-11-15", interval="asymptotic")
        for frame in (columns, columns | {"question": np.repeat(np.arange(60).astype(str), 10)})
    )
    widths = [found.readings[0].interval.high - found.readings[0].interval.low for found in (naive, honest)]
    assert widths[1] > 2.5 * widths[0]
