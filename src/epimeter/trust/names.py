# SPDX-License-Identifier: Apache-2.0
"""Ids and names in documents: ids that cannot be counted through, names that cannot be read in two ways.

RFC 8785 does not normalise text, so one name in two Unicode forms would give two documents that look alike. Names are
therefore kept in normal form C, without characters that are invisible or turn the direction of the text. Letters that
merely look alike cannot be forbidden; `look_alike` finds them, and a registry says so when it enters a name.
"""

from __future__ import annotations

import difflib
import re
import secrets
import unicodedata
from collections.abc import Callable
from typing import Any

from epimeter.trust.strict_json import malformed, text_of

NAME_LIMIT = 300
CERTIFICATE = "ONTO-CERT"
REGISTRATION = "ONTO-REG"
EVALUATION = "ONTO-EVAL"

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ID = re.compile(r"ONTO-(CERT|REG)-[0-9]{4}-[0-9A-HJKMNP-TV-Z]{16}")
_JOINERS = "\u200c\u200d"  # without them Persian and several Indian scripts cannot be written

# Letters of other scripts that are drawn as a Latin one, after case folding.
_TWINS = str.maketrans("аеорсухіјѕһԁԛԝкмтвнαονρτυικεχγ", "aeopcyxijshdqwkmtbhaovptuikexy")


def new_id(kind: str, year: int, *, randomness: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """An id with 80 random bits in Crockford's base32: nobody finds a certificate by trying."""
    value = int.from_bytes(randomness(10), "big")
    letters = "".join(_CROCKFORD[value >> shift & 31] for shift in range(75, -1, -5))
    return f"{kind}-{year:04}-{letters}"


def id_of(value: Any, where: str, kind: str = CERTIFICATE) -> str:
    """The value as an id of that kind."""
    if not isinstance(value, str) or not _ID.fullmatch(value) or not value.startswith(f"{kind}-"):
        raise malformed(f"{where} must be an id such as {kind}-2026-7Q4MK8ZD2N0R5TVX; got {str(value)[:60]!r}")
    return value


def name_of(value: Any, where: str) -> str:
    """The value as a name: in normal form C, visible, at most 300 characters."""
    name = text_of(value, where)
    if len(name) > NAME_LIMIT:
        raise malformed(f"{where} must have at most {NAME_LIMIT} characters; got {len(name)}")
    if name.isascii() and name.isprintable() and name[0] != " " != name[-1]:
        return name
    for place, letter in enumerate(name):
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in _JOINERS:
            raise malformed(
                f"{where} must have no control, invisible or text-direction characters; "
                f"character {place} is U+{ord(letter):04X}"
            )
    if name != name.strip():
        raise malformed(f"{where} must not begin or end with a space")
    if not unicodedata.is_normalized("NFC", name):
        raise malformed(f"{where} must be in Unicode normal form C; the same letters can be written so")
    return name


def look_alike(one: str, other: str) -> bool:
    """Whether two different names may be taken for each other: same letters but for script, case, accents or spaces."""
    return one != other and _skeleton(one) == _skeleton(other)


def name_key(name: str) -> str:
    """What names are counted by: the same for names that differ in case, accents, punctuation or look-alike letters."""
    return _skeleton(name) or unicodedata.normalize("NFKC", name)


def near(one: str, other: str) -> bool:
    """Whether one name may have been chosen beside another: alike but for numbers, or for few letters."""
    stems = [re.sub(r"[ol]*$", "", re.sub(r"\d+", "", name_key(name))) for name in (one, other)]
    if stems[0] == stems[1]:
        return True
    keys = name_key(one), name_key(other)
    return min(map(len, keys)) >= 4 and difflib.SequenceMatcher(None, *keys, autojunk=False).ratio() >= 0.85


def mixed_scripts(name: str) -> tuple[str, ...]:
    """The scripts of a name when a word mixes Latin, Greek or Cyrillic letters; empty for an honest name."""
    for word in re.split(r"[\W\d_]+", name):
        found = {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & {"LATIN", "GREEK", "CYRILLIC"}
        if len(found) > 1:
            return tuple(sorted(found))
    return ()


def _skeleton(name: str) -> str:
    folded = unicodedata.normalize("NFKD", name).casefold().translate(_TWINS)
    kept = (letter for letter in folded if letter.isalnum())
    return "".join(kept).replace("0", "o").replace("1", "l").replace("i", "l")


def similar_sentence(names: int, tries: int) -> str | None:
    """What is said of systems with similar names: trying under another name is trying too."""
    if not names:
        return None
    systems = (
        "system of this organisation has a similar name"
        if names == 1
        else "systems of this organisation have similar names"
    )
    return f"{names:,} further {systems}, with {tries:,} evaluation{'' if tries == 1 else 's'}"
