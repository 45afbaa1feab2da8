# SPDX-License-Identifier: Apache-2.0
"""Logs with something wrong in them: one sentence each, nothing lost."""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path

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


DATA = Path(__file__).parent / "data"


def log(folder, samples, name="a.json", **more):
    made = {"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}, **more, "samples": samples}
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


def archive(path, *more):
    """An inspect archive of six samples, and further members: name or entry, and content."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", json.dumps({"status": "success", "eval": {"model": "m", "task": "t"}}))
        for number in range(6):
            made.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample(number)))
        for name, text in more:
            made.writestr(name, text)
    return path


def link(name):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o120777 << 16
    return entry


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (("../../elsewhere_epoch_1.json", json.dumps(sample(9))), "must be files in it"),
        (("samples/../9_epoch_1.json", json.dumps(sample(9))), "must be files in it"),
        (("/samples/9_epoch_1.json", json.dumps(sample(9))), "must be files in it"),
        ((link("samples/9_epoch_1.json"), "/etc/hostname"), "must be files in it"),
        (("samples/1_epoch_1.json", json.dumps(sample(1))), "must be there once"),
        (("samples/9_epoch_1.json", b'{"id": 9, "metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "nest so deep"),
        (("samples/9_epoch_1.json", json.dumps(sample(9, id="9" * 3000))), "at most 2,000 characters"),
        (("samples/9_epoch_1.json", json.dumps(sample(9, id="9" * 3_000_000))), "times its size; it is refused"),
        (("samples/9_epoch_1.json", json.dumps({"epoch": 1, "scores": {"choice": {"value": "C"}}})), "must have an id"),
        (("samples/9_epoch_1.json", b""), "must be JSON"),
    ],
)  # fmt: skip
def test_hostile_members_are_one_sentence_each(member, message, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of a name that is there already
        path = archive(tmp_path / "run.eval", member)
    with pytest.raises(ReadError, match=message) as refusal:
        read_log(path)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 300


def test_a_journal_without_samples_says_that_none_was_finished(tmp_path):
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("_journal/start.json", json.dumps({"version": 2, "eval": {"model": "m", "task": "t"}}))
        made.writestr("_journal/summaries/1.json", "[]")
    with pytest.raises(ReadError, match="stopped before one was finished"):
        read_log(path)


def test_two_headers_that_differ_are_refused_and_two_that_do_not_are_read(tmp_path):
    kept = json.loads((DATA / "inspect_verbal_conf_choice.json").read_text())
    other = kept | {"eval": kept["eval"] | {"model": "another"}}
    for second, refused in ((other, True), (kept, False)):
        path = tmp_path / f"{refused}.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for document in (kept, second):
                archive.writestr("header.json", json.dumps({k: v for k, v in document.items() if k != "samples"}))
            for entry in kept["samples"]:
                archive.writestr(f"samples/{entry['id']}_epoch_1.json", json.dumps(entry))
        if refused:
            with pytest.raises(ReadError, match=r"must hold header\.json once; True\.eval holds two that differ"):
                read_log(path)
        else:
            assert read_log(path).facts["model"] == kept["eval"]["model"]


def test_a_log_that_its_samples_contradict_says_so(tmp_path):
    path, kept = tmp_path / "run.json", json.loads((DATA / "inspect_verbal_conf_choice.json").read_text())
    count = len(kept["samples"])
    right = sum(entry["scores"]["choice"]["value"] == "C" for entry in kept["samples"])
    for claimed, total, said in (
        (right / count, count, None),
        (right / count, count + 3, f"{count + 3} samples were finished and holds {count}: 3 are missing"),
        (right / count, count - 1, f"has {count - 1} samples and holds {count}"),
        (0.999, count, "accuracy by choice is 0.999; its samples give"),
    ):
        score = {"name": "choice", "scorer": "choice", "metrics": {"accuracy": {"value": claimed}}}
        results = {"total_samples": total, "completed_samples": total, "scores": [score]}
        log(tmp_path, kept["samples"], "run.json", eval=kept["eval"], results=results)
        notes = [note for note in read_log(path).notes if "the log says" in note]
        assert [said in note for note in notes] == ([] if said is None else [True])


def test_a_hundred_thousand_options_are_read(tmp_path):
    log = json.loads((Path(__file__).parent / "data" / "inspect_mc_logprobs.json").read_text("utf-8"))
    log["samples"][0]["choices"] = [f"option {i}" for i in range(100_000)]
    (tmp_path / "many.json").write_text(json.dumps(log))
    answers = read_log(tmp_path / "many.json")
    assert answers.rows.column("confidence").null_count == 0
