# SPDX-License-Identifier: Apache-2.0
"""The history of systems: all their windows, kept exactly, fed day by day, saved and loaded.

A window that is fed again is replaced, never added to: a day can come half labelled and later in full. What is looked at is
recomputed from the windows, so a corrected day corrects every alarm; what was noted when is kept beside.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from epimeter.errors import InputError, ReadError
from epimeter.monitor.cells import SIZE
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.window import Arrivals, Place, Window, between, merged, without
from epimeter.readers.wording import clean

FORMAT = 1
"""Of the plain values."""
MAGIC = b"epimeter monitor 2\n"
"""With which a state begins that is kept as bytes; the next form has another number."""


@dataclass
class History:
    """Windows by place, the reference where one was given, and what was noted.

    Attributes
    ----------
    reference
        Windows of the reference by system and slice; empty when the first windows of a system are its reference.
    settled
        By system, the last window of its own reference, once that is settled (`notes`): a state that is fed for long must not
        take a change into its reference. Until then it is the first third of the windows with outcomes.
    as_of
        The last window at which anybody looked; it never goes back.
    closed
        The last day of the last seven days that were closed.
    evaluate
        The domain in which closed weeks are evaluated; None where they are not.
    noted
        Alarms by their id: when they were first seen, whether they were acknowledged and by whom.
    events
        What happened, in order: alarms opened, changed and closed, windows replaced.
    held
        By system, silences that are not raised yet: the last window that came, and since which moment (microseconds).
    """

    settings: MonitorSettings = field(default_factory=MonitorSettings)
    kind: str = "answer"
    by: tuple[str, ...] = ()
    windows: dict[Place, Window] = field(default_factory=dict)
    reference: dict[tuple[str, str], Window] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)
    as_of: str | None = None
    closed: str | None = None
    evaluate: str | None = None
    noted: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    held: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        return sorted({place.system for place in self.windows})

    def slices(self, system: str) -> list[str]:
        """All rows first, then the slices by name."""
        return sorted({place.slice for place in self.windows if place.system == system})

    def feed(self, arrivals: Arrivals, *, as_of: str | None = None) -> list[str]:
        """Replace the windows that came; gives what should be said about it."""
        if self.windows and arrivals.windows and arrivals.kind != self.kind:
            raise InputError(
                f"one history holds forecasts of one kind; it holds {self.kind}, {arrivals.kind} came", field="kind"
            )
        said = list(arrivals.cautions)
        if arrivals.windows:
            self.kind = arrivals.kind
        again = set()
        for system, start in sorted({(place.system, place.start) for place in arrivals.windows}):
            before = self.windows.get(Place(system, "", start))
            if before is not None:
                again.add((system, start))
                said += self._replaced(system, start, before, arrivals.windows[Place(system, "", start)])
        if again:
            # A slice that has no rows any more goes with the day it was in.
            self.windows = {p: window for p, window in self.windows.items() if (p.system, p.start) not in again}
        self.windows |= arrivals.windows
        said += self._moved_on(as_of)
        return said

    def _replaced(self, system: str, start: str, before: Window, now: Window) -> list[str]:
        if np.array_equal(before.cells, now.cells):
            return []
        self.events.append(
            {
                "event": "window.replaced",
                "system": system,
                "window": start,
                "before": {"rows": before.n_rows, "labelled": before.n_labelled},
                "now": {"rows": now.n_rows, "labelled": now.n_labelled},
            }
        )
        words = f"{system}, {start}: {now.n_rows:,} rows ({now.n_labelled:,} labelled) replace "
        words += f"{before.n_rows:,} ({before.n_labelled:,} labelled)"
        return [words + (". Fewer rows than before: is this the whole window?" if now.n_rows < before.n_rows else "")]

    def _moved_on(self, as_of: str | None) -> list[str]:
        """Time goes forward only; a clock that was set back closes nothing a second time."""
        if as_of is None:
            return []
        if self.as_of is not None and as_of < self.as_of:
            return [f"as of {as_of} lies before {self.as_of}, when this was looked at already; {self.as_of} is kept"]
        self.as_of = as_of
        horizon = self.settings.windows(self.settings.horizon)
        for place, window in self.windows.items():
            if window.awaiting and between(place.start, as_of, self.settings.unit) > horizon:
                self.windows[place] = without(window)
        return []

    def carry_on(self, now: str) -> None:
        """Look, where no window was named, at the last one that is known, at the latest that of `now`; time goes forward only."""
        known = min(max((place.start for place in self.windows), default=""), now)
        if known > (self.as_of or ""):
            self._moved_on(known)

    def refer(self, arrivals: Arrivals) -> None:
        """Take these windows as the reference."""
        parts: dict[tuple[str, str], list[Window]] = {}
        for place, window in arrivals.windows.items():
            parts.setdefault((place.system, place.slice), []).append(window)
        self.reference = {key: merged(windows) for key, windows in parts.items()}
        self.settled = {}

    def acknowledge(self, alarm: str, by: str = "") -> None:
        """Note that somebody has taken an alarm up."""
        if alarm not in self.noted:
            open_ones = [name for name, facts in self.noted.items() if not facts.get("closed")]
            raise InputError(
                f"no alarm is called {alarm!r:.60}; open are: {', '.join(open_ones) or 'none'}", field="alarm"
            )
        self.noted[alarm]["acknowledged"] = by or True
        self.events.append(
            {"event": "alarm.changed", "alarm": alarm, "state": "acknowledged", "by": by, "as_of": self.as_of}
        )

    def silences(self, system: str) -> dict[str, str]:
        """The silences of a system that are open: what they are about, and the window in which they were opened."""
        made = {}
        for name, facts in self.noted.items():
            whose, _, opened = name.rpartition(":")
            kind, _, whose = whose.partition(":")
            if kind.startswith("silence-") and whose == system and not facts.get("closed"):
                made[kind.removeprefix("silence-")] = opened
        return made

    def noted_facts(self) -> dict[str, Any]:
        """All but the windows, as plain values."""
        return {
            "settings": self.settings.to_dict(),
            "kind": self.kind,
            "by": list(self.by),
            "as_of": self.as_of,
            "reference": [[*key, window.to_dict()] for key, window in sorted(self.reference.items())],
            "settled": self.settled,
            "closed": self.closed,
            "evaluate": self.evaluate,
            "noted": self.noted,
            "events": self.events,
            "held": self.held,
        }

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        windows = [[p.system, p.slice, p.start, w.to_dict()] for p, w in _ordered(self.windows.items())]
        return {"format": FORMAT, **self.noted_facts(), "windows": windows}

    @classmethod
    def from_dict(cls, state: Any, name: str = "the state") -> History:
        """The history back."""
        if not isinstance(state, dict) or "format" not in state:
            raise ReadError(f"{name} is not the state of a monitor; give the file that epimeter monitor feed wrote")
        if state["format"] != FORMAT:
            raise ReadError(f"{name} is of format {state['format']!r:.20}; this version reads format {FORMAT}")
        try:
            return cls(
                MonitorSettings(**state["settings"]),
                state["kind"],
                tuple(state["by"]),
                {Place(*place): Window.from_dict(window) for *place, window in state["windows"]},
                {(system, part): Window.from_dict(window) for system, part, window in state["reference"]},
                dict(state["settled"]),
                state["as_of"],
                state["closed"],
                state["evaluate"],
                dict(state["noted"]),
                list(state["events"]),
                dict(state.get("held", {})),  # states of before have none
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as fault:
            raise ReadError(f"{name} does not hold together as the state of a monitor ({fault})") from None

    def to_bytes(self) -> bytes:
        """The state as it is kept in a file: the vectors of all windows one after the other, the rest as plain values."""
        windows = _ordered(self.windows.items())
        cells = np.stack([window.cells for _, window in windows]) if windows else np.zeros((0, SIZE), np.int64)
        places = [[place.system, place.slice, place.start] for place, _ in windows]
        state = {**self.noted_facts(), "places": places, "cells": cells.astype("<i8", copy=False).tobytes()}
        return MAGIC + msgspec.msgpack.encode(state)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "the state") -> History:
        """The history back, also from the JSON in which states were kept before; saving writes the new form."""
        wrong = ReadError(f"{name} is not the state of a monitor; give the file that epimeter monitor feed wrote")
        try:
            if not data.startswith(MAGIC):
                return cls.from_dict(json.loads(data), name)
            state = msgspec.msgpack.decode(data[len(MAGIC) :])
            cells = np.frombuffer(state.pop("cells"), "<i8").astype(np.int64).reshape(-1, SIZE)
            places = [Place(*place) for place in state.pop("places")]
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        ):  # those of msgspec and of a wrong encoding are ValueErrors
            raise wrong from None
        if len(places) != len(cells):
            raise ReadError(f"{name} does not hold together: {len(places):,} places, {len(cells):,} windows")
        history = cls.from_dict({**state, "format": FORMAT, "windows": []}, name)
        history.windows = dict(zip(places, map(Window, cells), strict=True))
        return history

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state; a crash leaves the one before or this one, never half of it."""
        target = Path(path)
        number, temporary = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(self.to_bytes())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> History:
        """Read a state."""
        return cls.from_bytes(Path(path).read_bytes(), clean(os.path.basename(os.fsdecode(path))))


def _ordered(items: Iterable[tuple[Place, Window]]) -> list[tuple[Place, Window]]:
    return sorted(items, key=lambda item: (item[0].system, item[0].slice, item[0].start))
