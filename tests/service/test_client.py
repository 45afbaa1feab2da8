"""The typed client against the real server."""

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import ground
import numpy as np
import pytest

import epimeter
from epimeter.errors import InputError
from epimeter.service.client import ServiceError
from epimeter.standards import ers_evaluate


@pytest.fixture
def client(service, tenant):
    with epimeter.Client(service.url, tenant.key["key"]) as made:
        yield made


def test_from_predictions_to_a_certificate(client, service):
    made = ground.columns(2000)
    promise = client.preregister(model_id="c", model_version="1", aim="L1", data_source="here")
    found = client.evaluate(
        made["correct"],
        made["confidence"],
        model_id="c",
        model_version="1",
        timestamp=made["timestamp"],
        preregistration=promise.id,
    )
    assert found.metrics.ece == round(ers_evaluate(made["correct"], made["confidence"]).ece, 9)
    data = client.certify(found.evaluation_id)
    import json

    id = json.loads(data)["certificate"]["id"]
    with epimeter.Client(service.url) as nobody:
        assert nobody.certificate(id) == data
        assert id in [line.id for line in nobody.registry(system_id="c")]
    assert client.passport(found.evaluation_id).startswith(b"%PDF")
    assert client.status(id) == "VALID"
    client.revoke(id, "a test")
    assert client.status(id) == "REVOKED"
    assert client.usage().evaluations == 1
    assert b"<!doctype html>" in client.report(found.evaluation_id, "text/html")


def test_a_job_is_waited_for(client):
    made = ground.columns(20_000, timestamps=False)
    found = client.evaluate(made["correct"].astype(int), made["confidence"].astype(np.float32), model_id="c")
    assert found.status == "completed"
    assert client.evaluate(made["correct"], made["confidence"], model_id="c", wait=False).status == "queued"
    assert len(list(client.evaluations())) == 2


def test_every_column_arrives(client, tenant):
    """The same data set by the client and by hand: one digest, one account of its sources."""
    made = ground.columns(1000) | {
        "unknown": np.arange(1000) % 7 == 0,
        "detected": np.arange(1000) % 5 == 0,
        "ground_truth_source": np.array(["human", "reference"] * 500),
        "class": np.array(["a", "b", "c", "d"] * 250),
    }
    by_hand = tenant.post("/v1/evaluate", json=ground.body(made)).json()
    columns = {("classes" if name == "class" else name): column for name, column in made.items()}
    found = client.evaluate(**columns, model_id="m", dataset_id="6f1c2a34-9d0e-4b57-8a61-0c9f3e7d2b15")
    assert found.dataset.digest == by_hand["dataset"]["digest"]
    assert found.dataset.ground_truth == {"human": 500, "reference": 500} == by_hand["dataset"]["ground_truth"]
    assert found.dataset.largest_share == 0.25 and found.onto_42001.u_recall == by_hand["onto_42001"]["u_recall"]
    with pytest.raises(InputError, match="klass"):
        client.evaluate([True], [0.5], model_id="m", klass=["a"])


def test_keys_are_made_listed_and_ended(client, service):
    key = client.make_key("ci", ["evaluate", "evaluations:read"])
    with epimeter.Client(service.url, key.key) as other:
        assert other.usage().evaluations == 0
        listed = client.keys()
        assert key.id in {line.id for line in listed}
        client.end_key(key.id)
        with pytest.raises(ServiceError) as refusal:
            other.usage()
    assert refusal.value.status == 401
    assert client.signal().ttl == 3600


def test_a_refusal_has_all_that_the_service_says(client, service):
    with pytest.raises(ServiceError) as refusal:
        client.evaluate([1], [1.5], model_id="c")
    assert refusal.value.status == 422 and refusal.value.kind == "invalid" and refusal.value.trace
    assert refusal.value.errors[0]["pointer"] == "/rows/0/confidence"
    with epimeter.Client(service.url, "onto_live_x") as wrong, pytest.raises(ServiceError) as refusal:
        wrong.usage()
    assert refusal.value.status == 401
    with pytest.raises(InputError):
        epimeter.Client("ftp://x")
    with pytest.raises(ServiceError, match="does not answer"):
        epimeter.Client("http://127.0.0.1:1", retries=0).usage()


