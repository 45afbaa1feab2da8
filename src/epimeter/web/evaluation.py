# SPDX-License-Identifier: Apache-2.0
"""Evaluations of an organisation: the list, one with its whole report, its files, and one click to certify."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any

import anyio
import msgspec
from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from epimeter.documents.html import sections
from epimeter.service.api import evaluations as api
from epimeter.service.issuing import issue
from epimeter.service.paging import Cursor
from epimeter.service.passports import passport_of
from epimeter.service.problems import Problem
from epimeter.service.renderings import document_of, rendered
from epimeter.service.schemas import CertificateRequest
from epimeter.store import collecting, evaluations, registry
from epimeter.trust.entries import system_digest
from epimeter.web.account import told
from epimeter.web.page import Facts, Fields, change, page, visible
from epimeter.web.session import go, known

area = APIRouter(include_in_schema=False)
Id = Annotated[str, Path(max_length=40)]
FILES = {
    "report.html": "text/html",
    "report.md": "text/markdown",
    "report.txt": "text/plain",
    "report.json": "application/json",
    "passport.pdf": "application/pdf",
    "passport.json": "application/json",
}
LINES = 25
READS = ("evaluations:read",)
MOST_WATCHED = 100
"""Watched systems that are named on the page of evaluations."""


@page(area, "/evaluations", "evaluations.html", scopes=READS)
def listing(request: Request, system: Annotated[str, Query(max_length=200)] = "", cursor: Cursor = None) -> Facts:
    """A page of evaluations, the newest first."""
    caller = request.state.caller
    found: Facts = told(api.listing(request, caller, LINES, cursor, system or None))
    for one in found["items"]:
        one["system"] = system_of(caller, one["model_id"])
    with request.app.state.store.reading() as db:
        watched = collecting.names(db, caller.organization)
    return found | {
        "system": system,
        "first": cursor is None,
        "watched": [{"model_id": one, "system": system_of(caller, one)} for one in watched[:MOST_WATCHED]],
        "all_watched": len(watched),
    }


def system_of(caller: Any, system_id: str) -> str:
    """The address of a system of the caller's organisation: its name in the log."""
    return system_digest({"organization": caller.organization_name, "system_id": system_id})


@page(area, "/evaluations/{evaluation_id}", "evaluation.html", scopes=READS)
def evaluation(request: Request, evaluation_id: Id) -> Facts:
    """One evaluation: what it found, what stands in the way of a certificate, and its whole report."""
    caller, state = request.state.caller, request.app.state
    row = api.own_evaluation(request, caller, evaluation_id)
    facts: Facts = told(api.one(request, caller, evaluation_id))
    with state.store.reading() as db:
        issued = registry.behind(db, [evaluation_id])
        others = evaluations.page(db, caller.organization, None, 30, row["system_id"])
    if facts["status"] == "queued":
        request.state.headers["Refresh"] = "2"  # asked for anew without a script until there is a result
    report = None if row["report"] is None else _shown(bytes(row["report"]))
    return {
        "evaluation": facts,
        "system": system_of(caller, row["system_id"]),
        "certificate": issued[0]["id"] if issued else None,
        "rows_kept": bool(row["rows_kept"]),
        "may_certify": caller.may("certificates:write"),
        "report": report,
        # What the report says itself is not said twice.
        "notes": [note for note in facts["notes"] if report is None or escape(note) not in report["html"]],
        "files": []
        if row["report"] is None
        else [name for name in FILES if row["rows_kept"] or "passport" not in name],
        "others": [
            {"id": one["id"], "attempt": one["attempt"], "version": one["system_version"], "level": one["level"]}
            for one in others
            if one["id"] != evaluation_id and one["level"] is not None and row["level"] is not None
        ],
    }


def _shown(report: bytes) -> Facts:
    """The report as the command writes it, for the inside of a page."""
    document = document_of(report)
    return {"title": document.title, "subtitle": document.subtitle, "html": visible(sections(document))}


@area.get("/evaluations/{evaluation_id}/files/{name}", dependencies=[Depends(known(*READS))])
async def file(request: Request, evaluation_id: Id, name: Annotated[str, Path(max_length=40)]) -> Response:
    """The report or the passport as a file."""
    state, caller = request.app.state, request.state.caller
    row = await to_thread.run_sync(api.own_evaluation, request, caller, evaluation_id)
    if name not in FILES:
        raise Problem("not-found", f"an evaluation has the files {', '.join(FILES)}")
    if row["report"] is None:
        raise Problem("conflict", f"the evaluation is {row['status']}; it has no report")
    if name.startswith("passport"):
        async with state.measuring.of(caller.organization):
            answer = await to_thread.run_sync(passport_of, state, caller, row, FILES[name], limiter=state.waiting)
    else:
        answer = await to_thread.run_sync(rendered, bytes(row["report"]), FILES[name])
    # The id is ours and plain: nothing that somebody wrote comes into the header.
    answer.headers["Content-Disposition"] = f'attachment; filename="{row["id"]}-{name}"'
    return answer


@change(area, "/evaluations/{evaluation_id}/certify", "certificates:write")
async def certify(request: Request, fields: Fields, evaluation_id: Id) -> Response:
    """Issue the certificate; an evaluation has one at most."""
    state, caller = request.app.state, request.state.caller
    wanted = msgspec.convert({"evaluation_id": evaluation_id}, CertificateRequest)
    await to_thread.run_sync(state.gate.count, request, caller.organization, caller.tier)
    async with state.issuing.of(caller.organization):
        with anyio.CancelScope(shield=True):
            id, _, _ = await to_thread.run_sync(issue, state, caller, wanted, limiter=state.waiting)
    return go(f"/certificates/{id}")
