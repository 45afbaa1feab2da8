"""The log on SQLite, its audit, its monitor and its sequencer."""

import shutil
import sqlite3
import threading
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_ground import AT, DAY, LOG_KEY, ORIGIN, POLICY, key, witness

from epimeter.errors import LogError, TrustError, VerificationError
from epimeter.trust.audit import _compared, audit
from epimeter.trust.checkpoint import Checkpoint, LogPolicy, cosign, sign_checkpoint, verify_checkpoint
from epimeter.trust.log import PLACE, Log
from epimeter.trust.merkle import Frontier, grow, leaf_hash, root_of, verify_consistency
from epimeter.trust.monitor import Monitor, continues
from epimeter.trust.note import NoteKey
from epimeter.trust.sequencer import Sequencer
from epimeter.trust.tiles import bundle_entries, bundles_of, nodes_from_tiles, tiles_of
from epimeter.trust.tlog_proof import TlogProof, verify_proof

SIZES = (3, 1, 6, 1, 9)  # of the batches: checkpoints at 0, 3, 4, 10, 11, 20
ENTRIES = [f"entry {number}".encode() for number in range(sum(SIZES))]


def filled(path, entries=ENTRIES, sizes=SIZES, signer=LOG_KEY):
    log = Log.create(path, ORIGIN, signer, AT)
    start = 0
    for size in sizes:
        log.append(entries[start : start + size], signer, AT)
        start += size
    return log


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.db"
    filled(path).close()
    return path


@pytest.fixture
def path(original, tmp_path):
    return shutil.copy(original, tmp_path / "log.db")


@pytest.fixture
def log(path):
    with Log(path) as opened:
        yield opened


def tamper(path, *statements):
    """Whoever has the file has no triggers to fear."""
    connection = sqlite3.connect(path)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement, *values in statements:
        connection.execute(statement, values)
    connection.commit()
    connection.close()


def found(path):
    return [(one.what, one.index, one.last) for one in audit(path, POLICY).findings]


def set_entry(index, entry):
    return "UPDATE entries SET entry = ? WHERE idx = ?", entry, index


def coherent(index, entry, entries=ENTRIES):
    """An edit together with every stored hash above it."""
    changed = [*entries[:index], entry, *entries[index + 1 :]]
    _, born = grow(Frontier(), map(leaf_hash, changed))
    return [set_entry(index, entry)] + [
        ("UPDATE nodes SET hash = ? WHERE level = ? AND idx = ?", subtree, level, at) for level, at, subtree in born
    ]


# ---- appending and proving ----


def test_every_entry_has_a_proof_under_every_checkpoint_that_covers_it(log):
    for size in (3, 4, 10, 11, 20):
        assert verify_checkpoint(log.checkpoint(size), POLICY).checkpoint.root == root_of(
            map(leaf_hash, ENTRIES[:size])
        )
        for index in range(size):
            text = log.proof(index, size).to_text()
            verify_proof(TlogProof.from_text(text), ENTRIES[index], POLICY)


def test_a_new_log_has_a_checkpoint_of_the_empty_tree(tmp_path):
    with Log.create(tmp_path / "new.db", ORIGIN, LOG_KEY, AT) as log:
        assert (log.size, log.origin) == (0, ORIGIN)
        assert verify_checkpoint(log.checkpoint(), POLICY).checkpoint.size == 0
    assert audit(tmp_path / "new.db", POLICY).sound


def test_entries_come_back_and_batches_say_where(log):
    assert log.entries(0, 20) == ENTRIES
    assert log.entry(7) == ENTRIES[7]
    batch = log.append([b"a", b"b"], LOG_KEY, AT)
    assert (batch.first, batch.size) == (20, 22)
    assert batch.checkpoint == log.checkpoint()
    with pytest.raises(LogError, match="no entry 22"):
        log.entry(22)
    with pytest.raises(LogError, match="no checkpoint of size 5"):
        log.checkpoint(5)


