# SPDX-License-Identifier: Apache-2.0
"""Answers to one question are one piece of evidence, and declined answers have flags: by the service as by the command."""

import json

import ground
import numpy as np
import pytest
from click.testing import CliRunner
from test_members_pages import drop, engineer, filled  # noqa: F401  (a fixture)

import epimeter
from epimeter.cli import epimeter as command

PATH = "/v1/evaluate"
FORMS = ("rows", "columns", "lines", "arrow", "parquet")


def asked(questions=60, times=20, *, declined=0, numbers=False, seed=3):
    """Questions asked several times, whose answers are alike; the last ones are declined and have neither number."""
    n = questions * times
    made = ground.columns(n, seed=seed)
    which = np.arange(n) % questions
    # Whether a question is easy decides for all of its answers, so that they are worth much less than so many rows.
    luck = np.random.default_rng(seed).random(questions)[which]
    made["correct"] = (luck < made["confidence"]).tolist()
    made["confidence"] = np.asarray(made["confidence"]).tolist()
    made["question"] = [int(one) if numbers else f"q{one}" for one in which]
    made["unknown"] = (which % 3 == 0).tolist()
    made["detected"] = (np.asarray(made["confidence"]) < 0.4).tolist()
    for row in range(n - declined, n):
        made["correct"][row] = made["confidence"][row] = None
        made["detected"][row] = True
    return made


def sent(client, made, form="rows", **facts):
    if form in ("rows", "columns"):
        whole = (ground.body if form == "rows" else ground.as_columns)(made, **facts)
        answer = client.post(PATH, json=whole)
    else:
        body, kind = {
            "lines": (ground.ndjson, "application/x-ndjson"),
            "arrow": (ground.arrow, "application/vnd.apache.arrow.stream"),
            "parquet": (ground.as_parquet, "application/vnd.apache.parquet"),
        }[form]
        words = {"model_id": "m", "domain": "general", **facts}
        answer = client.post(PATH, content=body(made), params=words, headers={"content-type": kind})
    assert answer.status_code in (200, 202), answer.text
    return answer.json()


def reported(client, found):
    stored = client.get(f"/v1/evaluations/{found['evaluation_id']}/report").json()
    del stored["source"], stored["report"]["source"], stored["report"]["curves"]
    return stored


def by_command(folder, made, name="rows.jsonl", **words):
    """The same rows from a file, by the command."""
    data, out = folder / name, folder / "report.json"
    if made is not None:
        data.write_bytes(ground.ndjson(made))
    said = [text for key, value in words.items() for text in (f"--{key}", value)]
    done = CliRunner().invoke(
        command, ["evaluate", str(data), "--standard", "both", "--domain", "general", *said, "-o", str(out)]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_bytes())
    del found["source"], found["report"]["source"]
    return found


@pytest.mark.parametrize("declined", [0, 100])
def test_questions_count_in_every_form_of_body_as_they_do_by_the_command(service, tenant, tmp_path, declined):
    made = asked(declined=declined)
    found, stored = {}, {}
    for form in FORMS:  # each sent by somebody who sent nothing before, to begin a baseline as the command does
        with service.tenant(f"{form} {declined} {tmp_path.name}") as client:
            found[form] = sent(client, made, form)
            stored[form] = reported(client, found[form])
    assert len({one["dataset"]["whole_digest"] for one in found.values()}) == 1
    assert all(one == stored["rows"] for one in stored.values())
    assert stored["rows"] == by_command(tmp_path, made, system="m", date=stored["rows"]["date"])
    notes = " ".join(found["rows"]["notes"])
    assert f"{1200 - declined:,} answers to 60 questions: intervals count what is independent" in notes
    (error,) = [one for one in stored["rows"]["readings"] if one["name"] == "ers.ece"]
    assert "by groups" in error["interval"]["method"]
    alone = sent(tenant, {name: column for name, column in made.items() if name != "question"})
    (narrow,) = [one for one in reported(tenant, alone)["readings"] if one["name"] == "accuracy"]
    (wide,) = [one for one in stored["rows"]["readings"] if one["name"] == "accuracy"]
    width = [one["interval"]["high"] - one["interval"]["low"] for one in (wide, narrow)]
    assert wide["value"] == narrow["value"] and width[0] > 2 * width[1]


