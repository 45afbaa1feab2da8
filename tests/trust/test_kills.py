"""Two hundred times kill -9 at a random moment while certificates are issued and keys change."""

import json
import os
import random
import select
import signal
import time
from dataclasses import replace

import pytest
from certificates import FOUND, SUBJECT
from test_issuer import SECRET, policy
from trust_ground import AT

from epimeter.trust.anchors import Trust
from epimeter.trust.audit import audit
from epimeter.trust.canonical import canonical_json, from_base64
from epimeter.trust.key_store import KeyStore
from epimeter.trust.merkle import verify_consistency
from epimeter.trust.note import Note
from epimeter.trust.registry import Registry
from epimeter.trust.succession import rotate
from epimeter.trust.tlog_proof import TlogProof
from epimeter.trust.verify import verify

KILLS = 200


def issue_until_killed(folder, pipe, seed):
    """What the victim does: issue, revoke, rotate, and hand out each certificate the moment it has it."""
    chance = random.Random(seed)
    with Registry(folder) as registry, os.fdopen(pipe, "wb", buffering=0) as out:
        signers = registry.signers(SECRET, AT)
        while True:
            number = chance.getrandbits(40)
            fresh = replace(
                FOUND, dataset_digest=f"epi-col-v1:sha-256:{number:064x}", sample_size=FOUND.sample_size + number
            )
            outcome = registry.certify(fresh, SUBJECT, signers, AT)
            out.write(outcome.certificate + b"\n")
            if chance.random() < 0.1:
                registry.set_status(outcome.id, "REVOKED", "a test", signers, AT)
                out.write(b'{"revoked":"%s"}\n' % outcome.id.encode())
            if chance.random() < 0.1:
                rotate(folder, chance.choice(["issuer", "status"]), SECRET, AT)
                signers = registry.signers(SECRET, AT)


def killed_after(folder, seconds, seed):
    """Everything the victim handed out before it was killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            issue_until_killed(folder, write, seed)
        finally:
            os._exit(1)
    os.close(write)
    handed = b""
    end = None
    with os.fdopen(read, "rb", buffering=0) as pipe:
        while True:
            # The clock starts with the first certificate, so that the kill falls into the work and not before it.
            ready, _, _ = select.select([pipe], [], [], 60 if end is None else max(0.0, end - time.monotonic()))
            if not ready:
                break
            part = pipe.read(1 << 16)
            if not part:
                break
            handed += part
            end = end or time.monotonic() + seconds
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        handed += pipe.read() or b""
    assert os.WIFSIGNALED(status), "the victim ended by itself"
    return [json.loads(line) for line in handed.split(b"\n")[:-1]]


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing_and_contradict_nothing(tmp_path):
    folder = tmp_path / "issuer"
    Registry.create(folder, issuer="https://r.example", origin="r.example/log", passphrase=SECRET, at=AT).close()
    chance = random.Random(6)
    handed, revoked, checkpoints = {}, set(), {}
    for kill in range(KILLS):
        for item in killed_after(folder, chance.uniform(0, 0.08), kill):
            if "revoked" in item:
                revoked.add(item["revoked"])
                continue
            handed[item["certificate"]["id"]] = item
            note = TlogProof.from_text(item["transparency"]["tlog_proof"]).checkpoint
            tree = note.text.split("\n")
            assert checkpoints.setdefault(int(tree[1]), tree[2]) == tree[2], "two checkpoints of one size"
        # No half-written key: every key of the ring opens.
        store = KeyStore(folder / "keys")
        assert store.ring.records
        if kill % 20 == 19:
            for record in store.ring:
                store.open(record.id, SECRET)
            _check(folder, handed, revoked, checkpoints)
    assert len(handed) >= KILLS
    assert revoked
    _check(folder, handed, revoked, checkpoints)


def _check(folder, handed, revoked, checkpoints):
    with Registry(folder) as registry:
        found = audit(folder / "log.db", policy(registry))
        assert found.sound, found.findings
        trust = Trust.of(registry.root())
        statuses = registry.statuses()
        size = registry.log.size
        newest = Note.from_bytes(registry.log.checkpoint().to_bytes())
        for old, root in checkpoints.items():
            known = from_base64(root, "root")
            proof = registry.log.consistency_proof(old, size)
            verify_consistency(old, size, proof, known, from_base64(newest.text.split("\n")[2], "root"))
        for identity, item in handed.items():
            data = canonical_json(item)
            assert registry.certificate(identity) == data, "the registry forgot what it handed out"
            word = verify(data, trust, at=AT, status=statuses).word
            assert word == "REVOKED" if identity in revoked else word in ("VALID", "SUPERSEDED", "REVOKED")
