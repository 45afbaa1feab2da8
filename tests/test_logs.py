# SPDX-License-Identifier: Apache-2.0
"""The readers of evaluation logs, on small logs made here in the shape the tools write."""

import io
import json
import math
import random
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest

from epimeter.errors import ReadError
from epimeter.readers import logs
from epimeter.readers.logbook import stated


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def json_lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


# lm-evaluation-harness -------------------------------------------------------------------------------------------


def choice_sample(doc_id, likelihoods, acc, target="0", choices=("aa", "bbbb"), **more):
    return {
        "doc_id": doc_id,
        "target": target,
        "arguments": {f"gen_args_{i}": {"arg_0": "q", "arg_1": f" {c}"} for i, c in enumerate(choices)},
        "filtered_resps": [[str(value), "False"] for value in likelihoods],
        "filter": "none",
        "acc": acc,
        **more,
    }


def test_lm_eval_gives_the_softmax_share_of_the_best_choice(tmp_path):
    samples = [
        choice_sample(0, [-1.0, -3.0], 1.0),
        choice_sample(1, [-2.0, -1.0], 0.0),
        choice_sample(2, [-1.0, -1.0], 0.0, target="-100"),
    ]
    table = logs.read_lm_eval(written(tmp_path, "samples_arc_easy_2026-01-01T00-00-00.jsonl", json_lines(samples)))
    assert table.confidence.tolist() == pytest.approx([1 / (1 + math.exp(-2)), 1 / (1 + math.exp(-1))])
    assert table.label.tolist() == [1, 0]
    assert table.group.tolist() == ["0", "1"]
    assert table.unlabelled == 1
    assert table.confidence_source == "choice_logprob"
    assert table.metadata == {"task": "arc_easy"}
    assert table.place(1) == "line 2"


def test_lm_eval_divides_by_the_length_for_acc_norm(tmp_path):
    sample = choice_sample(0, [-3.0, -4.0], 0.0, acc_norm=1.0)
    path = written(tmp_path, "a.jsonl", json_lines([sample]))
    table = logs.read_lm_eval(path, score="acc_norm")
    assert table.confidence.tolist() == pytest.approx([1 / (1 + math.exp(-1.5 + 1.0))])
    assert table.label.tolist() == [1]
    listed = {**sample, "arguments": [["q", " aa"], ["q", " bbbb"]]}
    again = logs.read_lm_eval(written(tmp_path, "b.jsonl", json_lines([listed])), score="acc_norm")
    assert again.confidence.tolist() == table.confidence.tolist()


def test_lm_eval_reads_only_the_first_half_with_mutual_information(tmp_path):
    sample = choice_sample(0, [-1.0, -3.0, -9.0, 0.0], 1.0, acc_mutual_info=1.0)
    table = logs.read_lm_eval(written(tmp_path, "a.jsonl", json_lines([sample])))
    assert table.confidence.tolist() == pytest.approx([1 / (1 + math.exp(-2))])


def test_lm_eval_wants_one_filter(tmp_path):
    samples = [choice_sample(0, [-1, -2], 1), {**choice_sample(0, [-2, -1], 0), "filter": "strict"}]
    path = written(tmp_path, "a.jsonl", json_lines(samples))
    with pytest.raises(ReadError, match=r"several filters; choose filter= of none, strict"):
        logs.read_lm_eval(path)
    assert logs.read_lm_eval(path, filter="strict").label.tolist() == [0]
    with pytest.raises(ReadError, match="no filter 'loose'"):
        logs.read_lm_eval(path, filter="loose")


