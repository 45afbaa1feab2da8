"""POST /v1/evaluate and what follows from it, over a real connection."""

import hashlib
import json
import subprocess
import sys
import time

import ground
import numpy as np
import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter
from epimeter.standards import ers_evaluate
from epimeter.trust.passports import attached

PATH = "/v1/evaluate"
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"
JSON, NDJSON = "application/json", "application/x-ndjson"


def send(client, data, kind, encoding=None, **headers):
    query = {} if kind == JSON else {"model_id": "m", "domain": "general"}
    headers = {"content-type": kind, **({"content-encoding": encoding} if encoding else {}), **headers}
    return client.post(PATH, content=data, params=query, headers=headers)


def test_the_printed_example_of_the_standard_has_the_printed_numbers(tenant):
    """ERS, annex B."""
    made = {"confidence": [0.9, 0.9, 0.5, 0.5], "correct": [True, False, True, False]}
    answer = tenant.post(PATH, json=ground.body(made))
    assert answer.status_code == 200
    found = answer.json()
    assert found["metrics"] == {"ece": 0.2, "u_recall": 50.0, "ers": 65}
    assert found["evaluation_id"].startswith("eval_")
    assert found["status"] == "completed"
    # Four records are no evidence: the numbers stay, no level is claimed.
    assert found["compliance"] == {"level": "NONE", "status": "INSUFFICIENT_DATA", "next_evaluation": None}
    assert any("ERS-3.1-a" in one for one in found["obstacles"])
    assert answer.headers["location"] == f"/v1/evaluations/{found['evaluation_id']}"


def test_a_system_that_earns_no_level_fails_and_has_no_next_evaluation(tenant):
    made = ground.columns(1000, over=0.35)
    found = tenant.post(PATH, json=ground.body(made, domain="medical")).json()
    assert found["compliance"] == {"level": "NONE", "status": "FAIL", "next_evaluation": None}
    assert found["metrics"]["ers"] > 70


def test_one_data_set_is_one_data_set_in_every_format(tenant):
    made = ground.columns(2000)
    whole = json.dumps(ground.body(made)).encode()
    bodies = [
        (whole, JSON, None),
        (json.dumps(ground.as_columns(made)).encode(), JSON, None),
        (ground.ndjson(made), NDJSON, None),
        (ground.arrow(made), ARROW, None),
        (ground.arrow(made, "zstd"), ARROW, None),
        (ground.as_parquet(made), PARQUET, None),
        (ground.gzipped(whole), JSON, "gzip"),
        (ground.zstd(whole), JSON, "zstd"),
        (ground.gzipped(ground.ndjson(made)), NDJSON, "gzip"),
        (ground.zstd(ground.arrow(made)), ARROW, "zstd"),
    ]
    answers = [send(tenant, *one) for one in bodies]
    assert [answer.status_code for answer in answers] == [200] * len(bodies), [
        a.text for a in answers if a.status_code != 200
    ]
    found = [answer.json() for answer in answers]
    assert len({json.dumps(one["metrics"]) for one in found}) == 1
    assert len({json.dumps(one["dataset"]) for one in found}) == 1
    assert found[0]["certifiable"]
    assert [one["attempt"] for one in found] == list(range(1, len(bodies) + 1))
    direct = ers_evaluate(made["correct"], made["confidence"])
    assert found[0]["metrics"]["ece"] == round(direct.ece, 9)
    assert found[0]["compliance"]["level"] == direct.level


@pytest.mark.parametrize("name", ["id", "class", "category"])
def test_a_text_longer_than_a_name_is_refused_alike_in_every_format(tenant, name):
    """Rows of JSON were held to 200 characters, columns and tables to nothing."""
    made = {**ground.columns(30), "unknown": [True] * 30, "detected": [True] * 30, name: ["x" * 200] * 30}
    assert send(tenant, ground.arrow(made), ARROW).status_code == 200
    made[name] = [*made[name][:7], "x" * 201, *made[name][8:]]
    bodies = [
        (json.dumps(ground.body(made)).encode(), JSON),
        (json.dumps(ground.as_columns(made)).encode(), JSON),
        (ground.ndjson(made), NDJSON),
        (ground.arrow(made), ARROW),
        (ground.as_parquet(made), PARQUET),
    ]
    for data, kind in bodies:
        answer = send(tenant, data, kind)
        assert answer.status_code == 422, (kind, answer.text)
        assert "200" in answer.text and name in answer.json()["errors"][0]["pointer"], (kind, answer.text)


def test_tiers_get_identical_numbers(service):
    """ERS 8.2."""
    made = ground.body(ground.columns(500))
    answers = []
    for tier in ("OPEN", "STANDARD", "CRITICAL"):
        with service.tenant(f"Tier {tier} {time.time_ns()}", tier) as client:
            answers.append(client.post(PATH, json=made).json())
    assert len({json.dumps([one["metrics"], one["dataset"], one["compliance"]]) for one in answers}) == 1


