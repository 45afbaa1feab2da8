import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas
import pytest
from certificates import (
    BODY,
    CERTIFICATE,
    DOCUMENT,
    FOUND,
    GOOD,
    SUBJECT,
    judged,
    signed,
    terms,
    verdict,
)
from hypothesis import given
from hypothesis import strategies as st
from trust_ground import AT

from epimeter.errors import InputError, VerificationError
from epimeter.readers import read
from epimeter.standards.judgement import rounded
from epimeter.trust.assessing import assess
from epimeter.trust.canonical import canonical_json, canonical_text
from epimeter.trust.certificate import BODY as BODY_SHAPE
from epimeter.trust.certificate import assured, config_digest, draft, expiry
from epimeter.trust.disclosure import RecordColumns, check_disclosure, disclose, record_columns, records_root
from epimeter.trust.reproduction import reproduce
from epimeter.trust.shape import check_shape


def predictions(rows=1500, days=14, seed=1):
    rng = np.random.default_rng(seed)
    confidence = rng.random(rows)
    start = np.datetime64("2026-10-20T00:00:00", "us")
    step = np.timedelta64(int(days * 86400 * 1e6 / (rows - 1)), "us")
    return {
        "id": [f"r{number}" for number in range(rows)],
        "timestamp": start + np.arange(rows) * step,
        "confidence": confidence,
        "correct": (rng.random(rows) < confidence).astype(np.uint8),
    }


@pytest.fixture(scope="module")
def table():
    return read(predictions())


@pytest.fixture(scope="module")
def found(table):
    return assess(table, domain="general", at=AT, assume_utc=True)


def test_every_changed_byte_of_a_certificate_is_refused():
    for position in range(len(CERTIFICATE)):
        other = bytearray(CERTIFICATE)
        other[position] ^= 1 + position % 255
        found = judged(bytes(other))
        assert found.word != "VALID", position
        assert found.exit_code != 0


def test_every_byte_left_out_of_a_certificate_is_missed():
    for position in range(0, len(CERTIFICATE), 3):
        assert verdict(CERTIFICATE[:position] + CERTIFICATE[position + 1 :]) != "VALID", position


@pytest.mark.slow
def test_every_flipped_bit_and_every_inserted_byte_is_refused():
    for position in range(len(CERTIFICATE)):
        for bit in range(8):
            other = bytearray(CERTIFICATE)
            other[position] ^= 1 << bit
            assert verdict(bytes(other)) != "VALID", (position, bit)
        for byte in b" 0\n":
            longer = CERTIFICATE[:position] + bytes([byte]) + CERTIFICATE[position:]
            assert verdict(longer) != "VALID", (position, byte)


def test_every_flipped_bit_of_a_status_list_makes_it_unknown():
    for position in range(0, len(GOOD)):
        other = bytearray(GOOD)
        other[position] ^= 1 << (position % 8)
        assert verdict(status=bytes(other)) == "STATUS_UNKNOWN", position


def test_a_pretty_certificate_is_refused_with_the_reason():
    found = judged(json.dumps(DOCUMENT, indent=2).encode())
    assert found.shown == "INVALID(malformed)"
    assert "canonical form" in found.sentence


def test_keys_given_by_hand_count_at_any_time():
    from certificates import ISSUER, STATUS
    from trust_ground import POLICY

    from epimeter.trust.anchors import Trust

    trust = Trust.pinned((ISSUER.public,), logs=POLICY.log_keys, statuses=(STATUS.public,))
    assert verdict(trust=trust) == "VALID"
    assert verdict(trust=Trust.pinned((ISSUER.public,))) == "NOT_LOGGED"
    assert verdict(trust=Trust.pinned(())) == "UNTRUSTED_KEY"


