"""Predictions now, truth later, over HTTP and on both databases: joined, corrected, watched, told, killed."""

import contextlib
import datetime
import gzip
import io
import json
import os
import re
import sqlite3
import threading
import time
from xml.etree import ElementTree

import httpx
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc
from servers import NO_TLS, running

from epimeter.monitor.arriving import outcomes, predictions
from epimeter.monitor.collection import BEFORE, Collection, Taken
from epimeter.monitor.joined import windows_of

ARROW, PARQUET, NDJSON = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "application/x-ndjson"
TODAY = datetime.datetime.now(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
NOW = 1_767_400_000_000_000
KILLS = int(os.environ.get("EPIMETER_KILLS", "3"))


def day(number, *, n=600, shift=0.0, days=24):
    """A day of predictions `days - number` days ago, and their outcomes."""
    rng = np.random.default_rng([9, number])
    confidence = rng.beta(6, 2, n)
    at = TODAY - datetime.timedelta(days=days - number) + datetime.timedelta(hours=9)
    ids = [f"{number}-{k}" for k in range(n)]
    said = pa.table(
        {
            "id": ids,
            "confidence": confidence,
            "time": pa.array([at] * n, pa.timestamp("us", "UTC")),
            "region": rng.choice(["eu", "us"], n),
        }
    )
    return said, pa.table({"id": ids, "correct": rng.random(n) < np.clip(confidence + shift, 0, 1)})


def arrow(table):
    stream = io.BytesIO()
    with ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def parquet(table):
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def post(client, system, what, body, kind):
    answer = client.post(f"/v1/systems/{system}/{what}", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 200, answer.text
    return answer.json()


def counts(new=0, repeated=0, corrected=0, refused=0, waiting=0):
    return {"new": new, "repeated": repeated, "corrected": corrected, "refused": refused, "waiting": waiting}


def until(check, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := check():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come")


@pytest.fixture(scope="module")
def owner(service):
    with service.tenant("Collector", tier="CRITICAL") as client:
        yield client


def test_every_format_says_the_same_and_outcomes_may_come_first(owner):
    said, known = day(3, n=40)
    rows = [
        {"id": i, "confidence": c, "time": t.isoformat(), "slices": {"region": r}}
        for i, c, t, r in zip(*(said[name].to_pylist() for name in said.column_names), strict=True)
    ]
    assert post(owner, "formats", "outcomes", parquet(known), PARQUET) == counts(new=40, waiting=40)
    assert post(owner, "formats", "predictions", json.dumps({"predictions": rows}), "application/json") == counts(
        new=40
    )
    lines = "\n".join(map(json.dumps, rows))
    assert post(owner, "formats", "predictions", lines, NDJSON) == counts(repeated=40)
    assert post(owner, "formats", "predictions", arrow(said), ARROW) == counts(repeated=40)
    assert post(owner, "formats", "predictions", parquet(said), PARQUET) == counts(repeated=40)
    told = [{"id": i, "correct": c} for i, c in zip(known["id"].to_pylist(), known["correct"].to_pylist(), strict=True)]
    told[1]["correct"] = int(told[1]["correct"])  # 1 or 0, as true or false
    assert post(owner, "formats", "outcomes", json.dumps({"outcomes": told}), "application/json") == counts(repeated=40)
    state = owner.get("/v1/systems/formats/monitor").json()
    assert state["systems"][0]["slices"][0]["windows"]["lifetime"]["rows"] == 40
    told[0]["correct"] = not told[0]["correct"]
    assert post(owner, "formats", "outcomes", json.dumps({"outcomes": told[:1]}), "application/json") == counts(
        corrected=1
    )
    (correction,) = owner.get("/v1/systems/formats/corrections").json()["items"]
    assert correction["id"] == told[0]["id"] and correction["before"].strip() != correction["after"].strip()


def test_class_probabilities_and_labels_are_joined(owner):
    rows = [
        {"id": "x", "probabilities": {"cat": 0.75, "dog": 0.25}},
        {"id": "y", "probabilities": {"cat": 0.5, "fox": 0.5}},
    ]
    assert post(owner, "classes", "predictions", json.dumps({"predictions": rows}), "application/json") == counts(new=2)
    body = json.dumps({"outcomes": [{"id": "x", "truth": "cat", "source": "human"}, {"id": "y", "truth": "fox"}]})
    assert post(owner, "classes", "outcomes", body, "application/json") == counts(new=2)
    week = owner.get("/v1/systems/classes/monitor").json()["systems"][0]["slices"][0]["last_week"]
    assert week["rows"] == 2 and week["bias"] == pytest.approx((0.25 - 0.5) / 2)


def test_ids_of_another_organisation_are_strangers(service, owner):
    post(owner, "mine", "predictions", arrow(day(1, n=5)[0]), ARROW)
    with service.tenant("Stranger") as other:
        assert other.get("/v1/systems/mine/monitor").status_code == 404
        assert post(other, "mine", "outcomes", arrow(day(1, n=5)[1]), ARROW) == counts(new=5, waiting=5)
    assert owner.get("/v1/systems/mine/monitor").json()["systems"][0]["slices"][0]["windows"]["lifetime"] is None


@pytest.mark.parametrize("kind", [ARROW, PARQUET, NDJSON])
def test_bodies_come_packed_and_broken_ones_are_refused_with_nothing_kept(owner, kind):
    said, _ = day(5, n=3000)
    whole = {
        ARROW: arrow,
        PARQUET: parquet,
        NDJSON: lambda t: "\n".join(map(json.dumps, t.drop(["time", "region"]).to_pylist())).encode(),
    }[kind](said)
    path, head = f"/v1/systems/packed-{kind[-7:].strip('.')}/predictions", {"Content-Type": kind}
    for body, more in ((whole[: len(whole) // 2], {}), (gzip.compress(whole)[:-20], {"Content-Encoding": "gzip"})):
        answer = owner.post(path, content=body, headers=head | more)
        assert answer.status_code in (400, 422), answer.text
    bomb = owner.post(path, content=gzip.compress(bytes(65 << 20)), headers=head | {"Content-Encoding": "gzip"})
    assert bomb.status_code == 413, bomb.text
    answer = owner.post(path, content=gzip.compress(whole), headers=head | {"Content-Encoding": "gzip"})
    assert answer.json() == counts(new=3000)


def test_columns_that_cannot_be_watched_are_refused(owner):
    """Every further column slices: tables of very many, of objects, and many little ones one after the other."""

    def sent(path="watched-columns", **columns):
        made = pa.table(
            {"id": ["a"], "confidence": [0.5], **{name: pa.array([cell]) for name, cell in columns.items()}}
        )
        return owner.post(f"/v1/systems/{path}/predictions", content=arrow(made), headers={"Content-Type": ARROW})

    many = sent(**{f"x{k}": "1" for k in range(20_000)})
    assert many.status_code == 422 and "at most 100 columns" in many.json()["detail"], many.text
    nested = sent(slices={"site": "north"})
    assert nested.status_code == 422 and "slices must hold words or whole numbers" in nested.json()["detail"], (
        nested.text
    )
    sparse = [{"id": str(k), "probabilities": {f"c{k}": 0.75, "other": 0.25}} for k in range(20_000)]
    counted = owner.post("/v1/systems/many-classes/predictions", json={"predictions": sparse})
    assert counted.json() == counts(new=20_000)  # at the cost of what is stated, not of rows times classes
    assert sent(**{f"x{k}": "1" for k in range(60)}).status_code == 200
    further = sent(**{f"y{k}": "1" for k in range(60)})
    assert further.status_code == 422 and "at most 100 columns" in further.json()["detail"], further.text


@pytest.mark.parametrize(
    ("rows", "status", "sentence"),
    [
        ([], 422, "at least one row"),
        ([{"id": "a", "confidence": 55}], 422, "Percent"),
        ([{"id": "a"}], 422, "need a column confidence"),
        ([{"id": "a", "probabilities": {"x": 1.5, "y": -0.5}}], 422, "row 0 has -0.5"),
        ([{"confidence": 0.5}], 422, "missing required field `id`"),
        ([{"id": "a", "confidence": 0.5, "slices": {"time": "x"}}], 422, "slice must not be called"),
        ([{"id": str(k), "confidence": 0.5, "slices": {"user": str(k)}} for k in range(1200)], 422, "'user' has 1,200"),
        ([{"id": str(k), "confidence": 0.5, "slices": {f"s{k}": "x"}} for k in range(20_000)], 422, "got 20,000"),
        (
            [{"id": str(k), "confidence": 0.5, "slices": {f"s{i}": str(k) for i in range(4)}} for k in range(900)],
            422,
            "at most 3,000 values together",
        ),
        ([{"id": "a", "confidence": 0.5, "slices": {"s" * 300: "x"}}], 422, "/predictions/0/slices: a key: expected"),
    ],
)
def test_bad_rows_are_refused_in_one_sentence_and_none_is_kept(owner, rows, status, sentence):
    answer = owner.post("/v1/systems/bad/predictions", json={"predictions": rows})
    assert answer.status_code == status and sentence in answer.json()["detail"], answer.text
    found = owner.get("/v1/systems/bad/monitor")
    assert found.status_code == 404 or not found.json()["systems"]


def test_a_shift_becomes_an_alarm_an_event_an_entry_a_gauge_and_a_page(service, owner):
    wanted = {
        "tolerance": 0.01,
        "false_alarms": "1 per year",
        "level": "L3",
        "delay": 3,
        "horizon": 60,
        "evaluate": True,
    }
    assert owner.put("/v1/systems/bot/monitor", json=wanted).status_code == 200
    for number in range(24):
        said, known = day(number, shift=-0.25 if number >= 16 else 0.0)
        assert post(owner, "bot", "predictions", arrow(said), ARROW)["new"] == 600
        assert post(owner, "bot", "outcomes", arrow(known), ARROW)["new"] == 600

    def alarmed():
        alarms = owner.get("/v1/systems/bot/monitor").json()["systems"][0]["alarms"]
        return [alarm for alarm in alarms if alarm["kind"] == "change" and alarm["state"] != "closed"]

    (alarm,) = until(alarmed)
    feed = until(lambda: b"change:bot" in (body := owner.get("/v1/systems/bot/alarms.atom").content) and body)
    root = ElementTree.fromstring(feed)
    assert root.tag.endswith("feed") and any("change:bot" in e.findtext("{*}title") for e in root.findall("{*}entry"))
    entries = until(
        lambda: [i for i in owner.get("/v1/audit?limit=200").json()["items"] if i["action"] == "alarm.opened"]
    )
    assert entries[0]["subject"] == "bot"
    text = until(lambda: "epimeter_system_alarm{" in (t := httpx.get(f"{service.admin_url}/metrics").text) and t)
    assert 'system="bot"' in text and "epimeter_system_ece_low{" in text
    known = until(lambda: [e for e in entries if e["detail"]["alarm"] == alarm["id"]] or None, 1)
    taken = owner.post("/v1/systems/bot/alarms/acknowledge", json={"alarm": known[0]["detail"]["alarm"], "by": "Ada"})
    assert taken.status_code == 200, taken.text
    page = owner.get("/v1/systems/bot/monitor", headers={"Accept": "text/html"})
    assert page.headers["content-type"].startswith("text/html") and "<svg" in page.text and "acknowledged" in page.text
    # The first seven days are closed and evaluated by themselves.
    made = until(lambda: owner.get("/v1/evaluations?model_id=bot").json()["items"])
    assert made[-1]["model_id"] == "bot"
    entries = owner.get("/v1/audit?limit=200").json()["items"]
    due = [entry for entry in entries if entry["action"] == "evaluation.due" and entry["subject"] == "bot"]
    assert due and due[-1]["detail"]["labelled"] == 4200


@pytest.fixture
def cursor(request, tmp_path):
    """A cursor of psycopg: the statements are the same as SQLite's, which tests/monitor tries."""
    url = request.getfixturevalue("postgres").database()
    with psycopg.connect(url) as connection, connection.cursor() as made:
        yield made


def test_any_history_of_rows_ends_in_the_totals_of_their_last_state_on_postgres(cursor):
    collection = Collection(cursor, postgres=True)
    collection.begin()
    s = collection.open("o", "s")
    rng = np.random.default_rng(2)
    taken = Taken()
    for turn in range(30):
        ids = [f"r{k}" for k in rng.integers(0, 60, 12)]
        if rng.random() < 0.5:
            times = [f"2026-01-0{k}T01:00:00Z" for k in rng.integers(1, 4, 12)]
            table = {"id": ids, "confidence": rng.choice([0.1, 0.5, 0.55, 1.0], 12), "time": times}
            table["region"] = rng.choice(["eu", "us"], 12)
            taken += collection.predict(s, predictions(pa.table(table)), NOW + turn)
        else:
            told = outcomes(pa.table({"id": ids, "correct": rng.random(12) < 0.5}))
            taken += collection.conclude(s, told, NOW + turn)
    cursor.execute(f"SELECT {', '.join(BEFORE)} FROM collected_rows WHERE confidence IS NOT NULL")
    held = windows_of(cursor.fetchall())
    kept = {(p.start, p.slice): w.to_dict() for p, w in collection.history(s).windows.items()}
    assert kept == {place: window.to_dict() for place, window in held.items()}
    assert taken.corrected and taken.repeated and collection.corrections(s)
    aged = collection.age(s, NOW + 40 * 86_400_000_000)
    assert aged.gone > 0
    assert sum(w.n_rows for p, w in collection.history(s).windows.items() if not p.slice) == sum(
        sum(w["shown"]) for (_, part), w in kept.items() if not part
    )


class Explained(Collection):
    """A collection that keeps the plan of every statement about its rows."""

    def run(self, statement, values=()):
        if "collected_rows" in statement and not statement.startswith("CREATE"):
            self.cursor.execute(self._words(f"EXPLAIN {'' if self.postgres else 'QUERY PLAN '}{statement}"), values)
            self.plans += [f"{statement[:60]} -> {row[-1]}" for row in self.cursor.fetchall()]
        return super().run(statement, values)


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_rows_are_found_by_their_ids_and_windows_and_the_table_is_never_read_through(request, tmp_path, database):
    postgres = database == "postgres"
    url = request.getfixturevalue("postgres").database() if postgres else None
    with contextlib.closing(psycopg.connect(url) if postgres else sqlite3.connect(tmp_path / "c.db")) as connection:
        collection = Explained(connection.cursor(), postgres=postgres)
        collection.plans = []
        collection.begin()
        s = collection.open("o", "s")
        numbers = (
            "SELECT generate_series(1, 60000) AS k"
            if postgres
            else "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 60000) SELECT k FROM n"
        )
        collection.cursor.execute(
            "INSERT INTO collected_rows (system, id, win, at, confidence, slices, received) "
            f"SELECT {s}, 'k' || k, '2026-01-0' || (1 + k % 9), 1, 0.5, '{{}}', 1 FROM ({numbers}) n"
        )
        collection.cursor.execute("ANALYZE collected_rows")
        ids = [f"k{k}" for k in range(0, 120_000, 12)]
        for confidence in (0.5, 0.75):  # again, then corrected
            told = {"id": ids, "confidence": [confidence] * len(ids), "time": ["2026-01-05T00:00:00Z"] * len(ids)}
            collection.predict(s, predictions(pa.table(told)), NOW)
        for right in (True, False):
            collection.conclude(s, outcomes(pa.table({"id": ids, "correct": [right] * len(ids)})), NOW)
        collection.predict(s, predictions(pa.table({"id": ids, "confidence": [0.5] * len(ids)})), NOW)
        collection.unmatched(s)
        collection.age(s, NOW)
        # In SQLite also: no search for all rows of a system.
        wrong = re.compile(r"Seq Scan on collected_rows|SCAN (c|r|collected_rows)\b|\(system=\?\)$")
        through = [plan for plan in collection.plans if wrong.search(plan)]
        assert len(collection.plans) > 15 and not through, through


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_killed_at_any_moment_no_acknowledged_row_is_lost_and_none_counts_twice(request, tmp_path, database):
    url = request.getfixturevalue("postgres").database() if database == "postgres" else None
    rng = np.random.default_rng(3)
    acknowledged, tried = [], {}
    with running(tmp_path, url) as service:
        client = service.tenant("Killed", tier="CRITICAL")
        key = client.headers["x-api-key"]
        for turn in range(KILLS):
            stop = threading.Event()

            def feed(turn=turn, stop=stop, url=service.url):
                with httpx.Client(base_url=url, headers={"x-api-key": key}, timeout=60, verify=NO_TLS) as mine:
                    while not stop.is_set():
                        batch = tried[turn] = tried.get(turn, -1) + 1
                        ids = [f"{turn}-{batch}-{k}" for k in range(100)]
                        body = {
                            "predictions": [{"id": i, "confidence": 0.75, "time": "2026-01-05T00:00:00Z"} for i in ids]
                        }
                        told = {"outcomes": [{"id": i, "correct": True} for i in ids]}
                        # An answer that does not come acknowledges nothing: the server died, or is slow.
                        with contextlib.suppress(httpx.HTTPError):
                            for what, rows in (("predictions", body), ("outcomes", told)):
                                if mine.post(f"/v1/systems/s/{what}", json=rows).status_code == 200:
                                    acknowledged.append((what, turn, batch))

            thread = threading.Thread(target=feed)
            thread.start()
            until(lambda turn=turn: any(what == "outcomes" and t == turn for what, t, _ in acknowledged), seconds=600)
            time.sleep(float(rng.uniform(0, 0.4)))
            stop.set()
            service.kill()
            thread.join()
            service.start()
        with service.client(key) as again:
            state = again.get("/v1/systems/s/monitor").json()
            rows = state["systems"][0]["slices"][0]["windows"]["lifetime"]["rows"]
            # Sent once more in full, and with it what was under way when the process died: whatever was acknowledged is a
            # repetition, and the totals are those of distinct ids, each counted once.
            known, lost, sent = set(acknowledged), 0, 0
            for turn in range(KILLS):
                for batch in range(tried[turn] + 1):
                    ids = [f"{turn}-{batch}-{k}" for k in range(100)]
                    body = {"predictions": [{"id": i, "confidence": 0.75, "time": "2026-01-05T00:00:00Z"} for i in ids]}
                    told = {"outcomes": [{"id": i, "correct": True} for i in ids]}
                    for what, half in (("predictions", body), ("outcomes", told)):
                        answer = again.post(f"/v1/systems/s/{what}", json=half).json()
                        # A batch is taken whole or not at all, acknowledged or not.
                        assert answer in (counts(repeated=100), counts(new=100)), answer
                        lost += 100 if (what, turn, batch) in known and answer != counts(repeated=100) else 0
                    sent += 100
            after = again.get("/v1/systems/s/monitor").json()["systems"][0]["slices"][0]["windows"]["lifetime"]["rows"]
    print(
        f"{KILLS} kills, {database}: {100 * len(known):,} rows acknowledged, {lost} lost, {after - sent} counted twice"
    )
    assert known and rows >= 100 * sum(what == "outcomes" for what, *_ in known)
    assert lost == 0 and after == sent


def test_corrections_come_in_pages_that_leave_none_out(owner):
    for turn in range(3):  # two bodies of corrections, each of one moment
        told = [{"id": f"{k}", "correct": turn % 2 == 0, "source": "human"} for k in range(25)]
        assert owner.post("/v1/systems/pages%20of%20it/outcomes", json={"outcomes": told}).status_code == 200
    found, address = [], "/v1/systems/pages%20of%20it/corrections?limit=7"
    while address:
        page = owner.get(address)
        assert page.status_code == 200 and len(page.json()["items"]) <= 7, page.text
        found += page.json()["items"]
        assert (page.json()["next"] is None) == ("next" not in page.links)
        address = page.links.get("next", {}).get("url")
    assert len(found) == 50 and len({(one["id"], one["at"]) for one in found}) == 50
    assert [one["at"] for one in found] == sorted((one["at"] for one in found), reverse=True)
    for wrong in ("x", "MTp4", "LTE6MQ"):
        assert owner.get(f"/v1/systems/pages%20of%20it/corrections?cursor={wrong}").status_code == 422


def test_labels_of_outcomes_may_be_numbers_in_json_as_in_files(owner):
    said = [{"id": str(k), "probability": 0.25 + 0.5 * (k % 2)} for k in range(4)]
    assert post(owner, "numbers", "predictions", json.dumps({"predictions": said}), "application/json") == counts(new=4)
    told = [{"id": "0", "truth": 0}, {"id": "1", "truth": 1}, {"id": "2", "truth": False}, {"id": "3", "truth": "1"}]
    assert post(owner, "numbers", "outcomes", json.dumps({"outcomes": told}), "application/json") == counts(new=4)
    again = pa.table({"id": ["0", "1"], "truth": [0, 1]})
    assert post(owner, "numbers", "outcomes", arrow(again), ARROW) == counts(repeated=2)
    wrong = owner.post("/v1/systems/numbers/outcomes", json={"outcomes": [{"id": "3", "truth": 2}]})
    assert wrong.status_code == 422 and "must be 0 or 1" in wrong.json()["detail"]
    week = owner.get("/v1/systems/numbers/monitor").json()["systems"][0]["slices"][0]["last_week"]
    assert week["rows"] == 4 and week["bias"] == 0
    classes = [{"id": "c", "confidence": 0.75, "prediction": 7}]
    assert owner.post("/v1/systems/digits/predictions", json={"predictions": classes}).json()["new"] == 1
    lines = json.dumps({"id": "c", "truth": 7})
    assert post(owner, "digits", "outcomes", lines, NDJSON) == counts(new=1)
    week = owner.get("/v1/systems/digits/monitor").json()["systems"][0]["slices"][0]["last_week"]
    assert week["rows"] == 1 and week["bias"] == 0.25
