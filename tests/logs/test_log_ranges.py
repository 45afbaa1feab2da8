# SPDX-License-Identifier: Apache-2.0
"""Large logs are read by several processes; nobody can tell from what they give."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from epimeter.errors import ReadError
from epimeter.readers.logs import log_ranges, read_log


@pytest.fixture
def three(monkeypatch):
    """Even a small log is worth three processes; how many ranges were read is counted."""
    read = []
    monkeypatch.setattr(log_ranges, "A_PROCESS", 1000)
    monkeypatch.setattr(log_ranges, "cores", lambda: 3)
    follow = log_ranges._all_read
    monkeypatch.setattr(log_ranges, "_all_read", lambda errands: read.append(found := follow(errands)) or found)
    return read


def alone(path, monkeypatch, **options):
    monkeypatch.setattr(log_ranges, "MOST", 1)
    return read_log(path, **options)


def archive(path, n, scorer=lambda i: "s"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for i in range(n):
            said = f"Because {i}.\nConfidence: {i % 60 + 40}%" if i % 7 else "About 8 or so. Confidence: 8"
            entry = {
                "id": i,
                "epoch": 1,
                "target": "B",
                "output": {"completion": said},
                "metadata": {"grade": i if i < n // 2 else i + 0.5, "mixed": i if i % 2 else "odd", "late": i > n - 3},
                "scores": {scorer(i): {"value": "C" if i % 3 else "I", "answer": "B"}},
            }
            made.writestr(f"samples/{i}_epoch_1.json", json.dumps(entry))
        about = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "run_id": "r"}}
        made.writestr("header.json", json.dumps(about))
    return path


def document(path, n):
    with zipfile.ZipFile(archive(path.with_suffix(".eval"), n)) as made:
        about = json.loads(made.read("header.json"))
        taken = [json.loads(made.read(name)) for name in made.namelist() if name.startswith("samples/")]
    taken[3]["output"]["completion"] = 'He said "[{]\\\\", then "\\\\\\"". ' + taken[3]["output"]["completion"]
    taken[4]["store"] = float("nan")
    path.write_text("\ufeff" + json.dumps(about | {"samples": taken, "reductions": []}, indent=1), "utf-8")
    return path


def samples(path, n):
    lines = []
    for i in range(n):
        likelihood = [[str(-0.1 * (i % 9 + k + 1)), "False"] for k in range(3)]
        lines.append(
            {"doc_id": i, "doc": {"q": "?"}, "target": "0", "resps": [], "filtered_resps": likelihood, "filter": "none",
             "acc": float(i % 2)}
        )  # fmt: skip
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.mark.parametrize(
    ("make", "name"), [(archive, "run.eval"), (document, "run.json"), (samples, "samples_toy.jsonl")]
)
def test_several_processes_give_what_one_gives(make, name, three, tmp_path, monkeypatch):
    path = make(tmp_path / name, 90)
    shared = read_log(path)
    assert [part.total for parts in three for part in parts] and sum(part.total for part in three[0]) == 90
    assert len(three[0]) == 3
    whole = alone(path, monkeypatch)
    assert shared.rows.equals(whole.rows) and shared.rows.schema == whole.rows.schema
    assert shared.notes == whole.notes and shared.facts == whole.facts


def test_the_elements_of_a_long_array_are_found_wherever_the_text_is_cut(monkeypatch):
    from epimeter.readers.logs import elements

    text = r' { "a" : [1, {"b": "]"}], "n": 3, "samples" : [ {"x": "\\" , "y": "\"]}" }, [], "s,", -1.5e3 , NaN,{} ] , "z": 1}'
    for size in range(1, len(text)):
        monkeypatch.setattr(elements, "CHUNK", size)
        whole = elements.JsonDocument(io.BytesIO(text.encode()), "x.json")
        assert whole.enter("samples") == {"a": [1, {"b": "]"}], "n": 3}
        found = [part.decode() for part in elements.elements(whole)]
        assert found == [r'{"x": "\\" , "y": "\"]}" }', "[]", '"s,"', "-1.5e3", "NaN", "{}"]
    for cut in range(3, text.rindex("]")):
        with pytest.raises(ReadError, match=r"x\.json must be JSON"):
            short = elements.JsonDocument(io.BytesIO(text[:cut].encode()), "x.json")
            short.enter("samples")
            list(elements.elements(short))


def test_where_the_pieces_do_not_agree_one_process_has_the_word(three, tmp_path, monkeypatch):
    path = archive(tmp_path / "run.eval", 90, scorer=lambda i: "early" if i < 45 else "late")
    shared = read_log(path)
    assert three and shared.rows.column("why").to_pylist().count("not scored") == 45
    assert shared.rows.equals(alone(path, monkeypatch).rows)


def test_a_fault_in_any_piece_is_worded_with_its_line(three, tmp_path):
    path = samples(tmp_path / "samples_toy.jsonl", 90)
    lines = path.read_text().splitlines()
    lines[70] = lines[70][:40]
    path.write_text("\n".join(lines))
    with pytest.raises(ReadError, match=r"line 71 of samples_toy\.jsonl must be JSON"):
        read_log(path)
