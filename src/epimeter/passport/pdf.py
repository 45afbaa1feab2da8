# SPDX-License-Identifier: Apache-2.0
"""The passport as PDF/A-3a and PDF/UA-1, its JSON attached, by the Typst compiler.

The template reads data, never markup: a name such as `#panic()` is printed as it stands. The bytes depend on the
document and the compiler's version alone: fonts are the compiler's own, the date is the evaluation's.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from epimeter.documents.paper import compiler
from epimeter.errors import EpimeterError, MissingExtraError
from epimeter.passport.document import canonical, check, digest, verification_address
from epimeter.report.curves import Reliability
from epimeter.report.figures import reliability
from epimeter.report.svg import PRINT

TEMPLATE = "passport.typ"
COVERED = (
    (0x20, 0x7E),
    (0xA0, 0x17F),
    (0x370, 0x3FF),
    (0x400, 0x45F),
    (0x2010, 0x2027),
    (0x2030, 0x205E),
    (0x20AC, 0x20AC),
)
"""Letters that the compiler's own fonts have: Latin, Greek, Cyrillic, punctuation."""
SIGNS = frozenset("≤≥×→✓–\n")


def pdf(document: Mapping[str, Any]) -> bytes:
    """The PDF of a passport."""
    made = check(document)
    try:
        import typst
    except ImportError:
        raise MissingExtraError("a passport as PDF", "typst", "pdf") from None
    picture = _figure(made)
    shown = _printable(made) | {
        "digest": digest(made),
        "address": verification_address(made),
        "figure_alt": picture[1],
    }
    day = datetime.datetime.fromisoformat(made["evaluation"]["date"]).replace(tzinfo=datetime.UTC)
    inputs = {
        "shown": json.dumps(shown, ensure_ascii=False, sort_keys=True),
        "attached": canonical(made).decode("utf-8"),
        "figure": picture[0],
        "qr": _qr(shown["address"]),
    }
    try:
        compiled = compiler().compile(
            _template(), sys_inputs=inputs, format="pdf", pdf_standards=["a-3a", "ua-1"], timestamp=int(day.timestamp())
        )
    except typst.TypstError as fault:
        raise EpimeterError(f"the passport could not be typeset: {fault.message}") from None
    assert isinstance(compiled, bytes)
    return compiled


@cache
def _template() -> bytes:
    return (files("epimeter.passport") / TEMPLATE).read_bytes()


def _figure(made: Mapping[str, Any]) -> tuple[str, str]:
    """The reliability diagram and its words; nothing where the evaluation kept no bins."""
    bins = made["bins"]
    if not bins:
        return "", ""
    columns = [
        np.array([np.nan if value is None else value for value in bins[name]], np.float64)
        for name in ("confidence", "frequency")
    ]
    said, seen = columns
    picture = reliability(Reliability.of_bins(np.array(bins["count"], np.int64), said, seen, "answer"), for_print=True)
    return picture.svg, picture.alt


def _qr(address: str) -> str:
    """A QR code of the address as SVG, drawn by us from the code's matrix."""
    try:
        import segno
    except ImportError:
        raise MissingExtraError("a passport as PDF", "segno", "pdf") from None
    matrix = segno.make(address, error="m", micro=False).matrix
    size = len(matrix) + 8
    path = "".join(f"M{x + 4} {y + 4}h1v1h-1z" for y, row in enumerate(matrix) for x, dark in enumerate(row) if dark)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}">'
        f'<rect width="{size}" height="{size}" fill="{PRINT["paper"]}"/><path d="{path}" fill="#000000"/></svg>'
    )


def _printable(value: Any) -> Any:
    """Texts with letters that the fonts lack written as their code; the attached JSON keeps them as they are."""
    if isinstance(value, str):
        return "".join(letter if _covered(letter) else f"[U+{ord(letter):04X}]" for letter in value)
    if isinstance(value, Mapping):
        return {_printable(name): _printable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return value


def _covered(letter: str) -> bool:
    return letter in SIGNS or any(low <= ord(letter) <= high for low, high in COVERED)
