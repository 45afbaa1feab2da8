"""What the tests of trust start from: moments and keys, the same in every run."""

import hashlib
from datetime import UTC, datetime, timedelta

from epimeter.trust.checkpoint import LogPolicy
from epimeter.trust.keys import PrivateKey
from epimeter.trust.note import COSIGNATURE, NoteKey

AT = datetime(2026, 11, 15, 6, tzinfo=UTC)
DAY = timedelta(days=1)
ORIGIN = "registry.example/log"


def key(name):
    return PrivateKey.from_seed(hashlib.sha256(name.encode()).digest())


LOG_KEY = key("log")
POLICY = LogPolicy(log_keys=(NoteKey(ORIGIN, LOG_KEY.public),))


def witness(name):
    return NoteKey(f"{name}.example", key(name).public, COSIGNATURE)


def flips(data):
    """Every byte string that differs in one bit."""
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            yield bytes(changed)
