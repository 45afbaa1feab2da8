"""Signing in with a key or a password: what the cookie is like, when it ends, and who cannot forge what."""

import os
from itertools import count

import pytest
from servers import running
from visitor import Visitor, member, secret

from epimeter.service.secrets import new_key

numbers = count()


def name():
    return f"person-{os.getpid()}-{next(numbers)}@example.org"


@pytest.fixture
def visitor(service):
    with Visitor(service) as made:
        yield made


@pytest.fixture
def admin(service, tenant):
    """An administrator's browser, signed in with the first key of an organisation."""
    with Visitor(service) as made:
        assert made.sign_in(tenant.key["key"]).status_code == 303
        yield made


def test_a_key_signs_a_browser_in_with_a_cookie_that_no_script_reads(service, tenant, visitor):
    answer = visitor.sign_in(tenant.key["key"], place="/account#keys")
    assert answer.status_code == 303 and answer.headers["location"] == "/account"
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said and "samesite=lax" in said and "path=/" in said and "domain" not in said
    page = visitor.get("/account")
    assert page.status_code == 200 and tenant.key["id"] in page.text
    assert page.headers["cache-control"] == "no-store" and "set-cookie" not in page.headers
    assert tenant.key["key"] not in page.text
    visitor.submit("/sign-out")
    assert visitor.get("/account").headers["location"] == "/sign-in?next=/account"


def test_behind_tls_the_cookie_is_secure_and_of_this_host_alone(service, visitor, tmp_path):
    said = visitor.sign_in(service.admin_key).headers["set-cookie"]
    assert said.startswith("__Host-epimeter=") and "Secure" in said
    with running(tmp_path, issuer="http://registry.example") as plain, Visitor(plain) as visitor:
        said = visitor.sign_in(plain.admin_key).headers["set-cookie"]
        assert said.startswith("epimeter=") and "Secure" not in said


def test_every_sign_in_gives_a_new_cookie_and_ends_the_old_one(service, tenant, visitor):
    visitor.cookie = "A" * 43  # planted by whoever wants to know it later
    visitor.sign_in(tenant.key["key"])
    first = visitor.cookie
    assert first != "A" * 43
    visitor.sign_in(tenant.key["key"])
    assert visitor.cookie != first
    with Visitor(service) as thief:
        for known in (first, "A" * 43):
            thief.cookie = known
            assert thief.get("/account").status_code == 303


def test_revoking_a_key_ends_the_sessions_that_began_with_it(service, tenant, visitor):
    made = tenant.post("/v1/auth/api-keys", json={"name": "x", "scopes": ["evaluations:read"]}).json()
    visitor.sign_in(made["key"])
    assert visitor.get("/account").status_code == 200
    tenant.delete(f"/v1/auth/api-keys/{made['id']}").raise_for_status()
    assert visitor.get("/account").status_code == 303
    assert visitor.get("/account.json").status_code == 401


def test_public_pages_set_no_cookie_and_are_the_same_for_members(service, admin, visitor):
    for path in ("/", "/registry", "/docs", "/verify", "/sign-in"):
        mine, anybodys = admin.get(path), visitor.get(path)
        assert "set-cookie" not in mine.headers and "set-cookie" not in anybodys.headers
        if path in ("/registry", "/docs"):
            assert mine.headers["etag"] == anybodys.headers["etag"]


def test_a_stranger_and_a_wrong_password_sound_the_same(service, admin, visitor):
    who = name()
    member(service, admin, who, "reader").close()
    wrong = visitor.sign_in(name=who, password="not the password")
    unknown = visitor.sign_in(name=name(), password="not the password")
    key = visitor.sign_in(new_key().text)
    assert wrong.status_code == unknown.status_code == key.status_code == 401
    assert wrong.text == unknown.text
    assert visitor.sign_in(name=who, password="correct horse battery").status_code == 303


def test_passwords_are_not_guessed_by_the_thousand(service, visitor):
    who = name()
    answers = [visitor.sign_in(name=who, password=f"guess number {k}").status_code for k in range(21)]
    assert set(answers[:20]) == {401} and answers[20] == 429


def test_an_invitation_is_good_for_one_password_that_is_not_weak(service, admin, visitor):
    who = name()
    path = "/invitation/" + secret(admin.submit("/account/members", name=who, role="operator")).rsplit("/", 1)[1]
    for password, again in (
        ("short", "short"),
        ("a" * 30, "a" * 30),
        (who + "1", who + "1"),
        ("x" * 400, "x" * 400),
        ("correct horse battery", "another"),
    ):
        refused = visitor.post(path, data={"password": password, "again": again})
        assert refused.status_code == 422 and 'role="alert"' in refused.text, password
    good = {"password": "correct horse battery", "again": "correct horse battery"}
    assert visitor.post(path, data=good).status_code == 303
    assert visitor.get("/account").status_code == 200
    assert visitor.get(path).status_code == visitor.post(path, data=good).status_code == 404
    assert visitor.get("/invitation/" + "A" * 43).status_code == 404


