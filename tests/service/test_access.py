"""Keys, scopes, limits a minute, the monthly quota, idempotency."""

import datetime
import re
import time
from concurrent.futures import ThreadPoolExecutor

import ground
import pytest
from servers import running

from epimeter.service.secrets import digest, key_id, matches, new_key

PATH = "/v1/evaluate"
ONE = ground.body({"confidence": [0.9], "correct": [True]})


def test_a_key_has_its_shape_its_checksum_and_256_bits():
    key = new_key()
    assert re.fullmatch(r"onto_live_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}", key.text)
    assert key_id(key.text) == key.id
    for place in range(10, len(key.text)):
        letter = "A" if key.text[place] != "A" else "B"
        if key.text[place] != "_":
            assert key_id(key.text[:place] + letter + key.text[place + 1 :]) is None
    assert key.text not in repr(key)
    stored = digest(b"p" * 32, key.text)
    assert matches(b"p" * 32, key.text, stored)
    assert not matches(b"q" * 32, key.text, stored)
    assert not matches(b"p" * 32, key.text, None)


def test_without_a_key_and_with_a_wrong_one_the_answer_is_401(service):
    with service.client() as nobody:
        answer = nobody.post(PATH, json=ONE)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert nobody.get("/v1/usage", params={"x-api-key": service.admin_key}).status_code == 401
    last = "1" if service.admin_key.endswith("0") else "0"
    for wrong in ("", "onto_", new_key().text, service.admin_key[:-1] + last, service.admin_key + "x", "é"):
        with service.client() as nobody:
            answer = nobody.get("/v1/usage", headers={"x-api-key": wrong.encode()})
            assert answer.status_code == 401, wrong
            assert answer.json()["type"] == "/problems/unauthenticated"
    with service.client() as nobody:
        good = {"authorization": f"Bearer {service.admin_key}"}
        assert nobody.get("/v1/usage", headers=good).status_code == 200


def test_a_key_is_shown_once_and_ends_when_told(tenant):
    made = tenant.post("/v1/auth/api-keys", json={"name": "ci", "scopes": ["evaluate", "evaluations:read"]})
    assert made.status_code == 201
    key = made.json()
    assert made.headers["cache-control"] == "no-store"
    listed = tenant.get("/v1/auth/api-keys")
    assert key["key"] not in listed.text and "digest" not in listed.text
    assert key["id"] in listed.text
    headers = {"x-api-key": key["key"]}
    assert tenant.get("/v1/usage", headers=headers).status_code == 200
    assert tenant.get("/v1/auth/api-keys", headers=headers).status_code == 403
    end = time.monotonic() + 20
    while time.monotonic() < end and tenant.get(f"/v1/auth/api-keys/{key['id']}").json()["last_used_at"] is None:
        time.sleep(0.2)
    assert tenant.get(f"/v1/auth/api-keys/{key['id']}").json()["last_used_at"] > key["created_at"]
    assert tenant.delete(f"/v1/auth/api-keys/{key['id']}").status_code == 204
    assert tenant.get("/v1/usage", headers=headers).status_code == 401
    assert tenant.get(f"/v1/auth/api-keys/{key['id']}").json()["revoked_at"] is not None


def test_a_key_cannot_give_what_it_has_not(tenant):
    wanted = {"name": "more", "scopes": ["admin"]}
    assert tenant.post("/v1/auth/api-keys", json=wanted).status_code == 403
    few = tenant.post("/v1/auth/api-keys", json={"name": "few", "scopes": ["keys:write"]}).json()["key"]
    answer = tenant.post("/v1/auth/api-keys", json={"name": "x", "scopes": ["evaluate"]}, headers={"x-api-key": few})
    assert answer.status_code == 403