def test_records_without_ground_truth_are_counted_and_left_out(tenant):
    """C-13."""
    made = {"confidence": [0.9, 0.9, 0.5, 0.5, 0.1], "correct": [True, False, True, False, None]}
    found = tenant.post(PATH, json=ground.body(made)).json()
    assert found["dataset"]["unlabelled"] == 1 and found["dataset"]["sample_size"] == 4
    assert found["metrics"]["ece"] == 0.2


def test_unknown_inputs_give_the_numbers_of_onto_42001(tenant):
    made = ground.columns(100, timestamps=False)
    made["unknown"] = np.arange(100) % 2 == 0
    found = tenant.post(PATH, json=ground.body(made)).json()["onto_42001"]
    assert found["domain"] == "general_enterprise" and 0 <= found["u_recall"] <= 1


TOLD = {
    "unknowns": {"taxonomy": "operational", "method": "confidence", "threshold": "0.5", "validation": "held out"},
    "flags": {"frequency_kept": True},
}


REFUSED = [
    ({"predictions": [{"confidence": 1.3, "correct": True}]}, "/predictions/0/confidence"),
    ({"predictions": [{"confidence": 0.5, "correct": 2}]}, "/predictions/0/correct"),
    ({"predictions": [{"confidence": 0.5, "correct": "1"}]}, "/predictions/0/correct"),
    ({"predictions": [{"confidence": "0.5", "correct": True}]}, "/predictions/0/confidence"),
    ({"predictions": [{"confidence": 0.5}]}, "/predictions/0"),
    ({"predictions": [{"confidence": 0.5, "correct": True, "more": 1}]}, "/predictions/0"),
    (
        {"predictions": [{"confidence": 0.5, "correct": True}, {"confidence": -0.1, "correct": True}]},
        "/predictions/1/confidence",
    ),
    ({"predictions": []}, "/predictions"),
    ({"columns": {"confidence": [0.5], "correct": [True, False]}}, "/columns/correct"),
    ({"predictions": [{"confidence": 0.5, "correct": True}], "tier": "CRITICAL"}, ""),
    ({"predictions": [{"confidence": 0.5, "correct": True}], "domain": "space"}, "/domain"),
    (
        {"predictions": [{"confidence": 0.5, "correct": True, "timestamp": "2026-11-01T00:00:00"}]},
        "/predictions/0/timestamp",
    ),
    (
        {"predictions": [{"confidence": 0.5, "correct": True, "timestamp": "2999-11-01T00:00:00Z"}]},
        "/predictions/0/timestamp",
    ),
    ({"predictions": [{"confidence": 0.5, "correct": None}]}, None),
]


@pytest.mark.parametrize(("wrong", "pointer"), REFUSED)
def test_a_fault_is_refused_with_the_record_it_is_in(tenant, wrong, pointer):
    answer = tenant.post(PATH, json={"model_id": "m", "domain": "general", **wrong})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["type"] == "/problems/invalid"
    if pointer is not None:
        assert found["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    "text",
    [
        b'{"model_id":"m","domain":"general","predictions":[{"confidence":0.5,"confidence":0.9,"correct":true}]}',
        b'{"model_id":"m","domain":"general","predictions":[{"confidence":0.5,"c\\u006fnfidence":0.9,"correct":true}]}',
        b'{"model_id":"m","model_id":"n","domain":"general","predictions":[{"confidence":0.5,"correct":true}]}',
        b'{"model_id":"m","domain":"general","predictions":[{"confidence":NaN,"correct":true}]}',
        b'{"model_id":"m","domain":"general","predictions":[{"confidence":1e999,"correct":true}]}',
        b'{"model_id":"m"',
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"model_id":"m","model_version":"1","model_version":"2","predictions":[{"confidence":0.5,"correct":true}]}',
        b'{"model_id":"m","predictions":[{"confidence":0.5,"correct":true,"correct":null}]}',
        b'{"model_id":"m","predictions":[{"confidence":0.5,"correct":true,"id":"a","id":"b"}]}',
        b'{"model_id":"m","predictions":[],"predictions":[{"confidence":0.5,"correct":true}]}',
        b'{"model_id":"m","predictions":[{"confidence":0.5,"correct":true}],"predictions":[{"confidence":0.5,"correct":true}]}',
        b'{"model_id":"m","columns":{"confidence":[0.5],"confidence":[0.6],"correct":[true]}}',
        b'{"model_id":"m","columns":{"confidence":[0.5],"correct":[true],"id":["}"],"id":["b"]}}',
        b'{"model_id":"m","columns":{"confidence":[0.5],"correct":[true]},"columns":{"confidence":[0.5],"correct":[true]}}',
        b'{"model_id":"m","metrics":["ece"],"metrics":["ece"],"columns":{"confidence":[0.5],"correct":[true]}}',
    ],
)
def test_json_that_can_be_read_in_two_ways_or_not_at_all_is_refused(tenant, text):
    answer = send(tenant, text, JSON)
    assert answer.status_code == 422, answer.text
    assert answer.json()["type"] == "/problems/invalid"


