# SPDX-License-Identifier: Apache-2.0
"""Logs on their way to a service: every answer goes along with its question, a declined one with its flags."""

import json

import numpy as np

from epimeter.cli.submit import _captured
from epimeter.readers.forecast import Choice


def log(folder, *, declined, times=2):
    samples = [
        {
            "id": f"q{i // times}",
            "epoch": 1 + i % times,
            "output": {"completion": "I don't know." if i < declined else "x. Confidence: 60%"},
            "scores": {"s": {"value": "N" if i < declined else "CI"[i % 2], "answer": "x"}},
            "metadata": {"unknown": i < 10},
        }
        for i in range(40)
    ]
    path = folder / "run.json"
    about = {"task": "t", "model": "m", "run_id": "r"}
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": about, "samples": samples}))
    return path


def test_declined_answers_go_along_with_their_flags(tmp_path, capsys):
    table = _captured(str(log(tmp_path, declined=8)), Choice(), None)
    assert table.n_rows == 40 and table.awaiting.sum() == 8 and np.isnan(table.confidence).sum() == 8
    assert table.unknown.sum() == 10 and table.detected.sum() == 8
    assert table.unknown[table.awaiting].all() and table.detected[table.awaiting].all()
    assert not capsys.readouterr().err


def test_questions_go_along_where_they_have_several_answers(tmp_path):
    table = _captured(str(log(tmp_path, declined=0)), Choice(), None)
    assert table.unit == "question" and len(set(table.group)) == 20
    alone = _captured(str(log(tmp_path, declined=0, times=1)), Choice(), None)
    assert alone.group is None
