# SPDX-License-Identifier: Apache-2.0
"""A folder of private keys: one encrypted file a key, and the ring that says what each is for.

    ring.json        the public records, canonical JSON
    <key id>.pem     a private key, encrypted PKCS#8, readable by its owner only

Writing goes key first, ring second: after a crash there may be a key file that no record names, never a record
without its key. One process at a time changes a folder.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from epimeter.errors import KeyStoreError
from epimeter.trust.canonical import canonical_json, load_canonical
from epimeter.trust.key_file import from_pem, read_private, to_pem, write_whole
from epimeter.trust.key_ring import OVERLAP, KeyRing
from epimeter.trust.keys import PrivateKey


class KeyStore:
    """Private keys in a folder, which is made when the first key comes."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    @property
    def ring(self) -> KeyRing:
        """The public records, read anew."""
        path = self.folder / "ring.json"
        if not path.exists():
            return KeyRing()
        return KeyRing.from_json(load_canonical(read_private(path)))

    def generate(
        self,
        role: str,
        passphrase: str,
        at: datetime,
        *,
        life: timedelta | None = None,
        name: str | None = None,
    ) -> PrivateKey:
        """A new key in force from `at`, kept before it is returned."""
        key = PrivateKey.generate()
        self._keep(key, passphrase, self.ring.add(key.public, role, at, life=life, name=name))
        return key

    def rotate(
        self,
        role: str,
        passphrase: str,
        at: datetime,
        *,
        life: timedelta | None = None,
        overlap: timedelta = OVERLAP,
    ) -> PrivateKey:
        """A successor for the key of that role; the old one stays valid for the overlap."""
        key = PrivateKey.generate()
        self._keep(key, passphrase, self.ring.rotate(key.public, role, at, life=life, overlap=overlap))
        return key

    def retire(self, key_id: str, at: datetime) -> None:
        """Let a key sign nothing from `at` on."""
        self._write(self.ring.retire(key_id, at))

    def compromise(self, key_id: str, at: datetime) -> None:
        """Record that a key is in other hands since `at`."""
        self._write(self.ring.compromise(key_id, at))

    def open(self, key_id: str, passphrase: str) -> PrivateKey:
        """The private key of that id."""
        if key_id not in {record.id for record in self.ring}:
            raise KeyStoreError(f"no key {key_id[:8]!r} is in the key store")
        key = from_pem(read_private(self.folder / f"{key_id}.pem"), passphrase)
        if key.public.id != key_id:
            raise KeyStoreError(f"{key_id}.pem holds another key, {key.public.id}; files were mixed up")
        return key

    def signer(self, role: str, passphrase: str, at: datetime) -> PrivateKey:
        """The private key to sign with in that role at that moment."""
        return self.open(self.ring.signing(role, at).id, passphrase)

    def _keep(self, key: PrivateKey, passphrase: str, ring: KeyRing) -> None:
        pem = to_pem(key, passphrase)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self.folder / f"{key.public.id}.pem", pem)
        self._write(ring)

    def _write(self, ring: KeyRing) -> None:
        write_whole(self.folder / "ring.json", canonical_json(ring.to_json()))
