# SPDX-License-Identifier: Apache-2.0
"""Predictions and outcomes into the collection, in parts of one transaction each.

Rows are idempotent by their id, so a request that was cut off is sent again as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from epimeter.monitor.arriving import Outcomes, Predictions
from epimeter.monitor.collection import Taken
from epimeter.service.access import Caller
from epimeter.service.bodies import Body
from epimeter.service.collected_rows import Half, parts_of, read_parts
from epimeter.service.errands import Came, CollectRows, Limits
from epimeter.service.predictions import JSON, is_light
from epimeter.service.problems import Problem
from epimeter.service.schemas import Collected
from epimeter.store import Store, collecting, journal
from epimeter.store.moments import now

MOST_SYSTEMS = 10_000
"""Systems of one organisation."""


def taken(state: Any, caller: Caller, system: str, half: Half, body: Body, kind: str, encoding: str) -> Collected:
    """Take the rows of a body as it came."""
    settings = state.settings
    if is_light(body, kind, encoding):
        return _written(state.store, caller, system, half, parts_of(body, kind, half, settings))
    errand = CollectRows(
        half=half,
        kind=kind,
        encoding=encoding,
        limit=settings.max_json if kind == JSON else settings.max_unpacked,
        limits=Limits.of(settings),
    )
    kept = Body.on_disk(str(settings.folder))
    try:
        state.children.do(errand, Came, body.chunks(), seconds=settings.request_time, kept=kept.file)
        return _written(state.store, caller, system, half, read_parts(kept.file, half))
    finally:
        kept.close()


def _written(
    store: Store, caller: Caller, system: str, half: Half, parts: Iterable[Predictions | Outcomes]
) -> Collected:
    organization, whole = caller.organization, Taken()
    for part in parts:
        with store.writing(durable=True) as db:
            if (
                collecting.known(db, organization, system) is None
                and collecting.count(db, organization) >= MOST_SYSTEMS
            ):
                raise Problem("conflict", f"an organisation has at most {MOST_SYSTEMS:,} systems")
            collection = collecting.collection(db)
            number = collection.open(organization, system)
            if isinstance(part, Predictions):
                made = collection.predict(number, part, now())
            else:
                made = collection.conclude(number, part, now())
            # Rows that came again as they were change nothing, so they leave no entry.
            if made.new or made.corrected:
                about = {"organization": organization, "actor": caller.key_id, "subject": system}
                journal.note(db, **about, action=f"{half}.collected", new=made.new, corrected=made.corrected)
            whole = whole + made
    return Collected(whole.new, whole.repeated, whole.corrected, whole.refused, whole.waiting)