def test_lm_eval_refuses_what_states_no_confidence(tmp_path):
    for sample, sentence in [
        ({"doc_id": 0, "filtered_resps": ["42"], "acc": 1}, "A generation task states no confidence"),
        ({"doc_id": 0, "filtered_resps": [["-1", "False"], ["-2", "False"]]}, "every sample must have 'acc'"),
        (choice_sample(0, ["-inf", "-inf"], 1), "log-likelihoods must be numbers below infinity"),
        (choice_sample(0, ["nan", "-1"], 1), "log-likelihoods must be numbers below infinity"),
    ]:
        with pytest.raises(ReadError, match=sentence):
            logs.read_lm_eval(written(tmp_path, "a.jsonl", json_lines([sample])))
    with pytest.raises(ReadError, match="needs every choice's text"):
        bare = {**choice_sample(0, [-1, -2], 1, acc_norm=1), "arguments": []}
        logs.read_lm_eval(written(tmp_path, "a.jsonl", json_lines([bare])), score="acc_norm")


# OpenAI evals ----------------------------------------------------------------------------------------------------


def event(sample, kind, **data):
    return {"run_id": "r", "event_id": 0, "sample_id": sample, "type": kind, "data": data, "created_at": "2026"}


SPEC = {"spec": {"eval_name": "test.match", "run_id": "r", "completion_fns": ["m"]}}
END = {"final_report": {"accuracy": 0.5}}


def test_openai_evals_joins_likelihood_and_match_by_sample(tmp_path):
    events = [
        event("s.0", "cond_logp", prompt="q", completion="a", logp=-0.5),
        event("s.1", "match", correct=False, expected="a", picked="b"),
        event("s.0", "match", correct=True, expected="a", picked="a"),
        event("s.1", "cond_logp", prompt="q", completion="b", logp=-2.0),
        event("s.2", "error", message="timeout"),
    ]
    table = logs.read_openai_evals(written(tmp_path, "a.jsonl", json_lines([SPEC, *events, END])))
    assert table.confidence.tolist() == pytest.approx([math.exp(-0.5), math.exp(-2.0)])
    assert table.label.tolist() == [1, 0]
    assert table.group.tolist() == ["s.0", "s.1"]
    assert table.unlabelled == 1
    assert table.confidence_source == "sequence_logprob"
    assert table.metadata["eval_name"] == "test.match"


def test_openai_evals_shares_out_several_completions(tmp_path):
    events = [
        event("s.0", "cond_logp", prompt="q", completion=" A", logp=-1.0),
        event("s.0", "cond_logp", prompt="q", completion=" B", logp=-3.0),
        event("s.0", "match", correct=True, picked="A"),
    ]
    table = logs.read_openai_evals(written(tmp_path, "a.jsonl", json_lines(events)))
    assert table.confidence.tolist() == pytest.approx([1 / (1 + math.exp(-2))])
    assert table.confidence_source == "choice_logprob"


def test_openai_evals_reads_what_the_answer_states(tmp_path):
    events = [
        event("s.0", "sampling", prompt="q", sampled="Let me think."),
        event("s.0", "sampling", prompt="q", sampled=["Answer: 4\nConfidence: 87%"]),
        event("s.0", "match", correct=True),
        event("s.1", "sampling", prompt="q", sampled="Answer: 5"),
        event("s.1", "match", correct=False),
    ]
    path = written(tmp_path, "a.jsonl", json_lines(events))
    with pytest.raises(ReadError, match=r"1 of 2 rows of a\.jsonl does not, the first is 's\.1'.*leave out"):
        logs.read_openai_evals(path)
    table = logs.read_openai_evals(path, missing="leave out")
    assert table.confidence.tolist() == [0.87]
    assert table.confidence_source == "verbalised"
    assert table.notes == ("1 of 2 rows without a stated confidence were left out",)


def test_openai_evals_refuses_two_matches_and_none(tmp_path):
    with pytest.raises(ReadError, match="a sample must have one match"):
        logs.read_openai_evals(written(tmp_path, "a.jsonl", json_lines([event("s", "match", correct=True)] * 2)))
    with pytest.raises(ReadError, match="must have events of type 'match'"):
        logs.read_openai_evals(written(tmp_path, "a.jsonl", json_lines([SPEC, END])))


# HELM ------------------------------------------------------------------------------------------------------------


