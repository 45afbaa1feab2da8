# SPDX-License-Identifier: Apache-2.0
"""The table that certificates name by `urn:epimeter:mapping:DATE`: which clause a measurement is evidence for (ERS 7)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from epimeter.service.problems import Problem
from epimeter.standards.mapping import AS_OF, FRAMEWORKS, LIMITS, MAPPING
from epimeter.web.page import Facts, page

area = APIRouter(include_in_schema=False)


@page(area, "/mapping", "mapping.html")
def newest(request: Request) -> Facts:
    """The table of today."""
    return _facts()


@page(area, "/mapping/{as_of}", "mapping.html")
def dated(request: Request, as_of: Annotated[str, Path(max_length=10)]) -> Facts:
    """The table of a day, as a certificate names it."""
    if as_of != AS_OF:
        raise Problem("not-found", f"there is no mapping of this day; the one in force is /mapping/{AS_OF}")
    return _facts()


def _facts() -> Facts:
    return {
        "as_of": AS_OF,
        "urn": f"urn:epimeter:mapping:{AS_OF}",
        "wording": "evidence for a clause, not conformity with it",
        "frameworks": [
            {
                "name": name,
                "title": title,
                "rows": [row.to_dict() for row in MAPPING if row.framework == name],
            }
            for name, title in FRAMEWORKS.items()
        ],
        "limits": list(LIMITS),
    }
