# SPDX-License-Identifier: Apache-2.0
"""Logs that the real tools wrote, and logs in the shape that they write."""

import io
import json
import math
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epimeter.errors import ReadError
from epimeter.readers import read
from epimeter.readers.logs import is_log, read_log

DATA = Path(__file__).parent / "data"


def rows_of(path, **options):
    return {row["id"]: row for row in read_log(path, **options).rows.to_pylist()}


def inspect_log(samples, **more):
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", "run_id": "r"},
        "samples": samples,
    } | more


def sample(id, value, *, epoch=1, text="ANSWER: B", answer="B", **more):
    score = {"value": value, "answer": answer, **more.pop("score", {})}
    output = {"completion": text, "choices": [{"message": {"content": text}, **more.pop("choice", {})}]}
    return {"id": id, "epoch": epoch, "target": "B", "output": output, "scores": {"s": score}, **more}


def written(folder, name, document):
    path = folder / name
    if isinstance(document, list) and name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(record) + "\n" for record in document))
    else:
        path.write_text(json.dumps(document))
    return path


def archived(path, log, *, method=zipfile.ZIP_DEFLATED, header="header.json"):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(header, json.dumps({key: value for key, value in log.items() if key != "samples"}))
        for entry in log["samples"]:
            archive.writestr(f"samples/{entry['id']}_epoch_{entry['epoch']}.json", json.dumps(entry))
    return path


# --- real logs


def test_a_log_is_known_by_its_content_and_read_by_every_reader():
    path = DATA / "inspect_mc_logprobs.json"
    assert is_log(path) and not is_log(DATA / "README.md")
    table = read(path)
    assert table.n_rows == 12 and table.confidence_source == "answer_token"
    assert table.group is None  # every question once
    assert read(DATA / "inspect_mc_epochs5.json").group.tolist()[:2] == ["q000", "q001"]


def test_answer_token_is_the_probability_of_the_letter_where_the_answer_stands():
    rows = rows_of(DATA / "inspect_mc_logprobs.json")
    assert rows["q000_epoch_1"]["confidence"] == pytest.approx(math.exp(-0.4277107170554841))
    whole = rows_of(DATA / "inspect_mc_logprobs.json", confidence="sequence_logprob")
    assert whole["q000_epoch_1"]["confidence"] == pytest.approx(0.6512180692522803)
    shares = rows["q000_epoch_1"]["option_probabilities"]
    assert sum(shares) == pytest.approx(1) and max(shares) == shares[1]


def test_a_log_without_confidence_is_refused_with_what_could_be_had():
    with pytest.raises(ReadError, match=r"no confidence: .*--logprobs.*Confidence: NN%.*--epochs"):
        read_log(DATA / "inspect_mc_plain.json")


def test_epochs_give_agreement_and_questions_stay_together():
    found = read_log(DATA / "inspect_mc_epochs5.json")
    assert found.confidence_source == "agreement"
    assert any("20 answers to 4 questions" in note for note in found.notes)
    assert read_log(DATA / "inspect_mc_epochs5.json", unit="question").n_rows == 4


def test_errored_samples_have_neither_confidence_nor_outcome_and_say_why():
    rows = rows_of(DATA / "inspect_errors_some.json")
    errored = [row for row in rows.values() if row["why"] == "error"]
    assert len(errored) == 2 and all(row["confidence"] is None and row["correct"] is None for row in errored)


def test_declined_answers_are_unknown_or_wrong_or_left_out():
    path = DATA / "inspect_verbal_conf_abstain.json"
    unknown = read_log(path)
    assert unknown.n_rows == 40 and unknown.table().n_rows == 33
    assert sum(unknown.rows.column("detected").to_pylist()) == 7
    assert read_log(path, abstain="leave-out").n_rows == 33
    wrong = read_log(path, abstain="wrong")
    assert any("7 declined answers count as wrong" in note for note in wrong.notes)


