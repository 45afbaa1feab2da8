"""What dies, is stopped, fills up, or goes back in time: nothing acknowledged is lost, nothing is counted twice."""

import concurrent.futures as futures
import contextlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import ground
import httpx
import pytest
from servers import NO_TLS, Postgres, Service, running

from epimeter.store import Store, evaluations, tables
from epimeter.store.moments import month_of, now
from epimeter.store.tables import certificates, journal, usage

PATH = "/v1/evaluate"
ARROW = "application/vnd.apache.arrow.stream"
ONE = ground.body({"confidence": [0.9], "correct": [True]})
MANY = ground.arrow(ground.columns(2000))
KILLS = int(os.environ.get("EPIMETER_KILLS", "8"))
"""On each database; `make endurance` kills fifty times, a hundred in all."""


def truth(service, organization):
    """Used evaluations, and the evaluations in the database."""
    with opened(service) as db:
        rows = evaluations.page(db, organization, None, 100_000)
        return evaluations.used(db, organization, month_of(now())), rows


@contextlib.contextmanager
def opened(service):
    store = Store(service.postgres or f"sqlite:///{service.folder}/epimeter.db", pool=2)
    try:
        with store.reading() as db:
            yield db
    finally:
        store.close()


def assert_counted_once(service, organization, told):
    """What clients were told is there, and quota, attempts and audit entries count each evaluation once."""
    used, rows = truth(service, organization)
    stored = {row["id"] for row in rows}
    assert set(told.values()) <= stored, "an acknowledged evaluation is lost"
    assert len(set(told.values())) == len(told), "two requests share one evaluation"
    assert used == len(rows), "the quota counts something else than evaluations"
    by_system = {}
    for row in rows:
        by_system.setdefault(row["system_id"], []).append(row["attempt"])
    for attempts in by_system.values():
        assert sorted(attempts) == list(range(1, len(attempts) + 1))
    assert {row["status"] for row in rows} <= {"completed"}, "a job was not done"
    with opened(service) as db:
        mine = journal.c.organization == organization
        found = db.execute(journal.select().where(mine, journal.c.action == "evaluation.completed")).mappings()
        assert Counter(row["subject"] for row in found) == dict.fromkeys(stored, 1)
    return rows


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
                numbers = [json.loads(entry).get("number") for entry in log.entries(0, log.size)]
                numbers = [number for number in numbers if number is not None]
                assert numbers and len(numbers) == len(set(numbers))
    made.start()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_workers_job_is_taken_up_again_and_done_once(kind, tmp_path, request):
    url = request.getfixturevalue("postgres").database() if kind == "postgres" else None
    with running(tmp_path, url, rows_at_once=1000, job_lease=2, max_rows=3_000_000) as made:
        with made.tenant("Jobs") as client:
            data = ground.arrow(ground.columns(400_000, timestamps=False))
            headers = {"content-type": ARROW}
            queued = {
                str(n): client.post(PATH, content=data, params={"model_id": "m"}, headers=headers).json()[
                    "evaluation_id"
                ]
                for n in range(2)
            }
            organization, key = client.organization, client.key["key"]
        made.kill()
        made.start()
        with made.client(key) as client:
            found = finished(client, queued.values())
            assert found[0]["metrics"] == found[1]["metrics"]
        assert_counted_once(made, organization, queued)


