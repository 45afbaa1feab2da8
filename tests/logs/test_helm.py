# SPDX-License-Identifier: Apache-2.0
"""HELM's folders: the state of a scenario, its statistics, and what was run."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from epimeter.errors import ReadError
from epimeter.readers.logs import read_log

DATA = Path(__file__).parent / "data"


def state(i, said, logprob, right="A", **more):
    references = [
        {"output": {"text": f" text {letter}"}, "tags": ["correct"] if letter == right else []} for letter in "ABC"
    ]
    token = {"text": f" {said}", "logprob": logprob, "top_logprobs": {f" {said}": logprob, " B": math.log(0.05)}}
    return {
        "instance": {"id": f"id{i}", "input": {"text": "?"}, "references": references, "split": "test", **more.pop("instance", {})},
        "train_trial_index": 0,
        "output_mapping": {letter: f" text {letter}" for letter in "ABC"},
        "result": {"success": True, "completions": [{"text": f" {said}", "logprob": logprob, "tokens": [token]}]},
        **more,
    }  # fmt: skip


def written(folder, states, method="multiple_choice_joint"):
    path = folder / "scenario_state.json"
    path.write_text(json.dumps({"adapter_spec": {"method": method, "model": "lab/m"}, "request_states": states}))
    return path


def test_the_state_of_a_scenario_gives_texts_and_tokens(tmp_path):
    states = [
        state(0, "A", math.log(0.9)),
        state(1, "C", math.log(0.6)),
        state(2, "A", math.log(0.7), result={"success": False, "error": "timeout", "completions": []}),
        state(3, "A", math.log(0.8), instance={"perturbation": {"name": "typos"}}),
        state(4, "The answer is A", math.log(0.8)),
    ]
    found = read_log(written(tmp_path, states), confidence="answer_token")
    rows = found.rows.to_pylist()
    assert [(row["confidence"], row["correct"]) for row in rows[:2]] == [
        (pytest.approx(0.9), 1),
        (pytest.approx(0.6), 0),
    ]
    assert [row["why"] for row in rows] == [None, None, "error", "no confidence"]
    assert rows[0]["model"] == "lab/m" and any("perturbed" in note for note in found.notes)
    assert rows[0]["option_probabilities"] == pytest.approx([0.9 / 0.95, 0.05 / 0.95, 0])


def test_requests_for_each_reference_are_left_to_the_statistics(tmp_path):
    with pytest.raises(ReadError, match=r"give per_instance_stats\.json"):
        read_log(written(tmp_path, [state(0, "A", -0.1, reference_index=0)], "multiple_choice_separate_original"))


def test_a_folder_is_graded_by_helm_and_named_by_its_run(tmp_path):
    shutil.copy(DATA / "helm_joint_logprobs.per_instance_stats.json", tmp_path / "per_instance_stats.json")
    written(tmp_path, [state(0, "A", math.log(0.9))])
    spec = {
        "name": "mmlu:subject=law,model=lab_m",
        "adapter_spec": {"method": "multiple_choice_joint", "model": "lab/m"},
    }
    (tmp_path / "run_spec.json").write_text(json.dumps(spec))
    found = read_log(tmp_path)
    assert found.n_rows == 8 and dict(found.facts) == {"model": "lab/m", "task": "mmlu:subject=law"}
