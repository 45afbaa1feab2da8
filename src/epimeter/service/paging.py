# SPDX-License-Identifier: Apache-2.0
"""Cursors: where a page ended, so that the next begins there whatever was added meanwhile."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Any

from fastapi import Query

from epimeter.service.problems import Problem

Limit = Annotated[int, Query(ge=1, le=200, description="How many items a page has.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before.")]
_PLACE = re.compile(r"(\d{1,19}):([A-Za-z0-9_.:-]{1,80})")


def cursor(at: int, id: str) -> str:
    """Where a page ended."""
    return base64.urlsafe_b64encode(f"{at}:{id}".encode()).decode().rstrip("=")


def place(text: str | None) -> tuple[int, str] | None:
    """What a cursor says; None for the first page."""
    if text is None:
        return None
    try:
        found = _PLACE.fullmatch(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii"))
    except (binascii.Error, ValueError, UnicodeDecodeError):
        found = None
    if found is None or int(found[1]) >= 2**63:
        raise _no_cursor()
    return int(found[1]), found[2]


def counted(text: str | None) -> tuple[int, int] | None:
    """What a cursor says where rows have no id: a moment, and how many of that moment were on the pages before."""
    found = place(text)
    if found is None:
        return None
    if not re.fullmatch(r"[0-9]{1,15}", found[1]):
        raise _no_cursor()
    return found[0], int(found[1])


def _no_cursor() -> Problem:
    return Problem("invalid", "/query/cursor: a cursor must be the `next` of a page", errors=[("/query/cursor", "?")])


def cut(rows: list[Any], limit: int, at: str = "created_at", id: str = "id") -> tuple[list[Any], str | None]:
    """A page out of one row more than asked for, and the cursor of the next."""
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], cursor(last[at], str(last[id]))


def links(path: str, query: dict[str, Any], next_: str | None) -> dict[str, str]:
    """The Link header of a page."""
    if next_ is None:
        return {}
    from urllib.parse import urlencode

    kept = {name: value for name, value in query.items() if value is not None} | {"cursor": next_}
    return {"Link": f'<{path}?{urlencode(kept)}>; rel="next"'}