def test_the_body_has_the_fields_of_the_standard():
    check_shape(BODY, BODY_SHAPE, "")
    assert set(BODY) == {
        "certificate", "standard", "issuer", "subject", "metrics", "evidence", "compliance", "credential_status"
    }  # fmt: skip
    assert {"id", "version", "issued_at", "expires_at", "level", "status"} <= set(BODY["certificate"])  # ERS-5.1-a
    assert {"organization", "system_id", "domain"} <= set(BODY["subject"])  # ERS-5.1-b
    assert {"ece", "u_recall", "ers", "sample_size", "evaluation_period"} <= set(BODY["metrics"])  # ERS-5.1-c
    assert {"onto_ers", "eu_ai_act", "nist_rmf", "iso_42001"} <= set(BODY["compliance"])  # ERS-5.1-d
    assert BODY["compliance"]["eu_ai_act"] == "informative"  # C-19
    assert {"algorithm", "public_key", "value"} <= set(DOCUMENT["signature"])  # ERS-5.1-e


def test_a_certificate_needs_an_evaluation_that_allows_one():
    with pytest.raises(InputError, match="no certificate can be issued: too few"):
        draft(replace(FOUND, obstacles=("too few",)), SUBJECT, terms())
    with pytest.raises(InputError, match="domain must be that of the evaluation"):
        draft(FOUND, replace(SUBJECT, domain="legal"), terms())
    with pytest.raises(VerificationError, match="1000 predictions"):
        draft(replace(FOUND, sample_size=999), SUBJECT, terms())


def test_numbers_are_rounded_half_to_even_and_zero_has_no_sign():
    assert rounded(2**-10) == 0.000976562  # 0.0009765625 exactly, a tie
    assert rounded(3 * 2**-10) == 0.002929688
    assert rounded(0.123456789499999) == 0.123456789
    assert canonical_json(rounded(-0.0)) == b"0"
    assert rounded(1 / 3) == 0.333333333


def test_a_certificate_lasts_twelve_months_to_the_second():
    assert expiry(datetime(2026, 11, 15, 6, 7, 8, tzinfo=UTC)) == datetime(2027, 11, 15, 6, 7, 8, tzinfo=UTC)
    assert expiry(datetime(2028, 2, 29, 23, tzinfo=UTC)) == datetime(2029, 2, 28, 23, tzinfo=UTC)


def test_assurance_is_firm_only_when_no_interval_holds_a_limit():
    assert assured((0.01, 0.02), (90, 91), (1, 2)) == "firm"
    assert assured((0.01, 0.1), (90, 91), (1, 2)) == "marginal"
    assert assured((0.01, 0.02), (69, 71), (1, 2)) == "marginal"
    assert assured((0.01, 0.02), None, (30.5, 31.5)) == "marginal"
    assert assured((0.01, 0.02), None, (30, 30.99)) == "firm"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(blacklist_categories=("Cs",))),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcXYZ_09", min_size=1), inner, max_size=4),
        max_leaves=20,
    )
)  # fmt: skip
def test_the_fast_writer_writes_as_rfc_8785(value):
    assert canonical_text(value).encode() == canonical_json(value)


def test_an_evaluation_becomes_a_certificate(found):
    assert found.obstacles == ()
    body = draft(found, SUBJECT, terms())
    assert body["metrics"]["sample_size"] == 1500
    assert body["certificate"]["level"] == found.level == "L3"
    assert verdict(signed(body), status=GOOD) == "NOT_LOGGED"  # authentic, but with no proof


def test_the_same_data_have_the_same_digests_in_every_format(found, tmp_path):
    frame = pandas.DataFrame(predictions())
    frame["timestamp"] = frame["timestamp"].dt.tz_localize("UTC")
    frame.to_parquet(tmp_path / "p.parquet")
    frame.to_csv(tmp_path / "p.csv", index=False)
    seen = set()
    for name in ("p.parquet", "p.csv"):
        again = assess(read(tmp_path / name), domain="general", at=AT)
        seen.add((again.dataset_digest, again.records_root, again.ece, again.ece_ci95, again.u_recall))
    assert seen == {(found.dataset_digest, found.records_root, found.ece, found.ece_ci95, found.u_recall)}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": 999}, "ERS-3.1-a"),
        ({"days": 6.9}, "ERS-3.1-d"),
    ],
)
def test_c14_data_that_do_not_suffice_give_no_certificate(change, reason):
    data = predictions(**change)
    assert reason in assess(read(data), domain="general", at=AT, assume_utc=True).obstacles[0]


