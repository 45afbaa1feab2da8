# SPDX-License-Identifier: Apache-2.0
"""Standard Webhooks: signed, retried, and never into a private network.

A message is signed by HMAC-SHA-256 over its id, its time and its body, under the secret of its endpoint, and sent as
`webhook-id`, `webhook-timestamp`, `webhook-signature`. Where it goes is decided here and nowhere else: the name is
resolved once, every address it resolves to must be global unicast, its port one that is allowed, and the connection is made to
that very address, so that a name cannot point elsewhere a moment later. Redirects are not followed. From resolving to the
last byte of the answer everything has one deadline, and an organisation has one message under way at a time, so that whoever
answers slowly keeps nobody else waiting.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import ipaddress
import random
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import Connection

from epimeter.errors import InputError
from epimeter.service import mail
from epimeter.service.secrets import webhook_secret
from epimeter.service.settings import Settings, SettingsError
from epimeter.store import Store
from epimeter.store import webhooks as outbox
from epimeter.store.moments import SECOND, now, written

SCHEDULE = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds until the next try, by number of tries; then a message is given up."""
DISABLE_AFTER = 20
DEADLINE = 10.0
"""Seconds that a delivery may take in all."""
GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
"""The only IPv6 addresses that are given out as global unicast (RFC 4291)."""
NOT_GLOBAL = tuple(
    ipaddress.ip_network(one)
    for one in (
        "192.0.0.0/24",  # protocol assignments (RFC 6890)
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT relays
        "192.88.99.0/24",  # 6to4 relays
        "192.175.48.0/24",  # AS112
        "2001::/23",  # protocol assignments, Teredo among them: they carry IPv4 addresses
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
"""Within the global ranges, what is special or leads elsewhere (IANA special-purpose registries)."""
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
    ports
        Ports that are allowed, each a number or a range.
    plain
        Whether plain HTTP is allowed.
    """

    def __init__(
        self,
        networks: Sequence[str] = (),
        *,
        ports: Sequence[str] = ("443", "80"),
        plain: bool = False,
        resolve: Resolve = socket.getaddrinfo,
    ) -> None:
        try:
            self._networks = [ipaddress.ip_network(one) for one in networks]
            self._ports = [_range(one) for one in ports]
        except ValueError as fault:
            raise SettingsError(f"webhooks: {fault}") from None
        self._plain, self._resolve = plain, resolve

    @classmethod
    def of(cls, settings: Settings) -> Guard:
        """The guard that the settings ask for."""
        return cls(settings.webhook_networks, ports=settings.webhook_ports, plain=settings.webhook_http)

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
        port = (443 if parts.scheme == "https" else 80) if port is None else port
        if not any(first <= port <= last for first, last in self._ports):
            raise InputError(f"url must name a port that webhooks may go to; {port} is none", field="url")
        return parts.scheme, host, port, path

    def address(self, host: str, port: int) -> str:
        """A public address of a host; refused when any of its addresses is not."""
        try:
            found = {str(one[4][0]) for one in self._resolve(host, port, type=socket.SOCK_STREAM)}
        except (OSError, UnicodeError):
            raise InputError(f"the host {host[:80]} has no address", field="url") from None
        for text in found:
            one = ipaddress.ip_address(text.partition("%")[0])
            real = getattr(one, "ipv4_mapped", None) or one
            if not global_unicast(real) and not any(real in network for network in self._networks):
                raise InputError(f"the host {host[:80]} is not on the public internet", field="url")
        if not found:
            raise InputError(f"the host {host[:80]} has no address", field="url")
        return sorted(found)[0]


def global_unicast(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is that of one machine on the public internet, and of no other thing behind it."""
    if address.version == 6 and address not in GLOBAL_6:
        return False
    special = address.is_multicast or address.is_reserved or any(address in network for network in NOT_GLOBAL)
    return address.is_global and not special


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.strip().partition("-")
    if not first.isdigit() or not (last or first).isdigit():
        raise ValueError(f"a port must be a number or a range as 8000-8999; got {text[:20]!r}")
    return int(first), int(last or first)


def send(guard: Guard, url: str, body: bytes, headers: dict[str, str], *, deadline: float = DEADLINE) -> int:
    """Post a body to an address that the guard allows; the status of the answer.

    An answer that comes byte by byte would never run into a timeout of the socket: a clock beside it hangs up.
    """
    begun = time.monotonic()
    scheme, host, port, path = guard.check(url)
    address = guard.address(host, port)
    line = [socket.create_connection((address, port), max(0.1, deadline - (time.monotonic() - begun)))]
    clock = threading.Timer(max(0.1, deadline - (time.monotonic() - begun)), _hang_up, [line])
    clock.daemon = True
    clock.start()
    try:
        if scheme == "https":
            context = ssl.create_default_context()
            line[0] = secure = context.wrap_socket(line[0], server_hostname=host, do_handshake_on_connect=False)
            secure.do_handshake()
        connection = http.client.HTTPConnection(host, port, timeout=deadline)
        connection.sock = line[0]
        connection.request("POST", path, body, headers | {"User-Agent": "epimeter", "Connection": "close"})
        answer = connection.getresponse()
        if time.monotonic() - begun >= deadline:
            raise TimeoutError(f"no whole answer within {deadline:g} s")
        return answer.status
    except (OSError, http.client.HTTPException):
        if time.monotonic() - begun >= deadline:
            raise TimeoutError(f"no whole answer within {deadline:g} s") from None
        raise
    finally:
        clock.cancel()
        line[0].close()


def _hang_up(line: list[socket.socket]) -> None:
    with contextlib.suppress(OSError):
        # Of the connection itself: what TLS would still say to the other side is not waited for.
        socket.socket.shutdown(line[0], socket.SHUT_RDWR)


FAULTS: dict[type[Exception], str] = {
    ConnectionRefusedError: "the connection was refused",
    ConnectionResetError: "the connection was broken off",
    TimeoutError: "there was no whole answer in time",
    socket.gaierror: "the host has no address",
    ssl.SSLCertVerificationError: "the certificate of the host cannot be trusted",
    ssl.SSLError: "no secure connection came about",
    http.client.HTTPException: "the answer is not HTTP",
    smtplib.SMTPException: "the mail was refused",
}
"""The first that fits says why nothing was sent."""


def _in_words(fault: Exception) -> str:
    """Why nothing was sent, for whoever reads the deliveries: no name of a class of ours, no number of an error."""
    words = next((words for kind, words in FAULTS.items() if isinstance(fault, kind)), None)
    return words or str(getattr(fault, "strerror", None) or fault)


def deliver_one(store: Store, pepper: bytes, guard: Guard, settings: Settings) -> bool:
    """Send the message that is due, if there is one."""
    with store.reading() as db:
        if not outbox.any_waiting(db):
            return False
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
        if message["url"].startswith("mailto:"):
            mail.send(settings, message["url"], message["event"], body, id)
            status, answer = 250, "mail sent"
        else:
            status = send(guard, message["url"], body, headers)
            answer = f"HTTP {status}"
    except (OSError, http.client.HTTPException, InputError, ssl.SSLError, smtplib.SMTPException) as fault:
        status, answer = 0, _in_words(fault)[:200]
    with store.writing() as db:
        if 200 <= status < 300:
            outbox.delivered(db, id, message["webhook"], answer)
            return True
        tries = message["attempts"]
        gone = status == 410 or message["failures"] + 1 >= DISABLE_AFTER
        wait = SCHEDULE[tries - 1] if tries <= len(SCHEDULE) and not gone else None
        again = None if wait is None else now() + int(wait * SECOND * random.uniform(0.8, 1.2))
        outbox.failed(
            db,
            id,
            message["webhook"],
            answer,
            attempt=tries,
            again_at=again,
            disable_at=now() if gone else None,
        )
    return True
