"""ONTO-ERS sections 5, 6 and 8 on a real server, at the endpoints that the standard names."""

import datetime
import json
import re

import ground

from epimeter.service.secrets import key_id
from epimeter.standards import ers_next_evaluation, ers_score

PATH = "/v1/evaluate"


def test_ERS_6_1_a_post_evaluate_takes_predictions_and_answers_with_their_numbers(tenant):
    body = {
        "model_id": "gpt-x",
        "domain": "medical",
        "predictions": [{"confidence": 0.9, "correct": True}, {"confidence": 0.7, "correct": False}],
    }
    answer = tenant.post("/v1/evaluate", json=body)
    found = answer.json()
    assert answer.status_code == 200 and found["status"] == "completed"
    assert found["evaluation_id"].startswith("eval_")
    assert set(found["metrics"]) == {"ece", "u_recall", "ers"}
    assert set(found["compliance"]) == {"level", "status", "next_evaluation"}
    assert tenant.post("/v1/evaluate", json={**body, "predictions": []}).status_code == 422


def test_ERS_6_1_b_get_certificates_returns_the_certificate_of_that_id(service, tenant):
    number = tenant.post("/v1/evaluate", json=ground.body(ground.columns(2000), model_version="1")).json()
    made = tenant.post("/v1/certificates", json={"evaluation_id": number["evaluation_id"]}).json()
    id = made["certificate"]["id"]
    assert re.fullmatch(r"ONTO-CERT-\d{4}-[0-9A-HJKMNP-TV-Z]{16}", id)
    with service.client() as nobody:
        assert nobody.get(f"/v1/certificates/{id}").json() == made
        other = id[:-1] + ("0" if id[-1] != "0" else "1")
        assert nobody.get(f"/v1/certificates/{other}").status_code == 404


def test_ERS_6_1_c_get_signal_status_returns_the_newest_signal(tenant):
    with tenant.stream("GET", "/v1/signal/stream") as stream:
        first = next(line[4:] for line in stream.iter_lines() if line.startswith("id: "))
    found = tenant.get("/v1/signal/status").json()
    assert re.fullmatch(r"SIG-\d{8}-\d{6}", found["signal_id"]) and found["signal_id"] >= first
    assert set(found["metrics"]) == {"global_ece", "global_u_recall", "active_evaluations"}
    assert re.fullmatch("[0-9a-f]{64}", found["entropy"]) and found["ttl"] == 3600


def test_ERS_6_1_d_post_api_keys_creates_a_key_that_opens(service, tenant):
    made = tenant.post("/v1/auth/api-keys", json={"name": "mine", "scopes": ["evaluations:read"]})
    assert made.status_code == 201
    key = made.json()["key"]
    assert key.startswith("onto_") and key_id(key) == made.json()["id"]
    with service.client(key) as opened, service.client(key[:-1] + "!") as shut:
        assert opened.get("/v1/usage").status_code == 200
        assert shut.get("/v1/usage").status_code == 401
    with service.client() as nobody:
        assert nobody.post("/v1/auth/api-keys", json={"name": "x", "scopes": ["evaluate"]}).status_code == 401


def certificate(tenant, **facts):
    number = tenant.post(PATH, json=ground.body(ground.columns(1000), **facts)).json()["evaluation_id"]
    return tenant.post("/v1/certificates", json={"evaluation_id": number}).json()


def test_ERS_5_1_b_the_subject_is_complete(tenant):
    subject = certificate(tenant, model_id="bot", domain="code")["subject"]
    assert (subject["system_id"], subject["domain"]) == ("bot", "code") and subject["organization"]


def test_ERS_5_1_c_the_score_follows_from_the_metrics(tenant):
    made = certificate(tenant)
    metrics = made["metrics"]
    assert metrics["ers"] == ers_score(metrics["ece"], metrics["u_recall"], made["subject"]["domain"])
    assert set(metrics["evaluation_period"]) == {"start", "end"} and metrics["sample_size"] == 1000


def test_ERS_5_1_d_other_frameworks_are_informative_never_complied_with(tenant):
    made = certificate(tenant)["compliance"]
    assert {made[name] for name in ("eu_ai_act", "nist_rmf", "iso_42001")} == {"informative"}


def test_ERS_5_2_a_a_signal_has_its_fields(tenant):
    made = tenant.get("/v1/signal/status").json()
    assert re.fullmatch(r"SIG-\d{8}-\d{6}", made["signal_id"]) and re.fullmatch("[0-9a-f]{64}", made["entropy"])
    assert set(made["metrics"]) == {"global_ece", "global_u_recall", "active_evaluations"} and made["ttl"] == 3600


def test_ERS_6_2_a_a_key_is_needed_and_a_malformed_body_names_the_record(service, tenant):
    good = {"model_id": "m", "domain": "general", "predictions": [{"confidence": 0.5, "correct": True}]}
    with service.client() as nobody:
        assert nobody.post(PATH, json=good).status_code == 401
    for wrong in (
        {"confidence": 1.5, "correct": True},
        {"confidence": 0.5, "correct": 2},
        {"confidence": 0.5, "correct": "1"},
    ):
        refused = tenant.post(PATH, json=good | {"predictions": [wrong]})
        assert refused.status_code == 422 and "/predictions/0" in refused.text
    for wrong in (
        {"domain": "law"},
        {"predictions": [{"confidence": 0.5, "correct": True, "ground_truth_source": "x"}]},
    ):
        said = tenant.post(PATH, json=good | wrong).json()["detail"]
        assert "must be one of" in said and ("medical" in said or "automated" in said), said


def test_ERS_6_3_a_the_eleventh_request_in_a_minute_waits(service):
    with service.tenant("Eleventh", "OPEN") as client:
        answers = [client.get("/v1/usage") for _ in range(11)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429]
    assert int(answers[-1].headers["retry-after"]) > 0


def test_ERS_8_1_a_open_sees_a_signal_an_hour_later(service):
    with service.tenant("Late", "OPEN") as client:
        answer = client.get("/v1/signal/status")
    fresh = answer.status_code == 200 and answer.json()["timestamp"]
    limit = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    assert not fresh or datetime.datetime.fromisoformat(fresh) <= limit


def test_ERS_8_2_a_metrics_do_not_depend_on_a_tier(service):
    body, found = ground.body(ground.columns(1000)), set()
    for tier in ("OPEN", "STANDARD", "CRITICAL"):
        with service.tenant(f"Same {tier}", tier) as client:
            found.add(json.dumps(client.post(PATH, json=body).json()["metrics"]))
    assert len(found) == 1


def test_ERS_6_2_b_the_answer_names_level_status_and_the_next_evaluation(tenant):
    whole = tenant.post(PATH, json=ground.body(ground.columns(1000))).json()
    found = whole["compliance"]
    assert whole["assessed"] == "self-assessed", "no measurement is an audit by a third party (C-52)"
    today = datetime.datetime.now(datetime.UTC).date()
    assert (found["level"], found["status"]) == ("L3", "PASS")
    assert found["next_evaluation"] in {ers_next_evaluation(today - datetime.timedelta(days=n), "L3") for n in (0, 1)}
