"""What dies, is stopped, or fills up: nothing acknowledged is lost, nothing is counted twice."""

import concurrent.futures as futures
import contextlib
import os
import random
import subprocess
import threading
import time

import ground
import httpx
import pytest
from conftest import Service, running

from epimeter.store import Store, evaluations
from epimeter.store.moments import month_of, now

PATH = "/v1/evaluate"
ARROW = "application/vnd.apache.arrow.stream"
ONE = ground.body({"confidence": [0.9], "correct": [True]})


def truth(service, organization):
    """Used evaluations, and the attempts of system m in the database."""
    store = Store(service.postgres or f"sqlite:///{service.folder}/epimeter.db", pool=2)
    try:
        with store.reading() as db:
            rows = evaluations.page(db, organization, None, 100_000)
            used = evaluations.used(db, organization, month_of(now()))
        return used, rows
    finally:
        store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_workers_job_is_taken_up_again_and_done_once(kind, tmp_path, request):
    url = request.getfixturevalue("postgres").database() if kind == "postgres" else None
    with running(tmp_path, url, rows_at_once=1000, job_lease=2, max_rows=3_000_000) as made:
        with made.tenant("Jobs") as client:
            data = ground.arrow(ground.columns(400_000, timestamps=False))
            headers = {"content-type": ARROW}
            queued = [
                client.post(PATH, content=data, params={"model_id": "m"}, headers=headers).json()["evaluation_id"]
                for _ in range(2)
            ]
            organization, key = client.organization, client.key["key"]
        made.kill()
        made.start()
        with made.client(key) as client:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                found = [client.get(f"/v1/evaluations/{number}").json() for number in queued]
                if all(one["status"] == "completed" for one in found):
                    break
                time.sleep(0.2)
            assert [one["status"] for one in found] == ["completed"] * 2
            assert found[0]["metrics"] == found[1]["metrics"]
            told = [line["action"] for line in client.get("/v1/audit").json()["items"]]
            assert told.count("evaluation.completed") == 2
        used, rows = truth(made, organization)
        assert used == 2 and sorted(row["attempt"] for row in rows) == [1, 2]


def storm(made, client_key, organization, kills, pause, workers=4):
    """Kill the server again and again while clients send; what each client was told."""
    told, lock, stop = {}, threading.Lock(), threading.Event()

    def client(number):
        count = 0
        while not stop.is_set():
            key = f"{number}-{count}"
            with contextlib.suppress(httpx.HTTPError):
                answer = httpx.post(
                    f"{made.url}{PATH}", json=ONE, headers={"x-api-key": client_key, "idempotency-key": key}, timeout=30
                )
                if answer.status_code == 200:
                    with lock:
                        told[key] = answer.json()["evaluation_id"]
                    count += 1
                    continue
                assert answer.status_code in (409, 429, 503), answer.text
            time.sleep(0.1)

    with futures.ThreadPoolExecutor(workers) as pool:
        running_ = [pool.submit(client, number) for number in range(workers)]
        for _ in range(kills):
            before, end = len(told), time.monotonic() + 30
            while len(told) == before and time.monotonic() < end:  # so that every life of the server is under load
                time.sleep(0.01)
            time.sleep(random.uniform(*pause))
            made.kill()
            made.start()
        time.sleep(0.5)
        stop.set()
        for one in running_:
            one.result()
    used, rows = truth(made, organization)
    stored = {row["id"] for row in rows}
    assert set(told.values()) <= stored, "an acknowledged evaluation is lost"
    assert len(set(told.values())) == len(told), "two requests share one evaluation"
    assert used == len(rows), "the quota counts something else than evaluations"
    assert sorted(row["attempt"] for row in rows) == list(range(1, len(rows) + 1))
    # An evaluation that nobody was told of may be there: the answer was lost on the way. Each client lost one at a time.
    assert len(stored) - len(told) <= workers * (kills + 1)
    return len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kill_9_under_load_loses_nothing_and_counts_nothing_twice(kind, tmp_path, request):
    url = request.getfixturevalue("postgres").database() if kind == "postgres" else None
    with running(tmp_path, url) as made, made.tenant("Storm", "CRITICAL") as client:
        assert storm(made, client.key["key"], client.organization, 20, (0.0, 0.5)) >= 20
        assert_logs_sound(made)


def assert_logs_sound(made):
    """Both logs are the trees of their checkpoints, and every audit entry is in the log once."""
    from epimeter.trust.audit import audit
    from epimeter.trust.checkpoint import LogPolicy
    from epimeter.trust.log import Log
    from epimeter.trust.note import NoteKey
    from epimeter.trust.registry import Registry

    made.stop()
    with Registry(made.folder / "registry") as registry:
        keys = [record.public for record in registry.root().ring if record.role == "log"]
    for name in ("log.db", "audit.db"):
        with Log(made.folder / "registry" / name) as log:
            policy = LogPolicy(log_keys=tuple(NoteKey(log.origin, key) for key in keys))
            found = audit(log.path, policy)
            assert not found.findings, found
            if name == "audit.db":
                import json

                numbers = [json.loads(entry).get("number") for entry in log.entries(0, log.size)]
                numbers = [number for number in numbers if number is not None]
                assert len(numbers) == len(set(numbers))
    made.start()


