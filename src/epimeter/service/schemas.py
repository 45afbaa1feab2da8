# SPDX-License-Identifier: Apache-2.0
"""What goes in and out, as types: bodies are checked against them, and the OpenAPI document is made from them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Identifier = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@+ -]*$")]
Moment = Annotated[datetime, Meta(tz=True)]
Domain = Literal["medical", "legal", "financial", "code", "general"]
Source = Literal["human", "automated", "reference"]
Tier = Literal["OPEN", "STANDARD", "CRITICAL"]
Scope = Literal[
    "evaluate", "evaluations:read", "certificates:read", "certificates:write", "webhooks:write", "keys:write", "admin"
]
Event = Literal["evaluation.completed", "evaluation.failed", "certificate.issued", "certificate.status"]


class Prediction(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False, rename={"class_": "class"}):
    """One prediction (ERS 3.1, 6.2): how sure the system was, and whether it was right; null where nobody knows."""

    confidence: float
    correct: bool | None
    id: Annotated[str, Meta(max_length=200)] | None = None
    timestamp: Moment | None = None
    ground_truth_source: Source | None = None
    class_: Annotated[str, Meta(max_length=200)] | None = None
    unknown: bool | None = None
    detected: bool | None = None


class PredictionColumns(Struct, forbid_unknown_fields=True, gc=False, rename={"class_": "class"}):
    """The same as columns of one length."""

    confidence: list[float]
    correct: list[bool | None]
    id: list[str] | None = None
    timestamp: list[Moment] | None = None
    ground_truth_source: list[Source | None] | None = None
    class_: list[str] | None = None
    unknown: list[bool] | None = None
    detected: list[bool] | None = None


COLUMNS = tuple(field.encode_name for field in msgspec.structs.fields(Prediction))


class EvaluateRequest(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Predictions of one system, as rows or as columns."""

    model_id: Identifier
    domain: Domain = "general"
    model_version: Identifier | None = None
    dataset_id: Identifier | None = None
    created_at: Moment | None = None
    metrics: Annotated[list[Annotated[str, Meta(max_length=60)]], Meta(max_length=60)] | None = None
    """Metrics of the report; the headlines when left out."""
    preregistration: Identifier | None = None
    predictions: list[Prediction] | UnsetType = UNSET
    columns: PredictionColumns | UnsetType = UNSET


class Facts(Struct, frozen=True, kw_only=True):
    """What is said of the rows, whatever format they come in."""

    model_id: str
    domain: str
    model_version: str | None = None
    dataset_id: str | None = None
    metrics: tuple[str, ...] | None = None
    preregistration: str | None = None


class Metrics(Struct, frozen=True):
    """The three numbers of ERS: ECE, U-Recall in percent, score."""

    ece: float
    u_recall: float
    ers: int


class Compliance(Struct, frozen=True):
    """The level earned, PASS or FAIL, and the day it must be earned again."""

    level: Literal["NONE", "L1", "L2", "L3"]
    status: Literal["PASS", "FAIL"]
    next_evaluation: str | None


class Period(Struct, frozen=True):
    """First and last moment of the data."""

    start: str
    end: str
    days: float


class DatasetReport(Struct, frozen=True, kw_only=True):
    """The data: what they are, and whether they suffice for a certificate (ERS 3.1)."""

    digest: str
    sample_size: int
    unlabelled: int
    covered_bins: int
    largest_share: float
    sample_size_ok: bool
    coverage_ok: bool
    balance_ok: bool
    span_ok: bool
    period: Period | None
    ground_truth: dict[str, int]


class OntoReport(Struct, frozen=True, kw_only=True):
    """The numbers of ONTO 42001, where the records say which inputs were unknown."""

    domain: str
    ece: float
    mce: float
    u_recall: float
    false_alarm_rate: float
    ors: float
    risk: str
    level: str


