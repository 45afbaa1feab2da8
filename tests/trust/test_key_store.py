import os
import stat
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from trust_ground import AT, DAY, key

from epimeter.errors import KeyStoreError, TrustError
from epimeter.trust import key_file
from epimeter.trust.key_file import from_pem, to_pem, write_whole
from epimeter.trust.key_store import KeyStore

PKCS8 = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)


def test_a_key_comes_back_with_its_passphrase_only(tmp_path):
    store = KeyStore(tmp_path / "keys")
    made = store.generate("issuer", "correct horse", AT)
    assert store.open(made.public.id, "correct horse").seed == made.seed
    assert store.signer("issuer", "correct horse", AT + DAY).public == made.public
    with pytest.raises(KeyStoreError, match="passphrase"):
        store.open(made.public.id, "wrong horse")
    with pytest.raises(KeyStoreError, match="no key"):
        store.open("unknown", "correct horse")


def test_files_are_for_their_owner_only_and_hold_no_secret(tmp_path):
    store = KeyStore(tmp_path / "keys")
    made = store.generate("issuer", "correct horse", AT)
    for path in store.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert made.seed not in path.read_bytes()
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


def test_a_file_that_others_may_read_is_refused(tmp_path):
    store = KeyStore(tmp_path)
    made = store.generate("issuer", "correct horse", AT)
    (tmp_path / f"{made.public.id}.pem").chmod(0o640)
    with pytest.raises(KeyStoreError, match="chmod 600"):
        store.open(made.public.id, "correct horse")


def test_an_empty_passphrase_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(KeyStoreError, match="passphrase"):
        KeyStore(tmp_path / "keys").generate("issuer", "", AT)
    assert not (tmp_path / "keys").exists()


def test_rotation_keeps_both_keys_and_signs_with_the_new_one(tmp_path):
    store = KeyStore(tmp_path)
    old = store.generate("status", "p", AT)
    new = store.rotate("status", "p", AT + 80 * DAY)
    assert store.signer("status", "p", AT + 81 * DAY).public == new.public
    store.ring.find(old.public.id, "status").check(AT + 81 * DAY)
    assert store.open(old.public.id, "p").seed == old.seed
    store.compromise(new.public.id, AT + 82 * DAY)
    store.retire(old.public.id, AT + 82 * DAY)
    with pytest.raises(KeyStoreError, match="in force"):
        store.signer("status", "p", AT + 83 * DAY)
    with pytest.raises(TrustError, match="role"):
        store.generate("king", "p", AT)


def test_files_mixed_up_are_noticed(tmp_path):
    store = KeyStore(tmp_path)
    one, other = store.generate("issuer", "p", AT), store.generate("status", "p", AT)
    os.replace(tmp_path / f"{one.public.id}.pem", tmp_path / f"{other.public.id}.pem")
    with pytest.raises(KeyStoreError, match="another key"):
        store.open(other.public.id, "p")
    with pytest.raises(KeyStoreError, match="cannot be read"):
        store.open(one.public.id, "p")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_content_and_no_litter(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def crash(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(key_file.os, step, crash)
    with pytest.raises(KeyStoreError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_ring_that_was_tampered_with_is_refused(tmp_path):
    store = KeyStore(tmp_path)
    store.generate("issuer", "p", AT)
    ring = tmp_path / "ring.json"
    ring.write_bytes(ring.read_bytes().replace(b'"issuer"', b'"issuer","role":"root"'))
    with pytest.raises(TrustError, match="twice"):
        _ = store.ring


def test_keys_of_other_tools_are_opened_and_other_kinds_refused():
    foreign = Ed25519PrivateKey.generate()
    sealed = foreign.private_bytes(*PKCS8, serialization.BestAvailableEncryption(b"p"))
    assert from_pem(sealed, "p").seed == foreign.private_bytes_raw()
    with pytest.raises(KeyStoreError, match="encrypted"):
        from_pem(foreign.private_bytes(*PKCS8, serialization.NoEncryption()), "p")
    curve = ec.generate_private_key(ec.SECP256R1())
    with pytest.raises(KeyStoreError, match="Ed25519"):
        from_pem(curve.private_bytes(*PKCS8, serialization.BestAvailableEncryption(b"p")), "p")
    for junk in (b"", b"junk", b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"):
        with pytest.raises(KeyStoreError):
            from_pem(junk, "p")


def test_our_files_are_pkcs8_under_scrypt_at_full_strength(full_strength, tmp_path):
    made = key("issuer")
    pem = to_pem(made, "correct horse é")
    assert from_pem(pem, "correct horse é").seed == made.seed
    assert key_file._N >= 2**14
    path = tmp_path / "key.pem"
    path.write_bytes(pem)
    command = ["openssl", "pkey", "-in", str(path), "-passin", "pass:correct horse é", "-pubout", "-outform", "DER"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except FileNotFoundError:
        return  # no other tool here to open it with
    assert done.stdout.endswith(made.public.raw)
