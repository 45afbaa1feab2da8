"""OWASP API Security Top 10 2023, each as tests; tenants apart on every route; bodies and headers that mean harm."""

import contextlib
import json
import re
import socket
import struct
import time
import zlib

import ground
import httpx
import numpy as np
import psutil
import pyarrow as pa
import pytest

PATH = "/v1/evaluate"
ONE = ground.body({"confidence": [0.9], "correct": [True]})
JSON, NDJSON = "application/json", "application/x-ndjson"
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"


def memory(service):
    return psutil.Process(service.process.pid).memory_info().rss


# API1: broken object level authorisation; generated from the route table.


@pytest.fixture
def belongings(tenant):
    """Something of everything that an organisation can own."""
    number = tenant.post(PATH, json=ground.body(ground.columns(2000), model_version="1")).json()["evaluation_id"]
    certificate = tenant.post("/v1/certificates", json={"evaluation_id": number})
    assert certificate.status_code == 201, certificate.text
    queued = tenant.post(
        PATH,
        content=ground.arrow(ground.columns(6000)),
        params={"model_id": "m"},
        headers={"content-type": ARROW},
    ).json()
    registration = tenant.post(
        "/v1/preregistrations",
        json={"model_id": "m", "model_version": "1", "aim": "L1", "data_source": "here"},
    ).json()
    webhook = tenant.post(
        "/v1/webhooks", json={"url": "http://127.0.0.1:9/x", "events": ["evaluation.completed"]}
    ).json()
    return {
        "evaluation_id": number,
        "certificate_id": certificate.json()["certificate"]["id"],
        "job_id": queued["job"],
        "registration_id": registration["id"],
        "webhook_id": webhook["id"],
        "key_id": tenant.key["id"],
        "organization_id": tenant.organization,
        "number": "1",
        "name": "ece",
        "kind": "invalid",
        "path": "0/000",
        "version": "1",
        "system_id": "watched",
        "alarm": ground.watched(tenant, "watched", "row-of-the-owner"),
        "row": "row-of-the-owner",
    }


SHARED = ("number", "name", "kind", "path", "version", "certificate_id", "system_id", "alarm")
"""What names the same for everybody, or what every organisation may call by the same name."""
OWN_NAMES = "/v1/systems/{system_id}/"
"""Systems have names of their organisation's: whoever writes to a name writes to a system of his own."""


