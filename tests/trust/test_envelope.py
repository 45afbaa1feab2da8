import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_ground import flips, key

from epimeter.errors import VerificationError
from epimeter.trust import envelope as envelopes
from epimeter.trust.canonical import canonical_json, to_base64
from epimeter.trust.envelope import Envelope, Signature, embed, extract, open_sealed, pae, payload_type, seal
from epimeter.trust.strict_json import load_json

ISSUER, OTHER = key("issuer"), key("other")
TRUSTED = {ISSUER.public.id: ISSUER.public}
BODY = {"certificate": {"id": "ONTO-CERT-2026-7Q4MK8ZD2N0R5TVX", "level": "L2"}, "metrics": {"ece": 0.0742, "ers": 31}}
SEALED = seal(BODY, "certificate", ISSUER)
EMBEDDED = embed(SEALED, ISSUER.public)


def code_of(call, *values, **named):
    with pytest.raises(VerificationError) as caught:
        call(*values, **named)
    assert "\n" not in str(caught.value)
    return caught.value.code


def verify(document):
    return open_sealed(extract(document, "certificate"), "certificate", TRUSTED)


def test_the_example_of_the_dsse_protocol_is_encoded_as_printed():
    assert (
        pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("é", b"") == "DSSEv1 2 é 0 ".encode()


def test_a_document_comes_back_from_its_envelope():
    opened = open_sealed(Envelope.from_json(SEALED.to_json()), "certificate", TRUSTED)
    assert opened.document == BODY
    assert opened.key_ids == (ISSUER.public.id,)


def test_the_same_64_bytes_verify_embedded_and_apart():
    assert extract(EMBEDDED, "certificate") == SEALED
    assert verify(EMBEDDED).document == BODY
    assert verify({**EMBEDDED, "transparency": {"anything": 1}}).document == BODY
    assert (
        hashlib.sha256(SEALED.signed_bytes).digest()
        == hashlib.sha256(extract(EMBEDDED, "certificate").signed_bytes).digest()
    )


def test_the_envelope_is_what_dsse_prescribes():
    written = json.loads(SEALED.to_json())
    assert set(written) == {"payload", "payloadType", "signatures"}
    assert written["payloadType"] == "application/vnd.epimeter.certificate.v1+json"
    assert written["signatures"] == [{"keyid": ISSUER.public.id, "sig": to_base64(SEALED.signatures[0].value)}]


@pytest.mark.parametrize("block", [None, {}, ""])
def test_a_signature_removed_or_emptied_is_missed(block):
    assert code_of(verify, {**EMBEDDED, "signature": block}) == "no_signature"
    assert code_of(verify, BODY) == "no_signature"
    bare = Envelope(payload_type=SEALED.payload_type, payload=SEALED.payload, signatures=())
    assert code_of(open_sealed, bare, "certificate", TRUSTED) == "no_signature"


@pytest.mark.parametrize("name", ["none", "HS256", "EdDSA", "ed25519", "RSA", "Ed25519ph", "", None, 1, ["Ed25519"]])
def test_a2_other_algorithms_are_refused_before_any_cryptography(name, monkeypatch):
    monkeypatch.setattr(envelopes, "PublicKey", None)
    monkeypatch.setattr(envelopes, "from_base64", None)
    block = {**EMBEDDED["signature"], "algorithm": name}
    assert code_of(verify, {**EMBEDDED, "signature": block}) == "algorithm"


def test_a_key_inside_the_document_is_never_trusted():
    forged = embed(seal(BODY, "certificate", OTHER), OTHER.public)
    assert code_of(verify, forged) == "untrusted_key"
    forged["signature"]["key_id"] = ISSUER.public.id
    assert code_of(verify, forged) == "untrusted_key"
    forged["signature"]["public_key"] = to_base64(ISSUER.public.raw)
    assert code_of(verify, forged) == "bad_signature"


def test_a5_a_small_order_key_inside_the_document_is_refused():
    weak = (1).to_bytes(32, "little")
    block = {**EMBEDDED["signature"], "public_key": to_base64(weak), "value": to_base64(weak + bytes(32))}
    assert code_of(verify, {**EMBEDDED, "signature": block}) == "weak_key"


@pytest.mark.parametrize("change", [lambda v: v[:-1], lambda v: v + b"\x00", lambda v: b""])
def test_a6_signatures_of_another_length_are_refused(change):
    block = {**EMBEDDED["signature"], "value": to_base64(change(SEALED.signatures[0].value))}
    assert code_of(verify, {**EMBEDDED, "signature": block}) == "malformed"


def test_a6_other_base64_of_the_same_bytes_is_refused():
    text = EMBEDDED["signature"]["value"]
    for variant in (text.rstrip("="), text.replace("+", "-").replace("/", "_") + "=", text + "\n", " " + text):
        block = {**EMBEDDED["signature"], "value": variant}
        assert code_of(verify, {**EMBEDDED, "signature": block}) == "malformed"


def test_a13_a_signature_for_another_kind_of_document_does_not_fit():
    for kind in ("passport", "status-list", "trust-root"):
        sealed = seal(BODY, kind, ISSUER)
        assert code_of(open_sealed, sealed, "certificate", TRUSTED) == "wrong_type"
        pasted = Envelope(
            payload_type=payload_type("certificate"), payload=sealed.payload, signatures=sealed.signatures
        )
        assert code_of(open_sealed, pasted, "certificate", TRUSTED) == "bad_signature"
        assert code_of(verify, embed(sealed, ISSUER.public)) == "bad_signature"


def test_one_key_counts_once_under_however_many_ids():
    trusted = {"alias": ISSUER.public, ISSUER.public.id: ISSUER.public}
    twice = Envelope(
        payload_type=SEALED.payload_type,
        payload=SEALED.payload,
        signatures=(*SEALED.signatures, Signature("alias", SEALED.signatures[0].value)),
    )
    assert code_of(open_sealed, twice, "certificate", trusted, threshold=2) == "threshold"
    same = Envelope(payload_type=SEALED.payload_type, payload=SEALED.payload, signatures=SEALED.signatures * 2)
    assert code_of(open_sealed, same, "certificate", TRUSTED) == "malformed"


def test_a_threshold_needs_distinct_trusted_keys():
    both = seal(BODY, "certificate", ISSUER, OTHER)
    trusted = {**TRUSTED, OTHER.public.id: OTHER.public}
    assert len(open_sealed(both, "certificate", trusted, threshold=2).key_ids) == 2
    assert open_sealed(both, "certificate", TRUSTED).key_ids == (ISSUER.public.id,)
    assert code_of(open_sealed, both, "certificate", TRUSTED, threshold=2) == "threshold"
    assert code_of(open_sealed, both, "certificate", TRUSTED, threshold=0) == "threshold"


def test_one_bad_signature_of_a_trusted_key_spoils_the_document():
    both = seal(BODY, "certificate", ISSUER, OTHER)
    swapped = tuple(
        Signature(one.key_id, other.value) for one, other in zip(both.signatures, both.signatures[::-1], strict=True)
    )
    bad = Envelope(payload_type=both.payload_type, payload=both.payload, signatures=swapped)
    assert code_of(open_sealed, bad, "certificate", TRUSTED) == "bad_signature"


def test_a8_a_signed_payload_that_is_not_canonical_is_refused():
    for payload in (b'{"a": 1}', b'{"a":1.0}', b'{"a":1,"a":1}', b"[]", b"1", b"{}x"):
        message = pae(payload_type("certificate"), payload)
        sealed = Envelope(
            payload_type=payload_type("certificate"),
            payload=payload,
            signatures=(Signature(ISSUER.public.id, ISSUER.sign(message)),),
        )
        assert code_of(open_sealed, sealed, "certificate", TRUSTED) == "malformed"


@pytest.mark.parametrize(
    "document",
    [{"a": float("nan")}, {"a": 2**53}, {"a": 1e16}, {"signature": {}}, {"transparency": {}}, {"a": "\ud800"}],
)
def test_what_could_not_be_read_back_is_not_signed(document):
    assert code_of(seal, document, "certificate", ISSUER) == "malformed"


@pytest.mark.parametrize("kind", ["", "Certificate", "a b", "-a", "a/b", "é"])
def test_a_kind_that_could_be_read_otherwise_is_refused(kind):
    assert code_of(payload_type, kind) == "malformed"


def test_every_bit_of_an_envelope_matters():
    data = SEALED.to_json()
    for changed in flips(data):
        with pytest.raises(VerificationError):
            open_sealed(Envelope.from_json(changed), "certificate", TRUSTED)


def test_every_bit_of_an_embedded_document_matters():
    data = canonical_json(EMBEDDED)
    for changed in flips(data):
        with pytest.raises(VerificationError):
            verify(load_json(changed))


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"signatures": {}},
        {"signatures": [1]},
        {"signatures": [{"keyid": "a"}]},
        {"signatures": [{"keyid": "", "sig": ""}]},
        {"payloadType": 5},
        {"payload": None},
        {"signatures": [{"keyid": str(number), "sig": "QUJD"} for number in range(65)]},
    ],
)
def test_envelopes_of_another_shape_are_refused(change):
    written = canonical_json({**json.loads(SEALED.to_json()), **change})
    assert code_of(lambda: open_sealed(Envelope.from_json(written), "certificate", TRUSTED)) == "malformed"


@given(
    st.binary(max_size=60)
    | st.recursive(
        st.none() | st.text(max_size=5),
        lambda x: (
            st.dictionaries(st.sampled_from(["payload", "payloadType", "signatures", "keyid", "sig"]), x)
            | st.lists(x, max_size=3)
        ),
    ).map(lambda v: json.dumps(v).encode())
)
def test_bytes_are_an_envelope_or_refused(data):
    try:
        Envelope.from_json(data)
    except VerificationError as fault:
        assert fault.code == "malformed"
