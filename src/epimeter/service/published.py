# SPDX-License-Identifier: Apache-2.0
"""What this registry has shown to the world, remembered outside its folder and its database.

A database or a folder that is put back from a copy does not know what was published since: it would publish a second checkpoint
of one size, give audit numbers twice, and make a revoked certificate valid again. So the server writes down, beside the data
folder or where `published` says, the size and root of its newest checkpoint, the version of its newest status list and the
number of its newest audit entry; and it does not start from a state that is older. Where the log is published elsewhere too, that
place is asked as well (`published_tiles`).
"""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from pathlib import Path

import msgspec

from epimeter.errors import LogError
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.settings import Settings, SettingsError
from epimeter.store import Store, journal
from epimeter.trust.checkpoint import Checkpoint
from epimeter.trust.registry import Registry

WAY_OUT = (
    "Restore a newer backup. Where there is none, begin a successor of the log, which names the old one's end, with: "
    "epimeter succeed"
)


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The newest of everything that counts up."""

    origin: str
    log_size: int
    log_root: str
    status_version: int
    journal_number: int
    root_version: int = 0


def place(settings: Settings) -> Path:
    """Where it is written down: beside the data folder, so that a copy put in its place does not bring its own."""
    return Path(settings.published) if settings.published else _beside(settings.folder.absolute())


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.published.json")


def now_shown(ledger: IssuerFolder, store: Store) -> Published:
    """What is published at this moment."""
    with store.reading() as db:
        number = journal.last_number(db)
    return shown_by(ledger.registry, number)


def shown_by(registry: Registry, journal_number: int) -> Published:
    """What the folder of a registry publishes; the database alone knows the number of the last audit entry."""
    point = Checkpoint.from_text(registry.log.checkpoint().text)
    root = base64.b64encode(point.root).decode("ascii")
    version = registry.statuses().version
    return Published(registry.log.origin, point.size, root, version, journal_number, registry.root().version)


def refuse_older_folder(registry: Registry, data: Path) -> None:
    """Refuse a registry in the data folder of a service that was put back: a command must not give its log a second face."""
    memory = Memory(_beside(data))
    if (before := memory.read()) is not None:
        memory.refuse_older(shown_by(registry, before.journal_number), registry)


def behind(shown: Published, seen: Published) -> list[str]:
    """What of a state is older than the world has seen, each in words."""
    return [
        f"{name} {mine:,}, where {theirs:,} was published"
        for name, mine, theirs in (
            ("log entries", shown.log_size, seen.log_size),
            ("status list", shown.status_version, seen.status_version),
            ("audit entry", shown.journal_number, seen.journal_number),
            ("trust root", shown.root_version, seen.root_version),
        )
        if mine < theirs
    ]


class Memory:
    """The file that remembers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: Published | None = None

    def read(self) -> Published | None:
        """What was published before; None on the first start."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Published)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as fault:
            raise SettingsError(
                f"{self.path} must say what this registry has published; it cannot be read: {fault}"
            ) from None

    def write(self, shown: Published) -> None:
        """Write it down, whole or not at all; what counts up never goes back."""
        before = self._written or self.read()
        if before is not None and before.origin == shown.origin:
            newer = shown if shown.log_size > before.log_size else before
            shown = msgspec.structs.replace(
                newer,
                status_version=max(shown.status_version, before.status_version),
                journal_number=max(shown.journal_number, before.journal_number),
                root_version=max(shown.root_version, before.root_version),
            )
        if shown != self._written:
            self.begin_anew(shown)

    def begin_anew(self, shown: Published) -> None:
        """Write down the state of a log that has taken the place of another, whatever stood here."""
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(shown))
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        self._written = shown

    def refuse_older(self, shown: Published, registry: Registry) -> None:
        """Refuse to go on from a state that is older than what the world has seen, or another."""
        before = self.read()
        if before is None:
            return
        if before.origin != shown.origin:
            raise SettingsError(
                f"{self.path} is of the log {before.origin}; this one is {shown.origin}. Set another `published`."
            )
        self.refuse_another(registry)  # the graver fault, and an older state may have both
        if older := behind(shown, before):
            raise SettingsError(f"this is an older state than the world has seen: {'; '.join(older)}. {WAY_OUT}.")

    def refuse_another(self, registry: Registry, way_out: str = WAY_OUT) -> None:
        """Refuse a log that is long enough and begins with other entries than were published."""
        before = self.read()
        if before is None or before.origin != registry.log.origin or registry.log.size < before.log_size:
            return
        try:
            point = Checkpoint.from_text(registry.log.checkpoint(before.log_size).text)
            same = base64.b64encode(point.root).decode("ascii") == before.log_root
        except LogError:
            same = False
        if not same:
            raise SettingsError(
                f"the first {before.log_size:,} entries of this log are not those that were published. {way_out}."
            )