def finished(client, numbers, seconds=120):
    """Evaluations once their jobs are done."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = [client.get(f"/v1/evaluations/{number}").json() for number in numbers]
        if all(one["status"] == "completed" for one in found):
            return found
        time.sleep(0.3)
    raise AssertionError([one["status"] for one in found])


def settle(made, organization, seconds=120):
    """Wait until no job is left."""
    end = time.monotonic() + seconds
    while any(row["status"] == "queued" for row in truth(made, organization)[1]):
        assert time.monotonic() < end, "a job is never done"
        time.sleep(0.5)


class Load:
    """Clients that send until told to stop, each request under its idempotency key until it is answered."""

    def __init__(self, services, key):
        self.services, self.key = services, key
        self.told, self.certified, self.faults = {}, {}, []
        self._stop, self._threads = threading.Event(), []

    def __enter__(self):
        for number in range(4):
            self._go(self._evaluate, number)
        self._go(self._certify, 9)
        return self

    def _go(self, work, number):
        def run():
            try:
                work(number)
            except Exception as fault:
                self.faults.append(fault)

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def send(self, path, name=None, patience=180.0, **options):
        """Send until it is answered; any server will do. None when told to stop first."""
        headers = {"x-api-key": self.key, **options.pop("headers", {})}
        headers |= {} if name is None else {"idempotency-key": name}
        end, last = None, "nothing"
        while True:
            try:
                service = random.choice(self.services)
                answer = httpx.request(
                    "GET" if not options else "POST", service.url + path, headers=headers, timeout=30, **options
                )
                if answer.status_code < 400:
                    return answer
                last = answer.text
                assert answer.status_code in (409, 429, 503), last
                assert answer.json()["type"] != "/problems/conflict", last  # trying again would never help
            except httpx.HTTPError as fault:
                last = repr(fault)
            if self._stop.is_set():
                end = end or time.monotonic() + patience
                if time.monotonic() > end:
                    raise AssertionError(f"{path} {name} is never answered: {last}")
            time.sleep(0.05)

    def _evaluate(self, number):
        """Small ones that are answered at once, and every third a job."""
        for count in range(10**9):
            if self._stop.is_set():
                return
            name = f"{number}-{count}"
            if count % 3:
                answer = self.send(PATH, name, json=ONE)
            else:
                answer = self.send(PATH, name, content=MANY, params={"model_id": "j"}, headers={"content-type": ARROW})
            self.told[name] = answer.json()["evaluation_id"]

    def _certify(self, number):
        """From an evaluation to its certificate."""
        for count in range(10**9):
            if self._stop.is_set():
                return
            made = ground.body(ground.columns(1000, seed=count), model_id="c", model_version="1")
            name = f"{number}-{count}"
            found = self.send(PATH, name, json=made).json()
            self.told[name] = found["evaluation_id"]
            assert found["certifiable"], found
            answer = self.send("/v1/certificates", json={"evaluation_id": found["evaluation_id"]})
            self.certified[found["evaluation_id"]] = answer.json()["certificate"]["id"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kill_9_under_load_loses_nothing_and_counts_nothing_twice(kind, tmp_path, request):
    """On PostgreSQL one process answers and another works, and either is killed."""
    settings = {"rows_at_once": 1500, "job_lease": 2, "request_lease": 3, "keep_rows_days": 30}
    url = request.getfixturevalue("postgres").database() if kind == "postgres" else None
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(running(tmp_path, url, **settings))
        processes = [first]
        if url is not None:
            worker = Service(first.folder, first.environment, url)
            first.stop()
            first.environment = {**first.environment, "EPIMETER_WORKERS": "0"}
            first.start()
            processes.append(worker.start())
            stack.callback(worker.stop)
        client = stack.enter_context(first.tenant("Storm", "CRITICAL"))
        with Load(processes, client.key["key"]) as load:
            for _ in range(KILLS):
                before, end = len(load.told), time.monotonic() + 60
                while len(load.told) <= before and time.monotonic() < end:  # so that every life is under load
                    time.sleep(0.01)
                time.sleep(random.uniform(0.0, 0.5))
                victim = random.choice(processes)
                victim.kill()
                victim.start()
        assert not load.faults, load.faults
        assert len(load.told) > KILLS and load.certified
        settle(first, client.organization)
        assert_counted_once(first, client.organization, load.told)
        assert_one_certificate_each(first, load.certified)
        if url is not None:
            processes[1].stop()
        assert_logs_sound(first)
        if url is not None:
            processes[1].start()


def test_a_certificate_whose_process_died_before_issuing_is_issued_by_the_next(tmp_path):
    """The claim is there, nothing was signed: the next who asks waits out the lease, and then gets one."""
    with running(tmp_path, request_lease=1) as made, made.tenant("Left", "CRITICAL") as client:
        body = ground.body(ground.columns(1000), model_id="c", model_version="1")
        number = client.post(PATH, json=body).json()["evaluation_id"]
        store = Store(f"sqlite:///{made.folder}/epimeter.db", pool=1)
        with store.writing() as db:
            names = {"organization": client.organization, "organization_name": "Left", "system_id": "c"}
            held = {"evaluation": number, "domain": "general", "claimed_at": now()}
            db.execute(certificates.insert().values(**names, **held))
        store.close()
        assert client.post("/v1/certificates", json={"evaluation_id": number}).status_code == 409
        time.sleep(1.5)
        answer = client.post("/v1/certificates", json={"evaluation_id": number})
        assert answer.status_code == 201, answer.text
        assert_one_certificate_each(made, {number: answer.json()["certificate"]["id"]})


def assert_one_certificate_each(made, told):
    """Every certificate that was handed out is the registry's, and no evaluation has two."""
    from epimeter.trust.registry import Registry

    with opened(made) as db:
        noted = {row["evaluation"]: row["id"] for row in db.execute(certificates.select()).mappings()}
        counted = list(db.execute(tables.evaluations.select()).mappings())
    assert told.items() <= noted.items()
    with Registry(made.folder / "registry") as registry:
        documents = [json.loads(registry.certificate(row["id"])) for row in registry.listing()]
    digests = [document["evidence"]["report_digest"] for document in documents]
    assert len(digests) == len(set(digests)), "an evaluation has two certificates"
    assert set(told.values()) <= {document["certificate"]["id"] for document in documents}
    # A certificate says how many evaluations of the system were accepted by then: its own, and never more than there are.
    own = {noted[row["id"]]: row for row in counted if row["id"] in noted}
    accepted = Counter((row["organization"], row["system_id"]) for row in counted)
    for document in documents:
        row = own[document["certificate"]["id"]]
        most = accepted[row["organization"], row["system_id"]]
        assert row["attempt"] <= document["evidence"]["attempt"] <= most, "attempts are hidden, or counted twice"


