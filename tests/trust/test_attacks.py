"""The attack list, A1 to A27: each row a test by its name, against whole certificates.

Rows whose mechanism is a part of its own (strict JSON, keys, notes, proofs, log, trust root) have more tests there.
"""

import ast
import base64
import hashlib
import hmac
import json
from datetime import timedelta
from pathlib import Path

import pytest
from certificates import (
    BODY,
    CERTIFICATE,
    DOCUMENT,
    FOUND,
    GOOD,
    IDENTITY,
    INDEX,
    ISSUER,
    LATER,
    LIST,
    NAME,
    OTHER,
    RING,
    ROOT,
    SIGNED_ROOT,
    STATUS,
    SUBJECT,
    TRUST,
    changed,
    data_of,
    judged,
    logged,
    resigned,
    root,
    signed,
    status_list,
    terms,
    verdict,
)
from trust_ground import AT, DAY, LOG_KEY, ORIGIN, key, witness

import epimeter.trust
from epimeter.errors import InputError, VerificationError
from epimeter.trust import keys as key_module
from epimeter.trust.anchors import Trust
from epimeter.trust.canonical import to_base64
from epimeter.trust.certificate import BODY as SIGNED
from epimeter.trust.certificate import KIND, Subject, draft
from epimeter.trust.checkpoint import cosign
from epimeter.trust.credential import credential
from epimeter.trust.entries import log_entry
from epimeter.trust.envelope import Envelope, embed, pae, payload_type, seal
from epimeter.trust.names import id_of, look_alike, mixed_scripts, name_of, new_id
from epimeter.trust.note import NoteKey
from epimeter.trust.page import page
from epimeter.trust.publishing import undone
from epimeter.trust.registration import deviations
from epimeter.trust.root import advance, sign_root
from epimeter.trust.shape import Optional
from epimeter.trust.status_list import StatusList
from epimeter.trust.tlog_proof import TlogProof
from epimeter.trust.verify import report_matches, verify

MODULES = sorted(Path(epimeter.trust.__file__).parent.glob("*.py"))


def test_an_untouched_certificate_is_valid_and_all_three_answers_are_yes():
    found = judged()
    assert (found.shown, found.exit_code) == ("VALID", 0)
    assert (found.authentic, found.current, found.consistent) == (True, True, True)
    assert [step.number for step in found.steps] == list(range(1, 12))
    assert found.log_index == 5
    assert found.certificate == BODY


@pytest.mark.parametrize("block", [..., None, {}, ""])
def test_a1_a_signature_that_is_gone_is_never_unsigned_but_shown(block):
    found = judged(changed("signature", block))
    assert (found.shown, found.exit_code, found.certificate) == ("INVALID(no_signature)", 1, None)


@pytest.mark.parametrize("name", ["none", "HS256", "EdDSA", "ed25519", "RSA", "Ed25519ph", "", None])
def test_a2_other_algorithms_are_refused_before_any_cryptography(name, monkeypatch):
    monkeypatch.setattr(key_module, "Ed25519PublicKey", None)
    assert verdict(changed("signature.algorithm", name)) == "INVALID(algorithm)"


def test_a3_an_hmac_under_the_public_key_is_no_signature():
    message = seal(BODY, KIND).signed_bytes
    for digest in ("sha256", "sha512"):
        mac = hmac.digest(ISSUER.public.raw, message, digest).ljust(64, b"\0")
        assert verdict(changed("signature.value", to_base64(mac))) == "INVALID(bad_signature)"


def test_a3_no_code_path_makes_or_checks_a_mac():
    # The one use of HMAC salts records; nothing that verifies imports it.
    users = {path.name for path in MODULES if "hmac" in _imports(path)}
    assert users == {"disclosure.py"}


def test_a4_an_attackers_key_under_our_key_id_is_not_trusted():
    forged = logged(signed(changed("issuer.key_id", ISSUER.public.id, BODY), OTHER))
    assert verdict(forged) == "UNTRUSTED_KEY"
    named = changed("signature.key_id", ISSUER.public.id, forged)
    assert verdict(named) == "UNTRUSTED_KEY"
    posing = changed("signature.public_key", to_base64(ISSUER.public.raw), named)
    assert verdict(posing) == "INVALID(bad_signature)"


