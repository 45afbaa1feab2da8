# SPDX-License-Identifier: Apache-2.0
"""Options that say whom to believe, and the trust that they make."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from epimeter.errors import InputError, VerificationError

SIZE_LIMIT = 1 << 20  # bytes of a certificate, a status list, a trust root, a record, a key


def trust_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that verifies."""
    options = (
        click.option(
            "--key",
            "keys",
            multiple=True,
            metavar="KEY",
            help="Issuer's key: JWK, PEM, base64 or a file; or ISSUER=KEY.",
        ),
        click.option("--log-key", "log_keys", multiple=True, metavar="VKEY", help="Log's key: name+id+key, or a file."),
        click.option("--status-key", "status_keys", multiple=True, metavar="KEY", help="Key of the status list."),
        click.option(
            "--root",
            "roots",
            multiple=True,
            type=click.Path(exists=True, dir_okay=False),
            help="Trust root, in place of single keys; its successors after it, one --root each.",
        ),
        click.option("--fingerprint", help="SHA-256 of the (first) trust root, as you got it from elsewhere."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def trust_of(
    keys: tuple[str, ...],
    log_keys: tuple[str, ...],
    status_keys: tuple[str, ...],
    roots: tuple[str, ...],
    fingerprint: str | None,
) -> Any:
    """The trust that the options make."""
    from epimeter.trust.anchors import Trust
    from epimeter.trust.envelope import Envelope
    from epimeter.trust.note import NoteKey
    from epimeter.trust.root import follow, pin

    if roots:
        if keys or log_keys or status_keys:
            raise click.UsageError("--root takes the place of --key, --log-key and --status-key")
        if fingerprint is None:
            raise click.UsageError(
                "--root needs --fingerprint: a trust root is believed for what you know of it already"
            )
        first, *later = (Envelope.from_json(content_of(root)) for root in roots)
        newest = follow(pin(first, fingerprint.strip().lower()), later)
        newest.check(moment_of(None))  # an expired root means that a newer one is kept from us, whatever is asked about
        return Trust.of(newest)
    if fingerprint is not None:
        raise click.UsageError("--fingerprint is that of a trust root; give the root with --root FILE")
    whose: dict[str, str] = {}

    def bound(text: str, read: Callable[[str], Any]) -> Any:
        issuer, _, rest = text.partition("=")
        key = read(rest if "://" in issuer and rest else text)
        if "://" in issuer and rest:
            whose[key.name if isinstance(key, NoteKey) else key.id] = issuer
        return key

    return Trust.pinned(
        tuple(bound(text, key_of) for text in keys),
        logs=tuple(bound(text, lambda one: NoteKey.from_vkey(_content(one))) for text in log_keys),
        statuses=tuple(bound(text, key_of) for text in status_keys),
        whose=whose,
    )


def key_of(text: str) -> Any:
    """A public key: a file or the key itself, as JSON Web Key, PEM, or 32 bytes in base64."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    from epimeter.trust.keys import PublicKey
    from epimeter.trust.strict_json import load_json

    content = _content(text)
    if content.startswith("{"):
        return PublicKey.from_jwk(load_json(content.encode("utf-8")))
    if content.startswith("-----BEGIN PUBLIC KEY-----"):
        try:
            key = load_pem_public_key(content.encode("utf-8"))
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise VerificationError("the PEM must hold an Ed25519 public key; it does not", code="malformed")
        return PublicKey(key.public_bytes_raw())
    try:
        return PublicKey(base64.b64decode(content.encode("ascii"), validate=True))
    except (binascii.Error, UnicodeEncodeError):
        raise InputError(
            f"a key must be a file, a JSON Web Key, PEM, or 32 bytes in base64; got {text[:60]!r}", field="key"
        ) from None


def moment_of(text: str | None) -> datetime:
    """A moment typed on the command line; now when none was."""
    from epimeter.trust.canonical import from_moment

    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    return from_moment(f"{text}T00:00:00Z" if len(text) == 10 else text, "--at")


def content_of(path: str, limit: int = SIZE_LIMIT) -> bytes:
    """The bytes of a document; of a file too large to be one, just enough to see that it is."""
    with open(path, "rb") as file:
        return file.read(limit + 1)


def _content(text: str) -> str:
    try:
        if len(text) < 4096 and Path(text).is_file():
            return content_of(text).decode("utf-8").strip()
    except (OSError, ValueError):
        pass
    return text.strip()
