# SPDX-License-Identifier: Apache-2.0
"""The first page: what this registry is, a search, the latest certificates."""

from __future__ import annotations

from fastapi import APIRouter, Request

from epimeter.standards.ers import LEVELS
from epimeter.web.page import Facts, page
from epimeter.web.registry import RegistrySearch, search_lines, sum_up

area = APIRouter(include_in_schema=False)


@page(area, "/", "home.html", twin="/index.json")
def home(request: Request) -> Facts:
    """What this registry is."""
    state = request.app.state
    latest, _ = search_lines(state, RegistrySearch(), limit=8)
    registry = state.ledger.registry
    return {
        "issuer": registry.issuer,
        "certificates": sum(sum_up(state)["level"].values()),
        "log": {"origin": registry.log.origin, "size": registry.log.size},
        "levels": [
            {
                "name": level.name,
                "title": level.title,
                "ece": level.ece,
                "u_recall": level.u_recall,
                "ers": level.ers,
                "months": level.months,
                "suitable_for": level.suitable_for,
            }
            for level in LEVELS
        ],
        "latest": latest,
    }