def test_batches_that_cannot_be_are_refused_and_leave_nothing(log):
    for batch in ([], [b"good", bytes(65_536)]):
        with pytest.raises(TrustError):
            log.append(batch, LOG_KEY, AT)

    class Broken:
        public = LOG_KEY.public

        def sign(self, message):
            raise RuntimeError("the device is gone")

    with pytest.raises(RuntimeError):
        log.append([b"lost"], Broken(), AT)
    assert log.size == 20
    log.append([bytes(65_535), b""], LOG_KEY, AT)
    assert audit(log.path, POLICY).sound


def test_the_log_is_served_as_tiles(tmp_path):
    entries = [str(number).encode() for number in range(600)]
    with filled(tmp_path / "log.db", entries, (300, 300)) as log:
        root = verify_checkpoint(log.checkpoint(), POLICY).checkpoint.root
        served = {tile.path: log.tile(tile.path) for tile in tiles_of(600)}
        nodes = nodes_from_tiles(600, served.__getitem__)
        assert [nodes(0, index) for index in range(600)] == [leaf_hash(entry) for entry in entries]
        bundles = [bundle_entries(tile, log.tile(tile.path)) for tile in bundles_of(600)]
        assert [entry for bundle in bundles for entry in bundle] == entries
        assert root == root_of(map(leaf_hash, entries))
        assert log.tile("tile/0/002.p/44") == log.tile("tile/0/002.p/88")[: 32 * 44]
        for path in ("tile/0/002", "tile/1/000.p/3", "tile/entries/002.p/89", "tile/2/000.p/1"):
            with pytest.raises(LogError, match="smaller"):
                log.tile(path)


def test_cosignatures_come_later_and_travel_with_the_proof(log):
    line = cosign(log.checkpoint(), "w1.example", key("w1"), AT)
    log.add_cosignature(20, line)
    policy = LogPolicy(log_keys=POLICY.log_keys, witnesses=(witness("w1"),), quorum=1)
    assert verify_proof(log.proof(3), ENTRIES[3], policy).proven_at == AT
    with pytest.raises(LogError):
        log.add_cosignature(20, line)
    with pytest.raises(LogError):
        log.add_cosignature(5, line)


def test_two_objects_append_to_one_file(path):
    with Log(path) as one, Log(path) as other:
        assert one.append([b"x"], LOG_KEY, AT).first == 20
        assert other.append([b"y"], LOG_KEY, AT).first == 21
        assert one.append([b"z"], LOG_KEY, AT).first == 22
    assert audit(path, POLICY).sound


def test_a_reader_does_not_wait_for_an_append(path):
    """Another process may hold the file for half a minute; whoever asks whether a service is ready must not wait for it."""
    with Log(path) as log:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        appending = threading.Thread(target=log.append, args=([b"x"], LOG_KEY, AT))
        appending.start()
        while log._lock.acquire(blocking=False):  # until the append has it
            log._lock.release()
        assert log.size == 20 and log.checkpoint() is not None
        assert appending.is_alive()
        other.execute("ROLLBACK")
        other.close()
        appending.join()
        assert log.size == 21


def test_the_disk_is_waited_for(log):
    assert log._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert log._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert log._connection.execute("PRAGMA recursive_triggers").fetchone() == (1,)


def test_public_and_audit_log_are_one_code_and_two_identities(tmp_path):
    other = "registry.example/audit"
    with Log.create(tmp_path / "audit.db", other, key("audit"), AT) as log:
        log.append([b"private"], key("audit"), AT)
        with pytest.raises(VerificationError):
            verify_proof(log.proof(0), b"private", POLICY)
        verify_proof(log.proof(0), b"private", LogPolicy(log_keys=(NoteKey(other, key("audit").public),)))


