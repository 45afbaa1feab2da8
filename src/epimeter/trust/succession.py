# SPDX-License-Identifier: Apache-2.0
"""How an issuer's keys follow each other: new keys, ended keys, and the trust root that tells the world.

The order is key, log, trust root. A key signs only once a published root knows it (see `Registry.signers`), so an
interruption anywhere leaves an issuer that works; doing it again finishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from epimeter.errors import InputError, KeyStoreError, LogError
from epimeter.trust.canonical import canonical_json, load_canonical, to_moment
from epimeter.trust.entries import log_entry
from epimeter.trust.envelope import Envelope
from epimeter.trust.key_file import write_whole
from epimeter.trust.key_ring import KeyRecord, KeyRing, Revocation
from epimeter.trust.key_store import KeyStore
from epimeter.trust.keys import PrivateKey
from epimeter.trust.log import Log
from epimeter.trust.root import TrustRoot, sign_root

ROOT_LIFE = timedelta(days=3650)
SIGNING = ("issuer", "status", "log")
"""The roles whose keys sign day by day; they are rotated, the root key appoints them."""
AHEAD = timedelta(days=30)
"""How long before the end of a key its successor is made."""
WARNING = timedelta(days=14)
"""How long before the end of a key everybody is told."""


@dataclass(frozen=True, slots=True)
class Ending:
    """When the last published key of a role stops signing."""

    role: str
    key_id: str
    at: datetime

    def sentence(self, now: datetime) -> str:
        """What it means at that moment."""
        days = (self.at - now) / timedelta(days=1)
        when = f"ended {to_moment(self.at)}" if days <= 0 else f"ends {to_moment(self.at)}, in {max(1, int(days))} days"
        return f"the {self.role} key {self.key_id[:8]} {when}"


def newest_root(folder: Path) -> TrustRoot:
    """The newest trust root of an issuer's folder."""
    try:
        data = (folder / "trust-root.json").read_bytes()
    except OSError as fault:
        raise KeyStoreError(f"the trust root cannot be read: {fault.strerror or fault}") from None
    return TrustRoot.from_document(load_canonical(Envelope.from_json(data).payload))


def renew_root(folder: Path, passphrase: str, at: datetime, *, root_folder: Path | str | None = None) -> TrustRoot:
    """Sign and write the next version of the trust root, with the keys as they are now."""
    roots = KeyStore(root_folder or folder / "root")
    version, lost = 1, list[KeyRecord]()
    ring = KeyRing((*roots.ring, *KeyStore(folder / "keys").ring))
    if (folder / "trust-root.json").exists():
        before = newest_root(folder)
        version = before.version + 1
        # Keys that were published and are no longer here, in a folder put back from a copy: what they signed stays good.
        lost = [one for one in before.ring if one.id not in {record.id for record in ring}]
        lost = [one if one.revoked else replace(one, revoked=Revocation(at, "retired")) for one in lost]
    root = TrustRoot(
        version=version,
        issued_at=at,
        expires_at=at + ROOT_LIFE,
        threshold=1,
        ring=KeyRing((*ring, *lost)),
    )
    signed = sign_root(root, roots.signer("root", passphrase, at)).to_json()
    put(folder / f"trust-root-{version}.json", signed)
    put(folder / "trust-root.json", signed)
    return root


def signing_key(folder: Path, role: str, passphrase: str, at: datetime, *, without: str | None = None) -> PrivateKey:
    """The private key to sign with: in force here, and in the published trust root, so that strangers can verify.

    `without` names a key that is about to end: another one must do it.
    """
    store = KeyStore(folder / "keys")
    able = {record.id for record in store.ring if record.role == role and record.can_sign(at)} - {without}
    if not able and without is not None:
        raise KeyStoreError(
            f"the log's only key cannot end; give it a successor first: epimeter keys rotate {folder} log"
        )
    published = newest_root(folder).ring
    known = KeyRing(tuple(record for record in published if record.id in able))
    if not able:
        ended = max((record.end for record in published if record.role == role), default=at)
        raise KeyStoreError(
            f"no {role} key is in force since {to_moment(ended)}; run: epimeter keys rotate {folder} {role}"
        )
    return store.open(known.signing(role, at).id, passphrase)


def endings(folder: Path, roles: Sequence[str] = (*SIGNING, "root")) -> tuple[Ending, ...]:
    """When each role runs out of published keys, the earliest first; a key ended early counts no more."""
    ring, found = newest_root(folder).ring, []
    for role in roles:
        records = [one for one in ring if one.role == role and one.revoked is None] or [ring.newest(role)]
        last = max(records, key=lambda one: one.end)
        found.append(Ending(role, last.id, last.end))
    return tuple(sorted(found, key=lambda one: one.at))


def rotate(folder: Path, role: str, passphrase: str, at: datetime, *, root_folder: Path | str | None = None) -> str:
    """A successor for the key of a role, in force or ended, in the log and in a new trust root; gives its id."""
    return _rotate(folder, passphrase, at, root_folder, lambda: (role,))[0]


