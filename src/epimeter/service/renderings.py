# SPDX-License-Identifier: Apache-2.0
"""A stored report in the form that was asked for."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from fastapi.responses import Response

from epimeter.documents.html import html
from epimeter.documents.markdown import markdown
from epimeter.report.measurement import Measurement, Report
from epimeter.report.pages import document
from epimeter.report.text import text
from epimeter.results import BinTable, Interval
from epimeter.service.problems import Problem

FORMS = ("application/json", "text/html", "text/markdown", "text/plain")


def rendered(stored: bytes, form: str) -> Response:
    """The report in one of its forms."""
    if form == "application/json":
        return Response(stored, media_type=form)
    report = report_of(msgspec.json.decode(stored))
    if form == "text/plain":
        return Response(text(report), media_type="text/plain; charset=utf-8")
    pages = document(report)
    made = html(pages) if form == "text/html" else markdown(pages)
    return Response(made, media_type=f"{form}; charset=utf-8")


def chosen(accept: str, forms: tuple[str, ...]) -> str:
    """The form to answer in; the order of the header decides, then our own."""
    for part in accept.split(",")[:20]:
        wanted = part.partition(";")[0].strip().lower()
        for form in forms:
            if wanted in (form, "*/*", form.partition("/")[0] + "/*", ""):
                return form
    raise Problem("not-acceptable", f"this can be had as {', '.join(forms)}")


def report_of(stored: dict[str, Any]) -> Report:
    """The report that `Report.to_dict` wrote down."""
    return Report(
        n_rows=stored["n_rows"],
        n_classes=stored["n_classes"],
        kind=stored["kind"],
        base_rate=stored["base_rate"],
        mean_confidence=stored["mean_confidence"],
        measurements=tuple(_measurement(one) for one in stored["measurements"]),
        left_out=stored["left_out"],
        cautions=tuple(stored["cautions"]),
        bins=_table(stored["bins"]),
        source=stored["source"],
        version=stored["epimeter"],
    )


def _measurement(stored: dict[str, Any]) -> Measurement:
    interval = stored.get("interval")
    return Measurement(
        metric=stored["metric"],
        title=stored["title"],
        value=stored["value"],
        undefined=stored.get("undefined"),
        fields=stored.get("fields", {}),
        parameters=stored["parameters"],
        convention=stored["convention"],
        n_rows=stored["n_rows"],
        exact=stored["exact"],
        interval=None if interval is None else Interval(**interval),
    )


def _table(stored: dict[str, Any]) -> BinTable:
    def floats(values: list[float | None]) -> Any:
        return np.array([np.nan if value is None else value for value in values], np.float64)

    edges = stored["edges"]
    return BinTable(
        None if edges is None else np.array(edges, np.float64),
        np.array(stored["count"], np.int64),
        floats(stored["confidence"]),
        floats(stored["frequency"]),
    )
