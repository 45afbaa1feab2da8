# SPDX-License-Identifier: Apache-2.0
"""Signed passports: an issuer puts its key behind the passport's JSON, which the PDF carries inside.

The signature is over the canonical JSON without the field `signature`, as a certificate's; who signed and when stands under
`verification` and is covered. A PDF is good when its attached JSON is, and when its pages are the very ones that are made from
that JSON: pages can be changed without touching the attachment.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from epimeter.errors import MissingExtraError, VerificationError
from epimeter.passport import pdf
from epimeter.passport.document import check, digest
from epimeter.trust.canonical import from_moment, load_canonical, to_moment
from epimeter.trust.envelope import embed, extract, open_sealed, seal
from epimeter.trust.key_ring import KeyRing
from epimeter.trust.keys import Signer
from epimeter.trust.strict_json import malformed

KIND = "passport"
MOST = 1 << 24
"""Bytes of the largest attachment."""
_ATTACHED = re.compile(rb"<<(?:(?!>>\s*stream).)*?/EmbeddedFile\b.*?>>\s*stream\r?\n", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class SignedPassport:
    """A passport whose signature holds."""

    document: Mapping[str, Any]
    key_id: str
    pages: bool | None
    """Whether the PDF's pages are those of the document; None where there are none or nothing to compare with."""

    @property
    def sentence(self) -> str:
        """What holds, in words."""
        told = self.document["verification"]
        return f"signed by {told['issuer']} (key {self.key_id[:8]}) at {told['signed_at']}, digest sha-256 {digest(self.document)}"


def is_passport(data: bytes) -> bool:
    """Whether bytes look like a passport, as PDF or JSON."""
    return data.startswith(b"%PDF-") or b'"schema":"epimeter-passport-' in data[:MOST]


def sign_passport(document: Mapping[str, Any], signer: Signer, issuer: str, at: datetime) -> dict[str, Any]:
    """The passport with the issuer's signature in it."""
    told = {**document["verification"], "issuer": issuer, "signed_at": to_moment(at)}
    body = {name: part for name, part in document.items() if name != "signature"} | {"verification": told}
    return check(embed(seal(body, KIND, signer), signer.public))


def open_passport(data: bytes, ring: KeyRing) -> SignedPassport:
    """The passport in a PDF or a JSON file, if a key that the reader believes signed it and its pages are its own."""
    is_pdf = data.startswith(b"%PDF-")
    written = attached(data) if is_pdf else data
    document = check(load_canonical(written, size_limit=MOST))
    envelope = extract(document, KIND)
    opened = open_sealed(envelope, KIND, ring.keys("issuer"))
    told = document["verification"]
    if not isinstance(told, dict) or "signed_at" not in told or "issuer" not in told:
        raise malformed("a signed passport must say by whom and when it was signed")
    ring.find(opened.key_ids[0], "issuer").check(from_moment(told["signed_at"], "verification.signed_at"))
    return SignedPassport(
        document=document, key_id=opened.key_ids[0], pages=_same_pages(data, document) if is_pdf else None
    )


def attached(data: bytes) -> bytes:
    """The one file attached to a PDF."""
    found = list(_ATTACHED.finditer(data))
    if len(found) != 1:
        raise malformed(f"a passport as PDF must have one attachment, its JSON; this file has {len(found)}")
    start = found[0].end()
    packed = data[start : data.find(b"endstream", start)]
    if b"/FlateDecode" not in found[0].group():
        return packed.rstrip(b"\r\n")
    unpack = zlib.decompressobj()
    try:
        made = unpack.decompress(packed, MOST)
    except zlib.error:
        raise malformed("the attachment of the PDF cannot be unpacked") from None
    if unpack.unconsumed_tail:
        raise malformed(f"the attachment of a passport must have at most {MOST:,} bytes")
    return made


def _same_pages(data: bytes, document: Mapping[str, Any]) -> bool | None:
    try:
        return pdf(document) == data
    except MissingExtraError:
        return None


def refuse_other_pages(found: SignedPassport) -> None:
    """Raise where the pages of a PDF are not those of the document that was signed."""
    if found.pages is False:
        raise VerificationError(
            "the pages are not the ones that are made from the signed document: they were changed, or made by another "
            "version of the compiler. Read the attached JSON",
            code="pages",
        )