def test_several_scorers_must_be_told_apart_and_partial_credit_is_refused():
    path = DATA / "inspect_several_scorers.json"
    with pytest.raises(ReadError, match=r"several scorers.*choice, conf_metadata, answer, graded_fraction"):
        read_log(path)
    with pytest.raises(ReadError, match="partial credit"):
        read_log(path, scorer="graded_fraction")
    assert read_log(path, scorer="graded_fraction", correct_from=0.5).n_rows == 12
    assert rows_of(path, scorer="conf_metadata")["q000_epoch_1"]["confidence"] == 0.65


def test_lm_eval_gives_each_score_its_own_probabilities():
    path = next((DATA / "lm_eval_a").glob("samples_toy_mc_*"))
    found = read_log(path)
    assert found.facts["model"] == "2cwrw4i0" and found.facts["task"] == "toy_mc"
    table = found.table()
    assert table.label.mean() == 0.6
    matrix = np.array(found.rows.column("option_probabilities").to_pylist())
    label = np.array(found.rows.column("option").to_pylist())
    hot = np.eye(4)[label]
    assert ((matrix - hot) ** 2).sum(1).mean() == pytest.approx(
        0.6191286830993312, abs=1e-6
    )  # lm-eval's own Brier score
    assert read_log(path, scorer="acc_norm").table().label.mean() == pytest.approx(37 / 60)


def test_lm_eval_generations_state_their_confidence_in_the_unfiltered_text():
    path = next((DATA / "lm_eval_a").glob("samples_toy_gen_*"))
    with pytest.raises(ReadError, match="several filters"):
        read_log(path)
    rows = rows_of(path, filter="strict-match")
    assert [(row["confidence"], row["correct"]) for row in rows.values()][:3] == [(0.95, 1), (0.8, 0), (0.8, 0)]


def test_fractions_of_accuracy_are_refused():
    with pytest.raises(ReadError, match=r"partial credit.*--correct-from"):
        read_log(next((DATA / "lm_eval_a").glob("samples_toy_tqa*")))


def test_summaries_of_results_are_refused_with_the_file_to_give():
    with pytest.raises(ReadError, match=r"samples_….jsonl"):
        read_log(next((DATA / "lm_eval_a").glob("results_*")))
    with pytest.raises(ReadError, match=r"per_instance_stats\.json"):
        read_log(DATA / "helm_joint_logprobs.stats.json")


def test_helm_says_which_confidence_it_has():
    assert read_log(DATA / "helm_joint_logprobs.per_instance_stats.json").confidence_source == "sequence_logprob"
    assert read_log(DATA / "helm_separate_logprobs.per_instance_stats.json").confidence_source == "choice_logprob"
    with pytest.raises(ReadError, match="when the model gave none"):
        read_log(DATA / "helm_joint_no_logprobs.per_instance_stats.json")


def test_openai_evals_are_read_by_their_events():
    rows = rows_of(DATA / "openai_evals_toy_match.jsonl")
    assert len(rows) == 30
    for name, row in rows.items():
        i = int(name.rpartition(".")[2])
        assert (row["confidence"], row["correct"]) == (pytest.approx((50 + i) / 100), int(i % 3 != 0))


def test_folders_and_several_files_are_one_log():
    both = read_log([DATA / "lm_eval_a" / next((DATA / "lm_eval_a").glob("samples_toy_mc_*")).name, DATA / "lm_eval_b"])
    assert both.n_rows == 120 and len(set(both.rows.column("id").to_pylist())) == 120
    assert len(set(both.rows.column("question").to_pylist())) == 60


# --- archives


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_an_archive_gives_what_the_document_gives(tmp_path, method):
    log = json.loads((DATA / "inspect_verbal_conf_choice.json").read_text())
    path = archived(tmp_path / "run.eval", log, method=method)
    assert rows_of(path) == rows_of(DATA / "inspect_verbal_conf_choice.json")


