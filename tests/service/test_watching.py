"""The rounds of the service over many systems, on both databases: glances where nothing is new, looks where something is."""

import datetime
from types import SimpleNamespace

import numpy as np
import pytest

from epimeter.monitor.window import later, merged, of_groups
from epimeter.service import watching
from epimeter.service.gauges import Gauges
from epimeter.store import Store, collecting, organizations
from epimeter.store.migrations import migrate
from epimeter.store.tables import collected_looks, collected_systems, journal


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    postgres = request.param == "postgres"
    made = Store(request.getfixturevalue("postgres").database() if postgres else f"sqlite:///{tmp_path}/a.db", pool=3)
    migrate(made)
    yield made
    made.close()


def windows(seed, days, *, shift=0.0, awaiting=False):
    """Days of one stream with two slices."""
    made = {}
    for number, day in enumerate(days):
        rng = np.random.default_rng([seed, number])
        prob = rng.beta(5, 2, 800).round(3)
        true = rng.random(800) < np.clip(prob + shift, 0, 1)
        parts = of_groups(prob, true, np.full(800, awaiting), rng.integers(0, 2, 800), 2)
        made |= {(day, ""): merged(parts), (day, "r=a"): parts[0], (day, "r=b"): parts[1]}
    return made


def test_what_is_quiet_gets_a_glance_and_what_is_not_a_look(store, monkeypatch):
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    days = [later(today, "day", k - 40) for k in range(41)]
    with store.writing() as db:
        organizations.add(db, id="org_a", name="A", tier="OPEN", at=1)
    looked = []
    look_once = watching.look_once
    monkeypatch.setattr(watching, "look_once", lambda db, row, s: looked.append(row["name"]) or look_once(db, row, s))
    monkeypatch.setattr(watching, "certified", lambda *_: {})
    gauges = Gauges()

    def feed(name, moved):
        with store.writing() as db:
            collection = collecting.collection(db)
            system = collection.open("org_a", name)
            collection._add(system, moved)
            db.execute(collected_systems.update().where(collected_systems.c.system == system).values(changes=1))

    def rounds():
        looked.clear()
        while watching.look_round(store, None, SimpleNamespace(keep_rows_days=30, silence_pause=0), gauges):
            pass
        return sorted(looked)

    names = [f"s{k}" for k in range(3)]
    for seed, name in enumerate(names):
        feed(name, windows(seed, days[:33]) | windows(seed + 9, days[33:40], awaiting=True))
    for _ in range(4):  # every look closes one of the weeks that wait
        assert rounds() == names
        for name in names:
            feed(name, {})
    # A new day, and rows of a day whose truth is due: nothing is new.
    for seed, name in enumerate(names):
        feed(name, windows(seed + 20, days[40:], awaiting=True) | windows(seed + 30, days[32:33]))
    before = dict(gauges.systems())
    assert rounds() == []
    with store.reading() as db:
        assert not db.execute(collected_systems.select().where(collected_systems.c.changes != 0)).all()
        assert min(row["as_of"] for row in db.execute(collected_looks.select()).mappings()) >= today
    assert all(gauges.systems()[key]["labelled_rows"] == facts["labelled_rows"] + 800 for key, facts in before.items())
    # One of them goes wrong; another is corrected in a day long settled.
    feed("s1", windows(50, days[32:33], shift=-0.4))
    feed("s2", {place: window.less(window) for place, window in windows(2, days[3:4]).items()})
    feed("s0", {})
    assert rounds() == ["s1", "s2"]
    with store.reading() as db:
        told = [row["action"] for row in db.execute(journal.select()).mappings() if row["subject"] == "s1"]
    assert "alarm.opened" in told