def test_two_processes_on_one_postgresql_keep_limits_quota_jobs_and_log(tmp_path, postgres):
    url = postgres.database()
    with running(tmp_path, url, rows_at_once=1500) as first, futures.ThreadPoolExecutor(8) as pool:
        second = Service(first.folder, first.environment, url)
        second.start()
        both = [first.url, second.url]

        def post(at, path=PATH, **options):
            return httpx.post(at + path, timeout=60, verify=NO_TLS, **options)

        try:
            with first.tenant("Two", "OPEN") as client:
                key = {"x-api-key": client.key["key"]}
                answers = pool.map(
                    lambda at: httpx.get(f"{at}/v1/usage", headers=key, timeout=30, verify=NO_TLS), both * 15
                )
                assert Counter(answer.status_code for answer in answers) == {200: 10, 429: 20}
            with first.tenant("Quota", "STANDARD") as client:
                store = Store(url, pool=1)
                with store.writing() as db:
                    used = {"organization": client.organization, "month": month_of(now()), "evaluations": 9_995}
                    db.execute(usage.insert().values(**used))
                store.close()
                key = {"x-api-key": client.key["key"]}
                answers = list(pool.map(lambda at: post(at, json=ONE, headers=key), both * 10))
                assert Counter(answer.status_code for answer in answers) == {200: 5, 429: 15}
                assert {one.json()["type"] for one in answers if one.status_code == 429} == {"/problems/quota-used-up"}
                used, rows = truth(first, client.organization)
                assert (used, len(rows)) == (10_000, 5)
            with first.tenant("Many", "CRITICAL") as client:
                key = {"x-api-key": client.key["key"]}
                answers = list(pool.map(lambda at: post(at, json=ONE, headers=key), both * 30))
                told = {str(n): answer.json()["evaluation_id"] for n, answer in enumerate(answers)}
                same = {**key, "idempotency-key": "one"}
                twice = pool.map(lambda at: post(at, json=ONE, headers=same), both * 4)
                ids = {one.json()["evaluation_id"] for one in twice if one.status_code == 200}
                assert len(ids) == 1
                told["one"] = ids.pop()
                # Jobs that either takes, each done once.
                arrow = {**key, "content-type": ARROW}
                queued = pool.map(lambda at: post(at, content=MANY, params={"model_id": "j"}, headers=arrow), both * 10)
                told |= {f"job {n}": answer.json()["evaluation_id"] for n, answer in enumerate(queued)}
                finished(client, list(told.values())[-20:])
                # Both issue: one log, one tree, attempts in one row.
                certified = {}
                for seed, at in enumerate(both * 2):
                    made = ground.body(ground.columns(1000, seed), model_id="c", model_version="1")
                    told[f"c {seed}"] = number = post(at, json=made, headers=key).json()["evaluation_id"]
                    certified[number] = at
                issued = list(
                    pool.map(
                        lambda one: post(one[1], "/v1/certificates", json={"evaluation_id": one[0]}, headers=key),
                        certified.items(),
                    )
                )
                assert [one.status_code for one in issued] == [201] * 4, [one.text for one in issued]
                assert [one.json()["evidence"]["attempt"] for one in issued] == [4] * 4  # all were accepted before
                assert_counted_once(first, client.organization, told)
                names = [one.json()["certificate"]["id"] for one in issued]
                assert_one_certificate_each(first, dict(zip(certified, names, strict=True)))
        finally:
            second.stop()
        assert_logs_sound(first)