def test_files_that_are_no_log_are_refused(tmp_path):
    (tmp_path / "text.db").write_bytes(b"no database at all, only text" * 100)
    (tmp_path / "empty.db").write_bytes(b"")
    for name in ("absent.db", "text.db", "empty.db"):
        with pytest.raises(LogError):
            Log(tmp_path / name)
        with pytest.raises(LogError):
            audit(tmp_path / name, POLICY)
    with pytest.raises(LogError, match="exists"):
        Log.create(tmp_path / "text.db", ORIGIN, LOG_KEY, AT)
    with pytest.raises(VerificationError):
        Log.create(tmp_path / "odd.db", "two words", LOG_KEY, AT)
    assert not (tmp_path / "odd.db").exists()


# ---- the fence ----


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET entry = x'00' WHERE idx = 3",
        "DELETE FROM entries WHERE idx = 19",
        "INSERT OR REPLACE INTO entries VALUES (3, x'00')",
        "INSERT INTO entries VALUES (30, x'00')",
        "INSERT INTO entries VALUES (NULL, zeroblob(65536))",
        "UPDATE nodes SET hash = x'00'",
        "DELETE FROM nodes",
        "INSERT OR REPLACE INTO nodes VALUES (0, 3, x'00')",
        "UPDATE checkpoints SET root = x'00'",
        "DELETE FROM checkpoints",
        "INSERT OR REPLACE INTO checkpoints SELECT * FROM checkpoints WHERE number = 5",
        "INSERT OR REPLACE INTO checkpoints SELECT 6, size, root, time, note FROM checkpoints WHERE number = 5",
        "UPDATE log SET origin = 'other'",
        "DELETE FROM log",
    ],
)
def test_a21_rows_can_be_appended_and_nothing_else(log, statement):
    with pytest.raises(sqlite3.IntegrityError):
        log._connection.execute(statement)
    assert audit(log.path, POLICY).sound


# ---- the audit ----


def test_an_untouched_log_is_sound(path):
    report = audit(path, POLICY)
    assert report.sound
    assert (report.origin, report.size, report.checkpoints) == (ORIGIN, 20, 6)


def test_a21_every_edited_row_is_named(original, tmp_path):
    for index in range(20):
        path = shutil.copy(original, tmp_path / f"{index}.db")
        tamper(path, set_entry(index, b"forged"))
        assert found(path) == [("edited", index, index)]


def test_a21_every_deleted_row_is_named(original, tmp_path):
    for index in range(20):
        path = shutil.copy(original, tmp_path / f"{index}.db")
        tamper(path, ("DELETE FROM entries WHERE idx = ?", index))
        assert found(path) == [("deleted", index, index)]


def shifted(by, index):
    # Renumbering through negative numbers, so that no index is taken twice on the way.
    return [
        ("UPDATE entries SET idx = -idx - 1000 WHERE idx >= ?", index),
        (f"UPDATE entries SET idx = -idx - 1000 + {by} WHERE idx <= -1000",),
    ]


def test_a21_every_row_deleted_with_renumbering_is_named(original, tmp_path):
    for index in range(20):
        path = shutil.copy(original, tmp_path / f"{index}.db")
        tamper(path, ("DELETE FROM entries WHERE idx = ?", index), *shifted(-1, index + 1))
        assert found(path) == [("deleted", index, index)]


def test_a21_every_inserted_row_is_named(original, tmp_path):
    for index in range(21):
        path = shutil.copy(original, tmp_path / f"{index}.db")
        tamper(path, *shifted(1, index), ("INSERT INTO entries VALUES (?, ?)", index, b"forged"))
        assert found(path) == [("inserted", index, index)]


def test_a21_swapped_rows_are_named(original, tmp_path):
    for one, other in ((0, 1), (0, 19), (4, 10), (18, 19)):
        path = shutil.copy(original, tmp_path / f"{one}-{other}.db")
        tamper(path, set_entry(one, ENTRIES[other]), set_entry(other, ENTRIES[one]))
        assert found(path) == [("swapped", one, other)]


