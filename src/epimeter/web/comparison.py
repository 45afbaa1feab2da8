# SPDX-License-Identifier: Apache-2.0
"""Two evaluations side by side: numbers, one diagram over the other, and the difference with its interval and verdict."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Query, Request

from epimeter.documents.html import sections
from epimeter.documents.sections import Document as Pages
from epimeter.documents.sections import Grid, Picture, Section
from epimeter.report.svg import Board
from epimeter.service.api.evaluations import own_evaluation
from epimeter.service.bodies import Body
from epimeter.service.errands import CompareRows, MadeDocument
from epimeter.service.evaluated import shown
from epimeter.service.problems import Problem
from epimeter.store import evaluations
from epimeter.web.page import Facts, page, visible

area = APIRouter(include_in_schema=False)
Id = Annotated[str, Query(max_length=40)]
LISTED = 60
COLOURS = ("accent", "mind")


@page(area, "/compare", "compare.html", scopes=("evaluations:read",))
async def compare(request: Request, a: Id = "", b: Id = "") -> Facts:
    """Two evaluations against each other; without them, a choice of two."""
    caller, state = request.state.caller, request.app.state
    facts = await to_thread.run_sync(_sides, request, caller, a, b)
    if facts["sides"] is None or not all(side["rows_kept"] for side in facts["sides"]):
        return facts
    try:
        state.gate.count(request, caller.organization, caller.tier)
        async with state.measuring.of(caller.organization):
            facts["difference"] = await to_thread.run_sync(_difference, state, facts["sides"], limiter=state.waiting)
    except Problem as refusal:
        if refusal.kind not in ("too-costly", "invalid", "conflict"):
            raise
        facts["why_not"] = refusal.detail
    return facts


def _sides(request: Request, caller: Any, a: str, b: str) -> Facts:
    with request.app.state.store.reading() as db:
        rows = evaluations.page(db, caller.organization, None, LISTED)
    choices = [{"id": row["id"], "words": f"{_name(row)}, {row['level']}"} for row in rows if row["level"] is not None]
    facts: Facts = {
        "a": a,
        "b": b,
        "choices": choices,
        "sides": None,
        "difference": None,
        "overlaid": "",
        "why_not": "",
    }
    if not a or not b:
        return facts
    sides, bins = [], []
    for name in (a, b):
        row = own_evaluation(request, caller, name)
        if row["report"] is None:
            raise Problem("conflict", f"the evaluation {name} is {row['status']}; it has nothing to compare")
        if row["level"] is None:
            raise Problem(
                "conflict", f"the evaluation {name} is of forecasts; records with a confidence can be compared"
            )
        told = msgspec.to_builtins(shown(row))
        # Rows that were sent as sums were never here.
        kept = bool(row["rows_kept"]) and str(row["dataset_digest"]).startswith("epi-col-")
        sides.append({"id": name, "rows_kept": kept, "name": _name(row), "evaluation": told})
        report = msgspec.json.decode(bytes(row["report"]))
        bins.append(report.get("report", report)["bins"])
    if sides[0]["name"] == sides[1]["name"]:
        for side in sides:
            side["name"] += f" ({side['id'][-6:]})"
    facts["sides"], facts["overlaid"] = sides, _overlaid([side["name"] for side in sides], bins)
    lost = [side["name"] for side in sides if not side["rows_kept"]]
    if lost:
        facts["why_not"] = (
            f"The rows of {' and '.join(lost)} are not kept here, so the difference has no interval and no test."
        )
    return facts


def _name(row: Any) -> str:
    version = f" {row['system_version']}" if row["system_version"] else ""
    return f"{row['system_id']}{version}, attempt {row['attempt']}"


def _difference(state: Any, sides: list[Facts]) -> Facts:
    with closing(Body.on_disk(str(state.settings.folder))) as both:
        with state.store.reading() as db:
            for piece in evaluations.retained_rows(db, sides[0]["id"]):
                both.add(piece)
            first = both.size
            for piece in evaluations.retained_rows(db, sides[1]["id"]):
                both.add(piece)
        errand = CompareRows(first=first, names=(sides[0]["name"], sides[1]["name"]))
        done = state.children.do(errand, MadeDocument, both.chunks(), seconds=state.settings.request_time)
    facts: Facts = msgspec.json.decode(done.data)
    return facts | {"html": visible(facts["html"])}


def _overlaid(names: list[str], bins: list[Facts]) -> str:
    """Both reliability diagrams in one."""
    board = Board(420, 380, top=24)
    board.axes([0, 0.25, 0.5, 0.75, 1], [0, 0.25, 0.5, 0.75, 1], "confidence", "share that was right")
    board.line([(0, 0), (1, 1)], "soft", 1, "4 4")
    lines: list[tuple[str, ...]] = []
    for place, (name, one) in enumerate(zip(names, bins, strict=True)):
        points = [
            (x, y, n)
            for x, y, n in zip(one["confidence"], one["frequency"], one["count"], strict=True)
            if n and y is not None
        ]
        if len(points) > 1:
            board.line([(x, y) for x, y, _ in points], COLOURS[place], 2, "" if place == 0 else "7 4")
        for x, y, _ in points:
            board.dot(x, y, COLOURS[place], 3)
        lines += [(name, f"{x:.3f}", f"{y:.3f}", f"{n:,}") for x, y, n in points]
    alt = f"Reliability diagrams of {names[0]} (solid) and {names[1]} (dashed); on the thin line stated and seen agree."
    twin = Grid("Bins", ("evaluation", "confidence", "right", "records"), tuple(lines), frozenset({1, 2, 3}))
    caption = f"Reliability; solid: {names[0]}; dashed: {names[1]}"
    picture = Picture(caption, alt, board.svg(alt), twin)
    return str(visible(sections(Pages("", "", (Section("Diagrams", (picture,)),)), "o")))