def test_a4_keys_of_other_roles_do_not_issue():
    for signer in (STATUS, LOG_KEY, ROOT):
        assert verdict(logged(signed(changed("issuer.key_id", signer.public.id, BODY), signer))) == "UNTRUSTED_KEY"


def test_a5_the_identity_key_whose_signature_fits_everything_is_refused():
    weak = (1).to_bytes(32, "little")
    forged = changed("signature.public_key", to_base64(weak))
    forged["signature"]["value"] = to_base64(weak + bytes(32))
    assert verdict(forged) == "INVALID(weak_key)"
    with pytest.raises(VerificationError, match="small order"):
        Trust.pinned((key_module.PublicKey(weak),))


def test_a6_a_malleated_signature_is_refused():
    value = base64.b64decode(DOCUMENT["signature"]["value"])
    order = 2**252 + 27742317777372353535851937790883648493
    moved = value[:32] + (int.from_bytes(value[32:], "little") + order).to_bytes(32, "little")
    assert verdict(changed("signature.value", to_base64(moved))) == "INVALID(bad_signature)"


@pytest.mark.parametrize("change", [lambda v: v[:63], lambda v: v + b"\0", lambda v: v[:-1] + b"\0\0"])
def test_a6_signatures_of_another_length_are_refused(change):
    value = base64.b64decode(DOCUMENT["signature"]["value"])
    assert verdict(changed("signature.value", to_base64(change(value)))) == "INVALID(malformed)"


@pytest.mark.parametrize("change", [lambda t: t.rstrip("="), lambda t: t + "=", lambda t: t + "\n", lambda t: " " + t])
def test_a6_base64_has_one_form(change):
    assert verdict(changed("signature.value", change(DOCUMENT["signature"]["value"]))) == "INVALID(malformed)"


def test_a7_duplicate_keys_are_refused_at_any_depth():
    for old, new in (
        (b'"level":"L2"', b'"level":"L3","level":"L2"'),
        (b'"ers":31', b'"ers":0,"ers":31'),
        (b'{"certificate"', b'{"certificate":{},"certificate"'),
    ):
        assert CERTIFICATE.count(old) == 1
        assert verdict(CERTIFICATE.replace(old, new)) == "INVALID(malformed)"


@pytest.mark.parametrize("text", [b"7.42e-2", b"0.07420", b"0.0742e0", b"-0", b"1E-7", b"9007199254740993", b"742e-4"])
def test_a8_a_number_is_written_in_one_way(text):
    other = CERTIFICATE.replace(b'"ece":0.0742', b'"ece":' + text, 1)
    assert other != CERTIFICATE
    assert verdict(other) == "INVALID(malformed)"


@pytest.mark.parametrize("value", [0.30000000000000004, 1e-7, 5e-324, 0.07420000001])
def test_a8_numbers_beyond_nine_decimals_are_refused_though_signed(value):
    if round(value, 9) == value:
        assert verdict(resigned("metrics.ece", value)).startswith("INVALID(inconsistent)")
    else:
        assert verdict(resigned("metrics.ece", value)) == "INVALID(malformed)"


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"nan"])
def test_a9_numbers_that_are_not_finite_are_refused(text):
    assert verdict(CERTIFICATE.replace(b'"ece":0.0742', b'"ece":' + text, 1)) == "INVALID(malformed)"


@pytest.mark.parametrize(
    "name", ["Acme Zu\u0308rich", "Acme\u202eemcA", "Acme\u0000", "Acme\u200b", " Acme", "\u2066Acme", ""]
)
def test_a10_names_that_can_be_read_in_two_ways_are_neither_issued_nor_accepted(name):
    subject = Subject(organization=name, system_id="x", system_version="1", domain="general")
    with pytest.raises(VerificationError):
        draft(FOUND, subject, terms())
    assert verdict(resigned("subject.organization", name)) == "INVALID(malformed)"


