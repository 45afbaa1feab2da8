# SPDX-License-Identifier: Apache-2.0
"""Upload: drop a file, see what its columns were taken for, correct it, evaluate.

The file waits in the store while its columns are talked about, so that a correction does not send it again. It is read by
the readers of the command and evaluated by the endpoint of the API; refusals stand beside the column they speak of.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Annotated, Any, get_args

import anyio
import msgspec
from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response
from python_multipart.exceptions import MultipartParseError
from sqlalchemy import Connection
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from epimeter.service import schemas
from epimeter.service.access import Caller
from epimeter.service.answers import Work, once
from epimeter.service.api import evaluations as api
from epimeter.service.bodies import Body, media_type, receive
from epimeter.service.dropped_files import BESIDE, FORMATS, ROLES, SEVERAL, plain_name
from epimeter.service.errands import LookAtFile, MadeDocument
from epimeter.service.predictions import ARROW
from epimeter.service.problems import Problem
from epimeter.service.schemas.words import Domain
from epimeter.store import uploads
from epimeter.store.moments import new_id, now
from epimeter.web.account import told
from epimeter.web.page import Facts, Fields, change, page, shown
from epimeter.web.session import go, known, one, refuse_foreign, refuse_forged

area = APIRouter(include_in_schema=False)
Id = Annotated[str, Path(max_length=40)]
MOST = 20
"""Files of one organisation that may wait at a time."""
KINDS = ("", "answer", "event", "classes")
SAID = ("model_id", "model_version", "domain", "preregistration", "level")
PIECE = 1 << 18


@page(area, "/upload", "upload.html", scopes=("evaluate",))
def upload(request: Request) -> Facts:
    """A place to drop a file."""
    return {"formats": sorted(FORMATS), "most": request.app.state.settings.max_body}


@area.post("/upload", dependencies=[Depends(refuse_foreign), Depends(known("evaluate"))])
async def dropped(request: Request) -> Response:
    """Keep a file that was dropped."""
    state, caller = request.app.state, request.state.caller
    if media_type(request) != "multipart/form-data":
        raise Problem("unsupported-media-type", "a file must come as multipart/form-data")
    body = await receive(request, state.settings, state.settings.max_body + 4096)
    with closing(body):
        fields = await _fields(request, body)
        try:
            token, file = fields.get("token"), fields.get("file")
            refuse_forged(request, token if isinstance(token, str) else "")
            if not isinstance(file, UploadFile) or not file.filename:
                raise Problem("invalid", "a file must be chosen; none was", errors=[("/file", "none")])
            id = await to_thread.run_sync(_stored_upload, state, caller.organization, file)
        finally:
            await fields.close()
    return go(f"/upload/{id}")


async def _fields(request: Request, body: Body) -> Any:
    async def chunks() -> AsyncIterator[bytes]:
        while piece := body.file.read(PIECE):
            yield piece

    try:
        return await MultiPartParser(request.headers, chunks(), max_files=1, max_fields=5).parse()  # type: ignore[arg-type]
    except (MultiPartException, MultipartParseError, KeyError, ValueError):
        raise Problem("bad-request", "the form with the file cannot be read") from None


def _stored_upload(state: Any, organization: str, file: UploadFile) -> str:
    id, size = new_id("up_"), file.file.seek(0, 2)
    file.file.seek(0)
    if not size:
        raise Problem("invalid", "the file is empty", errors=[("/file", "empty")])
    with state.store.writing() as db:
        if uploads.held(db, organization) >= MOST:
            raise Problem("conflict", f"at most {MOST} files wait at a time; evaluate one, or come back tomorrow")
        mine = {"id": id, "organization": organization, "name": plain_name(file.filename or "")}
        uploads.add(db, **mine, file=file.file, size=size, at=now())
    return id


def _waiting(request: Request, upload_id: str) -> Any:
    with request.app.state.store.reading() as db:
        return _upload_row(db, request, upload_id)


def _upload_row(db: Connection, request: Request, upload_id: str) -> Any:
    row = uploads.find(db, request.state.caller.organization, upload_id)
    if row is None:
        raise Problem("not-found", "no file of yours waits under this id")
    return row


def _looked(request: Request, row: Any, said: Facts, kept: Body) -> Facts:
    """What the file holds, read as was said; its rows go to `kept`."""
    state = request.app.state
    errand = LookAtFile(
        name=row["name"],
        columns=said["columns"],
        kind=said["kind"] or None,
        assume_utc=said["assume_utc"],
        at=now(),
    )
    with state.store.reading() as db:
        _upload_row(db, request, row["id"])  # it may have been evaluated meanwhile: then it holds nothing to look at
        parts = uploads.parts(db, row["id"])
        found = state.children.do(errand, MadeDocument, parts, seconds=state.settings.request_time, kept=kept.file)
    facts: Facts = msgspec.json.decode(found.data)
    return facts


def _in_page(sentence: str) -> str:
    """A refusal without the options of the command: on the page one chooses in their place."""
    plain = re.sub(r"[^.?!;]*--[a-z].*$", "", sentence).rstrip(" ;")
    return sentence if plain == sentence else f"{plain} Choose below what each column is, and look again."


def _facts(row: Any, found: Facts, said: Facts, fault: str = "") -> Facts:
    refusal, names = found["refusal"], [column["name"] for column in found["columns"]]
    if refusal:
        refusal["detail"] = _in_page(refusal["detail"])
    remarks = {name: [note for note in found["notes"] if note.startswith(f"{name} ")] for name in names}
    return {
        "id": row["id"],
        "name": row["name"],
        "size": row["size"],
        "found": found,
        "said": said,
        "roles": ROLES,
        "kinds": KINDS,
        "domains": get_args(Domain),
        "fault": fault,
        "remarks": remarks,
        "beside": {refusal["column"]: refusal["detail"]} if refusal and refusal["column"] else {},
    }


NOTHING: Facts = {"columns": {}, "kind": "", "assume_utc": False} | dict.fromkeys(SAID, "")


@page(area, "/upload/{upload_id}", "columns.html", scopes=("evaluate",))
def columns(request: Request, upload_id: Id) -> Facts:
    """What a file's columns were taken for."""
    row = _waiting(request, upload_id)
    with closing(Body.on_disk(str(request.app.state.settings.folder))) as kept:
        return _facts(row, _looked(request, row, NOTHING, kept), NOTHING)