def test_questions_that_are_numbers_are_those_that_are_called_so(tenant):
    made = asked(30, 10, numbers=True)
    digests = {sent(tenant, made, form)["dataset"]["whole_digest"] for form in FORMS}
    made["question"] = list(map(str, made["question"]))
    assert digests == {sent(tenant, made)["dataset"]["whole_digest"]}


def test_a_question_a_record_changes_nothing(tenant):
    made = ground.columns(300)
    plain = sent(tenant, made)["dataset"]["whole_digest"]
    again = sent(tenant, made | {"question": [f"q{row}" for row in range(300)]})
    assert again["dataset"]["whole_digest"] == plain and not any("independent" in one for one in again["notes"])


def test_groups_are_called_groups(tenant, tmp_path):
    made = asked(40, 10)
    made["group"] = made.pop("question")
    found = sent(tenant, made, "parquet")
    assert any("400 rows of 40 groups" in one for one in found["notes"])
    stored = reported(tenant, found)
    assert stored == by_command(tmp_path, made, system="m", date=stored["date"])


@pytest.mark.parametrize("form", FORMS)
def test_declined_answers_count_for_u_recall(tenant, tmp_path, form):
    made = asked(20, 10, declined=60)
    found = sent(tenant, made, form)
    here = by_command(tmp_path, made)
    assert found["dataset"]["unlabelled"] == here["records"]["unlabelled"] == 60
    unknown, detected = np.asarray(made["unknown"]), np.asarray(made["detected"])
    assert found["onto_42001"]["u_recall"] == pytest.approx(detected[unknown].mean(), abs=1e-9)
    assert found["onto_42001"]["u_recall"] == round(here["metrics"]["onto"]["u_recall"], 9)


@pytest.mark.parametrize(
    ("change", "pointer", "sentence"),
    [
        ({"confidence": None}, "/predictions/1/confidence", "it must be stated where correct is"),
        ({"question": "q", "group": "g"}, "/predictions/group", "question and group cannot both say"),
        ({"question": "q" * 201}, "/predictions/1/question", "200"),
        ({"question": 1.5}, "/predictions/1/question", "float"),
    ],
)
def test_a_wrong_record_is_named(tenant, change, pointer, sentence):
    whole = ground.body(ground.columns(20))
    whole["predictions"][1] |= change
    answer = tenant.post(PATH, json=whole)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer and sentence in answer.json()["detail"]


@pytest.mark.parametrize("form", ["columns", "arrow", "parquet"])
def test_two_columns_of_what_belongs_together_are_refused(tenant, form):
    made = asked(20, 2)
    made["group"] = made["question"]
    with pytest.raises(AssertionError, match="question and group cannot both say"):
        sent(tenant, made, form)


def test_a_key_twice_is_seen_beside_questions_of_both_kinds(tenant):
    rows = (
        b'{"confidence":0.5,"correct":true,"question":1,"question":"a"},{"confidence":0.5,"correct":true,"question":2}'
    )
    body, kind = b'{"model_id":"m","predictions":[' + rows + b"]}", {"content-type": "application/json"}
    answer = tenant.post(PATH, content=body, headers=kind)
    assert answer.status_code == 422 and "question" in answer.text


def test_certificate_passport_and_job_count_questions(service, tenant):
    made = asked(400, 5, seed=8)
    with epimeter.Client(service.url, tenant.key["key"]) as client:
        columns = {name: made[name] for name in ("timestamp", "question")}
        found = client.evaluate(made["correct"], made["confidence"], model_id="m", model_version="1", **columns)
    at = f"/v1/evaluations/{found.evaluation_id}"
    assert any("2,000 answers to 400 questions" in one for one in found.notes)
    passport = tenant.get(f"{at}/passport").text
    assert "by groups" in passport
    assert found.certifiable, found.obstacles
    answer = tenant.post("/v1/certificates", json={"evaluation_id": found.evaluation_id})
    assert answer.status_code == 201 and "by groups" in answer.text
    many = asked(1300, 5)  # more than the service measures at once
    del many["unknown"], many["detected"]
    queued = sent(tenant, many, "lines")
    with epimeter.Client(service.url, tenant.key["key"]) as client:
        done = client.wait(queued["evaluation_id"])
    assert any("6,500 answers to 1,300 questions" in one for one in done.notes)