def test_a21_several_changes_are_all_named(path):
    tamper(
        path, set_entry(2, b"x"), set_entry(3, b"y"), ("DELETE FROM entries WHERE idx = 9",), set_entry(15, ENTRIES[3])
    )
    assert found(path) == [("edited", 2, 2), ("edited", 3, 3), ("deleted", 9, 9), ("edited", 15, 15)]


def test_a21_an_edit_with_its_leaf_hash_is_narrowed_to_a_pair_of_entries(original, tmp_path):
    for index in range(20):
        path = shutil.copy(original, tmp_path / f"{index}.db")
        tamper(
            path,
            coherent(index, b"forged")[0],
            ("UPDATE nodes SET hash = ? WHERE level = 0 AND idx = ?", leaf_hash(b"forged"), index),
        )
        ((what, first, last),) = found(path)
        assert what == "changed"
        assert first <= index <= last <= first + 1


def test_a21_an_edit_with_all_hashes_above_it_is_narrowed_to_its_batch(original, tmp_path):
    bounds = {
        index: (sum(SIZES[:number]), sum(SIZES[: number + 1]) - 1)
        for number in range(5)
        for index in range(sum(SIZES[:number]), sum(SIZES[: number + 1]))
    }
    for index in range(20):
        path = shutil.copy(original, tmp_path / f"{index}.db")
        tamper(path, *coherent(index, b"forged"))
        assert found(path) == [("changed", *bounds[index])]


def test_a21_a_log_that_was_tampered_with_is_not_continued(path):
    tamper(path, *coherent(15, b"forged"))
    with Log(path) as log, pytest.raises(LogError, match="nothing was appended"):
        log.append([b"more"], LOG_KEY, AT)
    tamper(path, ("INSERT INTO entries VALUES (20, x'00')",))
    with Log(path) as log, pytest.raises(LogError):
        log.append([b"more"], LOG_KEY, AT)


def test_a21_wrong_stored_hashes_are_named_though_all_entries_are_good(path):
    tamper(path, ("UPDATE nodes SET hash = zeroblob(32) WHERE level = 2 AND idx = 1",))
    assert found(path) == [("hash", 4, 7)]
    tamper(path, ("DELETE FROM nodes WHERE level = 0 AND idx = 2",))
    assert found(path)[0][0] == "hash"


def test_a21_checkpoints_forged_moved_or_missing_are_named(path):
    forged = sign_checkpoint(Checkpoint(ORIGIN, 11, bytes(32)), key("attacker"))
    tamper(path, ("UPDATE checkpoints SET note = ? WHERE number = 4", forged.to_bytes()))
    assert found(path) == [("checkpoint", 4, 4)]
    tamper(path, ("DELETE FROM checkpoints WHERE number = 4",))
    assert found(path) == [("checkpoint", 4, 4)]
    tamper(path, ("UPDATE checkpoints SET size = 9 WHERE number = 3",))
    assert ("checkpoint", 3, 3) in found(path)
    tamper(path, ("UPDATE checkpoints SET note = 'text'",))
    with pytest.raises(VerificationError, match="no authentic checkpoint"):
        audit(path, POLICY)


def test_a21_two_histories_signed_by_the_log_itself_are_named(path):
    changed = [*ENTRIES[:5], b"forged", *ENTRIES[6:]]
    tree = Checkpoint(ORIGIN, 20, root_of(map(leaf_hash, changed)))
    note = sign_checkpoint(tree, LOG_KEY).to_bytes()
    resigned = ("UPDATE checkpoints SET note = ?, root = ? WHERE number = 5", note, tree.root)
    tamper(path, *coherent(5, b"forged"), resigned)
    assert found(path) == [("forked", 4, 9)]


def test_a20_a_log_rewritten_under_another_key_is_not_believed(tmp_path):
    filled(tmp_path / "log.db", signer=key("attacker")).close()
    with pytest.raises(VerificationError):
        audit(tmp_path / "log.db", POLICY)