def instance(id, correct, prob, perturbation=None, trial=0):
    stats = [
        {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": correct, "mean": correct},
        {"name": {"name": "max_prob", "split": "test"}, "count": 1, "sum": prob, "mean": prob},
    ]
    made = {"instance_id": id, "train_trial_index": trial, "stats": stats}
    return {**made, "perturbation": {"name": "typos"}} if perturbation else made


def test_helm_reads_max_prob_and_leaves_perturbed_copies_out(tmp_path):
    stats = [instance("id0", 1.0, 0.75), instance("id0", 0.0, 0.5, True), instance("id0", 0.0, 0.25, trial=1)]
    table = logs.read_helm(written(tmp_path, "per_instance_stats.json", json.dumps(stats)))
    assert table.confidence.tolist() == [0.75, 0.25]
    assert table.label.tolist() == [1, 0]
    assert table.group.tolist() == ["id0", "id0"]
    assert list(table.id) == ["id0_trial_0", "id0_trial_1"]
    assert table.confidence_source == "sequence_logprob"
    assert table.notes == ("1 perturbed copies were left out",)


def test_helm_refuses_a_model_without_log_probabilities_and_other_statistics(tmp_path):
    path = written(tmp_path, "a.json", json.dumps([instance("a", 1.0, 1.0), instance("b", 0.0, 1.0)]))
    with pytest.raises(ReadError, match=r"all 2 of a\.json are 1, as HELM writes when the model gave none"):
        logs.read_helm(path)
    with pytest.raises(
        ReadError, match=r"must have the statistic 'f1_score'; entry 0 of a\.json has exact_match, max_prob"
    ):
        logs.read_helm(path, score="f1_score")
    with pytest.raises(ReadError, match="must be a list of instances"):
        logs.read_helm(written(tmp_path, "b.json", "{}"))


# inspect-ai ------------------------------------------------------------------------------------------------------


def zstd_archive(members):
    """A ZIP archive with Zstandard members (method 93), which zipfile cannot write before Python 3.14."""
    body, directory = b"", b""
    for name, text in members.items():
        packed = pa.compress(text, codec="zstd", asbytes=True)
        fixed = (20, 0, 93, 0, 33, zlib.crc32(text), len(packed), len(text), len(name), 0)
        directory += struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, *fixed, 0, 0, 0, 0, len(body)) + name.encode()
        body += struct.pack("<4s5H3I2H", b"PK\3\4", *fixed) + name.encode() + packed
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + end


def inspect_sample(id, value, epoch=1, answer="x", logprobs=None, scorer="match", **score):
    choice = {"message": {"content": answer}, "stop_reason": "stop"}
    if logprobs is not None:
        choice["logprobs"] = {"content": [{"token": "t", "logprob": value} for value in logprobs]}
    scores = {scorer: {"value": value, "answer": answer, **score}}
    return {"id": id, "epoch": epoch, "target": "x", "output": {"choices": [choice]}, "scores": scores}


HEADER = {"version": 2, "status": "success", "eval": {"task": "arc", "model": "m/1"}}


def archived(samples, header=HEADER):
    members = {"header.json": json.dumps(header).encode()}
    for sample in samples:
        members[f"samples/{sample['id']}_epoch_{sample['epoch']}.json"] = json.dumps(sample).encode()
    return members


SAMPLES = [
    inspect_sample("a", "C", logprobs=[-0.25, -0.25]),
    inspect_sample("b", "I", logprobs=[-1.0]),
    inspect_sample("c", "N", logprobs=[-1.0]),
    inspect_sample("d", float("nan"), logprobs=[-1.0]),
]


def deflated(members):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return sink.getvalue()


@pytest.mark.parametrize("pack", [zstd_archive, deflated, "json"])
def test_inspect_reads_archives_and_plain_logs(tmp_path, pack):
    if pack == "json":
        path = written(tmp_path, "a.json", json.dumps({**HEADER, "samples": SAMPLES}))
    else:
        path = written(tmp_path, "a.eval", pack(archived(SAMPLES)))
    table = logs.read_inspect(path)
    assert table.confidence.tolist() == pytest.approx([math.exp(-0.5), math.exp(-1.0)])
    assert table.label.tolist() == [1, 0]
    assert table.group.tolist() == ["a", "b"]
    assert table.unlabelled == 2
    assert table.confidence_source == "sequence_logprob"
    assert table.metadata == {"task": "arc", "model": "m/1"}
    assert table.notes == ("1 answers marked N (no answer) count as unlabelled",)
    mean = logs.read_inspect(path, confidence="mean_token_logprob")
    assert mean.confidence.tolist() == pytest.approx([math.exp(-0.25), math.exp(-1.0)])
    assert mean.confidence_source == "mean_token_logprob"


