"""Break-ins beyond the list of attacks: each was tried by hand with the commands, and each worked once."""

import json
import shutil
import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from certificates import (
    BODY,
    CERTIFICATE,
    DOCUMENT,
    FOUND,
    OTHER_DATA,
    RING,
    STATUS,
    SUBJECT,
    changed,
    judged,
    resigned,
    root,
    verdict,
)
from test_issuer import (
    NAMES,
    SECRET,
    first_folder,
    first_signers,
    policy,
    registry,
    run,
    shop,
)
from test_issuer import verdict as verdict_of
from trust_ground import AT, DAY, LOG_KEY, ORIGIN

from epimeter.cli.verify import _promised
from epimeter.errors import KeyStoreError, LogError, VerificationError
from epimeter.trust.anchors import Trust
from epimeter.trust.canonical import canonical_json, to_moment
from epimeter.trust.certificate import Subject
from epimeter.trust.checkpoint import Checkpoint, sign_checkpoint
from epimeter.trust.entries import log_entry, read_entry
from epimeter.trust.envelope import Envelope
from epimeter.trust.key_file import from_pem, to_pem
from epimeter.trust.key_store import KeyStore
from epimeter.trust.keys import PrivateKey
from epimeter.trust.monitor import Monitor
from epimeter.trust.note import NoteKey
from epimeter.trust.publishing import publish, undone, unpublished
from epimeter.trust.registration import RegisteredPlan
from epimeter.trust.registry import Registry
from epimeter.trust.root import TrustRoot, sign_root
from epimeter.trust.succession import end_key, newest_root, rotate
from epimeter.trust.tile_log import TileLog

FIXTURES = (first_folder, first_signers, registry, shop)


# What the issuer signs --------------------------------------------------------------------------------------------


def test_a_changed_certificate_is_not_signed_anew(shop, capsys):
    assert run("certify", "data.csv", *NAMES, "-o", "c.json") == 0
    document = json.loads((shop / "c.json").read_bytes())
    document["subject"]["organization"] = "Somebody else"
    (shop / "forged.json").write_bytes(canonical_json(document))
    for kind in ("in-toto", "vc"):
        assert run("export", "forged.json", "--as", kind, "--issuer", "issuer", "-o", "out.json") == 2
        assert "not the one of its id" in capsys.readouterr().err
        assert not (shop / "out.json").exists()
        assert run("export", "c.json", "--as", kind, "--issuer", "issuer") == 0


def test_a_promise_is_for_one_version_one_model_and_one_evaluation(registry, first_signers):
    subject = replace(SUBJECT, digests=("12" * 32,))
    failed = replace(OTHER_DATA, obstacles=("too few",))

    def certified(promise, subject=subject, found=FOUND):
        return registry.certify(found, subject, first_signers, AT, registered=promise).obstacles

    def promised(**plan):
        return registry.preregister(
            subject, RegisteredPlan(aim="L1", data_source="production", **plan), first_signers, AT - timedelta(hours=1)
        )

    assert certified(promised(), replace(subject, system_version="5")) == (
        "version 4.2 was registered; 5 was evaluated",
    )
    assert certified(promised(), replace(subject, digests=("34" * 32,))) == (
        "the registration names other model files",
    )
    other_data = promised(dataset_digest="epi-col-v1:sha-256:" + "00" * 32)
    assert certified(other_data) == ("the registration names other data",)
    assert certified(promised(dataset_digest=FOUND.dataset_digest)) == ()
    once = promised()
    assert certified(once, found=failed) == ("too few",)
    # Another data set under the same promise would be a choice made with the first result in hand.
    assert certified(once, found=OTHER_DATA) == ("the registration was for one evaluation; attempt 5 has used it",)


@pytest.mark.parametrize(("days", "when"), [(-31, "before"), (-30, "before"), (-2, "during"), (0, "after")])
def test_a_promise_made_after_the_days_of_the_data_is_called_so(days, when):
    promised = changed("evidence.preregistration.registered_at", to_moment(AT + days * DAY), BODY)
    assert _promised(promised) == f"pre-registered {when} the days of the data"
    assert _promised(changed("evidence.preregistration", None, BODY)) == "not pre-registered"


def test_a_clock_that_was_set_back_issues_nothing(registry, first_signers):
    registry.certify(FOUND, SUBJECT, first_signers, AT)
    size, before = registry.log.size, AT - timedelta(hours=2)
    for act in (
        lambda: registry.certify(replace(FOUND, period=(AT - 30 * DAY, AT - DAY)), SUBJECT, first_signers, before),
        lambda: registry.preregister(SUBJECT, RegisteredPlan(aim="L1", data_source="x"), first_signers, before),
        lambda: registry.renew_status(first_signers, before),
    ):
        with pytest.raises(LogError, match="the clock says .* the log was last written at"):
            act()
    assert registry.log.size == size
    registry.renew_status(first_signers, AT - timedelta(minutes=30))  # a long evaluation is no fault of the clock


