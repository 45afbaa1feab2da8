# SPDX-License-Identifier: Apache-2.0
"""Values and names as they stand in a message: short, and never more than a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LONGEST = 40
MOST = 8


def shown(value: Any) -> str:
    """A value as a message shows it, cut when long."""
    text = repr(value)
    return text if len(text) <= LONGEST + 2 else f"{text[:LONGEST]}…"


def clean(text: str) -> str:
    """A name as a message may hold it: line breaks and control characters escaped, cut when long."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def word_of(name: str) -> str:
    """A name as it is compared: without regard to case, spaces and hyphens."""
    word = name.strip().lower()
    return word.replace(" ", "_").replace("-", "_") if " " in word or "-" in word else word


def listed(names: Sequence[str], last: str | None = None) -> str:
    """A few names in a row; how many more there are, if there are."""
    short = [clean(name) for name in names[:MOST]]
    if len(names) > MOST:
        return f"{', '.join(short)} and {len(names) - MOST} more"
    if last and len(short) > 1:
        return f"{', '.join(short[:-1])} {last} {short[-1]}"
    return ", ".join(short)


def brief(fault: Exception) -> str:
    """The first line of what another library says."""
    lines = str(fault).splitlines()
    text = lines[0][:200].rstrip(". ") if lines else type(fault).__name__
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def counted(count: int, total: int) -> str:
    """`3 of 500 rows`."""
    return f"{count} of {total} row{'s' if total != 1 else ''}"