def test_members_in_zstandard_are_read(tmp_path):
    log = json.loads((DATA / "inspect_verbal_conf_choice.json").read_text())
    plain = {"header.json": json.dumps({k: v for k, v in log.items() if k != "samples"}).encode()}
    plain |= {f"samples/{s['id']}_epoch_1.json": json.dumps(s).encode() for s in log["samples"]}
    path = tmp_path / "run.eval"
    path.write_bytes(zstandard_archive(plain))
    assert rows_of(path) == rows_of(DATA / "inspect_verbal_conf_choice.json")
    spoiled, name = path.read_bytes(), f"samples/{log['samples'][-2]['id']}_epoch_1.json"
    place = spoiled.index(name.encode()) + len(name) + 200
    path.write_bytes(spoiled[:place] + bytes([spoiled[place] ^ 255]) + spoiled[place + 1 :])
    with pytest.raises(ReadError, match=name):  # several are unpacked together; the damaged one is named
        read_log(path)


def zstandard_archive(members):
    """A ZIP archive of method 93, which zipfile cannot write before Python 3.14."""
    body, directory = io.BytesIO(), io.BytesIO()
    for name, text in members.items():
        packed = pa.compress(text, codec="zstd", asbytes=True)
        facts = (20, 0, 93, 0, 0, zlib.crc32(text), len(packed), len(text), len(name), 0)
        directory.write(struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, *facts, 0, 0, 0, 0, body.tell()) + name.encode())
        body.write(struct.pack("<4s5H3I2H", b"PK\x03\x04", *facts) + name.encode() + packed)
    start = body.tell()
    body.write(directory.getvalue())
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(members), len(members), directory.tell(), start, 0)
    return body.getvalue() + end


def test_the_journal_of_a_killed_run_is_read_and_said(tmp_path):
    log = inspect_log([sample("a", "C", text="Confidence: 80%"), sample("b", "I", text="Confidence: 60%")])
    found = read_log(archived(tmp_path / "run.eval", log, header="_journal/start.json"))
    assert found.n_rows == 2 and any("was not finished" in note for note in found.notes)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data[: len(data) // 2], "damaged or was cut off"),
        (lambda data: data.replace(b"samples/", b"sampels/", 1), "damaged|checksum|directory says|no samples|cut off"),
        (lambda data: b"PK\x03\x04" + b"\0" * 100, "damaged or was cut off"),
    ],
)
def test_a_damaged_archive_is_one_sentence(tmp_path, spoil, message):
    path = archived(tmp_path / "run.eval", inspect_log([sample("a", "C", text="Confidence: 80%")]))
    path.write_bytes(spoil(path.read_bytes()))
    if spoil(b"samples/") == b"sampels/":
        assert read_log(path).n_rows == 1  # only a local header's copy of a name: the directory counts
        return
    with pytest.raises(ReadError, match=message):
        read_log(path)


def test_a_bomb_is_refused_unopened(tmp_path):
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(inspect_log([])))
        archive.writestr("samples/a_epoch_1.json", b" " * (1 << 29))
    with pytest.raises(ReadError, match="unpack to"):
        read_log(path)


def test_another_archive_under_the_suffix_is_refused(tmp_path):
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ReadError, match=r"must be an inspect log, as its name says"):
        read_log(path)


# --- what scores and numbers mean


def test_the_last_letter_after_the_word_answer_counts_not_the_chain_of_thought(tmp_path):
    pieces = [
        ("A", -0.1),
        (" is", -1.0),
        (" wrong", -1.0),
        (".", -0.1),
        (" Answer", -0.2),
        (":", -0.1),
        (" (", -0.1),
        ("B", -0.3),
        (")", -0.1),
    ]
    tops = {"B": [("B", -0.3), (" B", -4.0), ("A", -2.0), ("C", -3.0), ("x", -3.5)]}
    content = [
        {"token": t, "logprob": p, "top_logprobs": [{"token": a, "logprob": q} for a, q in tops.get(t, [(t, p)])]}
        for t, p in pieces
    ]
    entry = sample("q", "C", choice={"logprobs": {"content": content}}, choices=["w", "x", "y", "z"])
    path = written(tmp_path, "log.json", inspect_log([entry, {**entry, "id": "r"}]))
    chosen = math.exp(-0.3) + math.exp(-4.0)
    assert rows_of(path, confidence="answer_token")["q_epoch_1"]["confidence"] == pytest.approx(chosen)
    mass = chosen + math.exp(-2.0) + math.exp(-3.0)
    row = rows_of(path, confidence="choice_logprob")["q_epoch_1"]
    assert row["confidence"] == pytest.approx(chosen / mass) and row["outside_options"] == pytest.approx(1 - mass)