def test_a10_a_lone_surrogate_is_refused():
    assert verdict(CERTIFICATE.replace(b"triage", b"\\ud800", 1)) == "INVALID(malformed)"
    assert verdict(CERTIFICATE.replace(b"triage", b"\xed\xa0\x80", 1)) == "INVALID(malformed)"


def test_a10_names_that_look_alike_are_flagged_at_entry():
    assert look_alike("Acme", "Асme")  # the first two letters are Cyrillic
    assert look_alike("PAYPAL", "PayPaI")
    assert look_alike("Zürich Re", "Zurich Re")
    assert not look_alike("Acme", "Acme")
    assert not look_alike("Acme", "Apex")
    assert mixed_scripts("Асme") == ("CYRILLIC", "LATIN")
    assert mixed_scripts("Акме и Acme") == ()
    assert name_of("शर्मा\u200d", "name")  # joiners are needed to write some scripts


def test_a11_what_is_more_than_one_small_document_is_refused():
    for data in (
        b"\xef\xbb\xbf" + CERTIFICATE,
        CERTIFICATE + b"x",
        CERTIFICATE + CERTIFICATE,
        CERTIFICATE + b"\n",
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b" " * (1 << 20),
        b"",
    ):
        assert verdict(data) == "INVALID(malformed)"
        assert judged(data).exit_code == 2


@pytest.mark.parametrize(
    "path", ["extra", "metrics.extra", "signature.extra", "transparency.extra", "evidence.engine.extra"]
)
def test_a12_unknown_fields_are_refused_at_any_place(path):
    assert verdict(changed(path, 1)) == "INVALID(malformed)"
    if not path.startswith(("signature", "transparency")):
        assert verdict(resigned(path, 1)) == "INVALID(malformed)"


def test_a12_every_field_is_needed():
    for block, fields in BODY.items():
        for field in fields:
            if isinstance(
                SIGNED[block].get(field) if isinstance(SIGNED[block], dict) else None, Optional
            ):  # earlier certificates have none, but its digest tells
                assert verdict(resigned(f"{block}.{field}", ...)) == "INVALID(inconsistent)", (block, field)
                continue
            assert verdict(changed(f"{block}.{field}", ...)) == "INVALID(malformed)", (block, field)
        assert verdict(changed(block, ...)) == "INVALID(malformed)"


@pytest.mark.parametrize("kind", ["passport", "status-list", "trust-root", "registration"])
def test_a13_a_signature_for_another_kind_of_document_does_not_fit(kind):
    assert verdict(logged(signed(BODY, ISSUER, kind))) == "INVALID(bad_signature)"


def test_a14_an_older_certificate_is_superseded_by_the_list():
    found = judged(status=status_list({INDEX: "SUPERSEDED"}))
    assert (found.shown, found.exit_code) == ("SUPERSEDED", 1)
    assert (found.authentic, found.current, found.consistent) == (True, False, True)
    newer = draft(FOUND, SUBJECT, terms(supersedes=IDENTITY, certificate_id="ONTO-CERT-2026-0000000000000000"))
    assert newer["certificate"]["supersedes"] == IDENTITY


def test_a15_times_have_stated_verdicts():
    year = timedelta(days=365)
    assert verdict(at=AT - timedelta(seconds=1), status=None) == "NOT_YET_VALID"
    assert verdict(at=AT) == "VALID"
    late = status_list(at=AT + year - DAY)
    assert verdict(at=AT + year - timedelta(seconds=1), status=late) == "VALID"
    assert verdict(at=AT + year, status=late) == "EXPIRED"
    with pytest.raises(InputError, match="time zone"):
        judged(at=LATER.replace(tzinfo=None))


@pytest.mark.parametrize(
    "text", ["2026-11-15T06:00:00+00:00", "2026-11-15T06:00:00", "2026-11-15 06:00:00Z", "2026-11-15T06:00:60Z",
             "2026-11-15T24:00:00Z", "2026-11-15T06:00:00.0Z", "2026-02-30T06:00:00Z", "2026-11-15t06:00:00z"]
)  # fmt: skip
def test_a15_only_moments_in_utc_that_exist_are_accepted(text):
    assert verdict(signed(changed("certificate.issued_at", text, BODY))) == "INVALID(malformed)"