def test_c14_without_times_or_level_there_is_no_certificate():
    data = predictions()
    del data["timestamp"]
    assert any("ERS-3.1-d" in one for one in assess(read(data), domain="general", at=AT).obstacles)
    data = predictions()
    data["correct"] = np.zeros(1500, np.uint8)
    assert "no level" in assess(read(data), domain="general", at=AT, assume_utc=True).obstacles[-1]


def test_a_certificate_is_reproduced_from_its_data_byte_for_byte(found, table):
    body = draft(found, SUBJECT, terms())
    compared = reproduce(body, table, assume_utc=True)
    assert len(compared) == 20
    assert all(one.same for one in compared)
    data = predictions()
    data["confidence"][7] += 1e-9
    wrong = [one.field for one in reproduce(body, read(data), assume_utc=True) if not one.same and one.must_agree]
    assert "evidence.dataset_digest" in wrong
    assert "evidence.records_root" in wrong
    fewer = {name: column[1:] for name, column in predictions().items()}
    wrong = [one.field for one in reproduce(body, read(fewer), assume_utc=True) if not one.same]
    assert "metrics.sample_size" in wrong


# Single records ------------------------------------------------------------------------------------------------------


def test_one_record_is_shown_and_proven_and_no_other(table, found):
    body = draft(found, SUBJECT, terms())
    columns = record_columns(table)
    for name in ("r0", "r17", "r1499"):
        made = disclose(columns, name, body["certificate"]["id"])
        record = check_disclosure(made, body)
        assert (record["id"], record["confidence"]) == (name, float(table.confidence[record["index"]]))
        assert made.count(b"confidence") == 1
    with pytest.raises(InputError, match="no record has the id"):
        disclose(columns, "r1500", body["certificate"]["id"])


def test_every_changed_byte_of_a_shown_record_is_refused(table, found):
    body = draft(found, SUBJECT, terms())
    made = disclose(record_columns(table), "r17", body["certificate"]["id"])
    for position in range(len(made)):
        other = bytearray(made)
        other[position] ^= 1 << (position % 7)
        with pytest.raises(VerificationError):
            check_disclosure(bytes(other), body)
    with pytest.raises(VerificationError, match="another certificate"):
        check_disclosure(made, draft(found, SUBJECT, terms(certificate_id="ONTO-CERT-2026-0000000000000000")))


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1) | st.sampled_from([0.0, -0.0, 1.0, 1e-5, 1e-7, 5e-324]),
            st.booleans(),
            st.text(st.characters(blacklist_categories=("Cs",))),
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda row: row[2],
    ),
    st.booleans(),
)
def test_records_are_written_as_canonical_json(rows, flags):
    confidence, correct, ids = map(list, zip(*rows, strict=True))
    columns = RecordColumns(
        confidence=np.array(confidence),
        correct=np.array(correct, np.uint8),
        ids=ids,
        timestamp=np.array(["2026-10-20T00:00:00.5"] * len(rows), "datetime64[us]"),
        unknown=np.array(correct) if flags else None,
        detected=np.array(correct) if flags else None,
    )
    salts = set()
    for entry in columns.entries():
        value = json.loads(entry)
        assert canonical_json(value) == entry
        salts.add(value["salt"])
    assert len(salts) == len(rows)
    assert records_root(columns) == records_root(columns)


def test_ids_that_name_two_records_are_refused():
    data = predictions()
    data["id"][9] = "r3"
    with pytest.raises(InputError, match="'r3' stands twice, again in record 9"):
        record_columns(read(data))


def test_the_profile_is_one_and_its_digest_fixed():
    assert config_digest("answer") == BODY["evidence"]["config_digest"]
    assert (
        config_digest() == "sha-256:93f275e070d26e2a7705a23dee3a5b776f0b3bfb0e3f76cf218a10620ed6dd7e"
    )  # of earlier certificates
