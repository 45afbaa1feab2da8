# SPDX-License-Identifier: Apache-2.0
"""The service looks at the systems it collects for: alarms become events, weeks become evaluations, numbers become gauges."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection

from epimeter.errors import EpimeterError
from epimeter.monitor.collection import Collection
from epimeter.monitor.history import History
from epimeter.monitor.notes import note
from epimeter.monitor.watch import Look, look
from epimeter.monitor.window import day_of, later
from epimeter.service import acceptance, renewing, webhooks
from epimeter.service.acceptance import Order
from epimeter.service.columns import Columns, words
from epimeter.service.gauges import Gauges
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.retained_rows import packed
from epimeter.service.schemas import Facts
from epimeter.service.settings import Settings
from epimeter.store import Store, collecting, journal, registry
from epimeter.store.moments import SECOND, moment, now
from epimeter.views import view

AT_LEAST = 6 * 3600 * SECOND
"""A system to which nothing comes is looked at this often: silence is news too."""
ROUND = 50
DAYS = 7
"""Days of an evaluation (ERS 4.2)."""
log = logging.getLogger("epimeter.service")


def look_round(store: Store, ledger: IssuerFolder, settings: Settings, gauges: Gauges) -> bool:
    """Look at some of the systems that are due; True when there may be more."""
    with store.reading() as db:
        due = collecting.due(db, now() - AT_LEAST, ROUND)
    for row in due:
        try:
            with store.writing() as db:
                seen = look_once(db, row, settings)
            gauges.system(row["organization"], row["name"], numbers(seen) | certified(store, ledger, row))
        except EpimeterError:
            log.exception("a system could not be looked at")
            with store.writing() as db:
                collecting.looked(db, row["system"], now(), row["changes"])
    return len(due) == ROUND


def look_once(db: Connection, row: Any, settings: Settings) -> Look:
    """Look at one system, note and tell what is new, close its week, let old rows go."""
    at = now()
    collection = collecting.collection(db)
    system: int = collection.open(row["organization"], row["name"])
    history = collection.history(system)
    today = day_of(moment(at).isoformat(), history.settings.unit, "now")
    history.as_of = max(history.as_of or today, today)  # a clock that was set back closes nothing again
    seen = look(history)
    for event in note(history, seen):
        data = {"system_id": row["name"], **event}
        webhooks.emit(db, row["organization"], event["event"], data)
        journal.note(
            db,
            organization=row["organization"],
            actor="monitor",
            action=event["event"],
            subject=row["name"],
            **_short(event),
        )
    _close_week(db, collection, system, history, row, settings, today)
    collection.remember(system, history)
    collection.age(system, at, retention=settings.keep_rows_days + 5)
    collecting.looked(db, system, at, row["changes"])
    return seen


def _short(event: dict[str, Any]) -> dict[str, Any]:
    return {name: event[name] for name in ("alarm", "state", "sentence") if name in event}


def _close_week(
    db: Connection, collection: Collection, system: int, history: History, row: Any, settings: Settings, today: str
) -> None:
    """Close the seven days whose truth is due by now, once, and have them evaluated where the operator wants that."""
    if history.settings.unit != "day" or not history.windows:
        return
    first = later(history.closed, "day") if history.closed else min(place.start for place in history.windows)
    last = later(first, "day", DAYS - 1)
    # While later days have not come the week may still be on its way, as when a month is posted in one go.
    if later(last, "day", int(history.settings.delay) + 1) > today or max(p.start for p in history.windows) <= last:
        return
    history.closed = last
    held = collection.rows(system, first, last)
    facts = {"system_id": row["name"], "first": first, "last": last, "labelled": len(held)}
    webhooks.emit(db, row["organization"], "evaluation.due", facts)
    journal.note(
        db, organization=row["organization"], actor="monitor", action="evaluation.due", subject=row["name"], **facts
    )
    if history.evaluate is None or not held:
        return
    ids, times, confidence, right, source = zip(*held, strict=True)
    known = [one if one in ("human", "automated", "reference") else None for one in source]
    # Standards speak of answers; an event is read by its likelier outcome (C-48).
    answers = view(right, confidence, kind="event" if history.kind == "event" else "answer").answer
    columns = Columns(
        confidence=np.asarray(answers.prob, np.float64),
        correct=np.asarray(answers.true, np.uint8),
        timestamp=np.array(times, np.int64).astype("datetime64[us]"),
        ground_truth_source=None if None in known else words(known),
        id=words(list(ids)),
    )
    order = Order(organization=row["organization"], key_id="monitor", quota=None)
    rows = packed(columns, str(settings.folder))
    try:
        acceptance.queue(db, order, Facts(model_id=row["name"], domain=history.evaluate), rows, now())
    finally:
        rows.close()


def numbers(seen: Look) -> dict[str, float]:
    """The gauges of a system: ECE with its ends, bias, alarms, rows."""
    (system,) = seen.systems or (None,)
    if system is None or not system.slices:
        return {}
    whole = system.slices[0]
    made = {
        "alarm": float(system.verdict == "alarm"),
        "alarms_open": float(len(system.open_alarms)),
        "judged": float(system.verdict != "cannot judge"),
        "labelled_rows": float(system.series.rows[:, 0].sum()),
    }
    if whole.week is not None:
        week = whole.week
        made |= {"ece": week.ece, "ece_low": week.ece_low, "ece_high": week.ece_high, "bias": week.bias}
    if whole.change is not None:
        made["change"] = whole.change.value
    if whole.evidence is not None:
        made["evidence"] = float(max(whole.evidence, -700.0))
    if whole.drift is not None:
        made |= {"unlabelled_share": whole.drift.waiting, "drift_psi": whole.drift.psi}
    return made


def certified(store: Store, ledger: IssuerFolder, row: Any) -> dict[str, float]:
    """Level of the system's newest certificate, 0 unless it is valid, and the days until its next evaluation is due."""
    with store.reading() as db:
        newest = registry.newest_of(db, row["organization"], row["name"])
    if newest is None:
        return {}
    state = renewing.state_of(ledger, newest["id"])
    made = {"level": float(newest["level"][1]) if state.status == "VALID" else 0.0}
    if state.next_evaluation is not None:
        due = datetime.fromisoformat(state.next_evaluation[:10]).replace(tzinfo=UTC)
        made["days_to_due"] = float((due.date() - moment(now()).date()).days)
    return made


def settled(collection: Collection, system: int, history: History, **changes: Any) -> None:
    """Keep other settings of a system."""
    collection.remember(system, replace(history, **changes))
