"""Webhooks: signed, delivered, retried, and never into a private network."""

import base64
import contextlib
import hashlib
import hmac
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import ground
import pytest

from epimeter.errors import InputError
from epimeter.service.settings import SettingsError
from epimeter.service.webhooks import Guard, send, signature

PATH = "/v1/evaluate"
ONE = ground.body({"confidence": [0.9], "correct": [True]})


class Ear:
    """A server that listens to webhooks and answers as told."""

    def __init__(self, *answers):
        self.heard, answers = [], list(answers)
        ear = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                ear.heard.append((dict(self.headers), body))
                status = answers.pop(0) if answers else 204
                self.send_response(status)
                if status == 302:
                    self.send_header("location", "http://169.254.169.254/")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook?a=1"

    def wait(self, count, seconds=20):
        end = time.monotonic() + seconds
        while len(self.heard) < count and time.monotonic() < end:
            time.sleep(0.05)
        assert len(self.heard) >= count
        return self.heard

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def ear():
    made = Ear()
    yield made
    made.close()


def test_a_message_is_signed_and_arrives(tenant, ear):
    made = tenant.post("/v1/webhooks", json={"url": ear.url, "events": ["evaluation.completed"]})
    assert made.status_code == 201, made.text
    secret = made.json()["secret"]
    assert secret.startswith("whsec_")
    number = tenant.post(PATH, json=ONE).json()["evaluation_id"]
    headers, body = ear.wait(1)[0]
    headers = {name.lower(): value for name, value in headers.items()}
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 60
    told = json.loads(body)
    assert told["type"] == "evaluation.completed" and told["data"]["evaluation_id"] == number
    id = made.json()["id"]
    end = time.monotonic() + 10
    while time.monotonic() < end:
        lines = tenant.get(f"/v1/webhooks/{id}/deliveries").json()["items"]
        if lines and lines[0]["state"] == "delivered":
            break
        time.sleep(0.1)
    assert lines[0]["last_answer"] == "HTTP 204"
    listed = tenant.get("/v1/webhooks")
    assert "secret" not in listed.text and listed.json()["items"][0]["id"] == id
    assert tenant.delete(f"/v1/webhooks/{id}").status_code == 204
    tenant.post(PATH, json=ONE)
    time.sleep(0.7)
    assert len(ear.heard) == 1


def test_an_event_that_was_not_asked_for_is_not_sent(tenant, other, ear):
    tenant.post("/v1/webhooks", json={"url": ear.url, "events": ["certificate.issued"]})
    tenant.post(PATH, json=ONE)
    other.post(PATH, json=ONE)
    time.sleep(0.8)
    assert ear.heard == []


def test_a_redirect_is_not_followed_and_a_failure_is_tried_again(tenant):
    ear = Ear(302, 500, 204)
    try:
        made = tenant.post("/v1/webhooks", json={"url": ear.url, "events": ["evaluation.completed"]}).json()
        tenant.post(PATH, json=ONE)
        ear.wait(2, 25)  # the second try comes after about five seconds
        first, second = ear.heard[0][0], ear.heard[1][0]
        assert first["webhook-id"] == second["webhook-id"]
        lines = tenant.get(f"/v1/webhooks/{made['id']}/deliveries").json()["items"]
        assert lines[0]["attempts"] >= 2
    finally:
        ear.close()


FOREIGN = [
    "http://127.0.0.1/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://169.254.169.254/latest/meta-data/",
    "https://10.0.0.1/",
    "https://192.168.1.1/",
    "https://172.16.0.1/",
    "https://100.64.0.1/",
    "https://0.0.0.0/",
    "https://[fc00::1]/",
    "https://[fe80::1]/",
    "https://224.0.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://localhost/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "https://user:pass@example.com/",
    "https://example.com/#x",
    "https://exa mple.com/",
    "https://",
    "gopher://127.0.0.1",
    "https://example.com:99999/",
]


@pytest.mark.parametrize("url", FOREIGN)
def test_addresses_inside_are_refused(url):
    guard = Guard()
    with pytest.raises(InputError):
        _, host, port, _ = guard.check(url)
        guard.address(host, port)


def test_a_name_with_one_private_address_is_refused():
    """A name that resolves to a public and a private address, and one that changes between check and use."""

    def resolve(host, port, type):
        addresses = {"mixed.example": ["93.184.216.34", "10.0.0.7"], "good.example": ["93.184.216.34"]}[host]
        return [(2, 1, 6, "", (address, port)) for address in addresses]

    guard = Guard(resolve=resolve)
    with pytest.raises(InputError, match="public internet"):
        guard.address("mixed.example", 443)
    assert guard.address("good.example", 443) == "93.184.216.34"


