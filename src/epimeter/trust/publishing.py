# SPDX-License-Identifier: Apache-2.0
"""What an issuer shows the world, as files that any web server can serve; and whether the world was shown the truth."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from epimeter.errors import LogError, TrustError
from epimeter.trust.canonical import canonical_json
from epimeter.trust.checkpoint import Checkpoint
from epimeter.trust.entries import read_entry
from epimeter.trust.envelope import Envelope
from epimeter.trust.note import Note
from epimeter.trust.page import page
from epimeter.trust.registry import Registry
from epimeter.trust.status_list import StatusList
from epimeter.trust.strict_json import count_of
from epimeter.trust.succession import put
from epimeter.trust.tiles import bundles_of, tiles_of


def publish(registry: Registry, target: Path | str, at: datetime) -> int:
    """Write log, status list, trust root, key set and verify page; gives the number of files written.

    Tiles never change, so those that lie there already are left; the checkpoint is written last.
    """
    target, size, written = Path(target), registry.log.size, 0
    _refuse_another_log(registry, target / "log" / "checkpoint")
    for tile in (*tiles_of(size), *bundles_of(size)):
        if not (target / "log" / tile.path).exists():
            put(target / "log" / tile.path, registry.log.tile(tile.path))
            written += 1
    root = (registry.folder / "trust-root.json").read_bytes()
    fixed = {
        "status/1": registry.status_file(),
        "trust-root.json": root,
        "verify.html": page(root).encode("utf-8"),
        ".well-known/jwks.json": canonical_json(registry.root().ring.to_jwks(at)),
        "log/checkpoint": registry.log.checkpoint(size).to_bytes(),
    }
    versions = {path.name: path.read_bytes() for path in registry.folder.glob("trust-root-*.json")}
    for name, data in (versions | fixed).items():
        put(target / name, data)
    return written + len(versions) + len(fixed)


def _refuse_another_log(registry: Registry, checkpoint: Path) -> None:
    # Tiles that lie there are left as they are, so they must be ours: the checkpoint beside them is one that we signed.
    if not checkpoint.exists():
        return
    try:
        there = Checkpoint.from_text(Note.from_bytes(checkpoint.read_bytes()).text)
        ours = Checkpoint.from_text(registry.log.checkpoint(there.size).text)
    except TrustError:
        ours = None
    if ours is None or ours != there:
        raise LogError(
            f"{checkpoint.parent} holds another log, or a later state of this one; publish into a new folder"
        )


def unpublished(entries: Sequence[bytes], sealed: Envelope) -> list[str]:
    """One sentence unless the log remembers this very status list: then it is of another issuer, or shown to one only."""
    digest = f"sha-256:{hashlib.sha256(sealed.signed_bytes).hexdigest()}"
    for entry in map(read_entry, entries):
        if entry["type"] == "status.published" and entry.get("digest") == digest:
            return []
    return ["the status list is none that the log has published"]


def undone(entries: Sequence[bytes], statuses: StatusList) -> list[str]:
    """Revocations in the log that the status list does not show, one sentence each: a list that forgets is a lie."""
    found = []
    for number, data in enumerate(entries):
        entry = read_entry(data)
        if entry["type"] == "certificate.revoked" and entry.get("list") == statuses.id:
            word = statuses.status(count_of(entry.get("index"), f"index of entry {number}"))
            if word != "REVOKED":
                found.append(
                    f"entry {number} revoked {entry['id']}; version {statuses.version} of the list says {word}"
                )
    return found