def test_api1_no_route_shows_or_changes_what_is_anothers(service, tenant, other, belongings):
    with service.client() as nobody:
        paths = nobody.get("/openapi.json").json()["paths"]
    mine = {value for name, value in belongings.items() if name not in SHARED}
    bodies = {
        "/v1/certificates": {"evaluation_id": belongings["evaluation_id"]},
        "/v1/certificates/{certificate_id}/revoke": {"reason": "x"},
        "/v1/organizations/{organization_id}/tier": {"tier": "OPEN"},
        "/v1/auth/api-keys": {"name": "x", "scopes": ["evaluate"], "organization": tenant.organization},
        "/v1/auth/api-keys ": {"name": "x", "scopes": ["evaluate"], "replaces": tenant.key["id"]},
        "/v1/organizations": {"name": "y", "tier": "OPEN"},
        OWN_NAMES + "alarms/acknowledge": {"alarm": belongings["alarm"], "by": "x"},
        OWN_NAMES + "monitor": {"delay": 60, "evaluate": True},
        OWN_NAMES + "predictions": {"predictions": [{"id": belongings["row"], "confidence": 0.25}]},
        OWN_NAMES + "outcomes": {"outcomes": [{"id": belongings["row"], "correct": True}]},
    }
    opening = {("put", OWN_NAMES + "monitor"), ("post", OWN_NAMES + "predictions"), ("post", OWN_NAMES + "outcomes")}
    views = [path.format(**belongings) for path in paths if path.startswith(OWN_NAMES) and "get" in paths[path]]
    assert len(views) >= 3

    def held():
        """The owner's system as he sees it; the feed aside, in which the service itself goes on writing."""
        state = tenant.get(OWN_NAMES.format(**belongings) + "monitor").json()
        return state, tenant.get(OWN_NAMES.format(**belongings) + "corrections").json()

    before = held()
    assert belongings["row"] in json.dumps(before) and belongings["alarm"] in json.dumps(before)
    assert set(re.findall(r"{(\w+)}", " ".join(paths))) <= set(belongings), "a new kind of thing must be owned here too"
    tried = 0
    for path, methods in paths.items():
        for method, operation in methods.items():
            if operation["x-scope"] == "public" or path == PATH or (method, path) in opening:
                continue
            url = path.format(**belongings)
            wanted = [] if method == "get" else [made for named, made in bodies.items() if named.strip() == path]
            for body in wanted or [None]:
                answer = other.request(method, url, json=body)
                tried += 1
                if "{" in path:
                    assert answer.status_code in (403, 404), (method, path, answer.text)
                elif body is not None:
                    assert answer.status_code in (403, 404, 409), (method, path, answer.text)
                seen = answer.text if answer.status_code < 400 else ""
                assert not any(name in seen for name in mine), (method, path)
    assert tried >= 20
    # Writing under the same name makes a system of the other's: it shows nothing of the owner's and takes no alarm of his up.
    for method, path in sorted(opening):
        answer = other.request(method, path.format(**belongings), json=bodies[path])
        assert answer.status_code == 200, answer.text
        if path.endswith(("predictions", "outcomes")):
            assert answer.json()["new"] == 1, "the owner's row was met"
    for url in views:
        answer = other.get(url)
        assert answer.status_code == 200 and f"{belongings['row']}-region" not in answer.text, url
    assert other.get(OWN_NAMES.format(**belongings) + "corrections").json()["items"] == []
    taken = other.post(
        OWN_NAMES.format(**belongings) + "alarms/acknowledge", json=bodies[OWN_NAMES + "alarms/acknowledge"]
    )
    assert taken.status_code == 404
    # The owner is shown what the other is not: the paths and bodies above are the right ones.
    for path, methods in paths.items():
        if "get" in methods and "{" in path and methods["get"]["x-scope"] not in ("public", "admin"):
            assert tenant.get(path.format(**belongings)).status_code == 200, path
    # And nothing of it was touched.
    assert held() == before
    assert "acknowledged" not in tenant.get(OWN_NAMES.format(**belongings) + "alarms.atom").text
    assert tenant.get(f"/v1/auth/api-keys/{tenant.key['id']}").json()["revoked_at"] is None
    assert tenant.get("/v1/usage").status_code == 200
    assert tenant.get("/v1/webhooks").json()["items"][0]["id"] == belongings["webhook_id"]
    assert tenant.get(f"/v1/certificates/{belongings['certificate_id']}/status").json()["status"] == "VALID"


# API2: broken authentication.


def test_api2_no_route_with_a_scope_opens_without_a_key(service):
    with service.client() as nobody:
        paths = nobody.get("/openapi.json").json()["paths"]
        for path, methods in paths.items():
            for method, operation in methods.items():
                if operation["x-scope"] == "public":
                    continue
                url = re.sub(r"\{\w+\}", "x", path)
                for headers in (
                    {},
                    {"x-api-key": "onto_live_"},
                    {"authorization": "Basic YTpi"},
                    {"authorization": "Bearer"},
                ):
                    assert nobody.request(method, url, headers=headers).status_code == 401, (method, path)


def test_api2_an_unknown_key_takes_as_long_as_a_wrong_one(service, tenant):
    """Both do the same work; only gross differences would show here."""
    from epimeter.service.secrets import _checksum, new_key

    text = tenant.key["key"]
    wrong = text[:-7] + ("A" if text[-7] != "A" else "B")
    wrong += _checksum(wrong)
    unknown = new_key().text
    with service.client() as nobody:
        for key in (wrong, unknown):
            answer = nobody.get("/v1/usage", headers={"x-api-key": key})
            assert answer.status_code == 401
        details = {nobody.get("/v1/usage", headers={"x-api-key": key}).json()["detail"] for key in (wrong, unknown)}
    assert len(details) == 1


# API3: broken object property level authorisation.


def test_api3_no_body_sets_what_is_ours_to_set(tenant):
    for extra in (
        {"tier": "CRITICAL"},
        {"level": "L3"},
        {"organization": "org_x"},
        {"attempt": 1},
        {"status": "completed"},
    ):
        assert tenant.post(PATH, json={**ONE, **extra}).status_code == 422
    key = {"name": "x", "scopes": ["evaluate"]}
    for extra in ({"tier": "CRITICAL"}, {"id": "AAAAAAAA"}, {"digest": "x"}, {"last_used_at": "2026-01-01T00:00:00Z"}):
        assert tenant.post("/v1/auth/api-keys", json={**key, **extra}).status_code == 422
    hook = {"url": "http://127.0.0.1:9/", "events": ["evaluation.completed"], "secret": "mine"}
    assert tenant.post("/v1/webhooks", json=hook).status_code == 422


