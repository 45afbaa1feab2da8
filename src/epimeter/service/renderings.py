# SPDX-License-Identifier: Apache-2.0
"""A stored report in the form that was asked for."""

from __future__ import annotations

import msgspec
from fastapi.responses import Response

from epimeter.documents.html import html
from epimeter.documents.markdown import markdown
from epimeter.documents.sections import Document
from epimeter.documents.terminal import terminal
from epimeter.report.curves import Curves
from epimeter.report.figure_rows import curves_of
from epimeter.report.pages import document, pictures
from epimeter.report.stored import forecast_report_of, report_of
from epimeter.service.problems import Problem
from epimeter.standards.pages import whole_document
from epimeter.standards.stored import evaluation_of

FORMS = ("application/json", "text/html", "text/markdown", "text/plain")


def rendered(stored: bytes, form: str) -> Response:
    """The report in one of its forms."""
    if form == "application/json":
        return Response(stored, media_type=form)
    pages = document_of(stored)
    write = {"text/plain": terminal, "text/markdown": markdown, "text/html": html}[form]
    return Response(write(pages), media_type=f"{form}; charset=utf-8")


def document_of(stored: bytes) -> Document:
    """The whole report of a stored evaluation as sections: verdicts, obstacles, cautions, requirements, metrics, mapping.

    One that was stored before the standards were part of it has its metrics alone.
    """
    found = msgspec.json.decode(stored)
    if "states" in found:
        return forecast_report_of(found).document()
    if "schema" not in found:
        return document(report_of(found))
    report, drawn = report_of(found["report"]), found["report"].get("curves")
    # Those of sums, and of evaluations from before curves were kept, have the diagram of their bins alone.
    return whole_document(
        evaluation_of(found), report, pictures(curves_of(report) if drawn is None else Curves.from_dict(drawn))
    )


def chosen(accept: str, forms: tuple[str, ...]) -> str:
    """The form to answer in; the order of the header decides, then our own."""
    for part in accept.split(",")[:20]:
        wanted = part.partition(";")[0].strip().lower()
        for form in forms:
            if wanted in (form, "*/*", form.partition("/")[0] + "/*", ""):
                return form
    raise Problem("not-acceptable", f"this can be had as {', '.join(forms)}")