def test_a16_a_revoked_certificate_is_revoked():
    found = judged(status=status_list({INDEX: "REVOKED"}))
    assert (found.shown, found.exit_code, found.current) == ("REVOKED", 1, False)
    assert verdict(status=status_list({INDEX + 1: "REVOKED"})) == "VALID"
    assert verdict(status=status_list({INDEX: "SUSPENDED"})) == "SUSPENDED"


def test_a16_without_a_good_list_the_answer_is_unknown_and_never_valid():
    for status in (
        None,
        b"",
        b"{}",
        status_list(at=AT - 30 * DAY),  # stale
        status_list(at=LATER + DAY),  # from the future
        status_list(signer=ISSUER),  # another role
        status_list(signer=OTHER),
        status_list(list_id=f"{NAME}/status/2"),
        GOOD[:-1],
    ):
        found = judged(status=status)
        assert (found.shown, found.exit_code, found.authentic, found.current) == ("STATUS_UNKNOWN", 4, True, None)
    assert verdict(resigned("credential_status.index", 1 << 25)) == "STATUS_UNKNOWN"
    assert verdict(status=GOOD, least_status_version=2) == "STATUS_UNKNOWN"


def test_a16_a_list_signed_by_a_compromised_key_says_nothing():
    lost = Trust.of(root(RING.compromise(STATUS.public.id, AT)))
    assert verdict(trust=lost) == "STATUS_UNKNOWN"


def test_a16_a_revocation_that_is_silently_undone_is_contradicted_by_the_log():
    entry = log_entry("certificate.revoked", IDENTITY, "2026-11-15T06:00:00Z", list=LIST, index=INDEX, status="REVOKED")
    honest = StatusList.from_document(json.loads(Envelope.from_json(status_list({INDEX: "REVOKED"})).payload))
    forgetful = StatusList.from_document(json.loads(Envelope.from_json(GOOD).payload))
    assert undone([entry], honest) == []
    assert undone([entry], forgetful) == [f"entry 0 revoked {IDENTITY}; version 1 of the list says VALID"]


def test_a17_a_retired_key_proves_what_it_signed_before_and_nothing_after():
    assert verdict(trust=Trust.of(root(RING.retire(ISSUER.public.id, AT + timedelta(seconds=1))))) == "VALID"
    assert verdict(trust=Trust.of(root(RING.retire(ISSUER.public.id, AT)))) == "INVALID(key_expired)"


def test_a17_a_compromised_key_proves_only_what_an_outsider_saw_before():
    lost = RING.compromise(ISSUER.public.id, AT + 5 * DAY)
    seer = witness("seer")
    trust = Trust.of(root(lost, witnesses=(seer,)))
    assert verdict(trust=trust) == "INVALID(key_compromised)"
    for seen, expected in ((AT + DAY, "VALID"), (AT + 5 * DAY, "INVALID(key_compromised)")):
        assert verdict(cosigned(seen), trust) == expected


def cosigned(at):
    """The certificate with a witness's line under the checkpoints of its proofs."""
    document = json.loads(CERTIFICATE)
    for block in (document["transparency"], document["transparency"]["preregistration"]):
        proof = TlogProof.from_text(block["tlog_proof"])
        line = cosign(proof.checkpoint, "seer.example", key("seer"), at)
        note = proof.checkpoint.with_signatures([line])
        block["tlog_proof"] = TlogProof(index=proof.index, hashes=proof.hashes, checkpoint=note).to_text()
    return document


def test_a18_nobody_appoints_himself():
    ours = root()
    hijacked = root(RING.add(OTHER.public, "root", AT - 9 * DAY), version=2)
    with pytest.raises(VerificationError):
        advance(ours, sign_root(hijacked, OTHER))
    assert advance(ours, sign_root(hijacked, ROOT)).version == 2


def test_a18_one_witness_under_two_names_is_one():
    names = (witness("seer"), NoteKey("other-name.example", key("seer").public, 4))
    with pytest.raises(VerificationError, match="distinct"):
        root(witnesses=names, quorum=2)


