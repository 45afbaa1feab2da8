# SPDX-License-Identifier: Apache-2.0
"""What an issuer shows the world, as files that any web server can serve; and whether the world was shown the truth."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from epimeter.trust.canonical import canonical_json
from epimeter.trust.entries import read_entry
from epimeter.trust.page import page
from epimeter.trust.registry import Registry
from epimeter.trust.status_list import StatusList
from epimeter.trust.succession import put
from epimeter.trust.tiles import bundles_of, tiles_of


def publish(registry: Registry, target: Path | str, at: datetime) -> int:
    """Write log, status list, trust root, key set and verify page; gives the number of files written.

    Tiles never change, so those that lie there already are left; the checkpoint is written last.
    """
    target, size, written = Path(target), registry.log.size, 0
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
    for name, data in fixed.items():
        put(target / name, data)
    return written + len(fixed)


def undone(entries: Sequence[bytes], statuses: StatusList) -> list[str]:
    """Revocations in the log that the status list does not show, one sentence each: a list that forgets is a lie."""
    found = []
    for number, data in enumerate(entries):
        entry = read_entry(data)
        if entry["type"] == "certificate.revoked" and entry.get("list") == statuses.id:
            word = statuses.status(entry["index"])
            if word != "REVOKED":
                found.append(
                    f"entry {number} revoked {entry['id']}; version {statuses.version} of the list says {word}"
                )
    return found
