# SPDX-License-Identifier: Apache-2.0
"""The one way to write a JSON value (RFC 8785), bytes as text (RFC 4648) and a moment (RFC 3339).

What can be written in two ways can be signed once and shown twice, so reading is strict: only the form that writing
gives is accepted back.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import rfc8785

from epimeter.errors import VerificationError
from epimeter.trust.strict_json import SIZE_LIMIT, kind_of, load_json, malformed

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
# Hour 24 and second 60 are left out here: some versions of Python read them, others do not.
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z")


def canonical_json(value: Any) -> bytes:
    r"""The bytes of a JSON value after RFC 8785.

    Examples
    --------
    >>> canonical_json({"b": 1.0, "a": "é"})
    b'{"a":"\xc3\xa9","b":1}'
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, TypeError, ValueError) as fault:
        raise malformed(
            f"a document must be plain JSON with finite numbers and integers within ±(2^53 - 1); {fault}"
        ) from None
    except RecursionError:
        raise malformed("a document must not contain itself or nest without end") from None


def canonical_writer(doubles: Any) -> Callable[[Any], str]:
    """A function as `canonical_json`, many times as fast, for values whose keys are plain letters.

    `doubles` holds all their numbers that are not integers: whether these are written alike by Python and by RFC 8785
    decides which way is taken. They differ in numbers with an exponent, and in whole doubles.
    """
    return _slowly if _not_canonical(doubles) else _ENCODER.encode


def canonical_text(value: Any) -> str:
    """The canonical JSON of a value whose keys are plain letters."""
    return canonical_writer(value)(value)


def _not_canonical(value: Any) -> bool:
    if isinstance(value, float):
        text = repr(value)
        return "e" in text or "n" in text or text.endswith(".0")  # 1e-07, nan and inf, 1.0
    if isinstance(value, dict):
        return any(map(_not_canonical, value.values()))
    return isinstance(value, list | tuple) and any(map(_not_canonical, value))


def _slowly(value: Any) -> str:
    return canonical_json(value).decode("utf-8")


def load_canonical(data: bytes, *, size_limit: int = SIZE_LIMIT) -> Any:
    """The value of canonical JSON bytes; the same value written any other way is refused."""
    value = load_json(data, size_limit=size_limit)
    if canonical_json(value) != data:
        raise malformed("signed JSON must be in canonical form (RFC 8785); this document is written otherwise")
    return value


def to_base64(data: bytes) -> str:
    """Standard alphabet, padded."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: Any, where: str) -> bytes:
    """The bytes of standard, padded base64 in its only canonical form."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (AttributeError, UnicodeEncodeError, binascii.Error):
        data = None
    # Unused bits of the last letter may hold anything and decode alike; writing again shows it.
    if data is None or to_base64(data) != text:
        raise malformed(f"{where} must be canonical base64 (standard alphabet, padded); got {_shown(text)}")
    return data


def to_base64url(data: bytes) -> str:
    """URL alphabet, no padding."""
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def from_base64url(text: Any, where: str) -> bytes:
    """The bytes of unpadded base64url in its only canonical form."""
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (AttributeError, UnicodeEncodeError, binascii.Error):
        data = None
    if data is None or to_base64url(data) != text:
        raise malformed(f"{where} must be canonical base64url without padding; got {_shown(text)}")
    return data


def to_moment(at: datetime) -> str:
    """A moment in UTC to the second, as in 2026-11-15T06:00:00Z; fractions of a second are dropped."""
    if at.tzinfo is None:
        raise VerificationError(f"a moment must have a time zone; got {at.isoformat()}", code="malformed")
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def from_moment(text: Any, where: str) -> datetime:
    """A moment written as `to_moment` writes it: UTC with Z, seconds, no fraction, no leap second."""
    if not isinstance(text, str) or not _MOMENT.fullmatch(text):
        raise malformed(f"{where} must be a moment such as 2026-11-15T06:00:00Z; got {_shown(text)}")
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise malformed(f"{where} must be a moment that exists; got {text}") from None


def _shown(value: Any) -> str:
    return repr(value[:40]) if isinstance(value, str) else kind_of(value)