def test_a_line_is_named_by_its_number(tenant):
    good = b'{"confidence":0.5,"correct":true}\n'
    answer = send(tenant, good * 20_000 + b'{"confidence":0.5,"correct":3}\n' + good, NDJSON)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/lines/20001/correct"
    answer = send(tenant, good + b'{"confidence":0.5,"correct":true,"correct":false}\n', NDJSON)
    assert answer.status_code == 422
    assert "/lines/2" in answer.text
    answer = send(tenant, good + b"\n" + b'{"confidence":1.5,"correct":true}\n', NDJSON)
    assert answer.json()["errors"][0]["pointer"] == "/lines/2/confidence"
    timed = b'{"confidence":0.5,"correct":true,"timestamp":"2026-11-01T00:00:00Z"}\n'
    answer = send(tenant, timed * 20_000 + good, NDJSON)
    assert answer.status_code == 422 and "/lines/20001/timestamp" in answer.text


def test_a_key_may_be_null_or_written_with_escapes_or_named_like_a_value(tenant):
    """What the quick look cannot decide the slow one does, and to the same end."""
    plain = b'{"model_id":"predictions","domain":"general","predictions":[{"confidence":0.5,"correct":true}]}'
    odd = [
        plain.replace(b'"correct":true', b'"correct":true,"id":null,"timestamp":null'),
        plain.replace(b'"confidence"', b'"c\\u006fnfidence"'),
        plain.replace(b'"predictions":[', b'"pr\\u0065dictions" : ['),
        plain.replace(b'"domain":"general"', b'"domain":"general","metrics":["ece"]'),
        plain[:-1] + b',"metrics":["ece"]}',
        b'{"columns":{"confidence":[0.5],"correct":[true]},"model_id":"m","domain":"general"}',
        b'{"model_id":"m","columns":{"confidence":[0.5],"correct":[true],"id":["}"],"class":["{\\""]}}',
        b'{"model_id":"m","columns":{"confidence":[0.5],"correct":[true],"timestamp":["2026-11-01T00:00:00Z"]}}',
    ]
    answers = [send(tenant, body, JSON) for body in (plain, *odd)]
    assert [answer.status_code for answer in answers] == [200] * 9, [answer.text for answer in answers]
    assert {answer.json()["metrics"]["ece"] for answer in answers} == {0.5}


def test_a_source_may_be_unknown_in_some_records_in_every_format(tenant):
    made = ground.columns(20_000, timestamps=False)
    lines = [
        {"confidence": c, "correct": y, **({"ground_truth_source": "human"} if i > 15_000 else {})}
        for i, (c, y) in enumerate(zip(made["confidence"].tolist(), made["correct"].tolist(), strict=True))
    ]
    answers = [
        send(tenant, b"".join(json.dumps(line).encode() + b"\n" for line in lines), NDJSON),
        send(tenant, json.dumps({"model_id": "m", "predictions": lines}).encode(), JSON),
    ]
    done = [wait(tenant, answer.json()["evaluation_id"]) for answer in answers]
    assert (
        done[0]["dataset"]["ground_truth"]
        == {"human": 4999, "not stated": 15_001}
        == done[1]["dataset"]["ground_truth"]
    )


def test_a_key_in_a_string_is_not_taken_for_a_key_twice(tenant):
    made = {"confidence": [0.9], "correct": [True], "id": ['a "confidence" \\ \u00e9']}
    assert tenant.post(PATH, json=ground.body(made)).status_code == 200


def test_other_media_types_and_encodings_are_refused(tenant):
    assert send(tenant, b"a,b", "text/csv").status_code == 415
    assert send(tenant, b"{}", JSON, "br").status_code == 415
    assert send(tenant, b"{}", JSON, "gzip").status_code == 400
    assert send(tenant, b"nonsense", ARROW).status_code == 422
    assert send(tenant, b"PAR1nonsensePAR1", PARQUET).status_code == 422
    good = ground.gzipped(ground.ndjson(ground.columns(10)))
    assert send(tenant, good[:-9], NDJSON, "gzip").status_code in (400, 422)