def test_a_key_expires(tenant):
    soon = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1.2)).isoformat()
    key = tenant.post(
        "/v1/auth/api-keys", json={"name": "s", "scopes": ["evaluations:read"], "expires_at": soon}
    ).json()
    assert tenant.get("/v1/usage", headers={"x-api-key": key["key"]}).status_code == 200
    time.sleep(1.5)
    assert tenant.get("/v1/usage", headers={"x-api-key": key["key"]}).status_code == 401
    past = {"name": "p", "scopes": ["evaluate"], "expires_at": "2020-01-01T00:00:00Z"}
    assert tenant.post("/v1/auth/api-keys", json=past).status_code == 422


def test_rotation_lets_the_old_key_live_for_the_overlap(tenant):
    wanted = {"name": "old", "scopes": ["evaluations:read"]}
    old = tenant.post("/v1/auth/api-keys", json=wanted).json()
    new = tenant.post("/v1/auth/api-keys", json={**wanted, "replaces": old["id"], "overlap_hours": 1}).json()
    for key in (old, new):
        assert tenant.get("/v1/usage", headers={"x-api-key": key["key"]}).status_code == 200
    newer = {**wanted, "replaces": new["id"], "overlap_hours": 0}
    tenant.post("/v1/auth/api-keys", json=newer)
    time.sleep(0.05)
    assert tenant.get("/v1/usage", headers={"x-api-key": new["key"]}).status_code == 401
    assert tenant.post("/v1/auth/api-keys", json={**wanted, "replaces": "zzzzzzzz"}).status_code == 404


def test_only_an_administrator_makes_organisations_and_tiers(service, tenant):
    assert tenant.post("/v1/organizations", json={"name": "Mine", "tier": "CRITICAL"}).status_code == 403
    assert tenant.put(f"/v1/organizations/{tenant.organization}/tier", json={"tier": "CRITICAL"}).status_code == 403
    with service.admin as admin:
        answer = admin.put(f"/v1/organizations/{tenant.organization}/tier", json={"tier": "CRITICAL"})
        assert answer.json()["tier"] == "CRITICAL"
        assert admin.put("/v1/organizations/org_x/tier", json={"tier": "OPEN"}).status_code == 404
        name = f"Twin {time.time_ns()}"
        assert admin.post("/v1/organizations", json={"name": name}).status_code == 201
        assert admin.post("/v1/organizations", json={"name": name}).status_code == 409
        assert admin.post("/v1/organizations", json={"name": name.replace("T", "\u0422")}).status_code == 409
        assert admin.post("/v1/organizations", json={"name": "a\u202eb"}).status_code == 422
        named = {"name": "a\u202eb", "scopes": ["evaluate"]}
        assert admin.post("/v1/auth/api-keys", json=named).status_code == 422
    assert tenant.get("/v1/usage").json()["tier"] == "CRITICAL"


def test_the_eleventh_request_of_a_minute_is_refused_on_open(service):
    """ERS 6.3, C-25."""
    with service.tenant(f"Open {time.time_ns()}", "OPEN") as client:
        for number in range(10):
            answer = client.get("/v1/usage")
            assert answer.status_code == 200
            assert answer.headers["ratelimit-policy"].startswith('"minute";q=10;w=60')
            assert answer.headers["ratelimit"].startswith(f'"minute";r={9 - number};t=')
        answer = client.get("/v1/usage")
        assert answer.status_code == 429
        assert answer.json()["type"] == "/problems/rate-limited"
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        # The limit is the organisation's: a second key does not help, nor another scope.
        with service.admin as admin:
            wanted = {"name": "2", "scopes": ["evaluate"], "organization": client.organization}
            key = admin.post("/v1/auth/api-keys", json=wanted).json()["key"]
        assert client.post(PATH, json=ONE, headers={"x-api-key": key}).status_code == 429


def test_requests_at_once_are_counted_right(service):
    with service.tenant(f"Rush {time.time_ns()}", "OPEN") as client, ThreadPoolExecutor(20) as pool:
        codes = list(pool.map(lambda _: client.get("/v1/usage").status_code, range(40)))
    assert codes.count(200) == 10 and codes.count(429) == 30


