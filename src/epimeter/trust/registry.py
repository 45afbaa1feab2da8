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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from epimeter.errors import InputError, LogError
from epimeter.standards.schedule import certificate_status
from epimeter.trust import seen, standing
from epimeter.trust.canonical import canonical_json, from_moment, load_canonical, to_moment
from epimeter.trust.certificate import KIND, SUBJECT, Assessment, Subject, Terms, draft
from epimeter.trust.entries import issued_entry, log_entry, system_digest
from epimeter.trust.envelope import embed, seal
from epimeter.trust.founding import found_issuer
from epimeter.trust.issuer_records import IssuerRecords
from epimeter.trust.keys import Signer
from epimeter.trust.log import Log
from epimeter.trust.names import CERTIFICATE, REGISTRATION, look_alike, mixed_scripts, name_of, new_id, similar_sentence
from epimeter.trust.registration import (
    RegisteredPlan,
    deviations,
    registered_entry,
    registration,
    sign_registration,
)
from epimeter.trust.registry_rows import STATUS_LIFE, attempt_of, list_entry, newest_list, spent
from epimeter.trust.shape import check_shape
from epimeter.trust.standing import Event
from epimeter.trust.status_list import LEAST_LENGTH, STATUSES, free_index, sign_status_list
from epimeter.trust.succession import put, signing_key

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


class Registry(IssuerRecords):
    """An issuer's folder, opened to be written too."""

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

    def set_status(self, identity: str, word: str, reason: str, signers: Signers, at: datetime) -> None:
        """Revoke, suspend or restore a certificate: log entry and new status list in one transaction."""
        if word not in STATUSES:
            raise InputError(f"a status must be one of {', '.join(STATUSES)}; got {word[:40]!r}", field="status")
        name_of(reason, "reason")
        rows = self._rows("SELECT status_index, document FROM certificates WHERE id = ?", identity)
        if not rows:
            raise LogError(f"no certificate {identity[:40]!r} was issued here")
        index, document = rows[0]
        now = self.statuses().status(index)
        if now == "REVOKED" and word == "REVOKED":
            raise InputError(f"certificate {identity} is revoked already")
        if now == "REVOKED" and word == "SUSPENDED":
            raise InputError(f"certificate {identity} is revoked, for ever; there is nothing to suspend")
        if word == "VALID":
            ends = load_canonical(document)["certificate"]["expires_at"]
            if obstacle := standing.not_restored(list(self.life(identity)), now, ends, at):
                raise InputError(f"certificate {identity} cannot be restored: {obstacle}")
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

    def write_certificates(self) -> int:
        """Put every certificate where readers find it, with a proof by a key that is believed today; how many there are."""
        issued = self._rows("SELECT id FROM certificates")
        for (identity,) in issued:
            self._write(f"certificates/{identity}.json", self.certificate(identity))
        return len(issued)

    def write_status(self) -> None:
        """Put the newest list where readers find it."""
        # Another process may make a newer one between reading and writing: an older list must not be what stays.
        written = b""
        while (newest := self.status_file()) != written:
            self._write("status/1.json", newest)
            written = newest

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
