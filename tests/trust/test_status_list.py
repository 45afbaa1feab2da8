import gzip
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_ground import AT, DAY, key

from epimeter.errors import VerificationError
from epimeter.trust.canonical import from_base64url, to_base64url
from epimeter.trust.envelope import Envelope, seal
from epimeter.trust.status_list import (
    LEAST_LENGTH,
    STATUSES,
    StatusList,
    free_index,
    open_status_list,
    sign_status_list,
)

LIST = "https://registry.example/status/1"
STATUS, ISSUER = key("status"), key("issuer")
TRUSTED = {STATUS.public.id: STATUS.public}
EMPTY = StatusList.empty(LIST, AT, AT + DAY)


def code_of(call, *values, **named):
    with pytest.raises(VerificationError) as caught:
        call(*values, **named)
    return caught.value.code


def opened(envelope, **named):
    return open_status_list(envelope, TRUSTED, **{"list_id": LIST, "at": AT, **named})


def test_a_new_list_says_valid_of_all():
    assert EMPTY.length == LEAST_LENGTH
    assert {EMPTY.status(index) for index in range(0, LEAST_LENGTH, 97)} == {"VALID"}


@given(st.dictionaries(st.integers(0, LEAST_LENGTH - 1), st.sampled_from(STATUSES), max_size=30))
def test_statuses_come_back_signed(changes):
    changed = EMPTY.with_status(changes, AT, AT + DAY)
    back = opened(Envelope.from_json(sign_status_list(changed, STATUS).to_json()))
    assert back == changed
    assert back.version == 2
    for index, word in changes.items():
        assert back.status(index) == word
        for neighbour in {index - 1, index + 1} - set(changes):
            if 0 <= neighbour < LEAST_LENGTH:
                assert back.status(neighbour) == "VALID"


def test_the_bits_are_laid_out_as_w3c_says():
    document = EMPTY.with_status({0: "SUSPENDED", 1: "REVOKED", 5: "SUPERSEDED"}, AT, AT + DAY).to_document()
    assert document["encoded_list"][0] == "u"
    bits = gzip.decompress(from_base64url(document["encoded_list"][1:], "list"))
    assert len(bits) == LEAST_LENGTH * 2 // 8
    assert bits[:2] == bytes([0b10_01_00_00, 0b00_11_00_00])


def test_a_revocation_is_never_undone_and_a_suspension_may_be():
    revoked = EMPTY.with_status({7: "REVOKED", 8: "SUSPENDED"}, AT, AT + DAY)
    for word in ("VALID", "SUSPENDED", "SUPERSEDED"):
        with pytest.raises(VerificationError, match="never undone"):
            revoked.with_status({7: word}, AT, AT + DAY)
    assert revoked.with_status({7: "REVOKED", 8: "VALID"}, AT, AT + DAY).status(8) == "VALID"


def test_an_index_outside_the_list_has_no_status():
    for index in (-1, LEAST_LENGTH, 2**60):
        assert code_of(EMPTY.status, index) == "status_index"
    assert code_of(EMPTY.with_status, {0: "FINE"}, AT, AT + DAY) == "malformed"


def test_stale_and_future_lists_say_nothing():
    sealed = sign_status_list(EMPTY, STATUS)
    assert opened(sealed, at=AT + DAY / 2).version == 1
    assert code_of(opened, sealed, at=AT + DAY) == "stale"
    assert code_of(opened, sealed, at=AT - DAY) == "stale"


def test_older_lists_and_other_lists_are_refused():
    assert code_of(opened, sign_status_list(EMPTY, STATUS), least_version=2) == "rollback"
    assert code_of(opened, sign_status_list(EMPTY, STATUS), list_id=LIST + "0") == "wrong_list"


def test_a13_a_list_signed_by_another_role_or_as_another_kind_is_refused():
    assert code_of(opened, sign_status_list(EMPTY, ISSUER)) == "untrusted_key"
    assert code_of(opened, seal(EMPTY.to_document(), "certificate", STATUS)) == "wrong_type"


def packed(data):
    return "u" + to_base64url(gzip.compress(data, mtime=0))


@pytest.mark.parametrize(
    "change",
    [
        {"length": 4},
        {"length": LEAST_LENGTH - 4},
        {"length": LEAST_LENGTH + 1},
        {"length": 2**40},
        {"status_size": 1},
        {"statuses": ["VALID"]},
        {"version": 0},
        {"valid_until": "2026-11-15T06:00:00Z"},
        {"encoded_list": ""},
        {"encoded_list": "z123"},
        {"encoded_list": "uAAAA"},
        {"encoded_list": packed(bytes(LEAST_LENGTH // 4 - 1))},
        {"encoded_list": packed(bytes(LEAST_LENGTH // 4 + 1))},
        {"encoded_list": packed(bytes(50_000_000))},
        {"encoded_list": "u" + to_base64url(gzip.compress(bytes(LEAST_LENGTH // 4), mtime=0) + b"x")},
        {"encoded_list": "u" + to_base64url(gzip.compress(bytes(LEAST_LENGTH // 4), mtime=0)[:-1])},
        {"more": 1},
    ],
)
def test_malformed_lists_are_refused_signed_or_not(change):
    sealed = seal({**EMPTY.to_document(), **change}, "status-list", STATUS)
    assert code_of(opened, sealed) == "malformed"


def test_a_small_list_that_unpacks_to_much_takes_no_memory():
    bomb = {**EMPTY.to_document(), "encoded_list": packed(bytes(50_000_000))}
    tracemalloc.start()
    try:
        assert code_of(StatusList.from_document, bomb) == "malformed"
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_indices_are_random_free_and_exhausted_in_the_end():
    taken = set()
    while len(taken) < 8:
        taken.add(free_index(taken, 8))
    assert taken == set(range(8))
    with pytest.raises(VerificationError, match="full"):
        free_index(taken, 8)
    draws = [free_index(set()) for _ in range(50)]
    assert len(set(draws)) > 45
    assert max(draws) > LEAST_LENGTH // 2
