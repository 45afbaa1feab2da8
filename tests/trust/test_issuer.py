import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from certificates import FOUND, OTHER_DATA, SUBJECT
from test_certificate import predictions
from trust_ground import AT, DAY

from epimeter.cli import main
from epimeter.errors import InputError, KeyStoreError, LogError, TrustError
from epimeter.trust.anchors import Trust
from epimeter.trust.audit import audit
from epimeter.trust.certificate import Subject
from epimeter.trust.checkpoint import LogPolicy
from epimeter.trust.entries import read_entry
from epimeter.trust.envelope import Envelope
from epimeter.trust.monitor import Monitor
from epimeter.trust.page import page, policy_sources
from epimeter.trust.publishing import publish
from epimeter.trust.registration import RegisteredPlan
from epimeter.trust.registry import Registry
from epimeter.trust.root import advance, pin
from epimeter.trust.succession import end_key, newest_root, renew_root, rotate
from epimeter.trust.tile_log import from_folder
from epimeter.trust.verify import verify

SECRET = "correct horse"


@pytest.fixture(scope="module")
def first_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("issuer") / "here"
    Registry.create(
        folder, issuer="https://registry.example", origin="registry.example/log", passphrase=SECRET, at=AT - DAY
    ).close()
    return folder


@pytest.fixture(scope="module")
def first_signers(first_folder):
    with Registry(first_folder) as registry:
        return registry.signers(SECRET, AT)


@pytest.fixture
def registry(first_folder, tmp_path):
    shutil.copytree(first_folder, tmp_path / "issuer")
    with Registry(tmp_path / "issuer") as made:
        yield made


def verdict(registry, data, at=AT + timedelta(hours=1)):
    return verify(data, Trust.of(registry.root()), at=at, status=registry.status_file()).shown


def kinds(registry):
    return [read_entry(entry)["type"] for entry in registry.log.entries(0, registry.log.size)]


def policy(registry):
    return registry.root().log_policy(registry.log.origin)


def test_a_new_issuer_has_keys_a_root_and_an_empty_list(registry):
    assert kinds(registry) == ["key.added"] * 4 + ["status.published"]
    assert {record.role for record in registry.root().ring} == {"root", "issuer", "log", "status"}
    assert registry.statuses().version == 1
    assert (registry.folder / "status" / "1.json").read_bytes() == registry.status_file()
    for path in registry.folder.rglob("*.pem"):
        assert path.stat().st_mode & 0o077 == 0


def test_a_certificate_is_issued_logged_and_valid(registry, first_signers):
    outcome = registry.certify(FOUND, SUBJECT, first_signers, AT)
    assert verdict(registry, outcome.certificate) == "VALID"
    assert kinds(registry)[5:] == ["evaluation.result", "certificate.issued", "status.published"]
    assert (registry.folder / "certificates" / f"{outcome.id}.json").read_bytes() == outcome.certificate
    assert registry.certificate(outcome.id) == outcome.certificate
    assert registry.listing()[0]["status"] == "VALID"


def test_a23_every_attempt_counts_also_those_that_fail(registry, first_signers):
    failed = registry.certify(replace(FOUND, obstacles=("too few",)), SUBJECT, first_signers, AT)
    assert (failed.certificate, failed.attempt, failed.obstacles) == (None, 1, ("too few",))
    outcome = registry.certify(FOUND, SUBJECT, first_signers, AT)
    assert json.loads(outcome.certificate)["evidence"]["attempt"] == 2
    other = Subject(organization="Acme Zürich", system_id="other", system_version="1", domain="general")
    assert registry.certify(FOUND, other, first_signers, AT).attempt == 1
    entries = [read_entry(entry) for entry in registry.log.entries(5, 7)]
    assert [entry.get("level") for entry in entries] == ["NONE", "L2"]


