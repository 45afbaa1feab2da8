# SPDX-License-Identifier: Apache-2.0
"""The page that verifies a certificate in a browser, offline: one file, with or without a trust root inside.

Its content security policy names the script and the style by their hashes, so that nothing else in it can ever run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

from epimeter.trust.canonical import to_base64url
from epimeter.trust.envelope import Envelope
from epimeter.trust.root import pin

_PINNED = '<script type="application/json" id="pinned">null</script>'


def page(root: bytes | None = None) -> str:
    """The page; with a signed trust root in it, whoever trusts the file needs to be given no key."""
    text = (files("epimeter") / "trust" / "verify.html").read_text(encoding="utf-8")
    if root is None:
        return text
    fingerprint = hashlib.sha256(Envelope.from_json(root).payload).hexdigest()
    pin(Envelope.from_json(root), fingerprint)
    content = json.dumps({"root": to_base64url(root), "fingerprint": fingerprint})
    return text.replace(_PINNED, _PINNED.replace("null", content))


def policy_sources(text: str) -> tuple[str, str]:
    """The hashes of script and style that the page's content security policy must name."""
    parts = (re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[0] for tag in ("script", "style"))
    script, style = (base64.b64encode(hashlib.sha256(part.encode("utf-8")).digest()).decode("ascii") for part in parts)
    return f"sha256-{script}", f"sha256-{style}"
