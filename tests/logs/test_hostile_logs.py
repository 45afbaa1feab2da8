# SPDX-License-Identifier: Apache-2.0
"""Logs with something wrong in them: one sentence each, nothing lost."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter as command_line
from epimeter.errors import ReadError
from epimeter.readers.logs import read_log


def sample(number, epoch=1, **more):
    said = f"ANSWER: A\nConfidence: {60 + number % 4 * 10}%"
    return {
        "id": number,
        "epoch": epoch,
        "choices": ["red", "blue"],
        "target": "A",
        "output": {"choices": [{"message": {"role": "assistant", "content": said}}]},
        "scores": {"choice": {"value": "C" if number % 3 else "I", "answer": "A"}},
        **more,
    }


def log(folder, samples, name="a.json", **more):
    made = {"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}, "samples": samples, **more}
    (folder / name).write_text(json.dumps(made))
    return folder / name


def test_samples_of_a_run_that_was_stopped_are_told_from_faulty_ones(tmp_path):
    stopped = {"scores": {}, "error": {"message": "CancelledError()", "traceback": ""}}
    faulty = {"scores": {}, "error": {"message": "ValueError: cancelled order", "traceback": ""}}
    samples = [sample(0, **stopped), sample(1, **faulty), *(sample(k) for k in range(2, 8))]
    found = read_log(log(tmp_path, samples, status="cancelled"))
    assert found.rows.column("why").to_pylist()[:3] == ["cancelled", "error", None]


def test_epochs_of_different_questions_are_said(tmp_path):
    uneven = read_log(log(tmp_path, [*(sample(k) for k in range(6)), *(sample(k, 2) for k in range(4))]))
    assert "the epochs hold different questions: 4 of 6 questions are in all of them" in uneven.notes
    even = read_log(log(tmp_path, [sample(k, epoch) for epoch in (1, 2) for k in range(6)]))
    assert not any("different questions" in note for note in even.notes)


def test_options_of_equal_text_are_said(tmp_path):
    found = read_log(
        log(tmp_path, [sample(k, choices=["red", "red"] if k == 3 else ["red", "blue"]) for k in range(6)])
    )
    assert any("options of equal text" in note for note in found.notes)


@pytest.mark.parametrize(("text", "what"), [("not a log\n", "text"), ('{"a": [1, 2]}', "JSON")])
def test_another_file_under_the_suffix_of_a_log_is_refused(text, what, tmp_path):
    (tmp_path / "a.eval").write_text(text)
    run = CliRunner().invoke(command_line, ["evaluate", str(tmp_path / "a.eval")])
    assert isinstance(run.exception, ReadError)
    assert str(run.exception) == f"a.eval must be an inspect log, as its name says; it holds {what}"