def test_inspect_counts_agreement_over_epochs(tmp_path):
    answers = [("C", "x"), ("C", "x "), ("I", "y"), ("C", "x")]
    samples = [inspect_sample("a", value, i + 1, answer) for i, (value, answer) in enumerate(answers)]
    table = logs.read_inspect(written(tmp_path, "a.eval", zstd_archive(archived(samples))))
    assert table.confidence.tolist() == [0.75, 0.75, 0.25, 0.75]
    assert table.label.tolist() == [1, 1, 0, 1]
    assert set(table.group) == {"a"}
    assert table.confidence_source == "agreement"


def test_inspect_prefers_the_confidence_in_the_score(tmp_path):
    samples = [
        inspect_sample("a", 1, metadata={"confidence": 0.9}),
        inspect_sample("b", False, metadata={"confidence": 0.5}),
    ]
    table = logs.read_inspect(written(tmp_path, "a.json", json.dumps({**HEADER, "samples": samples})))
    assert table.confidence.tolist() == [0.9, 0.5]
    assert table.label.tolist() == [1, 0]
    assert table.confidence_source == "other"


def test_inspect_refuses_what_it_would_have_to_guess(tmp_path):
    two = inspect_sample("a", "C", logprobs=[-1.0])
    two["scores"]["model_graded"] = {"value": "I"}
    for samples, sentence in [
        ([], "has no samples; its status is 'success'"),
        ([two], "several scorers; choose scorer= of match, model_graded"),
        ([inspect_sample("a", 0.5, logprobs=[-1.0])], "a score must be C, I, P, N, 0 or 1; sample 'a', epoch 1"),
        ([inspect_sample("a", {"x": 1}, logprobs=[-1.0])], "a score must be C, I, P, N, 0 or 1"),
        ([inspect_sample("a", "C")], "states no confidence: no log-probabilities"),
        ([{"id": "a", "epoch": 1}], "has no scores; score the log first"),
    ]:
        with pytest.raises(ReadError, match=sentence):
            logs.read_inspect(written(tmp_path, "a.json", json.dumps({**HEADER, "samples": samples})))
    path = written(tmp_path, "b.json", json.dumps({**HEADER, "status": "error", "samples": [two]}))
    table = logs.read_inspect(path, scorer="model_graded")
    assert table.label.tolist() == [0]
    assert table.notes == ("the run ended with status 'error'",)


# Humanity's Last Exam --------------------------------------------------------------------------------------------


def judged(correct, confidence, response="Answer: 4\nConfidence: 87%"):
    judge = {"correct_answer": "4", "model_answer": "4", "reasoning": "r", "correct": correct, "confidence": confidence}
    return {"model": "m", "response": response, "judge_response": judge}


def test_hle_reads_the_judge_and_its_scale(tmp_path):
    answers = {"q1": judged("yes", 87), "q2": judged("no", "60%"), "q3": judged(None, 50), "q4": {"response": "?"}}
    table = logs.read_hle(written(tmp_path, "judged_hle.json", json.dumps(answers)))
    assert table.confidence.tolist() == [0.87, 0.6]
    assert table.label.tolist() == [1, 0]
    assert table.group.tolist() == ["q1", "q2"]
    assert table.unlabelled == 2
    assert table.confidence_source == "verbalised"
    as_list = [{"id": key, **value} for key, value in answers.items()]
    again = logs.read_hle(written(tmp_path, "list.json", json.dumps(as_list)))
    assert np.array_equal(again.confidence, table.confidence)