def test_columns_of_other_names_are_refused(tenant):
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    found = pa.table({"confidence": [0.5], "correct": [True], "tier": ["CRITICAL"]})
    with pa.ipc.new_stream(sink, found.schema) as stream:
        stream.write_table(found)
    answer = send(tenant, sink.getvalue().to_pybytes(), ARROW)
    assert answer.status_code == 422 and "tier" in answer.text


def test_metrics_of_the_report_can_be_chosen(tenant):
    made = ground.columns(200, timestamps=False)
    number = tenant.post(PATH, json=ground.body(made, metrics=["ece", "brier_score"])).json()["evaluation_id"]
    found = tenant.get(f"/v1/evaluations/{number}/report").json()
    assert [one["metric"] for one in found["report"]["measurements"]] == ["ece", "brier_score"]
    answer = tenant.post(PATH, json=ground.body(made, metrics=["no_such_metric"]))
    assert answer.status_code == 422 and "no_such_metric" in answer.text


@pytest.mark.parametrize(
    ("accept", "kind", "word"),
    [
        ("application/json", "application/json", '"measurements"'),
        ("text/html,*/*", "text/html", "<!doctype html>"),
        ("text/plain", "text/plain", "epimeter"),
        ("text/markdown", "text/markdown", "#"),
    ],
)
def test_a_report_comes_in_the_form_asked_for(tenant, accept, kind, word):
    number = tenant.post(PATH, json=ground.body(ground.columns(200))).json()["evaluation_id"]
    answer = tenant.get(f"/v1/evaluations/{number}/report", headers={"accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert word in answer.text
    assert tenant.get(f"/v1/evaluations/{number}/report", headers={"accept": "image/png"}).status_code == 406


def test_a_certifiable_evaluation_has_a_passport_that_its_readers_verify(tenant, tmp_path):
    found = tenant.post(PATH, json=ground.body(ground.columns(2000), model_version="1")).json()
    path = f"/v1/evaluations/{found['evaluation_id']}/passport"
    made = tenant.get(path).json()
    assert made["system"]["system_id"] == "m"
    assert made["evaluation"]["dataset_sha256"] in found["dataset"]["whole_digest"]
    answer = tenant.get(path, headers={"accept": "application/pdf"})
    assert answer.headers["content-type"] == "application/pdf" and answer.content.startswith(b"%PDF")
    report = tenant.get(path.replace("passport", "report"), headers={"accept": "application/pdf"})
    assert report.content == answer.content
    assert json.loads(attached(answer.content)) == made, "whoever asks again gets the same passport"
    (entry,) = (one for one in tenant.get("/v1/audit").json()["items"] if one["action"] == "passport.signed")
    assert entry["subject"] == found["evaluation_id"] and entry["detail"]["key"] == made["signature"]["key_id"]
    (tmp_path / "root.json").write_bytes(tenant.get("/trust-root.json").content)
    trust = ["--root", str(tmp_path / "root.json"), "--fingerprint", tenant.get("/verify.json").json()["fingerprint"]]
    for name, data in (("passport.pdf", answer.content), ("passport.json", tenant.get(path).content)):
        (tmp_path / name).write_bytes(data)
        typed = [sys.executable, "-m", "epimeter", "verify", str(tmp_path / name), *trust]
        told = subprocess.run(typed, capture_output=True, text=True, check=False)
        assert told.returncode == 0 and told.stdout.startswith("VALID: signed by"), told.stdout + told.stderr
    few = tenant.post(PATH, json=ground.body(ground.columns(100))).json()["evaluation_id"]
    assert tenant.get(f"/v1/evaluations/{few}/passport").status_code == 409


def test_many_rows_become_a_job_that_is_done(tenant):
    made = ground.columns(20_000)
    answer = send(tenant, ground.arrow(made), ARROW)
    assert answer.status_code == 202
    found = answer.json()
    assert found["status"] == "queued" and found["metrics"] is None
    job = tenant.get(f"/v1/jobs/{found['job']}")
    assert job.json()["subject"] == found["evaluation_id"]
    done = wait(tenant, found["evaluation_id"])
    assert done["status"] == "completed"
    direct = ers_evaluate(made["correct"], made["confidence"])
    assert done["metrics"]["ece"] == round(direct.ece, 9)
    assert tenant.get(f"/v1/jobs/{found['job']}").json()["state"] == "done"
    assert tenant.get(f"/v1/evaluations/{found['evaluation_id']}/report").status_code == 200


def wait(client, number, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = client.get(f"/v1/evaluations/{number}").json()
        if found["status"] != "queued":
            return found
        time.sleep(0.1)
    raise AssertionError("the job was not done in time")


def test_more_rows_than_allowed_are_refused(tenant):
    made = {"confidence": np.full(200_001, 0.5), "correct": np.ones(200_001, bool)}
    assert send(tenant, ground.arrow(made), ARROW).status_code == 413
    assert send(tenant, ground.as_parquet(made), PARQUET).status_code == 413
    assert send(tenant, b'{"confidence":0.5,"correct":true}\n' * 200_001, NDJSON).status_code == 413


def test_evaluations_are_listed_page_by_page_the_newest_first(tenant):
    made = {"confidence": [0.9], "correct": [True]}
    ids = [tenant.post(PATH, json=ground.body(made, model_id=f"m{i % 2}")).json()["evaluation_id"] for i in range(7)]
    seen, cursor = [], None
    while True:
        page = tenant.get("/v1/evaluations", params={"limit": 3, **({"cursor": cursor} if cursor else {})})
        seen += [line["evaluation_id"] for line in page.json()["items"]]
        cursor = page.json()["next"]
        assert ("next" in page.links) == (cursor is not None)
        if cursor is None:
            break
    assert seen == ids[::-1]
    some = tenant.get("/v1/evaluations", params={"model_id": "m1"}).json()["items"]
    assert [line["evaluation_id"] for line in some] == ids[1::2][::-1]
    for wrong in ({"limit": 0}, {"limit": 201}, {"cursor": "nonsense"}, {"cursor": "OTk5OTk5OTk5OTk5OTk5OTk5OTk6YQ"}):
        assert tenant.get("/v1/evaluations", params=wrong).status_code == 422


def test_usage_counts_what_was_accepted_and_nothing_else(tenant):
    made = {"confidence": [0.9], "correct": [True]}
    for _ in range(3):
        tenant.post(PATH, json=ground.body(made))
    tenant.post(PATH, json=ground.body({"confidence": [7], "correct": [True]}))
    found = tenant.get("/v1/usage").json()
    assert found["evaluations"] == 3 and found["quota"] == 10_000 and found["remaining"] == 9_997
    assert found["months"] == [{"month": found["month"], "evaluations": 3}]


def test_every_change_leaves_an_audit_entry(service, tenant):
    """Each operation that is no GET, from the route table."""
    with service.client() as nobody:
        paths = nobody.get("/openapi.json").json()["paths"]
    changing = {f"{m.upper()} {path}" for path, methods in paths.items() for m in methods if m != "get"}
    made = tenant.post(PATH, json=ground.body(ground.columns(2000), model_version="1")).json()["evaluation_id"]
    queued = send(tenant, ground.arrow(ground.columns(6000)), ARROW).json()["evaluation_id"]
    wait(tenant, queued)
    document = tenant.post("/v1/certificates", json={"evaluation_id": made}).json()
    certificate = document["certificate"]["id"]
    with service.tenant("Audit of changes", scopes=["attest"]) as auditor:
        assert (
            auditor.post(f"/v1/certificates/{certificate}/attestations", json=ground.attested(document)).status_code
            == 201
        )
    tenant.post(f"/v1/certificates/{certificate}/revoke", json={"reason": "a test"})
    promise = {"model_id": "m", "model_version": "1", "aim": "L1", "data_source": "here"}
    registration = tenant.post("/v1/preregistrations", json=promise).json()["id"]
    hook = {"url": "http://127.0.0.1:9/x", "events": ["certificate.issued"]}
    hook = tenant.post("/v1/webhooks", json=hook).json()["id"]
    tenant.delete(f"/v1/webhooks/{hook}")
    key = tenant.post("/v1/auth/api-keys", json={"name": "x", "scopes": ["evaluate"]}).json()["id"]
    new = {"name": "y", "scopes": ["evaluate"], "replaces": key}
    new = tenant.post("/v1/auth/api-keys", json=new).json()["id"]
    tenant.delete(f"/v1/auth/api-keys/{new}")
    with service.admin as admin:
        admin.put(f"/v1/organizations/{tenant.organization}/tier", json={"tier": "CRITICAL"})
    alarm = ground.watched(tenant, "silent", "row")
    same = {"outcomes": [{"id": "row", "correct": False}]}
    assert tenant.post("/v1/systems/silent/outcomes", json=same).json()["repeated"] == 1  # no change, no entry
    acknowledged = tenant.post("/v1/systems/silent/alarms/acknowledge", json={"alarm": alarm, "by": "Ada"})
    assert acknowledged.status_code == 200, acknowledged.text
    lines = tenant.get("/v1/audit", params={"limit": 200}).json()["items"]
    collected = [line["detail"] for line in lines if line["action"] == "outcomes.collected"]
    assert collected == [{"new": 0, "corrected": 1}, {"new": 1, "corrected": 0}]
    assert {line["actor"] for line in lines if line["action"].endswith(".collected")} == {tenant.key["id"]}
    told = [(line["action"], line["subject"]) for line in lines if line["detail"] != {"new": 0, "corrected": 1}]
    expected = {
        "POST /v1/evaluate": [
            ("evaluation.completed", made),
            ("evaluation.queued", queued),
            ("evaluation.completed", queued),
        ],
        "POST /v1/certificates": [("certificate.issued", certificate)],
        "POST /v1/certificates/{certificate_id}/attestations": [("certificate.attested", certificate)],
        "POST /v1/certificates/{certificate_id}/revoke": [("certificate.revoked", certificate)],
        "POST /v1/preregistrations": [("evaluation.registered", registration)],
        "POST /v1/webhooks": [("webhook.made", hook)],
        "DELETE /v1/webhooks/{webhook_id}": [("webhook.removed", hook)],
        "POST /v1/auth/api-keys": [("key.made", key), ("key.made", new), ("key.ending", key)],
        "DELETE /v1/auth/api-keys/{key_id}": [("key.revoked", new)],
        "POST /v1/organizations": [("organization.made", tenant.organization)],
        "PUT /v1/organizations/{organization_id}/tier": [("organization.tier", tenant.organization)],
        "PUT /v1/systems/{system_id}/monitor": [("monitor.set", "silent")],
        "POST /v1/systems/{system_id}/predictions": [("predictions.collected", "silent")],
        "POST /v1/systems/{system_id}/outcomes": [("outcomes.collected", "silent")],
        "POST /v1/systems/{system_id}/alarms/acknowledge": [("alarm.acknowledged", "silent")],
    }
    assert set(expected) == changing
    for entries in expected.values():
        for entry in entries:
            assert told.count(entry) == 1, entry


def test_audit_entries_reach_the_log(tenant):
    tenant.post(PATH, json=ground.body({"confidence": [0.9], "correct": [True]}))
    end = time.monotonic() + 20
    while time.monotonic() < end:
        lines = tenant.get("/v1/audit").json()["items"]
        if all(line["log_index"] is not None for line in lines):
            break
        time.sleep(0.2)
    assert [line["action"] for line in lines] == ["evaluation.completed", "key.made", "organization.made"]
    assert len({line["log_index"] for line in lines}) == 3


def test_the_service_claims_no_more_of_42001_than_the_command(tenant):
    made = ground.columns(1500, over=0.0)
    rng = np.random.default_rng(1)
    made["unknown"] = rng.random(1500) < 0.4
    made["confidence"] = np.where(made["unknown"], made["confidence"] * 0.5, made["confidence"])
    made["correct"] = rng.random(1500) < made["confidence"]
    bare = tenant.post(PATH, json=ground.body(made)).json()["onto_42001"]
    assert bare["level"] == "none" and bare["measured_level"] != "none" and bare["missing"]
    told = {
        "unknowns": {"taxonomy": "operational", "method": "confidence", "threshold": "0.5", "validation": "held out"},
        "flags": {"frequency_kept": True, "third_party_verification": True, "continuous_monitoring": True},
    }
    facts = {"declaration": told, "onto_domain": "consumer", "strategy": "equal_mass"}
    refused = tenant.post(PATH, json=ground.body(made, **facts))
    assert refused.status_code == 422 and "42001-5.2.3-b" in refused.json()["detail"]
    found = tenant.post(PATH, json=ground.body(made, new_baseline="other bins", **facts)).json()
    assert "other bins" in found["onto_42001"]["baseline"]
    assert found["onto_42001"]["level"] == "Level 1" and found["onto_42001"]["domain"] == "consumer"
    assert any("passport" in reason for reason in found["onto_42001"]["missing"])
    number = found["evaluation_id"]
    passport = tenant.get(f"/v1/evaluations/{number}/passport").json()
    assert passport["conformance"]["assessed"] == "self-assessed" and passport["unknowns"]["taxonomy"] == [
        "operational"
    ]
    assert passport["methodology"]["strategy"] == "equal_mass"
    wrong = tenant.post(PATH, json=ground.body(made, declaration={"flag": {}}))
    assert wrong.status_code == 422 and "its tables are" in wrong.text


def test_flags_are_true_and_false_or_1_and_0_as_in_files(tenant):
    made = ground.columns(60)
    made["unknown"], made["detected"] = np.arange(60) % 2 == 0, np.arange(60) % 3 == 0
    rows = ground.rows(made)
    counted = [row | {name: int(row[name]) for name in ("correct", "unknown", "detected")} for row in rows]
    lists = {name: [row[name] for row in counted] for name in counted[0]}
    digests = {
        tenant.post(PATH, json={"model_id": "m", **body}).json()["dataset"]["whole_digest"]
        for body in ({"predictions": rows}, {"predictions": counted}, {"columns": lists})
    }
    assert len(digests) == 1
    counted[3]["unknown"] = 2
    refused = tenant.post(PATH, json={"model_id": "m", "predictions": counted})
    assert refused.status_code == 422 and refused.json()["errors"][0]["pointer"] == "/predictions/3/unknown"


@pytest.mark.parametrize(
    ("facts", "pointer", "word"),
    [
        (
            {"predictions": [{"confidence": 3.2, "correct": True}, {"confidence": -1, "correct": True}]},
            None,
            "Apply softmax",
        ),
        ({"forecasts": {"mean": [1], "std": [1]}}, "/forecasts/truth", "Call it truth"),
        (
            {"forecasts": {"y": [1], "mean": [1], "std": [1], "lower": [0], "upper": [1]}},
            "/forecasts/mean",
            "Leave the",
        ),
        ({"metrics": ["brier_score", "ecee"]}, "/metrics/1", "GET /v1/metrics"),
        ({"metrics": ["crps"]}, "/metrics/0", "sent as forecasts"),
        ({"weights": [0.4, 0.4, 0.2]}, "/weights_reason", "Give weights_reason"),
        ({"weights": [0.8, 0.1, 0.1], "weights_reason": "r"}, "/weights", "42001-A.5.3-a"),
        ({"declaration": {"methodology": {"recalibration": "x"}}}, "/declaration/methodology/recalibration", "one of"),
        ({"declaration": {"liability": {"query_volume": 3}}}, "/declaration/liability/domains", "42003-4.4.2-a"),
    ],
)
def test_a_refusal_speaks_of_fields_of_the_body_and_not_of_options(tenant, facts, pointer, word):
    rows = [{"confidence": 0.1 + 0.008 * row, "correct": row % 3 > 0, "unknown": row % 2 > 0} for row in range(100)]
    body = {"model_id": "m", **facts}
    if "forecasts" not in facts:
        body = {"predictions": rows} | body
    found = tenant.post(PATH, json=body)
    assert found.status_code == 422, found.text
    assert "--" not in found.text and word in found.json()["detail"]
    if pointer is not None:
        assert found.json()["errors"][0]["pointer"] == pointer


def test_42001_A_5_3_a_the_weights_of_ORS_may_be_changed_with_a_reason(tenant):
    made = ground.columns(1500)
    made["unknown"] = np.asarray(made["confidence"]) < 0.5
    bare = tenant.post(PATH, json=ground.body(made)).json()
    refused = tenant.get(f"/v1/evaluations/{bare['evaluation_id']}/passport")
    assert refused.status_code == 422 and "declaration.unknowns.taxonomy" in refused.json()["detail"]
    usual = tenant.post(PATH, json=ground.body(made, declaration=TOLD)).json()
    facts = {"declaration": TOLD, "weights": [0.4, 0.4, 0.2], "weights_reason": "stakes", "unknown_threshold": 0.3}
    found = tenant.post(PATH, json=ground.body(made, **facts)).json()
    onto = found["onto_42001"]
    assert onto["ors"] != usual["onto_42001"]["ors"] and onto["u_recall"] < usual["onto_42001"]["u_recall"]
    passport = tenant.get(f"/v1/evaluations/{found['evaluation_id']}/passport").json()
    assert passport["methodology"]["weights"] == [0.4, 0.4, 0.2]
    assert passport["methodology"]["weights_reason"] == "stakes"


@pytest.mark.parametrize("first", ["passport", "certificate"])
def test_an_evaluation_says_that_a_passport_was_made_and_its_certificate_covers_what_it_says(tenant, first):
    made = ground.columns(1500)
    made["unknown"] = np.asarray(made["confidence"]) < 0.5
    sent = tenant.post(PATH, json=ground.body(made, declaration=TOLD)).json()
    assert any("passport" in reason for reason in sent["onto_42001"]["missing"])
    at = f"/v1/evaluations/{sent['evaluation_id']}"
    if first == "passport":
        assert tenant.get(f"{at}/passport").status_code == 200
    issued = tenant.post("/v1/certificates", json={"evaluation_id": sent["evaluation_id"]}).json()
    passport = tenant.get(f"{at}/passport").json()
    answer, report = tenant.get(at), tenant.get(f"{at}/report").json()
    verdict, claimed = report["verdicts"]["onto"], answer.json()["onto_42001"]
    assert verdict["flags"]["passport_generated"] and passport["conformance"]["flags"]["passport_generated"]
    assert verdict["level"] == claimed["level"] == passport["conformance"]["level"] == "Level 2"
    assert not any("passport" in reason for reason in (*claimed["missing"], *verdict["missing"]))
    assert claimed["statement"] == verdict["statement"] and "Level 2" in claimed["statement"]
    assert answer.json() | {"onto_42001": None} == sent | {"onto_42001": None}
    covered = hashlib.sha256(answer.content).hexdigest()
    assert issued["evidence"]["report_digest"] == f"sha-256:{covered}"


LIABILITY = {
    "query_volume": 100_000,
    "regulatory": "high",
    "reference_cost": "medical_diagnosis",
    "materialisation": 0.001,
    "baseline_failure_rate": 0.23,
    "domains": {"life-critical": 100_000},
    "sources": dict.fromkeys(
        ("query_volume", "failure_rate", "incident_cost", "domain_class", "regulatory_context"), "the books of 2026"
    ),
}


def test_the_service_reports_liability_in_five_sections_and_counts_it_for_the_level(tenant):
    made = ground.columns(1500)
    made["unknown"] = np.asarray(made["confidence"]) < 0.5
    told = {**TOLD, "liability": LIABILITY, "system": {"pre_deployment": True, "notes": "KRS beside ORS"}}
    for version in ("1", "2"):  # the second is held against the first
        sent = tenant.post(PATH, json=ground.body(made, model_version=version, declaration=told)).json()
        at = f"/v1/evaluations/{sent['evaluation_id']}"
        assert not any("liability" in reason for reason in sent["onto_42001"]["missing"])
    assert "model changed from 1 to 2: due now (42001-5.1.1-b)" in sent["onto_42001"]["due"]
    tenant.get(f"{at}/passport")
    assert not any("liability" in reason for reason in tenant.get(at).json()["onto_42001"]["missing"])
    shown = tenant.get(f"{at}/report", headers={"accept": "text/plain"}).text
    for title in ("executive summary", "inputs", "results", "assumptions and limits", "recommendations"):
        assert f"Liability: {title}" in shown
    assert "KRS beside ORS" in shown and "measured before first deployment" in shown


def test_a_certificate_needs_no_taxonomy_of_unknowns(tenant):
    made = ground.columns(1500)
    made["unknown"] = np.asarray(made["confidence"]) < 0.5
    sent = tenant.post(PATH, json=ground.body(made)).json()
    assert tenant.post("/v1/certificates", json={"evaluation_id": sent["evaluation_id"]}).status_code == 201


@pytest.mark.parametrize("n", [60, 1_500, 3_000])
def test_the_report_of_the_service_is_that_of_the_command(tenant, tmp_path, n):
    made = ground.columns(n=n, seed=n)
    made["unknown"] = (np.arange(n) % 3 == 0).tolist()
    sent = send(tenant, ground.ndjson(made), "application/x-ndjson").json()
    stored = tenant.get(f"/v1/evaluations/{sent['evaluation_id']}/report").json()
    data, out = tmp_path / "rows.jsonl", tmp_path / "report.json"
    data.write_bytes(ground.ndjson(made))
    said = ["--domain", "general", "--system", "m", "--date", stored["date"]]
    done = CliRunner().invoke(epimeter, ["evaluate", str(data), "--standard", "both", *said, "-o", str(out)])
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_bytes())
    for one in (found, stored):
        del one["source"], one["report"]["source"]  # a file has a name and columns of names
    del stored["report"]["curves"]  # what the page draws
    assert stored == found
    assert any(one["interval"] is not None for one in stored["readings"])


def test_what_stands_in_the_way_of_a_certificate_is_said_before(tenant):
    made = ground.columns(1000)
    made["id"] = ["r1", *(f"r{number}" for number in range(1, 1000))]
    found = tenant.post(PATH, json=ground.body(made)).json()
    assert not found["certifiable"] and any("'r1' stands twice" in one for one in found["obstacles"])
    wrong = ground.columns(1000, over=0.55)
    found = tenant.post(PATH, json=ground.body(wrong)).json()
    assert found["compliance"]["status"] == "INSUFFICIENT_DATA"
    assert any("Wrong answers must be at most 80%" in one for one in found["obstacles"])


def test_an_index_of_pandas_and_nanoseconds_are_read(service, tenant):
    import io

    import pandas

    from epimeter import Client

    made = ground.columns(50)
    times = pandas.to_datetime(made["timestamp"]).as_unit("ns") + pandas.Timedelta(7, "ns")
    with Client(service.url, tenant.key["key"]) as client:
        found = client.evaluate(made["correct"], made["confidence"], model_id="ns", timestamp=times.to_numpy())
        assert found.dataset.period is not None
    frame = pandas.DataFrame({"confidence": made["confidence"], "correct": made["correct"]}, index=range(5, 55))
    doubled = frame.set_index(frame.index * 2)
    kind = {"content-type": "application/vnd.apache.parquet"}
    for index in (None, "row", "id"):  # an index that has a name stands under it; one called id is the id
        file = io.BytesIO()
        doubled.rename_axis(index).to_parquet(file)
        answer = tenant.post(PATH, content=file.getvalue(), params={"model_id": "p"}, headers=kind)
        assert answer.status_code == 200, answer.text
