# SPDX-License-Identifier: Apache-2.0
"""A look of somebody who looks whenever rows come: silence is raised only once it has lasted.

By the times of its rows a feed that sends the days of a past month one after the other is silent after each of them. Like an
alert that must hold for some time before it fires, a silence is held back until the last window that came has been the last
one for a pause; one that was raised is the same episode until it ends.
"""

from __future__ import annotations

from epimeter.monitor.history import History
from epimeter.monitor.watch import Overview, look


def patient_look(history: History, now: int, pause: int) -> Overview:
    """Look, and hold back silences that have not lasted for a pause yet (both in microseconds); `history.held` says which."""
    before, history.held = history.held, {}
    seen = look(history)
    for system in seen.systems:
        raised = history.silences(system.name)
        for alarm in system.open_alarms:
            if alarm.kind != "silence" or alarm.about == "repeats" or alarm.about in raised:
                continue
            last = alarm.since[0]
            held = before.get(system.name, {}).get(alarm.about)
            since = min(held[1], now) if held and held[0] == last else now
            if now - since < pause:
                history.held.setdefault(system.name, {})[alarm.about] = [last, since]
    return look(history) if history.held else seen