# API4: unrestricted resource consumption.


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_api4_a_bomb_is_stopped_at_the_limit_and_costs_no_memory(service, tenant, encoding):
    tenant.get("/v1/usage")
    before = memory(service)
    if encoding == "gzip":
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(512)) + packer.flush()
    else:
        bomb = ground.zstd(bytes(512 << 20))
    assert len(bomb) < 1 << 20
    for kind in (JSON, NDJSON, ARROW):
        query = {} if kind == JSON else {"model_id": "m"}
        headers = {"content-type": kind, "content-encoding": encoding}
        answer = tenant.post(PATH, content=bomb, params=query, headers=headers)
        assert answer.status_code in (413, 422), (kind, answer.text)
    assert memory(service) - before < 120 << 20


def test_api4_an_arrow_stream_that_claims_terabytes_is_refused_by_its_header(service, tenant):
    """One honest compressed batch, its claimed length changed to a terabyte."""
    honest = ground.arrow({"confidence": np.linspace(0, 1, 4000), "correct": np.ones(4000, bool)}, "zstd")
    place = honest.index(struct.pack("<q", 32_000), honest.index(b"confidence"))
    while honest[place + 8 : place + 12] != b"\x28\xb5\x2f\xfd":  # the claim stands before the zstd frame
        place = honest.index(struct.pack("<q", 32_000), place + 1)
    evil = honest[:place] + struct.pack("<q", 1 << 40) + honest[place + 8 :]
    before = memory(service)
    answer = tenant.post(PATH, content=evil, params={"model_id": "m"}, headers={"content-type": ARROW})
    assert answer.status_code == 413, answer.text
    assert memory(service) - before < 50 << 20


def test_api4_a_parquet_file_that_repeats_one_value_is_refused_by_its_rows(tenant):
    found = pa.table({"confidence": np.full(5_000_000, 0.5), "correct": np.ones(5_000_000, bool)})
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(found, sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    assert len(data) < 1 << 20
    answer = tenant.post(PATH, content=data, params={"model_id": "m"}, headers={"content-type": PARQUET})
    assert answer.status_code == 413


def test_api4_a_document_above_the_limit_is_refused_before_it_is_read(tenant):
    answer = tenant.post(PATH, content=b" " * (17 << 20), headers={"content-type": JSON})
    assert answer.status_code == 413 and "NDJSON" in answer.json()["detail"]

    def endless():
        for _ in range(17):
            yield b" " * (1 << 20)

    try:
        answer = tenant.post(PATH, content=endless(), headers={"content-type": JSON})
        assert answer.status_code == 413
    except httpx.WriteError:  # the server hung up while we were still sending: as clear
        pass
    small = tenant.post("/v1/auth/api-keys", content=b" " * (2 << 20), headers={"content-type": JSON})
    assert small.status_code == 413


def raw(service, data, seconds=15.0):
    """Bytes over a socket of our own; what comes back."""
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as wire:
        wire.sendall(data)
        found = b""
        with contextlib.suppress(TimeoutError):
            while piece := wire.recv(65536):
                found += piece
        return found


def refused(found, *codes):
    """Whether an answer is a problem of one of these codes, and the connection was closed after it."""
    head, _, body = found.partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1])
    assert status in codes, found[:300]
    assert b"application/problem+json" in head.lower(), head
    assert json.loads(body)["status"] == status
    return True


def test_api4_a_body_that_stops_is_answered_408(service, tenant):
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nx-api-key: {tenant.key['key']}\r\nContent-Type: application/json\r\n"
        "Content-Length: 1000\r\n\r\n"
    ).encode()
    begun = time.monotonic()
    found = raw(service, head + b'{"model_id"')
    assert refused(found, 408)
    assert time.monotonic() - begun < 8  # the tests set the longest pause to 2 s


