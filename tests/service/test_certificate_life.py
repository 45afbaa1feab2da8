"""The life of a certificate in a running service, over months, as its owner and the public see it."""

import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
from installation import Installation, until

JSON = "application/json"


def test_ERS_4_2_a_evaluations_renew_suspend_and_restore_a_certificate(installation):
    with installation.service.tenant("Renewal", "CRITICAL") as client:
        certificate = installation.certificate(client, "m", 1)

        def state():
            return client.get(f"/v1/certificates/{certificate}/status").json()

        first = state()
        assert (first["status"], first["reason"]) == ("VALID", None)
        number = first["next_evaluation"]
        assert client.get(f"/v1/certificates/{certificate}/calendar.ics").text.count(number.replace("-", "")) == 1

        installation.day(25)
        assert installation.evaluate(client, "m", 2)["compliance"]["level"] == "L3"
        until(lambda: state()["next_evaluation"] > number)
        second = state()["next_evaluation"]
        few = installation.evaluate(client, "m", 3, rows=100, over=0.5)  # says nothing about the system
        assert few["compliance"] == {"level": "NONE", "status": "INSUFFICIENT_DATA", "next_evaluation": None}

        installation.day(45)  # a month and two weeks after its issue
        until(lambda: installation.verdict(client, certificate) == "VALID")
        found = installation.evaluate(client, "m", 4, over=0.3)
        assert found["compliance"]["status"] in ("FAIL", "PASS") and found["compliance"]["level"] != "L3"
        until(lambda: state()["status"] == "SUSPENDED")
        assert f"{found['compliance']['level']}; the certificate states L3" in state()["reason"]
        line = client.get("/v1/registry").json()["items"][0]
        assert (line["status"], line["next_evaluation"]) == ("SUSPENDED", second) and line["reason"] == state()[
            "reason"
        ]
        verified = client.get(f"/v1/certificates/{certificate}/verify").json()
        assert verified["verdict"] == "SUSPENDED" and verified["standing"]["reason"] == state()["reason"]

        installation.day(50)
        installation.evaluate(client, "m", 5)
        until(lambda: state()["status"] == "VALID")
        installation.day(50 + 40)
        until(lambda: state()["status"] == "SUSPENDED")
        assert "is overdue" in state()["reason"]
        installation.evaluate(client, "m", 6)
        until(lambda: state()["status"] == "VALID")
        life = client.get(f"/v1/certificates/{certificate}/life").json()["events"]
        assert [event["cause"] for event in life] == ["issued", "renewed", "missed", "renewed", "overdue", "renewed"]

        def actions():
            return [line["action"] for line in client.get("/v1/audit").json()["items"]]

        # What the schedule suspended is told in the schedule's next round.
        until(lambda: actions().count("certificate.suspended") == 2)
        assert actions().count("certificate.renewed") == 3


def test_what_is_overdue_lowers_the_level_of_the_passport_too(installation):
    """42001-5.1.1-c: the answer said that the frequency was not kept, the signed passport claimed Level 2 all the same."""
    told = {
        "unknowns": {"taxonomy": "operational", "method": "confidence", "threshold": "0.5", "validation": "held out"},
        "flags": {"frequency_kept": True},
    }
    with installation.service.tenant("Frequency", "CRITICAL") as client:

        def claimed(seed):
            found = installation.evaluate(client, "f", seed, unknown=True, declaration=told)
            place = f"/v1/evaluations/{found['evaluation_id']}/passport"

            def signed():  # keys that ended overnight are given successors within seconds
                answer = client.get(place, headers={"accept": JSON})
                return answer.json() if answer.status_code == 200 else None

            passport = until(signed)
            return found["onto_42001"], passport["conformance"]

        _, on_time = claimed(1)
        assert (on_time["level"], on_time["assessed"]) == ("Level 2", "self-assessed")
        installation.day(120)
        answer, late = claimed(2)
        assert any(one.startswith("overdue since") for one in answer["due"])
        assert late["level"] == "Level 1" and not late["flags"]["frequency_kept"]
        assert "meets ONTO 42001:2025 Level 1 with" in late["statement"]


class Collector(BaseHTTPRequestHandler):
    """Takes OTLP metrics, as a collector does."""

    def do_POST(self):
        self.server.taken.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def test_level_and_due_date_are_gauges_and_what_ends_soon_is_told_once(tmp_path):
    server = HTTPServer(("127.0.0.1", 0), Collector)
    server.taken = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made = Installation(tmp_path, otlp=f"http://127.0.0.1:{server.server_port}/v1/metrics")
    made.service.start()
    try:
        with made.service.tenant("Gauges", "CRITICAL") as client:
            certificate = made.certificate(client, "m", 1)
            gone = made.certificate(client, "revoked", 5)
            client.post(f"/v1/certificates/{gone}/revoke", json={"reason": "ended before its time"}).raise_for_status()
            rows = [{"id": str(k), "probability": 0.25 + 0.5 * (k % 2)} for k in range(40)]
            assert client.post("/v1/systems/m/predictions", json={"predictions": rows}).json()["new"] == 40
            wrong = client.post("/v1/systems/m/outcomes", json={"outcomes": [{"id": "0", "correct": True}]})
            assert wrong.status_code == 422 and "told as truth, 0 or 1" in wrong.json()["detail"]
            truth = [{"id": str(k), "truth": str(k % 2)} for k in range(40)]
            assert client.post("/v1/systems/m/outcomes", json={"outcomes": truth}).json()["new"] == 40

            def gauges():
                return httpx.get(f"{made.service.admin_url}/metrics").text.splitlines()

            lines = until(lambda: [line for line in gauges() if line.startswith("epimeter_system_level{")])
            assert lines[0].endswith(" 3")
            (due,) = [line for line in gauges() if line.startswith("epimeter_system_days_to_due{")]
            assert 28 <= float(due.split()[-1]) <= 31
            sent = until(lambda: server.taken)[0]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
            level = next(one for one in sent if one["name"] == "epimeter.system.level")["gauge"]["dataPoints"][0]
            assert level["asDouble"] == 3.0
            assert {"key": "system", "value": {"stringValue": "m"}} in level["attributes"]
            seen = client.get("/v1/systems/m/monitor").json()
            assert seen["kind"] == "event"

            end = (datetime.now(UTC) + timedelta(days=350)).isoformat()
            sent = client.post("/v1/auth/api-keys", json={"name": "short", "scopes": ["evaluate"], "expires_at": end})
            assert sent.status_code == 201, sent.text
            key = sent.json()
            made.day(340)

            def told(action):
                items = client.get("/v1/audit?limit=200").json()["items"]
                return [item["subject"] for item in items if item["action"] == action]

            assert until(lambda: told("certificate.expiring")) == [certificate]
            assert told("key.expiring") == [key["id"]]
            made.day(341)
            made.evaluate(client, "n", 3)
            assert told("certificate.expiring") == [certificate]
    finally:
        made.service.stop()
        server.shutdown()
        server.server_close()
