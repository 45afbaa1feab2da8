# SPDX-License-Identifier: Apache-2.0
"""What an issuer has on record: certificates as handed out, their lives and standing, registrations, status lists.

Everything is read from `log.db` in the issuer's folder (`registry` says what lies there and writes it); no private key is needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from epimeter.errors import InputError, LogError, VerificationError
from epimeter.trust import seen, standing
from epimeter.trust.canonical import canonical_json, load_canonical
from epimeter.trust.checkpoint import verify_checkpoint
from epimeter.trust.envelope import Envelope
from epimeter.trust.key_store import KeyStore
from epimeter.trust.log import Log
from epimeter.trust.registration import reference
from epimeter.trust.registry_rows import reading
from epimeter.trust.root import TrustRoot
from epimeter.trust.standing import Event, Overdue, Standing
from epimeter.trust.status_list import StatusList
from epimeter.trust.succession import newest_root


class IssuerRecords:
    """An issuer's folder, opened to be read."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "log.db").exists():
            raise LogError(f"{self.folder} holds no issuer; make one with: epimeter keys init {self.folder}")
        self.store = KeyStore(self.folder / "keys")
        self.log = Log(self.folder / "log.db")
        rows = self._rows("SELECT name, status_list FROM issuer")
        if not rows:
            raise LogError(f"{self.folder}/log.db is a log but no issuer's; its making was interrupted")
        self.issuer, self.list_id = (str(value) for value in rows[0])
        self._sound: tuple[tuple[int, int], TrustRoot | None] | None = None
        """The trust root where one of its log keys is compromised, else None; and the file that it was read from."""
        if len(self._rows("SELECT 1 FROM sqlite_master WHERE name IN ('standings_by_day', 'certified_data')")) < 2:
            self.log.beside(_remember)

    def close(self) -> None:
        """Let go of the files."""
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def root(self) -> TrustRoot:
        """The newest trust root."""
        return newest_root(self.folder)

    def certificate(self, identity: str) -> bytes:
        """A certificate as it was handed out: signed document and proof, made again from the log."""
        rows = self._rows(
            "SELECT document, log_index, log_size, registration_index FROM certificates WHERE id = ?", identity
        )
        if not rows:
            raise LogError(f"no certificate {identity[:40]!r} was issued here")
        document, index, size, before = rows[0]
        size = self._vouched(size)
        value = load_canonical(document)
        value["transparency"] = {
            "origin": self.log.origin,
            "tlog_proof": self.log.proof(index, size).to_text(),
            "preregistration": None
            if before is None
            else {
                "entry": self.log.entry(before).decode("utf-8"),
                "tlog_proof": self.log.proof(before, size).to_text(),
            },
        }
        return canonical_json(value)

    def _vouched(self, size: int) -> int:
        """The size of the tree whose checkpoint proves an entry: that of its time or, where the key that signed it is
        compromised, the newest, whose key vouches for all that was logged before.
        """
        stat = (self.folder / "trust-root.json").stat()
        seen = (stat.st_mtime_ns, stat.st_ino)
        if self._sound is None or self._sound[0] != seen:
            newest = self.root()
            stolen = any(
                one.role == "log" and one.revoked is not None and one.revoked.reason == "compromised"
                for one in newest.ring
            )
            self._sound = (seen, newest if stolen else None)
        believed = self._sound[1]
        if believed is None:
            return size
        try:
            verify_checkpoint(self.log.checkpoint(size), believed.log_policy(self.log.origin))
        except VerificationError:
            return self.log.size
        return size

    def issued_from(self, evaluation: str) -> bytes | None:
        """The certificate that was issued from an evaluation, by the evaluation's id."""
        rows = self._rows("SELECT certificate FROM standings WHERE evaluation = ? AND cause = 'issued'", evaluation)
        return self.certificate(rows[0][0]) if rows else None

    def registration(self, identity: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
        """The log index of a registration, its document, and how a certificate names it."""
        rows = self._rows("SELECT log_index, envelope FROM registrations WHERE id = ?", identity)
        if not rows:
            raise InputError(f"no pre-registration {identity[:40]!r} was logged here", field="registration")
        index, envelope = rows[0]
        document = load_canonical(Envelope.from_json(envelope).payload)
        return index, document, reference(self.log.entry(index), index)

    def certified_on(
        self, system: str, datasets: Iterable[str], figures: seen.Figures | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What stands against a certificate of a system on data, by their digests and numbers: obstacles, and cautions."""
        with reading(self.folder / "log.db") as connection:
            return seen.certified_on(connection, system, datasets, figures)

    def life(self, identity: str) -> tuple[Event, ...]:
        """What happened to a certificate, the oldest event first."""
        with reading(self.folder / "log.db") as connection:
            events = standing.events_of(connection, identity)
        if not events:
            raise LogError(f"no certificate {identity[:40]!r} was issued here")
        return tuple(events)

    def standing(self, identity: str, at: datetime, statuses: StatusList | None = None) -> Standing:
        """Where a certificate stands: status, why, since when, and when its next evaluation is due."""
        events = list(self.life(identity))
        ((index, document),) = self._rows("SELECT status_index, document FROM certificates WHERE id = ?", identity)
        found = standing.standing_of(events, (statuses or self.statuses()).status(index))
        return standing.as_of(found, load_canonical(document)["certificate"]["expires_at"], at)

    def suspended_after(self, number: int) -> tuple[Overdue, ...]:
        """Suspensions by the schedule that came after the event of that number, the oldest first."""
        rows = self._rows(
            "SELECT number, certificate, reason FROM standings WHERE number > ? AND cause = 'overdue' ORDER BY number",
            number,
        )
        return tuple(Overdue(*row) for row in rows)

    def statuses(self) -> StatusList:
        """The newest status list."""
        return StatusList.from_document(load_canonical(Envelope.from_json(self.status_file()).payload))

    def status_file(self) -> bytes:
        """The newest status list, signed, as it is published."""
        return bytes(self._rows("SELECT envelope FROM status_lists ORDER BY version DESC LIMIT 1")[0][0])

    def listing(self, at: datetime | None = None) -> list[dict[str, Any]]:
        """Every certificate, newest first, with its status now; with a moment also where it stands then."""
        statuses = self.statuses()
        rows = self._rows(
            "SELECT id, organization, level, issued_at, status_index, log_index FROM certificates ORDER BY log_index DESC"
        )
        lines = [
            {
                "id": identity,
                "organization": organization,
                "level": level,
                "issued_at": issued,
                "log_index": place,
                "status": statuses.status(index),
            }
            for identity, organization, level, issued, index, place in rows
        ]
        return lines if at is None else [line | self.standing(line["id"], at, statuses).to_json() for line in lines]

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with reading(self.folder / "log.db") as connection:
            return connection.execute(query, values).fetchall()


def _remember(connection: sqlite3.Connection) -> None:
    # An issuer from before certificates had a life: what happened is read off its log, once.
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'standings'").fetchone() is None:
        connection.execute(standing.TABLE)
        for event in standing.from_log(connection):
            standing.keep(connection, event)
    for index in standing.INDEXES:
        connection.execute(index)
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'certified_data'").fetchone() is None:
        seen.from_certificates(connection)
