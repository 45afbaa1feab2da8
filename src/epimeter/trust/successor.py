# SPDX-License-Identifier: Apache-2.0
"""The way out when a log cannot go on: a successor under another name, which says where the old one ended.

A registry put back from an older copy has lost entries that the world has seen. Its log must not grow from there: it would sign two
trees of one size. So a new log begins:

1. It has a name and a key of its own; the old key is retired, and the next trust root says both.
2. Its first entries are those of the old log that are left, under the same indices, so that every proof can be made again. RFC 6962
   hashes know no name: who remembers a checkpoint of the old log that far proves with it that they are unchanged.
3. The next entry, `log.succeeded`, names the old log, the size and root that it was seen with at the end, and how many entries
   are left. A monitor that remembers more knows by it how many were lost, and holds it against what it saw.
4. The status list goes on above the version that was published. Where the last list is at hand its statuses are taken over; where
   it is not nobody knows what was revoked, and whatever was valid is suspended, indices that the copy does not know included.

The audit log is copied in the same way. The old files stay beside the new ones.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from epimeter.errors import LogError, VerificationError
from epimeter.trust import standing
from epimeter.trust.canonical import to_base64, to_moment
from epimeter.trust.checkpoint import Checkpoint
from epimeter.trust.entries import log_entry
from epimeter.trust.envelope import Envelope, open_sealed
from epimeter.trust.key_store import KeyStore
from epimeter.trust.keys import PrivateKey, Signer
from epimeter.trust.log import TABLES as LOG_TABLES
from epimeter.trust.log import Log
from epimeter.trust.registry_rows import STATUS_LIFE, list_entry, newest_list, reading
from epimeter.trust.standing import Event
from epimeter.trust.status_list import KIND, STATUSES, StatusList, sign_status_list
from epimeter.trust.succession import key_entry, newest_root, put, renew_root, root_key, signing_key

LOST = "the registry was put back from an older state; whether it was revoked since is not known"
TAKEN_OVER = "taken over from the last status list of the log before"
WORDS = {"REVOKED": "revoked", "SUSPENDED": "suspended", "SUPERSEDED": "superseded", "VALID": "restored"}


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What the world has seen of a log, last: its name, size and root, and the version of the status list."""

    origin: str
    size: int
    root: bytes
    status_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """What was done: the names of both logs, entries that are left and lost, certificates whose status changed."""

    old: str
    new: str
    kept: int
    lost: int
    changed: int
    root_version: int


def succeed(
    folder: Path,
    end: End,
    passphrase: str,
    at: datetime,
    *,
    statuses: bytes | None = None,
    root_folder: Path | str | None = None,
) -> Successor:
    """Begin a successor of the log in an issuer's folder; interrupted anywhere it can be done again."""
    root_key(folder, passphrase, at, root_folder)
    store, status_key = KeyStore(folder / "keys"), signing_key(folder, "status", passphrase, at)
    with Log(folder / "log.db") as old, Log(folder / "audit.db") as audit:
        if old.origin != end.origin:
            raise LogError(f"what was published is of the log {end.origin}; this one is {old.origin}")
        kept = Checkpoint.from_text(old.checkpoint().text)
        if kept.size > end.size:
            raise LogError(
                f"the log has {kept.size:,} entries, more than the {end.size:,} that were published: it went on after it was put "
                "back. Restore the backup once more, and begin with this command"
            )
        new_name = successor_name(old.origin)
        key = _key(store, new_name, passphrase, at)
        last = None if statuses is None else _last_list(statuses, folder, end)
        began = log_entry(
            "log.succeeded",
            old.origin,
            to_moment(at),
            size=end.size,
            root=to_base64(end.root),
            kept=kept.size,
            kept_root=to_base64(kept.root),
        )
        retired = [one for one in store.ring if one.role == "log" and one.name == old.origin and one.revoked is None]
        changed: list[int] = []

        def begin(connection: sqlite3.Connection, size: int) -> list[bytes]:
            _copy_tables(folder / "log.db", connection)
            entries = [began, key_entry("key.added", key.public.id, "log", at)]
            entries += [key_entry("key.retired", one.id, "log", at) for one in retired]
            more = _statuses(connection, last, end, status_key, at, size + len(entries))
            changed.append(len(more) - 1)
            return [*entries, *more]

        def begin_audit(connection: sqlite3.Connection, _: int) -> list[bytes]:
            _copy_tables(folder / "audit.db", connection)
            return [began]

        files = {"log.db": _copied(old, folder / "new-log.db", new_name, key, at, begin)}
        files["audit.db"] = _copied(audit, folder / "new-audit.db", f"{new_name}/audit", key, at, begin_audit)
    for one in retired:
        store.retire(one.id, at)
    root = renew_root(folder, passphrase, at, root_folder=root_folder)
    for name in ("audit.db", "log.db"):  # the public log last: until then it is the old one, and this can be done again
        if (folder / f"{name}-wal").exists():
            raise LogError(f"another process uses {name}; end it, and do this again")
        ended = folder / f"{Path(name).stem}-until-root-{root.version}.db"
        ended.unlink(missing_ok=True)
        os.link(folder / name, ended)
        os.replace(files[name], folder / name)
    with reading(folder / "log.db") as connection:
        (envelope,) = connection.execute("SELECT envelope FROM status_lists ORDER BY version DESC LIMIT 1").fetchone()
    put(folder / "status" / "1.json", bytes(envelope))
    return Successor(
        old=end.origin,
        new=new_name,
        kept=kept.size,
        lost=end.size - kept.size,
        changed=changed[0],
        root_version=root.version,
    )


