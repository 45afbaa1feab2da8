"""Migrations up and down with data in them, and what the repositories promise, on both databases."""

import contextlib
import io
import json
import threading
import time

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Boolean, Float, Integer, LargeBinary, MetaData, inspect, text

from epimeter.monitor.cells import SIZE
from epimeter.monitor.history import History
from epimeter.monitor.window import Window
from epimeter.store import (
    Store,
    collecting,
    evaluations,
    idempotency,
    jobs,
    journal,
    leases,
    organizations,
    registry,
    signals,
)
from epimeter.store.bell import JOBS
from epimeter.store.engine import StoreError
from epimeter.store.migrations import migrate, revision
from epimeter.store.moments import SECOND, micros, moment, month_of, new_id, now, written
from epimeter.store.tables import metadata


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request, tmp_path):
    url = (
        request.getfixturevalue("postgres").database() if request.param == "postgres" else f"sqlite:///{tmp_path}/a.db"
    )
    store = Store(url, pool=5)
    yield store
    store.close()


@pytest.fixture
def store(empty):
    migrate(empty)
    with empty.writing() as db:
        organizations.add(db, id="org_a", name="A", tier="OPEN", at=1)
        organizations.add(db, id="org_b", name="B", tier="OPEN", at=2)
    return empty


def evaluation(number, organization="org_a", **more):
    facts = {"key_id": "k", "system_id": "s", "domain": "general", "attempt": 1, "status": "queued", "created_at": 5}
    return {"id": number, "organization": organization, "request": b"{}", "rows_kept": 0, **facts, **more}


def test_the_tables_are_what_the_migrations_make(empty):
    migrate(empty)
    with empty.reading() as db:
        assert compare_metadata(MigrationContext.configure(db), metadata) == []


def test_every_step_goes_up_and_down_with_data_in_it(empty):
    migrate(empty, "0001")
    with empty.writing() as db:
        db.execute(text("INSERT INTO organizations VALUES ('org_a', 'A', 'OPEN', 1)"))
        db.execute(
            text(
                "INSERT INTO evaluations (id, organization, key_id, system_id, domain, attempt, status, created_at, request)"
                " VALUES ('eval_1', 'org_a', 'k', 's', 'general', 1, 'completed', 7, :request)"
            ),
            {"request": b"{}"},
        )
        db.execute(text("INSERT INTO usage VALUES ('org_a', '2026-11', 41)"))
        db.execute(text("INSERT INTO systems VALUES ('org_a', 'Triage', 3), ('org_a', 'triage.', 4)"))

    def kept():
        with empty.reading() as db:
            row = db.execute(text("SELECT organization, attempt, created_at FROM evaluations")).one()
            used = db.execute(text("SELECT evaluations FROM usage")).scalar_one()
        return tuple(row) == ("org_a", 1, 7) and used == 41

    migrate(empty, "0002")
    assert kept()
    with empty.writing() as db:
        assert db.execute(text("SELECT rows_kept FROM evaluations")).scalar_one() == 0
        evaluations_rows = {"data": b"x"}
        db.execute(text("INSERT INTO rows VALUES ('eval_1', 0, :data)"), evaluations_rows)
        jobs.add(db, organization="org_a", kind="evaluate", subject="eval_1", at=9)
    migrate(empty)
    assert kept() and revision(empty) == "0010"
    with empty.writing() as db:
        found = evaluations.find(db, "org_a", "eval_1")
        assert found["attempt_logged"] == 0
        assert evaluations.attempts(db, "org_a", "tri-age") == 7
        assert list(evaluations.retained_rows(db, "eval_1")) == [b"x"]
        values = {"organization_name": "A", "system_id": "s", "domain": "general"}
        assert registry.claim(db, evaluation="eval_1", organization="org_a", at=1, **values)[0] == "ours"
        assert signals.add(db, slot=1, id="SIG", at=1, body=b"{}", digest="d")
    for target in ("0002", "0001", "0010", "0001"):
        migrate(empty, target)
        assert revision(empty) == target and kept()
    migrate(empty, "base")
    assert revision(empty) is None
    with empty.reading() as db:
        assert set(inspect(db).get_table_names()) <= {"alembic_version"}
    migrate(empty)


