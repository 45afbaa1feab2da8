# SPDX-License-Identifier: Apache-2.0
"""The way out for a registry that was put back from an older state than the world has seen: its log gets a successor.

Folder first (`trust.successor`), then database, then the file that remembers what was published; interrupted anywhere it can be
done again. In the database numbers of audit entries go on above those that were given.
"""

from __future__ import annotations

import base64
import fcntl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.published import Memory, Published, behind, now_shown, place
from epimeter.service.settings import Settings, SettingsError, prepare
from epimeter.store import Store, facts, journal, organizations
from epimeter.store.migrations import migrate
from epimeter.trust.registry import Registry
from epimeter.trust.succession import newest_root
from epimeter.trust.successor import End, Successor, succeed, successor_name

SPARE = 1_000_000
"""Numbers of audit entries left out: some were given after their number was last written down, and a published log tells none."""


@dataclass(frozen=True, kw_only=True)
class Succeeded:
    """What was done to the registry; `log` is None where an interrupted try had done that part."""

    log: Successor | None
    origin: str
    journal_number: int


def begin_successor(settings: Settings, statuses: bytes | None) -> Succeeded:
    """Begin a successor of the log in the data folder, which nobody serves."""
    folder, memory = settings.folder / "registry", Memory(place(settings))
    seen = memory.read()
    if seen is None:
        raise SettingsError(
            f"{place(settings)} must say what this registry has published; it is not there. Put the copy of it back"
        )
    if not (folder / "log.db").exists():
        raise SettingsError(f"{settings.folder} must be the data folder of a registry; restore a backup into it first")
    secrets = prepare(settings)
    with (settings.folder / "serve.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SettingsError(f"a process serves {settings.folder}; stop it first") from None
        store = Store(settings.database, pool=2)
        try:
            migrate(store)
            return _begun(settings, secrets.passphrase, store, folder, seen, memory, statuses)
        finally:
            store.close()


def _begun(
    settings: Settings,
    passphrase: str,
    store: Store,
    folder: Path,
    seen: Published,
    memory: Memory,
    statuses: bytes | None,
) -> Succeeded:
    with Registry(folder) as registry:
        half_done = registry.log.origin == successor_name(seen.origin)
    made = None
    if not half_done:
        version = newest_root(folder).version
        if version < seen.root_version:
            raise SettingsError(
                f"the trust root here is version {version}, and version {seen.root_version} was published: put "
                f"trust-root-{version + 1}.json to trust-root-{seen.root_version}.json, from wherever they were published, into "
                f"{folder}, the last also as trust-root.json"
            )
        ledger = IssuerFolder(folder, settings.address, passphrase, root_folder=settings.root_folder)
        try:
            memory.refuse_another(ledger.registry, "Restore the backup again, then: epimeter succeed")
            if not behind(now_shown(ledger, store), seen):
                raise SettingsError("this registry is no older than what was published; start it with: epimeter serve")
        finally:
            ledger.close()
        end = End(
            origin=seen.origin,
            size=seen.log_size,
            root=base64.b64decode(seen.log_root),
            status_version=seen.status_version,
        )
        made = succeed(folder, end, passphrase, datetime.now(UTC), statuses=statuses, root_folder=settings.root_folder)
    ledger = IssuerFolder(folder, settings.address, passphrase, root_folder=settings.root_folder)
    try:
        number = _database(store, ledger, seen)
        memory.begin_anew(now_shown(ledger, store))
        return Succeeded(log=made, origin=ledger.registry.log.origin, journal_number=number)
    finally:
        ledger.close()


def _database(store: Store, ledger: IssuerFolder, seen: Published) -> int:
    """Have the database know the new log, and give no audit number twice; the number of the entry that says so."""
    with store.writing(durable=True) as db:
        before = facts.value(db, "registry")
        if before is not None:
            facts.move(db, "registry", before, ledger.mark())
        operator = organizations.oldest(db)
        if operator is None:
            raise SettingsError("the database must hold the registry's organisations; restore its backup first")
        journal.note(
            db,
            organization=operator["id"],
            actor="succeed",
            action="log.succeeded",
            subject=ledger.registry.log.origin[:200],
            before=seen.origin,
            size=seen.log_size,
        )
        journal.go_on_after(db, seen.journal_number + SPARE)
        return journal.last_number(db)