def test_rows_of_odd_types_are_findings_not_crashes(path):
    tamper(path, ("UPDATE entries SET entry = 'text' WHERE idx = 4",), ("UPDATE entries SET entry = 5 WHERE idx = 6",))
    assert found(path) == [("edited", 4, 4), ("edited", 6, 6)]


def test_a_row_of_an_odd_type_is_not_served(path):
    tamper(path, ("UPDATE entries SET entry = 5 WHERE idx = 6",), ("UPDATE nodes SET hash = 'text' WHERE level = 0",))
    with Log(path) as log:
        for read in (lambda: log.entry(6), lambda: log.tile("tile/0/000.p/20"), lambda: log.proof(0)):
            with pytest.raises(LogError, match="tampered"):
                read()


LETTERS = st.lists(st.sampled_from([bytes([letter]) * 32 for letter in range(6)]), max_size=8)


@given(LETTERS, LETTERS, st.sets(st.integers(0, 7)))
def test_a21_any_difference_is_a_finding_and_equality_none(rows, leaves, doubtful):
    numbered = list(enumerate(rows))
    assert bool(_compared(numbered, list(leaves))) == (rows != leaves)
    vouched = [None if number in doubtful else leaf for number, leaf in enumerate(leaves)]
    assert not _compared(list(enumerate(leaves)), vouched)
    _compared(numbered, vouched)


def test_an_audit_while_others_append_sees_one_state(log):
    done = threading.Event()

    def write():
        while not done.is_set():
            log.append([b"more"] * 3, LOG_KEY, AT)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert all(audit(log.path, POLICY).sound for _ in range(10))
    finally:
        done.set()
        writer.join()


# ---- the monitor ----


def test_a_monitor_remembers_and_proves(path, tmp_path):
    monitor = Monitor(tmp_path / "seen", POLICY)
    assert monitor.remembered is None
    with Log(path) as log:
        assert monitor.check(log).checkpoint.size == 20
        assert monitor.check(log).checkpoint.size == 20
        log.append([b"more"] * 5, LOG_KEY, AT)
        assert monitor.check(log).checkpoint.size == 25
        assert monitor.remembered == log.checkpoint()


def test_a21_a_monitor_catches_a_shrinking_log(original, path, tmp_path):
    monitor = Monitor(tmp_path / "seen", POLICY)
    with Log(path) as log:
        log.append([b"more"], LOG_KEY, AT)
        monitor.check(log)
    with (
        Log(original) as log,
        pytest.raises(VerificationError, match="21 entries were seen, now it shows 20") as caught,
    ):
        monitor.check(log)
    assert caught.value.code == "shrunk"
    assert verify_checkpoint(monitor.remembered, POLICY).checkpoint.size == 21


def test_a21_a_monitor_catches_two_trees_of_one_size(path, tmp_path):
    monitor = Monitor(tmp_path / "seen", POLICY)
    with Log(path) as log:
        monitor.check(log)
    with filled(tmp_path / "fork.db", [b"forged", *ENTRIES[1:]]) as fork:
        with pytest.raises(VerificationError, match="two trees of 20 entries") as caught:
            monitor.check(fork)
        assert caught.value.code == "fork"
        fork.append([b"more"], LOG_KEY, AT)
        with pytest.raises(VerificationError, match="first 20 entries are unchanged") as caught:
            monitor.check(fork)
        assert caught.value.code == "inconsistent"
    assert verify_checkpoint(monitor.remembered, POLICY).checkpoint.size == 20


def test_a20_a_monitor_hears_no_other_key(path, tmp_path):
    monitor = Monitor(tmp_path / "seen", POLICY)
    with filled(tmp_path / "other.db", signer=key("attacker")) as other, pytest.raises(VerificationError):
        monitor.check(other)
    assert monitor.remembered is None