def test_a_product_over_a_chain_of_thought_is_not_taken_unasked(tmp_path):
    content = [{"token": f"w{i}", "logprob": -0.3} for i in range(80)]
    log = inspect_log(
        [
            sample(str(i), "C" if i % 2 else "I", answer="elephant", choice={"logprobs": {"content": content}})
            for i in range(4)
        ]
    )
    path = written(tmp_path, "log.json", log)
    with pytest.raises(ReadError, match=r"product over all tokens, 80 in a typical answer"):
        read_log(path)
    assert any("falls with length" in note for note in read_log(path, confidence="sequence_logprob").notes)


def test_agreement_leaves_errors_out_and_gives_a_refusal_no_confidence(tmp_path):
    samples = [sample("a", "C", epoch=e) for e in (1, 2, 3)]
    samples += [{**sample("a", "C", epoch=e), "error": {"message": "x"}, "scores": {}} for e in (4, 5)]
    samples += [sample("b", "I", epoch=e, text="I don't know.", answer="I don't know.") for e in range(1, 6)]
    rows = rows_of(written(tmp_path, "log.json", inspect_log(samples)), confidence="agreement")
    assert rows["a_epoch_1"]["confidence"] == 1.0 and rows["a_epoch_4"]["confidence"] is None
    assert all(
        rows[f"b_epoch_{e}"]["confidence"] is None and rows[f"b_epoch_{e}"]["why"] == "declined" for e in range(1, 6)
    )


def test_scores_with_parts_are_read_and_a_hundred_that_nobody_said_is_missing(tmp_path):
    said = sample("a", {"score": "C", "confidence": 90}, text="Answer: B\nConfidence: 90%")
    silent = sample("b", {"score": "I", "confidence": 100}, text="Answer: C")
    third = sample("c", {"score": "I", "confidence": 40}, text="Answer: C. Confidence: 40%")
    found = read_log(written(tmp_path, "log.json", inspect_log([said, silent, third])), confidence="score:confidence")
    rows = {row["id"]: row for row in found.rows.to_pylist()}
    assert rows["a_epoch_1"]["confidence"] == 0.9 and rows["b_epoch_1"]["confidence"] is None
    assert any("100 was logged" in note for note in found.notes)
    tried = [{"correct": 1, "incorrect": 0, "not_attempted": 0}, {"correct": 0, "incorrect": 0, "not_attempted": 1}]
    rows = rows_of(
        written(
            tmp_path, "b.json", inspect_log([sample(str(i), v, text="Confidence: 70%") for i, v in enumerate(tried)])
        )
    )
    assert rows["0_epoch_1"]["correct"] == 1 and rows["1_epoch_1"]["why"] == "declined"


def test_numbers_written_as_text_are_numbers_and_a_hundred_beside_others_is_meant(tmp_path):
    said = ["85%", "70 %", "5%", "100%"]
    samples = [sample(str(i), "C" if i else "I", score={"metadata": {"confidence": c}}) for i, c in enumerate(said)]
    rows = read_log(written(tmp_path, "log.json", inspect_log(samples))).rows
    assert rows["confidence"].to_pylist() == [0.85, 0.7, 0.05, 1.0]
    commas = [sample("a", "0,5", score={"metadata": {"confidence": "0,7"}}), sample("b", "1", text="Confidence: 60%")]
    rows = read_log(written(tmp_path, "b.json", inspect_log(commas)), correct_from=0.5).rows
    assert rows["confidence"].to_pylist()[0] == 0.7 and rows["correct"].to_pylist()[0] == 1


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([0.5, 85], "one scale"),
        ([5, 7], "scale of .* cannot be told"),
        ([0.5, 900], "one scale"),
        ([20, 900], "largest value"),
        ([-3, 0.5], "least value"),
    ],
)
def test_numbers_whose_scale_is_not_proven_are_refused(tmp_path, numbers, message):
    samples = [sample(str(i), "C" if i else "I", score={"metadata": {"confidence": n}}) for i, n in enumerate(numbers)]
    with pytest.raises(ReadError, match=message):
        read_log(written(tmp_path, "log.json", inspect_log(samples)))


