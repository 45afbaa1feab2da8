# SPDX-License-Identifier: Apache-2.0
"""Events by e-mail: an endpoint `mailto:somebody@example.org` gets the messages that a webhook would get, over SMTP."""

from __future__ import annotations

import re
import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

import msgspec

from epimeter.errors import InputError
from epimeter.service.settings import Settings

ADDRESS = re.compile(r"mailto:([A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)")
DEADLINE = 10.0


def recipient(url: str, settings: Settings) -> str:
    """The address of a mailto endpoint, where mail can be sent at all."""
    found = ADDRESS.fullmatch(url)
    if found is None:
        raise InputError("url must be one plain address, as mailto:somebody@example.org", field="url")
    if settings.smtp is None:
        raise InputError("this service sends no mail: its operator has set no smtp server", field="url")
    return found[1]


def send(settings: Settings, url: str, event: str, body: bytes, message_id: str) -> None:
    """Send an event; whatever goes wrong is an OSError or an SMTPException, and the outbox tries again."""
    to = recipient(url, settings)
    assert settings.smtp is not None
    facts = msgspec.json.decode(body)
    data = facts.get("data", {})
    mail = EmailMessage()
    mail["From"], mail["To"] = settings.mail_from, to
    mail["Subject"] = f"{event}: {data.get('system_id') or data.get('certificate_id') or data.get('id') or 'epimeter'}"[
        :200
    ]
    mail["Message-ID"] = f"<{message_id}@epimeter>"
    sentence = data.get("sentence") or data.get("reason") or ""
    mail.set_content(f"{sentence}\n\n{msgspec.json.format(msgspec.json.encode(facts), indent=2).decode()}\n")
    parts = urlsplit(settings.smtp)
    port = parts.port or (465 if parts.scheme == "smtps" else 587)
    made = smtplib.SMTP_SSL if parts.scheme == "smtps" else smtplib.SMTP
    with made(parts.hostname or "localhost", port, timeout=DEADLINE) as server:
        if parts.scheme == "smtp+starttls":
            server.starttls(context=ssl.create_default_context())
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(mail)