def _row(table, turn):
    """A row that fits a table as it is at some revision."""
    known = {
        "organization": "org_1",
        "evaluation": "eval_1",
        "totals": json.dumps(Window(np.arange(1, SIZE + 1)).to_dict()),
    }
    known |= {"win": "2026-01-01", "history": json.dumps(History().to_dict())}
    row = {}
    for column in table.columns:
        kind = column.type
        if table.name == "organizations" and column.name == "id":
            row["id"] = "org_1"
        elif table.name == "evaluations" and column.name == "id":
            row["id"] = "eval_1"
        elif column.name in known:
            value = known[column.name]
            row[column.name] = value.encode() if isinstance(kind, LargeBinary) else value
        elif isinstance(kind, (Integer, Boolean)):
            row[column.name] = turn
        elif isinstance(kind, LargeBinary):
            row[column.name] = b"{}"
        elif isinstance(kind, Float):
            row[column.name] = 0.5
        else:
            row[column.name] = f"v{turn}"
    return row


def test_every_released_form_is_brought_to_the_newest_with_all_its_rows(empty):
    """A database of each revision, a row in every table: the rows are there after the upgrade, as they were."""
    migrate(empty)
    for number in range(1, int(revision(empty)) + 1):
        migrate(empty, "base")
        name = f"{number:04}"
        migrate(empty, name)
        old = MetaData()
        with empty.reading() as db:
            old.reflect(db)
        tables = [table for table in old.sorted_tables if table.name != "alembic_version"]
        rows = {table.name: _row(table, 1) for table in tables}
        with empty.writing() as db:
            for table in tables:
                db.execute(table.insert(), rows[table.name])
        migrate(empty)
        new = MetaData()
        with empty.reading() as db:
            new.reflect(db)
            for table, row in rows.items():
                if table == "collected_windows" and table not in new.tables:
                    continue  # blocks took its place; the test of windows below reads them back
                (found,) = db.execute(new.tables[table].select()).mappings().all()
                for column, value in row.items():
                    if column in found and column not in ("totals", "history", "state"):  # rewritten: tested apart
                        was = bytes(found[column]) if isinstance(value, bytes) else found[column]
                        assert was == value, (name, table, column)


def test_totals_of_windows_go_from_json_to_bytes_and_back(empty):
    migrate(empty, "0007")
    before = Window(np.arange(1, SIZE + 1)).having(scale=97.5).to_dict()
    with empty.writing() as db:
        values = {"totals": json.dumps(before)}
        db.execute(text("INSERT INTO collected_windows VALUES (1, '2026-01-01', '', :totals)"), values)
        values = (1, "org_a", "s", json.dumps(History().to_dict()), 0, "", 0, 0)
        names = [f"v{k}" for k in range(len(values))]
        marks = ", ".join(f":{name}" for name in names)
        db.execute(text(f"INSERT INTO collected_systems VALUES ({marks})"), dict(zip(names, values, strict=True)))
    for target in ("0008", "0009", "0010", "0009", "0010"):  # as JSON, then as bytes
        migrate(empty, target)
    with empty.writing() as db:
        (window,) = collecting.collection(db).history(1).windows.values()
        assert window.to_dict() == before
    migrate(empty, "0007")
    with empty.reading() as db:
        assert json.loads(db.execute(text("SELECT totals FROM collected_windows")).scalar_one()) == before