def rotate_due(
    folder: Path,
    passphrase: str,
    at: datetime,
    *,
    ahead: timedelta = AHEAD,
    root_folder: Path | str | None = None,
) -> tuple[str, ...]:
    """Successors for the keys that have ended or end within `ahead`; one sentence for each, none when none is due."""
    before = {one.role: one for one in endings(folder, SIGNING) if one.at <= at + ahead}
    if not before:
        return ()
    done = _rotate(
        folder,
        passphrase,
        at,
        root_folder,
        # Another process may have done it meanwhile, so what is due is asked again under the lock.
        lambda: tuple(one.role for one in endings(folder, SIGNING) if one.at <= at + ahead),
    )
    ring = KeyStore(folder / "keys").ring
    fresh = [record for record in ring if record.id in done]
    version = newest_root(folder).version
    return tuple(
        f"{before[one.role].sentence(at)}; its successor {one.id[:8]} holds until {to_moment(one.valid_until)} "
        f"(trust root version {version})"
        for one in fresh
        if one.role in before
    )


def _rotate(
    folder: Path, passphrase: str, at: datetime, root_folder: Path | str | None, roles: Callable[[], Sequence[str]]
) -> list[str]:
    log_key = signing_key(folder, "log", passphrase, at)
    root_key(folder, passphrase, at, root_folder)

    def change() -> list[tuple[str, str]]:
        store, made = KeyStore(folder / "keys"), []
        for role in roles():
            key_id = store.rotate(role, passphrase, at).public.id
            _append(folder, key_entry("key.added", key_id, role, at), log_key, at)
            made.append((role, key_id))
        if made:
            renew_root(folder, passphrase, at, root_folder=root_folder)
        return made

    return _alone(folder, "key.added", log_key, at, change)


def end_key(
    folder: Path,
    key_id: str,
    reason: str,
    passphrase: str,
    at: datetime,
    *,
    root_folder: Path | str | None = None,
) -> None:
    """Retire a key, or record that it is compromised, in the log and in a new trust root."""
    store = KeyStore(folder / "keys")
    record = next((one for one in store.ring if one.id == key_id), None)
    if record is None:
        raise InputError(f"no key {key_id[:12]!r} is in the key store", field="key")
    # What must be signed is signed by keys that stay; nothing is changed before they are known to be there.
    log_key = signing_key(folder, "log", passphrase, at, without=key_id)
    root_key(folder, passphrase, at, root_folder)

    def change() -> list[tuple[str, str]]:
        if not _unpublished(folder, record, reason):
            {"retired": store.retire, "compromised": store.compromise}[reason](key_id, at)
        _append(folder, key_entry(f"key.{reason}", key_id, record.role, at), log_key, at)
        renew_root(folder, passphrase, at, root_folder=root_folder)
        return [(record.role, key_id)]

    _alone(folder, f"key.{reason}", log_key, at, change)


def root_key(folder: Path, passphrase: str, at: datetime, root_folder: Path | str | None) -> None:
    """Open the root key before anything is changed: without it the change could not be published."""
    place = Path(root_folder or folder / "root")
    if not KeyStore(place).ring.keys("root"):
        raise KeyStoreError(f"no root key is in {place}; give its folder with --root-keys")
    KeyStore(place).signer("root", passphrase, at)


def _alone(
    folder: Path, event: str, signer: PrivateKey, at: datetime, change: Callable[[], list[tuple[str, str]]]
) -> list[str]:
    # `change` gives role and id of each key that it changed; none where another process came first.
    # Two processes that change keys at once would lose one's ring and sign two roots of one version. So the audit log,
    # which remembers the change, is locked meanwhile; SQLite lets go of its lock even when a process is killed.
    done: list[str] = []

    def make(*_: object) -> list[bytes]:
        entries = []
        for role, key_id in change():
            done.append(key_id)
            entries.append(canonical_json({"type": event, "role": role, "id": key_id, "time": to_moment(at)}))
        if not entries:
            raise _NothingDueError
        return entries

    with Log(folder / "audit.db") as log, suppress(_NothingDueError):
        log.append_beside(make, signer, at)
    return done


class _NothingDueError(Exception):
    """Another process has done it."""


def _unpublished(folder: Path, record: KeyRecord, reason: str) -> bool:
    # Ended here, but no published root says so: an earlier try was interrupted, and is finished now.
    if record.revoked is None or record.revoked.reason != reason:
        return False
    return all(one.id != record.id or one.revoked != record.revoked for one in newest_root(folder).ring)


def key_entry(kind: str, key_id: str, role: str, at: datetime) -> bytes:
    """What the log remembers of a change of keys."""
    return log_entry(kind, key_id, to_moment(at), role=role)


def put(path: Path, data: bytes) -> None:
    """Write a public file whole, in a folder that is made when it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise LogError(f"{path.parent.name} cannot be made: {fault.strerror or fault}") from None
    write_whole(path, data, mode=0o644)


def _append(folder: Path, entry: bytes, signer: PrivateKey, at: datetime) -> None:
    with Log(folder / "log.db") as log:
        log.append([entry], signer, at)