def _form_facts(fields: dict[str, Any]) -> Facts:
    """What the form says: a role for each column, the kind, whose predictions they are."""
    columns: dict[str, str] = dict.fromkeys(BESIDE, "")  # what was found by its name and is not wanted is left out
    number = 0
    while (name := fields.get(f"column{number}")) is not None:
        role = one(fields, f"role{number}")
        if role:
            if role not in ROLES:
                raise Problem("invalid", f"a role must be one of {', '.join(ROLES)}; got {role[:40]!r}")
            if columns.get(role) and role not in SEVERAL:
                raise Problem("invalid", f"two columns cannot both be {role}: {columns[role]}, {name}"[:300])
            columns[role] = f"{columns[role]},{name}" if columns.get(role) else str(name)
        number += 1
    kind = one(fields, "kind", 16)
    if kind not in KINDS:
        raise Problem("invalid", f"kind must be one of {', '.join(KINDS[1:])}")
    said = {name: one(fields, name) for name in SAID}
    return {"columns": columns, "kind": kind, "assume_utc": one(fields, "assume_utc") == "yes"} | said


def _of_rows(said: Facts) -> Facts:
    """What is said of the rows, as a query would say it."""
    given = {name: said[name] for name in SAID if said[name]}
    if "level" in given:
        try:
            given["level"] = float(given["level"])
        except ValueError:
            raise Problem(
                "invalid", f"coverage must be a number between 0 and 1; got {given['level'][:20]!r}"
            ) from None
    return given


def _spent(request: Request, caller: Caller, body: Body, told: schemas.Facts, upload_id: str) -> Work:
    """The evaluation of a file, and the end of the file in the same commit: sent twice, it is one attempt."""
    evaluate = api.prepared(request, caller, body, ARROW, told)

    def commit(db: Connection) -> tuple[int, bytes, str | None]:
        done = evaluate(db)
        if not uploads.remove(db, upload_id):
            raise Problem("conflict", "this file was evaluated already; its evaluation is in the list")
        return done

    return commit


@change(area, "/upload/{upload_id}", "evaluate")
async def evaluate(request: Request, fields: Fields, upload_id: Id) -> Response:
    """Look again with the columns corrected, or evaluate."""
    state, caller = request.app.state, request.state.caller
    row = await to_thread.run_sync(_waiting, request, upload_id)
    said = _form_facts(fields)
    rows = Body.on_disk(str(state.settings.folder))
    with closing(rows):
        async with state.measuring.of(caller.organization):
            with anyio.CancelScope(shield=True):
                found = await to_thread.run_sync(_looked, request, row, said, rows, limiter=state.waiting)
                if one(fields, "do") != "evaluate" or found["refusal"]:
                    return shown(request, "columns.html", _facts(row, found, said), 422 if found["refusal"] else 200)
                state.gate.count(request, caller.organization, caller.tier)
                try:
                    facts = api.facts_of(_of_rows(said))
                    body = Body.of(rows.file)
                    made = await to_thread.run_sync(
                        lambda: once(
                            request, state.store, caller, b"", lambda: _spent(request, caller, body, facts, upload_id)
                        ),
                        limiter=state.waiting,
                    )
                except Problem as refusal:
                    if refusal.kind not in ("invalid", "quota-used-up", "conflict", "not-found", "too-large"):
                        raise
                    return shown(request, "columns.html", _facts(row, found, said, refusal.detail), refusal.status)
    return go(f"/evaluations/{told(made)['evaluation_id']}")