def test_a_role_may_what_its_page_says_and_no_more(service, admin):
    reader = member(service, admin, name(), "reader")
    auditor = member(service, admin, name(), "auditor")
    operator = member(service, admin, name(), "operator")
    boss = member(service, admin, name(), "administrator")
    with reader, auditor, operator, boss:
        facts = {who: who.get("/account.json").json() for who in (reader, auditor, operator, boss)}
        assert facts[reader]["keys"] is None and facts[reader]["webhooks"] is None and facts[reader]["audit"]
        assert facts[auditor]["keys"] and facts[auditor]["members"] and facts[auditor]["webhooks"] == []
        assert facts[operator]["keys"] is None and facts[operator]["webhooks"] == []
        assert facts[boss]["may"] == {"keys:write": True, "webhooks:write": True, "admin": False}
        for who in (reader, auditor, operator):
            assert who.submit("/account/keys", name="k", scopes="evaluate").status_code == 403
            assert who.submit("/account/members", name=name(), role="administrator").status_code == 403
            assert who.get("/admin").status_code == 403
        assert secret(boss.submit("/account/keys", name="k", scopes="evaluate")).startswith("onto_live_")
        assert boss.submit("/account/keys", name="k", scopes="admin").status_code == 403


def test_a_new_role_and_a_removal_end_the_sessions_of_a_member(service, admin, other):
    who = member(service, admin, name(), "operator")
    id = who.get("/account.json").json()["as"]
    with who, Visitor(service) as stranger:
        stranger.sign_in(other.key["key"])
        assert stranger.submit(f"/account/members/{id}/remove").status_code == 404
        assert admin.submit(f"/account/members/{id}/role", role="reader").status_code == 303
        assert who.get("/account").status_code == 303
    assert admin.submit(f"/account/members/{id}/role", role="king").status_code == 422
    assert admin.submit(f"/account/members/{id}/remove").status_code == 303
    assert admin.get("/account.json").json()["members"] == []
    actions = [one["action"] for one in admin.get("/account/audit.json").json()["items"]]
    assert actions[:2] == ["member.removed", "member.role"] and "session.begun" in actions


def test_a_form_from_another_site_changes_nothing(service, tenant, admin):
    token, form = admin.token(), {"name": "k", "scopes": "evaluate"}
    assert admin.post("/account/keys", data=form).status_code == 403
    assert admin.post("/account/keys", data=form | {"token": "0" * 64}).status_code == 403
    whole = form | {"token": token}
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    ):
        assert admin.post("/account/keys", data=whole, headers=headers).status_code == 403
    del admin.headers["sec-fetch-site"]  # a browser of before 2020
    assert admin.post("/account/keys", data=whole, headers={"origin": "null"}).status_code == 403
    assert admin.post("/sign-in", data={"key": "x"}, headers={"origin": "https://evil.example"}).status_code == 403
    with Visitor(service) as another:  # a token of another session
        another.sign_in(tenant.key["key"])
        assert another.post("/account/keys", data=whole).status_code == 403
    assert len(tenant.get("/v1/auth/api-keys").json()["items"]) == 1
    assert admin.post("/account/keys", json=whole).status_code == 415
    assert admin.post("/account/keys", data=whole).status_code == 200


def test_a_cookie_opens_no_endpoint_of_the_api(admin):
    assert admin.get("/v1/usage").status_code == 401
    assert admin.post("/v1/auth/api-keys", json={"name": "k", "scopes": ["evaluate"]}).status_code == 401


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/\tevil",
        "javascript:alert(1)",
        "/a\r\nX: y",
        "%2f%2fe",
    ],
)
def test_after_signing_in_nobody_is_sent_elsewhere(tenant, visitor, place):
    assert visitor.sign_in(tenant.key["key"], place=place).headers["location"] == "/account"
    page = visitor.get("/sign-in", params={"next": place})
    assert page.status_code == 200 and "evil" not in page.text


def test_a_key_opens_the_twin_of_a_page(service, tenant):
    facts = tenant.get("/account.json").json()
    assert facts["as"] == tenant.key["id"] and facts["organization"].startswith("Tenant")
    with service.client() as nobody:
        assert nobody.get("/account.json").status_code == 401
        assert nobody.get("/account.json", params={"x-api-key": tenant.key["key"]}).status_code == 401


def test_the_operator_sees_the_service_and_makes_its_organisations(service, admin):
    with Visitor(service) as operator:
        operator.sign_in(service.admin_key)
        made = operator.submit("/admin/organizations", name=f"Org {name()}", tier="OPEN")
        assert made.status_code == 303
        place = made.headers["location"]
        assert operator.submit(f"{place}/tier", tier="STANDARD").status_code == 303
        assert operator.get(f"{place}.json").json()["tier"] == "STANDARD"
        boss = member(service, operator, name(), "administrator", place=f"{place}/members")
        with boss:
            facts = boss.get("/account.json").json()
            assert facts["tier"] == "STANDARD" and not facts["may"]["admin"]
            assert boss.get("/admin").status_code == boss.get(place).status_code == 403
        facts = operator.get("/admin.json").json()
        assert {one["role"] for one in facts["keys"]} == {"issuer", "log", "root", "status"}
        assert facts["status_list"]["hours"] < 25 and facts["organizations"]
        assert operator.get("/admin").status_code == 200


def test_a_webhook_is_tested_from_the_page(service, admin):
    import http.server
    import threading

    got = []

    class Heard(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Heard) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/<b>"
        whsec = secret(admin.submit("/account/webhooks", url=url, events="evaluation.completed"))
        assert whsec.startswith("whsec_")
        (hook,) = admin.get("/account.json").json()["webhooks"]
        assert admin.submit(f"/account/webhooks/{hook['id']}/test").status_code == 303
        from installation import until

        until(lambda: admin.get("/account.json").json()["webhooks"][0]["deliveries"][0]["state"] == "delivered")
        server.shutdown()
    assert b'"webhook.test"' in got[0]
    assert "<b>" not in admin.get("/account").text
    assert admin.submit(f"/account/webhooks/{hook['id']}/remove").status_code == 303
    assert admin.get("/account.json").json()["webhooks"] == []