def test_the_quota_of_the_month_is_kept_exactly(service):
    """An OPEN organisation raised to many requests a minute, and 100 evaluations counted before it was lowered again."""
    with service.tenant(f"Quota {time.time_ns()}", "CRITICAL") as client, service.admin as admin:
        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda _: client.post(PATH, json=ONE).status_code, range(97)))
        assert done == [200] * 97
        admin.put(f"/v1/organizations/{client.organization}/tier", json={"tier": "OPEN"})
        time.sleep(0.1)
    # Its minute is full of the requests before; the quota alone is asked here, in the store's own words.
    from epimeter.store import Store, evaluations
    from epimeter.store.moments import month_of, now

    store = Store(service.postgres or f"sqlite:///{service.folder}/epimeter.db", pool=4)
    month = month_of(now())

    def count(_):
        with store.writing() as db:
            return evaluations.count_use(db, client.organization, month, 100)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(count, range(12)))
    assert sorted(one for one in found if one is not None) == [98, 99, 100]
    with store.reading() as db:
        assert evaluations.used(db, client.organization, month) == 100
    store.close()


def test_a_used_up_quota_says_when_the_next_month_begins(service, tmp_path):
    from epimeter.store import Store
    from epimeter.store.moments import month_of, now
    from epimeter.store.tables import usage

    with service.tenant(f"Empty {time.time_ns()}", "OPEN") as client:
        store = Store(service.postgres or f"sqlite:///{service.folder}/epimeter.db", pool=2)
        with store.writing() as db:
            db.execute(usage.insert().values(organization=client.organization, month=month_of(now()), evaluations=99))
        store.close()
        answer = client.post(PATH, json=ONE)
        assert answer.status_code == 200
        assert '"month";r=0' in answer.headers["ratelimit"]
        answer = client.post(PATH, json=ONE)
        assert answer.status_code == 429
        assert answer.json()["type"] == "/problems/quota-used-up"
        assert int(answer.headers["retry-after"]) >= 1
        assert client.get("/v1/usage").json()["evaluations"] == 100


def test_one_idempotency_key_is_one_evaluation(tenant):
    headers = {"idempotency-key": "abc-1"}
    first = tenant.post(PATH, json=ONE, headers=headers)
    again = tenant.post(PATH, json=ONE, headers=headers)
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    assert again.headers["idempotency-replayed"] == "true" and "idempotency-replayed" not in first.headers
    assert again.headers["location"] == first.headers["location"]
    assert tenant.get("/v1/usage").json()["evaluations"] == 1
    other = tenant.post(PATH, json={**ONE, "model_id": "n"}, headers=headers)
    assert other.status_code == 422 and other.json()["type"] == "/problems/key-reused"
    assert tenant.post(PATH, json=ONE, headers={"idempotency-key": "a b"}).status_code == 400
    assert tenant.post(PATH, json=ONE, headers={"idempotency-key": "x" * 256}).status_code == 400


def test_a_refused_request_leaves_its_idempotency_key_free(tenant):
    headers = {"idempotency-key": "k"}
    wrong = ground.body({"confidence": [7], "correct": [True]})
    assert tenant.post(PATH, json=wrong, headers=headers).status_code == 422
    assert tenant.post(PATH, json=ONE, headers=headers).status_code == 200


def test_an_idempotency_key_is_the_organisations_own(tenant, other):
    headers = {"idempotency-key": "shared"}
    first = tenant.post(PATH, json=ONE, headers=headers)
    second = other.post(PATH, json=ONE, headers=headers)
    assert second.status_code == 200
    assert first.json()["evaluation_id"] != second.json()["evaluation_id"]


def test_the_same_request_at_once_is_done_once(tenant):
    headers = {"idempotency-key": "rush"}
    made = ground.body(ground.columns(3000))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: tenant.post(PATH, json=made, headers=headers), range(8)))
    codes = [answer.status_code for answer in answers]
    assert set(codes) <= {200, 409} and 200 in codes
    assert len({answer.content for answer in answers if answer.status_code == 200}) == 1
    assert tenant.get("/v1/usage").json()["evaluations"] == 1


