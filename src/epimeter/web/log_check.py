# SPDX-License-Identifier: Apache-2.0
"""Proofs of the log, computed by the browser that asks: that an entry is in it, that it begins with a checkpoint held since."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from epimeter.errors import EpimeterError
from epimeter.service.problems import Problem
from epimeter.trust.canonical import to_base64
from epimeter.trust.checkpoint import Checkpoint
from epimeter.trust.merkle import leaf_hash, verify_consistency, verify_inclusion
from epimeter.web.page import POLICY, Facts, page

area = APIRouter(include_in_schema=False)
SCRIPT = POLICY.replace("default-src 'none';", "default-src 'none'; script-src 'self';")
"""The policy of this page alone: it runs one file of ours, and still nothing that stands in the page."""
Text = Annotated[str, Query(max_length=4000)]
Place = Annotated[str, Query(max_length=18, pattern="^[0-9]*$")]


@page(area, "/log/check", "log_check.html", policy=SCRIPT)
def check(request: Request, checkpoint: Text = "", entry: Place = "") -> Facts:
    """The proof that was asked for, with the server's own verdict on it."""
    public = request.app.state.ledger.registry.log
    size = public.size
    root = Checkpoint.from_text(public.checkpoint(size).text).root
    facts: Facts = {"origin": public.origin, "size": size, "root": to_base64(root), "said": checkpoint, "index": entry}
    facts |= {"kind": None, "old": None, "path": [], "entry": "", "holds": None, "sentence": ""}
    if entry:
        return facts | _inclusion(public, int(entry), size, root)
    return facts | _consistency(public, checkpoint, size, root) if checkpoint.strip() else facts


def _inclusion(public: Any, index: int, size: int, root: bytes) -> Facts:
    if index >= size:
        raise Problem("not-found", f"the log has {size} entries; the last is {size - 1}")
    data, path = public.entry(index), public.proof(index, size).hashes
    sentence = f"Entry {index} is in the log of {size:,} entries: with {len(path)} hashes it gives the signed root."
    holds = True
    try:
        verify_inclusion(leaf_hash(data), index, size, path, root)
    except EpimeterError as fault:
        sentence, holds = f"The hashes of this log do not fit its signed checkpoint: {fault}", False
    return _proof("inclusion", path, sentence) | {"entry": to_base64(data), "holds": holds}


def _consistency(public: Any, said: str, size: int, root: bytes) -> Facts:
    """The proof from a checkpoint that somebody held; one that does not fit is a finding, not a fault."""
    text = said.replace("\r\n", "\n").strip("\n") + "\n"
    try:
        old = Checkpoint.from_text(text.split("\n\n")[0].rstrip("\n") + "\n")
    except EpimeterError as fault:
        return {"sentence": f"This is no checkpoint: {fault}", "holds": None}
    shown = {"old": {"origin": old.origin, "size": old.size, "root": to_base64(old.root)}}
    if old.origin != public.origin:
        return shown | {"sentence": f"This checkpoint is of another log, {old.origin}.", "holds": None}
    if not 0 < old.size <= size:
        sentence = f"This checkpoint says {old.size:,} entries, the log has {size:,}: some were taken away, or it was never ours."
        return shown | {"sentence": sentence, "holds": False, "kind": "consistency"}
    path = public.consistency_proof(old.size, size)
    try:
        verify_consistency(old.size, size, path, old.root, root)
    except EpimeterError as fault:
        return (
            shown
            | _proof("consistency", path, f"The log does not go on from this checkpoint: {fault}")
            | {"holds": False}
        )
    sentence = f"The log of {size:,} entries begins with the {old.size:,} of your checkpoint: nothing was changed or taken away."
    return shown | _proof("consistency", path, sentence) | {"holds": True}


def _proof(kind: str, path: Any, sentence: str) -> Facts:
    return {"kind": kind, "path": [to_base64(one) for one in path], "sentence": sentence}
