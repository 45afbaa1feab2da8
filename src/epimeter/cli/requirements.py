# SPDX-License-Identifier: Apache-2.0
"""``--require 'ece<=0.05'``: what must hold of a report, and the exit code where it does not."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from epimeter.card_index import find
from epimeter.report.measurement import Report

if TYPE_CHECKING:
    from epimeter.report.forecast_report import ForecastReport

REQUIREMENT = re.compile(r"^\s*(\w+)(?:\.(\w+))?\s*(<=|>=|<|>)\s*([-+.\deE]+)\s*$")
Requirement = tuple[str, str | None, str, float]
COMPARISONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


def parsed(requirement: str) -> Requirement:
    """A requirement such as ``ece<=0.05`` or ``spiegelhalter_z.p_value>0.01``, its metric known."""
    match = REQUIREMENT.match(requirement)
    if match is None:
        raise click.UsageError(f"--require takes METRIC<=NUMBER, as 'ece<=0.05'; got {requirement!r}")
    name, part, comparison, number = match.groups()
    try:
        limit = float(number)
    except ValueError:
        raise click.UsageError(f"--require needs a number; got {number!r}") from None
    return find(name).name, part, comparison, limit


def verdicts(report: Report | ForecastReport, wanted: list[Requirement]) -> list[dict[str, Any]]:
    """Every requirement held against a report: what was found, and whether it holds."""
    made = []
    for name, part, comparison, limit in wanted:
        told = {
            "requirement": f"{name}{'.' + part if part else ''}{comparison}{limit:g}",
            "holds": False,
            "value": None,
        }
        made.append(told)
        if name in report.left_out:
            told["reason"] = f"{name} was not measured: {report.left_out[name]}"
            continue
        measurement = report[name]
        ends = (
            {} if measurement.interval is None else {"low": measurement.interval.low, "high": measurement.interval.high}
        )
        parts = {**measurement.fields, **ends}
        if part is not None and part not in parts:
            if part in ("low", "high"):
                told["reason"] = f"{name} has no interval on these data"
                continue
            raise click.UsageError(f"{name} has no field {part!r}; it has {', '.join(parts) or 'none'}")
        value = measurement.value if part is None else parts[part]
        told["value"] = value
        told["holds"] = value is not None and COMPARISONS[comparison](value, limit)
        shown = "not defined" if value is None else f"{value:.6g}"
        told["reason"] = f"{name}{'.' + part if part else ''} is {shown}, required {comparison} {limit:g}"
    return made


def judge(reports: Mapping[Any, Report] | Mapping[Any, ForecastReport], wanted: list[Requirement]) -> None:
    """Say which requirements do not hold, and on which slice, and exit with 1."""
    failed = [
        told["reason"] if value is None else f"{value}: {told['reason']}"
        for value, report in (reports.items() if wanted else ())
        for told in verdicts(report, wanted)
        if not told["holds"]
    ]
    for sentence in failed:
        click.echo(f"epimeter: {sentence}", err=True)
    if failed:
        raise click.exceptions.Exit(1)


def with_verdicts(
    rendered: str | bytes,
    form: str,
    reports: Mapping[Any, Report] | Mapping[Any, ForecastReport],
    wanted: list[Requirement],
) -> str | bytes:
    """Reports in JSON, each with the requirements it was held against; other forms as they are."""
    if form != "json" or not wanted:
        return rendered
    made = json.loads(rendered)
    for value, report in reports.items():
        place = made if len(reports) == 1 else made[str(value)]
        place["requirements"] = verdicts(report, wanted)
    return json.dumps(made, indent=2, allow_nan=False) + "\n"


def with_required(names: Any, wanted: list[Requirement]) -> Any:
    """The metrics asked for, and those that a requirement needs."""
    from epimeter.passes.selection import HEADLINES

    required = [requirement[0] for requirement in wanted]
    if names is None:
        return list(dict.fromkeys([*HEADLINES, *required])) if required else None
    return names if names == "all" else list(dict.fromkeys([*names, *required]))