class Evaluation(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """An evaluation (ERS 6.2)."""

    evaluation_id: str
    status: Literal["queued", "completed", "failed"]
    spec_version: str
    model_id: str
    model_version: str | None
    domain: str
    attempt: int
    created_at: str
    completed_at: str | None = None
    metrics: Metrics | None = None
    compliance: Compliance | None = None
    accuracy: float | None = None
    risk: str | None = None
    dataset: DatasetReport | None = None
    onto_42001: OntoReport | None = None
    certifiable: bool = False
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    engine: str = ""
    error: str | None = None
    job: str | None = None


class EvaluationLine(Struct, frozen=True, kw_only=True):
    """An evaluation in a list."""

    evaluation_id: str
    status: str
    model_id: str
    model_version: str | None
    domain: str
    attempt: int
    created_at: str
    completed_at: str | None
    sample_size: int | None
    metrics: Metrics | None
    level: str | None


class EvaluationPage(Struct, frozen=True):
    """Evaluations, the newest first; `next` is the cursor of the page after."""

    items: list[EvaluationLine]
    next: str | None


class KeyRequest(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A key to be made; for another organisation only by an administrator."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=10)]
    expires_at: Moment | None = None
    organization: Name | None = None
    replaces: Annotated[str, Meta(max_length=8)] | None = None
    """A key that ends when the overlap is over: rotation."""
    overlap_hours: Annotated[int, Meta(ge=0, le=720)] = 24


class KeyLine(Struct, frozen=True, kw_only=True):
    """A key as it can be shown: without its secret."""

    id: str
    name: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class NewKey(KeyLine, frozen=True, kw_only=True):
    """A key just made: the only time its text is shown."""

    key: str
    organization: str


class KeyPage(Struct, frozen=True):
    """Keys, the newest first."""

    items: list[KeyLine]
    next: str | None


class OrganizationRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """An organisation to be made."""

    name: Name
    tier: Tier = "OPEN"


class TierRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """The tier an organisation is put into."""

    tier: Tier


class Organization(Struct, frozen=True, kw_only=True):
    """An organisation."""

    id: str
    name: str
    tier: str
    created_at: str


class OrganizationPage(Struct, frozen=True):
    """Organisations, the newest first."""

    items: list[Organization]
    next: str | None


class MonthUse(Struct, frozen=True):
    """Evaluations of a calendar month in UTC."""

    month: str
    evaluations: int


class Usage(Struct, frozen=True, kw_only=True):
    """What was used, and what is left."""

    organization: str
    tier: str
    requests_per_minute: int
    month: str
    evaluations: int
    quota: int | None
    remaining: int | None
    resets_at: str
    months: list[MonthUse]


class PlanNeed(Struct, frozen=True):
    """Rows that one number needs to be clear of its limits; null where it is expected to lie on one."""

    name: str
    expected: float
    nearest: float | None
    rows: int | None


class SamplePlan(Struct, frozen=True, kw_only=True):
    """Rows that make the whole verdict firm, the minimum of the standard included; null where no number would do."""

    rows: int | None
    power: float
    confidence: float
    needs: list[PlanNeed]


class TierLine(Struct, frozen=True, kw_only=True):
    """A tier: what it allows. Metrics are the same for all (ERS 8.2)."""

    tier: str
    requests_per_minute: int
    evaluations_per_month: int | None
    signal_delay_seconds: float


class Tiers(Struct, frozen=True):
    """All tiers."""

    items: list[TierLine]


class JobLine(Struct, frozen=True, kw_only=True):
    """A job."""

    id: str
    kind: str
    subject: str
    state: str
    attempts: int
    created_at: str
    finished_at: str | None
    error: str | None


class AuditLine(Struct, frozen=True, kw_only=True):
    """An entry of the audit log."""

    number: int
    at: str
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]
    log_index: int | None


class AuditPage(Struct, frozen=True):
    """Audit entries, the newest first."""

    items: list[AuditLine]
    next: str | None


class MetricPage(Struct, frozen=True):
    """Cards of metrics."""

    items: list[dict[str, Any]]
    next: str | None


class Health(Struct, frozen=True):
    """Whether the service can work."""

    status: str
    checks: dict[str, str]


class Fault(Struct, frozen=True):
    """A place in the body and what is wrong there."""

    pointer: str
    detail: str


class ProblemDocument(Struct, frozen=True, kw_only=True):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    trace: str
    errors: list[Fault] | UnsetType = UNSET


class SignalMetrics(Struct, frozen=True):
    """ERS over all labelled records of the evaluations of the last 24 hours; null when there are none."""

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


class WebhookRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """An endpoint to be told of events."""

    url: Annotated[str, Meta(min_length=1, max_length=2000)]
    events: Annotated[list[Event], Meta(min_length=1, max_length=10)]


class WebhookLine(Struct, frozen=True, kw_only=True):
    """A webhook endpoint, without its secret."""

    id: str
    url: str
    events: list[str]
    created_at: str
    disabled_at: str | None
    failures: int


class NewWebhook(WebhookLine, frozen=True, kw_only=True):
    """A webhook endpoint just made: the only time its secret is shown."""

    secret: str


class WebhookPage(Struct, frozen=True):
    """Webhook endpoints, the newest first."""

    items: list[WebhookLine]
    next: str | None


class DeliveryLine(Struct, frozen=True, kw_only=True):
    """A message to a webhook endpoint."""

    id: str
    event: str
    state: str
    attempts: int
    created_at: str
    last_answer: str | None


class DeliveryPage(Struct, frozen=True):
    """The newest messages to a webhook endpoint."""

    items: list[DeliveryLine]


class PreregistrationRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """What will be measured, against which level, on which data."""

    model_id: Identifier
    model_version: Identifier
    domain: Domain = "general"
    aim: Literal["L1", "L2", "L3"]
    data_source: Name
    least_records: Annotated[int, Meta(ge=1, le=2**53 - 1)] = 1000
    dataset_digest: Annotated[str, Meta(pattern="^epi-col-v1:sha-256:[0-9a-f]{64}$")] | None = None


class Preregistration(Struct, frozen=True, kw_only=True):
    """A pre-registration as it was signed, and where the log holds it."""

    id: str
    log_index: int
    entry_digest: str
    registered_at: str
    document: dict[str, Any]


class CertificateRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """A certificate to be issued from an evaluation."""

    evaluation_id: Annotated[str, Meta(min_length=1, max_length=40)]
    model_digests: Annotated[list[Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]], Meta(max_length=64)] = []
    """SHA-256 of the model's files, in hex."""


class RevokeRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """Why a certificate is revoked; everybody will see it."""

    reason: Annotated[str, Meta(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]


class CertificateState(Struct, frozen=True):
    """A certificate's id and its live status."""

    id: str
    status: str


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


class RegistryPage(Struct, frozen=True):
    """Certificates, the newest first."""

    items: list[RegistryLine]
    next: str | None