def test_api4_a_body_that_trickles_is_answered_408(tmp_path):
    """A byte a second never pauses, but its time is up."""
    from servers import running

    with running(tmp_path, body_time=3, body_pause=2) as made, made.tenant("Slow") as client:
        host, port = made.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=15) as wire:
            words = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nx-api-key: {client.key['key']}\r\n"
            wire.sendall((words + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n").encode())
            begun = time.monotonic()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                while time.monotonic() - begun < 6:
                    wire.sendall(b" ")
                    time.sleep(0.5)
            assert wire.recv(65536).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("words", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\nx-a: "])
def test_api4_headers_that_stop_are_answered_408(service, words):
    begun = time.monotonic()
    assert refused(raw(service, words), 408)
    assert 2 < time.monotonic() - begun < 10  # the tests allow 3 s


def test_api4_headers_that_stop_on_a_used_connection_are_answered_too(service):
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=15) as wire:
        for words, code in ((b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"200"), (b"GET /heal", b"408")):
            wire.sendall(words)
            found = b""
            while not found.endswith(b"}"):
                found += wire.recv(65536)
            assert found.startswith(b"HTTP/1.1 " + code)


@pytest.mark.parametrize(
    "flood",
    [
        b"".join(b"x-%d: %s\r\n" % (i, b"a" * 100) for i in range(900)),
        b"x-long: " + b"a" * 100_000 + b"\r\n",
        b"cookie: " + b"a=b; " * 20_000 + b"\r\n",
        b"GET " + b"/a" * 50_000 + b" HTTP/1.1\r\n",
    ],
)
def test_api4_a_flood_of_headers_is_answered_431(service, flood):
    begin = b"" if flood.startswith(b"GET ") else b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
    assert refused(raw(service, begin + flood), 431)


def test_api4_an_endless_flood_of_headers_costs_no_memory(service):
    """Whoever goes on sending is hung up on."""
    before = memory(service)
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=15) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nx-endless: ")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(2000):
                wire.sendall(b"a" * 100_000)
    assert memory(service) - before < 30 << 20
    with service.client() as nobody:
        assert nobody.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"POST /v1/evaluate HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/evaluate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/evaluate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_api4_broken_http_is_answered_400(service, text):
    assert refused(raw(service, text), 400)
    with service.client() as nobody:
        assert nobody.get("/healthz").status_code == 200


def test_api4_nesting_is_refused_in_every_body(service, tenant):
    """A million levels, where they fit; and in no format at the cost of the process."""
    before = memory(service)
    deep = [b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"model_id":' + b"[" * 1_000_000]
    for body in deep:
        answer = tenant.post(PATH, content=body, headers={"content-type": JSON})
        assert answer.status_code == 422, answer.text
        answer = tenant.post(PATH, content=body, params={"model_id": "m"}, headers={"content-type": NDJSON})
        assert answer.status_code == 422, answer.text
        answer = tenant.post("/v1/preregistrations", content=body[:1_000_000], headers={"content-type": JSON})
        assert answer.status_code == 422, answer.text
        packed = {"content-type": JSON, "content-encoding": "gzip"}
        answer = tenant.post(PATH, content=ground.gzipped(body), headers=packed)
        assert answer.status_code == 422, answer.text
    assert memory(service) - before < 100 << 20
    with service.client() as nobody:
        assert nobody.get("/healthz").status_code == 200


def test_api4_an_answer_quotes_only_so_much_of_what_came(tenant):
    """Whatever a refusal names, a value, a key or a column, it does not send all of it back."""
    long = "x" * 900_000
    row = {"confidence": 0.5, "correct": True}
    table = pa.table({**{name: [value] for name, value in row.items()}, long: [1]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    sent = [
        (JSON, json.dumps({**ONE, "domain": long})),
        (JSON, json.dumps({**ONE, long: 1})),
        (JSON, json.dumps({**ONE, "metrics": ["y" * 200] * 4000})),
        (NDJSON, json.dumps({**row, long: 1})),
        (ARROW, sink.getvalue().to_pybytes()),
    ]
    for kind, body in sent:
        params = {} if kind == JSON else {"model_id": "m"}
        answer = tenant.post(PATH, content=body, params=params, headers={"content-type": kind})
        assert answer.status_code == 422 and len(answer.content) < 10_000, (kind, answer.status_code, answer.text[:500])
    assert "must be one of" in (said := tenant.post(PATH, json={**ONE, "domain": long}).json()["detail"])
    assert "characters left out" in said


def test_api4_streams_are_limited(tenant, service):
    with service.tenant(f"Streams {time.time_ns()}", "OPEN") as client:
        held = [client.stream("GET", "/v1/signal/stream") for _ in range(2)]
        for one in held:
            one.__enter__()
        assert client.get("/v1/signal/stream").status_code == 429
        for one in held:
            one.__exit__(None, None, None)
        time.sleep(1.5)
        with client.stream("GET", "/v1/signal/stream") as again:
            assert again.status_code == 200


# API5: broken function level authorisation.


def test_api5_each_route_asks_for_its_scope(service, tenant):
    """For each scope a key with all others: every route of that scope is shut, whatever else the key has."""
    with service.client() as nobody:
        paths = nobody.get("/openapi.json").json()["paths"]
    scopes = {operation["x-scope"] for methods in paths.values() for operation in methods.values()} - {"public"}
    grantable = scopes - {"admin", "attest"}  # the tenant's key has neither, so it grants neither
    for scope in scopes:
        others = sorted(grantable - {scope})
        key = tenant.post("/v1/auth/api-keys", json={"name": "x", "scopes": others}).json()["key"]
        for path, methods in paths.items():
            for method, operation in methods.items():
                if operation["x-scope"] != scope:
                    continue
                answer = tenant.request(method, re.sub(r"\{\w+\}", "x", path), headers={"x-api-key": key})
                assert answer.status_code == 403, (scope, method, path, answer.text)
                assert scope in answer.json()["detail"]


# API6: unrestricted access to sensitive business flows.


def test_api6_nobody_makes_himself_a_tenant_or_hides_his_attempts(service, tenant):
    with service.client() as nobody:
        assert nobody.post("/v1/auth/api-keys", json={"name": "x", "scopes": ["evaluate"]}).status_code == 401
        assert nobody.post("/v1/organizations", json={"name": "x"}).status_code == 401
    numbers = [tenant.post(PATH, json=ONE).json()["attempt"] for _ in range(3)]
    assert numbers == [1, 2, 3]
    assert tenant.delete("/v1/evaluations/x").status_code == 405


# API7: server side request forgery: see test_webhooks.py, addresses inside.


def test_api7_the_only_address_a_caller_gives_is_guarded(service, tenant):
    answer = tenant.post(
        "/v1/webhooks", json={"url": "https://metadata.google.internal/", "events": ["evaluation.completed"]}
    )
    assert answer.status_code == 422
    schemas = httpx.get(f"{service.url}/openapi.json").json()["components"]["schemas"]
    requests = {name: one for name, one in schemas.items() if name.endswith("Request")}
    assert [name for name, one in requests.items() if "url" in one["properties"]] == ["WebhookRequest"]


# API8: security misconfiguration.


def test_api8_answers_carry_headers_of_safety_and_no_traces(service, tenant):
    for path in ("/healthz", "/v1/usage", "/nowhere", "/v1/evaluations/x"):
        answer = tenant.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers and "x-powered-by" not in answer.headers
        assert "Traceback" not in answer.text and "sqlalchemy" not in answer.text.lower()
    answer = tenant.options(
        "/v1/usage", headers={"origin": "https://evil.example", "access-control-request-method": "GET"}
    )
    assert "access-control-allow-origin" not in answer.headers
    for path in ("/redoc", "/.env", "/data/pepper", "/../pepper", "/v1/evaluations/..%2f..%2fpepper"):
        assert tenant.get(path).status_code in (404, 405)


# API9: improper inventory management.


def test_api9_every_route_is_documented_and_of_version_1(service):
    with service.client() as nobody:
        paths = set(nobody.get("/openapi.json").json()["paths"])
    outside = {path for path in paths if not path.startswith("/v1/")}
    assert outside == {
        "/.well-known/epimeter.json",
        "/.well-known/jwks.json",
        "/.well-known/jwks-historical.json",
        "/trust-root.json",
        "/trust-root-{version}.json",
        "/status/{number}",
        "/log/checkpoint",
        "/log/tile/{path}",
        "/healthz",
        "/readyz",
        "/problems/{kind}",
    }
    with service.client() as nobody:
        for path in ("/v0/evaluate", "/v2/evaluate", "/evaluate", "/metrics"):
            assert nobody.get(path).status_code == 404


# API10: unsafe consumption of APIs: the only foreign answers are those of webhooks.


def test_api10_what_a_webhook_answers_is_neither_read_far_nor_shown(service, tenant):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    sent = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.send_header("content-length", str(1 << 30))
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"<script>secret</script>" * 1_000)
                    sent.append(1)

        def log_message(self, *_):
            pass

        def handle(self):
            with contextlib.suppress(OSError):
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        hook = tenant.post("/v1/webhooks", json={"url": url, "events": ["evaluation.completed"]}).json()["id"]
        tenant.post(PATH, json=ONE)
        end = time.monotonic() + 20
        lines = []
        while time.monotonic() < end:
            lines = tenant.get(f"/v1/webhooks/{hook}/deliveries").json()["items"]
            if lines and lines[0]["state"] == "delivered":
                break
            time.sleep(0.2)
        assert lines[0]["last_answer"] == "HTTP 200"
        assert "secret" not in json.dumps(lines)
        assert len(sent) * 23_000 < 20 << 20  # what the buffers of the network hold, not what was offered
    finally:
        server.shutdown()
        server.server_close()