def test_a23_a_promise_is_logged_before_and_named(registry, first_signers):
    identity = registry.preregister(SUBJECT, RegisteredPlan(aim="L2", data_source="production"), first_signers, AT)
    outcome = registry.certify(FOUND, SUBJECT, first_signers, AT, registered=identity)
    named = json.loads(outcome.certificate)["evidence"]["preregistration"]
    assert (named["id"], named["log_index"]) == (identity, 5)
    assert verdict(registry, outcome.certificate) == "VALID"
    high = registry.preregister(SUBJECT, RegisteredPlan(aim="L3", data_source="production"), first_signers, AT)
    missed = registry.certify(OTHER_DATA, SUBJECT, first_signers, AT, registered=high)
    assert missed.obstacles == ("level L3 was registered; L2 was reached",)
    with pytest.raises(InputError, match="no pre-registration"):
        registry.certify(FOUND, SUBJECT, first_signers, AT, registered="ONTO-REG-2026-0000000000000000")


def test_a14_a_new_certificate_supersedes_the_old_one(registry, first_signers):
    old = registry.certify(FOUND, SUBJECT, first_signers, AT)
    new = registry.certify(OTHER_DATA, SUBJECT, first_signers, AT)
    assert json.loads(new.certificate)["certificate"]["supersedes"] == old.id
    assert verdict(registry, old.certificate) == "SUPERSEDED"
    assert verdict(registry, new.certificate) == "VALID"


def test_the_same_data_earn_a_system_one_certificate(registry, first_signers):
    old = registry.certify(FOUND, SUBJECT, first_signers, AT)
    again = registry.certify(FOUND, SUBJECT, first_signers, AT)
    assert again.certificate is None and old.id in again.obstacles[0] and "data of its own" in again.obstacles[0]
    other = Subject(organization="Acme Zürich", system_id="other", system_version="1", domain="general")
    copied = registry.certify(FOUND, other, first_signers, AT)
    assert copied.certificate is not None and any(old.id in note for note in copied.notes)
    registry.set_status(old.id, "REVOKED", "issued in error", first_signers, AT)
    assert registry.certify(FOUND, SUBJECT, first_signers, AT).certificate is not None


def test_a16_a_revocation_is_in_the_log_and_never_undone(registry, first_signers):
    outcome = registry.certify(FOUND, SUBJECT, first_signers, AT)
    registry.set_status(outcome.id, "REVOKED", "labels were wrong", first_signers, AT)
    assert verdict(registry, outcome.certificate) == "REVOKED"
    assert kinds(registry)[-2:] == ["certificate.revoked", "status.published"]
    with pytest.raises(InputError, match="revoked already"):
        registry.set_status(outcome.id, "REVOKED", "again", first_signers, AT)
    with pytest.raises(InputError, match="never undone"):
        registry.set_status(outcome.id, "VALID", "mercy", first_signers, AT)
    with pytest.raises(InputError, match="for ever"):
        registry.set_status(outcome.id, "SUSPENDED", "mercy", first_signers, AT)
    assert verdict(registry, outcome.certificate) == "REVOKED"
    with pytest.raises(LogError, match="no certificate"):
        registry.set_status("ONTO-CERT-2026-0000000000000000", "REVOKED", "x", first_signers, AT)


def test_a_suspension_can_be_lifted(registry, first_signers):
    outcome = registry.certify(FOUND, SUBJECT, first_signers, AT)
    registry.set_status(outcome.id, "SUSPENDED", "under review", first_signers, AT)
    assert verdict(registry, outcome.certificate) == "SUSPENDED"
    registry.set_status(outcome.id, "VALID", "review done", first_signers, AT)
    assert verdict(registry, outcome.certificate) == "VALID"
    with pytest.raises(InputError, match="it is VALID, and only a suspension can be lifted"):
        registry.set_status(outcome.id, "VALID", "again", first_signers, AT)


def test_c17_an_overdue_evaluation_suspends(registry, first_signers):
    registry.certify(FOUND, SUBJECT, first_signers, AT)  # L2: every three months
    on_time = datetime(2027, 2, 22, 12, tzinfo=UTC)
    registry.renew_status(first_signers, on_time)
    assert registry.listing()[0]["status"] == "VALID"
    late = datetime(2027, 2, 23, 12, tzinfo=UTC)
    registry.renew_status(first_signers, late)
    assert registry.listing()[0]["status"] == "SUSPENDED"
    assert kinds(registry)[-2:] == ["certificate.suspended", "status.published"]


