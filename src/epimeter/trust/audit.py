# SPDX-License-Identifier: Apache-2.0
"""A stored log against every checkpoint it ever signed: was anything edited, deleted, inserted, swapped, and where.

1. Every checkpoint carries a signature of the log, in an unbroken row of growing sizes.
2. The tree is rebuilt from the entries alone and compared with each checkpoint when it reaches its size; stored hashes
   are compared on the way. Nothing found: the log is sound, and no more memory was used than the height of the tree.
3. Otherwise the place is sought. From the newest signed root downwards, stored hashes that add up to a vouched hash are
   vouched for themselves, down to the leaves; an entry that does not fit its vouched leaf is named. Where somebody also
   rewrote the stored hashes, the smallest range is named that no signature vouches for.

The newest checkpoints and their entries can be cut off without a trace here; only a memory outside shows it: `monitor`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from epimeter.errors import LogError, TrustError, VerificationError
from epimeter.trust.checkpoint import Checkpoint, LogPolicy, verify_checkpoint
from epimeter.trust.merkle import EMPTY_ROOT, Frontier, grow, leaf_hash, node_hash, range_hash, root_of, split
from epimeter.trust.note import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One thing that is wrong: what (`edited`, `deleted`, `inserted`, `swapped`, `changed`, `forked`, `hash`, `checkpoint`), where.

    `index` and `last` are the first and last entry concerned, or the number of the checkpoint.
    """

    what: str
    index: int
    last: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit saw; the log is sound when nothing was found."""

    origin: str
    size: int
    checkpoints: int
    findings: tuple[AuditFinding, ...]

    @property
    def sound(self) -> bool:
        """Whether everything fits."""
        return not self.findings


def audit(path: Path | str, policy: LogPolicy) -> Audit:
    """Rebuild a log's tree from its rows against every stored checkpoint; the steps stand at the top of this file.

    Witnesses are not asked for: most checkpoints were never cosigned.
    """
    path = Path(path)
    if not path.is_file():
        raise LogError(f"there is no log in {path.name}")
    connection = _open(path)
    try:
        signed, findings = _checkpoints(connection, LogPolicy(log_keys=policy.log_keys))
        count = connection.execute("SELECT count(*) FROM entries").fetchone()[0]
        trees = [signed[number] for number in sorted(signed)]
        bad_hash, good, first_bad = _rebuild(connection, trees)
        if first_bad is not None:
            findings += _places(connection, trees, good, first_bad) or [_fork(good, first_bad)]
        elif bad_hash is not None:
            findings.append(bad_hash)
    except sqlite3.Error as fault:
        raise LogError(f"the log in {path.name} cannot be read: {fault}") from None
    finally:
        connection.close()
    return Audit(origin=policy.origin, size=count, checkpoints=len(signed), findings=tuple(findings))


def _open(path: Path) -> sqlite3.Connection:
    # Read-only, and one snapshot whatever is appended meanwhile. On a medium that cannot be written SQLite cannot make
    # the file it shares with writers; there are none, so it may go without.
    place = path.absolute().as_uri()
    addresses = [f"{place}?mode=ro"]
    if not path.with_name(f"{path.name}-wal").exists():
        addresses.append(f"{place}?immutable=1")
    reason: object = None
    for address in addresses:
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT version FROM log").fetchone()
            return connection
        except sqlite3.Error as fault:
            connection.close()
            reason = fault
    raise LogError(f"the log in {path.name} cannot be read: {reason}")


def _checkpoints(connection: sqlite3.Connection, policy: LogPolicy) -> tuple[dict[int, Checkpoint], list[AuditFinding]]:
    # Step 1: the checkpoints that are authentic, by number, and what is wrong with the others.
    signed: dict[int, Checkpoint] = {}
    findings: list[AuditFinding] = []

    def wrong(number: int, sentence: str) -> None:
        findings.append(AuditFinding(what="checkpoint", index=number, last=number, sentence=sentence))

    expected = 0
    for number, size, root, note in connection.execute(
        "SELECT number, size, root, note FROM checkpoints ORDER BY number"
    ):
        for missing in range(expected, number):
            wrong(missing, f"checkpoint {missing} is missing")
        expected = number + 1
        try:
            tree = verify_checkpoint(Note.from_bytes(_bytes(note)), policy).checkpoint
        except TrustError as fault:
            wrong(number, f"checkpoint {number} was changed or forged: {fault}")
            continue
        if (tree.size, tree.root) != (size, _bytes(root)):
            wrong(number, f"checkpoint {number} is filed under another size or root than it states")
        signed[number] = tree
    for (_, older), (number, newer) in pairwise(sorted(signed.items())):
        if newer.size <= older.size:
            wrong(number, f"checkpoint {number} has size {newer.size} after a checkpoint of size {older.size}")
    if not signed:
        raise VerificationError(
            f"the log {policy.origin} has no authentic checkpoint; nothing about it can be believed",
            code="no_signature",
        )
    return signed, findings


def _rebuild(
    connection: sqlite3.Connection, trees: list[Checkpoint]
) -> tuple[AuditFinding | None, int, Checkpoint | None]:
    # Step 2: the first stored hash that is wrong, the size up to which checkpoints fit, the first that does not.
    bad_hash: AuditFinding | None = None
    roots: dict[int, bytes] = {}
    stored: dict[int, Iterator[bytes | None]] = {}
    wanted = {tree.size for tree in trees}
    frontier = Frontier()
    broken = False
    for index, entry in connection.execute("SELECT idx, entry FROM entries ORDER BY idx"):
        if frontier.size in wanted:
            roots[frontier.size] = frontier.root
        if index != frontier.size:
            broken = True
            break
        frontier, born = grow(frontier, (leaf_hash(_bytes(entry)),))
        for level, at, subtree in born:
            if level not in stored:
                stored[level] = _level(connection, level)
            if next(stored[level], None) != subtree and bad_hash is None:
                sentence = f"the stored hash of entries {at << level} to {((at + 1) << level) - 1} does not fit them"
                bad_hash = AuditFinding(what="hash", index=at << level, last=((at + 1) << level) - 1, sentence=sentence)
    if not broken and frontier.size in wanted:
        roots[frontier.size] = frontier.root
    good = 0
    for tree in trees:
        if roots.get(tree.size, EMPTY_ROOT if tree.size == 0 else None) != tree.root:
            return bad_hash, good, tree
        good = max(good, tree.size)
    if broken or frontier.size != trees[-1].size:
        return bad_hash, good, trees[-1]
    return bad_hash, good, None


def _level(connection: sqlite3.Connection, level: int) -> Iterator[bytes | None]:
    # The stored hashes of a level in order; a gap gives None where a hash is missing.
    expected = 0
    for index, subtree in connection.execute("SELECT idx, hash FROM nodes WHERE level = ? ORDER BY idx", (level,)):
        for _ in range(expected, index):
            yield None
        yield _bytes(subtree)
        expected = index + 1


def _places(
    connection: sqlite3.Connection, trees: list[Checkpoint], good: int, first_bad: Checkpoint
) -> list[AuditFinding]:
    # Step 3. The largest authentic tree vouches for the most leaves.
    tree = max(trees, key=lambda one: one.size)
    vouched, doubtful = _vouched(connection, tree)
    rows = [
        (index, leaf_hash(_bytes(entry)))
        for index, entry in connection.execute("SELECT idx, entry FROM entries ORDER BY idx")
    ]
    findings = _compared(rows, vouched)
    found = dict(rows)
    open_ranges = []
    for begin, end, expected in doubtful:
        # What an earlier checkpoint still vouches for is out of doubt.
        if end > good and root_of(found.get(index, b"") for index in range(begin, end)) != expected:
            open_ranges.append((max(begin, good), end))
    early = [begin for begin, _ in open_ranges] + [one.index for one in findings]
    for begin, end in open_ranges:
        # Where this range alone can be what spoils the first bad checkpoint, that checkpoint bounds it from above.
        alone = begin < first_bad.size and sum(at < first_bad.size for at in early) == 1
        last = (min(end, first_bad.size) if alone else end) - 1
        which = f"entry {begin}" if begin == last else f"at least one of the entries {begin} to {last}"
        sentence = f"{which} was changed, and the stored hashes with it"
        findings.append(AuditFinding(what="changed", index=begin, last=last, sentence=sentence))
    return sorted(findings, key=lambda one: (one.index, one.last))


def _fork(good: int, first_bad: Checkpoint) -> AuditFinding:
    # Every entry fits the newest checkpoint and an older one fits none of it: both carry the log's signature.
    last = first_bad.size - 1
    sentence = (
        f"the log signed two histories: its checkpoint of size {first_bad.size} parts from a later one "
        f"among the entries {good} to {last}"
    )
    return AuditFinding(what="forked", index=good, last=last, sentence=sentence)


def _vouched(
    connection: sqlite3.Connection, tree: Checkpoint
) -> tuple[list[bytes | None], list[tuple[int, int, bytes]]]:
    # The leaf hashes a signed root vouches for, and the ranges where stored hashes do not add up to a vouched one.
    def node(level: int, index: int) -> bytes:
        row = connection.execute("SELECT hash FROM nodes WHERE level = ? AND idx = ?", (level, index)).fetchone()
        return b"" if row is None else _bytes(row[0])

    vouched: list[bytes | None] = [None] * tree.size
    doubtful: list[tuple[int, int, bytes]] = []
    left = [(0, tree.size, tree.root)] if tree.size else []
    while left:
        begin, end, expected = left.pop()
        if end - begin == 1:
            vouched[begin] = expected
            continue
        cut = begin + split(end - begin)
        halves = range_hash(begin, cut, node), range_hash(cut, end, node)
        if node_hash(*halves) == expected:
            left += [(begin, cut, halves[0]), (cut, end, halves[1])]
        else:
            doubtful.append((begin, end, expected))
    return vouched, sorted(doubtful)


def _compared(rows: list[tuple[int, bytes]], vouched: list[bytes | None]) -> list[AuditFinding]:
    # Walk both lists; where they part, say by which one change they come together again.
    by_index = dict(rows)
    row_of = {leaf: number for number, (_, leaf) in enumerate(rows)}
    place_of = {leaf: place for place, leaf in enumerate(vouched) if leaf is not None}
    findings: list[AuditFinding] = []
    swapped: set[int] = set()

    def say(what: str, index: int, last: int, sentence: str) -> None:
        findings.append(AuditFinding(what=what, index=index, last=last, sentence=sentence))

    def in_step(row: int, place: int) -> bool:
        if row >= len(rows) or place >= len(vouched):
            return row - len(rows) == place - len(vouched)
        return vouched[place] is None or rows[row][1] == vouched[place]

    row = place = 0
    while row < len(rows) and place < len(vouched):
        index, leaf = rows[row]
        expected, other = vouched[place], place_of.get(leaf, -1)
        if expected is None or leaf == expected or place in swapped:
            row, place = row + 1, place + 1
        elif index == place and other > place and by_index.get(other) == expected:
            say("swapped", place, other, f"entries {place} and {other} were swapped")
            swapped.add(other)
            row, place = row + 1, place + 1
        elif other > place and not in_step(row + 1, place + 1):
            for gone in range(place, other):
                say("deleted", gone, gone, f"entry {gone} was deleted")
            place = other
        elif row_of.get(expected, -1) > row and not in_step(row + 1, place + 1):
            last = place + row_of[expected] - row - 1
            which = f"an entry was inserted at {place}" if last == place else f"entries {place} to {last} were inserted"
            say("inserted", place, last, which)
            row = row_of[expected]
        else:
            say("edited", place, place, f"entry {place} was edited")
            row, place = row + 1, place + 1
    for gone in range(place, len(vouched)):
        if vouched[gone] is None:
            continue  # in a range where no single entry can be named
        say("deleted", gone, gone, f"entry {gone} was deleted")
    for index, _ in rows[row:]:
        say("inserted", index, index, f"entry {index} was inserted; no checkpoint covers it")
    return findings


def _bytes(value: Any) -> bytes:
    # Whoever edits a row may leave text or a number where bytes were.
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
