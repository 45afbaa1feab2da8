"""ONTO-ERS section 6.1: the four endpoints, as the standard names them, on a real server."""

import re

import ground

from epimeter.service.secrets import key_id


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
