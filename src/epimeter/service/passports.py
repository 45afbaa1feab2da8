# SPDX-License-Identifier: Apache-2.0
"""The passport of an evaluation, made again from the rows that were kept: JSON, or PDF with the JSON inside."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi.responses import Response

from epimeter.service.errands import MadeDocument, WritePassport
from epimeter.service.problems import Problem
from epimeter.service.renderings import chosen
from epimeter.service.schemas import Facts
from epimeter.store import evaluations

FORMS = ("application/json", "application/pdf")


def passport_of(state: Any, row: Any, organization: str, accept: str) -> Response:
    """The passport in the form that was asked for."""
    form = chosen(accept, FORMS)
    if row["status"] != "completed" or not row["rows_kept"]:
        raise Problem(
            "conflict", "a passport is made of evaluations that allow a certificate, while their rows are kept"
        )
    errand = WritePassport(
        source=row["id"],
        facts=msgspec.json.decode(bytes(row["request"]), type=Facts),
        at=row["created_at"],
        organization=organization,
        report=bytes(row["report"]),
        form=form,
    )
    with state.store.reading() as db:
        made = state.children.do(
            errand, MadeDocument, evaluations.retained_rows(db, row["id"]), seconds=state.settings.job_time
        )
    return Response(made.data, media_type=form)
