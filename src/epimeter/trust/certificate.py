# SPDX-License-Identifier: Apache-2.0
"""The certificate: its shape, how it is drafted from an evaluation, and what its numbers must agree on.

A certificate states one evaluation after ONTO-ERS 1.0.0 under one fixed profile: ten bins of equal width, threshold 0.7.
Its numbers are rounded to nine decimals, half to even; score, level and assurance are computed *from the rounded
numbers*, so that a reader computes them again and a signed contradiction is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import cache
from typing import Any

from epimeter.errors import InputError, VerificationError
from epimeter.kinds import CERTIFIED, KINDS, Kind
from epimeter.standards.ers import (
    DELTA,
    DOMAINS,
    LARGEST_SHARE,
    LEVEL_NAMES,
    LEVELS,
    MINIMUM_BINS,
    MINIMUM_DAYS,
    MINIMUM_ROWS,
    SPEC_VERSION,
    ers_level,
    ers_score,
    months_later,
)
from epimeter.standards.judgement import Judgement
from epimeter.standards.mapping import AS_OF, MAPPING
from epimeter.trust.canonical import canonical_json, from_moment, to_moment
from epimeter.trust.keys import PublicKey
from epimeter.trust.names import CERTIFICATE, REGISTRATION
from epimeter.trust.shape import (
    Optional,
    Shape,
    check_shape,
    count,
    each,
    identity,
    interval,
    maybe,
    moment,
    name,
    number,
    pattern,
    prose,
    word,
)

KIND = "certificate"
VERSION = "1.0"
STANDARD = {"id": "ONTO-ERS", "version": SPEC_VERSION, "profile": "epimeter/ers-1.0"}
CONFIGURATION = {
    "profile": STANDARD["profile"],
    "bins": 10,
    "strategy": "equal-width",
    "threshold": 0.7,
    "interval": {"level": 0.95, "draws": 1000, "seed": 0},
}
"""All that influences the numbers of the profile besides the data and the code."""
VALID_MONTHS = 12  # C-17
CONDUCTED_BY = ("self_submitted", "issuer", "third_party")
EVIDENCE_FOR = tuple(
    f"{row.framework}:{row.clause.lower().replace(' ', '_')}" for row in MAPPING if "ERS-7" in row.source
)
"""The clauses of ERS 7, all of them rows of the table that `compliance.mapping` names."""
_KEY_ID = pattern("[A-Za-z0-9_-]{43}", "a key id of 43 letters")
_SHA256 = pattern("sha-256:[0-9a-f]{64}", "sha-256: and 64 hexadecimal digits")
_BASE64 = pattern("[A-Za-z0-9+/]+={0,2}", "base64")


SUBJECT: Shape = {
    "organization": name,
    "system_id": name,
    "system_version": name,
    "domain": word(*DOMAINS),
    "digests": each({"alg": word("sha-256"), "value": pattern("[0-9a-f]{64}", "64 hexadecimal digits")}, 64),
}
SHAPE: Shape = {
    "certificate": {
        "id": identity(CERTIFICATE),
        "version": word(VERSION),
        "issued_at": moment,
        "expires_at": moment,
        "level": word(*LEVEL_NAMES[1:]),
        "status": word("VALID"),
        "supersedes": maybe(identity(CERTIFICATE)),
    },
    "standard": {field: word(value) for field, value in STANDARD.items()},
    "issuer": {"id": name, "key_id": _KEY_ID},
    "subject": SUBJECT,
    "metrics": {
        "ece": number(0, 1),
        "ece_ci95": interval(0, 1),
        "u_recall": number(0, 100),
        "u_recall_ci95": maybe(interval(0, 100)),
        "ers": count(),
        "ers_raw_ci95": interval(0, 100),
        "accuracy": number(0, 1),
        "sample_size": count(1),
        "evaluation_period": {"start": moment, "end": moment},
    },
    "evidence": {
        "dataset_digest": pattern(
            "epi-(col|parts)-v1:sha-256:[0-9a-f]{64}", "epi-col-v1 or epi-parts-v1, :sha-256: and 64 digits"
        ),
        "records_root": pattern(
            "epi-rec(-parts)?-v1:sha-256:[0-9a-f]{64}", "epi-rec-v1 or epi-rec-parts-v1, :sha-256: and 64 digits"
        ),
        "config_digest": _SHA256,
        "forecast": Optional({"kind": word(*KINDS), "meaning": word(*CERTIFIED.values())}),
        "recalibrated_by": Optional(pattern("[a-z_]+:sha256:[0-9a-f]{64}", "a map's name, :sha256: and 64 digits")),
        "code_digest": _SHA256,
        "report_digest": maybe(_SHA256),
        "engine": {"name": word("epimeter"), "version": name},
        "bins": {"strategy": word("equal-width"), "m": count(1)},
        "interval_method": name,
        "covered_bins": count(),
        "largest_class_share": maybe(number(0, 1)),
        "unlabelled": count(),
        "preregistration": maybe(
            {"id": identity(REGISTRATION), "log_index": count(), "entry_digest": _SHA256, "registered_at": moment}
        ),
        "attempt": count(1),
        "similar_systems": Optional({"systems": count(1), "evaluations": count()}),
        "assurance": word("firm", "marginal"),
        "conducted_by": word(*CONDUCTED_BY),
    },
    "compliance": {
        "onto_ers": word(*LEVEL_NAMES[1:]),
        "eu_ai_act": word("informative"),
        "nist_rmf": word("informative"),
        "iso_42001": word("informative"),
        "mapping": pattern("urn:epimeter:mapping:[0-9]{4}-[0-9]{2}-[0-9]{2}", "urn:epimeter:mapping:2026-11-01"),
        "evidence_for": each(name, 32),
    },
    "credential_status": {"list": name, "index": count()},
    "signature": {"algorithm": word("Ed25519"), "key_id": _KEY_ID, "public_key": _BASE64, "value": _BASE64},
    "transparency": {
        "origin": name,
        "tlog_proof": prose,
        "preregistration": maybe({"entry": prose, "tlog_proof": prose}),
    },
}
"""The closed schema. `signature` and `transparency` are not part of what is signed."""
BODY: Shape = {field: check for field, check in SHAPE.items() if field not in ("signature", "transparency")}


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is certified: a version of a system of an organisation, used in a domain."""

    organization: str
    system_id: str
    system_version: str
    domain: str
    digests: tuple[str, ...] = ()
    """SHA-256 of the model's files, in hex: the same digests by which the model itself is signed."""

    def to_json(self) -> dict[str, Any]:
        """The block `subject`."""
        return {
            "organization": self.organization,
            "system_id": self.system_id,
            "system_version": self.system_version,
            "domain": self.domain,
            "digests": [{"alg": "sha-256", "value": value} for value in self.digests],
        }


