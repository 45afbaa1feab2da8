# SPDX-License-Identifier: Apache-2.0
"""Logs on their way to a service: what it cannot count is said, and no number is asked that would be wrong."""

import json

from epimeter.cli.submit import _captured
from epimeter.readers.forecast import Choice


def log(folder, *, declined):
    samples = [
        {
            "id": f"q{i // 2}",
            "epoch": 1 + i % 2,
            "output": {"completion": "I don't know." if i < declined else "x. Confidence: 60%"},
            "scores": {"s": {"value": "N" if i < declined else "CI"[i % 2], "answer": "x"}},
            "metadata": {"unknown": i < 10},
        }
        for i in range(40)
    ]
    path = folder / "run.json"
    about = {"task": "t", "model": "m", "run_id": "r"}
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": about, "samples": samples}))
    return str(path)


def test_unknown_inputs_that_are_not_sent_ask_for_nothing_after_42001(tmp_path, capsys):
    table = _captured(log(tmp_path, declined=8), Choice(), None)
    said = capsys.readouterr().err
    assert table.unknown is None and table.detected is None
    assert "8 answers of the log without ground truth" in said and "8 unknown inputs are among those not sent" in said
    assert "32 answers to 16 questions" in said


def test_flags_are_sent_where_every_unknown_input_is(tmp_path, capsys):
    table = _captured(log(tmp_path, declined=0), Choice(), None)
    assert table.unknown is not None and table.unknown.sum() == 10
    assert "unknown inputs" not in capsys.readouterr().err