def test_more_bins_covered_than_there_are_is_a_contradiction():
    assert verdict(resigned("evidence.covered_bins", 10)) == "VALID"
    assert verdict(resigned("evidence.covered_bins", 11)) == "INVALID(inconsistent)"


def test_names_of_no_text_are_refused_before_anything_is_logged(registry, first_signers):
    size = registry.log.size
    odd = Subject(organization="Ac\udcffme", system_id="x", system_version="1", domain="general")
    with pytest.raises(VerificationError, match="subject.organization must have no control"):
        registry.certify(FOUND, odd, first_signers, AT)
    with pytest.raises(VerificationError, match=r"subject\.digests\[0\]"):
        registry.certify(FOUND, replace(SUBJECT, digests=("zz",)), first_signers, AT)
    assert registry.log.size == size


def test_an_older_status_list_never_stays_when_two_write_at_once(registry, first_signers, monkeypatch):
    older, write, steps = registry.status_file(), Registry._write, []

    def slow(self, name, data):
        if not steps:  # between reading and writing, another process publishes a newer list
            steps.append("other")
            with Registry(registry.folder) as other:
                other.renew_status(first_signers, AT)
            assert data == older
        write(self, name, data)

    monkeypatch.setattr(Registry, "_write", slow)
    registry.write_status()
    assert (registry.folder / "status" / "1.json").read_bytes() == registry.status_file() != older


# Keys --------------------------------------------------------------------------------------------------------------


def test_without_the_root_key_no_key_changes(registry):
    drawer = registry.folder / "drawer"
    (registry.folder / "root").rename(drawer)
    ring, size = KeyStore(registry.folder / "keys").ring, registry.log.size
    issuer = next(record.id for record in ring if record.role == "issuer")
    for act in (
        lambda: rotate(registry.folder, "issuer", SECRET, AT),
        lambda: end_key(registry.folder, issuer, "compromised", SECRET, AT),
    ):
        with pytest.raises(KeyStoreError, match="no root key is in .*root; give its folder with --root-keys"):
            act()
    assert KeyStore(registry.folder / "keys").ring == ring
    assert registry.log.size == size
    rotate(registry.folder, "issuer", SECRET, AT, root_folder=drawer)


def test_the_only_key_of_the_log_ends_after_it_has_a_successor(registry, first_signers):
    old = next(record for record in registry.root().ring if record.role == "log")
    with pytest.raises(KeyStoreError, match="give it a successor first: epimeter keys rotate .* log"):
        end_key(registry.folder, old.id, "compromised", SECRET, AT)
    assert registry.root().version == 1
    rotate(registry.folder, "log", SECRET, AT)
    end_key(registry.folder, old.id, "compromised", SECRET, AT)
    made = registry.certify(FOUND, SUBJECT, registry.signers(SECRET, AT), AT)
    assert verdict_of(registry, made.certificate) == "VALID"


def test_an_end_that_was_interrupted_is_finished_by_doing_it_again(registry):
    issuer = next(record for record in registry.root().ring if record.role == "issuer")
    KeyStore(registry.folder / "keys").compromise(issuer.id, AT)  # here the first try died
    end_key(registry.folder, issuer.id, "compromised", SECRET, AT)
    assert next(one for one in registry.root().ring if one.id == issuer.id).revoked.reason == "compromised"
    with pytest.raises(KeyStoreError, match="already compromised"):
        end_key(registry.folder, issuer.id, "compromised", SECRET, AT)


