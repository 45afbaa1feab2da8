# SPDX-License-Identifier: Apache-2.0
"""What stands where the log is published, asked at the start: a snapshot of a whole machine brings its own memory back with it.

Nothing there is believed unless keys of this registry signed it: trust roots are followed from the newest one here, and checkpoint
and status list are opened with the last. Audit entries are not published, so their number is not told.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

from epimeter.errors import LogError, VerificationError
from epimeter.service.published import Memory, Published
from epimeter.service.settings import SettingsError
from epimeter.trust.checkpoint import verify_checkpoint
from epimeter.trust.envelope import Envelope, open_sealed
from epimeter.trust.note import Note
from epimeter.trust.registry import Registry
from epimeter.trust.root import advance
from epimeter.trust.status_list import KIND, StatusList
from epimeter.trust.tile_log import from_folder, from_url


def ask(tiles: str, memory: Memory, registry: Registry, say: Callable[[str], None]) -> None:
    """Have the memory know what `tiles`, a folder or an address that `log publish` writes to, shows of this registry."""
    before = memory.read()
    try:
        told = _told(tiles, registry)
    except LogError as fault:
        if before is None:
            raise SettingsError(
                f"neither {memory.path} nor {tiles} says what this registry has published: {fault}. Put the copy of that file "
                "back, or unset `tiles`"
            ) from None
        say(f"{tiles} was asked what this registry has published and does not say: {fault}")
        return
    except VerificationError as fault:
        raise SettingsError(
            f"{tiles} must hold what this registry has published; it does not: {fault}. Set `tiles` to where it is"
        ) from None
    if before is None or before.origin == told.origin:
        memory.write(told)


def _told(tiles: str, registry: Registry) -> Published:
    fetch = (from_url(tiles) if "://" in tiles else from_folder(tiles)).fetch
    note, statuses = Note.from_bytes(fetch("log/checkpoint")), Envelope.from_json(fetch("status/1"))
    root = registry.root()
    while True:
        try:
            later = fetch(f"trust-root-{root.version + 1}.json")
        except LogError:
            break
        root = advance(root, Envelope.from_json(later))
    point = verify_checkpoint(note, root.log_policy(registry.log.origin)).checkpoint
    shown = StatusList.from_document(open_sealed(statuses, KIND, root.ring.keys("status")).document)
    at = base64.b64encode(point.root).decode("ascii")
    return Published(point.origin, point.size, at, shown.version, 0, root.version)
