# SPDX-License-Identifier: Apache-2.0
"""Variants that the tools' own writers make, and that look like something else at first sight."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import epimeter
from epimeter import readers
from epimeter.errors import ReadError


def written(folder, name, content):
    path = folder / name
    if isinstance(content, list) and name.endswith("l"):
        path.write_text("".join(json.dumps(line) + "\n" for line in content), "utf-8")
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def rows_of(path, **options):
    return {row["id"]: row for row in epimeter.read_log(path, **options).rows.to_pylist()}


def shares(values):
    total = sum(map(math.exp, values))
    return [math.exp(value) / total for value in values]


LIGHTEVAL = {
    "doc": {"id": "7", "query": "q", "choices": [" a", " long"], "gold_index": 0},
    "model_response": {
        "text": [],
        "logprobs": [-2.0, -3.0, -1.0, -2.5],
        "output_tokens": [[1], [1, 2, 3]],
    },
    "metric": {"acc": 1, "acc_norm": 0, "acc_norm_token": 0, "acc_norm_pmi": 0, "em": None},
}


@pytest.mark.parametrize(
    ("score", "values"),
    [
        ("acc", [-2, -3]),
        ("acc_norm", [-2 / 2, -3 / 5]),
        ("acc_norm_token", [-2, -1]),
        ("acc_norm_pmi", [-1, -0.5]),
        ("acc:logprob_normalization=LogProbCharNorm(name='norm', ignore_first_space=True)", [-2, -3 / 4]),
        ("acc:logprob_normalization=LogProbTokenNorm(name='norm_token')", [-2, -1]),
        ("acc:logprob_normalization=LogProbPMINorm(name='norm_pmi')", [-1, -0.5]),
    ],
)
def test_every_score_of_lighteval_has_the_probabilities_it_was_graded_by(tmp_path, score, values):
    row = {**LIGHTEVAL, "metric": {score: int(values[0] > values[1])}}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "details.parquet")
    answers = epimeter.read_log(tmp_path / "details.parquet", scorer=score)
    (read,) = answers.rows.to_pylist()
    assert read["option_probabilities"] == pytest.approx(shares(values))
    assert not any("disagree" in note for note in answers.notes)


def test_a_document_that_lighteval_asked_in_two_ways_is_one_answer(tmp_path):
    said = {"text": ["a. Confidence: 80%"], "logprobs": [-0.1, -0.2], "output_tokens": [[1, 2]]}
    generated = {**LIGHTEVAL, "model_response": said, "metric": dict.fromkeys(LIGHTEVAL["metric"]) | {"em": 1}}
    pq.write_table(pa.Table.from_pylist([LIGHTEVAL, generated]), tmp_path / "details.parquet")
    (row,) = epimeter.read_log(tmp_path / "details.parquet", scorer="acc").rows.to_pylist()
    assert row["confidence"] == pytest.approx(shares([-2, -3])[0])
    (row,) = epimeter.read_log(tmp_path / "details.parquet", scorer="em").rows.to_pylist()
    assert row["confidence"] == 0.8  # two tokens and two choices: the values beside a text are those of its tokens


@pytest.mark.parametrize("predictions", ["[(-2.0, False), (-inf, True)]", "[-2.0, -inf]", "[[-2.0, -inf]]"])
def test_the_flat_layout_of_lighteval_has_its_likelihoods_among_the_predictions(tmp_path, predictions):
    row = {
        "full_prompt": "q", "predictions": predictions, "choices": "[' a', ' b']", "gold_index": "[0]",
        "metrics": "{'acc': 1, 'other': nan}", "specifics": "{'subject': 'law'}",
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row, row]), tmp_path / "old.parquet")
    rows = rows_of(tmp_path / "old.parquet")
    assert [row["confidence"] for row in rows.values()] == [1.0, 1.0]
    assert rows["0"]["metadata.subject"] == "law"


@pytest.mark.parametrize(("score", "right", "correct"), [(1.0, True, 1), (0.0, False, 0), (1.0, False, None)])
def test_a_score_of_every_eval_ever_counts_with_what_is_called_right(tmp_path, score, right, correct):
    def line(name, score, right):
        return {
            "evaluation_id": "e", "sample_id": name, "model_id": "m", "evaluation_name": "t", "answer_attribution": [],
            "input": {"raw": "q", "reference": []}, "output": {"raw": ["x. Confidence: 60%"]},
            "evaluation": {"score": score, "is_correct": right},
        }  # fmt: skip

    path = written(tmp_path, "a.jsonl", [line("s", score, right), line("t", 1.0, True)])
    assert rows_of(path)["s"]["correct"] == correct
    for called in (True, False):  # one converter calls credit above 0 right, another no credit
        path = written(tmp_path, "part.jsonl", [line("s", 0.25, called), line("t", 1.0, True)])
        with pytest.raises(ReadError, match=r"partial credit, the first 0\.25"):
            epimeter.read_log(path)


def sample(values, choices, target, grades, context="Q"):
    contexts = [context] * len(choices) if isinstance(context, str) else context
    return {
        "doc_id": 0, "doc": {}, "target": target, "resps": [[[str(v), "False"]] for v in values],
        "filtered_resps": [[str(v), "False"] for v in values], "filter": "none", "metrics": list(grades),
        "arguments": {
            f"gen_args_{i}": {"arg_0": contexts[i], "arg_1": choice} for i, choice in enumerate(choices)
        },
        **grades,
    }  # fmt: skip


def test_acc_bytes_of_lm_eval_is_by_bytes_and_a_delimiter_is_no_part_of_a_choice(tmp_path):
    line = sample([-4.0, -4.5], [" é", " ab"], "0", {"acc_bytes": 1.0, "acc_norm": 0.0})
    path = written(tmp_path, "samples_t_2026-01-01T00-00-00.0.jsonl", [line])
    (row,) = epimeter.read_log(path, scorer="acc_bytes").rows.to_pylist()
    assert row["option_probabilities"] == pytest.approx(shares([-2, -2.25]))
    (row,) = epimeter.read_log(path, scorer="acc_norm").rows.to_pylist()
    assert row["option_probabilities"] == pytest.approx(shares([-4, -2.25]))
    config = {"model_name": "m", "configs": {"t": {"target_delimiter": ""}}}
    written(tmp_path, "results_2026-01-01T00-00-00.0.json", config)
    (row,) = epimeter.read_log(path, scorer="acc_norm").rows.to_pylist()
    assert row["option_probabilities"] == pytest.approx(shares([-4 / 2, -4.5 / 3]))


@pytest.mark.parametrize(("grade", "option"), [(1.0, 1), (0.0, 2)])
def test_a_choice_that_is_a_number_is_not_taken_for_a_place(tmp_path, grade, option):
    # The target «2» is the second choice by its text, the third by its place; the likeliest is the second.
    line = sample([-2.0, -1.0, -3.0], [" 1", " 2", " 3"], "2", {"acc": grade})
    answers = epimeter.read_log(written(tmp_path, "samples_t.jsonl", [line]))
    assert answers.rows.to_pylist()[0]["option"] == option
    assert not any("disagree" in note for note in answers.notes)


def test_choices_that_stand_in_the_questions_have_no_length(tmp_path):
    line = sample([-2.0, -1.0], [" was big"] * 2, "was big", {"acc": 1.0, "acc_norm": 1.0}, ["The cat", "The dog"])
    path = written(tmp_path, "samples_t.jsonl", [line])
    assert epimeter.read_log(path).rows.to_pylist()[0]["confidence"] == pytest.approx(shares([-2, -1])[1])
    with pytest.raises(ReadError, match="the choices stand in the questions"):
        epimeter.read_log(path, scorer="acc_norm")


def test_a_case_that_promptfoo_repeats_is_one_question(tmp_path):
    results = [
        {
            "testIdx": i, "promptIdx": 0, "success": i % 2 == 0, "vars": {"question": f"q{i // 2}"},
            "provider": {"id": "p"}, "response": {"output": f"x. Confidence: {60 + i}%"},
        }
        for i in range(4)
    ]  # fmt: skip
    rows = rows_of(written(tmp_path, "r.jsonl", results), confidence="verbalised")
    assert [(row["question"], row["epoch"]) for row in rows.values()] == [("0", 1), ("0", 2), ("2", 1), ("2", 2)]


@pytest.mark.parametrize("order", [1, -1])
def test_an_assessment_that_was_overridden_does_not_count(tmp_path, order):
    judge = {"assessment_id": "a", "assessment_name": "correctness", "source": {"source_type": "LLM_JUDGE"}}
    judge |= {"feedback": {"value": "yes"}, "valid": False, "last_update_time": "2026-01-02T00:00:00Z"}
    person = {"assessment_id": "b", "assessment_name": "correctness", "source": {"source_type": "HUMAN"}}
    person |= {"feedback": {"value": "no"}, "last_update_time": "2026-01-01T00:00:00Z"}
    trace = {
        "info": {"trace_id": "t", "state": "OK", "response_preview": "x. Confidence: 60%",
                 "assessments": [judge, {**person, "overrides": "a", "valid": True}][::order]},
        "data": {"spans": []},
    }  # fmt: skip
    assert rows_of(written(tmp_path, "t.json", [trace]))["t"]["correct"] == 0
    trace["info"]["assessments"] = [{**judge, "valid": True}, person][::order]
    assert rows_of(written(tmp_path, "t.json", [trace]))["t"]["correct"] == 0


def test_a_case_of_deepeval_whose_judge_broke_off_is_not_wrong(tmp_path):
    def case(name, *measures):
        return {
            "name": name, "input": name, "actualOutput": "x. Confidence: 60%", "success": all(ok for ok, _ in measures),
            "metricsData": [{"name": f"m{i}", "success": ok, "error": e} for i, (ok, e) in enumerate(measures)],
        }  # fmt: skip

    broken, right, wrong = (False, "down"), (True, None), (False, None)
    cases = [case("a", broken, right), case("b", broken, wrong), case("c", right, right)]
    cases.append({**case("c", right, wrong), "input": "another"})
    rows = rows_of(written(tmp_path, "run.json", {"testCases": cases}))
    assert {name: (row["correct"], row["why"]) for name, row in rows.items()} == {
        "a": (None, "judge failed"), "b": (0, None), "c": (1, None), "c_3": (0, None),
    }  # fmt: skip


def attribute(key, **value):
    return {"key": key, "value": value}


def evaluation(place, **extra):
    score = [attribute("gen_ai.evaluation.name", stringValue="Correctness")]
    score += [attribute("gen_ai.evaluation.score.value", intValue=str(place % 2))]
    return {"attributes": score, **extra}


def test_an_evaluation_belongs_to_the_response_of_the_span_around_it(tmp_path):
    def chat(place):
        said = json.dumps([{"role": "assistant", "parts": [{"content": f"x. Confidence: {60 + place}%"}]}])
        about = [attribute("gen_ai.response.id", stringValue=f"r{place}")]
        about += [attribute("gen_ai.output.messages", stringValue=said)]
        return {"traceId": "t", "spanId": f"s{place}", "attributes": about}

    judged = {"traceId": "t", "spanId": "e0", "parentSpanId": "s0"}
    judged["events"] = [evaluation(0, name="gen_ai.evaluation.result")]
    records = [evaluation(1, traceId="t", spanId="s1", eventName="gen_ai.evaluation.result")]
    lines = [
        {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [judged]}, {"spans": [chat(0), chat(1)]}]}]},
    ]
    rows = rows_of(written(tmp_path, "o.jsonl", lines))
    assert {name: (row["confidence"], row["correct"]) for name, row in rows.items()} == {
        "r0": (0.6, 0),
        "r1": (0.61, 1),
    }


def test_records_without_any_id_are_not_one_answer(tmp_path):
    records = [evaluation(i, eventName="gen_ai.evaluation.result") for i in range(4)]
    for i, record in enumerate(records):
        record["attributes"].append(attribute("confidence", doubleValue=0.5 + i / 10))
    lines = [{"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]} for record in records]
    assert len(rows_of(written(tmp_path, "o.jsonl", lines), confidence="metadata:confidence")) == 4


def response(name, *texts, **message):
    choices = [{"index": i, "message": {"content": text, **message}} for i, text in enumerate(texts)]
    return {"custom_id": name, "response": {"status_code": 200, "body": {"model": "m", "choices": choices}}}


def test_every_choice_of_a_response_is_an_answer_and_a_refusal_is_none(tmp_path):
    lines = [
        response("q-1", "Answer: B\nConfidence: 60%", "Answer: A\nConfidence: 70%"),
        response("q-2", None, refusal="No."),
    ]
    lines.append(response("q-3", "Answer: bee\nConfidence: 80%"))
    key = written(tmp_path, "key.json", [{"id": i, "answer": ["b", "bee"]} for i in (1, 2, 3)])
    rows = rows_of(written(tmp_path, "b.jsonl", lines), key=str(key), confidence="verbalised")
    assert {name: (row["question"], row["epoch"], row["correct"], row["why"]) for name, row in rows.items()} == {
        "q-1": ("1", 1, 1, None), "q-1_epoch_2": ("1", 2, 0, None), "q-2": ("2", 1, None, "declined"), "q-3": ("3", 1, 1, None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "lines", "message"),
    [
        ("id,answer\n1,A\n", ["law-1", "art-1"], "ids that begin with law and art"),
        ("id,answer\n1,A\n1,B\n", ["1"], "one answer an id"),
        (b"id,answer\n1,caf\xe9\n", ["1"], "CSV or JSON in UTF-8"),
        ('[{"id": 1, "answer": []}]', ["1"], "empty list"),
    ],
)
def test_a_key_that_does_not_fit_is_refused_in_one_sentence(tmp_path, key, lines, message):
    (tmp_path / "key.csv").write_bytes(key if isinstance(key, bytes) else key.encode())
    path = written(tmp_path, "b.jsonl", [response(name, "Answer: A. Confidence: 60%") for name in lines])
    with pytest.raises(ReadError, match=message):
        epimeter.read_log(path, key=str(tmp_path / "key.csv"))


def test_a_report_leaves_metadata_behind_and_a_named_column_brings_them(tmp_path):
    lines = [sample([-2.0, -1.0], [" a", " b"], "1", {"acc": 1.0}) for _ in range(2)]
    for place, line in enumerate(lines):
        line |= {"doc_id": place, "doc": {"subject": f"s{place}"}}
    path = written(tmp_path, "samples_t.jsonl", lines)
    assert readers.read(path).category is None
    assert readers.read(path, columns={"category": "subject"}).category.tolist() == ["s0", "s1"]
    assert epimeter.read_log(path).rows.column("metadata.subject").to_pylist() == ["s0", "s1"]