def test_hle_takes_a_hundred_nobody_stated_as_missing(tmp_path):
    answers = {"q1": judged("yes", 100), "q2": judged("no", 100, "Answer: 4")}
    path = written(tmp_path, "a.json", json.dumps(answers))
    with pytest.raises(ReadError, match="the first is 'q2'"):
        logs.read_hle(path)
    table = logs.read_hle(path, missing="leave out")
    assert table.confidence.tolist() == [1.0]
    assert table.notes == ("1 of 2 rows without a stated confidence were left out",)


def test_hle_refuses_another_scale_and_another_verdict(tmp_path):
    with pytest.raises(ReadError, match=r"must run from 0 to 100; the largest of a\.json is 0\.9"):
        logs.read_hle(written(tmp_path, "a.json", json.dumps({"q": judged("yes", 0.9)})))
    with pytest.raises(ReadError, match=r"the judge must say yes or no; of 'q' in a\.json it says 'maybe'"):
        logs.read_hle(written(tmp_path, "a.json", json.dumps({"q": judged("maybe", 90)})))
    with pytest.raises(ReadError, match="must be an object by question"):
        logs.read_hle(written(tmp_path, "a.json", "[]"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Confidence: 87%", 0.87),
        ("confidence is 87", 0.87),
        ("Confidence: 0.87", 0.87),
        ("**Confidence:** 87/100", 0.87),
        ("Confidence: 9/10", 0.9),
        ("I am confident, 90 percent", 0.9),
        ("Confidence: 20%\nOn reflection, confidence: 60%", 0.6),
        ("Confidence: 1.0", 1.0),
        ("Confidence: 100", 1.0),
        ("Confidence: 0", 0.0),
        ("Confidence: 1", None),
        ("Confidence: 150%", None),
        ("The answer is 42", None),
    ],
)
def test_a_stated_confidence_is_read_as_it_is_meant(text, value):
    assert stated(text) == value


# all of them -----------------------------------------------------------------------------------------------------

READERS = [
    (logs.read_lm_eval, "a.jsonl", json_lines([choice_sample(0, [-1.0, -3.0], 1.0)]).encode()),
    (
        logs.read_openai_evals,
        "a.jsonl",
        json_lines(
            [SPEC, event("s", "cond_logp", completion="a", logp=-0.5), event("s", "match", correct=True)]
        ).encode(),
    ),
    (logs.read_helm, "a.json", json.dumps([instance("a", 1.0, 0.5), instance("b", 0.0, 0.25)]).encode()),
    (logs.read_hle, "a.json", json.dumps({"q": judged("yes", 90)}).encode()),
    (logs.read_inspect, "a.json", json.dumps({**HEADER, "samples": SAMPLES}).encode()),
    (logs.read_inspect, "a.eval", zstd_archive(archived(SAMPLES[:2]))),
]


@pytest.mark.parametrize(("reader", "name", "data"), READERS)
def test_a_damaged_log_is_refused_in_one_sentence_or_read(tmp_path, reader, name, data):
    assert reader(written(tmp_path, name, data)).n_rows > 0
    chance = random.Random(name)
    damaged = [data[:end] for end in range(0, len(data), max(1, len(data) // 100))]
    for _ in range(200):
        copy = bytearray(data)
        for _ in range(chance.choice([1, 1, 3])):
            copy[chance.randrange(len(copy))] = chance.randrange(256)
        damaged.append(bytes(copy))
    for text in damaged:
        try:
            reader(written(tmp_path, name, text))
        except ReadError as refused:
            assert "\n" not in str(refused)


@pytest.mark.parametrize(("reader", "name", "data"), READERS)
@pytest.mark.parametrize(
    "other", [b"", b"[]", b"{}", b"null", b"[[]]", b'{"a": 1}', b'[{"a": {"b": []}}]', b'{"q": 5}']
)
def test_another_document_is_refused_in_one_sentence(tmp_path, reader, name, data, other):
    with pytest.raises(ReadError):
        reader(written(tmp_path, name, other))
    with pytest.raises(ReadError, match="no file is called"):
        reader(tmp_path / "none.json")