def test_a_word_that_is_no_source_is_refused():
    with pytest.raises(ReadError, match=r"no source of confidence is called 'mean_token'.*answer_token"):
        read_log(DATA / "inspect_mc_logprobs.json", confidence="mean_token")
    with pytest.raises(ReadError, match=r"has no confidence by 'verbalised'; it has"):
        read_log(DATA / "inspect_mc_logprobs.json", confidence="verbalised")


def test_bad_logs_are_one_sentence_each(tmp_path):
    twice = inspect_log([sample("a", "C", text="Confidence: 80%"), sample("a", "C", text="Confidence: 80%")])
    with pytest.raises(ReadError, match=r"every answer must be there once; .* has 'a_epoch_1' 2 times"):
        read_log(written(tmp_path, "a.json", twice))
    above = [{"token": "B", "logprob": 0.4}]
    with pytest.raises(ReadError, match="log-probabilities must be at most 0"):
        read_log(written(tmp_path, "b.json", inspect_log([sample("a", "C", choice={"logprobs": {"content": above}})])))
    grade = inspect_log([sample(str(i), "CI"[i % 2], score={"metadata": {"confidence": 1 - i % 2}}) for i in range(4)])
    assert any("grade was probably taken" in note for note in read_log(written(tmp_path, "c.json", grade)).notes)
    path = tmp_path / "d.json"
    path.write_text(json.dumps(inspect_log([sample("a", "C", text="Confidence: 80%")]))[:-30])
    with pytest.raises(ReadError, match="Cut off"):
        read_log(path)
    log = written(
        tmp_path,
        "e.json",
        inspect_log([sample("a", math.nan, text="Confidence: 80%"), sample("b", "C", text="Confidence: 80%")]),
    )
    assert rows_of(log)["a_epoch_1"]["why"] == "not scored"
    with pytest.raises(ReadError, match="a run must be given once"):
        read_log([log, log])


def test_a_pattern_and_a_scale_replace_the_grammar(tmp_path):
    log = written(tmp_path, "a.json", inspect_log([sample("a", "C", text="sure=8"), sample("b", "I", text="sure=3")]))
    assert rows_of(log, confidence_pattern=r"sure=(\d+)", scale=10)["a_epoch_1"]["confidence"] == 0.8
    with pytest.raises(ReadError, match="must have a group"):
        read_log(log, confidence_pattern="sure")


# --- the other formats


def test_lighteval_details_are_read_in_both_layouts(tmp_path):
    new = pa.table(
        {
            "doc": [
                {"id": "1", "query": "q", "choices": [" a", " b"], "gold_index": [0]},
                {"id": "2", "query": "q", "choices": [" a", " b"], "gold_index": [0]},
            ],
            "model_response": [{"text": [], "logprobs": [-1.0, -2.0]}, {"text": [], "logprobs": [-3.0, -2.0]}],
            "metric": [{"acc": 1.0}, {"acc": 0.0}],
        }
    )
    path = tmp_path / "details" / "org" / "model" / "2026" / "details_arc_2026-01-01.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(new, path)
    found = read_log(path)
    assert found.facts["model"] == "org/model" and found.confidence_source == "choice_logprob"
    assert found.table().confidence.tolist() == pytest.approx([1 / (1 + math.exp(-1))] * 2)
    old = pa.table(
        {
            "full_prompt": ["q", "r"],
            "predictions": ["['5. Confidence: 80%']"] * 2,
            "gold_index": ["[0]"] * 2,
            "choices": ["['5']"] * 2,
            "metrics": [{"em": 1.0}, {"em": 0.0}],
        }
    )
    pq.write_table(old, tmp_path / "old.parquet")
    assert read_log(tmp_path / "old.parquet").table().confidence.tolist() == [0.8, 0.8]