def test_strangers_are_limited_by_their_address_whatever_their_headers_say(tmp_path):
    """Wrong keys and requests without a key; a proxy's headers are not believed unless it is trusted."""
    with running(tmp_path, failures_per_minute=3, public_per_minute=5) as made:
        with made.client("onto_live_x") as wrong:
            claims = [{"x-forwarded-for": f"10.0.0.{i}", "forwarded": f"for=10.0.0.{i}"} for i in range(5)]
            codes = [wrong.get("/v1/usage", headers=claim).status_code for claim in claims]
            assert codes == [401] * 3 + [429] * 2
        with made.admin as admin:  # who has a key is not locked out by who has none
            assert admin.get("/v1/usage").status_code == 200
        with made.client() as nobody:
            codes = [nobody.get("/v1/tiers").status_code for _ in range(7)]
            assert codes == [200] * 5 + [429] * 2
            assert nobody.get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/v1/tiers", "/healthz", "/v1/registry", "/openapi.json", "/log/checkpoint"])
def test_public_pages_need_no_key(service, path):
    with service.client() as nobody:
        assert nobody.get(path).status_code == 200


def test_a_key_touches_no_key_of_more_rights_and_its_children_end_no_later(service):
    """A keys:write key ended the administrator's; a key for an hour made one for ever."""
    with service.admin as admin:
        mine = admin.get("/v1/auth/api-keys").json()["items"]
        admins = next(one["id"] for one in mine if one["id"] in service.admin_key)
        soon = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)).isoformat()
        wanted = {"name": "small", "scopes": ["keys:write", "evaluations:read"], "expires_at": soon}
        small = admin.post("/v1/auth/api-keys", json=wanted).raise_for_status().json()
        wide = admin.post("/v1/auth/api-keys", json={"name": "wide", "scopes": ["keys:write", "evaluate"]}).json()
        with service.client(small["key"]) as client:
            for key in (admins, wide["id"]):
                answer = client.delete(f"/v1/auth/api-keys/{key}")
                assert answer.status_code == 403 and "may more" in answer.text
                wanted = {"name": "x", "scopes": ["keys:write"], "replaces": key, "overlap_hours": 0}
                assert client.post("/v1/auth/api-keys", json=wanted).status_code == 403
            child = client.post("/v1/auth/api-keys", json={"name": "child", "scopes": ["keys:write"]}).json()
            assert child["expires_at"] == small["expires_at"]
            later = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=2)).isoformat()
            answer = client.post("/v1/auth/api-keys", json={"name": "x", "scopes": ["keys:write"], "expires_at": later})
            assert answer.status_code == 403 and "no later" in answer.text
            assert client.delete(f"/v1/auth/api-keys/{child['id']}").status_code == 204
        assert admin.get("/v1/usage").status_code == 200
        # A key that another replaces ends too, and so do its children.
        replaced = {"name": "next", "scopes": ["keys:write"], "replaces": wide["id"], "overlap_hours": 1}
        assert admin.post("/v1/auth/api-keys", json=replaced).status_code == 201
        with service.client(wide["key"]) as client:
            child = client.post("/v1/auth/api-keys", json={"name": "child", "scopes": ["evaluate"]}).json()
            assert child["expires_at"] is not None


def test_an_idempotency_key_stands_for_method_path_query_and_body(tenant):
    body = b'{"confidence":0.9,"correct":true}\n'
    headers = {"content-type": "application/x-ndjson", "idempotency-key": "one"}
    first = tenant.post("/v1/evaluate", content=body, params={"model_id": "a"}, headers=headers)
    again = tenant.post("/v1/evaluate", content=body, params={"model_id": "a"}, headers=headers)
    assert again.headers["idempotency-replayed"] == "true" and again.content == first.content
    for other in (
        {"model_id": "b"},
        {"model_id": "a", "domain": "medical"},
        {"model_id": "a", "metrics": "brier_score"},
    ):
        answer = tenant.post("/v1/evaluate", content=body, params=other, headers=headers)
        assert answer.status_code == 422 and "another request" in answer.text, other
