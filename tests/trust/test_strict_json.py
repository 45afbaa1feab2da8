import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_ground import flips

from epimeter.errors import VerificationError
from epimeter.trust.canonical import canonical_json, load_canonical
from epimeter.trust.strict_json import LARGEST_INTEGER, load_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


def refusal(data, **limits):
    with pytest.raises(VerificationError) as caught:
        load_json(data, **limits)
    assert caught.value.code == "malformed"
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":2}',
        b'{"a":{"b":1,"c":2,"b":1}}',
        b'[[{"x":[{"a":1,"\\u0061":2}]}]]',
        b'{"":0,"":0}',
    ],
)
def test_a7_duplicate_keys_are_refused_at_any_depth(data):
    assert "twice" in refusal(data)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", '[1, {"a": 1e400}]'])
def test_a9_numbers_that_are_not_finite_are_refused(text):
    assert "finite" in refusal(text.encode())


def test_a11_byte_order_marks_are_refused():
    assert "byte order mark" in refusal(b"\xef\xbb\xbf{}")
    refusal("{}".encode("utf-16"))


@pytest.mark.parametrize("data", [b"{}x", b"{}{}", b"{} []", b"1 2", b"{}\x00", b"{},"])
def test_a11_trailing_bytes_and_second_documents_are_refused(data):
    assert "nothing after it" in refusal(data)


def test_a11_large_files_are_refused_unread():
    start = time.perf_counter()
    assert "bytes" in refusal(b"[" + b"0," * 1_000_000 + b"0]")
    assert time.perf_counter() - start < 5
    assert load_json(b"[0,0]", size_limit=5) == [0, 0]
    refusal(b"[0,0]", size_limit=4)


@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}")])
def test_a11_nesting_beyond_64_is_refused(pair):
    opening, closing = pair
    load_json((opening * 64 + "0" + closing * 64).encode())
    assert "nest" in refusal((opening * 65 + "0" + closing * 65).encode())
    refusal((opening * 10_000 + "0" + closing * 10_000).encode())
    refusal((opening * 10_000).encode())


def test_brackets_inside_strings_are_no_nesting():
    assert load_json(json.dumps("[" * 500 + '"\\' + "{" * 500).encode()) == "[" * 500 + '"\\' + "{" * 500


@pytest.mark.parametrize("data", [b'"' + b'\\"' * 300_000, b'"' + b'\\"' * 300_000 + b"\\", b'"' * 600_001])
def test_a11_no_text_makes_the_depth_scan_slow(data):
    start = time.perf_counter()
    refusal(data)
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("data", [b'"\\ud800"', b'{"\\udc00":1}', b'["a",["\\ud83dx"]]', b'"\xed\xa0\x80"', b'"\xff"'])
def test_lone_surrogates_and_invalid_utf8_are_refused(data):
    refusal(data)


def test_surrogate_pairs_are_read():
    assert load_json(b'"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize("text", ["9007199254740992", "-9007199254740993", "1" * 5000, "[" + "9" * 18 + "]"])
def test_a8_integers_that_javascript_would_round_are_refused(text):
    assert "2^53" in refusal(text.encode())


@pytest.mark.parametrize("text", ["", " ", "{", "tru", "'a'", "{a:1}", "01", "+1", ".5", "1.", '"\t"', "[1,]", "\x0c1"])
def test_whatever_is_not_json_is_refused(text):
    refusal(text.encode())


@pytest.mark.parametrize(
    "data", [b'{"a": 1}', b'{"b":1,"a":2}', b'{"a":1.0}', b'{"a":-0}', b'{"a":1E2}', b'{"a":"\\u0041"}', b'{"a":"\\/"}']
)
def test_a8_json_that_is_not_canonical_is_refused_where_it_is_signed(data):
    load_json(data)
    with pytest.raises(VerificationError, match="canonical"):
        load_canonical(data)


@given(st.binary(max_size=60))
def test_bytes_are_read_or_refused_and_nothing_else_happens(data):
    try:
        load_json(data)
    except VerificationError as fault:
        assert fault.code == "malformed"


@given(st.text(alphabet='{}[]",:0123456789eE.+-\\utrfalsn dD8 \n', max_size=80))
def test_text_like_json_is_read_as_python_reads_it_or_refused(text):
    try:
        value = load_json(text.encode())
    except VerificationError:
        return
    assert value == json.loads(text)


@given(JSON)
def test_what_is_written_canonically_is_read_back(value):
    written = canonical_json(value)
    assert canonical_json(load_canonical(written)) == written


@given(JSON)
def test_other_spellings_of_the_same_value_are_read_alike(value):
    assert canonical_json(load_json(json.dumps(value, indent=1).encode())) == canonical_json(value)


def test_no_single_bit_turns_canonical_json_into_the_same_value():
    data = canonical_json({"ece": 0.0742, "n": [1, 2, {"é": None}], "s": 'a"\\'})
    for changed in flips(data):
        with contextlib.suppress(VerificationError):
            assert load_canonical(changed) != load_canonical(data)
