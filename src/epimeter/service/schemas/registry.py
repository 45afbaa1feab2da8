# SPDX-License-Identifier: Apache-2.0
"""Pre-registrations, certificates, the registry, the signal."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from epimeter.service.schemas.words import Domain, Identifier, Name


class PreregistrationRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """What will be measured, against which level, on which data."""

    model_id: Identifier
    model_version: Identifier
    domain: Domain = "general"
    aim: Literal["L1", "L2", "L3"]
    data_source: Name
    least_records: Annotated[int, Meta(ge=1, le=2**53 - 1)] = 1000
    dataset_digest: Annotated[str, Meta(pattern="^epi-(col|parts)-v1:sha-256:[0-9a-f]{64}$")] | None = None


class Preregistration(Struct, frozen=True, kw_only=True):
    """A pre-registration as it was signed, and where the log holds it."""

    id: str
    log_index: int
    entry_digest: str
    registered_at: str
    document: dict[str, Any]
    """What was signed."""


class CertificateRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """A certificate to be issued from an evaluation."""

    evaluation_id: Annotated[str, Meta(min_length=1, max_length=40)]
    model_digests: Annotated[list[Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]], Meta(max_length=64)] = []
    """SHA-256 of the model's files, in hex."""


class RevokeRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """Why a certificate is revoked; everybody will see it."""

    reason: Annotated[str, Meta(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]


class CertificateState(Struct, frozen=True, kw_only=True):
    """Where a certificate stands: its live status, why and since when, the last evaluation that counts, and the next."""

    id: str
    status: str
    """VALID, SUSPENDED, SUPERSEDED, REVOKED or EXPIRED."""
    reason: str | None
    """Why it is not VALID, in words that everybody may see."""
    since: str
    """Since when it stands so."""
    evaluated_at: str
    """The last evaluation that counts towards its renewal."""
    next_evaluation: str | None
    """The day by which the next evaluation is due; a week later it is suspended."""
    assessed: str | None = None
    """Of L3, which asks for an audit by a third party: self-assessed, or attested once an auditor's attestation is in the log."""


class VerdictStep(Struct, frozen=True, kw_only=True):
    """One step of the verification."""

    step: int
    """Its number, counted from 1."""
    title: str
    """What is looked at."""
    holds: bool | None
    """Whether it holds; null where the step could not be taken."""
    sentence: str
    """What was found."""


class CertificateVerdict(Struct, frozen=True, kw_only=True):
    """The verdict on a certificate, each step of it, and where the certificate stands."""

    verdict: str
    """VALID, or what is wrong."""
    sentence: str
    """The verdict in words."""
    authentic: bool
    """Whether a trusted key signed it, unchanged."""
    current: bool | None
    """Whether it holds at this moment; null where it cannot be said."""
    consistent: bool | None
    """Whether its numbers agree with each other; null where it was not looked at."""
    at: str
    log_index: int | None
    """Where the log holds it; null where no proof holds."""
    steps: list[VerdictStep]
    """The steps, in their order."""
    certificate: (
        Annotated[dict[str, Any], Meta(extra_json_schema={"$ref": "#/components/schemas/CertificateBody"})] | None
    )
    """What of the certificate is signed; null where it cannot be believed."""
    not_proven: list[str]
    """What no verification can show."""
    standing: CertificateState
    """Where the certificate stands."""
    similar_systems: str | None
    """That the organisation tried systems of much the same name, where it did."""


class DsseSignature(Struct, frozen=True, forbid_unknown_fields=True):
    """A signature of an envelope."""

    keyid: str
    """The id of the key that signed."""
    sig: str
    """The signature in base64."""


class DsseEnvelope(Struct, frozen=True):
    """A signed statement in an envelope (DSSE)."""

    payload: str
    """The statement in base64."""
    payloadType: str
    """What the statement is."""
    signatures: list[DsseSignature]
    """The signatures over type and statement."""


class CertificateEvent(Struct, frozen=True, kw_only=True):
    """An event in the life of a certificate, and where the log holds it."""

    at: str
    log_index: int
    cause: Literal["issued", "renewed", "missed", "overdue", "operator", "superseded", "attested"]
    """Why: an evaluation reached the level or missed it, none came in time, an operator, or a newer certificate."""
    status: str
    """The status from then on."""
    reason: str
    evaluation: str | None
    """The evaluation that was weighed."""
    level: str | None
    """The level that it reached."""
    due: str | None
    """The day by which the next evaluation is due from then on."""
    dataset: str | None
    """The digest of its data."""
    period_end: str | None
    """The last moment of its data."""


class CertificateLife(Struct, frozen=True):
    """What happened to a certificate since its issue, the oldest event first."""

    id: str
    events: list[CertificateEvent]


class AttestationEnvelope(DsseEnvelope, frozen=True, forbid_unknown_fields=True):
    """An auditor's signed statement in an envelope (DSSE)."""


class AttestationRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """An auditor's attestation of a certificate, signed with his own key by `epimeter attest`."""

    attestation: AttestationEnvelope
    """The signed document (DSSE envelope), as `epimeter attest` wrote it."""
    public_key: Annotated[str, Meta(pattern="^[A-Za-z0-9+/]{43}=$")]
    """The auditor's Ed25519 key in base64; the signature must be its own."""


class AttestationLine(Struct, frozen=True, kw_only=True):
    """An attestation as the registry holds it; whether its auditor is to be believed is for the reader to say."""

    certificate: str
    """The certificate that it is of."""
    auditor: str
    """The auditor's name, by his own account."""
    basis: tuple[Literal["reproduced", "audited_on_site"], ...]
    """What was done."""
    scope: str
    """What the audit covered, in words."""
    attested_at: str
    """When he signed."""
    key_id: str
    """The id of the auditor's key."""
    public_key: str | None
    """The auditor's key in base64; null where it was entered without one."""
    entered_by: str | None
    """The account that brought it."""
    log_index: int
    """Where the log says that it was entered."""
    envelope: AttestationEnvelope
    """The signed document, for `epimeter verify --attestation`."""


class AttestationList(Struct, frozen=True):
    """The attestations of a certificate, in the order in which they were entered."""

    items: list[AttestationLine]


class RegistryLine(Struct, frozen=True, kw_only=True):
    """A certificate in the public registry."""

    id: str
    organization: str
    system_id: str
    domain: str
    level: str
    issued_at: str
    expires_at: str
    status: str
    reason: str | None
    """Why it is not VALID."""
    next_evaluation: str | None
    """The day by which the next evaluation is due."""
    assessed: str | None = None
    """Of L3, which asks for an audit by a third party: self-assessed, or attested once an auditor's attestation is in the log."""


class RegistryPage(Struct, frozen=True):
    """Certificates, the newest first."""

    items: list[RegistryLine]
    next: str | None


class SignalMetrics(Struct, frozen=True):
    """ERS over all labelled records of the evaluations of the last 24 hours; null while they are few, or few people's."""

    global_ece: float | None
    global_u_recall: float | None
    active_evaluations: int


class Commitment(Struct, frozen=True):
    """Where the public log holds the digest of a signal."""

    log_index: int
    digest: str


class Signal(Struct, frozen=True, kw_only=True):
    """The global signal (ERS 5.2)."""

    signal_id: str
    timestamp: str
    entropy: str
    metrics: SignalMetrics
    ttl: int
    available_at: str
    expires_at: str
    commitment: Commitment
