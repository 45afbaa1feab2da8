# SPDX-License-Identifier: Apache-2.0
"""What ONTO-ERS exchanges: data sets, evaluation requests and responses, certificates' metrics, signals, tiers.

Plain functions over plain values; a service puts them behind addresses.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epimeter.errors import InputError
from epimeter.results import Result
from epimeter.standards.bands import number, word
from epimeter.standards.ers import (
    DOMAINS,
    LEVEL_NAMES,
    ErsEvaluation,
    ers_level,
    ers_next_evaluation,
    ers_score,
)

CERTIFICATE_ID = re.compile(r"ONTO-CERT-\d{4}-[0-9A-Z]{4,}")
SIGNAL_ID = re.compile(r"SIG-\d{8}-\d{6}")
KEY_PREFIX = "onto_"
SIGNAL_SECONDS = 3600
WINDOW_SECONDS = 60
COMPLIANCE = "informative"
"""What a certificate says of other frameworks: a measurement cannot establish more (C-19)."""


@dataclass(frozen=True)
class Tier:
    """A tier's limits and how much later it sees a signal; its metrics are those of every tier (ERS-8.2-a)."""

    name: str
    requests_per_minute: int
    evaluations_per_month: int | None
    signal_delay: int


TIERS = {
    "OPEN": Tier("OPEN", 10, 100, 3600),
    "STANDARD": Tier("STANDARD", 500, 10_000, 0),
    "CRITICAL": Tier("CRITICAL", 2_000, None, 0),
}
"""ERS-6.3-a and ERS-8.1-a."""


def retry_after(tier: str, requests: Sequence[float], now: float) -> int | None:
    """Seconds until another request is allowed, or None when it is: a sliding minute over all requests (C-25)."""
    allowed = TIERS[word(tier, tuple(TIERS), "tier")].requests_per_minute
    recent = sorted(moment for moment in requests if now - WINDOW_SECONDS < moment <= now)
    if len(recent) < allowed:
        return None
    return max(1, int(recent[-allowed] + WINDOW_SECONDS - now + 0.999))


def month_quota(tier: str, evaluations: Sequence[datetime.datetime], now: datetime.datetime) -> int | None:
    """Evaluations left in the calendar month of `now`, in UTC; None where the tier has no limit."""
    limit = TIERS[word(tier, tuple(TIERS), "tier")].evaluations_per_month
    month = now.astimezone(datetime.UTC).strftime("%Y-%m")
    used = sum(moment.astimezone(datetime.UTC).strftime("%Y-%m") == month for moment in evaluations)
    return None if limit is None else max(0, limit - used)


@dataclass(frozen=True, kw_only=True)
class Signal(Result):
    """The state of the registry at a moment (ERS-5.2-a)."""

    signal_id: str
    timestamp: str
    entropy: str
    metrics: dict[str, Any]
    ttl: int


def signal(
    at: datetime.datetime, *, checkpoint_root: bytes, ece: float | None, u_recall: float | None, active: int
) -> Signal:
    """A signal: `entropy` is SHA-256 of the log's newest root and the signal's id, so anyone can check it (C-21).

    Parameters
    ----------
    at
        The moment, with a zone; the id has its second, so there is at most one signal a second (C-22).
    checkpoint_root
        Root of the log's newest checkpoint.
    ece, u_recall
        ONTO-ERS metrics of the last 24 hours' records; None when there are none.
    active
        Evaluations running.
    """
    moment = at.astimezone(datetime.UTC)
    name = moment.strftime("SIG-%Y%m%d-%H%M%S")
    return Signal(
        signal_id=name,
        timestamp=moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        entropy=hashlib.sha256(checkpoint_root + name.encode()).hexdigest(),
        metrics={
            "global_ece": None if ece is None else number(ece, "ece", 0, 1),
            "global_u_recall": None if u_recall is None else number(u_recall, "u_recall", 0, 100),
            "active_evaluations": int(number(active, "active", 0, 2**53)),
        },
        ttl=SIGNAL_SECONDS,
    )


def visible_signal(tier: str, signals: Sequence[Signal], now: datetime.datetime) -> Signal | None:
    """The newest signal that a tier may see; OPEN sees it an hour later (ERS-8.1-a). Its ttl counts from then (C-22)."""
    delay = datetime.timedelta(seconds=TIERS[word(tier, tuple(TIERS), "tier")].signal_delay)
    old = [s for s in signals if datetime.datetime.fromisoformat(s.timestamp) + delay <= now]
    return max(old, key=lambda s: s.timestamp, default=None)