def _insert(db, table, values):
    marks = ", ".join(f":{name}" for name in values)
    db.execute(text(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"), values)


def test_the_search_finds_a_part_of_any_name_in_any_case_and_also_what_was_issued_before_it_was_indexed(empty):
    migrate(empty, "0008")
    with empty.writing() as db:
        db.execute(text("INSERT INTO organizations VALUES ('org_a', 'A', 'OPEN', 1)"))
        evaluation = {"organization": "org_a", "key_id": "k", "system_id": "s", "domain": "general", "attempt": 1}
        evaluation |= {"status": "completed", "created_at": 7, "request": b"{}", "rows_kept": 0, "attempt_logged": 1}
        for number in range(3):
            _insert(db, "evaluations", evaluation | {"id": f"eval_{number}"})
        certificate = {"evaluation": "eval_0", "organization": "org_a", "claimed_at": 1, "id": "CERT-0A", "level": "L1"}
        certificate |= {"organization_name": "\u00c9tude AG", "system_id": "50%_off", "domain": "general"}
        _insert(db, "certificates", certificate | {"issued_at": 1, "expires_at": 2})
    migrate(empty)
    names = {
        "organization": "org_a",
        "organization_name": "\u00c9tude AG",
        "system_id": "Triage/7",
        "domain": "general",
    }
    with empty.writing() as db:
        registry.claim(db, evaluation="eval_1", at=2, **names)
        assert registry.issued(db, "eval_1", id="CERT-0B", level="L2", issued_at=3, expires_at=9)
        registry.claim(db, evaluation="eval_2", at=2, **names)  # not issued: nobody finds it

    def found(text):
        with empty.reading() as db:
            return [row["id"] for row in registry.search(db, before=None, limit=9, text=text)]

    for said in ("\u00e9tude", "TUDE a", "cert-0", "0"):
        assert found(said) == (["CERT-0B", "CERT-0A"]), said
    assert found("%_o") == found("CERT-0a") == ["CERT-0A"] and found("AGE/") == ["CERT-0B"]
    assert found("absent") == found("_")[1:] == found("a\0") == []


def test_a_text_is_looked_for_in_an_index_in_the_order_of_the_answer(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/a.db", pool=1)
    migrate(store)
    with store.reading() as db:
        query = (
            "EXPLAIN QUERY PLAN SELECT * FROM certificates WHERE id IS NOT NULL AND sought LIKE '%a%' "
            "ORDER BY issued_at DESC, id DESC LIMIT 26"
        )
        plan = " ".join(row[3] for row in db.execute(text(query)))
    store.close()
    assert "ix_certificates_issued_at_id_expires_at_sought" in plan and "TEMP B-TREE" not in plan


def test_processes_that_migrate_at_once_do_it_once(empty):
    faults = []

    def go():
        other = Store(empty.url.render_as_string(hide_password=False), pool=1)
        try:
            migrate(other)
        except Exception as fault:
            faults.append(fault)
        finally:
            other.close()

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == [] and revision(empty) == "0010"


def test_a_database_of_a_newer_program_is_refused(store):
    with store.writing() as db:
        db.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="9999"):
        migrate(store)


def test_a_transaction_that_fails_leaves_no_trace(store):
    with pytest.raises(RuntimeError), store.writing() as db:
        organizations.add(db, id="org_c", name="C", tier="OPEN", at=1)
        raise RuntimeError
    with store.reading() as db:
        assert organizations.count(db) == 2


def test_attempts_are_numbered_without_gaps_by_many_threads(store):
    found = []

    def go():
        for _ in range(10):
            with store.writing() as db:
                found.append(evaluations.next_attempt(db, "org_a", "s"))

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 41))


def test_a_job_is_one_workers_until_it_falls_silent(store):
    with store.writing() as db:
        job = jobs.add(db, organization="org_a", kind="evaluate", subject="x", at=1)
    with store.writing() as db:
        assert jobs.claim(db, "one", 10, lease=5)["id"] == job
    with store.writing() as db:
        assert jobs.claim(db, "two", 12, lease=5) is None
        assert jobs.renew(db, job, "one", 14, lease=5)
    with store.writing() as db:
        assert jobs.claim(db, "two", 16, lease=5) is None
        taken = jobs.claim(db, "two", 20, lease=5)
        assert taken["attempts"] == 2
    with store.writing() as db:
        assert not jobs.renew(db, job, "one", 21)
        assert not jobs.finish(db, job, "one", 21)
        assert jobs.finish(db, job, "two", 22)
        assert not jobs.finish(db, job, "two", 23)
        assert jobs.claim(db, "three", 10**9) is None
        assert jobs.find(db, "org_b", job) is None


