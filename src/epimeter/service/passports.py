# SPDX-License-Identifier: Apache-2.0
"""The passport of an evaluation, made again from the rows that were kept: JSON, or PDF with the JSON inside."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi.responses import Response

from epimeter.errors import MissingExtraError
from epimeter.passport import canonical, passport, pdf
from epimeter.service.columns import Columns, to_records
from epimeter.service.problems import Problem
from epimeter.service.renderings import chosen
from epimeter.service.schemas import Facts
from epimeter.standards.declaration import Declaration
from epimeter.standards.evaluation import evaluate_standards
from epimeter.store.moments import moment

FORMS = ("application/json", "application/pdf")


def passport_of(row: Any, columns: Columns | None, organization: str, accept: str) -> Response:
    """The passport in the form that was asked for."""
    form = chosen(accept, FORMS)
    if columns is None:
        raise Problem(
            "conflict", "a passport is made of evaluations that allow a certificate, while their rows are kept"
        )
    facts = msgspec.json.decode(bytes(row["request"]), type=Facts)
    at = moment(row["created_at"])
    told = Declaration(organization=organization, system_id=facts.model_id, model_version=facts.model_version or "")
    found = evaluate_standards(
        to_records(columns, at),
        standard="ers",
        domain=facts.domain,
        date=at.date(),
        declaration=told,
        source={"name": row["id"]},
    )
    made = passport(found.to_dict() | {"report": msgspec.json.decode(bytes(row["report"]))})
    if form == "application/json":
        return Response(canonical(made), media_type=form)
    try:
        return Response(pdf(made), media_type=form)
    except MissingExtraError as missing:
        raise Problem("not-acceptable", f"this server makes no PDF: {missing}") from None