def test_any_old_checkpoint_in_a_strangers_hands_is_a_memory(log):
    old = log.checkpoint(4)
    proof = log.consistency_proof(4, 20)
    assert continues(old, log.checkpoint(), proof, POLICY).checkpoint.size == 20
    verify_consistency(4, 20, proof, root_of(map(leaf_hash, ENTRIES[:4])), root_of(map(leaf_hash, ENTRIES)))
    with pytest.raises(VerificationError):
        continues(old, log.checkpoint(), proof[:-1], POLICY)


# ---- the sequencer ----


def test_a_sequencer_gives_every_entry_its_index(log):
    entries = [f"from thread {number}".encode() for number in range(200)]
    indices = {}
    with Sequencer(log, LOG_KEY, lambda: AT + DAY, period=0.01) as sequencer:

        def hand_in(part):
            for entry in part:
                indices[entry] = sequencer.submit(entry).result(10)

        threads = [threading.Thread(target=hand_in, args=(entries[start::20],)) for start in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(indices.values()) == list(range(20, 220))
    for entry, index in indices.items():
        assert log.entry(index) == entry
        verify_proof(log.proof(index), entry, POLICY)
    assert audit(log.path, POLICY).sound


def test_a_closed_sequencer_has_appended_everything_and_takes_nothing(log):
    sequencer = Sequencer(log, LOG_KEY, lambda: AT, period=5)
    waiting = [sequencer.submit(b"x") for _ in range(3)]
    cancelled = sequencer.submit(b"never mind")
    assert cancelled.cancel()
    sequencer.close()
    sequencer.close()
    assert [one.result(0) for one in waiting] == [20, 21, 22]
    assert log.size == 23
    with pytest.raises(LogError, match="closed"):
        sequencer.submit(b"late")


def test_a_failed_batch_is_told_to_all_who_wait(path):
    log = Log(path)
    with Sequencer(log, LOG_KEY, lambda: AT, period=0.01) as sequencer:
        with pytest.raises(VerificationError):
            sequencer.submit(bytes(65_536))
        log.close()
        with pytest.raises(LogError):
            sequencer.submit(b"x").result(10)


def test_an_entry_is_found_by_its_hash_with_and_without_the_index(path):
    """A log from before there was an index gets it at its next opening by a service; it is found before, too."""
    absent = leaf_hash(b"absent")
    alike = leaf_hash(ENTRIES[7])[:4] + absent[4:]  # what the index knows of a leaf, and no leaf
    with Log(path) as log:
        for _ in range(2):
            assert [log.place_of(leaf_hash(entry)) for entry in ENTRIES] == list(range(len(ENTRIES)))
            assert log.place_of(absent) is None and log.place_of(alike) is None
            log.index_leaves()
        log.append([b"later", ENTRIES[3]], LOG_KEY, AT)
        assert log.place_of(leaf_hash(b"later")) == len(ENTRIES) and log.place_of(leaf_hash(ENTRIES[3])) == 3
    with closing(sqlite3.connect(path)) as connection:
        plan = str(connection.execute(f"EXPLAIN QUERY PLAN {PLACE}", (absent[:4], absent)).fetchall())
    assert "INDEX leaves" in plan and "SCAN" not in plan, plan


def test_the_growth_of_a_log_begins_with_its_first_checkpoint_and_ends_with_its_last(path):
    with Log(path) as log:
        assert [size for _, size in log.growth(40)] == [0, 3, 4, 10, 11, 20]
        assert [size for _, size in log.growth(3)] == [0, 4, 20]
    with Log.create(path.with_name("empty.db"), ORIGIN, LOG_KEY, AT) as log:
        assert [size for _, size in log.growth(40)] == [0]


def test_appending_is_fast_enough(tmp_path):
    # The aim is 20,000 entries a second in batches; measured about 100,000. The test allows for a busy machine.
    with Log.create(tmp_path / "log.db", ORIGIN, LOG_KEY, AT) as log:
        entries = [b"%064d" % number for number in range(5000)]
        start = time.perf_counter()
        for first in range(0, 20_000, 5000):
            log.append(entries, LOG_KEY, AT)
            assert log.size == first + 5000
        assert time.perf_counter() - start < 10
