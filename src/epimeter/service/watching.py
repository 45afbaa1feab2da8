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
from epimeter.monitor.glance import Glimpse, LookState, Part, glance, keep, week_to_close
from epimeter.monitor.history import History
from epimeter.monitor.holding import patient_look
from epimeter.monitor.looks import Looks
from epimeter.monitor.notes import note
from epimeter.monitor.watch import MARGIN, Overview, SystemStanding
from epimeter.monitor.window import UNITS, between, day_of
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
ROUND = 250
"""Systems of one round, and how many of them at most are looked at only to carry on from a later window."""
RENEWED = 5
LET_GO = 24 * 3600 * SECOND
"""Old rows of a system are let go this often, of some systems in every round."""
SPARE = 3
"""Windows that may gather after the cut before a look moves it."""
log = logging.getLogger("epimeter.service")


def look_round(store: Store, ledger: IssuerFolder, settings: Settings, gauges: Gauges) -> bool:
    """Look at some of the systems that are due; True when there may be more."""
    at = now()
    with store.reading() as db:
        due = collecting.due(db, at - AT_LEAST, ROUND)
        seen = _glanced(db, due, at)
    quiet = [row for row in due if row["system"] in seen]
    _noted(store, settings, quiet, {system: one.as_of for system, one in seen.items()}, at)
    for row in quiet:
        if gauges.shows(row["organization"], row["name"]):
            values = numbers(seen[row["system"]].standing()) | certified(store, ledger, row)
            gauges.system(row["organization"], row["name"], values)
    for row in due:
        if row["system"] not in seen:
            _look(store, ledger, settings, gauges, row)
    return len(due) == ROUND


def _glanced(db: Connection, due: list[Any], at: int) -> dict[int, Glimpse]:
    """The systems of which a glance says that there is nothing new."""
    kept = {row["system"]: LookState.from_bytes(row["state"]) for row in due if row["state"]}
    held = {row["system"]: row["as_of"] for row in due}
    parts: dict[int, Part] = {}
    windows = Looks(collecting.collection(db)).unsettled([system for system, one in kept.items() if one is not None])
    later_on = 0
    today = {unit: day_of(moment(at).isoformat(), unit, "now") for unit in UNITS}
    for system, one in kept.items():
        if one is None:
            continue
        watch = one.watching
        as_of = max(held[system], today[watch.unit])
        gathered = between(one.until, as_of, watch.unit) - watch.windows(watch.delay) - MARGIN
        later_on += gathered > SPARE
        if gathered <= SPARE or later_on > RENEWED:
            parts[system] = Part(one, as_of, windows[system])
    try:
        return {system: one for system, one in zip(parts, glance(list(parts.values())), strict=True) if one is not None}
    except EpimeterError:
        log.exception("what looks left could not be read; every system is looked at")
        return {}


def _noted(store: Store, settings: Settings, quiet: list[Any], as_of: dict[int, str], at: int) -> None:
    """Note that there is nothing new, and let old rows of some systems go."""
    if not quiet:
        return
    old = [row["system"] for row in quiet if row["aged_at"] < at - LET_GO][:RENEWED]
    with store.writing() as db:
        collecting.looked(db, [(row["system"], row["changes"]) for row in quiet], at)
        collecting.glanced(
            db, [(row["system"], as_of[row["system"]]) for row in quiet if row["as_of"] < as_of[row["system"]]]
        )
        for system in old:
            collecting.collection(db).age(system, at, retention=settings.keep_rows_days + 5)
            collecting.aged(db, system, at)


def _look(store: Store, ledger: IssuerFolder, settings: Settings, gauges: Gauges, row: Any) -> None:
    try:
        with store.writing() as db:
            seen = look_once(db, row, settings)
        values = numbers(seen.systems[0].standing()) if seen.systems else {}
        gauges.system(row["organization"], row["name"], values | certified(store, ledger, row))
    except EpimeterError:
        log.exception("a system could not be looked at")
        with store.writing() as db:
            collecting.looked(db, [(row["system"], row["changes"])], now())


def look_once(db: Connection, row: Any, settings: Settings) -> Overview:
    """Look at one system, note and tell what is new, close its week, let old rows go."""
    at = now()
    collection = collecting.collection(db)
    looks = Looks(collection)
    system: int = collection.open(row["organization"], row["name"])
    history = collection.history(system)
    today = day_of(moment(at).isoformat(), history.settings.unit, "now")
    # A clock that was set back closes nothing again.
    history.as_of = max(history.as_of or today, today, looks.looked_until(system))
    pause = int(settings.silence_pause * SECOND)
    seen = patient_look(history, at, pause)
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
    kept = keep(history, seen.systems[0]) if seen.systems else None
    looks.leave(system, kept, history.as_of, at)
    collection.age(system, at, retention=settings.keep_rows_days + 5)
    # What is held back is looked at again after the pause, whether or not anything comes.
    collecting.looked(db, [(system, row["changes"])], at - AT_LEAST + pause if history.held else at)
    return seen


def _short(event: dict[str, Any]) -> dict[str, Any]:
    return {name: event[name] for name in ("alarm", "state", "sentence") if name in event}


def _close_week(
    db: Connection, collection: Collection, system: int, history: History, row: Any, settings: Settings, today: str
) -> None:
    """Close the seven days whose truth is due by now, once, and have them evaluated where the operator wants that."""
    starts = [place.start for place in history.windows]
    week = week_to_close(min(starts), history.closed, max(starts), history.settings, today) if starts else None
    if week is None:
        return
    first, last = week
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


def numbers(standing: SystemStanding) -> dict[str, float]:
    """The gauges of a system: ECE with its ends, bias, alarms, rows."""
    made = {
        "alarm": float(standing.verdict == "alarm"),
        "alarms_open": float(standing.open_alarms),
        "judged": float(standing.verdict != "cannot judge"),
        "labelled_rows": standing.labelled,
    }
    if standing.week is not None:
        week = standing.week
        made |= {"ece": week.ece, "ece_low": week.ece_low, "ece_high": week.ece_high, "bias": week.bias}
    if standing.change is not None:
        made["change"] = standing.change.value
    if standing.evidence is not None:
        made["evidence"] = float(max(standing.evidence, -700.0))
    if standing.drift is not None:
        made |= {"unlabelled_share": standing.drift.waiting, "drift_psi": standing.drift.psi}
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
