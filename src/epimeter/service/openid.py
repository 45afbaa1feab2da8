# SPDX-License-Identifier: Apache-2.0
"""Signing in through an OpenID provider: the code flow with PKCE (OpenID Connect Core 1.0, RFC 7636).

1. The browser is sent to the provider with a state, a nonce and the hash of a verifier, which it keeps in a sealed cookie.
2. It comes back with a code and that state; the code is exchanged, by us, for an ID token.
3. The token is signed by a key of the provider, for us, for this nonce, and not over.
4. Whoever was invited under the verified e-mail address in it is that member, and from then on known by issuer and subject.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets as randomness
import threading
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from epimeter.errors import EpimeterError
from epimeter.service import sessions
from epimeter.service.access import Caller
from epimeter.service.problems import Problem
from epimeter.service.settings import Settings, SettingsError
from epimeter.store import Store, journal, members

ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"]
KEPT = 3600.0
"""Seconds for which the provider's description and keys are kept."""
MINUTES = 10
LARGEST = 1 << 20
LEEWAY = 60
SEPARATOR = "."


class ProviderError(EpimeterError):
    """The provider did not do as OpenID Connect says."""


class Provider:
    """An OpenID provider that this service trusts to say who somebody is."""

    def __init__(self, settings: Settings) -> None:
        issuer, client, secret = settings.oidc, settings.oidc_client, settings.oidc_secret
        if not issuer or not client or not secret:
            raise SettingsError("oidc, oidc_client and oidc_secret must be set together; one of them is missing")
        try:
            _refuse_plain(issuer)
        except ProviderError as fault:
            raise SettingsError(f"oidc: {fault}") from None
        self.issuer, self.client, self._secret = issuer, client, secret
        self._lock = threading.Lock()
        self._known: tuple[float, dict[str, Any], KeySet] | None = None

    def _described(self, *, anew: bool = False) -> tuple[dict[str, Any], KeySet]:
        """What the provider says of itself, and its keys."""
        with self._lock:
            if self._known is None or anew or time.monotonic() - self._known[0] > KEPT:
                facts = _fetched(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
                if facts.get("issuer") != self.issuer:
                    raise ProviderError(
                        f"the provider calls itself {str(facts.get('issuer'))[:80]!r}, not {self.issuer}"
                    )
                try:
                    keys = KeySet.import_key_set(_fetched(str(facts.get("jwks_uri"))))  # type: ignore[arg-type]
                except (JoseError, ValueError, KeyError, TypeError):
                    raise ProviderError("the provider's keys cannot be read") from None
                self._known = (time.monotonic(), facts, keys)
            return self._known[1], self._known[2]

    def begin(self, pepper: bytes, back: str, place: str) -> tuple[str, str]:
        """Where to send the browser, and what it must bring back in its cookie."""
        facts, _ = self._described()
        trip = {name: randomness.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(trip["verifier"].encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": back,
            "scope": "openid email",
            "state": trip["state"],
            "nonce": trip["nonce"],
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        there = str(facts.get("authorization_endpoint"))
        _refuse_plain(there)
        glue = "&" if urlsplit(there).query else "?"
        return f"{there}{glue}{urlencode(query)}", sealed(pepper, trip | {"next": place, "at": int(time.time())})

    def claims(self, trip: dict[str, Any], code: str, back: str) -> dict[str, Any]:
        """What the provider says of who came back with a code."""
        facts, keys = self._described()
        words = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": trip["verifier"],
        }
        said = _fetched(str(facts.get("token_endpoint")), words, (self.client, self._secret))
        text = said.get("id_token")
        if not isinstance(text, str):
            raise ProviderError("the provider gave no ID token")
        try:
            try:
                token = jwt.decode(text, keys, algorithms=ALGORITHMS)
            except (JoseError, ValueError):  # a key that came since
                token = jwt.decode(text, self._described(anew=True)[1], algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            raise ProviderError("the ID token is not signed by a key of the provider") from None
        return self._doubted(token.claims, trip["nonce"])

    def _doubted(self, claims: dict[str, Any], nonce: str) -> dict[str, Any]:
        audience, now = claims.get("aud"), time.time()
        listed = audience if isinstance(audience, list) else [audience]
        end, begin, subject = claims.get("exp"), claims.get("iat"), claims.get("sub")
        holds = (
            claims.get("iss") == self.issuer
            and self.client in listed
            and (len(listed) == 1 or claims.get("azp") == self.client)
            and claims.get("azp", self.client) == self.client
            and isinstance(end, int | float)
            and now < end + LEEWAY
            and isinstance(begin, int | float)
            and begin < now + LEEWAY
            and isinstance(subject, str)
            and 0 < len(subject) <= 255
            and hmac.compare_digest(str(claims.get("nonce", "")), nonce)
        )
        if not holds:
            raise ProviderError("the ID token is over, or is not for this service and this sign-in")
        return claims


def member_of(store: Store, claims: dict[str, Any]) -> Caller | None:
    """The member that the provider speaks of: known by subject, or invited under a verified e-mail address."""
    subject = f"{claims['iss']} {claims['sub']}"
    email = claims.get("email") if claims.get("email_verified") is True else None
    with store.writing() as db:
        row = members.known_as(db, subject)
        if row is None and isinstance(email, str):
            row = members.named(db, email)
            if row is None or row["subject"] is not None:
                return None
            members.change(db, row["organization"], row["id"], subject=subject, invitation=None, invited_until=None)
            note = {"organization": row["organization"], "actor": row["id"], "subject": row["id"]}
            journal.note(db, **note, action="member.openid", provider=claims["iss"])
        return None if row is None else sessions.member_caller(db, row)


def sealed(pepper: bytes, value: dict[str, Any]) -> str:
    """A value as a text that only this service could have written."""
    text = base64.urlsafe_b64encode(json.dumps(value).encode()).decode()
    return f"{text}{SEPARATOR}{sessions.digest(pepper, 'openid', text).hex()}"


def unsealed(pepper: bytes, text: str) -> dict[str, Any]:
    """What was sealed, not long ago."""
    said, _, mark = text.rpartition(SEPARATOR)
    if not hmac.compare_digest(sessions.digest(pepper, "openid", said).hex(), mark):
        raise Problem("forbidden", "this sign-in was not begun here, or took too long; begin it anew")
    try:
        value: dict[str, Any] = json.loads(base64.urlsafe_b64decode(said))
    except (ValueError, binascii.Error):
        raise Problem("forbidden", "this sign-in was not begun here; begin it anew") from None
    if time.time() - value["at"] > 60 * MINUTES:
        raise Problem("forbidden", "this sign-in took too long; begin it anew")
    return value


def _refuse_plain(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")):
        raise ProviderError(f"a provider must have an https address; got {address[:80]!r}")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """A provider answers itself; nobody else is asked."""
        return None


def _fetched(address: str, form: dict[str, str] | None = None, basic: tuple[str, str] | None = None) -> dict[str, Any]:
    """The JSON document that the provider gives."""
    _refuse_plain(address)
    request = urllib.request.Request(address, None if form is None else urlencode(form).encode())
    request.add_header("Accept", "application/json")
    if basic is not None:
        word = base64.b64encode(f"{basic[0]}:{basic[1]}".encode()).decode()
        request.add_header("Authorization", f"Basic {word}")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=10) as answer:
            found = json.loads(answer.read(LARGEST))
    except (OSError, urllib.error.URLError, ValueError):
        raise ProviderError("the provider does not answer as OpenID Connect says") from None
    if not isinstance(found, dict):
        raise ProviderError("the provider does not answer as OpenID Connect says")
    return found
