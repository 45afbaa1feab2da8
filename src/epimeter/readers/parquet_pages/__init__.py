# SPDX-License-Identifier: Apache-2.0
"""Parquet read page by page in C, and the border that foreign bytes cross before anybody trusts them.

`footer` checks what a file says about itself before pyarrow sees it, `unpacked` how large it can become before anything is
allocated, `column` reads the pages of plain columns. Everything that the decoder does not know pyarrow serves; with the
environment variable EPIMETER_PARQUET_PAGES=off, or `scan(…, parquet_pages=False)`, it serves all
(docs/decisions/0025-parquet-pages.md).
"""

from __future__ import annotations

import os

from epimeter.errors import InputError
from epimeter.readers.parquet_pages.column import Broken, Chunk, Column, NotPlain, buffers
from epimeter.readers.parquet_pages.footer import Footer, checked_footer
from epimeter.readers.parquet_pages.unpacked import unpacked_bound

SWITCH = "EPIMETER_PARQUET_PAGES"


def enabled(wanted: bool | None = None) -> bool:
    """Whether pages are decoded here: as wanted, else as the environment says; where files cannot be read by place, never."""
    if not hasattr(os, "preadv"):
        return False
    if wanted is not None:
        return wanted
    said = os.environ.get(SWITCH, "on").strip().lower()
    if said not in ("on", "off", "1", "0", "true", "false"):
        raise InputError(f"{SWITCH} must be on or off; got {said!r:.40}", field=SWITCH)
    return said in ("on", "1", "true")


__all__ = [
    "SWITCH",
    "Broken",
    "Chunk",
    "Column",
    "Footer",
    "NotPlain",
    "buffers",
    "checked_footer",
    "enabled",
    "unpacked_bound",
]
