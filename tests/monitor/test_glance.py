"""A glance beside the look it stands for, its slow twin: where it says that nothing is new a look notes nothing."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from streams import day

from epimeter.monitor.collection import key_of
from epimeter.monitor.embedded import opened, transaction
from epimeter.monitor.glance import LookState, Part, glance, keep, week_to_close
from epimeter.monitor.looks import Looks
from epimeter.monitor.notes import note
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.watch import look
from epimeter.monitor.window import empty, merged, of_groups

SLICES, LATE = 4, 3
"""Slices of a stream, and days until the truth comes."""
STREAMS = {
    "quiet": {},
    "outside": {"gap": -0.06},
    "shifted": {"shift": -0.15, "begins": 36},
    "shifted long ago": {"shift": -0.12, "begins": 20},
    "mended": {"shift": -0.15, "begins": 22, "ends": 26},
    "limited": {"settings": MonitorSettings(level="L3", delay=3)},
    "limited and bad": {"settings": MonitorSettings(level="L1"), "gap": -0.2},
    "weekly feed": {"every": 4},
    "falls silent": {"until": 36},
    "no truth any more": {"labelled_until": 33, "settings": MonitorSettings(delay=3)},
    "repeats": {"repeats": 38},
    "new slice": {"joins": 36},
    "strict": {"settings": MonitorSettings(tolerance=0.0, false_alarms=12.0)},
}


def came(name, number, seed):
    """One day of a stream by slice: all its rows awaiting their truth, and what their truth adds."""
    facts = STREAMS[name]
    if number % facts.get("every", 1) or number > facts.get("until", 999):
        return {}, {}
    rng = np.random.default_rng([seed, min(number, facts.get("repeats", 999))])
    n = 600
    prob = rng.beta(5, 2, n).round(3)
    rng = np.random.default_rng([seed, number, 1])
    off = facts.get("gap", 0.0)
    if facts.get("begins", 999) <= number < facts.get("ends", 999):
        off += facts["shift"]
    true = rng.random(n) < np.clip(prob + off, 0, 1)
    group = rng.integers(0, SLICES + (number >= facts.get("joins", 999)), n)
    parts = []
    for awaiting in (True, False):
        windows = of_groups(prob, true, np.full(n, awaiting), group, SLICES + 1)
        made = {f"r={k}": window for k, window in enumerate(windows) if window.n_rows}
        parts.append({"": merged(made.values())} | made)
    said, known = parts
    return said, {part: window.less(said[part]) for part, window in known.items()}


def looked(collection, system, as_of, *, leave=True):
    """A look, its events, and what it leaves."""
    history = collection.history(system)
    history.as_of = max(history.as_of or as_of, as_of)
    seen = look(history)
    events = note(history, seen)
    starts = [place.start for place in history.windows]
    while week := week_to_close(min(starts), history.closed, max(starts), history.settings, history.as_of):
        history.closed = week[1]
    if leave:
        collection.remember(system, history)
        Looks(collection).leave(system, keep(history, seen.systems[0]), history.as_of, 0)
    return seen.systems[0].standing(), events


def glanced(collection, numbers, as_of):
    """What a glance says of systems, None of those that must be looked at."""
    rows = collection.run("SELECT system, as_of, state FROM collected_looks").fetchall()
    kept = {system: (LookState.from_bytes(state), at) for system, at, state in rows}
    windows = Looks(collection).unsettled(numbers)
    able = [s for s in numbers if kept.get(s, (None, ""))[0] is not None]
    parts = [Part(kept[s][0], max(as_of, kept[s][1]), windows[s]) for s in able]
    return dict.fromkeys(numbers) | dict(zip(able, glance(parts), strict=True))


@pytest.fixture
def collection(tmp_path):
    with opened(tmp_path) as connection, transaction(connection) as made:
        yield made


def test_where_a_glance_says_nothing_is_new_a_look_notes_nothing_and_measures_the_same_bits(collection):
    numbers = {name: collection.open("", name, STREAMS[name].get("settings")) for name in STREAMS}
    rng = np.random.default_rng(5)
    glances, told = dict.fromkeys(STREAMS, 0), dict.fromkeys(STREAMS, 0)
    for number in range(44):
        for name, system in numbers.items():
            said, _ = came(name, number, 1)
            moved = {(day(number), part): window for part, window in said.items()}
            if 0 <= number - LATE <= STREAMS[name].get("labelled_until", 999):
                _, known = came(name, number - LATE, 1)
                moved |= {(day(number - LATE), part): window for part, window in known.items()}
            collection._add(system, moved)
        if number < 31:
            continue
        # Now and then the clock is set back; a glance also goes on from where an older look stood.
        at = day(number - (number % 5 == 0))
        seen = glanced(collection, list(numbers.values()), at)
        for name, system in numbers.items():
            standing, events = looked(collection, system, at, leave=seen[system] is None or rng.random() < 0.3)
            told[name] += len(events)
            if seen[system] is not None:
                glances[name] += 1
                assert not events, (name, number)
                assert asdict(seen[system].standing()) == asdict(standing), (name, number)
    # Both answers are given: most looks are spared, and every stream in which something happens was looked at for it.
    assert min(glances[name] for name in ("quiet", "outside", "limited")) >= 5, glances
    happens = ("shifted", "falls silent", "no truth any more", "repeats")
    assert all(told[name] for name in happens), told
    assert not told["quiet"]


def test_what_a_look_left_is_forgotten_when_a_settled_window_or_the_settings_change(collection):
    system = collection.open("", "quiet")
    for number in range(40):
        said, known = came("quiet", number, 2)
        collection._add(system, {(day(number), part): window for part, window in said.items()})
        if number < 33:
            collection._add(system, {(day(number), part): window for part, window in known.items()})

    def left():
        return glanced(collection, [system], day(39))[system] is not None

    looked(collection, system, day(39))
    assert left()
    collection._add(system, {(day(38), ""): empty()})
    assert left()
    collection._add(system, {(day(12), ""): empty()})
    assert not left()
    looked(collection, system, day(39))
    assert left()
    collection.remember(system, replace(collection.history(system), settings=MonitorSettings(tolerance=0.02)))
    assert not left()
    looked(collection, system, day(39))
    collection.run("UPDATE collected_looks SET state = ?", (b"of a later version",))
    assert not left() and key_of("", "quiet") == system
