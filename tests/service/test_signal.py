"""The sums behind the signal: remembered minute by minute, and always those of exactly the last 24 hours."""

import contextlib
import time

import ground
import numpy as np
import pytest
from servers import running
from test_store import empty, evaluation, store  # noqa: F401

from epimeter.metrics import ers_ece
from epimeter.service.signal import DAY, MINUTE, Day
from epimeter.standards import ers_u_recall
from epimeter.store import evaluations
from epimeter.summaries.travel import to_bytes
from epimeter.views import view


def add(db, number, at, correct, confidence):
    recipe = ers_ece.reads
    made = view(correct, confidence).event
    wrong = confidence[correct == 0]
    facts = {
        "status": "completed",
        "completed_at": at,
        "created_at": at,
        "wrong": len(wrong),
        "sample_size": len(correct),
    }
    facts |= {"wrong_unsure": int((wrong < 0.7).sum()), "totals": to_bytes(recipe.summarise(made))}
    evaluations.add(db, **evaluation(f"eval_{number}", **facts))


def test_the_sum_is_that_of_all_rows_of_the_last_24_hours(store):  # noqa: F811
    rng = np.random.default_rng(0)
    end = 30_000_000 * MINUTE + 12_345
    times = sorted(int(at) for at in end - rng.integers(0, int(1.3 * DAY), 60))
    data = {}
    with store.writing() as db:
        for number, at in enumerate(times):
            confidence = rng.random(40)
            correct = (rng.random(40) < confidence).astype(np.uint8)
            data[at] = (correct, confidence)
            add(db, number, at, correct, confidence)
    day = Day()
    for now in (
        end - 7 * MINUTE - 3,
        end - 6 * MINUTE,
        end - 5 * MINUTE - 59_000_000,
        end,
        end + 20 * MINUTE,
        end + DAY,
    ):
        with store.reading() as db:
            found = day.sum(db, now)
        inside = [data[at] for at in times if now - DAY <= at < now]
        assert found.count == len(inside)
        if inside:
            correct, confidence = (np.concatenate(parts) for parts in zip(*inside, strict=True))
            expected = found.metrics()
            assert expected["global_ece"] == pytest.approx(ers_ece(correct, confidence), abs=0.0050001)
            assert expected["global_u_recall"] == pytest.approx(ers_u_recall(correct, confidence), abs=0.050001)
            assert round(expected["global_ece"], 2) == expected["global_ece"]


def test_nothing_gives_null(store):  # noqa: F811
    with store.reading() as db:
        assert Day().sum(db, 10 * DAY).metrics() == {"global_ece": None, "global_u_recall": None}


def test_open_gets_the_very_signal_that_others_got_before(tmp_path):
    """Released when its time has come, byte for byte what was committed; ttl counts from the release (ERS 5.2, 8.1)."""
    from datetime import datetime, timedelta

    with (
        running(tmp_path, signal_period=1, open_delay=3) as made,
        made.tenant("Early", "STANDARD") as early,
        made.client() as nobody,
    ):
        early.post("/v1/evaluate", json=ground.body(ground.columns(100)))
        seen = {}
        end = time.monotonic() + 60
        while time.monotonic() < end:
            first = early.get("/v1/signal/status")
            if first.status_code == 200:
                seen[first.json()["signal_id"]] = first.json()
            answer = nobody.get("/v1/signal/status")
            if answer.status_code == 200 and answer.json()["signal_id"] in seen:
                break
            time.sleep(0.3)
        late = answer.json()
        before = seen[late["signal_id"]]
        committed = ("signal_id", "timestamp", "entropy", "metrics", "ttl", "commitment")
        assert {name: late[name] for name in committed} == {name: before[name] for name in committed}
        for found, delay in ((before, 0), (late, 3)):
            said = {name: datetime.fromisoformat(found[name]) for name in ("timestamp", "available_at", "expires_at")}
            assert said["available_at"] - said["timestamp"] == timedelta(seconds=delay)
            assert said["expires_at"] - said["available_at"] == timedelta(seconds=3600)
        assert first.json()["signal_id"] > late["signal_id"]  # meanwhile there is a newer one, which OPEN may not see


def test_a_signal_shows_numbers_only_above_a_number_of_organisations_and_records_beside_the_largest(tmp_path):
    """One evaluation in the window was told to everybody, to nine digits; so was one beside many small ones."""
    with running(tmp_path, signal_period=1) as made, contextlib.ExitStack() as held:
        clients = [held.enter_context(made.tenant(f"Signal {number}")) for number in range(5)]

        def next_signal():
            seen = clients[0].get("/v1/signal/status").json().get("signal_id", "")
            end = time.monotonic() + 30
            while time.monotonic() < end:
                time.sleep(0.3)
                found = clients[0].get("/v1/signal/status").json()
                if found.get("signal_id", "") > seen:
                    seen, found_before = found["signal_id"], found
                    if found_before["metrics"]["active_evaluations"] == sent:
                        return found_before["metrics"]
            raise AssertionError("no new signal")

        sent = 0
        for client, rows in zip(clients, (5000, 10, 10, 10, 10), strict=True):
            client.post("/v1/evaluate", json=ground.body(ground.columns(rows))).raise_for_status()
            sent += 1
            found = next_signal()
            assert found["global_ece"] is None and found["global_u_recall"] is None, (sent, found)
        for client in clients[1:]:
            client.post("/v1/evaluate", json=ground.body(ground.columns(1000))).raise_for_status()
            sent += 1
        found = next_signal()
        assert found["global_ece"] == round(found["global_ece"], 2)
        assert found["global_u_recall"] == round(found["global_u_recall"], 1)
