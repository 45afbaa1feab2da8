import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_ground import AT

from epimeter.errors import VerificationError
from epimeter.trust.canonical import (
    canonical_json,
    from_base64,
    from_base64url,
    from_moment,
    load_canonical,
    to_base64,
    to_base64url,
    to_moment,
)

# RFC 8785, appendix B.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "text"), NUMBERS)
def test_a8_numbers_are_written_as_rfc_8785_lists_them(bits, text):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(value) == text.encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.30000000000000004"),
        (-0.0, "0"),
        (1e-7, "1e-7"),
        (1e16, "10000000000000000"),
        (1.0, "1"),
        (1, "1"),
    ],
)
def test_a8_numbers_are_written_as_javascript_writes_them(value, text):
    assert canonical_json(value) == text.encode()


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 2**53, -(2**53) - 1, "\ud800", {1: 2}, {1}, b"x", object()]
)
def test_a8_a9_what_json_cannot_carry_is_refused(value):
    with pytest.raises(VerificationError) as caught:
        canonical_json({"a": value})
    assert caught.value.code == "malformed"


def test_a8_whole_doubles_beyond_the_safe_integers_do_not_come_back():
    with pytest.raises(VerificationError):
        load_canonical(canonical_json(1e16))


def test_a_document_that_contains_itself_is_refused():
    knot = []
    knot.append(knot)
    with pytest.raises(VerificationError):
        canonical_json(knot)


def test_the_example_of_rfc_8785_is_written_as_printed():
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '€$\x0f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    printed = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_json(value) == printed.encode()


def test_keys_are_sorted_by_utf16_units_as_rfc_8785_shows():
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\xf6"]
    written = canonical_json(dict.fromkeys(keys, 0))
    assert list(load_canonical(written)) == ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]


@given(st.binary(max_size=80))
def test_bytes_come_back_from_text(data):
    assert from_base64(to_base64(data), "x") == data
    assert from_base64url(to_base64url(data), "x") == data


@pytest.mark.parametrize(
    "text", ["QQ", "QR==", "QQ=", "QQ===", "Q Q==", "QQ==\n", "QUJDQUJD=", "-_-_", "é", None, 5, b"QQ=="]
)
def test_a6_base64_has_one_form(text):
    with pytest.raises(VerificationError, match="canonical base64"):
        from_base64(text, "value")


@pytest.mark.parametrize("text", ["QQ==", "QR", "+/+/", "Q", "Q\n", "é", None])
def test_a6_base64url_has_one_form(text):
    with pytest.raises(VerificationError, match="canonical base64url"):
        from_base64url(text, "value")


def test_moments_come_back_from_text():
    assert to_moment(AT) == "2026-11-15T06:00:00Z"
    assert from_moment(to_moment(AT), "at") == AT


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-15T06:00:00",
        "2026-11-15T06:00:00+00:00",
        "2026-11-15t06:00:00z",
        "2026-11-15T06:00:00.5Z",
        "2026-12-31T23:59:60Z",
        "2026-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-11-15T06:00:00Z\n",
        "٢٠٢٦-11-15T06:00:00Z",
        None,
    ],
)
def test_moments_in_any_other_form_are_refused(text):
    with pytest.raises(VerificationError):
        from_moment(text, "at")


def test_a_moment_without_a_time_zone_is_refused():
    with pytest.raises(VerificationError, match="time zone"):
        to_moment(AT.replace(tzinfo=None))
