# SPDX-License-Identifier: Apache-2.0
"""A file that remembers the newest version of each status list that was believed, so that an older one is not."""

from __future__ import annotations

import json
from pathlib import Path

from epimeter.errors import InputError, TrustError
from epimeter.trust.canonical import load_canonical
from epimeter.trust.envelope import Envelope
from epimeter.trust.key_file import write_whole
from epimeter.trust.status_list import StatusList


class StatusMemory:
    """Versions by the id of their list; without a file nothing is remembered."""

    def __init__(self, path: str | None) -> None:
        self._path = None if path is None else Path(path)
        self._versions: dict[str, int] = {}
        if self._path is not None and self._path.exists():
            try:
                found = json.loads(self._path.read_text("utf-8"))
                self._versions = {str(name): int(version) for name, version in found.items()}
            except (ValueError, AttributeError, TypeError):
                raise InputError(
                    f"{self._path.name} must be a memory that epimeter verify wrote", field="memory"
                ) from None

    def least_version(self, data: bytes | None) -> int:
        """The version that the list in these bytes must have at least; 1 where nothing is known of it."""
        found = _stated(data)
        return 1 if found is None else max(1, self._versions.get(found.id, 1))

    def remember(self, data: bytes) -> None:
        """Keep the version of a list that was believed."""
        found = _stated(data)
        if self._path is not None and found is not None and found.version > self._versions.get(found.id, 0):
            self._versions[found.id] = found.version
            write_whole(self._path, json.dumps(self._versions, indent=1, sort_keys=True).encode("utf-8"), mode=0o644)


def _stated(data: bytes | None) -> StatusList | None:
    # What the bytes say of themselves; whether that is to be believed is for `verify` to say.
    try:
        return None if data is None else StatusList.from_document(load_canonical(Envelope.from_json(data).payload))
    except TrustError:
        return None
