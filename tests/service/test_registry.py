"""From an evaluation to a certificate that a stranger verifies; the log; revocation."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import ground
import pytest

from epimeter.trust.anchors import Trust
from epimeter.trust.checkpoint import verify_checkpoint
from epimeter.trust.envelope import Envelope
from epimeter.trust.note import Note
from epimeter.trust.root import TrustRoot
from epimeter.trust.status_list import open_status_list
from epimeter.trust.verify import verify

PATH = "/v1/evaluate"


def evaluated(client, n=2000, seed=0, **facts):
    answer = client.post(PATH, json=ground.body(ground.columns(n, seed), model_version="1", **facts))
    assert answer.status_code == 200, answer.text
    assert answer.json()["certifiable"], answer.json()["obstacles"]
    return answer.json()


def certified(client, **options):
    found = evaluated(client, **options)
    answer = client.post("/v1/certificates", json={"evaluation_id": found["evaluation_id"]})
    assert answer.status_code == 201, answer.text
    return found, answer


@pytest.fixture
def trust(service):
    """What a stranger believes: the trust root, fetched over the network and pinned."""
    with service.client() as nobody:
        data = nobody.get("/trust-root.json").content
    return Trust.of(TrustRoot.from_document(json.loads(Envelope.from_json(data).payload)))


def test_a_certificate_is_verified_by_a_stranger_with_files_alone(service, tenant, trust):
    found, answer = certified(tenant)
    id = answer.json()["certificate"]["id"]
    assert answer.headers["location"] == f"/v1/certificates/{id}"
    with service.client() as nobody:
        data = nobody.get(f"/v1/certificates/{id}").content
        statuses = nobody.get("/status/1").content
    assert data == answer.content
    verdict = verify(data, trust, at=datetime.now(UTC), status=statuses)
    assert verdict.shown == "VALID", verdict.to_json()
    body = json.loads(data)
    assert body["metrics"]["ece"] == found["metrics"]["ece"]
    assert body["metrics"]["ers"] == found["metrics"]["ers"]
    assert body["certificate"]["level"] == found["compliance"]["level"]
    assert body["evidence"]["dataset_digest"] == found["dataset"]["digest"]
    assert body["evidence"]["attempt"] == 1
    for name in (b'"ece"', b'"level":"L'):
        place = data.index(name) + len(name)
        digit = b"1" if data[place : place + 1] != b"1" else b"2"
        changed = data[:place] + digit + data[place + 1 :]
        assert verify(changed, trust, at=datetime.now(UTC), status=statuses).shown != "VALID"


def test_the_attempt_number_tells_of_every_evaluation_before(tenant):
    """A23: test until it passes is seen."""
    for seed in range(3):
        tenant.post(PATH, json=ground.body({"confidence": [0.95] * 4, "correct": [False] * 4}, model_version=str(seed)))
    _, answer = certified(tenant, seed=1)
    assert answer.json()["evidence"]["attempt"] == 4
    first = answer.json()["certificate"]["id"]
    _, answer = certified(tenant, seed=2)
    assert answer.json()["evidence"]["attempt"] == 5
    assert answer.json()["certificate"]["supersedes"] == first
    assert tenant.get(f"/v1/certificates/{first}/status").json()["status"] == "SUPERSEDED"


def test_an_evaluation_has_one_certificate_however_often_it_is_asked_for(tenant):
    found = evaluated(tenant)
    wanted = {"evaluation_id": found["evaluation_id"]}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: tenant.post("/v1/certificates", json=wanted), range(4)))
    codes = sorted(answer.status_code for answer in answers)
    assert codes.count(201) == 1 and set(codes) <= {200, 201, 409}
    again = tenant.post("/v1/certificates", json=wanted)
    assert again.status_code == 200
    assert again.json()["evidence"]["attempt"] == 1


def test_what_does_not_suffice_gets_no_certificate(tenant, other):
    few = tenant.post(PATH, json=ground.body(ground.columns(500))).json()
    answer = tenant.post("/v1/certificates", json={"evaluation_id": few["evaluation_id"]})
    assert answer.status_code == 409 and "ERS-3.1-a" in answer.text
    untimed = tenant.post(PATH, json=ground.body(ground.columns(2000, timestamps=False))).json()
    assert tenant.post("/v1/certificates", json={"evaluation_id": untimed["evaluation_id"]}).status_code == 409
    assert tenant.post("/v1/certificates", json={"evaluation_id": "eval_nothing"}).status_code == 404
    found = evaluated(tenant)
    assert other.post("/v1/certificates", json={"evaluation_id": found["evaluation_id"]}).status_code == 404


def test_a_preregistration_is_logged_and_named_by_the_certificate(service, tenant, other, trust):
    wanted = {"model_id": "m", "model_version": "1", "aim": "L1", "data_source": "production, October 2026"}
    made = tenant.post("/v1/preregistrations", json=wanted, headers={"idempotency-key": "r"})
    assert made.status_code == 201, made.text
    id = made.json()["id"]
    assert tenant.post("/v1/preregistrations", json=wanted, headers={"idempotency-key": "r"}).json()["id"] == id
    assert tenant.get(f"/v1/preregistrations/{id}").json()["document"]["plan"]["aim"] == "L1"
    assert other.get(f"/v1/preregistrations/{id}").status_code == 404
    _, answer = certified(tenant, preregistration=id)
    assert answer.json()["evidence"]["preregistration"]["id"] == id
    with service.client() as nobody:
        statuses = nobody.get("/status/1").content
    assert verify(answer.content, trust, at=datetime.now(UTC), status=statuses).shown == "VALID"
    assert other.post(PATH, json=ground.body(ground.columns(2000), preregistration=id)).status_code == 404


def test_a_revoked_certificate_is_revoked_everywhere(service, tenant, other, trust):
    _, answer = certified(tenant)
    id = answer.json()["certificate"]["id"]
    assert other.post(f"/v1/certificates/{id}/revoke", json={"reason": "not mine"}).status_code == 404
    done = tenant.post(f"/v1/certificates/{id}/revoke", json={"reason": "labels were wrong"})
    state = done.json()
    assert (state["id"], state["status"], state["reason"]) == (id, "REVOKED", "labels were wrong")
    assert tenant.post(f"/v1/certificates/{id}/revoke", json={"reason": "again"}).status_code == 409
    with service.client() as nobody:
        statuses = nobody.get("/status/1").content
        assert verify(answer.content, trust, at=datetime.now(UTC), status=statuses).shown == "REVOKED"
        verified = nobody.get(f"/v1/certificates/{id}/verify").json()
        assert verified["verdict"] == "REVOKED" and verified["standing"]["reason"] == "labels were wrong"
        assert nobody.get(f"/v1/certificates/{id}/status").json() == state
        assert "REVOKED" in nobody.get(f"/v1/certificates/{id}/badge.svg").text
        line = nobody.get("/v1/registry", params={"limit": 200}).json()["items"]
        assert [one["status"] for one in line if one["id"] == id] == ["REVOKED"]


def test_the_registry_is_searched_page_by_page(service, tenant):
    _, answer = certified(tenant, domain="code")
    name = answer.json()["subject"]["organization"]
    with service.client() as nobody:
        found = nobody.get("/v1/registry", params={"organization": name}).json()["items"]
        assert [one["id"] for one in found] == [answer.json()["certificate"]["id"]]
        assert found[0]["domain"] == "code" and found[0]["status"] == "VALID"
        assert (
            nobody.get("/v1/registry", params={"organization": name, "level": "L3", "domain": "legal"}).json()["items"]
            == []
        )
        assert nobody.get("/v1/registry", params={"level": "L9"}).status_code == 422
        seen, cursor = [], None
        while True:
            page = nobody.get("/v1/registry", params={"limit": 1, **({"cursor": cursor} if cursor else {})}).json()
            seen += [one["id"] for one in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert len(seen) == len(set(seen)) and answer.json()["certificate"]["id"] in seen


def test_other_forms_of_a_certificate(service, tenant):
    _, answer = certified(tenant)
    id = answer.json()["certificate"]["id"]
    with service.client() as nobody:
        envelope = Envelope.from_json(nobody.get(f"/v1/certificates/{id}.dsse").content)
        assert json.loads(envelope.payload)["certificate"]["id"] == id
        picture = nobody.get(f"/v1/certificates/{id}/badge.svg")
        assert picture.headers["content-type"].startswith("image/svg+xml") and "VALID" in picture.text
        for path in ("", ".dsse", "/badge.svg", "/verify", "/status"):
            assert nobody.get(f"/v1/certificates/ONTO-CERT-2026-0000000000000000{path}").status_code == 404


def test_the_log_is_served_as_tiles_under_a_signed_checkpoint(service, trust):
    with service.client() as nobody:
        about = nobody.get("/.well-known/epimeter.json").json()
        policy = trust.policies[about["log"]["origin"]]
        seen = verify_checkpoint(Note.from_bytes(nobody.get("/log/checkpoint").content), policy)
        size = seen.checkpoint.size
        assert size >= 1
        width = size % 256
        path = f"/log/tile/0/{size // 256:03}" + (f".p/{width}" if width else "")
        if width:
            assert len(nobody.get(path).content) == 32 * width
            assert nobody.get(f"/log/tile/entries/{size // 256:03}.p/{width}").status_code == 200
        assert nobody.get("/log/tile/0/999").status_code == 404
        assert nobody.get("/log/tile/../../epimeter.db").status_code == 404
        assert nobody.get("/log/tile/%2e%2e/keys").status_code == 404
        keys = nobody.get("/.well-known/jwks.json").json()["keys"]
        assert {key["alg"] for key in keys} == {"Ed25519"} and all("d" not in key for key in keys)
        assert nobody.get("/.well-known/jwks-historical.json").json() == {"keys": []}
        assert nobody.get("/status/2").status_code == 404
        listing = Envelope.from_json(nobody.get("/status/1").content)
        ring = {key: record.public for key, record in trust.statuses.items()}
        open_status_list(listing, ring, list_id=about["status_lists"][0], at=datetime.now(UTC))


def test_a_certificate_that_was_issued_when_the_process_died_is_found_again(service, tenant):
    """The claim stands without an id, and lapses; the next request finds what was issued instead of issuing twice."""
    from epimeter.store import Store
    from epimeter.store.tables import certificates

    found, answer = certified(tenant)
    store = Store(service.postgres or f"sqlite:///{service.folder}/epimeter.db", pool=2)
    with store.writing() as db:
        mine = certificates.c.evaluation == found["evaluation_id"]
        db.execute(certificates.update().where(mine).values(id=None, claimed_at=1))
    again = tenant.post("/v1/certificates", json={"evaluation_id": found["evaluation_id"]})
    store.close()
    assert again.status_code == 201
    assert again.json()["certificate"]["id"] == answer.json()["certificate"]["id"]
    assert again.json()["evidence"]["attempt"] == 1


def test_signals_are_committed_before_they_are_shown(service, tenant):
    import hashlib

    for number in range(5):  # numbers are shown above so many organisations and 1,000 records
        with service.tenant(f"Signal {number}") as one:
            one.post(PATH, json=ground.body(ground.columns(300))).raise_for_status()
    end = time.monotonic() + 20
    found = {}
    while time.monotonic() < end:
        answer = tenant.get("/v1/signal/status")
        if answer.status_code == 200 and answer.json()["metrics"]["global_ece"] is not None:
            found = answer.json()
            break
        time.sleep(0.3)
    assert found["signal_id"].startswith("SIG-") and found["ttl"] == 3600
    assert 0 <= found["metrics"]["global_ece"] <= 1 and 0 <= found["metrics"]["global_u_recall"] <= 100
    assert found["available_at"] == found["timestamp"]
    index = found["commitment"]["log_index"]
    with service.client() as nobody:
        size = int(nobody.get("/log/checkpoint").text.split("\n")[1])
        number, place = divmod(index, 256)
        width = "" if size >= 256 * (number + 1) else f".p/{size - 256 * number}"
        bundle = nobody.get(f"/log/tile/entries/{number:03}{width}").content
        entries = []
        while bundle:
            length = int.from_bytes(bundle[:2], "big")
            entries.append(json.loads(bundle[2 : 2 + length]))
            bundle = bundle[2 + length :]
        entry = entries[place]
        assert entry["type"] == "signal.committed" and entry["id"] == found["signal_id"]
        assert entry["digest"] == found["commitment"]["digest"]
        from epimeter.trust.canonical import canonical_json

        body = {name: found[name] for name in ("signal_id", "timestamp", "entropy", "metrics", "ttl")}
        assert entry["digest"] == f"sha-256:{hashlib.sha256(canonical_json(body)).hexdigest()}"
        # OPEN, and whoever has no key, gets nothing younger than an hour.
        assert nobody.get("/v1/signal/status").status_code == 404
    with service.tenant(f"Open {time.time_ns()}", "OPEN") as late:
        assert late.get("/v1/signal/status").status_code == 404


def test_the_stream_goes_on_where_it_ended(tenant):
    def take(count, last=None):
        headers = {} if last is None else {"last-event-id": last}
        events = []
        with tenant.stream("GET", "/v1/signal/stream", headers=headers) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    events.append(line[4:])
                if len(events) >= count:
                    return events
        return events

    first = take(2)
    assert first == sorted(first)
    again = take(2, last=first[0])
    assert again[0] == first[1]
    assert tenant.get("/v1/signal/stream", headers={"last-event-id": "nothing"}).status_code == 422