def test_a19_proofs_of_another_entry_or_another_shape_are_refused():
    proof = DOCUMENT["transparency"]["tlog_proof"]
    lines = proof.split("\n")
    for other in (
        proof.replace("index 5", "index 4"),
        proof.replace("index 5", "index 9"),
        proof.replace("index 5", "index 05"),
        "\n".join(lines[:2] + lines[3:]),
        "\n".join([*lines[:3], lines[2], *lines[3:]]),
        "\n".join([lines[0], "extra AAAA", *lines[1:]]),
        DOCUMENT["transparency"]["preregistration"]["tlog_proof"],
        "x",
    ):
        found = judged(changed("transparency.tlog_proof", other))
        assert (found.shown, found.exit_code) == ("NOT_LOGGED", 3)
    assert verdict(changed("transparency", ...)) == "NOT_LOGGED"


def test_a20_the_same_certificate_in_an_attackers_tree_is_not_logged():
    assert verdict(logged(signed(), signer=OTHER)) == "NOT_LOGGED"
    assert verdict(logged(signed(), origin="attacker.example/log")) == "NOT_LOGGED"
    own = Trust.pinned(
        (ISSUER.public,), logs=(NoteKey("attacker.example/log", OTHER.public),), statuses=(STATUS.public,)
    )
    assert verdict(trust=own) == "NOT_LOGGED"


def test_a20_a_key_from_another_log_is_no_key_of_this_log():
    both = Trust.pinned((ISSUER.public,), logs=(NoteKey("other/log", LOG_KEY.public),), statuses=(STATUS.public,))
    assert verdict(changed("transparency.origin", "other/log"), both) == "NOT_LOGGED"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metrics.ers", 29),
        ("certificate.level", "L3"),
        ("compliance.onto_ers", "L3"),
        ("metrics.sample_size", 999),
        ("evidence.covered_bins", 7),
        ("evidence.assurance", "firm"),
        ("evidence.largest_class_share", 0.81),
        ("metrics.evaluation_period", {"start": "2026-11-10T00:00:00Z", "end": "2026-11-14T00:00:00Z"}),
        ("metrics.evaluation_period", {"start": "2026-10-10T00:00:00Z", "end": "2026-11-16T00:00:00Z"}),
        ("certificate.expires_at", "2031-11-15T06:00:00Z"),
        ("certificate.id", "ONTO-CERT-2025-7Q4MK8ZD2N0R5TVX"),
        ("certificate.supersedes", IDENTITY),
        ("evidence.config_digest", "sha-256:" + "00" * 32),
        ("metrics.ece", 0.21),
        ("subject.domain", "medical"),
        ("metrics.ers", 1000),
    ],
)
def test_a22_a_signed_contradiction_is_refused(path, value):
    found = judged(resigned(path, value))
    assert (found.shown, found.consistent, found.exit_code) == ("INVALID(inconsistent)", False, 1)
    assert found.authentic


def test_a22_the_printed_samples_of_the_standard_would_be_refused():
    sample = changed("metrics", {**BODY["metrics"], "ece": 0.08, "ers": 34}, BODY)
    assert verdict(logged(signed(sample))) == "INVALID(inconsistent)"


def test_a23_the_attempt_and_the_promise_stand_in_what_is_signed_and_logged():
    assert BODY["evidence"]["attempt"] == 2
    assert verdict(changed("evidence.attempt", 1)) == "INVALID(bad_signature)"
    other = json.loads(CERTIFICATE)
    other["transparency"]["preregistration"]["entry"] = "{}"
    assert verdict(other) == "NOT_LOGGED"
    assert verdict(changed("transparency.preregistration", None)) == "NOT_LOGGED"
    assert verdict(resigned("evidence.preregistration.log_index", 3)) == "NOT_LOGGED"
    assert verdict(resigned("evidence.preregistration.entry_digest", "sha-256:" + "00" * 32)) == "NOT_LOGGED"


def test_a23_a_promise_made_after_the_certificate_is_none():
    late = logged(signed(BODY), at=1)  # the certificate's own entry lies before the registration's
    assert verdict(late) == "NOT_LOGGED"