def test_it_waits_as_long_as_it_is_told():
    """First 429, then 503, then a connection that breaks, then an answer."""
    usage = b'{"organization":"o","tier":"OPEN","requests_per_minute":10,"month":"2026-11","evaluations":0,"quota":1,'
    usage += b'"remaining":1,"resets_at":"x","months":[]}'
    script, seen = [429, 503, 0, 200], []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            seen.append(time.monotonic())
            status = script.pop(0)
            if status == 0:
                self.close_connection = True
                self.connection.close()
                return
            body = usage if status == 200 else b'{"type":"/problems/rate-limited","detail":"wait"}'
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            if status != 200:
                self.send_header("retry-after", "1")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with epimeter.Client(f"http://127.0.0.1:{server.server_address[1]}") as client:
            assert client.usage().quota == 1
        assert len(seen) == 4
        assert seen[1] - seen[0] >= 1 and seen[2] - seen[1] >= 1
    finally:
        server.shutdown()
        server.server_close()


def test_the_command_sends_a_file_and_writes_the_certificate(service, tenant, tmp_path):
    import json
    import subprocess
    import sys

    file, certificate = tmp_path / "p.ndjson", tmp_path / "c.json"
    file.write_bytes(ground.ndjson(ground.columns(2000)))
    command = [sys.executable, "-m", "epimeter", "submit", str(file), "--server", service.url, "--model-id", "cli"]
    environment = {"PATH": "", "EPIMETER_KEY": tenant.key["key"]}
    done = subprocess.run(
        [*command, "--model-version", "1", "--certificate", str(certificate), "--require", "L1"],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(certificate.read_bytes())["subject"]["system_id"] == "cli"
    assert json.loads(done.stdout)["certifiable"]
    file.write_bytes(b'{"confidence":0.95,"correct":false}\n' * 10)
    done = subprocess.run([*command, "--require", "L3"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "is required" in done.stderr


DECLARED = """
[unknowns]
taxonomy = ["operational"]
method = "confidence"
threshold = "0.5"
validation = "held-out unknowns"
"""


def test_the_command_sends_everything_that_the_file_and_its_declaration_say(service, tenant, tmp_path):
    """ERS 3.2: every prediction, also without an outcome; the kinds of unknowns; what ONTO 42001 asks to be declared."""
    import json
    import os
    import subprocess
    import sys

    made = ground.columns(1200, seed=77)
    lines = [
        {**row, "unknown": index % 2 == 0, "category": "novel" if index % 4 else "OOD", "domain": "medical"}
        for index, row in enumerate(ground.rows(made))
    ]
    for line in lines[::6]:
        line["correct"] = None
    file, told = tmp_path / "p.ndjson", tmp_path / "told.toml"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told.write_text(DECLARED)

    def typed(*words):
        command = [sys.executable, "-m", "epimeter", *map(str, words)]
        environment = {**os.environ, "EPIMETER_KEY": tenant.key["key"]}
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    words = ("--declare", told, "--strategy", "equal_mass")
    sent = typed("submit", file, "--server", service.url, "--model-id", "whole", "--model-version", "1", *words)
    assert sent.returncode == 0, sent.stderr
    answer = json.loads(sent.stdout)
    here = typed("evaluate", file, "--standard", "both", *words, "--interval", "none", "--json")
    assert here.returncode == 0, here.stderr
    found = json.loads(here.stdout)
    assert answer["domain"] == found["metrics"]["ers"]["domain"] == "medical"
    assert answer["dataset"]["unlabelled"] == found["records"]["unlabelled"] == 200
    assert answer["dataset"]["whole_digest"] == found["evidence"]["dataset_digest"]
    assert answer["onto_42001"]["level"] == found["verdicts"]["onto"]["level"]
    assert answer["onto_42001"]["missing"] == found["verdicts"]["onto"]["missing"]
    assert answer["onto_42001"]["ece"] == round(found["metrics"]["onto"]["ece"], 9)
    by_kind = {one["category"]: round(one["u_recall"], 9) for one in found["categories"]}
    assert answer["onto_42001"]["categories"] == by_kind and by_kind.keys() == {"OOD", "novel"}

    epi = tmp_path / "p.epi"
    assert typed("summarise", file, "--evidence", "-o", epi).returncode == 0
    summed = typed("submit", epi, "--server", service.url, "--model-id", "sums", "--model-version", "1")
    assert json.loads(summed.stdout)["domain"] == "medical", "the sums say the domain of their records"
    refused = typed("submit", epi, "--server", service.url, "--model-id", "sums", "--domain", "general")
    assert refused.returncode != 0 and "says medical, the option says general" in refused.stderr
    kind = {"content-type": "application/vnd.epimeter.summary"}
    answer = tenant.post("/v1/evaluate", content=epi.read_bytes(), params={"model_id": "sums"}, headers=kind)
    assert answer.status_code == 422 and "it must be that of the records, medical" in answer.text
