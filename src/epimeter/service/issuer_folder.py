# SPDX-License-Identifier: Apache-2.0
"""The keys, logs and certificates of `trust`, opened once and shared by all threads."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from epimeter.errors import InputError
from epimeter.store.moments import moment, written
from epimeter.trust.anchors import Trust
from epimeter.trust.attesting import enter_attestation
from epimeter.trust.canonical import canonical_json, load_canonical, to_moment
from epimeter.trust.certificate import Assessment, Subject
from epimeter.trust.checkpoint import Checkpoint, verify_checkpoint
from epimeter.trust.entries import log_entry, system_digest
from epimeter.trust.key_store import KeyStore
from epimeter.trust.keys import PublicKey, Signer
from epimeter.trust.log import Log
from epimeter.trust.passports import sign_passport
from epimeter.trust.registration import RegisteredPlan, deviations
from epimeter.trust.registry import Registry, Signers
from epimeter.trust.renewal import renew
from epimeter.trust.seen import Figures
from epimeter.trust.standing import Reevaluation, Renewal
from epimeter.trust.status_list import StatusList
from epimeter.trust.succession import AHEAD, SIGNING, WARNING, Ending, endings, rotate_due, signing_key
from epimeter.trust.verdict import Verification
from epimeter.trust.verify import verify

ROUND = 500
_Rings = tuple[tuple[int, int, int], ...]


class IssuerFolder:
    """An issuer's folder in a running service.

    Parameters
    ----------
    folder
        Where keys, logs and certificates are; made on the first start.
    issuer
        The address under which others reach this registry.
    ahead
        How long before the end of a key it gets a successor; zero leaves it to the operator.
    root_folder
        Where the root key lies, which signs every rotation.
    """

    def __init__(
        self,
        folder: Path,
        issuer: str,
        passphrase: str,
        *,
        ahead: timedelta = AHEAD,
        root_folder: Path | str | None = None,
    ) -> None:
        self.folder, self._passphrase = folder, passphrase
        self._ahead, self._root_folder = ahead, Path(root_folder or folder / "root")
        with alone(folder.with_name(f"{folder.name}.lock")):
            if not folder.exists():
                _make(folder, issuer, passphrase, root_folder)
        self.registry = Registry(folder)
        self.registry.log.index_leaves()
        self.audit = Log(folder / "audit.db")
        self._lock = threading.Lock()
        self._opened: dict[str, tuple[_Rings, datetime, Signer]] = {}
        self._endings: tuple[_Rings, tuple[Ending, ...]] | None = None
        self._statuses: tuple[float, StatusList] | None = None

    def close(self) -> None:
        """Let go of the files."""
        self.registry.close()
        self.audit.close()

    @property
    def signers(self) -> Signers:
        """The private keys in force."""
        return Signers(issuer=self._signer("issuer"), log=self.log_signer, status=self._signer("status"))

    @property
    def log_signer(self) -> Signer:
        """The key of the log alone: entries that need no other go on when an issuer key has ended."""
        return self._signer("log")

    def _signer(self, role: str) -> Signer:
        """Opening a key takes a quarter of a second, so it is kept until the rings change or it ends."""
        with self._lock:
            rings, at = self._rings(), _now()
            opened = self._opened.get(role)
            if opened is None or opened[0] != rings or opened[1] <= at:
                key = signing_key(self.folder, role, self._passphrase, at)
                end = self.registry.root().ring.find(key.public.id, role).end
                opened = self._opened[role] = (rings, end, key)
            return opened[2]

    def _rings(self) -> _Rings:
        """What changes when keys do, here or by a command beside the service."""
        stats = [(self.folder / name).stat() for name in ("keys/ring.json", "trust-root.json")]
        return tuple((one.st_mtime_ns, one.st_ino, one.st_size) for one in stats)

    def endings(self) -> tuple[Ending, ...]:
        """When each role runs out of keys, the earliest first."""
        with self._lock:
            rings = self._rings()
            if self._endings is None or self._endings[0] != rings:
                self._endings = (rings, endings(self.folder))
            return self._endings[1]

    def rotate_due(self) -> tuple[str, ...]:
        """Give the keys that are due a successor; one sentence for each, none when none is due.

        Where the root key lies elsewhere nothing can be done: `key_warning` tells.
        """
        at = _now()
        due = [one for one in self.endings() if one.role in SIGNING and one.at <= at + self._ahead]
        roots = KeyStore(self._root_folder)
        if not due or not self._ahead or not roots.ring.keys("root"):
            return ()
        return rotate_due(self.folder, self._passphrase, at, ahead=self._ahead, root_folder=self._root_folder)

    def schedule(self) -> dict[str, Any]:
        """The plan that the settings make: when each signing key ends, and from when it gets a successor."""
        return {
            one.role: {
                "key_id": one.key_id,
                "valid_until": to_moment(one.at),
                "rotated_from": to_moment(one.at - self._ahead) if self._ahead else None,
            }
            for one in self.endings()
            if one.role in SIGNING
        }

    def days_left(self, role: str) -> float:
        """Days until the last key of a role ends; negative when it has."""
        (end,) = (one.at for one in self.endings() if one.role == role)
        return (end - _now()) / timedelta(days=1)

    def key_warning(self) -> str:
        """`ok`, or which keys end within two weeks: a fault once one has ended."""
        at = _now()
        soon = [one for one in self.endings() if one.at <= at + WARNING]
        if not soon:
            return "ok"
        # /readyz is public: the command with the names that the guide uses, not with the places of this machine.
        data = self.folder.parent.name
        advice = f"run: epimeter keys rotate {data}/{self.folder.name} --root-keys {data}.root --passphrase-file {data}/passphrase"
        word = "fault" if soon[0].at <= at else "warning"
        return f"{word}: {'; '.join(one.sentence(at) for one in soon)}; {advice}"

    def check(self) -> str:
        """Raise unless the keys can be opened and the newest checkpoint is signed by the one that the trust root names."""
        _ = self.signers
        verify_checkpoint(self.registry.log.checkpoint(), self.registry.root().log_policy(self.registry.log.origin))
        return "ok"

    def mark(self) -> str:
        """A digest that this registry and no other has, by which a database knows it."""
        mark = hashlib.sha256(f"{self.registry.issuer} {self.registry.log.origin} ".encode())
        mark.update(self.registry.log.entry(0))
        return mark.hexdigest()

    def commit(self, entries: Sequence[bytes]) -> int:
        """Append entries to the public log; the index of the first."""
        return self.registry.log.append(entries, self.log_signer, _now()).first

    def root_hash(self) -> bytes:
        """The root of the newest checkpoint."""
        return Checkpoint.from_text(self.registry.log.checkpoint().text).root

    def carry(self, rows: Sequence[Any]) -> dict[int, int]:
        """Append audit entries to the audit log, each once; where each went, by number.

        Which numbers the log has is written in the transaction of the entries, so a process that dies before it can
        tell the database does no harm.
        """
        places: dict[int, int] = {}

        def enter(connection: Any, size: int) -> list[bytes]:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS carried (number INTEGER PRIMARY KEY, place INTEGER NOT NULL)"
            )
            entries: list[bytes] = []
            for row in rows:
                number = row["number"]
                found = connection.execute("SELECT place FROM carried WHERE number = ?", (number,)).fetchone()
                if found is not None:
                    places[number] = found[0]
                    continue
                places[number] = size + len(entries)
                connection.execute("INSERT INTO carried VALUES (?, ?)", (number, places[number]))
                entries.append(_audit_entry(row))
            if not entries:
                raise _Nothing
            return entries

        with suppress(_Nothing):
            self.audit.append_beside(enter, self.log_signer, _now())
        return places

    def preregister(self, subject: Subject, plan: RegisteredPlan) -> str:
        """Sign and log a pre-registration."""
        return self.registry.preregister(subject, plan, self.signers, _now())

    def log_attempts(self, organization: str, system_id: str, rows: Sequence[Any]) -> None:
        """Enter evaluations that asked for no certificate as attempts, so that the next number tells of them.

        An evaluation whose attempt is in the log already is left out, whatever became of the process that logged it.
        """
        system = system_digest({"organization": organization, "system_id": system_id})

        def enter(connection: Any, size: int) -> list[bytes]:
            (last,) = connection.execute(
                "SELECT coalesce(max(number), 0) FROM attempts WHERE system = ?", (system,)
            ).fetchone()
            places = [at for (at,) in connection.execute("SELECT log_index FROM attempts WHERE system = ?", (system,))]
            known = {load_canonical(self.registry.log.entry(at))["id"] for at in places}
            entries = []
            for row in rows:
                if row["id"] in known:
                    continue
                last += 1
                entries.append(
                    log_entry(
                        "evaluation.result",
                        row["id"],
                        to_moment(moment(row["completed_at"])),
                        system=system,
                        attempt=last,
                        level=row["level"],
                        dataset=row["dataset_digest"],
                    )
                )
                connection.execute("INSERT INTO attempts VALUES (?, ?, ?)", (system, last, size + len(entries) - 1))
            if not entries:
                raise _Nothing
            return entries

        with suppress(_Nothing):
            self.registry.log.append_beside(enter, self.log_signer, _now())

    def renew(self, new: Reevaluation) -> Renewal:
        """Weigh a later evaluation of a system that has a certificate; the log has it as an attempt already."""
        made = renew(self.registry, new, self.signers, _now(), counted=True)
        with self._lock:
            self._statuses = None
        return made

    def certify(
        self,
        found: Assessment,
        subject: Subject,
        report: bytes,
        registered: str | None,
        *,
        evaluation: str,
        evaluated_at: datetime,
        attempt: int,
        similar: tuple[int, int] = (0, 0),
    ) -> bytes:
        """Issue the certificate of an assessment in the fixed profile; refused when the data allow none."""
        missed: tuple[str, ...] = ()
        if registered is not None:
            promise = self.registry.registration(registered)[1]
            missed = deviations(promise, subject.to_json(), found.level, found.sample_size, found.dataset_digest)
        if found.obstacles or missed:
            raise InputError(f"no certificate can be issued: {'; '.join((*found.obstacles, *missed))}")
        made = self.registry.certify(
            found,
            subject,
            self.signers,
            _now(),
            registered=registered,
            report=report,
            evaluation=evaluation,
            evaluated_at=evaluated_at,
            counted=attempt,
            similar=similar,
        )
        with self._lock:
            self._statuses = None
        if made.certificate is None:
            raise InputError(f"no certificate can be issued: {'; '.join(made.obstacles)}")
        with self._lock:
            self._statuses = None  # the certificate before it is superseded
        return made.certificate

    def certified_on(
        self, organization: str, system_id: str, datasets: Iterable[str], figures: Figures | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Obstacles and cautions of data that certificates rest on already, by their digests and numbers."""
        subject = {"organization": organization, "system_id": system_id}
        return self.registry.certified_on(system_digest(subject), datasets, figures)

    def sign_passport(self, document: Mapping[str, Any], at: datetime) -> dict[str, Any]:
        """The passport with the issuer's signature in it."""
        return sign_passport(document, self._signer("issuer"), self.registry.issuer, at)

    def attest(self, data: bytes, key: PublicKey, by: str) -> int:
        """Enter an auditor's attestation; its place in the log."""
        return enter_attestation(self.registry, data, self.signers, _now(), key=key, entered_by=by)

    def issued_from(self, evaluation: str) -> bytes | None:
        """The certificate of this very evaluation, if one was issued; for a process that died in between."""
        return self.registry.issued_from(evaluation)

    def set_status(self, certificate: str, word: str, reason: str) -> None:
        """Revoke, suspend or restore a certificate."""
        self.registry.set_status(certificate, word, reason, self.signers, _now())
        with self._lock:
            self._statuses = None

    def statuses(self) -> StatusList:
        """The newest status list, read at most once a second."""
        with self._lock:
            if self._statuses is None or time.monotonic() - self._statuses[0] > 1.0:
                self._statuses = (time.monotonic(), self.registry.statuses())
            return self._statuses[1]

    def status_of(self, document: dict[str, Any], at: datetime) -> str:
        """The live status of a certificate."""
        if to_moment(at) >= document["certificate"]["expires_at"]:
            return "EXPIRED"
        return self.statuses().status(document["credential_status"]["index"])

    def renew_status(self) -> tuple[str, ...]:
        """A fresh status list, once a day; the ids of overdue certificates, which become SUSPENDED."""
        if (_now() - self.statuses().issued_at).total_seconds() < 86_400:
            return ()
        suspended = self.registry.renew_status(self.signers, _now())
        with self._lock:
            self._statuses = None
        return suspended

    def verify(self, data: bytes, at: datetime) -> Verification:
        """The verdict on a certificate by our own trust root and status list."""
        return verify(data, Trust.of(self.registry.root()), at=at, status=self.registry.status_file())


def _make(folder: Path, issuer: str, passphrase: str, root_folder: Path | str | None) -> None:
    """A new issuer; the folder gets its name when it is whole, so that a process that dies meanwhile leaves none."""
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700, parents=True)
    parts = urlsplit(issuer)
    origin = f"{parts.netloc or issuer}{parts.path.rstrip('/')}/log"
    names = {"issuer": issuer, "origin": origin, "passphrase": passphrase}
    Registry.create(making, **names, at=_now(), root_folder=root_folder).close()
    making.rename(folder)


def _audit_entry(row: Any) -> bytes:
    return canonical_json(
        {
            "number": row["number"],
            "organization": row["organization"],
            "time": written(row["at"]),
            "actor": row["actor"],
            "action": row["action"],
            "subject": row["subject"],
            "detail": msgspec.json.decode(bytes(row["detail"])),
        }
    )


class _Nothing(Exception):
    """There was nothing to enter."""


def _now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock between processes."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
