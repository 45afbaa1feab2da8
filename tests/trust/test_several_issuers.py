"""Keys of several issuers: none signs, logs or un-revokes for another."""

from datetime import timedelta

import pytest
from certificates import (
    AT,
    CERTIFICATE,
    DAY,
    GOOD,
    INDEX,
    ISSUER,
    LOG_KEY,
    NAME,
    ORIGIN,
    RING,
    STATUS,
    changed,
    data_of,
    judged,
    logged,
    root,
    signed,
    status_list,
)

from epimeter.errors import InputError, VerificationError
from epimeter.trust.anchors import Trust
from epimeter.trust.key_ring import KeyRecord, KeyRing
from epimeter.trust.keys import PrivateKey
from epimeter.trust.note import NoteKey
from epimeter.trust.status_list import StatusList

OTHER = "https://other.example"
THEIRS = {
    role: PrivateKey.from_seed(bytes([number]) * 32) for number, role in enumerate(("issuer", "log", "status"), 7)
}
ISSUERS = (ISSUER.public, THEIRS["issuer"].public)
STATUSES = (STATUS.public, THEIRS["status"].public)
LOGS = (NoteKey(ORIGIN, LOG_KEY.public), NoteKey("other.example/log", THEIRS["log"].public))
WHOSE = {
    ISSUER.public.id: NAME,
    STATUS.public.id: NAME,
    ORIGIN: NAME,
    THEIRS["issuer"].public.id: OTHER,
    THEIRS["status"].public.id: OTHER,
    "other.example/log": OTHER,
}
BOTH = Trust.pinned(ISSUERS, logs=LOGS, statuses=STATUSES, whose=WHOSE)


def test_each_of_two_issuers_is_believed_about_itself():
    assert judged(trust=BOTH).shown == "VALID"


def test_several_keys_must_say_whose_they_are():
    for issuers, statuses, logs in ((ISSUERS, (), ()), (ISSUERS[:1], STATUSES, ()), (ISSUERS[:1], (), LOGS)):
        with pytest.raises(InputError, match="for which issuer it speaks"):
            Trust.pinned(issuers, statuses=statuses, logs=logs)
    with pytest.raises(InputError, match="ISSUER=KEY"):
        Trust.pinned(ISSUERS, whose={ISSUER.public.id: NAME})


def test_another_issuer_signs_no_certificate_in_this_ones_name():
    forged = data_of(logged(signed(signer=THEIRS["issuer"])))
    assert judged(forged, BOTH).shown in ("UNTRUSTED_KEY", "INVALID(inconsistent)")
    # Also where the trust root has one issuer's keys, which bear its name.
    named = KeyRing(
        tuple(
            KeyRecord(
                public=one.public, role=one.role, valid_from=one.valid_from, valid_until=one.valid_until,
                name={"issuer": OTHER, "status": OTHER}.get(one.role, one.name),
            )
            for one in RING
        )
    )  # fmt: skip
    found = judged(trust=Trust.of(root(named)))
    assert found.shown == "UNTRUSTED_KEY" and OTHER in found.sentence


def test_another_issuer_neither_un_revokes_nor_logs():
    revoked = status_list({INDEX: "REVOKED"})
    assert judged(trust=BOTH, status=revoked).shown == "REVOKED"
    theirs = status_list(signer=THEIRS["status"])
    assert judged(trust=BOTH, status=theirs).shown == "STATUS_UNKNOWN"
    assert (
        judged(data_of(logged(signed(), signer=THEIRS["log"], origin="other.example/log")), BOTH).shown == "NOT_LOGGED"
    )
    assert judged(changed("transparency.origin", "other.example/log"), BOTH).shown == "NOT_LOGGED"
    assert CERTIFICATE and GOOD


def test_a_status_list_cannot_say_that_it_holds_for_years():
    with pytest.raises(VerificationError, match="at most 31 days"):
        StatusList.empty("https://registry.example/status/1", AT, AT + timedelta(days=400))
    assert StatusList.empty("https://registry.example/status/1", AT, AT + 7 * DAY).version == 1