def successor_name(origin: str) -> str:
    """The name of the log after one: `…/log`, then `…/log/2`, `…/log/3`."""
    numbered = re.fullmatch(r"(.+)/([0-9]{1,9})", origin)
    return f"{origin}/2" if numbered is None else f"{numbered[1]}/{int(numbered[2]) + 1}"


def check_succession(entries: Sequence[dict[str, Any]], old: Checkpoint) -> tuple[int, str]:
    """How many of the entries that were seen of an old log its successor keeps, and the sentence about it.

    Raises where the successor does not name the old log, or another end of it than was seen.
    """
    said = next((one for one in entries if one["type"] == "log.succeeded" and one["id"] == old.origin), None)
    if said is None:
        raise VerificationError(f"this log does not say that it follows the log {old.origin}", code="fork")
    if said["size"] < old.size:
        raise VerificationError(
            f"the log says that {old.origin} ended with {said['size']:,} entries; {old.size:,} were seen", code="shrunk"
        )
    if said["size"] == old.size and said["root"] != to_base64(old.root):
        raise VerificationError(f"the log names another end of {old.origin} than the one that was seen", code="fork")
    lost = said["size"] - said["kept"]
    return min(old.size, said["kept"]), (
        f"this log follows {old.origin}, which ended with {said['size']:,} entries; {said['kept']:,} are kept and {lost:,} lost"
    )


def _key(store: KeyStore, name: str, passphrase: str, at: datetime) -> PrivateKey:
    made = [one for one in store.ring if one.role == "log" and one.name == name and one.can_sign(at)]
    return store.open(made[-1].id, passphrase) if made else store.generate("log", passphrase, at, name=name)


def _last_list(data: bytes, folder: Path, end: End) -> StatusList:
    """The last list that was published: signed by a status key of ours, and no older than what the world has seen."""
    keys = {one.id: one.public for one in newest_root(folder).ring if one.role == "status"}
    found = StatusList.from_document(open_sealed(Envelope.from_json(data), KIND, keys).document)
    with reading(folder / "log.db") as connection:
        mine = newest_list(connection)
    if found.id != mine.id or found.version < end.status_version:
        raise VerificationError(
            f"the status list must be {mine.id} of version {end.status_version} or later; it is {found.id[:120]!r} of version "
            f"{found.version}",
            code="rollback",
        )
    return found


def _copied(old: Log, path: Path, name: str, key: Signer, at: datetime, begin: Any) -> Path:
    for leftover in (path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))):
        leftover.unlink(missing_ok=True)
    with Log.create(path, name, key, at) as log:
        log.append_batches(old.batches(), key, at)
        log.append_beside(begin, key, at)
    path.chmod(0o600)
    return path


def _copy_tables(source: Path, connection: sqlite3.Connection) -> None:
    """Whatever lies beside the log in the old file."""
    with reading(source) as old:
        made = old.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'index'"
        ).fetchall()
        for kind, name, table, statement in made:
            if table in LOG_TABLES or kind not in ("table", "index"):
                continue
            connection.execute(statement)
            if kind == "table":
                rows = old.execute(f'SELECT * FROM "{name}"')
                marks = ", ".join("?" for _ in rows.description)
                connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)


def _statuses(
    connection: sqlite3.Connection, last: StatusList | None, end: End, signer: Signer, at: datetime, first: int
) -> list[bytes]:
    """The first list of the successor, kept, and the entries of every certificate whose status it changes."""
    now = newest_list(connection)
    known = connection.execute("SELECT id, status_index FROM certificates ORDER BY log_index").fetchall()
    if last is None:
        suspended = STATUSES.index("SUSPENDED")
        every = bytes(sum(suspended << shift for shift in (0, 2, 4, 6)) for _ in now.bits)
        after = replace(now, bits=every)
        settled = {index: word for _, index in known if (word := now.status(index)) != "VALID"}
        after = after.with_status(settled, at, at + STATUS_LIFE)
    else:
        after = last
    version = max(now.version, end.status_version, 0 if last is None else last.version) + 1
    fresh = replace(after, version=version, issued_at=at, valid_until=at + STATUS_LIFE)
    sealed = sign_status_list(fresh, signer)
    connection.execute("INSERT INTO status_lists VALUES (?, ?)", (version, sealed.to_json()))
    entries, reason = [], LOST if last is None else TAKEN_OVER
    for identity, index in known:
        word = fresh.status(index)
        if word != now.status(index):
            entries.append(
                log_entry(
                    f"certificate.{WORDS[word]}",
                    identity,
                    to_moment(at),
                    list=fresh.id,
                    index=index,
                    status=word,
                    reason=reason,
                )
            )
            place = first + len(entries) - 1
            standing.keep(
                connection,
                Event(
                    certificate=identity,
                    at=to_moment(at),
                    log_index=place,
                    cause="operator",
                    status=word,
                    reason=reason,
                ),
            )
    return [*entries, list_entry(fresh, sealed, at)]