def test_a10_a_name_that_looks_like_another_is_noted(registry, first_signers):
    registry.certify(FOUND, SUBJECT, first_signers, AT)
    twin = Subject(organization="Аcme Zürich", system_id="x", system_version="1", domain="general")
    notes = registry.certify(FOUND, twin, first_signers, AT).notes
    assert any("mixes scripts" in note for note in notes)
    assert any("looks like 'Acme Zürich'" in note for note in notes)


def test_a17_rotation_overlaps_and_old_certificates_stay_good(registry, first_signers):
    old = registry.certify(FOUND, SUBJECT, first_signers, AT)
    first = registry.root()
    key_id = rotate(registry.folder, "issuer", SECRET, AT)
    assert registry.signers(SECRET, AT).issuer.public.id == key_id
    assert "key.added" in kinds(registry)[-1:]
    other = Subject(organization="Apex", system_id="x", system_version="1", domain="general")
    new = registry.certify(FOUND, other, registry.signers(SECRET, AT), AT)
    assert verdict(registry, old.certificate) == verdict(registry, new.certificate) == "VALID"
    second = advance(first, Envelope.from_json((registry.folder / "trust-root.json").read_bytes()))
    assert (second.version, newest_root(registry.folder)) == (2, second)


def test_a17_an_interrupted_rotation_does_no_harm(registry, first_signers):
    before = registry.signers(SECRET, AT).issuer.public.id
    registry.store.rotate("issuer", SECRET, AT)  # and the machine stops here
    assert registry.signers(SECRET, AT).issuer.public.id == before
    renew_root(registry.folder, SECRET, AT)
    assert registry.signers(SECRET, AT).issuer.public.id != before


def test_a_later_checkpoint_vouches_for_what_was_logged_under_a_key_that_was_stolen_since(registry, first_signers):
    outcome = registry.certify(FOUND, SUBJECT, first_signers, AT)
    stolen, at = first_signers.log.public.id, AT + timedelta(minutes=1)
    rotate(registry.folder, "log", SECRET, at)
    end_key(registry.folder, stolen, "compromised", SECRET, at + timedelta(minutes=1))
    assert verdict(registry, outcome.certificate) == "NOT_LOGGED"
    again = registry.certificate(outcome.id)
    assert again != outcome.certificate and verdict(registry, again) == "VALID"


def test_a17_a_compromised_key_signs_no_more_and_proves_nothing_alone(registry, first_signers):
    outcome = registry.certify(FOUND, SUBJECT, first_signers, AT)
    key_id = first_signers.issuer.public.id
    rotate(registry.folder, "issuer", SECRET, AT)
    end_key(registry.folder, key_id, "compromised", SECRET, AT + timedelta(minutes=1))
    assert verdict(registry, outcome.certificate) == "INVALID(key_compromised)"
    assert kinds(registry)[-1] == "key.compromised"


def test_the_log_of_an_issuer_is_sound_and_served(registry, first_signers, tmp_path):
    registry.certify(FOUND, SUBJECT, first_signers, AT)
    assert audit(registry.folder / "log.db", policy(registry)).sound
    publish(registry, tmp_path / "out", AT)
    registry.certify(FOUND, SUBJECT, first_signers, AT)
    memory = Monitor(tmp_path / "memory", policy(registry))
    assert memory.check(from_folder(tmp_path / "out" / "log")).checkpoint.size == 8
    publish(registry, tmp_path / "out", AT)
    assert memory.check(from_folder(tmp_path / "out" / "log")).checkpoint.size == registry.log.size
    view = from_folder(tmp_path / "out" / "log")
    assert view.first_entries(view.size) == registry.log.entries(0, registry.log.size)
    assert json.loads((tmp_path / "out" / ".well-known" / "jwks.json").read_bytes())["keys"]


def test_the_audit_log_remembers_every_evaluation(registry, first_signers):
    registry.certify(FOUND, SUBJECT, first_signers, AT)
    names = LogPolicy(log_keys=tuple(type(one)(f"{one.name}/audit", one.public) for one in policy(registry).log_keys))
    found = audit(registry.folder / "audit.db", names)
    assert found.sound
    assert found.size == 1