def test_two_processes_on_one_postgresql_keep_limits_quota_and_numbers(tmp_path, postgres):
    url = postgres.database()
    with running(tmp_path, url) as first:
        second = Service(first.folder, first.environment, url)
        second.start()
        try:
            with first.tenant("Two", "OPEN") as client, futures.ThreadPoolExecutor(8) as pool:
                key = {"x-api-key": client.key["key"]}
                urls = [first.url, second.url] * 15
                codes = list(
                    pool.map(lambda at: httpx.get(f"{at}/v1/usage", headers=key, timeout=30).status_code, urls)
                )
                assert codes.count(200) == 10 and codes.count(429) == 20
            with first.tenant("Many", "CRITICAL") as client, futures.ThreadPoolExecutor(8) as pool:
                key = {"x-api-key": client.key["key"]}
                urls = [first.url, second.url] * 30
                answers = list(pool.map(lambda at: httpx.post(f"{at}{PATH}", json=ONE, headers=key, timeout=60), urls))
                assert sorted(answer.json()["attempt"] for answer in answers) == list(range(1, 61))
                same = {**key, "idempotency-key": "one"}
                twice = list(
                    pool.map(lambda at: httpx.post(f"{at}{PATH}", json=ONE, headers=same, timeout=60), urls[:8])
                )
                assert len({one.json()["evaluation_id"] for one in twice if one.status_code == 200}) == 1
                used, rows = truth(first, client.organization)
                assert used == len(rows) == 61
                # Both issue: one log, one tree, attempts in one row.
                ids = []
                for seed, at in enumerate([first.url, second.url]):
                    made = ground.body(ground.columns(2000, seed), model_id="c", model_version="1")
                    number = httpx.post(f"{at}{PATH}", json=made, headers=key, timeout=60).json()["evaluation_id"]
                    ids.append((at, number))
                issued = list(
                    pool.map(
                        lambda one: httpx.post(
                            f"{one[0]}/v1/certificates", json={"evaluation_id": one[1]}, headers=key, timeout=60
                        ),
                        ids,
                    )
                )
                assert [one.status_code for one in issued] == [201, 201], [one.text for one in issued]
                assert len({one.json()["evidence"]["attempt"] for one in issued}) == 2
        finally:
            second.stop()
        assert_logs_sound(first)


def test_postgresql_stopped_and_started_again(tmp_path):
    """While it is away the answer is 503; when it is back the same server goes on."""
    from conftest import Postgres

    own = Postgres()
    try:
        with running(tmp_path, own.database()) as made, made.tenant("Away") as client:
            assert client.post(PATH, json=ONE).status_code == 200
            own.stop()
            answer = client.post(PATH, json=ONE)
            assert answer.status_code == 503 and answer.headers["retry-after"]
            assert answer.json()["type"] == "/problems/unavailable"
            assert client.get("/healthz").status_code == 200
            assert client.get("/readyz").status_code == 503
            own.start()
            end = time.monotonic() + 20
            while time.monotonic() < end and client.get("/readyz").status_code != 200:
                time.sleep(0.2)
            assert client.post(PATH, json=ONE).status_code == 200
            assert client.get("/v1/usage").json()["evaluations"] == 2
    finally:
        own.remove()


def test_a_full_disk_refuses_and_loses_nothing(tmp_path):
    """A file system of a few megabytes, filled up while the service runs on it."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "none", str(place)], capture_output=True
    )
    if mounted.returncode:
        return limited_by_quota(tmp_path)
    try:
        with running(place) as made, made.tenant("Full", "CRITICAL") as client:
            assert client.post(PATH, json=ONE).status_code == 200
            with (place / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(4096))
            data = ground.arrow(ground.columns(60_000, timestamps=False))
            codes = set()
            for _ in range(40):
                answer = client.post(PATH, content=data, params={"model_id": "m"}, headers={"content-type": ARROW})
                codes.add(answer.status_code)
                if answer.status_code == 507:
                    break
            assert 507 in codes and codes <= {200, 507}, codes
            (place / "filler").unlink()
            assert client.post(PATH, json=ONE).status_code == 200
            used, rows = truth(made, client.organization)
            assert used == len(rows)
    finally:
        subprocess.run(["umount", str(place)], check=True)


def limited_by_quota(tmp_path):
    """Without the right to mount: a process whose files may not grow."""
    with running(tmp_path) as made, made.tenant("Full", "CRITICAL") as client:
        assert client.post(PATH, json=ONE).status_code == 200
        import resource

        size = os.path.getsize(made.folder / "epimeter.db") + (2 << 20)
        resource.prlimit(made.process.pid, resource.RLIMIT_FSIZE, (size, size))
        data = ground.arrow(ground.columns(400_000, timestamps=False))
        answer = client.post(PATH, content=data, params={"model_id": "m"}, headers={"content-type": ARROW})
        assert answer.status_code in (503, 507), answer.text
        resource.prlimit(made.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        used, rows = truth(made, client.organization)
        assert used == len(rows)


def test_a_clock_that_is_set_back_breaks_nothing(tmp_path):
    """The store's promises do not rest on time going forward: numbers go on, leases of the future lapse by finishing."""
    from epimeter.store import jobs, organizations
    from epimeter.store.migrations import migrate
    from epimeter.store.moments import SECOND

    store = Store(f"sqlite:///{tmp_path}/a.db", pool=2)
    migrate(store)
    hour = 3600 * SECOND
    with store.writing() as db:
        organizations.add(db, id="org_a", name="A", tier="OPEN", at=now())
        assert evaluations.count_use(db, "org_a", month_of(now()), 100) == 1
        assert evaluations.count_use(db, "org_a", month_of(now() - hour), 100) in (1, 2)
        assert [evaluations.next_attempt(db, "org_a", "s") for _ in range(2)] == [1, 2]
        job = jobs.add(db, organization="org_a", kind="evaluate", subject="x", at=now())
        assert jobs.claim(db, "one", now())["id"] == job
        # An hour back: the job is still the first worker's, and his result counts.
        assert jobs.claim(db, "two", now() - hour) is None
        assert jobs.renew(db, job, "one", now() - hour)
        assert jobs.finish(db, job, "one", now() - hour)
    store.close()
