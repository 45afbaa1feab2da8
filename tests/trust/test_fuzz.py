"""Anything at all into the parsers and the verifier: a verdict or a refusal of ours, never another exception, never VALID.

The number of inputs is stated in FUZZ_INPUTS; the loops change good documents at random places, by seed, which reaches
deeper than random bytes do. hypothesis covers the same doors in the fast tests.
"""

import random

import pytest
from certificates import CERTIFICATE, DOCUMENT, GOOD, LATER, SIGNED_ROOT, TRUST, judged
from hypothesis import given, settings
from hypothesis import strategies as st

from epimeter.errors import TrustError, VerificationError
from epimeter.trust.canonical import load_canonical
from epimeter.trust.checkpoint import Checkpoint, verify_checkpoint
from epimeter.trust.disclosure import check_disclosure
from epimeter.trust.entries import read_entry
from epimeter.trust.envelope import Envelope
from epimeter.trust.note import Note
from epimeter.trust.root import pin
from epimeter.trust.strict_json import load_json
from epimeter.trust.tlog_proof import TlogProof
from epimeter.trust.verify import open_status, verify

FUZZ_INPUTS = 1_000_000
PROOF = DOCUMENT["transparency"]["tlog_proof"].encode()
NOTE = PROOF.partition(b"\n\n")[2]
POLICY = TRUST.logs[0]
LISTED = open_status(GOOD, TRUST, list_id=DOCUMENT["credential_status"]["list"], at=LATER)
SHOWN = b'{"certificate_id":"x","entry":"y","index":0,"proof":[]}'
PIECES = (
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b"e", b"1e999", b"null", b"true", b"NaN", b"\n", b"\n\n",
    b" ", b"\x00", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\xe2\x80\x94", b"=", b"AAAA", b"signature", b"Ed25519", b"{}",
    b"99999999999999999999", b"\xef\xbb\xbf",
)  # fmt: skip


def mangled(chance, data):
    """The data with a few random changes: bits, pieces, cuts, repetitions."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        place, how = chance.randrange(len(made) + 1), chance.randrange(6)
        if how == 0 and place < len(made):
            made[place] ^= 1 << chance.randrange(8)
        elif how == 1:
            made[place:place] = chance.choice(PIECES)
        elif how == 2:
            del made[place : place + chance.randrange(1, 40)]
        elif how == 3:
            piece = chance.choice(PIECES)
            made[place : place + len(piece)] = piece
        elif how == 4:
            other = chance.randrange(len(made) + 1)
            made[place:place] = made[other : other + chance.randrange(1, 60)]
        else:
            del made[place:]
    return bytes(made)


def verdict_on(data):
    assert verify(data, TRUST, at=LATER, status=GOOD).word != "VALID"


def proof_of(data):
    proof = TlogProof.from_text(data.decode("utf-8", "replace"))
    verify_checkpoint(proof.checkpoint, POLICY)


def note_of(data):
    note = Note.from_bytes(data)
    Checkpoint.from_text(note.text)
    verify_checkpoint(note, POLICY)


def status_of(data):
    # Spaces around an envelope are nobody's business; the list in it must be the signed one.
    assert open_status(data, TRUST, list_id=DOCUMENT["credential_status"]["list"], at=LATER) == LISTED


def root_of(data):
    pin(Envelope.from_json(data), "0" * 64)


DOORS = {
    # door: the function, a good input, whether a changed input may still be read (no claim rests on it alone)
    "loader": (load_json, CERTIFICATE, True),
    "canonical": (load_canonical, CERTIFICATE, True),
    "verifier": (verdict_on, CERTIFICATE, True),
    "note": (note_of, NOTE, True),
    "proof": (proof_of, PROOF, True),
    "status": (status_of, GOOD, True),
    "root": (root_of, SIGNED_ROOT, False),
    "entry": (read_entry, DOCUMENT["transparency"]["preregistration"]["entry"].encode(), True),
    "disclosure": (lambda data: check_disclosure(data, DOCUMENT), SHOWN, False),
}  # fmt: skip


def run(door, rounds, seed):
    call, good, readable = DOORS[door]
    chance = random.Random(f"{door} {seed}")
    for number in range(rounds):
        data = mangled(chance, good)
        if data == good:
            continue
        try:
            call(data)
        except TrustError:
            continue
        assert readable, (door, seed, number)
        if door in ("note", "proof"):
            # Lines of keys we do not know are carried by these formats; what was signed must be untouched.
            assert b"\n\n" in data
            text = data.decode().rpartition("\n\n")[0]
            assert text.endswith(NOTE.decode().rpartition("\n\n")[0]), (door, seed, number)


@pytest.mark.parametrize("door", DOORS)
def test_changed_documents_are_refused_and_nothing_else_happens(door):
    run(door, 1500, 0)


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_a_million_changed_documents(door):
    run(door, FUZZ_INPUTS // len(DOORS) + 1, 1)


@settings(max_examples=300)
@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_verdict_or_a_refusal(data):
    assert judged(data).word == "INVALID"
    assert judged(status=data).word == "STATUS_UNKNOWN"
    for call, _, _ in DOORS.values():
        try:
            call(data)
        except VerificationError:
            continue