def test_an_issuer_is_made_once_and_opened_by_its_passphrase(registry):
    with pytest.raises(LogError, match="holds an issuer already"):
        Registry.create(registry.folder, issuer="x", origin="x/log", passphrase=SECRET, at=AT)
    with pytest.raises(KeyStoreError, match="wrong passphrase"):
        registry.signers("wrong", AT)
    with pytest.raises(LogError, match="epimeter keys init"):
        Registry(registry.folder / "nothing")


def test_a_folder_whose_making_was_interrupted_is_finished_the_next_time(tmp_path, monkeypatch):
    from epimeter.trust import registry as module

    folder = tmp_path / "half"
    with monkeypatch.context() as patch:
        patch.setattr(module.Log, "append_beside", lambda *_: (_ for _ in ()).throw(OSError("stop")))
        with pytest.raises(OSError, match="stop"):
            Registry.create(folder, issuer="x", origin="x/log", passphrase=SECRET, at=AT)
    keys = {path.name for path in folder.rglob("*.pem")}
    with Registry.create(folder, issuer="x", origin="x/log", passphrase=SECRET, at=AT) as made:
        assert {path.name for path in folder.rglob("*.pem")} == keys
        assert made.signers(SECRET, AT)


# Bad disks -----------------------------------------------------------------------------------------------------------


def other_data(number):
    """The same scores from other data: data that were certified earn no second certificate."""
    return replace(FOUND, dataset_digest=f"epi-col-v1:sha-256:{number:064x}", sample_size=FOUND.sample_size + number)


SMALL_DISK = """
import itertools, resource, sys
from test_issuer import *
folder, limit = sys.argv[1], int(sys.argv[2])
with Registry(folder) as registry:
    signers = registry.signers(SECRET, AT)
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        for number in itertools.count(1):
            print(registry.certify(other_data(number), SUBJECT, signers, AT).id, flush=True)
    except TrustError as fault:
        print("SAID", fault, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 40_000, 150_000])
def test_a_full_disk_gives_one_sentence_and_loses_nothing(registry, first_signers, room):
    # A limit on the size of a file stands in for a full disk: writing fails in the middle, as it would there.
    before = registry.certify(FOUND, SUBJECT, first_signers, AT)
    limit = (registry.folder / "log.db").stat().st_size + room
    here = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, str(registry.folder), str(limit)],
        capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": here}, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[-1].startswith("SAID ")
    assert "Traceback" not in done.stderr
    assert audit(registry.folder / "log.db", policy(registry)).sound
    for identity in (before.id, *lines[:-1]):
        assert verdict(registry, registry.certificate(identity)) in ("VALID", "SUPERSEDED")
    after = registry.certify(other_data(9_999), SUBJECT, first_signers, AT)  # with room again it goes on
    assert verdict(registry, after.certificate) == "VALID"


def test_a_disk_that_cannot_be_written_gives_one_sentence(registry, first_signers, monkeypatch):
    outcome = registry.certify(FOUND, SUBJECT, first_signers, AT)
    registry.close()
    # Root may write whatever the permissions say, so the database itself is opened read-only.
    honest = sqlite3.connect

    def read_only(path, **named):
        address = str(path) if str(path).startswith("file:") else f"file:{path}?mode=ro"
        return honest(address, **{**named, "uri": True})

    monkeypatch.setattr(sqlite3, "connect", read_only)
    with Registry(registry.folder) as closed:
        assert verdict(closed, closed.certificate(outcome.id)) == "VALID"
        with pytest.raises(TrustError, match=r"readonly database|cannot be") as caught:
            closed.certify(FOUND, SUBJECT, first_signers, AT)
        assert "\n" not in str(caught.value)


# Commands ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(registry, tmp_path, monkeypatch):
    """An issuer's folder in use: data in a file, passphrase in the environment."""
    import pandas

    frame = pandas.DataFrame(predictions())
    now = datetime.now(UTC).replace(microsecond=0)
    times = frame["timestamp"].dt.tz_localize("UTC")
    frame["timestamp"] = (times + (pandas.Timestamp(now) - times.max())).map(lambda time: time.isoformat())
    frame.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.setenv("EPIMETER_PASSPHRASE", SECRET)
    monkeypatch.setenv("EPIMETER_ISSUER", str(registry.folder))
    monkeypatch.chdir(tmp_path)
    # The commands read the clock; this issuer's keys must be in force whenever the tests run.
    if not any(record.can_sign(now) for record in registry.root().ring if record.role == "issuer"):
        shutil.rmtree(registry.folder)
        Registry.create(registry.folder, issuer="i", origin="i/log", passphrase=SECRET, at=now).close()
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


