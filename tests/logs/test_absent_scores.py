# SPDX-License-Identifier: Apache-2.0
"""Several logs of which some lack the score that was asked for."""

import json

import pytest

from epimeter.errors import ReadError
from epimeter.readers.logs import read_log


def lm_eval(folder, task, score, values):
    path = folder / f"samples_{task}_2026-01-01T00-00-00.000000.jsonl"
    path.write_text(
        "".join(
            json.dumps(
                {
                    "doc_id": i,
                    "doc": {},
                    "target": "x",
                    "resps": [["It is x. Confidence: 70%"]],
                    "filtered_resps": ["x"],
                    "filter": "none",
                    "metrics": [score if value is not None else "other"],
                    score if value is not None else "other": value or 0.0,
                }
            )
            + "\n"
            for i, value in enumerate(values)
        )
    )
    return path


def inspect(folder, name, scorer, marks):
    samples = [
        {"id": i, "epoch": 1, "output": {"completion": "x. Confidence: 60%"}, "scores": {scorer: {"value": mark, "answer": "x"}}}
        for i, mark in enumerate(marks)
    ]  # fmt: skip
    path = folder / f"{name}.json"
    about = {"task": name, "model": "m", "run_id": name}
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": about, "samples": samples}))
    return path


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("as_folder", [True, False])
def test_logs_without_the_score_are_left_out_and_named(tmp_path, order, as_folder):
    kept, left = lm_eval(tmp_path, "a", "acc", [1.0, 0.0, 1.0]), lm_eval(tmp_path, "b", "exact_match", [1.0])
    read = read_log(tmp_path if as_folder else [kept, left][::order], scorer="acc")
    assert read.rows.num_rows == 3 and set(read.rows["task"].to_pylist()) == {"a"}
    assert f"left out: {left.name} has no score 'acc'; it has exact_match"[:40] in " ".join(read.notes)


def test_a_scorer_that_is_missed_at_the_end_leaves_no_rows_behind(tmp_path):
    inspect(tmp_path, "a", "other", ["C", "I", "C"])
    inspect(tmp_path, "b", "choice", ["C", "I"])
    read = read_log(tmp_path, scorer="choice")
    assert read.rows["correct"].to_pylist() == [1, 0]
    assert "left out: a.json has no scorer 'choice'; it has other" in read.notes
    assert "2 of 2 answers" in read.notes[0]


def test_where_none_has_the_score_the_first_is_named(tmp_path):
    inspect(tmp_path, "a", "other", ["C"])
    inspect(tmp_path, "b", "third", ["C"])
    with pytest.raises(ReadError, match=r"a\.json has no scorer 'choice'; it has other"):
        read_log(tmp_path, scorer="choice")


def test_a_log_of_which_some_answers_lack_it_is_not_left_out(tmp_path):
    lm_eval(tmp_path, "a", "acc", [1.0, 0.0])
    lm_eval(tmp_path, "b", "acc", [1.0, None])
    with pytest.raises(ReadError, match=r"every sample must have 'acc'; line 2"):
        read_log(tmp_path, scorer="acc")


def test_partial_credit_is_said_of_the_log_that_has_it(tmp_path):
    lm_eval(tmp_path, "a", "acc", [1.0, 0.0])
    lm_eval(tmp_path, "b", "acc", [0.25, 0.5, 1.0])
    with pytest.raises(ReadError, match=r"2 of samples_b.* partial credit, the first 0\.25.*or leave this log out"):
        read_log(tmp_path, scorer="acc")
