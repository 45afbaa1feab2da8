# SPDX-License-Identifier: Apache-2.0
"""The public log: its newest checkpoint, its last entries, one entry decoded with the proof that it is in."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from epimeter.errors import EpimeterError, LogError
from epimeter.service.problems import Problem
from epimeter.trust.canonical import to_base64
from epimeter.trust.checkpoint import Checkpoint
from epimeter.trust.entries import read_entry
from epimeter.trust.merkle import leaf_hash, verify_inclusion
from epimeter.trust.registry_rows import reading
from epimeter.web.log_growth import POINTS, drawn
from epimeter.web.page import Facts, page

area = APIRouter(include_in_schema=False)
SHOWN = 20
_INDEX = re.compile(r"[0-9]{1,18}")
_SYSTEM = re.compile(r"sha-256:[0-9a-f]{64}")
Index = Annotated[int, Path(ge=0, le=10**18 - 1)]
WORDS = {
    "certificate.issued": "certificate issued",
    "certificate.revoked": "certificate revoked",
    "certificate.suspended": "certificate suspended",
    "certificate.superseded": "certificate superseded",
    "certificate.restored": "certificate restored",
    "key.added": "key added",
    "key.retired": "key retired",
    "key.compromised": "key compromised",
    "evaluation.registered": "evaluation announced beforehand",
    "evaluation.result": "evaluation, as an attempt",
    "evaluation.renewal": "evaluation of a certified system",
    "attestation.entered": "attestation entered",
    "log.succeeded": "log that this one follows",
    "signal.committed": "signal committed",
    "status.published": "status list published",
}


@page(area, "/log", "log.html")
def log(
    request: Request,
    q: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[int | None, Query(ge=1, le=10**18)] = None,
) -> Facts:
    """The newest checkpoint, and the entries that were asked for or the last ones."""
    public = request.app.state.ledger.registry.log
    size = public.size
    note, growth = public.checkpoint(size), public.growth(POINTS)
    tree = Checkpoint.from_text(note.text)
    sought = q.strip()
    if sought:
        places, sentence = _places(request.app.state.ledger, sought, size)
    else:
        end = min(size, before or size)
        places, sentence = list(range(end - 1, max(-1, end - SHOWN - 1), -1)), ""
    last = places[-1] if places and not sought else 0
    return {
        "origin": public.origin,
        "size": size,
        "root": to_base64(tree.root),
        "checkpoint": note.to_bytes().decode("utf-8"),
        "search": sought,
        "sentence": sentence,
        "entries": [_entry(public, place) for place in places],
        "older": f"/log?before={last}" if last > 0 else None,
        "growth": growth,
        "grown": drawn(growth),
    }


@page(area, "/log/entries/{index}", "entry.html")
def entry(request: Request, index: Index) -> Facts:
    """One entry, decoded, with its inclusion proof and whether it gives the signed root."""
    public = request.app.state.ledger.registry.log
    size = public.size
    if index >= size:
        raise Problem("not-found", f"the log has {size} entries; the last is {size - 1}")
    data = public.entry(index)
    proof = public.proof(index, size)
    root = Checkpoint.from_text(proof.checkpoint.text).root
    try:
        verify_inclusion(leaf_hash(data), index, size, proof.hashes, root)
        holds = True
    except EpimeterError:  # a log that was tampered with: shown, and said
        holds = False
    return {
        **_entry(public, index),
        "holds": holds,
        "size": size,
        "text": data.decode("utf-8", "replace"),
        "leaf": to_base64(leaf_hash(data)),
        "digest": f"sha-256:{leaf_hash(data).hex()}",
        "root": to_base64(root),
        "path": [to_base64(one) for one in proof.hashes],
        "proof": proof.to_text(),
        "newer": index + 1 if index + 1 < size else None,
        "older": index - 1 if index else None,
    }


def _entry(public: Any, index: int) -> Facts:
    try:
        fields = read_entry(public.entry(index))
    except EpimeterError as fault:  # what others wrote into the file is shown as what it is
        return {"index": index, "type": "unreadable", "words": str(fault), "id": "", "time": "", "fields": {}}
    kind = fields["type"]
    return {
        "index": index,
        "type": kind,
        "words": WORDS.get(kind, kind),
        "id": fields["id"],
        "time": fields["time"],
        "fields": fields,
    }


def _places(ledger: Any, sought: str, size: int) -> tuple[list[int], str]:
    """Where the log holds something, the newest first, and a sentence about the search."""
    if _INDEX.fullmatch(sought):
        place = int(sought)
        return ([place], "") if place < size else ([], f"The log has {size} entries; the last is {size - 1}.")
    if _SYSTEM.fullmatch(sought):
        with reading(ledger.folder / "log.db") as connection:
            rows = connection.execute(
                "SELECT log_index FROM attempts WHERE system = ? ORDER BY number DESC LIMIT 200", (sought,)
            ).fetchall()
            found = [int(row[0]) for row in rows]
        if not found:
            place = ledger.registry.log.place_of(bytes.fromhex(sought[8:]))
            found = [] if place is None else [place]
        return found, "" if found else "The log has no attempt of a system, and no entry, with this digest."
    try:
        return [event.log_index for event in reversed(ledger.registry.life(sought))], ""
    except LogError:
        pass
    with reading(ledger.folder / "log.db") as connection:
        row = connection.execute("SELECT log_index FROM registrations WHERE id = ?", (sought,)).fetchone()
    if row is not None:
        return [int(row[0])], ""
    return (
        [],
        "The log is searched by an index, the id of a certificate or pre-registration, or the digest of a system or an entry.",
    )
