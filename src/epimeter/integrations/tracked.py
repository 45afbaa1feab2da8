# SPDX-License-Identifier: Apache-2.0
"""What an experiment tracker is given of a report: numbers by name, and the report itself beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from epimeter.errors import InputError
from epimeter.report import Report
from epimeter.report.slices import Reports


def each(report: Report | Reports, prefix: str) -> Iterator[tuple[str, Report]]:
    """The report under its prefix, or every slice under its own; prefixes end in a stroke, none at all is empty."""
    if not isinstance(report, Report | Reports):
        raise InputError(f"log_report takes a report of epimeter; got {type(report).__name__}", field="report")
    start = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    if isinstance(report, Report):
        yield start, report
        return
    for value, one in report.items():
        yield f"{start}{_plain(value)}/", one


def scalars(report: Report, start: str) -> dict[str, float]:
    """Values, ends of intervals and p-values that are finite numbers: what trackers can draw. The report has the others."""
    found: dict[str, float | None] = {"rows": float(report.n_rows), "base_rate": report.base_rate}
    found["mean_confidence"] = report.mean_confidence
    for line in report.measurements:
        found[line.metric] = line.value
        if line.interval is not None:
            found |= {f"{line.metric}.low": line.interval.low, f"{line.metric}.high": line.interval.high}
        if "p_value" in line.fields:
            found[f"{line.metric}.p_value"] = line.fields["p_value"]
    return {
        f"{start}{name}": float(value) for name, value in found.items() if value is not None and math.isfinite(value)
    }


def facts(report: Report) -> dict[str, str]:
    """What the numbers are about, in words."""
    verdict: Any = report.verdict
    made = {"epimeter": report.version, "kind": report.kind}
    return made if verdict is None else made | {"verdict": " ".join(verdict.sentences)}


def _plain(value: Any) -> str:
    """A slice's value in letters that every tracker takes in a name."""
    text = "missing" if value is None else str(value)
    return "".join(letter if letter.isalnum() or letter in "_-. " else "_" for letter in text) or "_"
