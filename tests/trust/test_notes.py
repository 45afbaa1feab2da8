"""Signed notes, checkpoints with witnesses, and the proofs that travel with entries."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_ground import AT, DAY, LOG_KEY, ORIGIN, POLICY, flips, key, witness

from epimeter.errors import VerificationError
from epimeter.trust.checkpoint import (
    Checkpoint,
    LogPolicy,
    cosign,
    cosigned_message,
    sign_checkpoint,
    verify_checkpoint,
)
from epimeter.trust.keys import PrivateKey
from epimeter.trust.merkle import inclusion_proof, leaf_hash, nodes_of, root_of
from epimeter.trust.note import COSIGNATURE, Note, NoteKey, NoteSignature, sign_note, verify_note
from epimeter.trust.tlog_proof import TlogProof, verify_proof

# The example of c2sp.org/signed-note.
SPEC_VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
SPEC_NOTE = (
    "This is an example message.\n\n— example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
).encode()
# The example of the Go package that the format comes from, golang.org/x/mod/sumdb/note.
GO_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_SEED = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_NOTE = (
    GO_TEXT
    + "\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
).encode()
# The example of c2sp.org/tlog-cosignature, printed without its keys.
COSIGNED = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa "
    "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "— witness.example.com/w1 "
    "jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
).encode()

ENTRIES = [f"entry {number}".encode() for number in range(11)]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
TREE = Checkpoint(ORIGIN, 11, root_of(LEAVES))
SIGNED = sign_checkpoint(TREE, LOG_KEY)
WITNESSES = (witness("w1"), witness("w2"), witness("w3"))


def policy(quorum, *witnesses):
    return LogPolicy(log_keys=POLICY.log_keys, witnesses=witnesses, quorum=quorum)


def cosigned(*names):
    return SIGNED.with_signatures(cosign(SIGNED, f"{name}.example", key(name), AT) for name in names)


def proof_of(index, note=SIGNED):
    return TlogProof(index=index, hashes=tuple(inclusion_proof(index, 11, nodes_of(LEAVES))), checkpoint=note)


def code_of(call, *values):
    with pytest.raises(VerificationError) as caught:
        call(*values)
    return caught.value.code


# ---- notes ----


@pytest.mark.parametrize(("vkey", "data"), [(SPEC_VKEY, SPEC_NOTE), (GO_VKEY, GO_NOTE)])
def test_published_notes_verify_and_are_written_back(vkey, data):
    note_key = NoteKey.from_vkey(vkey)
    assert note_key.to_vkey() == vkey
    note = Note.from_bytes(data)
    assert verify_note(note, [note_key]) == (note_key,)
    assert note.to_bytes() == data


def test_signing_gives_the_published_note():
    assert sign_note(GO_TEXT, "PeterNeumann", PrivateKey.from_seed(GO_SEED)).to_bytes() == GO_NOTE


def test_the_poem_of_the_specification_is_parted_at_its_last_empty_line():
    poem = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n"
    line = (
        "— quasimodo.example/salvatore "
        "NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
    )
    note = Note.from_bytes(f"{poem}\n{line}".encode())
    assert note.text == poem
    assert [len(one.value) for one in note.signatures] == [64]


def test_every_bit_of_a_note_matters():
    note_key = NoteKey.from_vkey(GO_VKEY)
    for changed in flips(GO_NOTE):
        with pytest.raises(VerificationError):
            verify_note(Note.from_bytes(changed), [note_key])


def test_every_bit_of_a_verifier_key_matters():
    for changed in flips(GO_VKEY.encode()):
        with pytest.raises(VerificationError):
            NoteKey.from_vkey(changed.decode("latin-1"))


def test_parts_of_a_verifier_key_are_no_key():
    for start in range(len(GO_VKEY)):
        for end in range(start, len(GO_VKEY) + 1):
            if (start, end) != (0, len(GO_VKEY)):
                with pytest.raises(VerificationError):
                    NoteKey.from_vkey(GO_VKEY[start:end])


@pytest.mark.parametrize(
    "vkey",
    [
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        GO_VKEY.replace("c74f20a3", "C74F20A3"),
        GO_VKEY.replace("c74f20a3", "c7 4f20a"),
        GO_VKEY + "=",
        None,
        5,
    ],
)
def test_odd_verifier_keys_are_refused(vkey):
    code_of(NoteKey.from_vkey, vkey)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"text\n",
        b"text\n\n",
        b"text\n\nno dash\n",
        GO_NOTE[:-1],
        GO_NOTE + b"\n",
        GO_NOTE.replace(b"\n\n", b"\n"),
        GO_NOTE.replace(b"cryptography", b"crypto\tgraphy"),
        GO_NOTE.replace("— P".encode(), "—  P".encode()),
        GO_NOTE.replace(b"\n", b"\r\n"),
        GO_NOTE.replace(b"AM=\n", b"AN=\n"),
        GO_NOTE.replace(b" PeterNeumann ", b" Peter+Neumann "),
        "text\n\n— name QUJD\n".encode(),
        b"\xff\n\n",
        b"x" * 300_000,
        b"text\n\n" + "— n QUJDREVGRw==\n".encode() * 65,
    ],
)
def test_malformed_notes_are_refused(data):
    assert code_of(Note.from_bytes, data) in ("malformed", "no_signature")


def test_signatures_of_unknown_keys_are_ignored_and_known_ones_must_fit():
    mine, other = NoteKey(ORIGIN, LOG_KEY.public), NoteKey("other.example", key("other").public)
    both = SIGNED.with_signatures(sign_note(SIGNED.text, "other.example", key("other")).signatures)
    assert verify_note(both, [mine]) == (mine,)
    assert verify_note(both, [mine, other, mine]) == (mine, other)
    assert code_of(verify_note, both, [NoteKey("other.example", LOG_KEY.public)]) == "untrusted_key"
    assert code_of(verify_note, both, []) == "untrusted_key"
    spoilt = SIGNED.with_signatures([NoteSignature("other.example", other.id, bytes(64))])
    assert code_of(verify_note, spoilt, [mine, other]) == "bad_signature"
    short = SIGNED.with_signatures([NoteSignature("other.example", other.id, bytes(63))])
    assert code_of(verify_note, short, [mine, other]) == "malformed"


@given(st.binary(max_size=80) | st.text("— \n+/=ABCabc012", max_size=80).map(str.encode))
def test_bytes_are_a_note_or_refused(data):
    try:
        note = Note.from_bytes(data)
    except VerificationError as fault:
        assert fault.code in ("malformed", "no_signature")
    else:
        assert note.to_bytes() == data


@given(st.text(max_size=40), st.text(max_size=10))
def test_a_note_comes_back_from_its_bytes_or_is_refused(text, name):
    try:
        note = sign_note(text, name, LOG_KEY) if text.isprintable() else Note(text, ())
        data = note.to_bytes()
        back = Note.from_bytes(data)
    except VerificationError:
        return
    assert back == note


# ---- checkpoints ----


def test_the_published_cosigned_checkpoint_is_read():
    note = Note.from_bytes(COSIGNED)
    tree = Checkpoint.from_text(note.text)
    assert (tree.origin, tree.size, tree.root.hex()[:8]) == ("example.com/behind-the-sofa", 20852163, "0ac5186a")
    assert tree.to_text() == note.text
    cosignature = note.signatures[1]
    assert cosignature.key_id.hex() == "8d66cf3f"
    assert int.from_bytes(cosignature.value[:8], "big") == 1679315147
    assert cosigned_message(note.text, 1679315147).decode().split("\n")[:3] == [
        "cosignature/v1",
        "time 1679315147",
        "example.com/behind-the-sofa",
    ]


def test_a_checkpoint_verifies_with_enough_witnesses():
    verified = verify_checkpoint(cosigned("w1", "w2"), policy(2, *WITNESSES))
    assert verified.checkpoint == TREE
    assert verified.proven_at == AT
    assert verify_checkpoint(SIGNED, POLICY).proven_at is None
    assert code_of(verify_checkpoint, cosigned("w1", "w2"), policy(3, *WITNESSES)) == "witnesses"
    assert code_of(verify_checkpoint, cosigned("w1", "stranger"), policy(2, *WITNESSES)) == "witnesses"


def test_every_bit_of_a_cosigned_checkpoint_matters():
    data = cosigned("w1").to_bytes()
    for changed in flips(data):
        with pytest.raises(VerificationError):
            verify_checkpoint(Note.from_bytes(changed), policy(1, *WITNESSES))


def test_a18_one_key_under_many_names_is_one_witness():
    names = [NoteKey(f"w{number}.example", key("w1").public, COSIGNATURE) for number in range(1, 4)]
    assert code_of(policy, 2, *names) == "malformed"
    note = SIGNED.with_signatures(cosign(SIGNED, one.name, key("w1"), AT) for one in names)
    assert code_of(verify_checkpoint, note, policy(2, *names, witness("w9"))) == "witnesses"
    assert len(verify_checkpoint(note, policy(1, *names)).seen) == 1


def test_a18_the_log_is_not_its_own_witness():
    itself = NoteKey("w1.example", LOG_KEY.public, COSIGNATURE)
    assert code_of(policy, 1, itself) == "malformed"
    note = SIGNED.with_signatures([cosign(SIGNED, "w1.example", LOG_KEY, AT)])
    assert code_of(verify_checkpoint, note, policy(1, itself, witness("w2"))) == "witnesses"


def test_a18_a_plain_signature_is_no_cosignature():
    plain = sign_note(SIGNED.text, "w1.example", key("w1")).signatures
    assert code_of(verify_checkpoint, SIGNED.with_signatures(plain), policy(1, WITNESSES[0])) == "witnesses"
    only = Note(SIGNED.text, cosigned("w1").signatures[1:])
    assert code_of(verify_checkpoint, only, policy(0, *WITNESSES)) == "untrusted_key"


def test_the_earliest_sight_of_a_witness_counts():
    later = cosign(SIGNED, "w1.example", key("w1"), AT + DAY)
    note = Note(SIGNED.text, (*SIGNED.signatures, later, *cosigned("w1").signatures[1:]))
    assert verify_checkpoint(note, policy(1, *WITNESSES)).seen == {key("w1").public: AT}


def test_odd_cosignatures_are_refused():
    line = cosigned("w1").signatures[1]
    for value in (line.value[:-1], line.value + b"\0", b"\xff" * 8 + line.value[8:], bytes(8) + line.value[8:]):
        note = SIGNED.with_signatures([NoteSignature(line.name, line.key_id, value)])
        assert code_of(verify_checkpoint, note, policy(0, *WITNESSES)) in ("malformed", "bad_signature")


def test_a20_a_tree_under_another_key_or_origin_is_refused():
    attacker = key("attacker")
    assert code_of(verify_checkpoint, sign_checkpoint(TREE, attacker), POLICY) == "untrusted_key"
    other = Checkpoint("registry.example/other", TREE.size, TREE.root)
    assert code_of(verify_checkpoint, sign_checkpoint(other, LOG_KEY), POLICY) == "untrusted_key"
    # Signed under the right name, but stating another origin.
    posing = sign_note(other.to_text(), ORIGIN, LOG_KEY)
    assert code_of(verify_checkpoint, posing, POLICY) == "wrong_origin"


@pytest.mark.parametrize(
    "text",
    [
        "a\n1\n",
        "a\n1\n\n",
        "\n1\nx\n",
        "a\n01\nx\n",
        "a\n-1\nx\n",
        "a\n1\nQUJD\n",
        "a\n٣\nx\n",
        f"a\n{2**63}\nx\n",
        "a\n1 \nx\n",
        "",
    ],
)
def test_malformed_checkpoints_are_refused(text):
    assert code_of(Checkpoint.from_text, text) == "malformed"


def test_extension_lines_are_carried():
    tree = Checkpoint(ORIGIN, 11, TREE.root, ("more", "and more"))
    assert Checkpoint.from_text(tree.to_text()) == tree
    assert verify_checkpoint(sign_checkpoint(tree, LOG_KEY), POLICY).checkpoint == tree
    assert code_of(Checkpoint, ORIGIN, 11, TREE.root, ("",)) == "malformed"


def test_policies_that_cannot_mean_what_they_say_are_refused():
    assert code_of(lambda: LogPolicy(log_keys=())) == "malformed"
    assert code_of(lambda: LogPolicy(log_keys=(*POLICY.log_keys, NoteKey("b", key("b").public)))) == "malformed"
    assert code_of(lambda: LogPolicy(log_keys=WITNESSES[:1])) == "malformed"
    assert code_of(policy, 0, NoteKey("w", key("w").public)) == "malformed"
    assert code_of(policy, -1) == "malformed"
    assert code_of(lambda: NoteKey("x", key("x").public, 2)) == "algorithm"
    assert code_of(lambda: NoteKey("a b", key("x").public)) == "malformed"


# ---- proofs ----


@pytest.mark.parametrize("index", range(11))
def test_a_proof_travels_and_verifies(index):
    text = proof_of(index).to_text()
    assert TlogProof.from_text(text).to_text() == text
    assert verify_proof(TlogProof.from_text(text), ENTRIES[index], POLICY).checkpoint == TREE


def test_a_proof_in_a_tree_of_one_entry_has_no_hashes():
    tree = Checkpoint(ORIGIN, 1, LEAVES[0])
    proof = TlogProof(index=0, hashes=(), checkpoint=sign_checkpoint(tree, LOG_KEY))
    verify_proof(TlogProof.from_text(proof.to_text()), ENTRIES[0], POLICY)


def test_the_extra_line_is_carried_and_never_read():
    plain = proof_of(4)
    carried = TlogProof(index=4, hashes=plain.hashes, checkpoint=plain.checkpoint, extra=b"hello")
    back = TlogProof.from_text(carried.to_text())
    assert back.extra == b"hello"
    verify_proof(back, ENTRIES[4], POLICY)


def test_every_bit_of_a_proof_matters():
    asked = policy(1, *WITNESSES)
    text = proof_of(6, cosigned("w2")).to_text()
    verify_proof(TlogProof.from_text(text), ENTRIES[6], asked)
    for changed in flips(text.encode()):
        with pytest.raises(VerificationError):
            verify_proof(TlogProof.from_text(changed.decode("utf-8", "replace")), ENTRIES[6], asked)


def test_a19_proofs_of_other_entries_indices_and_lengths_are_refused():
    good = proof_of(6)
    assert code_of(verify_proof, good, ENTRIES[5], POLICY) == "bad_proof"
    for index in (5, 7, 10, 11, 2**62):
        bad = TlogProof(index=index, hashes=good.hashes, checkpoint=SIGNED)
        assert code_of(verify_proof, bad, ENTRIES[6], POLICY) == "bad_proof"
    for hashes in (good.hashes[:-1], (*good.hashes, LEAVES[0]), good.hashes[::-1], ()):
        bad = TlogProof(index=6, hashes=hashes, checkpoint=SIGNED)
        assert code_of(verify_proof, bad, ENTRIES[6], POLICY) == "bad_proof"
    empty = sign_checkpoint(Checkpoint(ORIGIN, 0, root_of([])), LOG_KEY)
    assert code_of(verify_proof, TlogProof(index=0, hashes=(), checkpoint=empty), b"", POLICY) == "bad_proof"


def test_a20_the_same_entry_in_an_attackers_tree_is_refused():
    tree = Checkpoint(ORIGIN, 1, leaf_hash(ENTRIES[6]))
    proof = TlogProof(index=0, hashes=(), checkpoint=sign_checkpoint(tree, key("attacker")))
    assert code_of(verify_proof, proof, ENTRIES[6], POLICY) == "untrusted_key"


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("proof@v1", "proof@v2"),
        lambda t: t.replace("index 6", "index 06"),
        lambda t: t.replace("index 6", "index  6"),
        lambda t: t.replace("index 6", "index +6"),
        lambda t: t.replace("index 6\n", ""),
        lambda t: t.replace("index 6\n", "index 6\nextra QUJD\n"),
        lambda t: t.replace("index 6\n", "extra QUJE=\nindex 6\n"),
        lambda t: t.replace("index 6\n", "index 6\n\n"),
        lambda t: t.replace("index 6\n", "index 6\n" + "QUJD\n" * 64),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: "\ufeff" + t,
        lambda t: t[:-1],
        lambda t: t + "\n",
        lambda t: t + "x" * 300_000,
        lambda t: t.replace("registry", "\ud800"),
        lambda t: "",
    ],
)
def test_malformed_proofs_are_refused(change):
    text = change(proof_of(6).to_text())
    code_of(lambda: verify_proof(TlogProof.from_text(text), ENTRIES[6], POLICY))


@given(st.text("c2sp.org/tlog-proof@v1\n indexetra06=QUJD—", max_size=200) | st.text(max_size=40))
def test_text_is_a_proof_or_refused(text):
    for candidate in (text, f"c2sp.org/tlog-proof@v1\nindex 0\n{text}"):
        with pytest.raises(VerificationError):
            verify_proof(TlogProof.from_text(candidate), b"", POLICY)
