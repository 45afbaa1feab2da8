"""What a process leaves behind when it dies between two commits, or sleeps past its lease: the next one ends it, once."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import func, insert, select, update

from epimeter.service import acceptance, issuing, renewing, workers
from epimeter.service.gauges import Gauges
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.problems import Problem
from epimeter.service.schemas import Compliance, DatasetReport, Evaluation, Facts, Period
from epimeter.service.settings import Settings
from epimeter.store import Store, collecting, evaluations, jobs, journal, organizations, registry
from epimeter.store import webhooks as outbox
from epimeter.store.migrations import migrate
from epimeter.store.moments import SECOND, micros, now
from epimeter.store.tables import certificates as claimed
from epimeter.store.tables import collected_systems, deliveries, webhooks
from epimeter.store.tables import jobs as job_rows
from epimeter.trust.certificate import Assessment, Subject

TODAY = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
FACTS = Facts(model_id="m", domain="general", model_version="1")


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    """A database with one organisation; with PostgreSQL the paths that lock by other means there are walked too."""
    url = (
        request.getfixturevalue("postgres").database() if request.param == "postgres" else f"sqlite:///{tmp_path}/a.db"
    )
    made = Store(url, pool=5)
    migrate(made)
    with made.writing() as db:
        organizations.add(db, id="org_a", name="A", tier="OPEN", at=1)
    yield made
    made.close()


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    made = IssuerFolder(tmp_path_factory.mktemp("ledger") / "registry", "https://registry.example", "long enough words")
    yield made
    made.close()


def digest(letter):
    return "epi-col-v1:sha-256:" + letter * 64


def found(system, letter, end):
    """An assessment that earns Level 3."""
    return Assessment(
        kind="answer", ece=0.02, ece_ci95=(0.01, 0.03), u_recall=90.0, u_recall_ci95=(88.0, 92.0), ers_raw_ci95=(7.0, 12.0),
        accuracy=0.8, sample_size=2000, period=(end - 8 * DAY, end), domain="general", dataset_digest=digest(letter),
        records_root="epi-rec-v1:sha-256:" + "cd" * 32, code_digest="sha-256:" + "ef" * 32, engine_version="1",
        interval_method="none", covered_bins=10,
    )  # fmt: skip


def subject(system):
    return Subject(organization="A", system_id=system, system_version="1", domain="general")


def evaluated(db, number, system, letter, completed, level="L3"):
    """A completed evaluation, as the service keeps it."""
    facts = replace_facts(system)
    end = (completed - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    answer = Evaluation(
        evaluation_id=number, status="completed", spec_version="1.0.0", model_id=system, model_version="1", domain="general",
        attempt=1, created_at="2026-01-01T00:00:00Z", engine="epimeter", certifiable=True,
        compliance=Compliance(level, "PASS" if level != "NONE" else "FAIL", None),
        dataset=DatasetReport(
            digest=digest(letter), whole_digest=digest(letter), sample_size=2000, unlabelled=0, covered_bins=10,
            largest_share=0.5, sample_size_ok=True, coverage_ok=True, balance_ok=True, span_ok=True,
            period=Period(end, end, 8.0), ground_truth={},
        ),
    )  # fmt: skip
    evaluations.add(
        db, id=number, organization="org_a", key_id="k", system_id=system, system_version="1", domain="general", attempt=1,
        status="completed", created_at=micros(completed), completed_at=micros(completed), request=msgspec.json.encode(facts),
        rows_kept=1, result=msgspec.json.encode(answer), level=level, dataset_digest=digest(letter),
    )  # fmt: skip


def replace_facts(system):
    return msgspec.structs.replace(FACTS, model_id=system)


def claim(db, number, system, at):
    return registry.claim(
        db, evaluation=number, organization="org_a", organization_name="A", system_id=system, domain="general", at=at,
        patience=10 * SECOND,
    )  # fmt: skip


def certify(ledger, number, system, letter, evaluated_at):
    return ledger.certify(
        found(system, letter, evaluated_at - timedelta(hours=1)), subject(system), b"{}", None, evaluation=number,
        evaluated_at=evaluated_at, attempt=1,
    )  # fmt: skip


def actions(store, subject):
    with store.reading() as db:
        return sorted(row["action"] for row in journal.page(db, "org_a", None, 100) if row["subject"] == subject)


def crew(store, ledger=None):
    return workers.Crew(Settings(), None, store, ledger, None, None, Gauges(), None)


def waiting(store, kind, subject="eval_x"):
    """A job, and a way to have it due at once."""
    with store.writing() as db:
        number = jobs.add(db, organization="org_a", kind=kind, subject=subject, at=1)

    def due():
        with store.writing() as db:
            db.execute(update(job_rows).values(not_before=1))
            return db.execute(select(job_rows.c.state).where(job_rows.c.id == number)).scalar_one()

    return due


def test_a_certificate_that_was_issued_and_not_noted_is_noted_though_nobody_asks_again(store, ledger, request):
    system = f"noted {request.node.callspec.params['store']}"
    number, letter = f"eval_{system}", "a" if "sqlite" in system else "b"
    long_ago = micros(TODAY) - 3600 * SECOND
    with store.writing() as db:
        evaluated(db, number, system, letter, TODAY - 40 * DAY)
        evaluated(db, f"{number} later", system, "f", TODAY - 2 * DAY, level="NONE")
        evaluated(db, f"{number} never", system, "e", TODAY - 41 * DAY)
        claim(db, number, system, long_ago)
        claim(db, f"{number} never", system, long_ago)
    certify(ledger, number, system, letter, TODAY - 40 * DAY)  # and here its process died

    issuing.finish_left(store, ledger, 10 * SECOND)
    with store.reading() as db:
        (row,) = db.execute(select(claimed).where(claimed.c.id.is_not(None))).mappings().all()
        assert row["evaluation"] == number and row["level"] == "L3"
        # An evaluation that missed the level while there was no certificate to weigh it against is weighed now.
        (job,) = db.execute(select(job_rows)).mappings().all()
        assert (job["kind"], job["subject"]) == ("renew", f"{number} later")
    assert actions(store, row["id"]) == ["certificate.issued"]
    issuing.finish_left(store, ledger, 10 * SECOND)
    assert actions(store, row["id"]) == ["certificate.issued"], "once"

    crew(store, ledger).work("w")
    assert ledger.registry.standing(row["id"], TODAY).status == "SUSPENDED"
    assert actions(store, row["id"]) == ["certificate.issued", "certificate.suspended"]


def test_an_evaluation_that_was_weighed_and_not_told_is_told_by_the_next_worker_once(store, ledger, request):
    system = f"weighed {request.node.callspec.params['store']}"
    number, letter = f"eval_{system}", "1" if "sqlite" in system else "2"
    with store.writing() as db:
        evaluated(db, number, system, letter, TODAY - 40 * DAY)
        evaluated(db, f"{number} later", system, "34"["sqlite" not in system], TODAY - 2 * DAY)
        claim(db, number, system, now())
        row = evaluations.find(db, "org_a", number)
    data = certify(ledger, number, system, letter, TODAY - 40 * DAY)
    identity = issuing._noted(store, ledger, row, "k", data)
    with store.reading() as db:
        later = evaluations.find(db, "org_a", f"{number} later")
    with store.reading() as db:
        renewing.log_attempts(store, ledger, {"organization_name": "A"}, later)
    ledger.renew(renewing._reevaluation(later, "A"))  # and here its process died

    crew(store, ledger).work("w")
    assert actions(store, identity) == ["certificate.issued", "certificate.renewed"]
    assert [one.cause for one in ledger.registry.life(identity)] == ["issued", "renewed"], "weighed once"
    assert not crew(store, ledger).work("w")


def test_a_suspension_by_the_schedule_is_told_by_the_next_process_once(store, ledger, request, monkeypatch):
    system = f"overdue {request.node.callspec.params['store']}"
    number, letter = f"eval_{system}", "5" if "sqlite" in system else "6"
    renewing.tell_overdue(store, ledger)  # the first round of all
    with store.writing() as db:
        evaluated(db, number, system, letter, TODAY - 60 * DAY)
        claim(db, number, system, now())
        row = evaluations.find(db, "org_a", number)
    identity = issuing._noted(store, ledger, row, "k", certify(ledger, number, system, letter, TODAY - 60 * DAY))
    assert identity in ledger.registry.renew_status(ledger.signers, datetime.now(UTC))  # and here its process died

    for _ in range(2):
        renewing.tell_overdue(store, ledger)
    assert actions(store, identity) == ["certificate.issued", "certificate.suspended"]


def test_whoever_slept_past_his_claim_does_not_end_the_claim_of_another(store):
    with store.writing() as db:
        evaluated(db, "eval_1", "m", "7", TODAY)
        assert claim(db, "eval_1", "m", 1)[0] == "ours"
    with store.writing() as db:
        assert claim(db, "eval_1", "m", 60 * SECOND)[0] == "left"
    with store.writing() as db:
        registry.give_up(db, "eval_1", 1)
        assert claim(db, "eval_1", "m", 61 * SECOND)[0] == "theirs"
        registry.give_up(db, "eval_1", 60 * SECOND)
        assert claim(db, "eval_1", "m", 62 * SECOND)[0] == "ours"


def test_an_evaluation_that_renews_is_never_given_up_while_keys_or_log_are_away(store, monkeypatch):
    due, tried = waiting(store, renewing.KIND), []

    def away(*_):
        tried.append(1)
        raise OSError("the log is away")

    monkeypatch.setattr(renewing, "work", away)
    for _ in range(jobs.MOST_LIVES + 5):
        assert due() == "waiting"
        assert crew(store).work("w")
    assert len(tried) == jobs.MOST_LIVES + 5


def test_a_job_survives_many_stops_and_kills_and_fails_only_by_its_own_failures(store, monkeypatch):
    due = waiting(store, "evaluate")
    fault = Problem("unavailable", "the service stops")

    def work(*_):
        raise fault

    monkeypatch.setattr(acceptance, "work", work)
    for _ in range(2 * jobs.MOST_ATTEMPTS):
        assert due() == "waiting"
        crew(store).work("w")
    fault = RuntimeError("a fault")
    assert due() == "waiting"
    crew(store).work("w")  # the first failure of its own, though it has had many lives
    assert due() == "waiting"
    crew(store).work("w")
    assert due() == "failed"


def test_a_postman_who_was_slower_than_his_lease_does_not_undo_what_another_delivered(store):
    with store.writing() as db:
        outbox.add(db, id="wh", organization="org_a", url="https://a.example", events=["x"], at=1)
        outbox.post(db, organization="org_a", webhook="wh", event="x", body=b"{}", at=1)
        slow = outbox.claim(db, 1)
    with store.writing() as db:
        fast = outbox.claim(db, 1 + 2 * outbox.LEASE)
        assert fast["id"] == slow["id"] and fast["attempts"] == 2
        outbox.delivered(db, fast["id"], "wh", "HTTP 200")
        late = {"attempt": slow["attempts"], "again_at": None, "disable_at": 5}
        outbox.failed(db, slow["id"], "wh", "TimeoutError", **late)
        assert db.execute(select(deliveries.c.state)).scalar_one() == "delivered"
        assert db.execute(select(webhooks.c.disabled_at)).scalar_one() is None


def test_an_endpoint_that_is_disabled_is_left_alone_and_a_clock_set_back_keeps_no_message_for_a_year(store):
    year = 365 * 24 * 3600 * SECOND
    with store.writing() as db:
        outbox.add(db, id="wh", organization="org_a", url="https://a.example", events=["x"], at=1)
        outbox.post(db, organization="org_a", webhook="wh", event="x", body=b"{}", at=year)
        outbox.post(db, organization="org_a", webhook="wh", event="x", body=b"{}", at=1)
    with store.writing() as db:
        first = outbox.claim(db, 10)
        outbox.delivered(db, first["id"], "wh", "HTTP 200")
        second = outbox.claim(db, 10)
        assert {first["created_at"], second["created_at"]} == {1, year}
        outbox.post(db, organization="org_a", webhook="wh", event="x", body=b"{}", at=2)
        outbox.failed(db, second["id"], "wh", "HTTP 410", attempt=1, again_at=None, disable_at=11)
        assert outbox.claim(db, 12) is None
        states = dict(db.execute(select(deliveries.c.state, func.count()).group_by(deliveries.c.state)).all())
        assert states == {"delivered": 1, "failed": 2}


def test_two_servers_that_looked_at_the_same_changes_hide_none_that_come_after(store):
    with store.writing() as db:
        values = {"organization": "org_a", "name": "m", "state": "{}", "unmatched": 0, "purged": "", "looked_at": 0}
        db.execute(insert(collected_systems).values(system=7, changes=5, **values))
        (row,) = collecting.due(db, 1, 10)
        collecting.looked(db, [(7, row["changes"])], 20)
        collecting.looked(db, [(7, row["changes"])], 20)
        db.execute(update(collected_systems).values(changes=collected_systems.c.changes + 1))
        assert [one["system"] for one in collecting.due(db, 1, 10)] == [7]


def test_a_postman_who_waited_for_the_lock_does_not_take_what_another_took_meanwhile(store):
    with store.writing() as db:
        outbox.add(db, id="wh", organization="org_a", url="https://a.example", events=["x"], at=1)
        outbox.post(db, organization="org_a", webhook="wh", event="x", body=b"{}", at=1)
        assert outbox.claim(db, 101) is not None
        assert outbox.claim(db, 100) is None  # his clock was read before the other's
