# SPDX-License-Identifier: Apache-2.0
"""Standard Webhooks: signed, retried, and never into a private network.

A message is signed by HMAC-SHA-256 over its id, its time and its body, under the secret of its endpoint, and sent as
`webhook-id`, `webhook-timestamp`, `webhook-signature`. Where it goes is decided here and nowhere else: the name is
resolved once, every address it resolves to must be public, and the connection is made to that very address, so that
a name cannot point elsewhere a moment later. Redirects are not followed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import ipaddress
import random
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import Connection

from epimeter.errors import InputError
from epimeter.service.secrets import webhook_secret
from epimeter.store import Store
from epimeter.store import webhooks as outbox
from epimeter.store.moments import SECOND, now, written

SCHEDULE = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds until the next try, by number of tries; then a message is given up."""
DISABLE_AFTER = 20
TIMEOUT = 10.0
ANSWER_LIMIT = 4096
Resolve = Callable[..., list[Any]]


def emit(db: Connection, organization: str, event: str, data: Any) -> None:
    """Put an event into the outbox of every endpoint that wants it, in the transaction of the event."""
    wanted = outbox.listening(db, organization, event)
    if not wanted:
        return
    at = now()
    body = msgspec.json.encode({"type": event, "timestamp": written(at), "data": data})
    for webhook in wanted:
        outbox.post(db, organization=organization, webhook=webhook, event=event, body=body, at=at)


def signature(secret: bytes, message: str, timestamp: int, body: bytes) -> str:
    """The `v1` signature of Standard Webhooks."""
    signed = f"{message}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode("ascii")


class Guard:
    """Decides where webhooks may go.

    Parameters
    ----------
    networks
        Private networks that are allowed all the same.
    plain
        Whether plain HTTP is allowed.
    """

    def __init__(
        self, networks: Sequence[str] = (), *, plain: bool = False, resolve: Resolve = socket.getaddrinfo
    ) -> None:
        self._networks = [ipaddress.ip_network(one) for one in networks]
        self._plain, self._resolve = plain, resolve

    def check(self, url: str) -> tuple[str, str, int, str]:
        """Scheme, host, port and path of an address that may be reached in principle."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port, parts = "", None, urlsplit("")
        if parts.scheme not in (("https", "http") if self._plain else ("https",)) or not host or len(url) > 2000:
            raise InputError("url must be an https address of at most 2000 characters", field="url")
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise InputError("url must have no user, password or fragment", field="url")
        if not url.isascii() or any(letter <= " " for letter in url):
            raise InputError("url must be plain ASCII without spaces", field="url")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path

    def address(self, host: str, port: int) -> str:
        """A public address of a host; refused when any of its addresses is not."""
        try:
            found = {str(one[4][0]) for one in self._resolve(host, port, type=socket.SOCK_STREAM)}
        except (OSError, UnicodeError):
            raise InputError(f"the host {host[:80]} has no address", field="url") from None
        for text in found:
            one = ipaddress.ip_address(text.partition("%")[0])
            mapped = getattr(one, "ipv4_mapped", None)
            real = mapped or one
            public = real.is_global and not real.is_multicast and not real.is_reserved
            if not public and not any(real in network for network in self._networks):
                raise InputError(f"the host {host[:80]} is not on the public internet", field="url")
        if not found:
            raise InputError(f"the host {host[:80]} has no address", field="url")
        return sorted(found)[0]


def send(guard: Guard, url: str, body: bytes, headers: dict[str, str]) -> int:
    """Post a body to an address that the guard allows; the status of the answer."""
    scheme, host, port, path = guard.check(url)
    address = guard.address(host, port)
    raw = socket.create_connection((address, port), TIMEOUT)
    try:
        if scheme == "https":
            raw = ssl.create_default_context().wrap_socket(raw, server_hostname=host)
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        connection.sock = raw
        connection.request("POST", path, body, headers | {"User-Agent": "epimeter", "Connection": "close"})
        answer = connection.getresponse()
        answer.read(ANSWER_LIMIT)
        return answer.status
    finally:
        raw.close()


def deliver_one(store: Store, pepper: bytes, guard: Guard) -> bool:
    """Send the message that is due, if there is one."""
    with store.writing() as db:
        message = outbox.claim(db, now())
    if message is None:
        return False
    at = now()
    body, id = bytes(message["body"]), message["id"]
    secret = webhook_secret(pepper, message["webhook"])
    headers = {
        "Content-Type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(at // SECOND),
        "webhook-signature": signature(secret, id, at // SECOND, body),
    }
    try:
        status = send(guard, message["url"], body, headers)
        answer = f"HTTP {status}"
    except (OSError, http.client.HTTPException, InputError, ssl.SSLError) as fault:
        status, answer = 0, f"{type(fault).__name__}: {fault}"[:200]
    with store.writing() as db:
        if 200 <= status < 300:
            outbox.delivered(db, id, message["webhook"], answer)
            return True
        tries = message["attempts"]
        gone = status == 410 or message["failures"] + 1 >= DISABLE_AFTER
        wait = SCHEDULE[tries - 1] if tries <= len(SCHEDULE) and not gone else None
        again = None if wait is None else now() + int(wait * SECOND * random.uniform(0.8, 1.2))
        outbox.failed(db, id, message["webhook"], answer, again, now() if gone else None)
    return True