def test_many_workers_never_share_a_job(store):
    with store.writing() as db:
        for number in range(40):
            jobs.add(db, organization="org_a", kind="evaluate", subject=str(number), at=number)
    seen = []

    def go(name):
        while True:
            with store.writing() as db:
                job = jobs.claim(db, name, now())
                if job is None:
                    return
                seen.append(job["id"])

    threads = [threading.Thread(target=go, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == len(set(seen)) == 40


def test_an_abandoned_idempotency_key_is_taken_over_and_the_late_answer_is_not_kept(store):
    mine = {"organization": "org_a", "path": "/p", "key": "k"}
    with store.writing() as db:
        assert idempotency.claim(db, **mine, fingerprint=b"f", holder="one", at=10 * SECOND) is None
        assert idempotency.claim(db, **mine, fingerprint=b"f", holder="two", at=11 * SECOND)["holder"] == "one"
        late = 10 * SECOND + idempotency.LEASE + 1
        assert idempotency.claim(db, **mine, fingerprint=b"other", holder="x", at=late) is not None
        assert idempotency.claim(db, **mine, fingerprint=b"f", holder="two", at=late) is None
        assert not idempotency.answer(db, **mine, holder="one", status=200, body=b"1", location=None)
        assert idempotency.answer(db, **mine, holder="two", status=200, body=b"2", location=None)
        assert bytes(idempotency.claim(db, **mine, fingerprint=b"f", holder="y", at=late)["body"]) == b"2"
        assert idempotency.claim(db, **mine, fingerprint=b"g", holder="z", at=late + 2 * idempotency.LIFE) is None
        assert idempotency.forget(db, late + 9 * idempotency.LIFE) == 1


def test_a_clock_that_is_set_back_leaves_no_lease_that_outlives_its_time(store):
    """Leases and claims of the future are no leases: each is taken up at once, and the first holder's result is refused."""
    hour, future = 3600 * SECOND, now()
    past = future - hour
    with store.writing() as db:
        evaluations.add(db, **evaluation("eval_1"))
        job = jobs.add(db, organization="org_a", kind="evaluate", subject="eval_1", at=future)
        assert jobs.claim(db, "one", future)["id"] == job
        waits = jobs.add(db, organization="org_a", kind="evaluate", subject="x", at=future)
    with store.writing() as db:
        assert {jobs.claim(db, "two", past)["id"], jobs.claim(db, "two", past)["id"]} == {job, waits}
        assert jobs.claim(db, "three", past + 1) is None
        assert not jobs.finish(db, job, "one", past) and jobs.finish(db, job, "two", past)
        mine = {"organization": "org_a", "path": "/p", "key": "k", "fingerprint": b"f"}
        assert idempotency.claim(db, **mine, holder="one", at=future) is None
        assert idempotency.claim(db, **mine, holder="two", at=past) is None
        assert idempotency.claim(db, **mine, holder="three", at=past + 1)["holder"] == "two"
        wanted = {"organization_name": "A", "system_id": "s", "domain": "general", "organization": "org_a"}
        said = [registry.claim(db, evaluation="eval_1", **wanted, at=at)[0] for at in (future, past, past + 1)]
        assert said == ["ours", "left", "theirs"]
        # Numbers never went by the clock.
        assert [evaluations.next_attempt(db, "org_a", "s") for _ in range(2)] == [1, 2]
        assert evaluations.count_use(db, "org_a", "2026-12", 1) == 1
        assert evaluations.count_use(db, "org_a", "2026-11", 1) == 1
        assert evaluations.count_use(db, "org_a", "2026-12", 1) is None


def test_a_window_forgets_requests_of_the_future(store, monkeypatch):
    """In memory because its clock only goes forward, in PostgreSQL because they are dropped."""
    from epimeter.service import rates

    made = rates.DatabaseStorage(store) if store.postgres else rates.MemoryStorage()
    assert [made.acquire_entry("k", 2, 60) for _ in range(3)] == [True, True, False]
    if store.postgres:
        with store.writing() as db:
            db.execute(text("UPDATE hits SET at = at + 3600"))
    else:
        begun = time.monotonic()
        monkeypatch.setattr(rates.time, "time", lambda: 0.0)
        monkeypatch.setattr(rates.time, "monotonic", lambda: begun + 61)
    assert [made.acquire_entry("k", 2, 60) for _ in range(3)] == [True, True, False]
    assert made.get_moving_window("k", 2, 60)[1] == 2


def test_a_window_is_exact_for_many_at_once(store):
    from epimeter.service import rates

    made = rates.DatabaseStorage(store) if store.postgres else rates.MemoryStorage()
    begin = threading.Barrier(5)
    found = []

    def go():
        begin.wait()
        for _ in range(20):
            found.append(made.acquire_entry("k", 50, 60))

    threads = [threading.Thread(target=go) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count(True) == 50 and found.count(False) == 50


def test_retained_rows_come_back_whole_and_go_when_their_time_is_over(store):
    data = bytes(range(256)) * 10_000
    with store.writing() as db:
        evaluations.add(db, **evaluation("eval_1", rows_kept=1, completed_at=100, status="completed"))
        evaluations.keep_rows(db, "eval_1", io.BytesIO(data))
    with store.reading() as db:
        assert b"".join(evaluations.retained_rows(db, "eval_1")) == data
    with store.writing() as db:
        assert evaluations.drop_old_rows(db, 100) == 0
        assert evaluations.drop_old_rows(db, 101) == 1
        assert not list(evaluations.retained_rows(db, "eval_1"))
        assert evaluations.find(db, "org_b", "eval_1") is None


def test_journal_entries_are_carried_in_order(store):
    with store.writing() as db:
        for number in range(5):
            journal.note(db, organization="org_a", actor="k", action="a", subject=str(number), more=number)
        rows = journal.uncarried(db, 3)
        assert [row["subject"] for row in rows] == ["0", "1", "2"]
        journal.carried(db, {row["number"]: 10 + i for i, row in enumerate(rows)})
        assert [row["subject"] for row in journal.uncarried(db, 9)] == ["3", "4"]
        assert [row["log_index"] for row in journal.page(db, "org_a", None, 9)] == [None, None, 12, 11, 10]
        assert journal.page(db, "org_b", None, 9) == []


def test_what_a_dead_process_left_behind_is_free_at_once(store):
    at = now()
    mine = {"organization": "org_a", "path": "/p", "key": "k", "fingerprint": b"f"}
    wanted = {"organization_name": "A", "system_id": "s", "domain": "general", "organization": "org_a"}
    with store.writing() as db:
        evaluations.add(db, **evaluation("eval_1"))
        jobs.add(db, organization="org_a", kind="evaluate", subject="eval_1", at=at)
        jobs.claim(db, "dead", at)
        idempotency.claim(db, **mine, holder="dead", at=at)
        registry.claim(db, evaluation="eval_1", **wanted, at=at)
        assert jobs.claim(db, "two", at) is None
        leases.lapse(db)
        assert jobs.claim(db, "two", at)["attempts"] == 2
        assert idempotency.claim(db, **mine, holder="two", at=at) is None
        assert registry.claim(db, evaluation="eval_1", **wanted, at=at)[0] == "left"


def test_moments():
    at = now()
    assert micros(moment(at)) == at
    assert written(0) == "1970-01-01T00:00:00.000Z" and written(None) is None
    assert written(1_234_567) == "1970-01-01T00:00:01.234Z"
    assert month_of(micros(moment(0).replace(year=2026, month=12, day=31, hour=23))) == "2026-12"
    assert len({new_id("x_") for _ in range(1000)}) == 1000
    assert abs(time.time() - at / SECOND) < 5


@pytest.mark.parametrize("url", ["mysql://x/y", "nonsense", "sqlite+unknown"])
def test_other_databases_are_refused(url):
    with pytest.raises(StoreError):
        Store(url)


def test_a_database_that_does_not_answer_is_named_without_its_password(tmp_path):
    store = Store("postgresql://user:hidden@127.0.0.1:1/none")
    with pytest.raises(StoreError) as fault:
        store.wait(0)
    assert "hidden" not in str(fault.value) and "127.0.0.1" in str(fault.value)


def test_a_bell_rings_when_what_was_put_there_can_be_seen_and_not_before(store):
    bell = store.bells[JOBS]
    seen = []

    def waits():
        bell.wait(0, 60)
        with store.reading() as db:
            seen.append(jobs.any_open(db))

    waiting = threading.Thread(target=waits)
    waiting.start()
    with contextlib.suppress(ZeroDivisionError), store.writing() as db:
        jobs.add(db, organization="org_a", kind="evaluate", subject="s", at=1)
        raise ZeroDivisionError
    with store.writing() as db:
        organizations.change_tier(db, "org_a", "STANDARD")
    assert bell.rung == 0 and not seen  # nothing was put there: one transaction left no trace, the other had no job
    with store.writing() as db:
        jobs.add(db, organization="org_a", kind="evaluate", subject="s", at=1)
        assert bell.rung == 0
    waiting.join(60)
    assert bell.rung == 1 and seen == [True]
