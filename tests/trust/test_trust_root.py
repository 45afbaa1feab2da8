from dataclasses import replace

import pytest
from trust_ground import AT, DAY, ORIGIN, key, witness

from epimeter.errors import VerificationError
from epimeter.trust.canonical import canonical_json, load_canonical
from epimeter.trust.envelope import Envelope
from epimeter.trust.key_ring import KeyRing
from epimeter.trust.root import TrustRoot, advance, follow, pin, sign_root

R1, R2, R3, R4 = (key(f"root {number}") for number in range(1, 5))
LOG, ISSUER, ATTACKER = key("log"), key("issuer"), key("attacker")


def ring(*roots):
    found = KeyRing()
    for one in roots:
        found = found.add(one.public, "root", AT)
    return found.add(LOG.public, "log", AT, name=ORIGIN).add(ISSUER.public, "issuer", AT)


FIRST = TrustRoot(
    version=1,
    issued_at=AT,
    expires_at=AT + 365 * DAY,
    threshold=2,
    ring=ring(R1, R2, R3),
    witnesses=(witness("w1"),),
    quorum=1,
)
SIGNED = sign_root(FIRST, R1, R2)
SECOND = replace(FIRST, version=2, issued_at=AT + DAY, ring=ring(R2, R3, R4))


def code_of(call, *values):
    with pytest.raises(VerificationError) as caught:
        call(*values)
    return caught.value.code


def test_a_first_root_is_pinned_by_its_fingerprint():
    assert pin(Envelope.from_json(SIGNED.to_json()), FIRST.fingerprint) == FIRST
    assert code_of(pin, SIGNED, SECOND.fingerprint) == "untrusted_key"
    assert code_of(pin, sign_root(FIRST, R1), FIRST.fingerprint) == "threshold"


def test_a_new_root_is_signed_by_old_and_new():
    assert advance(FIRST, sign_root(SECOND, R1, R2, R4)) == SECOND
    assert advance(FIRST, sign_root(SECOND, R2, R3)) == SECOND
    third = replace(SECOND, version=3, threshold=1, ring=ring(R4))
    assert follow(FIRST, [sign_root(SECOND, R2, R3), sign_root(third, R3, R4)]) == third


def test_a18_a_self_signed_second_version_is_refused():
    hijack = replace(SECOND, threshold=1, ring=ring(ATTACKER))
    assert code_of(advance, FIRST, sign_root(hijack, ATTACKER)) == "untrusted_key"
    one_insider = replace(SECOND, threshold=1, ring=ring(ATTACKER, R1))
    assert code_of(advance, FIRST, sign_root(one_insider, ATTACKER, R1)) == "threshold"
    assert code_of(advance, FIRST, sign_root(SECOND, R4, R2)) == "threshold"


def test_a18_a_root_that_its_own_keys_did_not_sign_is_refused():
    assert code_of(advance, FIRST, sign_root(replace(SECOND, ring=ring(R3, R4, ATTACKER)), R1, R2)) == "untrusted_key"
    assert code_of(advance, FIRST, sign_root(SECOND, R1, R2)) == "threshold"


def test_a18_the_same_key_twice_is_refused_or_counted_once():
    twice = load_canonical(SIGNED.payload)
    twice["keys"].append(dict(twice["keys"][0]))
    assert code_of(TrustRoot.from_document, twice) == "malformed"
    doubled = Envelope(payload_type=SIGNED.payload_type, payload=SIGNED.payload, signatures=SIGNED.signatures[:1] * 2)
    assert code_of(pin, doubled, FIRST.fingerprint) == "malformed"


def test_a18_keys_of_other_roles_do_not_sign_roots():
    assert code_of(advance, FIRST, sign_root(SECOND, ISSUER, LOG)) == "untrusted_key"


def test_versions_go_up_by_one_and_never_back():
    signers = (R1, R2, R3)
    assert code_of(advance, SECOND, sign_root(FIRST, *signers)) == "rollback"
    assert code_of(advance, FIRST, sign_root(FIRST, *signers)) == "rollback"
    assert code_of(advance, FIRST, sign_root(replace(SECOND, version=3), *signers)) == "root_gap"
    assert code_of(advance, FIRST, sign_root(replace(SECOND, issued_at=AT, version=2), R1)) == "untrusted_key"


def test_a_compromised_root_key_does_not_count():
    weak = replace(FIRST, ring=FIRST.ring.compromise(R1.public.id, AT))
    assert code_of(advance, weak, sign_root(SECOND, R1, R2, R4)) == "threshold"
    assert advance(weak, sign_root(SECOND, R2, R3)) == SECOND


def test_an_expired_root_says_so():
    FIRST.check(AT)
    assert code_of(FIRST.check, AT + 365 * DAY) == "root_expired"
    assert code_of(FIRST.check, AT - DAY) == "root_expired"


@pytest.mark.parametrize(
    "change", [{"threshold": 4}, {"threshold": 0}, {"quorum": 2}, {"quorum": -1}, {"expires_at": AT}]
)
def test_roots_that_cannot_be_kept_are_refused(change):
    assert code_of(lambda: replace(FIRST, **change)) == "malformed"


def test_the_root_says_whom_to_believe_about_a_log():
    policy = FIRST.log_policy(ORIGIN)
    assert policy.origin == ORIGIN
    assert policy.log_keys[0].public == LOG.public
    assert (policy.quorum, policy.witnesses) == (1, (witness("w1"),))
    assert code_of(FIRST.log_policy, "other.example/log") == "untrusted_key"
    gone = replace(FIRST, ring=FIRST.ring.compromise(LOG.public.id, AT))
    assert code_of(gone.log_policy, ORIGIN) == "untrusted_key"


def test_documents_of_another_shape_are_refused():
    document = FIRST.to_document()
    for field in document:
        for value in (None, "x", -1, {}, [None]):
            assert code_of(TrustRoot.from_document, {**document, field: value}) == "malformed"
    assert TrustRoot.from_document(load_canonical(canonical_json(document))) == FIRST
