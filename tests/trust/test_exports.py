"""Certificates in other forms, and what other people's verifiers say of ours."""

import base64
import json
import shutil
import subprocess

import pytest
from certificates import BODY, CERTIFICATE, DOCUMENT, ISSUER, OTHER
from trust_ground import AT, LOG_KEY, ORIGIN

from epimeter.errors import VerificationError
from epimeter.trust.certificate import KIND
from epimeter.trust.credential import (
    add_proof,
    credential,
    did_key,
    from_base58,
    to_base58,
    verify_proof,
)
from epimeter.trust.entries import issued_entry
from epimeter.trust.envelope import seal
from epimeter.trust.keys import PrivateKey
from epimeter.trust.note import NoteKey
from epimeter.trust.statement import IN_TOTO, sign_statement, to_envelope

# W3C Data Integrity EdDSA Cryptosuites 1.0, test vectors of eddsa-jcs-2022: key, document and proof.
W3C_SECRET = "3u2en7t5LR2WtQH5PfFqMqwVHBeXouLzo6haApm8XHqvjxq"
W3C_PUBLIC = "z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2"
W3C_DOCUMENT = {
    "@context": ["https://www.w3.org/ns/credentials/v2", "https://www.w3.org/ns/credentials/examples/v2"],
    "id": "urn:uuid:58172aac-d8ba-11ed-83dd-0b3aef56cc33",
    "type": ["VerifiableCredential", "AlumniCredential"],
    "name": "Alumni Credential",
    "description": "A minimum viable example of an Alumni Credential.",
    "issuer": "https://vc.example/issuers/5678",
    "validFrom": "2023-01-01T00:00:00Z",
    "credentialSubject": {"id": "did:example:abcdefgh", "alumniOf": "The School of Examples"},
}
W3C_OPTIONS = {
    "type": "DataIntegrityProof",
    "cryptosuite": "eddsa-jcs-2022",
    "created": "2023-02-24T23:36:38Z",
    "verificationMethod": f"https://vc.example/issuers/5678#{W3C_PUBLIC}",
    "proofPurpose": "assertionMethod",
}
W3C_VALUE = "z63t83Y53KfzJ5ZosfKTnqfMcKB2dmTrfjSaQjeNNjAD5srBowQfmWqeRb8rRjmeEuCBEsddF9LsVogtuTsijJKh4"


def test_the_published_vector_of_eddsa_jcs_2022_is_reproduced():
    signer = PrivateKey.from_seed(from_base58(W3C_SECRET)[2:])
    assert did_key(signer.public) == f"did:key:{W3C_PUBLIC}"
    made = add_proof(W3C_DOCUMENT, W3C_OPTIONS, signer)
    assert made["proof"]["proofValue"] == W3C_VALUE
    assert verify_proof(made, signer.public) == W3C_DOCUMENT


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\1", b"hello world", bytes(range(64))])
def test_base58_comes_back(data):
    assert from_base58(to_base58(data)) == data


def test_a_credential_is_refused_when_changed_or_of_another_key():
    made = credential(BODY, ISSUER, AT)
    assert verify_proof(made, ISSUER.public)["credentialSubject"]["certificate"] == BODY
    with pytest.raises(VerificationError):
        verify_proof(made, OTHER.public)
    for path, value in (("name", "x"), ("validUntil", "2099-01-01T00:00:00Z"), ("@context", [])):
        with pytest.raises(VerificationError):
            verify_proof({**made, path: value}, ISSUER.public)
    for field, value in (
        ("created", "2020-01-01T00:00:00Z"),
        ("cryptosuite", "eddsa-rdfc-2022"),
        ("proofValue", "z1"),
        ("proofValue", "u1"),
        ("proofValue", "z0"),
        ("proofPurpose", "authentication"),
    ):
        with pytest.raises(VerificationError):
            verify_proof({**made, "proof": {**made["proof"], field: value}}, ISSUER.public)
    with pytest.raises(VerificationError):
        verify_proof(BODY, ISSUER.public)
    with pytest.raises(VerificationError, match="must not have a proof yet"):
        add_proof(made, W3C_OPTIONS, ISSUER)


def test_the_envelope_holds_the_embedded_signature():
    envelope = to_envelope(DOCUMENT)
    assert envelope == seal(BODY, KIND, ISSUER)
    assert base64.b64encode(envelope.signatures[0].value).decode() == DOCUMENT["signature"]["value"]