def test_two_evaluations_of_the_same_questions_are_compared_by_question(engineer, tenant):  # noqa: F811
    made = asked(400, 4, seed=8)
    made |= {"id": [f"r{row}" for row in range(1600)], "class": ["cat", "dog"] * 800}
    worse = made | {"confidence": [round(0.9 * one, 6) for one in made["confidence"]]}
    ids = [sent(tenant, one, model_version=str(at))["evaluation_id"] for at, one in enumerate((made, worse))]
    facts = engineer.get("/compare.json", params=dict(zip("ab", ids, strict=True))).json()
    assert facts["difference"]["pairing"] == "same rows, 400 independent units", facts["why_not"]


def test_a_file_from_the_page_keeps_questions_and_flags(tenant, engineer, tmp_path):  # noqa: F811
    made = asked(30, 10, declined=50)
    made["category"] = ["novel" if one else None for one in made["unknown"]]
    place = drop(engineer, ground.ndjson(made), "rows.jsonl")
    assert any("250 answers to 30 questions" in one for one in engineer.get(f"{place}.json").json()["found"]["notes"])
    answer = engineer.submit(place, filled(engineer, place))
    assert answer.status_code == 303, answer.text
    stored = engineer.get(f"{answer.headers['location']}/files/report.json").json()
    here = by_command(tmp_path, made)
    assert stored["readings"] == here["readings"] and stored["categories"] == here["categories"]
    assert stored["evidence"]["dataset_digest"] == here["evidence"]["dataset_digest"]


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_submitted_log_has_the_numbers_of_the_command(service, tenant, tmp_path, monkeypatch, suffix):
    """A log with epochs and declined answers; and the same from a table, whose declined answers have no number at all."""
    rng = np.random.default_rng(6)
    sure, right = rng.integers(5, 100, 300), rng.random(300) < 0.6
    declined, unknown = rng.random(300) < 0.3, np.arange(300) // 3 % 4 == 0
    path = tmp_path / f"run.{suffix}"
    if suffix == "json":
        samples = [
            {
                "id": f"q{i // 3}",
                "epoch": 1 + i % 3,
                "output": {"completion": "I don't know." if declined[i] else f"x. Confidence: {sure[i]}%"},
                "scores": {"s": {"value": "N" if declined[i] else "IC"[int(right[i])], "answer": "x"}},
                "metadata": {"unknown": bool(unknown[i])},
            }
            for i in range(300)
        ]
        about = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "run_id": "r"}}
        path.write_text(json.dumps(about | {"samples": samples}))
    else:
        made = {"confidence": np.where(declined, None, sure / 100), "correct": np.where(declined, None, right)}
        made |= {"question": [f"q{i // 3}" for i in range(300)], "unknown": unknown, "detected": declined}
        path.write_bytes(ground.ndjson(made))
    monkeypatch.setenv("EPIMETER_KEY", tenant.key["key"])
    done = CliRunner().invoke(command, ["submit", str(path), "--server", service.url, "--model-id", "m"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    here = by_command(tmp_path, None, path.name)
    assert found["onto_42001"]["u_recall"] == round(here["metrics"]["onto"]["u_recall"], 9)
    assert found["onto_42001"]["u_recall"] == pytest.approx(declined[unknown].mean(), abs=1e-9)
    assert found["dataset"]["unlabelled"] == declined.sum()
    assert found["dataset"]["whole_digest"] == here["evidence"]["dataset_digest"]
    assert reported(tenant, found)["readings"] == here["readings"]
    assert any("questions: intervals count what is independent" in one for one in found["notes"])
