"""Signing in through an OpenID provider, which is a process of its own and may lie."""

import json
import re
import subprocess
import sys
import zlib
from pathlib import Path

import httpx
import pytest
from servers import running
from visitor import Visitor, secret


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("provider")


@pytest.fixture(scope="module")
def openid(place):
    words = [sys.executable, str(Path(__file__).with_name("provider.py")), str(place)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip()
        with running(place, oidc=address, oidc_client="registry", oidc_secret="hush") as service:
            yield service
        process.terminate()


def signed_in(service, place, visitor, **who):
    """Go to the provider as this person, and come back; the answer of our own page."""
    (place / "who.json").write_text(json.dumps(who))
    away = visitor.get("/sign-in/oidc", params={"next": "/evaluations"})
    assert away.status_code == 303, away.text
    trip = re.match("(__Host-epimeter-oidc=[^;]*);.*HttpOnly.*SameSite=lax.*Secure", away.headers["set-cookie"])
    there = httpx.get(away.headers["location"])
    back = there.headers["location"].removeprefix("https://registry.example")
    assert back.startswith("/sign-in/oidc/back?")
    return visitor.get(back, headers={"cookie": trip[1]}), back, trip[1]


def test_whoever_was_invited_signs_in_through_the_provider(openid, place):
    with Visitor(openid) as admin, Visitor(openid) as person:
        admin.sign_in(openid.admin_key)
        assert "Sign in through" in person.get("/sign-in").text
        stranger = {"sub": "7", "email": "mo@example.org", "email_verified": True}
        answer, *_ = signed_in(openid, place, person, **stranger)
        assert answer.status_code == 401 and "nobody is invited" in answer.text
        secret(admin.submit("/account/members", name="mo@example.org", role="auditor"))
        answer, back, trip = signed_in(openid, place, person, **stranger)
        assert answer.status_code == 303 and answer.headers["location"] == "/evaluations"
        assert person.get("/account.json").json()["scopes"] == ["audit:read", "certificates:read", "evaluations:read"]
        # The same code again, and the same way back in another browser.
        with Visitor(openid) as thief:
            assert thief.get(back, headers={"cookie": trip}).status_code == 401
            assert thief.get(back).status_code == 403
        # Known by subject from now on, whatever the address; and nobody else becomes that member by the address.
        answer, *_ = signed_in(openid, place, person, sub="7", email="new@example.org")
        assert answer.status_code == 303
        answer, *_ = signed_in(openid, place, person, sub="8", email="mo@example.org", email_verified=True)
        assert answer.status_code == 401


@pytest.mark.parametrize(
    "lie",
    [
        {"forge": True},
        {"aud": "another"},
        {"aud": ["registry", "another"]},
        {"iss": "https://evil.example"},
        {"nonce": "x"},
        {"exp": 1},
        {"iat": 10**11},
        {"sub": ""},
        {"email_verified": False},
        {"email_verified": "true"},
    ],
)
def test_a_token_that_is_not_for_us_signs_nobody_in(openid, place, lie):
    with Visitor(openid) as admin, Visitor(openid) as person:
        admin.sign_in(openid.admin_key)
        name = f"{zlib.crc32(str(lie).encode())}@example.org"
        secret(admin.submit("/account/members", name=name, role="reader"))
        answer, *_ = signed_in(openid, place, person, **({"sub": name, "email": name, "email_verified": True} | lie))
        assert answer.status_code == 401 and person.get("/account").status_code == 303


def test_a_state_of_another_sign_in_is_refused(openid, place):
    with Visitor(openid) as person:
        _, back, _ = signed_in(openid, place, person, sub="9")
        _, _, trip = signed_in(openid, place, person, sub="9")
        assert person.get(back, headers={"cookie": trip}).status_code == 403
        assert person.get(back, headers={"cookie": trip[:-1] + "0"}).status_code == 403


@pytest.mark.parametrize("settings", [{"oidc": "https://id.example"}, {"oidc_client": "c"}])
def test_half_a_provider_is_refused_at_the_start(tmp_path, settings):
    with pytest.raises(RuntimeError, match="must be set together"), running(tmp_path, **settings):
        pass


def test_a_provider_without_tls_is_refused_at_the_start(tmp_path):
    with (
        pytest.raises(RuntimeError, match="https address"),
        running(tmp_path, oidc="http://id.example", oidc_client="c", oidc_secret="s"),
    ):
        pass