def test_the_statement_names_the_model_by_its_digest():
    envelope = sign_statement(BODY, ISSUER)
    written = json.loads(envelope.payload)
    assert written["_type"] == "https://in-toto.io/Statement/v1"
    assert written["subject"] == [{"name": "Acme Zürich/triage@4.2", "digest": {"sha256": "12" * 32}}]
    assert written["predicate"] == BODY
    ISSUER.public.verify(envelope.signed_bytes, envelope.signatures[0].value)
    bare = {**BODY, "subject": {**BODY["subject"], "digests": []}}
    assert json.loads(sign_statement(bare, ISSUER).payload)["subject"][0]["name"] == BODY["certificate"]["id"]


# Others' verifiers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [to_envelope(DOCUMENT), sign_statement(BODY, ISSUER)], ids=["certificate", "in-toto"])
def test_securesystemslib_accepts_our_envelopes_and_refuses_tampered_ones(made):
    from securesystemslib.dsse import Envelope as Theirs
    from securesystemslib.exceptions import VerificationError as Refused
    from securesystemslib.signer import SSlibKey

    key = SSlibKey(ISSUER.public.id, "ed25519", "ed25519", {"public": ISSUER.public.raw.hex()})
    theirs = Theirs.from_dict(json.loads(made.to_json()))
    assert theirs.payload_type in (IN_TOTO, "application/vnd.epimeter.certificate.v1+json")
    assert ISSUER.public.id in theirs.verify([key], 1)
    written = json.loads(made.to_json())
    payload = bytearray(base64.b64decode(written["payload"]))
    payload[len(payload) // 2] ^= 1
    for change in (
        {"payload": base64.b64encode(payload).decode()},
        {"payloadType": "application/vnd.epimeter.status-list.v1+json"},
    ):
        with pytest.raises(Refused):
            Theirs.from_dict({**json.loads(made.to_json()), **change}).verify([key], 1)


def test_proofbundle_accepts_our_proof_and_refuses_another_entry():
    from proofbundle.tlogproof import verify_tlog_proof

    vkey = NoteKey(ORIGIN, LOG_KEY.public).to_vkey()
    entry = issued_entry(BODY, seal(BODY, KIND).signed_bytes, ISSUER.public.id)
    proof = DOCUMENT["transparency"]["tlog_proof"]
    found = verify_tlog_proof(proof, entry, vkey, expected_origin=ORIGIN)
    assert (found["ok"], found["index"], found["tree_size"]) == (True, 5, 9)
    assert not verify_tlog_proof(proof, entry + b" ", vkey)["ok"]
    assert not verify_tlog_proof(proof.replace("index 5", "index 4"), entry, vkey)["ok"]
    assert not verify_tlog_proof(proof, entry, NoteKey(ORIGIN, OTHER.public).to_vkey())["ok"]


NODE = """
const crypto = require("node:crypto");
const [cert, key] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const sorted = value => Array.isArray(value) ? `[${value.map(sorted).join(",")}]`
  : value && typeof value === "object"
  ? `{${Object.keys(value).sort().map(name => JSON.stringify(name) + ":" + sorted(value[name])).join(",")}}`
  : JSON.stringify(value);
const document = JSON.parse(cert);
const { signature, transparency, ...body } = document;
const payload = Buffer.from(sorted(body)), type = "application/vnd.epimeter.certificate.v1+json";
const message = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]);
const pinned = crypto.createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: key }, format: "jwk" });
console.log(sorted(document) === cert && crypto.verify(null, message, pinned, Buffer.from(signature.value, "base64")));
"""


@pytest.mark.slow
def test_nodes_crypto_accepts_our_certificate_and_refuses_a_changed_one():
    node = shutil.which("node")
    assert node, "this test needs Node.js"

    def said(data):
        given = json.dumps([data.decode(), ISSUER.public.to_jwk()["x"]])
        done = subprocess.run([node, "-e", NODE], input=given, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()

    assert said(CERTIFICATE) == "true"
    assert said(CERTIFICATE.replace(b"0.0742", b"0.0743")) == "false"
    assert said(CERTIFICATE.replace(b"triage", b"triagE")) == "false"