@dataclass(frozen=True, kw_only=True)
class Assessment(Judgement):
    """What an evaluation found, as it will be certified: every number already rounded."""

    ece_ci95: tuple[float, float]
    u_recall_ci95: tuple[float, float] | None
    ers_raw_ci95: tuple[float, float]
    period: tuple[datetime, datetime]
    dataset_digest: str
    records_root: str
    code_digest: str
    engine_version: str
    interval_method: str
    covered_bins: int
    kind: Kind
    recalibrated_by: str | None = None
    """The map, with its digest, that changed the predictions before they were evaluated."""
    unlabelled: int = 0
    largest_class_share: float | None = None
    parts: tuple[str, ...] = ()
    """Of sums: the digests that the data behind them have by themselves, part by part."""

    @property
    def datasets(self) -> tuple[str, ...]:
        """Every digest by which the data are known."""
        return (self.dataset_digest, *self.parts)

    @property
    def assurance(self) -> str:
        """`firm` where no interval straddles a limit."""
        return assured(self.ece_ci95, self.u_recall_ci95, self.ers_raw_ci95)

    def metrics(self) -> dict[str, Any]:
        """The block `metrics`."""
        return {
            "ece": self.ece,
            "ece_ci95": list(self.ece_ci95),
            "u_recall": self.u_recall,
            "u_recall_ci95": None if self.u_recall_ci95 is None else list(self.u_recall_ci95),
            "ers": self.ers,
            "ers_raw_ci95": list(self.ers_raw_ci95),
            "accuracy": self.accuracy,
            "sample_size": self.sample_size,
            "evaluation_period": {"start": to_moment(self.period[0]), "end": to_moment(self.period[1])},
        }


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the issuer adds to an assessment: who, under which id, which attempt, which place in the status list."""

    certificate_id: str
    issued_at: datetime
    issuer: str
    key: PublicKey
    status_list: str
    status_index: int
    attempt: int = 1
    similar: tuple[int, int] = (0, 0)
    """Further systems of the organisation with similar names, and their evaluations: trying under another name is trying too."""
    supersedes: str | None = None
    conducted_by: str = "self_submitted"
    report_digest: str | None = None
    preregistration: Mapping[str, Any] | None = None


@cache
def config_digest(kind: Kind | None = None) -> str:
    """The digest of the profile's configuration and of how the forecast is read.

    Certificates from before the kind of forecast was recorded, and pre-registrations, have the profile's alone.
    """
    read = CONFIGURATION if kind is None else CONFIGURATION | {"forecast": {"kind": kind, "meaning": CERTIFIED[kind]}}
    return f"sha-256:{hashlib.sha256(canonical_json(read)).hexdigest()}"


def certified_kind(evidence: Mapping[str, Any]) -> Kind | None:
    """The kind of forecast a certificate speaks of; None in one from before it was recorded."""
    forecast = evidence.get("forecast")
    return None if forecast is None else forecast["kind"]


def expiry(issued_at: datetime) -> datetime:
    """Twelve calendar months on, at the same time of day (C-17)."""
    moved = issued_at.astimezone(UTC)
    day = months_later(moved.date(), VALID_MONTHS)
    return datetime.combine(day, time(moved.hour, moved.minute, moved.second), UTC)


def assured(ece: Sequence[float], u_recall: Sequence[float] | None, ers_raw: Sequence[float]) -> str:
    """`firm` where every interval lies on one side of every limit of the levels, else `marginal`."""
    held = [
        (ece, [level.ece for level in LEVELS]),
        (u_recall, [level.u_recall for level in LEVELS]),
        # A cut score meets a limit L while the score before cutting is below L + 1 (C-07).
        (ers_raw, [level.ers + 1.0 for level in LEVELS]),
    ]
    firm = all(
        span is None or not any(span[0] <= limit <= span[1] and span[0] < span[1] for limit in limits)
        for span, limits in held
    )
    return "firm" if firm else "marginal"


def draft(found: Assessment, subject: Subject, terms: Terms) -> dict[str, Any]:
    """The body of a certificate, ready to be signed; refused when the evaluation does not allow one (C-14)."""
    if found.obstacles:
        raise InputError(f"no certificate can be issued: {'; '.join(found.obstacles)}")
    if subject.domain != found.domain:
        raise InputError(
            f"domain must be that of the evaluation, {found.domain}; got {subject.domain!r:.40}", field="domain"
        )
    body = {
        "certificate": {
            "id": terms.certificate_id,
            "version": VERSION,
            "issued_at": to_moment(terms.issued_at),
            "expires_at": to_moment(expiry(terms.issued_at)),
            "level": found.level,
            "status": "VALID",
            "supersedes": terms.supersedes,
        },
        "standard": dict(STANDARD),
        "issuer": {"id": terms.issuer, "key_id": terms.key.id},
        "subject": subject.to_json(),
        "metrics": found.metrics(),
        "evidence": {
            "dataset_digest": found.dataset_digest,
            "records_root": found.records_root,
            "config_digest": config_digest(found.kind),
            "forecast": {"kind": found.kind, "meaning": CERTIFIED[found.kind]},
            **({} if found.recalibrated_by is None else {"recalibrated_by": found.recalibrated_by}),
            "code_digest": found.code_digest,
            "report_digest": terms.report_digest,
            "engine": {"name": "epimeter", "version": found.engine_version},
            "bins": {"strategy": "equal-width", "m": CONFIGURATION["bins"]},
            "interval_method": found.interval_method,
            "covered_bins": found.covered_bins,
            "largest_class_share": found.largest_class_share,
            "unlabelled": found.unlabelled,
            "preregistration": None if terms.preregistration is None else dict(terms.preregistration),
            "attempt": terms.attempt,
            **({"similar_systems": dict(zip(("systems", "evaluations"), terms.similar))} if terms.similar[0] else {}),
            "assurance": found.assurance,
            "conducted_by": terms.conducted_by,
        },
        "compliance": {
            "onto_ers": found.level,
            "eu_ai_act": "informative",
            "nist_rmf": "informative",
            "iso_42001": "informative",
            "mapping": f"urn:epimeter:mapping:{AS_OF}",
            "evidence_for": list(EVIDENCE_FOR),
        },
        "credential_status": {"list": terms.status_list, "index": terms.status_index},
    }
    check_shape(body, BODY, "")
    check_consistent(body)
    return body


def from_sums(evidence: Mapping[str, Any], name: str = "dataset_digest") -> bool:
    """Whether a certificate was made from the sums of parts, and not from one table of records."""
    return "-parts-" in evidence[name].partition(":")[0]


def check_consistent(body: Mapping[str, Any]) -> None:
    """Raise unless the statements of a certificate of good shape agree with each other.

    Whoever signed a contradiction made a mistake or tells a lie; either way nothing of it can be relied on.
    """
    head, metrics, evidence = body["certificate"], body["metrics"], body["evidence"]
    issued = from_moment(head["issued_at"], "issued_at")
    start, end = (from_moment(metrics["evaluation_period"][name], name) for name in ("start", "end"))
    score = ers_score(metrics["ece"], metrics["u_recall"], body["subject"]["domain"])
    level = LEVEL_NAMES[ers_level(metrics["ece"], metrics["u_recall"], min(metrics["ers"], 100))]
    sure = assured(metrics["ece_ci95"], metrics["u_recall_ci95"], metrics["ers_raw_ci95"])
    share = evidence["largest_class_share"]
    registered = evidence["preregistration"]
    kind = certified_kind(evidence)
    agreed = (
        (
            all(metrics[name] == round(metrics[name], 9) for name in ("ece", "u_recall")),
            "ECE and U-Recall must have at most nine decimals",
        ),
        (metrics["ers"] == score, f"ERS must be {score} by its formula; the certificate says {metrics['ers']}"),
        (head["level"] == level, f"the numbers earn level {level}; the certificate says {head['level']}"),
        (body["compliance"]["onto_ers"] == level, "compliance.onto_ers must be the level of the certificate"),
        (evidence["assurance"] == sure, f"the intervals make the verdict {sure}, not {evidence['assurance']}"),
        (metrics["sample_size"] >= MINIMUM_ROWS, f"a certificate needs {MINIMUM_ROWS} predictions (ERS-3.1-a)"),
        (evidence["covered_bins"] >= MINIMUM_BINS, f"a certificate needs {MINIMUM_BINS} bins covered (ERS-3.1-c)"),
        (evidence["covered_bins"] <= CONFIGURATION["bins"], "no more bins can be covered than the profile has"),
        ((end - start).total_seconds() >= MINIMUM_DAYS * 86400, f"it needs {MINIMUM_DAYS} days of data (ERS-3.1-d)"),
        (share is None or share <= LARGEST_SHARE + 1e-9, "no class may hold more than 80 % (ERS-3.1-b)"),
        (end <= issued, "the evaluation period must end before the certificate is issued"),
        (
            from_moment(head["expires_at"], "expires_at") == expiry(issued),
            "a certificate expires 12 months after its issue (C-17)",
        ),
        (head["id"].split("-")[2] == head["issued_at"][:4], "the year in the id must be the year of issue"),
        (head["supersedes"] != head["id"], "a certificate cannot supersede itself"),
        (evidence["bins"]["m"] == CONFIGURATION["bins"], "the profile has ten bins"),
        (
            kind is None or evidence["forecast"]["meaning"] == CERTIFIED[kind],
            "forecast.meaning must be that of its kind",
        ),
        (evidence["config_digest"] == config_digest(kind), "config_digest must be that of the profile"),
        (from_sums(evidence, "dataset_digest") == from_sums(evidence, "records_root"), "both digests must be of parts"),
        (
            not from_sums(evidence, "dataset_digest") or evidence["interval_method"] == DELTA,
            f"intervals from sums are of the {DELTA}",
        ),
        (
            registered is None or from_moment(registered["registered_at"], "registered_at") <= issued,
            "a pre-registration must come before the certificate",
        ),
    )
    for holds, sentence in agreed:
        if not holds:
            raise VerificationError(f"the certificate contradicts itself: {sentence}", code="inconsistent")
