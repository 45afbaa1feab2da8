# SPDX-License-Identifier: Apache-2.0
"""A private key as an encrypted PKCS#8 file (RFC 5958) that OpenSSL opens too, and files that are whole or absent.

The key is encrypted by PBES2 with scrypt (RFC 7914) and AES-256-CBC. The library's own writer stretches the passphrase
by 2,048 rounds of PBKDF2, which a graphics card undoes; so the few fields around the ciphertext are written here.
"""

from __future__ import annotations

import base64
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from epimeter.errors import KeyStoreError
from epimeter.trust.keys import PrivateKey

_N, _R, _BLOCKS = 2**14, 8, 5  # 16 MiB, which OpenSSL's command line accepts; about a quarter of a second
_PBES2 = bytes.fromhex("06092a864886f70d01050d")
_SCRYPT = bytes.fromhex("06092b06010401da47040b")
_AES_256_CBC = bytes.fromhex("060960864801650304012a")
_ED25519 = bytes.fromhex("06032b6570")


def to_pem(key: PrivateKey, passphrase: str) -> bytes:
    """The key as encrypted PKCS#8 in PEM."""
    if not passphrase:
        raise KeyStoreError("a private key must be kept under a passphrase; got an empty one")
    salt, iv = secrets.token_bytes(16), secrets.token_bytes(16)
    secret = Scrypt(salt=salt, length=32, n=_N, r=_R, p=_BLOCKS).derive(passphrase.encode("utf-8", "surrogateescape"))
    plain = _sequence(_integer(0), _sequence(_ED25519), _octets(_octets(key.seed)))
    pad = padding.PKCS7(128).padder()
    encryptor = Cipher(algorithms.AES256(secret), modes.CBC(iv)).encryptor()
    sealed = encryptor.update(pad.update(plain) + pad.finalize()) + encryptor.finalize()
    stretching = _sequence(_SCRYPT, _sequence(_octets(salt), _integer(_N), _integer(_R), _integer(_BLOCKS)))
    scheme = _sequence(_PBES2, _sequence(stretching, _sequence(_AES_256_CBC, _octets(iv))))
    letters = base64.b64encode(_sequence(scheme, _octets(sealed)))
    lines = [letters[start : start + 64] for start in range(0, len(letters), 64)]
    marks = (b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"-----END ENCRYPTED PRIVATE KEY-----")
    return b"\n".join([marks[0], *lines, marks[1], b""])


def from_pem(data: bytes, passphrase: str) -> PrivateKey:
    """The key of an encrypted PKCS#8 file, ours or another tool's."""
    if not passphrase:
        raise KeyStoreError("a private key is kept under a passphrase; got an empty one")
    try:
        key = load_pem_private_key(data, passphrase.encode("utf-8", "surrogateescape"))
    except TypeError:
        raise KeyStoreError("a private key file must be encrypted; this one is not") from None
    except (ValueError, UnsupportedAlgorithm):
        raise KeyStoreError("the private key cannot be opened: wrong passphrase, or a damaged file") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyStoreError("a private key file must hold an Ed25519 key; this one holds another kind")
    return PrivateKey(key)


def write_whole(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file so that, whatever happens, either the old or the new content is there, never half of it."""
    # 1. a file of its own, closed to others from its first byte; 2. on the disk; 3. renamed; 4. the folder on the disk
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        _sync_folder(path.parent)
    except OSError as fault:
        with suppress(OSError):
            beside.unlink()
        raise KeyStoreError(f"{path.name} cannot be written: {fault.strerror or fault}") from None


def read_private(path: Path) -> bytes:
    """Read a file that only its owner may read; any other permission is refused."""
    try:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise KeyStoreError(f"{path.name} must be readable by its owner only; run: chmod 600 {path.name}")
        return path.read_bytes()
    except OSError as fault:
        raise KeyStoreError(f"{path.name} cannot be read: {fault.strerror or fault}") from None


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# DER, the five fields we need: tag, length, content.
def _field(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    long = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 128 | len(long)]) + long + content


def _sequence(*parts: bytes) -> bytes:
    return _field(0x30, b"".join(parts))


def _octets(content: bytes) -> bytes:
    return _field(0x04, content)


def _integer(value: int) -> bytes:
    return _field(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))
