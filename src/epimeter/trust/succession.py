# SPDX-License-Identifier: Apache-2.0
"""How an issuer's keys follow each other: new keys, ended keys, and the trust root that tells the world.

The order is key, log, trust root. A key signs only once a published root knows it (see `Registry.signers`), so an
interruption anywhere leaves an issuer that works; doing it again finishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from epimeter.errors import InputError, KeyStoreError, LogError
from epimeter.trust.canonical import canonical_json, load_canonical, to_moment
from epimeter.trust.entries import log_entry
from epimeter.trust.envelope import Envelope
from epimeter.trust.key_file import write_whole
from epimeter.trust.key_ring import KeyRecord, KeyRing
from epimeter.trust.key_store import KeyStore
from epimeter.trust.keys import PrivateKey
from epimeter.trust.log import Log
from epimeter.trust.root import TrustRoot, sign_root

ROOT_LIFE = timedelta(days=3650)


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
    version = newest_root(folder).version + 1 if (folder / "trust-root.json").exists() else 1
    root = TrustRoot(
        version=version,
        issued_at=at,
        expires_at=at + ROOT_LIFE,
        threshold=1,
        ring=KeyRing((*roots.ring, *KeyStore(folder / "keys").ring)),
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
    known = KeyRing(tuple(record for record in newest_root(folder).ring if record.id in able))
    return store.open(known.signing(role, at).id, passphrase)


def rotate(folder: Path, role: str, passphrase: str, at: datetime, *, root_folder: Path | str | None = None) -> str:
    """A successor for the key of a role, in the log and in a new trust root; gives its id."""
    log_key = signing_key(folder, "log", passphrase, at)
    _root_key(folder, passphrase, at, root_folder)

    def change() -> str:
        key = KeyStore(folder / "keys").rotate(role, passphrase, at)
        _append(folder, key_entry("key.added", key.public.id, role, at), log_key, at)
        renew_root(folder, passphrase, at, root_folder=root_folder)
        return key.public.id

    return _alone(folder, {"type": "key.added", "role": role}, log_key, at, change)


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
    _root_key(folder, passphrase, at, root_folder)

    def change() -> str:
        if not _unpublished(folder, record, reason):
            {"retired": store.retire, "compromised": store.compromise}[reason](key_id, at)
        _append(folder, key_entry(f"key.{reason}", key_id, record.role, at), log_key, at)
        renew_root(folder, passphrase, at, root_folder=root_folder)
        return key_id

    _alone(folder, {"type": f"key.{reason}", "role": record.role}, log_key, at, change)


def _root_key(folder: Path, passphrase: str, at: datetime, root_folder: Path | str | None) -> None:
    # Opened before anything is changed: without it the change could not be published.
    place = Path(root_folder or folder / "root")
    if not KeyStore(place).ring.keys("root"):
        raise KeyStoreError(f"no root key is in {place}; give its folder with --root-keys")
    KeyStore(place).signer("root", passphrase, at)


def _alone(folder: Path, event: Mapping[str, str], signer: PrivateKey, at: datetime, change: Callable[[], str]) -> str:
    # Two processes that change keys at once would lose one's ring and sign two roots of one version. So the audit log,
    # which remembers the change, is locked meanwhile; SQLite lets go of its lock even when a process is killed.
    done: list[str] = []

    def make(*_: object) -> list[bytes]:
        done.append(change())
        return [canonical_json({**event, "id": done[0], "time": to_moment(at)})]

    with Log(folder / "audit.db") as log:
        log.append_beside(make, signer, at)
    return done[0]


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
