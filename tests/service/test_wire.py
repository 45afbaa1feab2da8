"""HTTP that a proxy before us may read in another way, connections that are held, and what the log says."""

import contextlib
import json
import re
import socket
import time

import ground
import pytest
from servers import running

PATH = "/v1/evaluate"
ONE = ground.body({"confidence": [0.9], "correct": [True]})


def raw(service, *pieces, wait=10):
    """What a server answers to bytes on the wire."""
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), wait) as line:
        for piece in pieces:
            line.sendall(piece)
        heard = b""
        with contextlib.suppress(OSError):
            while piece := line.recv(65536):
                heard += piece
    return heard


def until(status, client, path, seconds=90):
    """The answer once it has this status."""
    end = time.monotonic() + seconds
    while (answer := client.get(path)).status_code != status and time.monotonic() < end:
        time.sleep(0.25)  # fewer in all than the minute of a key allows
    assert answer.status_code == status, answer.text
    return answer


def test_a_length_said_twice_is_refused(service):
    sent = b"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 4\r\n"
    heard = raw(service, sent + b"transfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    assert heard.startswith(b"HTTP/1.1 400") and b"Content-Length or Transfer-Encoding" in heard
    assert heard.count(b"HTTP/1.1 ") == 1  # what was smuggled behind it is never answered


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /healthz HTTP/1.1\nhost: x\n\n",
        b"GET /healthz HTTP/1.1\r\nhost: x\nx-hidden: 1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: x\r\n\n",
        b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /healthz HTTP/1.1\r\nhost: x\n\n",
        b"POST /v1/evaluate HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: y\n\n",
    ],
)
def test_a_line_that_ends_in_a_bare_lf_is_refused(service, request_):
    heard = raw(service, request_)
    answers = re.findall(rb"HTTP/1.1 (\d+)", heard)
    assert answers[-1] == b"400" or b"unauthenticated" in heard, heard
    assert heard.count(b"HTTP/1.1 200") == request_.count(b"\r\n\r\nGET")
    slow = raw(service, b"GET /healthz HTTP/1.1\r", b"\nhost: x\r\n", b"connection: close\r\n\r", b"\n")
    assert slow.startswith(b"HTTP/1.1 200")  # cut anywhere, CR LF is CR LF


def test_the_host_header_steers_nothing(service):
    with service.client() as nobody:
        for path in ("/healthz/", "/v1/registry/", "/v1/metrics/", "/openapi.json/", "//evil.example", "/v1/evaluate/"):
            answer = nobody.get(path, headers={"host": "evil.example"}, follow_redirects=False)
            assert not answer.is_redirect and "location" not in answer.headers, path
            assert "evil" not in answer.text.replace("//evil.example", "")
        found = nobody.get("/.well-known/epimeter.json", headers={"host": "evil.example"})
        assert "evil" not in found.text
        # The issuer of these tests is https, so browsers are told to stay there.
        assert found.headers["strict-transport-security"].startswith("max-age=")


def test_a_nul_character_is_refused_on_both_databases(service, tenant):
    for path in ("/v1/evaluations/%00", "/v1/evaluations?model_id=a%00b", "/v1/registry?organization=%00",
                 "/v1/certificates/ONTO%00", "/v1/jobs/%00", "/v1/webhooks/%00/deliveries"):  # fmt: skip
        assert tenant.get(path).status_code == 422, path
    for path, body in (
        ("/v1/certificates", {"evaluation_id": "a\0b"}),
        ("/v1/auth/api-keys", {"name": "x", "scopes": ["evaluate"], "replaces": "a\0b"}),
        ("/v1/evaluate", {**ONE, "preregistration": "a\0b"}),
        ("/v1/evaluate", {**ONE, "model_id": "a\0b"}),
    ):
        assert tenant.post(path, json=body).status_code in (404, 422), path


def test_two_objects_on_a_line_and_one_over_two_are_refused(tenant):
    a, b = b'{"confidence":0.5,"correct":true}', b'{"confidence":0.6,"correct":false}'
    split = b'{"confidence":0.7,\n"correct":true}'
    headers = {"content-type": "application/x-ndjson"}
    for body in (a + b, a + b" " + b, a + b"\t" + b + b"\n" + a, split, a + b + b"\n" + split, split + b"\n" + a + b):
        answer = tenant.post(PATH, content=body, params={"model_id": "m"}, headers=headers)
        assert answer.status_code == 422 and "/lines/" in answer.text, (body, answer.text)
    for body in (a, a + b"\n" + b + b"\n", b"\n" + a + b"\n\n" + b, a + b"\r\n" + b, b"  " + a + b"\n"):
        assert tenant.post(PATH, content=body, params={"model_id": "m"}, headers=headers).status_code == 200, body


def test_connections_and_requests_in_flight_are_bounded_and_the_log_is_json(tmp_path):
    with running(tmp_path, connections_per_address=20, in_flight=3, log_level="info", body_pause=120) as made:
        host, port = made.url.removeprefix("http://").split(":")
        with made.tenant("Crowd") as client, contextlib.ExitStack() as held:
            key = client.key["key"]
            begin = f"POST /v1/evaluate?model_id=m HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n".encode()
            begin += b"content-type: application/x-ndjson\r\ncontent-length: 100\r\n\r\n"
            answer = client.get("/v1/usage")
            end = time.monotonic() + 90
            while answer.status_code != 429 and time.monotonic() < end:
                # Where a question of ours holds a place, a body that comes just then is refused: another is begun.
                held.enter_context(socket.create_connection((host, int(port)), 10)).sendall(begin)
                time.sleep(0.5)
                answer = client.get("/v1/usage")
            assert answer.status_code == 429 and "at most 3 requests" in answer.text
            assert answer.headers["retry-after"] == "1"
            held.close()
            until(200, client, "/v1/usage")
            lines = [held.enter_context(socket.create_connection((host, int(port)), 10)) for _ in range(40)]
            heard = b"".join(iter(lambda: lines[-1].recv(4096), b""))
            assert heard.startswith(b"HTTP/1.1 503") and b"connections at a time" in heard
        with made.client() as nobody:
            until(200, nobody, "/healthz")
        made.stop()
        for line in made.log.splitlines():
            assert {"time", "level", "message"} <= set(json.loads(line)), line
        assert key not in made.log
        made.start()