def test_two_who_change_keys_at_once_lose_nothing(registry):
    threads = [threading.Thread(target=rotate, args=(registry.folder, "issuer", SECRET, AT)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    published = [one for one in registry.root().ring if one.role == "issuer"]
    assert (registry.root().version, len(published)) == (4, 4)
    added = [read_entry(entry) for entry in registry.log.entries(5, registry.log.size)]
    assert {one["id"] for one in added} < {one.id for one in published}


def test_a_passphrase_may_be_any_bytes_but_none(tmp_path):
    secret = b"\xff\xfe".decode("utf-8", "surrogateescape")
    key = PrivateKey.generate()
    assert from_pem(to_pem(key, secret), secret).public == key.public
    with pytest.raises(KeyStoreError, match="kept under a passphrase; got an empty one"):
        from_pem(to_pem(key, secret), "")


def test_an_issuer_with_an_odd_log_name_leaves_nothing_behind(tmp_path):
    with pytest.raises(VerificationError, match="a key name must have no spaces"):
        Registry.create(tmp_path / "new", issuer="a b", origin="a b/log", passphrase=SECRET, at=AT)
    assert not (tmp_path / "new").exists()


def test_a_log_key_proves_nothing_that_came_after_its_end():
    for end, expected in ((AT, "NOT_LOGGED"), (AT + timedelta(seconds=1), "VALID")):
        assert verdict(trust=Trust.of(root(RING.retire(LOG_KEY.public.id, end)))) == expected


def test_one_key_has_one_role_also_when_typed_by_hand():
    log = NoteKey(ORIGIN, STATUS.public)
    with pytest.raises(VerificationError, match="a key has one role"):
        Trust.pinned((), logs=(log,), statuses=(STATUS.public,))


def test_a_witness_of_a_root_signs_as_a_witness():
    with pytest.raises(VerificationError, match="type 4"):
        root(witnesses=(NoteKey("seer.example", STATUS.public),))


def test_a_root_is_followed_to_its_successors_by_the_command(shop, capsys):
    first = newest_root(shop / "issuer").fingerprint
    assert run("keys", "rotate", "issuer", "issuer") == 0
    assert run("certify", "data.csv", *NAMES, "-o", "c.json") == 0
    one, two = "issuer/trust-root-1.json", "issuer/trust-root-2.json"
    status = ("--fingerprint", first, "--status", "issuer/status/1.json")
    assert run("verify", "c.json", "--root", one, *status) == 3
    assert run("verify", "c.json", "--root", one, "--root", two, *status) == 0
    assert run("verify", "c.json", "--root", two, *status) == 3
    assert run("verify", "c.json", "--root", one, "--root", two, "--root", one, *status) == 3
    capsys.readouterr()
    stranger = PrivateKey.generate()
    old = newest_root(shop / "issuer")
    ring = type(old.ring)(()).add(stranger.public, "root", old.issued_at)
    forged = TrustRoot(version=2, issued_at=old.issued_at, expires_at=old.expires_at, threshold=1, ring=ring)
    (shop / "forged.json").write_bytes(sign_root(forged, stranger).to_json())
    assert run("verify", "c.json", "--root", one, "--root", "forged.json", *status) == 3
    assert "none of the trusted keys" in capsys.readouterr().err
    assert run("verify", "c.json", "--fingerprint", first) == 2


# The log ------------------------------------------------------------------------------------------------------------


def test_a_status_list_that_the_log_never_published_is_named(registry, first_signers, tmp_path):
    made = registry.certify(FOUND, SUBJECT, first_signers, AT)
    registry.set_status(made.id, "REVOKED", "labels were wrong", first_signers, AT)
    entries = registry.log.entries(0, registry.log.size)
    ours = Envelope.from_json(registry.status_file())
    assert unpublished(entries, ours) == []
    with Registry.create(
        tmp_path / "other", issuer="https://other.example", origin="other/log", passphrase=SECRET, at=AT
    ) as other:
        theirs = Envelope.from_json(other.status_file())
        assert undone(entries, other.statuses()) == []  # of another list this log says nothing
    assert unpublished(entries, theirs) == ["the status list is none that the log has published"]


def test_an_entry_of_a_hostile_log_is_refused_in_one_sentence(registry):
    for index in ("x", None, -1, 1.5, [], 2**40):
        entry = log_entry("certificate.revoked", "x", "2026-11-15T06:00:00Z", list=registry.list_id, index=index)
        with pytest.raises(VerificationError, match="index"):
            undone([entry], registry.statuses())


def test_a_log_is_not_published_over_another(registry, first_signers, tmp_path):
    publish(registry, tmp_path / "out", AT)
    with Registry.create(
        tmp_path / "other", issuer="https://other.example", origin="registry.example/log", passphrase=SECRET, at=AT
    ) as other:
        assert other.log.size == registry.log.size
        with pytest.raises(LogError, match="holds another log"):
            publish(other, tmp_path / "out", AT)
    registry.renew_status(first_signers, AT)
    publish(registry, tmp_path / "out", AT)


def test_a_copy_of_the_issuer_from_before_is_not_published_over_the_later_state(registry, first_signers, tmp_path):
    shutil.copytree(registry.folder, tmp_path / "backup")
    registry.renew_status(first_signers, AT)
    publish(registry, tmp_path / "out", AT)
    with Registry(tmp_path / "backup") as backup, pytest.raises(LogError, match="or a later state of this one"):
        publish(backup, tmp_path / "out", AT)


def test_a_log_that_claims_to_be_endless_is_read_bundle_by_bundle(tmp_path, registry):
    note = sign_checkpoint(Checkpoint(ORIGIN, 2**62, b"\0" * 32), LOG_KEY)
    asked = []

    def fetch(path):
        if path == "checkpoint":
            return note.to_bytes()
        asked.append(path)
        raise LogError("there is no such file")

    log = TileLog(fetch)
    with pytest.raises(LogError):
        log.first_entries(log.size)
    assert asked == ["tile/entries/000"]
    log_key = NoteKey(ORIGIN, LOG_KEY.public)
    seen = Monitor(tmp_path / "memory", replace(policy(registry), log_keys=(log_key,))).check(log)
    assert seen.checkpoint.size == 2**62


def test_the_audit_log_is_private_and_verified_by_the_command(shop, capsys):
    fingerprint = newest_root(shop / "issuer").fingerprint
    trust = ("--root", "issuer/trust-root.json", "--fingerprint", fingerprint)
    assert run("certify", "data.csv", *NAMES) == 0
    assert run("keys", "rotate", "issuer", "status") == 0
    fingerprint = newest_root(shop / "issuer").fingerprint
    trust = ("--root", "issuer/trust-root.json", "--fingerprint", fingerprint)
    assert run("log", "verify", "issuer/audit.db", *trust) == 0
    assert "/audit: 2 entries, 3 checkpoints, sound" in capsys.readouterr().out
    for name in ("audit.db", "log.db"):
        assert (shop / "issuer" / name).stat().st_mode & 0o077 == 0


# What is read and printed --------------------------------------------------------------------------------------------


def test_a_file_too_large_is_not_read_to_its_end(shop, capsys):
    with open(shop / "huge.json", "wb") as file:
        file.truncate(1 << 36)  # sparse: 64 GB that take no room
    (shop / "c.json").write_bytes(CERTIFICATE)
    key = ("--key", "eLf/kmSCjaqgIUwNnOxch6AgtgsBPEnZymKWd5t6S+Q=")
    assert run("verify", "huge.json", *key) == 2
    assert run("verify", "c.json", *key, "--status", "huge.json") == 3
    assert run("verify", "c.json", "--root", "huge.json", "--fingerprint", "0" * 64) == 2
    assert run("verify", "c.json", "--key", "huge.json") == 2
    assert run("reproduce", "huge.json", "data.csv") == 2
    assert run("disclose", "huge.json", "data.csv", "--record", "r1") == 2
    assert run("export", "huge.json") == 2
    capsys.readouterr()


def test_what_a_stranger_wrote_is_cut_and_escaped_when_printed():
    found = judged({**DOCUMENT, "x" * 50_000: 1})
    assert found.shown == "INVALID(malformed)"
    assert len(found.sentence) < 300
    proof = DOCUMENT["transparency"]["tlog_proof"]
    lines = proof.rstrip("\n").split("\n")
    lines[-1] = lines[-1].replace(ORIGIN, "evil\x9b31m")
    found = judged(changed("transparency.tlog_proof", "\n".join(lines) + "\n"))
    assert found.shown == "NOT_LOGGED"
    assert found.sentence.isprintable()


def test_a_command_never_writes_over_what_it_reads(shop, capsys):
    assert run("certify", "data.csv", *NAMES, "-o", "c.json") == 0
    data, certificate = (shop / "data.csv").read_bytes(), (shop / "c.json").read_bytes()
    size = len(list((shop / "issuer" / "certificates").iterdir()))
    (shop / "link.csv").symlink_to("data.csv")
    for arguments in (
        ("certify", "data.csv", *NAMES, "-o", "data.csv"),
        ("certify", "data.csv", *NAMES, "-o", "link.csv"),
        ("certify", "data.csv", *NAMES, "--report", "c.json", "-o", "c.json"),
        ("disclose", "c.json", "data.csv", "--record", "r1", "-o", "data.csv"),
        ("disclose", "c.json", "data.csv", "--record", "r1", "-o", "c.json"),
        ("export", "c.json", "-o", "c.json"),
    ):
        assert run(*arguments) == 2
        assert "--output must be another file than those that are read" in capsys.readouterr().err
    assert run("certify", "data.csv", *NAMES, "-o", "nowhere/c.json") == 2
    assert "--output must lie in a folder that exists" in capsys.readouterr().err
    assert ((shop / "data.csv").read_bytes(), (shop / "c.json").read_bytes()) == (data, certificate)
    assert len(list((shop / "issuer" / "certificates").iterdir())) == size


def test_a_column_without_its_role_is_refused(shop, capsys):
    assert run("certify", "data.csv", *NAMES, "-o", "c.json") == 0
    for command in (
        ("certify", "data.csv", *NAMES),
        ("reproduce", "c.json", "data.csv"),
        ("disclose", "c.json", "data.csv", "--record", "r1"),
    ):
        assert run(*command, "--column", "confidence") == 2
        assert "--column takes NAME=VALUE" in capsys.readouterr().err