def test_a23_what_was_promised_and_not_kept_is_said():
    plan = {"aim": "L3", "least_records": 50_000}
    document = {"subject": SUBJECT.to_json(), "plan": plan}
    said = deviations(document, {**SUBJECT.to_json(), "domain": "legal"}, "L2", 20_000)
    assert len(said) == 3
    assert deviations(document, {**SUBJECT.to_json(), "system_id": "other"}, "L3", 50_000) == (
        "the registration is of another system",
    )


def test_a24_ids_cannot_be_counted_through():
    made = {new_id("ONTO-CERT", 2026) for _ in range(1000)}
    assert len(made) == 1000
    assert all(id_of(one, "id") for one in made)
    assert new_id("ONTO-CERT", 2026, randomness=lambda n: b"\xff" * n) == "ONTO-CERT-2026-" + "Z" * 16
    for odd in ("ONTO-CERT-2026-XXXX", "ONTO-CERT-2026-7Q4MK8ZD2N0R5TVI", "ONTO-REG-2026-7Q4MK8ZD2N0R5TVX", 7):
        with pytest.raises(VerificationError):
            id_of(odd, "id")


def test_a25_the_certificate_says_which_report_it_covers():
    report = b"%PDF-1.7 the report"
    covered = {"evidence": {"report_digest": f"sha-256:{hashlib.sha256(report).hexdigest()}"}}
    assert report_matches(report, covered)
    assert not report_matches(report + b" edited", covered)
    assert not report_matches(report, BODY)  # it covers none
    assert any("PDF" in sentence for sentence in judged().to_json()["not_proven"])


def test_a26_what_names_say_is_never_run():
    # A name like any other: the verdict carries it as text, the browser test shows that the page does too.
    evil = '</script><img src=x onerror="document.title=1">'
    assert verdict(resigned("subject.system_version", evil)) == "VALID"
    made = page(SIGNED_ROOT)
    assert made.count("</script>") == 2
    for door in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "import("):
        assert door not in made


def test_a27_the_document_of_a_verdict_is_the_one_that_was_verified():
    found = judged()
    message = pae(payload_type(KIND), data_of(found.certificate))
    ISSUER.public.verify(message, base64.b64decode(DOCUMENT["signature"]["value"]))
    for bad in (changed("metrics.ers", 1), changed("signature", None)):
        assert judged(bad).certificate is None  # nothing unverified ever comes out


def test_a21_two_checkpoints_that_do_not_fit_are_found_by_who_holds_a_certificate():
    from epimeter.trust.monitor import continues
    from epimeter.trust.note import Note

    ours = TlogProof.from_text(DOCUMENT["transparency"]["tlog_proof"]).checkpoint
    fork = TlogProof.from_text(
        logged(signed(), entries=[b"other %d" % number for number in range(9)])["transparency"]["tlog_proof"]
    ).checkpoint
    assert isinstance(fork, Note)
    with pytest.raises(VerificationError) as caught:
        continues(ours, fork, (), TRUST.policies[ORIGIN])
    assert caught.value.code == "fork"


def test_the_gravest_fault_is_the_verdict():
    expired = AT + 366 * DAY
    assert verdict(at=expired, status=None) == "EXPIRED"
    assert verdict(at=expired, status=status_list({INDEX: "REVOKED"}, at=expired)) == "REVOKED"
    assert verdict(resigned("metrics.ers", 29), at=expired) == "INVALID(inconsistent)"


def test_a_verified_certificate_becomes_a_credential_and_its_envelope_the_same_signature():
    made = credential(BODY, ISSUER, AT)
    assert made["credentialSubject"]["certificate"] == BODY
    sealed = Envelope.from_json(seal(BODY, KIND, ISSUER).to_json())
    assert embed(sealed, ISSUER.public)["signature"] == DOCUMENT["signature"]


def _imports(path):
    return {
        name.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import)
        for name in node.names
    }


def test_verify_takes_a_list_that_was_opened_before():
    opened = StatusList.from_document(json.loads(Envelope.from_json(GOOD).payload))
    assert verify(CERTIFICATE, TRUST, at=LATER, status=opened).shown == "VALID"
    assert verify(CERTIFICATE, TRUST, at=LATER + 30 * DAY, status=opened).shown == "STATUS_UNKNOWN"