def test_postgresql_stopped_and_started_again(tmp_path):
    """While it is away the answer is 503; when it is back the same server goes on, and what was sent meanwhile counts once."""
    own = Postgres()
    try:
        settings = {"rows_at_once": 1500, "job_lease": 2, "request_lease": 3}
        with running(tmp_path, own.database(), **settings) as made, made.tenant("Away", "CRITICAL") as client:
            with Load([made], client.key["key"]) as load:
                for _ in range(3):
                    time.sleep(1.0)
                    own.stop()
                    answer = client.post(PATH, json=ONE)
                    assert answer.status_code == 503 and answer.headers["retry-after"]
                    assert answer.json()["type"] == "/problems/unavailable"
                    assert client.get("/healthz").status_code == 200
                    assert client.get("/readyz").status_code == 503
                    own.start()
                    end = time.monotonic() + 30
                    while time.monotonic() < end and client.get("/readyz").status_code != 200:
                        time.sleep(0.2)
                    before = len(load.told)
                    while time.monotonic() < end and len(load.told) <= before:
                        time.sleep(0.05)
                    assert len(load.told) > before
            assert not load.faults, load.faults
            settle(made, client.organization)
            assert_counted_once(made, client.organization, load.told)
            assert_one_certificate_each(made, load.certified)
            assert_logs_sound(made)
    finally:
        own.remove()


def can_mount():
    with tempfile.TemporaryDirectory() as folder:
        words = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder]
        try:
            if subprocess.run(words, capture_output=True).returncode:
                return False
        except OSError:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


@contextlib.contextmanager
def small_disk(place, made):
    """A file system of a few megabytes, filled up."""
    with (place / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))
    try:
        yield
    finally:
        (place / "filler").unlink()


@contextlib.contextmanager
def short_files(place, made):
    """Without the right to mount: a process whose files may not grow."""
    size, free = (made.folder / "epimeter.db-wal").stat().st_size, resource.RLIM_INFINITY
    resource.prlimit(made.process.pid, resource.RLIMIT_FSIZE, (size, free))
    try:
        yield
    finally:
        resource.prlimit(made.process.pid, resource.RLIMIT_FSIZE, (free, free))