NAMES = ("--organization", "Acme", "--system", "bot", "--system-version", "1")


def test_the_commands_from_keys_to_verdict(shop, capsys):
    assert run("preregister", *NAMES, "--aim", "L2", "--data-source", "production") == 0
    promise = capsys.readouterr().out.split(":")[0]
    assert run("certify", "data.csv", *NAMES, "--registration", promise, "-o", "c.json") == 0
    assert "level L3" in capsys.readouterr().out
    assert run("keys", "list", "issuer", "--json") == 0
    keys = {row["role"]: row["key"] for row in json.loads(capsys.readouterr().out)}
    trust = ("--key", keys["issuer"], "--log-key", keys["log"], "--status-key", keys["status"])
    status = ("--status", "issuer/status/1.json")
    assert run("verify", "c.json", *trust, *status) == 0
    said = capsys.readouterr().out
    assert said.startswith("VALID: ")
    assert "does not prove" in said
    assert run("verify", "c.json", *trust) == 4
    assert run("verify", "c.json", "--key", keys["issuer"], *status) == 3
    assert run("verify", "c.json", "--key", keys["status"]) == 3
    assert run("verify", "c.json", *trust, *status, "--at", "2020-01-01") == 1
    capsys.readouterr()
    assert run("verify", "c.json", *trust, *status, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], answer["authentic"], answer["current"], answer["consistent"]) == (
        "VALID",
        True,
        True,
        True,
    )
    (shop / "broken.json").write_bytes((shop / "c.json").read_bytes() + b" ")
    assert run("verify", "broken.json", *trust, *status) == 2
    (shop / "changed.json").write_bytes((shop / "c.json").read_bytes().replace(b"bot", b"bat"))
    assert run("verify", "changed.json", *trust, *status) == 1
    fingerprint = newest_root(shop / "issuer").fingerprint
    root = ("--root", "issuer/trust-root.json", "--fingerprint", fingerprint)
    assert run("verify", "c.json", *root, *status) == 0
    assert run("verify", "c.json", "--root", "issuer/trust-root.json", "--fingerprint", "0" * 64) == 3
    assert run("verify", "c.json", "--root", "issuer/trust-root.json") == 2
    assert run("reproduce", "c.json", "data.csv") == 0
    assert "reproduced" in capsys.readouterr().out
    lines = (shop / "data.csv").read_text().splitlines()
    (shop / "other.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert run("reproduce", "c.json", "other.csv") == 1
    assert run("disclose", "c.json", "data.csv", "--record", "r17", "-o", "r.json") == 0
    assert run("verify", "c.json", *trust, *status, "--record", "r.json") == 0
    assert run("disclose", "c.json", "other.csv", "--record", "r17") == 2
    (shop / "r.json").write_bytes((shop / "r.json").read_bytes().replace(b"r17", b"r18"))
    assert run("verify", "c.json", *trust, *status, "--record", "r.json") == 1
    assert run("log", "verify", "issuer", "--log-key", keys["log"]) == 0
    assert run("log", "publish", "out") == 0
    assert (shop / "out" / "verify.html").read_text() == page((shop / "issuer" / "trust-root.json").read_bytes())
    for place in ("out", "issuer"):
        assert run("log", "monitor", place, "--memory", "memory", "--log-key", keys["log"], *status) == 0
    identity = json.loads((shop / "c.json").read_bytes())["certificate"]["id"]
    assert run("revoke", identity, "--reason", "labels were wrong") == 0
    assert run("verify", "c.json", *trust, *status) == 1
    assert (
        run("log", "monitor", "issuer", "--memory", "memory", "--log-key", keys["log"], "--status", "out/status/1") == 1
    )
    for kind in ("dsse", "pretty"):
        assert run("export", "c.json", "--as", kind, "-o", f"{kind}.json") == 0
    for kind in ("in-toto", "vc"):
        assert run("export", "c.json", "--as", kind, "--issuer", "issuer", "-o", f"{kind}.json") == 0
        assert run("export", "c.json", "--as", kind) == 2
    capsys.readouterr()


def test_a25_a_report_is_covered_or_not(shop, capsys):
    (shop / "report.pdf").write_bytes(b"%PDF the report")
    assert run("certify", "data.csv", *NAMES, "--report", "report.pdf", "-o", "c.json") == 0
    root = newest_root(shop / "issuer").fingerprint
    trust = ("--root", "issuer/trust-root.json", "--fingerprint", root, "--status", "issuer/status/1.json")
    assert run("verify", "c.json", *trust, "--report", "report.pdf") == 0
    assert "the report is the one that was signed" in capsys.readouterr().out
    (shop / "report.pdf").write_bytes(b"%PDF the report, edited")
    assert run("verify", "c.json", *trust, "--report", "report.pdf") == 1
    assert "the report is NOT covered" in capsys.readouterr().out


def test_a_level_that_is_not_earned_exits_with_1_and_is_logged(shop, capsys):
    lines = (shop / "data.csv").read_text().splitlines()
    (shop / "few.csv").write_text("\n".join(lines[:900]) + "\n")
    assert run("certify", "few.csv", *NAMES) == 1
    said = capsys.readouterr().err
    assert "ERS-3.1-a" in said
    assert "Attempt 1 is logged" in said


def test_a21_an_edited_log_is_named_by_the_command(shop, capsys):
    assert run("certify", "data.csv", *NAMES) == 0
    path = shop / "issuer" / "log.db"
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER entries_no_UPDATE")
        connection.execute("UPDATE entries SET entry = 'x' WHERE idx = 5")
    fingerprint = newest_root(shop / "issuer").fingerprint
    trust = ("--root", "issuer/trust-root.json", "--fingerprint", fingerprint)
    assert run("log", "verify", path, *trust) == 1
    assert "entry 5 was edited" in capsys.readouterr().out


def test_keys_rotate_and_end(shop, capsys):
    assert run("keys", "rotate", "issuer", "status") == 0
    assert run("keys", "list", "issuer", "--json") == 0
    out = capsys.readouterr().out
    rows = json.loads(out[out.index("[") :])
    first, second = (row["id"] for row in rows if row["role"] == "status")
    assert run("keys", "end", "--compromised", "issuer", "--", first) == 0
    assert newest_root(shop / "issuer").version == 3
    assert second != first
    assert run("keys", "end", "issuer", "nothing") == 2


def test_keys_init_makes_an_issuer_and_says_what_others_need(tmp_path, monkeypatch, capsys):
    (tmp_path / "secret").write_text("from a file\n")
    monkeypatch.delenv("EPIMETER_PASSPHRASE", raising=False)
    args = ("keys", "init", tmp_path / "new", "--issuer", "https://new.example", "--root-keys", tmp_path / "drawer")
    assert run(*args) == 2  # nobody is there to be asked
    assert run(*args, "--passphrase-file", tmp_path / "secret") == 0
    said = capsys.readouterr().out
    fingerprint = newest_root(tmp_path / "new").fingerprint
    assert fingerprint in said
    assert "new.example/log+" in said
    assert not (tmp_path / "new" / "root").exists()
    sealed = Envelope.from_json((tmp_path / "new" / "trust-root.json").read_bytes())
    assert pin(sealed, fingerprint).version == 1
    assert run("keys", "rotate", tmp_path / "new", "issuer", "--passphrase-file", tmp_path / "secret",
               "--root-keys", tmp_path / "drawer") == 0  # fmt: skip


def test_a5_keys_typed_by_hand_are_doubted(shop, capsys):
    (shop / "c.json").write_bytes(b"{}")
    assert run("verify", "c.json", "--key", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=") == 3
    assert "small order" in capsys.readouterr().err
    assert run("verify", "c.json", "--key", "no key") == 2


def test_the_pages_policy_names_its_own_script_and_style():
    text = page()
    script, style = policy_sources(text)
    assert f"script-src '{script}'" in text
    assert f"style-src '{style}'" in text
    assert "default-src 'none'" in text
    assert "http://" not in text.replace("http-equiv", "")
    assert "https://" not in text
