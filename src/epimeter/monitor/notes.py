# SPDX-License-Identifier: Apache-2.0
"""What happened between two looks: alarms opened, changed and closed, each noted once."""

from __future__ import annotations

from typing import Any

from epimeter.monitor.alarm import Alarm
from epimeter.monitor.history import History
from epimeter.monitor.watch import Overview

RESUMED = {"predictions": "predictions have come", "truth": "truth has come"}
"""Why a silence ends, by what it is about."""


def note(history: History, look: Overview) -> list[dict[str, Any]]:
    """Note in the history what is new in a look; gives the new events."""
    _settle(history, look)
    found = {alarm.id: alarm for system in look.systems for alarm in system.alarms}
    events = []
    for name, alarm in found.items():
        before = history.noted.get(name)
        state = "escalated" if alarm.escalated and alarm.open else "closed" if alarm.closed else "open"
        facts = {"slices": list(alarm.slices), "state": state}
        if before is None:
            events.append(_event("alarm.opened", alarm, look))
            if alarm.closed is not None:
                events.append(_event("alarm.closed", alarm, look))
            history.noted[name] = {"first": look.as_of, **facts, "closed": alarm.closed}
            continue
        if alarm.closed is not None and not before.get("closed"):
            events.append(_event("alarm.closed", alarm, look))
        elif alarm.closed is None and before.get("closed"):
            events.append(_event("alarm.opened", alarm, look))
        elif {key: before.get(key) for key in facts} != facts:
            events.append(_event("alarm.changed", alarm, look))
        history.noted[name] = before | facts | {"closed": alarm.closed}
    for name, before in history.noted.items():
        if name not in found and not before.get("closed"):
            # What was missing came, or corrected data have taken the alarm away: that is a close of its own kind.
            before["closed"] = look.as_of
            why = RESUMED.get(name.partition(":")[0].removeprefix("silence-"), "the data were corrected")
            events.append({"event": "alarm.closed", "alarm": name, "as_of": look.as_of, "why": why})
    history.events += events
    return events


def _settle(history: History, look: Overview) -> None:
    """Keep the reference of a system as it is once it spans a week, or once an alarm was raised against it."""
    for system in look.systems:
        watch = system.watch
        if history.reference or watch is None or system.name in history.settled or not watch.first:
            continue
        own = sum(1 for t in system.series.labelled if t < watch.first)
        if watch.alarms or own >= look.settings.sliding:
            history.settled[system.name] = system.series.starts[watch.first - 1]


def _event(word: str, alarm: Alarm, look: Overview) -> dict[str, Any]:
    return {"event": word, "alarm": alarm.id, "as_of": look.as_of, "state": alarm.state, "sentence": alarm.sentence}