@pytest.mark.parametrize("how", [*([small_disk] if can_mount() else []), short_files], ids=lambda how: how.__name__)
def test_a_full_disk_refuses_and_loses_nothing(how, tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    with contextlib.ExitStack() as stack:
        if how is small_disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "none", str(place)], check=True)
            stack.callback(lambda: subprocess.run(["umount", str(place)], check=True))
        made = stack.enter_context(running(place, signal_period=1))
        client = stack.enter_context(made.tenant("Full", "CRITICAL"))
        told = {"first": client.post(PATH, json=ONE).json()["evaluation_id"]}
        codes = Counter()
        large = ground.arrow(ground.columns(100_000))
        assert len(large) > 1 << 20  # goes to a file while it comes in
        with how(place, made):
            for number in range(30):
                if number % 2:
                    answer = client.post(PATH, json=ground.body(ground.columns(1000, seed=number), model_version="1"))
                else:
                    query, headers = {"model_id": "m"}, {"content-type": ARROW}
                    answer = client.post(PATH, content=large, params=query, headers=headers)
                codes[answer.status_code] += 1
                if answer.status_code == 200:
                    told[str(number)] = answer.json()["evaluation_id"]
                else:
                    assert answer.json()["type"] in ("/problems/out-of-space", "/problems/unavailable"), answer.text
                    assert answer.headers["retry-after"]
            assert client.get("/v1/usage").status_code == 200  # reading goes on
            time.sleep(1.5)  # signals and audit entries find no room either
        assert set(codes) <= {200, 503, 507} and codes[507] + codes[503] >= 10, codes
        if how is small_disk:
            assert codes[507] >= 10, codes
        answer = client.post(PATH, json=ONE)
        assert answer.status_code == 200, answer.text
        told["last"] = answer.json()["evaluation_id"]
        assert_counted_once(made, client.organization, told)
        end = time.monotonic() + 40
        while time.monotonic() < end:
            lines = client.get("/v1/audit").json()["items"]
            if all(line["log_index"] is not None for line in lines):
                break
            time.sleep(0.3)
        assert all(line["log_index"] is not None for line in lines), "the audit log did not catch up"
        assert_logs_sound(made)


def test_a_clock_that_is_set_back_breaks_nothing(tmp_path):
    """Two hours back while the server runs, with a job whose worker died in the hours that are now to come."""
    clock = tmp_path / "clock"
    clock.write_text("0")
    settings = {"EPIMETER_ROWS_AT_ONCE": "1500", "EPIMETER_JOB_LEASE": "5", "EPIMETER_SIGNAL_PERIOD": "1"}
    program = (sys.executable, str(Path(__file__).with_name("clockwork.py")), str(clock))
    made = Service(tmp_path / "data", settings, program=program)
    made.start()
    try:
        client = made.tenant("Clock", "CRITICAL")
        key = {"idempotency-key": "before"}
        clock.write_text("7200")
        told = {"before": client.post(PATH, json=ONE, headers=key).json()["evaluation_id"]}
        assert client.get(f"/v1/evaluations/{told['before']}").json()["created_at"] > later(3600)
        certified = {}
        for seed in range(2):
            body = ground.body(ground.columns(1000, seed), model_id="c", model_version="1")
            told[f"c {seed}"] = number = client.post(PATH, json=body).json()["evaluation_id"]
            if seed == 1:
                clock.write_text("0")
            answer = client.post("/v1/certificates", json={"evaluation_id": number})
            assert answer.status_code == 201, answer.text
            certified[number] = answer.json()["certificate"]["id"]
        clock.write_text("7200")
        send = {"content": MANY, "params": {"model_id": "j"}, "headers": {"content-type": ARROW}}
        told["job"] = client.post(PATH, **send).json()["evaluation_id"]
        made.kill()
        clock.write_text("0")
        made.start()
        with made.client(client.key["key"]) as client_:
            finished(client_, [told["job"]], 30)
            again = client_.post(PATH, json=ONE, headers=key)
            assert again.json()["evaluation_id"] == told["before"] and again.headers["idempotency-replayed"]
            for number in range(3):
                told[str(number)] = client_.post(PATH, json=ONE).json()["evaluation_id"]
            told["job after"] = client_.post(PATH, **send).json()["evaluation_id"]
            finished(client_, [told["job after"]], 30)
            assert client_.get("/v1/usage").json()["evaluations"] == len(told)
            assert client_.get("/v1/signal/status").status_code == 200
            attempts = [
                line["attempt"] for line in client_.get("/v1/evaluations", params={"model_id": "m"}).json()["items"]
            ]
            assert sorted(attempts) == [1, 2, 3, 4]
        assert_counted_once(made, client.organization, told)
        assert_one_certificate_each(made, certified)
        assert_logs_sound(made)
        client.close()
    finally:
        made.stop()


def later(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + seconds))
