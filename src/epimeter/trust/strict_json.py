# SPDX-License-Identifier: Apache-2.0
"""Bytes into a JSON value that no other reader can read otherwise.

Most parsers keep the last of two equal keys, some the first; some read NaN, some round large integers. A signature
over such bytes means two things at once, so all of this is refused here, before anything else looks at the document.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from epimeter.errors import VerificationError

SIZE_LIMIT = 1 << 20  # bytes; a certificate has a few thousand
DEPTH_LIMIT = 64
LARGEST_INTEGER = 2**53 - 1  # above it, JavaScript and Python read different numbers

# A string, closed or not, or one bracket. A string always matches to its end, so that no text makes the scan quadratic.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def load_json(data: bytes, *, size_limit: int = SIZE_LIMIT, depth_limit: int = DEPTH_LIMIT) -> Any:
    """The value of one JSON document in UTF-8.

    Refused, each with one sentence: more than `size_limit` bytes, a byte order mark, invalid UTF-8, nesting beyond
    `depth_limit`, a key twice in one object, NaN and infinities, numbers too large for a double, integers beyond
    2^53 - 1, lone surrogates, anything after the document.

    Examples
    --------
    >>> load_json(b'{"ece": 0.07}')
    {'ece': 0.07}
    """
    if len(data) > size_limit:
        raise malformed(f"JSON must have at most {size_limit} bytes; got {len(data)}")
    if data.startswith(b"\xef\xbb\xbf"):
        raise malformed("JSON must not start with a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise malformed(f"JSON must be UTF-8; byte {fault.start} is not") from None
    _refuse_depth(text, depth_limit)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as fault:
        # The decoder's own wording is lower-cased and shortened: "Extra data" becomes a rule of ours.
        what = "one document and nothing after it" if fault.msg == "Extra data" else "well formed"
        raise malformed(f"JSON must be {what}; line {fault.lineno}, column {fault.colno} is not") from None
    if "\\u" in text:
        _refuse_lone_surrogates(value)
    return value


def malformed(sentence: str) -> VerificationError:
    """The error of whatever is not written as it must be."""
    return VerificationError(sentence, code="malformed")


def fields_of(value: Any, where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """The value as an object with exactly these fields: a closed schema, one level of it."""
    if not isinstance(value, dict):
        raise malformed(f"{where} must be an object; got {kind_of(value)}")
    for field in required:
        if field not in value:
            raise malformed(f"{where} must have the field {field!r}; it is missing")
    for field in value:
        if field not in required and field not in optional:
            raise malformed(f"{where} has the unknown field {field[:80]!r}; unknown fields are refused")
    return value


def text_of(value: Any, where: str) -> str:
    """The value as a string, not an empty one."""
    if not isinstance(value, str) or not value:
        raise malformed(f"{where} must be a string, not an empty one; got {kind_of(value)}")
    return value


def count_of(value: Any, where: str, *, least: int = 0) -> int:
    """The value as a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        shown = value if type(value) is int else kind_of(value)
        raise malformed(f"{where} must be a whole number of at least {least}; got {shown}")
    return value


def list_of(value: Any, where: str) -> list[Any]:
    """The value as a list."""
    if not isinstance(value, list):
        raise malformed(f"{where} must be a list; got {kind_of(value)}")
    return value


def kind_of(value: Any) -> str:
    """What JSON calls the type of a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _refuse_depth(text: str, limit: int) -> None:
    # Before parsing: the decoder recurses, and 10,000 brackets would exhaust its stack.
    if text.count("[") + text.count("{") <= limit:
        return
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        first = token.group()[0]
        if first in "[{":
            depth += 1
            if depth > limit:
                raise malformed(f"JSON must nest at most {limit} levels; position {token.start()} goes deeper")
        elif first in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise malformed(f"JSON keys must be unique; {key[:80]!r} stands twice in one object")
            seen.add(key)
    return found


def _constant(name: str) -> Any:
    raise malformed(f"JSON numbers must be finite; got {name}")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise malformed(f"JSON numbers must be finite; {text[:40]} is beyond the largest double")
    return value


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > LARGEST_INTEGER:
        raise malformed(f"JSON integers must lie within ±(2^53 - 1); got {text[:40]}")
    return int(text)


def _refuse_lone_surrogates(value: Any) -> None:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(item.keys())
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
        elif isinstance(item, str) and any("\ud800" <= letter <= "\udfff" for letter in item):
            raise malformed("JSON strings must be Unicode text; an escape stands for half a surrogate pair")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer)