def test_promptfoo_results_are_read(tmp_path):
    results = [
        {
            "success": i > 0,
            "testIdx": i,
            "promptIdx": 0,
            "vars": {"question": "q", "subject": "law"},
            "provider": {"id": "openai:x"},
            "response": {"output": f"B. Confidence: {60 + i}%"},
        }
        for i in range(3)
    ]
    results.append(
        {
            "success": False,
            "testIdx": 3,
            "promptIdx": 0,
            "vars": {},
            "provider": {"id": "openai:x"},
            "error": "timeout",
            "failureReason": 2,
        }
    )
    path = written(
        tmp_path, "results.json", {"evalId": "e1", "results": {"version": 3, "prompts": [], "results": results}}
    )
    rows = read_log(path).rows.to_pylist()
    assert [(row["confidence"], row["correct"], row["why"]) for row in rows] == [
        (0.6, 0, None),
        (0.61, 1, None),
        (0.62, 1, None),
        (None, None, "error"),
    ]
    assert rows[0]["model"] == "openai:x" and rows[0]["metadata.subject"] == "law"


def test_deepeval_test_runs_are_read(tmp_path):
    cases = [
        {
            "name": f"c{i}",
            "input": "q",
            "actualOutput": f"I'm {70 + i}% sure it is B",
            "success": bool(i),
            "metricsData": [{"name": "Correctness", "score": 0.5, "success": bool(i)}],
        }
        for i in range(2)
    ]
    rows = read_log(written(tmp_path, "run.json", {"testCases": cases, "metricsScores": []})).rows.to_pylist()
    assert [(row["confidence"], row["correct"]) for row in rows] == [(0.7, 0), (0.71, 1)]


def test_mlflow_traces_are_read_by_their_assessments(tmp_path):
    def trace(i, value):
        feedback = [
            {"assessment_name": "correctness", "feedback": {"value": value}},
            {"assessment_name": "confidence", "feedback": {"value": 0.6 + i / 10}},
        ]
        return {
            "info": {
                "trace_id": f"tr-{i}",
                "state": "OK",
                "request_time": "2026-01-01T00:00:00Z",
                "assessments": feedback,
            },
            "data": {"spans": []},
        }

    rows = read_log(written(tmp_path, "traces.json", [trace(0, "yes"), trace(1, "no")])).rows.to_pylist()
    assert [(row["id"], row["confidence"], row["correct"]) for row in rows] == [
        ("tr-0", 0.6, 1),
        ("tr-1", pytest.approx(0.7), 0),
    ]


