# SPDX-License-Identifier: Apache-2.0
"""An issuer in a folder: keys, trust root, log, certificates and status list, with nothing but SQLite.

    keys/             private keys of the roles issuer, log and status
    root/             private root keys; move them to a medium that lies in a drawer
    trust-root.json   the newest trust root, signed; trust-root-N.json every version
    log.db            the public log and, in the same file, what the issuer knows: certificates, registrations, lists
    audit.db          the private audit log
    status/1.json     the newest signed status list
    certificates/     certificates as handed out

Whatever is issued goes into its table and into the log in one durable transaction; only then is it handed out. Every file
but keys and databases can be made again from them, so a crash between the transaction and the file loses nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from epimeter.errors import InputError, LogError, VerificationError
from epimeter.standards.schedule import certificate_status
from epimeter.trust import seen, standing
from epimeter.trust.canonical import canonical_json, from_moment, load_canonical, to_moment
from epimeter.trust.certificate import KIND, SUBJECT, Assessment, Subject, Terms, draft
from epimeter.trust.checkpoint import verify_checkpoint
from epimeter.trust.entries import issued_entry, log_entry, system_digest
from epimeter.trust.envelope import Envelope, embed, seal
from epimeter.trust.founding import found_issuer
from epimeter.trust.key_store import KeyStore
from epimeter.trust.keys import Signer
from epimeter.trust.log import Log
from epimeter.trust.names import CERTIFICATE, REGISTRATION, look_alike, mixed_scripts, name_of, new_id, similar_sentence
from epimeter.trust.registration import (
    RegisteredPlan,
    deviations,
    reference,
    registered_entry,
    registration,
    sign_registration,
)
from epimeter.trust.registry_rows import STATUS_LIFE, attempt_of, list_entry, newest_list, reading, spent
from epimeter.trust.root import TrustRoot
from epimeter.trust.shape import check_shape
from epimeter.trust.standing import Event, Overdue, Standing
from epimeter.trust.status_list import LEAST_LENGTH, STATUSES, StatusList, free_index, sign_status_list
from epimeter.trust.succession import newest_root, put, signing_key

CLOCK_SLACK = timedelta(hours=1)
"""How far behind the log the clock may be: an evaluation takes its time, and others issue meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Signers:
    """The private keys of an issuer, opened."""

    issuer: Signer
    log: Signer
    status: Signer


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of an evaluation: the certificate as handed out or, without one, the obstacles; the attempt counts."""

    id: str
    attempt: int
    certificate: bytes | None
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Registry:
    """An issuer's folder, opened."""

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
        if len(self._rows("SELECT 1 FROM sqlite_master WHERE name IN ('standings_due', 'certified_data')")) < 2:
            self.log.beside(_remember)

    @classmethod
    def create(
        cls,
        folder: Path | str,
        *,
        issuer: str,
        origin: str,
        passphrase: str,
        at: datetime,
        root_folder: Path | str | None = None,
    ) -> Registry:
        """A new issuer: keys, first trust root, logs, an empty status list; the log comes last and makes it one."""
        found_issuer(Path(folder), issuer=issuer, origin=origin, passphrase=passphrase, at=at, root_folder=root_folder)
        made = cls(folder)
        made.write_status()
        return made

    def close(self) -> None:
        """Let go of the files."""
        self.log.close()

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def signers(self, passphrase: str, at: datetime) -> Signers:
        """The private keys to sign with now."""
        issuer, log, status = (signing_key(self.folder, role, passphrase, at) for role in ("issuer", "log", "status"))
        return Signers(issuer=issuer, log=log, status=status)

    def preregister(self, subject: Subject, plan: RegisteredPlan, signers: Signers, at: datetime) -> str:
        """Sign and log a pre-registration; gives its id."""
        identity = new_id(REGISTRATION, at.year)
        document = registration(identity, subject, plan, self.issuer, at)
        sealed = sign_registration(document, signers.issuer)
        entry = registered_entry(sealed, document)

        def keep(connection: sqlite3.Connection, size: int) -> list[bytes]:
            connection.execute("INSERT INTO registrations VALUES (?, ?, ?)", (identity, size, sealed.to_json()))
            return [entry]

        self.audit({"type": "evaluation.registered", "id": identity, "time": to_moment(at)}, signers, at)
        self.append(keep, signers, at)
        return identity

    def certify(
        self,
        found: Assessment,
        subject: Subject,
        signers: Signers,
        at: datetime,
        *,
        registered: str | None = None,
        conducted_by: str = "self_submitted",
        report: bytes | None = None,
        evaluation: str | None = None,
        evaluated_at: datetime | None = None,
        counted: int = 0,
        similar: tuple[int, int] | None = None,
    ) -> Outcome:
        """Log the evaluation as an attempt and, if it allows one, issue the certificate; all in one transaction.

        A certificate supersedes the one that the system had. When the evaluation allows none, the attempt is logged all
        the same. `evaluation` and `evaluated_at` name an evaluation that was made before; its day is where the next is
        counted from. Where evaluations are counted as they are accepted, before anything comes of them, `counted` is their
        number; the certificate never states less. The log numbers results as they come, so that one that comes later
        than its acceptance has a number too, and no number is more than were accepted. `similar` counts further systems of the
        organisation with similar names, and their evaluations; by default those that this issuer was asked about.
        """
        identity = new_id(CERTIFICATE, at.year)
        check_shape(subject.to_json(), SUBJECT, "subject")
        system = system_digest(subject.to_json())
        promise = None if registered is None else self.registration(registered)
        obstacles, cautions = list(found.obstacles), list[str]()
        if promise is not None:
            facts = (found.level, found.sample_size, found.dataset_digest)
            obstacles += deviations(promise[1], subject.to_json(), *facts)
        public: dict[str, Any] = {} if promise is None else {"registration": promise[0]}
        attempts: list[int] = []
        figures = seen.figures_of(found, *map(to_moment, found.period))

        def issue(connection: sqlite3.Connection, size: int) -> list[bytes]:
            before_issue = seen.certified_on(connection, system, found.datasets, figures)
            obstacles.extend(before_issue[0])
            cautions.extend(before_issue[1])
            seen.keep_system(connection, subject.to_json())
            alike = similar
            if alike is None:
                alike = seen.similar(connection, subject.to_json())
                cautions.extend(filter(None, [similar_sentence(*alike)]))
            if promise is not None and (before := spent(connection, system, promise[0])) is not None:
                obstacles.append(f"the registration was for one evaluation; attempt {before} has used it")
            # An evaluation that was weighed before has been counted; whoever certifies it does not try again.
            attempt = None if evaluation is None else attempt_of(connection, system, evaluation)
            results = []
            if attempt is None or obstacles or public:
                (attempt,) = connection.execute(
                    "SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE system = ?", (system,)
                ).fetchone()
                connection.execute("INSERT INTO attempts VALUES (?, ?, ?)", (system, attempt, size))
                results = [
                    log_entry(
                        "evaluation.result",
                        evaluation or identity,
                        to_moment(at),
                        system=system,
                        attempt=attempt,
                        level="NONE" if obstacles else found.level,
                        dataset=found.dataset_digest,
                        **public,
                    )
                ]
            attempt = max(attempt, counted)
            attempts.append(attempt)
            if obstacles:
                return results
            place = size + len(results)
            taken = {row[0] for row in connection.execute("SELECT status_index FROM certificates")}
            taken |= newest_list(connection).indices("REVOKED")  # of certificates that a log before this one issued
            old = connection.execute(
                "SELECT id, status_index FROM certificates WHERE system = ? ORDER BY log_index DESC LIMIT 1", (system,)
            ).fetchone()
            terms = Terms(
                certificate_id=identity,
                issued_at=at,
                issuer=self.issuer,
                key=signers.issuer.public,
                status_list=self.list_id,
                status_index=free_index(taken, LEAST_LENGTH),
                attempt=attempt,
                similar=alike,
                supersedes=None if old is None else old[0],
                conducted_by=conducted_by,
                report_digest=None if report is None else f"sha-256:{hashlib.sha256(report).hexdigest()}",
                preregistration=None if promise is None else promise[2],
            )
            body = draft(found, subject, terms)
            sealed = seal(body, KIND, signers.issuer)
            document = embed(sealed, signers.issuer.public)
            entries = [*results, issued_entry(body, sealed.signed_bytes, signers.issuer.public.id)]
            changes = {} if old is None else {old[1]: ("SUPERSEDED", old[0], identity)}
            entries += self.change(
                connection, changes, signers, at, cause="superseded", first=place + 1, issued=terms.status_index
            )
            standing.keep(
                connection,
                Event(
                    certificate=identity,
                    at=to_moment(evaluated_at or at),
                    log_index=place,
                    cause="issued",
                    status="VALID",
                    reason="issued",
                    evaluation=evaluation or identity,
                    level=found.level,
                    due=standing.due_after(evaluated_at or at, found.level),
                    dataset=found.dataset_digest,
                    period_end=to_moment(found.period[1]),
                ),
            )
            connection.execute(
                "INSERT INTO certificates VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    identity,
                    system,
                    subject.organization,
                    terms.status_index,
                    place,
                    size + len(entries),
                    None if promise is None else promise[0],
                    to_moment(at),
                    found.level,
                    canonical_json(document),
                ),
            )
            seen.keep_data(connection, identity, found.datasets)
            return entries

        event = {"type": "evaluation.result", "id": identity, "time": to_moment(at), "system": system}
        self.audit({**event, "metrics": found.metrics(), "obstacles": list(obstacles)}, signers, at)
        self.append(issue, signers, at)
        notes = (*self._notes(subject), *cautions)
        if obstacles:
            return Outcome(id=identity, attempt=attempts[0], certificate=None, obstacles=tuple(obstacles), notes=notes)
        data = self.certificate(identity)
        self._write(f"certificates/{identity}.json", data)
        self.write_status()
        return Outcome(id=identity, attempt=attempts[0], certificate=data, notes=notes)

    def certified_on(
        self, system: str, datasets: Iterable[str], figures: seen.Figures | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What stands against a certificate of a system on data, by their digests and numbers: obstacles, and cautions."""
        with reading(self.folder / "log.db") as connection:
            return seen.certified_on(connection, system, datasets, figures)

    def issued_from(self, evaluation: str) -> bytes | None:
        """The certificate that was issued from an evaluation, by the evaluation's id."""
        rows = self._rows("SELECT certificate FROM standings WHERE evaluation = ? AND cause = 'issued'", evaluation)
        return self.certificate(rows[0][0]) if rows else None

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

    def registration(self, identity: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
        """The log index of a registration, its document, and how a certificate names it."""
        rows = self._rows("SELECT log_index, envelope FROM registrations WHERE id = ?", identity)
        if not rows:
            raise InputError(f"no pre-registration {identity[:40]!r} was logged here", field="registration")
        index, envelope = rows[0]
        document = load_canonical(Envelope.from_json(envelope).payload)
        return index, document, reference(self.log.entry(index), index)

    def set_status(self, identity: str, word: str, reason: str, signers: Signers, at: datetime) -> None:
        """Revoke, suspend or restore a certificate: log entry and new status list in one transaction."""
        if word not in STATUSES:
            raise InputError(f"a status must be one of {', '.join(STATUSES)}; got {word[:40]!r}", field="status")
        name_of(reason, "reason")
        rows = self._rows("SELECT status_index FROM certificates WHERE id = ?", identity)
        if not rows:
            raise LogError(f"no certificate {identity[:40]!r} was issued here")
        index = rows[0][0]
        if self.statuses().status(index) == "REVOKED" and word == "REVOKED":
            raise InputError(f"certificate {identity} is revoked already")
        self.audit({"type": "status", "id": identity, "status": word, "time": to_moment(at)}, signers, at)
        self.append(
            lambda connection, size: self.change(
                connection, {index: (word, identity, reason)}, signers, at, cause="operator", first=size
            ),
            signers,
            at,
        )
        self.write_status()

    def renew_status(self, signers: Signers, at: datetime) -> tuple[str, ...]:
        """A fresh status list; certificates whose evaluation is more than a week overdue become SUSPENDED (C-17).

        Gives the ids of those that became so.
        """
        suspended: list[str] = []

        def renew(connection: sqlite3.Connection, size: int) -> list[bytes]:
            now = newest_list(connection)
            changes: dict[int, tuple[str, str, str]] = {}
            for identity, index, issued, due in connection.execute(
                "SELECT id, status_index, issued_at, (SELECT due FROM standings WHERE certificate = id AND due IS NOT NULL "
                "ORDER BY number DESC LIMIT 1) FROM certificates"
            ).fetchall():
                late = due is not None and certificate_status(at, issued=issued[:10], next_due=due) == "SUSPENDED"
                if late and now.status(index) == "VALID":
                    changes[index] = ("SUSPENDED", identity, standing.overdue(due))
                    suspended.append(identity)
            return self.change(connection, changes, signers, at, cause="overdue", first=size)

        self.append(renew, signers, at)
        self.write_status()
        return tuple(suspended)

    def suspended_after(self, number: int) -> tuple[Overdue, ...]:
        """Suspensions by the schedule that came after the event of that number, the oldest first."""
        rows = self._rows(
            "SELECT number, certificate, reason FROM standings WHERE number > ? AND cause = 'overdue' ORDER BY number",
            number,
        )
        return tuple(Overdue(*row) for row in rows)

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

    def statuses(self) -> StatusList:
        """The newest status list."""
        return StatusList.from_document(load_canonical(Envelope.from_json(self.status_file()).payload))

    def status_file(self) -> bytes:
        """The newest status list, signed, as it is published."""
        return bytes(self._rows("SELECT envelope FROM status_lists ORDER BY version DESC LIMIT 1")[0][0])

    def write_status(self) -> None:
        """Put the newest list where readers find it."""
        # Another process may make a newer one between reading and writing: an older list must not be what stays.
        written = b""
        while (newest := self.status_file()) != written:
            self._write("status/1.json", newest)
            written = newest

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

    def root(self) -> TrustRoot:
        """The newest trust root."""
        return newest_root(self.folder)

    def change(
        self,
        connection: sqlite3.Connection,
        changes: Mapping[int, tuple[str, str, str]],
        signers: Signers,
        at: datetime,
        *,
        cause: str | None,
        first: int,
        issued: int | None = None,
    ) -> list[bytes]:
        """The next status list, kept, and the log entries that say so, the first of which gets the index `first`.

        What is in force now is read under the lock. Without a cause the event is left to whoever asks. `issued` is the index of a
        new certificate, which is valid whatever stood there: a successor of a lost log suspends indices that it does not know.
        """
        words = {"REVOKED": "revoked", "SUSPENDED": "suspended", "SUPERSEDED": "superseded", "VALID": "restored"}
        now = newest_list(connection)
        changes = {index: change for index, change in changes.items() if now.status(index) != "REVOKED"}
        words_now = {index: word for index, (word, _, _) in changes.items()} | (
            {} if issued is None else {issued: "VALID"}
        )
        fresh = now.with_status(words_now, at, at + STATUS_LIFE)
        sealed = sign_status_list(fresh, signers.status)
        connection.execute("INSERT INTO status_lists VALUES (?, ?)", (fresh.version, sealed.to_json()))
        for place, (word, identity, reason) in enumerate(changes.values(), first):
            if cause is not None:
                event = Event(
                    certificate=identity, at=to_moment(at), log_index=place, cause=cause, status=word, reason=reason
                )
                standing.keep(connection, event)
        entries = [
            log_entry(
                f"certificate.{words[word]}", identity, to_moment(at), list=self.list_id, index=index, status=word,
                reason=reason,
            )
            for index, (word, identity, reason) in changes.items()
        ]  # fmt: skip
        return [*entries, list_entry(fresh, sealed, at)]

    def _notes(self, subject: Subject) -> tuple[str, ...]:
        # A10: letters that look alike cannot be forbidden, but they are not entered unnoticed.
        notes = [f"{name} mixes scripts: {', '.join(found)}" for name in (subject.organization, subject.system_id)
                 if (found := mixed_scripts(name))]  # fmt: skip
        known = [str(name) for (name,) in self._rows("SELECT DISTINCT organization FROM certificates")]
        notes += [
            f"{subject.organization!r} looks like {name!r}, another organisation here"
            for name in known
            if look_alike(name, subject.organization)
        ]
        return tuple(notes)

    def append(self, make: Callable[[sqlite3.Connection, int], list[bytes]], signers: Signers, at: datetime) -> None:
        """Append the entries that `make` gives to the log, unless the clock was set back."""

        def checked(connection: sqlite3.Connection, size: int) -> list[bytes]:
            (last,) = connection.execute("SELECT time FROM checkpoints ORDER BY number DESC LIMIT 1").fetchone()
            if at < from_moment(last, "time of a checkpoint") - CLOCK_SLACK:
                raise LogError(f"the clock says {to_moment(at)}; the log was last written at {last}. Set the clock.")
            return make(connection, size)

        self.log.append_beside(checked, signers.log, at)

    def audit(self, event: Mapping[str, Any], signers: Signers, at: datetime) -> None:
        """Append an event to the audit log."""
        with Log(self.folder / "audit.db") as log:
            log.append([canonical_json(dict(event))], signers.log, at)

    def _write(self, name: str, data: bytes) -> None:
        put(self.folder / name, data)

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
