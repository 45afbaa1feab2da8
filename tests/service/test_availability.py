"""One cheap tenant cannot stop the others: costs are reckoned, work is ended, slots are shared, health never waits."""

import asyncio
import contextlib
import threading
import time

import ground
import httpx
import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow import parquet
from servers import running

from epimeter.card_index import catalogue
from epimeter.service.children import BEHIND, Children
from epimeter.service.columns import Columns
from epimeter.service.errands import MeasuredRows, MeasureRows
from epimeter.service.problems import Problem
from epimeter.service.retained_rows import packed
from epimeter.service.schemas import Facts
from epimeter.service.slots import Slots

PATH = "/v1/evaluate"
ONE = ground.body({"confidence": [0.9], "correct": [True]})
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"


def bomb(rows=20_000, size=1 << 20):
    """Few bytes that become many: every row is the one dictionary entry of a mebibyte."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * size]))
    made = pa.table({"confidence": np.full(rows, 0.5), "correct": np.ones(rows, bool), "id": texts})
    sink = pa.BufferOutputStream()
    parquet.write_table(made, sink, compression="zstd", use_dictionary=["id"])
    return sink.getvalue().to_pybytes()


def test_costly_metrics_are_refused_before_they_are_measured_with_the_figure(tenant):
    data = ground.arrow(ground.columns(100_000, timestamps=False))
    begun = time.monotonic()
    # bkde and dkde once held every slot with this; their time grows with the rows now, not with their pairs.
    for names in ("bkde,dkde", "bkde,kccsd"):
        answer = tenant.post(
            PATH, content=data, params={"model_id": "m", "metrics": names}, headers={"content-type": ARROW}
        )
        assert answer.status_code in ((422,) if "kccsd" in names else (200, 202)), answer.text
    problem = answer.json()
    assert problem["type"] == "/problems/too-costly"
    assert "kccsd can be had up to about" in problem["detail"] and "100,000 rows" in problem["detail"]
    assert time.monotonic() - begun < 60
    # What a request has no time for but a job has becomes a job, however few the rows.
    data = ground.arrow(ground.columns(3_000, timestamps=False))
    answer = tenant.post(
        PATH, content=data, params={"model_id": "m", "metrics": "skce_uq"}, headers={"content-type": ARROW}
    )
    assert answer.status_code == 202, answer.text


def test_every_card_knows_its_cost():
    for name, metric in catalogue().items():
        card = metric.card
        assert card.seconds(10**6) > 0 and card.rows_within(card.seconds(10**6)) == pytest.approx(10**6, rel=1e-6), name


def test_a_child_is_ended_by_the_clock_and_the_next_errand_has_another(tmp_path):
    children = Children(str(tmp_path), 2 << 30)
    try:
        columns = Columns(confidence=np.linspace(0, 1, 200_000), correct=np.ones(200_000, np.uint8))  # a minute of work
        with contextlib.closing(packed(columns, str(tmp_path))) as kept:
            rows = kept.whole()
        children.wait()
        slow, quick = (MeasureRows(facts=Facts(model_id="m", domain="general", metrics=names), at=0)
                       for names in (("kccsd",), ("brier_score",)))  # fmt: skip
        begun = time.monotonic()
        with pytest.raises(Problem, match="longer than 2 s and was ended"):
            children.do(slow, MeasuredRows, [rows], seconds=2)
        assert time.monotonic() - begun < 40
        end = time.monotonic() + 10
        nursery = psutil.Process(children._process.pid)
        while nursery.children() and time.monotonic() < end:
            time.sleep(0.1)
        assert not nursery.children()  # it is gone
        assert b'"ece"' in children.do(quick, MeasuredRows, [rows], seconds=60).found.evaluation
        with pytest.raises(Problem, match="no longer kept"):
            children.do(quick, MeasuredRows, [], seconds=60)
    finally:
        children.close()
    with pytest.raises(Problem, match="stopping"):
        children.do(quick, MeasuredRows, [rows], seconds=60)


def test_a_child_that_has_waited_for_the_processor_is_not_ended_by_the_clock(tmp_path):
    children = Children(str(tmp_path), 2 << 30)
    try:
        columns = Columns(confidence=np.linspace(0, 1, 2_000), correct=np.ones(2_000, np.uint8))
        with contextlib.closing(packed(columns, str(tmp_path))) as kept:
            rows = kept.whole()
        nursery = psutil.Process(children._process.pid)

        def suspended():
            """The only child, there and waiting, as one to which others leave nothing of the processor."""
            children.wait()
            while not (found := [one for one in nursery.children() if one.status() == psutil.STATUS_SLEEPING]):
                time.sleep(0.05)
            found[0].suspend()
            return found[0]

        quick = MeasureRows(facts=Facts(model_id="m", domain="general", metrics=("brier_score",)), at=0)
        first = suspended()
        threading.Timer(7, first.resume).start()
        assert b'"ece"' in children.do(quick, MeasuredRows, [rows], seconds=5).found.evaluation
        first.wait(30)  # it took long, so it ends with its errand
        suspended()
        with pytest.raises(
            Problem, match=r"longer than 0.5 s and was ended"
        ):  # by the clock, for it had nothing at all
            children.do(quick, MeasuredRows, [rows], seconds=0.5)
    finally:
        children.close()


def test_a_long_errand_gives_way_to_short_ones_and_its_child_ends_with_it(tmp_path):
    children, usual = Children(str(tmp_path), 2 << 30), psutil.Process().nice()
    try:
        columns = Columns(confidence=np.linspace(0, 1, 200_000), correct=np.ones(200_000, np.uint8))
        with contextlib.closing(packed(columns, str(tmp_path))) as kept:
            rows = kept.whole()
        children.wait()
        nursery, seen = psutil.Process(children._process.pid), []

        def look():
            while not any(nice == BEHIND for nice in seen):
                with contextlib.suppress(psutil.NoSuchProcess):
                    seen.extend(one.nice() for one in nursery.children())
                time.sleep(0.02)

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        slow = MeasureRows(facts=Facts(model_id="m", domain="general", metrics=("kccsd",)), at=0)
        with pytest.raises(Problem, match="was ended"):
            children.do(slow, MeasuredRows, [rows], seconds=2)
        watcher.join(1)
        assert seen[0] == usual and seen[-1] == BEHIND
        children.wait()
        ended = time.monotonic() + 10
        while any(one.nice() == BEHIND for one in nursery.children()) and time.monotonic() < ended:
            time.sleep(0.05)  # the kernel takes a moment to clear away what was ended
        assert {one.nice() for one in nursery.children()} == {usual}
    finally:
        children.close()


def test_a_tenant_whose_jobs_fill_the_queue_leaves_a_worker_and_a_slot_to_others(tmp_path):
    with (
        running(tmp_path, rows_at_once=1000, job_time=60) as made,
        made.tenant("Greedy", "OPEN") as greedy,
        made.tenant("Honest") as honest,
    ):
        words, headers = {"model_id": "g", "metrics": "kccsd"}, {"content-type": ARROW}
        slow = ground.arrow(ground.columns(3_500, timestamps=False))
        for _ in range(4):
            assert greedy.post(PATH, content=slow, params=words, headers=headers).status_code == 202
        quick = ground.arrow(ground.columns(2_000, timestamps=False))
        number = honest.post(PATH, content=quick, params={"model_id": "h"}, headers=headers).json()["evaluation_id"]
        waits, end = [], time.monotonic() + 60
        while honest.get(f"/v1/evaluations/{number}").json()["status"] == "queued" and time.monotonic() < end:
            begun = time.monotonic()
            assert honest.get("/healthz").status_code == 200
            assert honest.post(PATH, json=ONE).status_code == 200
            waits.append(time.monotonic() - begun)
            time.sleep(0.2)
        assert honest.get(f"/v1/evaluations/{number}").json()["status"] == "completed"
        left = [one["status"] for one in greedy.get("/v1/evaluations").json()["items"]]
        assert left.count("queued") >= 2  # his jobs came first and are not done yet


def test_a_bomb_takes_neither_the_server_nor_its_memory(tmp_path):
    with running(tmp_path, child_memory=600 << 20) as made, made.tenant("Bomb") as client:
        data = bomb()
        assert len(data) < 400_000
        answer = client.post(PATH, content=data, params={"model_id": "m"}, headers={"content-type": PARQUET})
        assert answer.status_code in (413, 422), answer.text
        assert client.post(PATH, json=ONE).status_code == 200
        # Whatever ends a child ends one request.
        for junk in (data[: len(data) // 2] + data[-200:], data[:100] + bytes(200) + data[300:]):
            answer = client.post(PATH, content=junk, params={"model_id": "m"}, headers={"content-type": PARQUET})
            assert answer.status_code in (413, 422), answer.text
        assert client.post(PATH, content=ground.arrow(ground.columns(2000)), params={"model_id": "m"},
                           headers={"content-type": ARROW}).status_code == 200  # fmt: skip


def test_forty_five_certificates_at_once_leave_health_and_others_alone(tmp_path):
    with running(tmp_path, in_flight=64) as made, made.tenant("Many") as many, made.tenant("Honest") as honest:
        numbers = [
            many.post(PATH, json=ground.body(ground.columns(1200, seed=at))).json()["evaluation_id"] for at in range(3)
        ]
        statuses = []

        def certify(number):
            client = httpx.Client(base_url=made.url, timeout=120, headers={"x-api-key": many.key["key"]})
            with client, contextlib.suppress(httpx.HTTPError):
                statuses.append(client.post("/v1/certificates", json={"evaluation_id": number}).status_code)

        threads = [threading.Thread(target=certify, args=(numbers[at % 3],)) for at in range(45)]
        for thread in threads:
            thread.start()
        waits = []
        while any(thread.is_alive() for thread in threads) and len(waits) < 30:
            begun = time.monotonic()
            assert honest.get("/healthz").status_code == 200
            assert honest.get("/readyz").status_code == 200
            waits.append(time.monotonic() - begun)
        for thread in threads:
            thread.join()
        assert len(statuses) == 45 and set(statuses) <= {200, 201, 409}
        assert statuses.count(201) == 3 and max(waits) < 5


def test_slots_go_round_and_nobody_has_all_of_them():
    async def play():
        slots, order, gates = Slots(3), [], []

        async def work(who):
            async with slots.of(who):
                gate = asyncio.Event()
                order.append(who)
                gates.append(gate)
                await gate.wait()

        tasks = [asyncio.create_task(work("greedy")) for _ in range(10)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order == ["greedy", "greedy"]  # of three slots one is left
        tasks += [asyncio.create_task(work("a")), asyncio.create_task(work("b"))]
        for _ in range(3):
            await asyncio.sleep(0)
        assert order == ["greedy", "greedy", "a"]
        tasks[5].cancel()  # whoever goes away while he waits leaves no hole
        gates[0].set()
        for _ in range(5):
            await asyncio.sleep(0)
        assert order[3] == "b"
        for _ in range(40):
            for gate in gates:
                gate.set()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order.count("greedy") == 9 and not slots._held and not slots._waiting

    asyncio.run(play())
