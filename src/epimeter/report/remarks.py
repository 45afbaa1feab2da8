# SPDX-License-Identifier: Apache-2.0
"""How the rows behind a result were read: which were left out for want of a label, and what words were taken for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def remarks(source: Mapping[str, Any], n_rows: int) -> tuple[str, ...]:
    """One sentence each; `source` as a report holds it."""
    left = int(source.get("unlabelled") or 0)
    verb = "has no label and was left out" if left == 1 else "have no label and were left out"
    missing = (f"{left:,} of {left + n_rows:,} rows {verb}.",) if left else ()
    return (*missing, *(f"{str(note)[:1].upper()}{str(note)[1:]}." for note in source.get("notes") or ()))