@dataclass(frozen=True, kw_only=True)
class Request:
    """An evaluation request, its records as columns (ERS-6.2-a)."""

    model_id: str
    domain: str
    confidence: tuple[float, ...]
    correct: tuple[bool, ...]


def evaluation_request(body: Any) -> Request:
    """A request from its JSON; a fault names the field and the record."""
    if not isinstance(body, Mapping):
        raise InputError("the body must be a JSON object (ERS-6.2-a)")
    for name in ("model_id", "domain", "predictions"):
        if name not in body:
            raise InputError(f"{name} must be in the body (ERS-6.2-a); it is missing", field=name)
    if not isinstance(body["model_id"], str) or not body["model_id"]:
        raise InputError("model_id must be a text (ERS-6.2-a)", field="model_id")
    if not isinstance(body["predictions"], Sequence) or isinstance(body["predictions"], str) or not body["predictions"]:
        raise InputError("predictions must be a list of at least one record (ERS-6.2-a)", field="predictions")
    confidence, correct = [], []
    for place, record in enumerate(body["predictions"]):
        where = f"predictions[{place}]"
        if not isinstance(record, Mapping):
            raise InputError(f"{where} must be an object (ERS-6.2-a)", field="predictions", row=place)
        said, right = record.get("confidence"), record.get("correct")
        if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= 1:
            raise InputError(
                f"{where}.confidence must be a number in [0, 1] (ERS-1.1-c); got {said!r:.40}",
                field="confidence",
                row=place,
            )
        if not isinstance(right, bool):
            raise InputError(
                f"{where}.correct must be true or false (ERS-3.1-e); got {right!r:.40}", field="correct", row=place
            )
        confidence.append(float(said))
        correct.append(right)
    return Request(
        model_id=body["model_id"],
        domain=word(body["domain"], tuple(DOMAINS), "domain"),
        confidence=tuple(confidence),
        correct=tuple(correct),
    )


def evaluation_response(evaluation_id: str, found: ErsEvaluation, date: str) -> dict[str, Any]:
    """The answer to a request (ERS-6.2-b); without a level the status is FAIL and nothing is due (C-16, C-24)."""
    return {
        "evaluation_id": evaluation_id if evaluation_id.startswith("eval_") else f"eval_{evaluation_id}",
        "status": "completed",
        "metrics": {"ece": found.ece, "u_recall": found.u_recall, "ers": found.ers},
        "compliance": {
            "level": found.level,
            "status": "PASS" if found.level_index else "FAIL",
            "next_evaluation": ers_next_evaluation(date, found.level_index),
        },
    }


def certificate_body(
    *, organization: str, system_id: str, found: ErsEvaluation, start: str, end: str
) -> dict[str, dict[str, Any]]:
    """Subject, metrics and compliance of a certificate (ERS-5.1-b to d)."""
    for name, text in (("organization", organization), ("system_id", system_id)):
        if not text:
            raise InputError(f"{name} must be in a certificate (ERS-5.1-b); got none", field=name)
    # Score and level follow from the numbers as printed, so that whoever recomputes them agrees (C-03).
    ece, recall = round(found.ece, 9), round(found.u_recall, 9)
    score = ers_score(ece, recall, found.domain)
    return {
        "subject": {"organization": organization, "system_id": system_id, "domain": found.domain},
        "metrics": {
            "ece": ece,
            "u_recall": recall,
            "ers": score,
            "sample_size": found.sample_size,
            "evaluation_period": {"start": start, "end": end},
        },
        "compliance": {
            "onto_ers": LEVEL_NAMES[ers_level(ece, recall, score)],
            **dict.fromkeys(("eu_ai_act", "nist_rmf", "iso_42001"), COMPLIANCE),
        },
    }


def contradiction(metrics: Mapping[str, Any], domain: str, level: str) -> str | None:
    """Why a certificate contradicts itself: its score and level must follow from its metrics (C-03); None if not."""
    ece, recall = metrics["ece"], metrics["u_recall"]
    score = ers_score(ece, recall, domain)
    if score != metrics["ers"]:
        return f"ers must be {score} for ece {ece:g} and u_recall {recall:g} in the domain {domain}; it is {metrics['ers']}"
    earned = LEVEL_NAMES[ers_level(ece, recall, score)]
    return None if earned == level else f"the metrics earn {earned}; the certificate says {level}"
