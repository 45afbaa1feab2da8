# SPDX-License-Identifier: Apache-2.0
"""A system as the public may see it: its certificates, and every attempt that the log holds, passed or not.

Its address is its name in the log, a digest of organisation and id: whoever holds a certificate finds it, and nobody finds
systems by trying. A system without a certificate has no page, but for the members of its organisation, who see more of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request
from markupsafe import Markup

from epimeter.service.problems import Problem
from epimeter.standards.ers import LEVEL_NAMES
from epimeter.store import registry
from epimeter.trust.entries import read_entry
from epimeter.trust.registry_rows import reading
from epimeter.web.history import history, own_system
from epimeter.web.page import Facts, page
from epimeter.web.registry import lines

area = APIRouter(include_in_schema=False)
MOST = 200
System = Annotated[str, Path(max_length=80)]


@page(area, "/systems/{system}", "system.html", visitors=True)
def system(request: Request, system: System) -> Facts:
    """The certificates and attempts of one system."""
    state, caller = request.app.state, request.state.caller
    reads = caller is not None and caller.may("evaluations:read")
    own = own_system(state, caller, system) if reads else None
    with reading(state.ledger.folder / "log.db") as connection:
        found = connection.execute(
            "SELECT number, log_index, entry FROM attempts JOIN entries ON idx = log_index WHERE system = ? "
            "ORDER BY number DESC LIMIT ?",
            (system, MOST),
        ).fetchall()
    attempts = [{"number": number, "log_index": index, **_entry_facts(entry)} for number, index, entry in found]
    with state.store.reading() as db:
        rows = registry.behind(db, [one["id"] for one in attempts])
    if not rows and own is None:
        raise Problem("not-found", "no system with a certificate has this address")
    # The log names an attempt by its certificate where one was asked for at once, else by its evaluation.
    issued = {row[name]: row["id"] for row in rows for name in ("id", "evaluation")}
    for one in attempts:
        one["certificate"] = issued.get(one["id"])
    levels = [(one["number"], one["level"]) for one in reversed(attempts)]
    return {
        "system": system,
        "system_id": rows[0]["system_id"] if rows else own,
        "organization": rows[0]["organization_name"] if rows else caller.organization_name,
        "certificates": lines(state.ledger, rows),
        "attempts": attempts,
        "all_shown": len(attempts) < MOST,
        "drawing": str(steps(levels)) if levels else "",
        "members": None if own is None else history(state, caller, own),
    }


def _entry_facts(entry: bytes) -> Facts:
    fields = read_entry(entry)
    return {
        "id": fields["id"],
        "at": fields["time"],
        "level": fields.get("level") or "NONE",
        "dataset": fields.get("dataset"),
    }


def steps(levels: Sequence[tuple[int, str]]) -> Markup:
    """The level of each attempt, the oldest on the left, as SVG."""
    width, left, top, row = 640, 52, 14, 26
    bottom = top + row * (len(LEVEL_NAMES) - 1)
    gap = (width - left - 20) / max(1, len(levels) - 1)
    spots = [
        (
            round(left + 10 + place * gap, 1),
            bottom - row * max(0, LEVEL_NAMES.index(level)) if level in LEVEL_NAMES else bottom,
        )
        for place, (_, level) in enumerate(levels)
    ]
    words = ", ".join(f"attempt {number} {level}" for number, level in levels[-12:])
    parts = [f'<svg class="scale steps" viewBox="0 0 {width} {bottom + 30}" role="img" aria-label="Levels: {words}">']
    for place, name in enumerate(LEVEL_NAMES):
        y = bottom - row * place
        parts.append(f'<line class="limit" x1="{left}" x2="{width}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="limit-name" x="{left - 8}" y="{y + 4}" text-anchor="end">{name}</text>')
    line = " ".join(f"{x},{y}" for x, y in spots)
    parts.append(f'<polyline class="way" points="{line}"/>')
    every = max(1, len(levels) // 12)
    for place, ((x, y), (number, _)) in enumerate(zip(spots, levels, strict=True)):
        parts.append(f'<circle class="value" cx="{x}" cy="{y}" r="4"/>')
        if place % every == 0:
            parts.append(f'<text class="limit-name" x="{x}" y="{bottom + 22}" text-anchor="middle">{number}</text>')
    return Markup("".join([*parts, "</svg>"]))
