# SPDX-License-Identifier: Apache-2.0
"""Examples of the OpenAPI document; a test sends the requests and compares the answers' shape."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from epimeter.service.schemas import (
    Compliance,
    DatasetReport,
    EvaluateRequest,
    Evaluation,
    KeyRequest,
    Metrics,
    NewKey,
    OrganizationRequest,
    Prediction,
    TierRequest,
)

EXAMPLES: dict[type, Any] = {
    EvaluateRequest: EvaluateRequest(
        model_id="triage-assistant",
        model_version="2.3.1",
        domain="medical",
        predictions=[
            Prediction(confidence=0.9, correct=True, timestamp=datetime(2026, 11, 1, 8, 30, tzinfo=UTC)),
            Prediction(confidence=0.9, correct=False, timestamp=datetime(2026, 11, 2, 8, 30, tzinfo=UTC)),
            Prediction(confidence=0.5, correct=True, timestamp=datetime(2026, 11, 8, 9, 0, tzinfo=UTC)),
            Prediction(confidence=0.5, correct=False, timestamp=datetime(2026, 11, 9, 9, 0, tzinfo=UTC)),
        ],
    ),
    Evaluation: Evaluation(
        evaluation_id="eval_7Q4MK8ZD2N0R5TVX1B3C",
        status="completed",
        spec_version="1.0.0",
        model_id="triage-assistant",
        model_version="2.3.1",
        domain="medical",
        attempt=1,
        created_at="2026-11-15T06:00:00.000Z",
        completed_at="2026-11-15T06:00:00.120Z",
        metrics=Metrics(0.2, 50.0, 80),
        compliance=Compliance("NONE", "FAIL", None),
        accuracy=0.5,
        risk="CRITICAL",
        dataset=DatasetReport(
            digest="epi-col-v1:sha-256:" + "0" * 64,
            sample_size=4,
            unlabelled=0,
            covered_bins=2,
            largest_share=0.5,
            sample_size_ok=False,
            coverage_ok=False,
            balance_ok=True,
            span_ok=True,
            period=None,
            ground_truth={"not stated": 4},
        ),
        obstacles=("the limits of no level are met",),
        engine="epimeter",
    ),
    KeyRequest: KeyRequest(name="build server", scopes=["evaluate", "evaluations:read"]),
    NewKey: NewKey(
        id="A1b2C3d4",
        name="build server",
        scopes=["evaluate", "evaluations:read"],
        created_at="2026-11-15T06:00:00.000Z",
        expires_at=None,
        revoked_at=None,
        last_used_at=None,
        key="onto_live_A1b2C3d4_<43 letters of secret><6 letters of checksum>",
        organization="org_7Q4MK8ZD2N0R5TVX1B3C",
    ),
    OrganizationRequest: OrganizationRequest(name="Example Hospital", tier="STANDARD"),
    TierRequest: TierRequest(tier="CRITICAL"),
}