def test_the_service_refuses_them_too(tenant):
    for url in ("https://169.254.169.254/", "https://[fe80::1]/", "ftp://example.com/"):
        answer = tenant.post("/v1/webhooks", json={"url": url, "events": ["evaluation.completed"]})
        assert answer.status_code == 422, url
    assert tenant.post("/v1/webhooks", json={"url": "https://127.0.0.1/", "events": []}).status_code == 422


def test_the_signature_of_the_specification():
    """The example of Standard Webhooks' own test suite."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    made = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


class Drip:
    """An endpoint that takes every message and answers a byte at a time, never to its end."""

    def __init__(self, pause=0.5):
        self.taken, self._stop = 0, threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        threading.Thread(target=self._serve, args=(pause,), daemon=True).start()

    def _serve(self, pause):
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._listener.accept()
                self.taken += 1
                threading.Thread(target=self._drip, args=(line, pause), daemon=True).start()

    def _drip(self, line, pause):
        with contextlib.suppress(OSError), line:
            for byte in b"HTTP/1.1 200 OK\r\nx-long: " + b"y" * 10_000:
                if self._stop.wait(pause):
                    return
                line.sendall(bytes([byte]))

    def close(self):
        self._stop.set()
        self._listener.close()


def test_an_endpoint_that_answers_byte_by_byte_holds_up_nobody_else(tenant, other, ear):
    drip = Drip()
    try:
        for _ in range(5):
            made = tenant.post("/v1/webhooks", json={"url": drip.url, "events": ["evaluation.completed"]})
            assert made.status_code == 201, made.text
        hook = made.json()["id"]
        other.post("/v1/webhooks", json={"url": ear.url, "events": ["evaluation.completed"]}).raise_for_status()
        for _ in range(3):
            tenant.post(PATH, json=ONE).raise_for_status()
        other.post(PATH, json=ONE).raise_for_status()
        ear.wait(1, seconds=5)
        assert drip.taken <= 1  # one message of an organisation is under way at a time
        end = time.monotonic() + 60
        while time.monotonic() < end and drip.taken < 2:
            time.sleep(0.2)
        assert drip.taken >= 2  # the deadline came, and the next had its turn
        assert hook
    finally:
        drip.close()


def test_a_delivery_has_one_deadline_from_the_name_to_the_last_byte():
    drip = Drip(pause=0.1)
    try:
        begun = time.monotonic()
        with pytest.raises(TimeoutError, match="within 1 s"):
            send(Guard(["127.0.0.0/8"], ports=["1-65535"], plain=True), drip.url, b"{}", {}, deadline=1.0)
        assert time.monotonic() - begun < 5
    finally:
        drip.close()


@pytest.mark.parametrize(
    "address",
    ["2002:7f00:1::1", "2002:a9fe:a9fe::1", "fec0::1", "fc00::1", "fe80::1", "192.0.0.8", "192.0.0.170", "192.88.99.1",
     "2001:0:4136:e378:8000:63bf:3fff:fdd2", "64:ff9b::7f00:1", "64:ff9b:1::1", "::ffff:10.0.0.1", "::127.0.0.1", "::",
     "2001:db8::1", "3fff::1", "100::1", "5f00::1", "ff0e::1", "4000::1", "0.1.2.3", "100.64.0.1", "198.18.0.1", "240.0.0.1",
     "255.255.255.255", "224.0.0.1", "203.0.113.5", "169.254.169.254"],
)  # fmt: skip
def test_only_global_unicast_is_reached(address):
    guard = Guard(resolve=lambda *_, **__: [(0, 0, 0, "", (address, 443))])
    with pytest.raises(InputError, match="public internet"):
        guard.address("host.example", 443)


def test_ports_are_on_a_list():
    guard = Guard()
    assert guard.check("https://host.example/x")[2] == 443
    for port in (22, 25, 6379, 5432, 8443, 0, 65535):
        with pytest.raises(InputError, match="port"):
            guard.check(f"https://host.example:{port}/")
    assert Guard(ports=["8000-8999"]).check("https://host.example:8443/")[2] == 8443
    with pytest.raises(SettingsError, match="8000-8999"):
        Guard(ports=["http"])
