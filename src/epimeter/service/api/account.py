# SPDX-License-Identifier: Apache-2.0
"""What an organisation used, its jobs and its audit entries; the tiers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from epimeter.service.access import Known
from epimeter.service.answers import answer
from epimeter.service.documents import documented
from epimeter.service.paging import Limit, links
from epimeter.service.planning import planned
from epimeter.service.problems import Problem
from epimeter.service.rates import TIERS
from epimeter.service.schemas import AuditLine, AuditPage, JobLine, MonthUse, SamplePlan, TierLine, Tiers, Usage
from epimeter.store import evaluations, jobs, journal
from epimeter.store.moments import micros, month_of, now, written

area = APIRouter(tags=["account"])


@area.get("/v1/usage", summary="What was used", **documented(gives=Usage, scope="evaluations:read"))
def usage(request: Request, caller: Known) -> Response:
    month = month_of(now())
    with request.app.state.store.reading() as db:
        used = evaluations.used(db, caller.organization, month)
        months = evaluations.months(db, caller.organization)
    year, number = divmod(int(month[:4]) * 12 + int(month[5:]), 12)
    reset = micros(datetime(year, number + 1, 1, tzinfo=UTC))
    return answer(
        Usage(
            organization=caller.organization_name,
            tier=caller.tier,
            requests_per_minute=TIERS[caller.tier][0],
            month=month,
            evaluations=used,
            quota=caller.quota,
            remaining=None if caller.quota is None else max(0, caller.quota - used),
            resets_at=written(reset) or "",
            months=[MonthUse(row["month"], row["evaluations"]) for row in months],
        )
    )


@area.get("/v1/tiers", summary="The tiers", **documented(gives=Tiers))
def tiers(request: Request) -> Response:
    delay = request.app.state.settings.open_delay
    lines = [
        TierLine(
            tier=tier,
            requests_per_minute=minute,
            evaluations_per_month=month,
            signal_delay_seconds=delay if tier == "OPEN" else 0.0,
        )
        for tier, (minute, month) in TIERS.items()
    ]
    return answer(Tiers(lines))


@area.get(
    "/v1/plan",
    summary="How many rows make a verdict firm",
    description="For what is expected: ECE, and U-Recall in percent; without a level the limits of all levels count.",
    **documented(gives=SamplePlan, scope="evaluations:read"),
)
def plan(
    request: Request,
    expected_ece: Annotated[float, Query(ge=0, le=1, description="The ECE that is expected.")],
    expected_u_recall: Annotated[
        float | None, Query(ge=0, le=100, description="The U-Recall that is expected, in percent.")
    ] = None,
    level: Annotated[
        Literal["L1", "L2", "L3"] | None,
        Query(description="The level that is aimed at; without one, all limits count."),
    ] = None,
    domain: Annotated[
        Literal["medical", "legal", "financial", "code", "general"],
        Query(description="Field of use; it has a part in the score."),
    ] = "general",
    accuracy: Annotated[float, Query(ge=0, le=1, description="Share of answers that are expected to be right.")] = 0.8,
    power: Annotated[float, Query(ge=0.5, le=0.999, description="How likely the verdict is to become firm.")] = 0.9,
    confidence: Annotated[float, Query(ge=0.5, le=0.999, description="Level of the intervals.")] = 0.95,
) -> Response:
    return answer(
        planned(
            ece=expected_ece,
            u_recall=expected_u_recall,
            level=level,
            domain=domain,
            accuracy=accuracy,
            power=power,
            confidence=confidence,
        )
    )


@area.get(
    "/v1/jobs/{job_id}",
    summary="Look at a job",
    **documented(gives=JobLine, scope="evaluations:read", problems=("not-found",)),
)
def job(request: Request, caller: Known, job_id: str) -> Response:
    with request.app.state.store.reading() as db:
        row = jobs.find(db, caller.organization, job_id)
    if row is None:
        raise Problem("not-found", "no job of yours has this id")
    return answer(
        JobLine(
            id=row["id"],
            kind=row["kind"],
            subject=row["subject"],
            state=row["state"],
            attempts=row["attempts"],
            created_at=written(row["created_at"]) or "",
            finished_at=written(row["finished_at"]),
            error=row["error"],
        )
    )


@area.get(
    "/v1/audit",
    summary="The audit entries",
    **documented(gives=AuditPage, scope="evaluations:read", headers=("Link",)),
)
def audit(
    request: Request,
    caller: Known,
    limit: Limit = 50,
    cursor: Annotated[int | None, Query(ge=1, lt=2**63, description="`next` of the page before.")] = None,
) -> Response:
    with request.app.state.store.reading() as db:
        rows = journal.page(db, caller.organization, cursor, limit + 1)
    next_ = str(rows[limit - 1]["number"]) if len(rows) > limit else None
    lines = [
        AuditLine(
            number=row["number"],
            at=written(row["at"]) or "",
            actor=row["actor"],
            action=row["action"],
            subject=row["subject"],
            detail=msgspec.json.decode(bytes(row["detail"])),
            log_index=row["log_index"],
        )
        for row in rows[:limit]
    ]
    return answer(AuditPage(lines, next_), headers=links("/v1/audit", {"limit": limit}, next_))
