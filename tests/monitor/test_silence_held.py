"""Days of the past that come one after the other are one silence at most, and none while they keep coming."""

import datetime

import numpy as np
import pytest

from epimeter.monitor import MonitorSettings
from epimeter.monitor.arriving import Outcomes, Predictions
from epimeter.monitor.embedded import opened, transaction
from epimeter.monitor.holding import patient_look
from epimeter.monitor.notes import note

FIRST = datetime.date(2026, 3, 1)
TODAY = "2026-05-01"
MINUTE = 60_000_000
DAILY = 60


def day(number):
    return (FIRST + datetime.timedelta(days=number)).isoformat()


def said(number):
    rng = np.random.default_rng([3, number])
    at = int(np.datetime64(day(number), "us").astype(int)) + 3_600_000_000
    ids = [f"{number}-{k}" for k in range(DAILY)]
    confidence = rng.beta(5, 2, DAILY).round(4)
    right = (rng.random(DAILY) < confidence).astype(int).tolist()
    predictions = Predictions(
        id=ids,
        confidence=confidence.tolist(),
        at=[at] * DAILY,
        answer=[None] * DAILY,
        slices=["{}"] * DAILY,
        kind="answer",
        classes=0,
    )
    nothing = [None] * DAILY
    return predictions, Outcomes(id=ids, right=right, truth=nothing, at=nothing, source=nothing)


class Watcher:
    """Who looks at a system as the service does: with a clock, and with a pause before silence is raised."""

    def __init__(self, collection, pause):
        self.collection, self.pause, self.now = collection, pause, 0
        self.system = collection.open("", "bot", MonitorSettings(delay=3))
        self.told = []

    def look(self, as_of=TODAY):
        history = self.collection.history(self.system)
        history.as_of = as_of
        seen = patient_look(history, self.now, self.pause)
        self.told += [(e["event"], e["alarm"], e.get("why")) for e in note(history, seen)]
        self.collection.remember(self.system, history)
        return seen

    def silences(self):
        return [one for one in self.told if one[1].startswith("silence-")]


@pytest.fixture
def watcher(tmp_path):
    with opened(tmp_path) as connection, transaction(connection) as made:
        yield lambda pause: Watcher(made, pause)


@pytest.mark.parametrize("half_first", ["predictions", "outcomes"])
def test_a_month_that_comes_day_by_day_raises_no_silence_while_it_comes(watcher, half_first):
    one = watcher(MINUTE)
    for number in range(30):
        predictions, outcomes = said(number)
        halves = [
            lambda p=predictions: one.collection.predict(one.system, p, one.now),
            lambda o=outcomes: one.collection.conclude(one.system, o, one.now),
        ]
        for take in halves if half_first == "predictions" else reversed(halves):
            take()
            one.look()
            one.now += MINUTE // 4
    assert not one.silences()
    # The month ended a month ago and nothing more comes: after the pause that is told, once.
    one.now += MINUTE
    for _ in range(3):
        one.look()
        one.now += MINUTE
    assert one.silences() == [("alarm.opened", f"silence-predictions:bot:{day(32)}", None)]


@pytest.mark.parametrize("order", ["day by day", "all predictions first"])
def test_with_long_pauses_between_days_silence_is_one_episode(watcher, order):
    one = watcher(MINUTE)
    days = [said(number) for number in range(61)]  # the last one is that of the look
    if order == "all predictions first":
        for predictions, _ in days:
            one.collection.predict(one.system, predictions, one.now)
    for predictions, outcomes in days:
        if order == "day by day":
            one.collection.predict(one.system, predictions, one.now)
        one.collection.conclude(one.system, outcomes, one.now)
        for _ in range(2):
            one.look()
            one.now += 2 * MINUTE
    about = {"day by day": "predictions", "all predictions first": "truth"}[order]
    came = {"predictions": "predictions have come", "truth": "truth has come"}[about]
    names = {name for _, name, _ in one.silences()}
    assert len(names) == 1 and names.pop().startswith(f"silence-{about}:bot:")
    assert [(event, why) for event, _, why in one.silences()] == [("alarm.opened", None), ("alarm.closed", came)]


@pytest.mark.parametrize("pause", [0, MINUTE])
def test_halves_of_days_that_come_with_long_pauses_are_one_silence_of_each_kind_at_most(watcher, pause):
    one = watcher(pause)
    for number in range(61):
        predictions, outcomes = said(number)
        for take, half in ((one.collection.predict, predictions), (one.collection.conclude, outcomes)):
            take(one.system, half, one.now)
            for _ in range(2):
                one.look()
                one.now += 2 * MINUTE
    opened = [name.partition(":")[0] for event, name, _ in one.silences() if event == "alarm.opened"]
    closed = [name.partition(":")[0] for event, name, _ in one.silences() if event == "alarm.closed"]
    assert sorted(opened) == sorted(closed) == sorted(set(opened)) and "silence-predictions" in opened


def test_a_clock_that_was_set_back_holds_a_silence_no_longer_than_the_pause(watcher):
    one = watcher(MINUTE)
    predictions, outcomes = said(0)
    one.now = 10 * MINUTE
    one.collection.predict(one.system, predictions, one.now)
    one.collection.conclude(one.system, outcomes, one.now)
    assert not one.look().systems[0].alarms
    one.now = 0
    one.look()
    one.now = MINUTE
    assert [alarm.about for alarm in one.look().systems[0].alarms] == ["predictions"]