def test_opentelemetry_evaluation_events_are_read(tmp_path):
    def event(response, name, **value):
        attributes = [
            {"key": "gen_ai.response.id", "value": {"stringValue": response}},
            {"key": "gen_ai.evaluation.name", "value": {"stringValue": name}},
        ]
        attributes += [{"key": f"gen_ai.evaluation.score.{key}", "value": part} for key, part in value.items()]
        return {
            "timeUnixNano": "1767225600000000000",
            "eventName": "gen_ai.evaluation.result",
            "attributes": attributes,
        }

    records = [
        event("r1", "correctness", label={"stringValue": "correct"}, value={"doubleValue": 4.0}),
        event("r1", "confidence", value={"doubleValue": 0.9}),
        event("r2", "correctness", label={"stringValue": "incorrect"}),
        event("r2", "confidence", value={"doubleValue": 0.4}),
    ]
    path = written(tmp_path, "otlp.json", {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
    found = read_log(path)
    assert [(row["confidence"], row["correct"]) for row in found.rows.to_pylist()] == [(0.9, 1), (0.4, 0)]
    assert found.table().timestamp is not None


def test_batches_of_responses_are_graded_by_a_key(tmp_path):
    def line(i, letter):
        top = [{"token": t, "logprob": p} for t, p in ((letter, -0.2), ("C", -2.0))]
        choice = {
            "message": {"content": letter},
            "logprobs": {"content": [{"token": letter, "logprob": -0.2, "top_logprobs": top}]},
        }
        return {
            "id": f"batch_{i}",
            "custom_id": f"q{i}",
            "response": {
                "status_code": 200,
                "body": {"model": "gpt", "object": "chat.completion", "choices": [choice]},
            },
            "error": None,
        }

    path = written(tmp_path, "out.jsonl", [line(0, "A"), line(1, "B")])
    key = tmp_path / "key.csv"
    key.write_text("id,answer\nq0,A\nq1,D\n")
    with pytest.raises(ReadError, match="--answer-key"):
        read_log(path)
    rows = read_log(path, key=str(key)).rows.to_pylist()
    assert [(row["question"], row["correct"]) for row in rows] == [("q0", 1), ("q1", 0)]
    assert rows[0]["confidence"] == pytest.approx(math.exp(-0.2))


def test_every_eval_ever_instances_are_read(tmp_path):
    def line(i):
        return {
            "schema_version": "0.2",
            "evaluation_id": "e",
            "model_id": "org/m",
            "evaluation_name": "gsm8k",
            "sample_id": f"s{i}",
            "interaction_type": "single_turn",
            "input": {"raw": "q", "reference": ["4"]},
            "output": {"raw": [f"4. Confidence: {50 + i}%"]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": "4",
                    "extraction_method": "x",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": float(i), "is_correct": bool(i)},
        }

    rows = read_log(written(tmp_path, "a_samples.jsonl", [line(0), line(1)])).rows.to_pylist()
    assert [(row["confidence"], row["correct"], row["model"]) for row in rows] == [
        (0.5, 0, "org/m"),
        (0.51, 1, "org/m"),
    ]


def test_answers_judged_as_in_humanitys_last_exam_are_read(tmp_path):
    document = {
        "q1": {
            "model": "m",
            "response": "Answer: 4\nConfidence: 90%",
            "judge_response": {"correct": "yes", "confidence": 90},
        },
        "q2": {"model": "m", "response": "Answer: 5", "judge_response": {"correct": "no", "confidence": 100}},
        "q3": {
            "model": "m",
            "response": "Answer: 6\nConfidence: 20%",
            "judge_response": {"correct": "no", "confidence": 20},
        },
    }
    rows = rows_of(written(tmp_path, "judged.json", document), confidence="score:confidence")
    assert (rows["q1"]["confidence"], rows["q2"]["confidence"], rows["q3"]["correct"]) == (0.9, None, 0)


def test_several_models_in_one_folder_are_said(tmp_path):
    for model in ("one", "two"):
        text = (DATA / "inspect_verbal_conf_choice.json").read_text("utf-8")
        log = json.loads(text)
        log["eval"] |= {"model": f"mockllm/{model}", "eval_id": model, "run_id": model}
        (tmp_path / f"{model}.json").write_text(json.dumps(log))
    said = " ".join(read_log(tmp_path).notes)
    assert "answers of 2 models are read together: mockllm/one and mockllm/two" in said
    assert "are read together" not in " ".join(read_log(tmp_path / "one.json").notes)


@pytest.mark.parametrize(
    "results",
    [{"score": 0.7, "score:std": 0.4}, {"score": 0.7, "metrics": {}, "htmls": [], "convos": [], "metadata": None}],
)
def test_results_of_simple_evals_are_refused_with_what_to_do(tmp_path, results):
    (tmp_path / "mmlu_gpt-4o.json").write_text(json.dumps(results))
    with pytest.raises(ReadError, match=r"simple-evals say no answer's grade; write a line an answer"):
        read_log(tmp_path / "mmlu_gpt-4o.json")
