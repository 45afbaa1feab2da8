"""The clock of the service set back by weeks while it collects: no alarm, no week closed twice, on both databases."""

import datetime
import re
import sys
import time
from collections import Counter
from pathlib import Path

import httpx
import numpy as np
import pytest
from servers import Service

DAYS, DAILY = 30, 120
DAY = 86_400


def day(number):
    return (datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=DAYS - number)).isoformat()


def rows(number, *, n=DAILY, tag=""):
    """A day of predictions and their outcomes, `DAYS - number` days before today."""
    rng = np.random.default_rng([17, number, len(tag)])
    at = datetime.datetime.now(datetime.UTC).replace(hour=1) - datetime.timedelta(days=DAYS - number)
    confidence = rng.beta(5, 2, n).round(4)
    ids = [f"{tag}{number}-{k}" for k in range(n)]
    said = [{"id": i, "confidence": c, "time": at.isoformat()} for i, c in zip(ids, confidence.tolist(), strict=True)]
    right = (rng.random(n) < confidence).tolist()
    return said, [{"id": i, "correct": r} for i, r in zip(ids, right, strict=True)]


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_clock_set_back_raises_no_alarm_and_closes_no_week_twice(request, tmp_path, database):
    url = request.getfixturevalue("postgres").database() if database == "postgres" else None
    clock = tmp_path / "clock"
    clock.write_text("0")
    program = (sys.executable, str(Path(__file__).with_name("clockwork.py")), str(clock))
    service = Service(tmp_path / "data", postgres=url, program=program).start()
    try:
        with service.tenant("Calendar", tier="CRITICAL") as client:

            def send(number, **facts):
                said, told = rows(number, **facts)
                for half, body in (("predictions", said), ("outcomes", told)):
                    answer = client.post(f"/v1/systems/bot/{half}", json={half: body})
                    assert answer.status_code == 200 and answer.json()["new"] == len(body), answer.text

            def looked(labelled):
                """Wait until a look has seen so many labelled rows; gives what was noted so far."""
                end = time.monotonic() + 60
                while time.monotonic() < end:
                    found = re.search(
                        r"^epimeter_system_labelled_rows\{.*\} (\S+)$",
                        httpx.get(f"{service.admin_url}/metrics").text,
                        re.M,
                    )
                    if found and float(found[1]) == labelled:
                        entries = client.get("/v1/audit?limit=200").json()["items"]
                        return Counter(
                            (e["action"], e["detail"].get("first"))
                            for e in entries
                            if e["action"].startswith(("alarm.", "evaluation.due"))
                        )
                    time.sleep(0.1)
                raise AssertionError(f"no look saw {labelled} rows")

            assert client.put("/v1/systems/bot/monitor", json={"delay": 3, "evaluate": True}).status_code == 200
            for number in range(DAYS):
                send(number)
            total = DAYS * DAILY
            looked(total)
            for extra in range(4):  # every look closes one week
                send(29, n=1, tag="x" * (extra + 1))
                total += 1
                before = looked(total)
            # Days of the past, as they came, were one silence of each kind at most; from here on nothing is new.
            assert sum(n for (action, _), n in before.items() if action == "alarm.opened") <= 2
            assert {begun: n for (action, begun), n in before.items() if action == "evaluation.due"} == {
                day(number): 1 for number in (0, 7, 14)
            }
            for days in (-20, -1, -400, 0):
                clock.write_text(str(days * DAY))
                send(28, n=2, tag=f"back{days}")
                _, told = rows(10)
                changed = [{"id": told[0]["id"], "correct": days % 3 == 0}]
                assert client.post("/v1/systems/bot/outcomes", json={"outcomes": changed}).status_code == 200
                total += 2
                assert looked(total) == before, days
            clock.write_text(str(DAY))
            send(28, n=2, tag="forward")
            assert looked(total + 2) == before | {("evaluation.due", day(21)): 1}
    finally:
        service.stop()
