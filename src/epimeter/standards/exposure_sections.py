# SPDX-License-Identifier: Apache-2.0
"""A liability report as it is read: the five sections of 42003-7.1, from the report as it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epimeter.documents.sections import Grid, Items, Paragraph, Section
from epimeter.standards.exposure_inputs import PARTS
from epimeter.standards.onto42003 import MULTIPLIERS, REFERENCE_RATES


def liability_sections(report: Mapping[str, Any]) -> tuple[Section, ...]:
    """The sections of what `LiabilityReport.to_dict` wrote."""
    summary, results = report["executive_summary"], report["results"]
    rates = tuple((name.replace("_", " "), *(f"{rate:g}" for rate in them)) for name, them in REFERENCE_RATES.items())
    sources = tuple((name.replace("_", " "), text) for name, text in report["inputs"]["sources"].items())
    return (
        Section("Liability: executive summary", (Paragraph(summary["sentence"]),)),
        Section(
            "Liability: inputs",
            (
                Grid("Factors", ("factor", "value"), _factors(report["inputs"], summary["currency"]), frozenset({1})),
                Grid("Sources", ("input", "source"), sources),
            ),
        ),
        Section(
            "Liability: results",
            (
                Paragraph(results["formula"]),
                Grid("Annual exposure", ("state", "amount"), _states(results, summary["currency"]), frozenset({1})),
                Grid(
                    "Scenarios of the incident cost",
                    ("scenario", "factor", "exposure", f"{summary['level']:.0%} interval"),
                    _scenarios(results["scenarios"], summary),
                    frozenset({1, 2}),
                ),
            ),
        ),
        Section(
            "Liability: assumptions and limits",
            (
                Items(tuple(report["assumptions"])),
                Grid(
                    "Reference rates of the standard, shown and not used (C-41)",
                    ("use", "baseline", "Level 2", "Level 3"),
                    rates,
                    frozenset({1, 2, 3}),
                ),
            ),
        ),
        Section("Liability: recommendations", (Items(tuple(report["recommendations"])),)),
    )


def money(amount: float, currency: str) -> str:
    """An amount with separators and its currency."""
    return f"{currency} {amount:,.2f}"


def _factors(given: Mapping[str, Any], currency: str) -> tuple[tuple[str, str], ...]:
    cost = given["incident_cost"]
    return (
        *((part, money(cost[part], currency)) for part in PARTS),
        ("incident cost, sum", money(cost["total"], currency)),
        *((f"adjustment: {name}", f"{factor:g}") for name, factor in given["adjustments"].items()),
        ("incident cost, adjusted", money(given["adjusted_incident_cost"], currency)),
        ("query volume a year", f"{given['query_volume']:,.0f}"),
        *(
            (f"domain {name}", f"x {MULTIPLIERS[name]:g}" + ("" if volume is None else f" on {volume:,.0f} queries"))
            for name, volume in given["domains"].items()
        ),
        ("domain multiplier as a whole", f"{given['domain_multiplier']:g}"),
        (f"regulatory context {given['regulatory']}", f"x {given['regulatory_weight']:g}"),
        ("materialisation", f"{given['materialisation']:g}"),
    )


def _states(results: Mapping[str, Any], currency: str) -> tuple[tuple[str, str], ...]:
    before, saved = results["baseline"], results["reduction"]
    rows = [
        ("baseline", before if isinstance(before, str) else money(before["exposure"], currency)),
        ("mitigated (as measured)", money(results["mitigated"]["exposure"], currency)),
    ]
    if saved is not None:
        rows.append(("reduction", f"{money(saved['reduction'], currency)} ({saved['reduction_percent']:.1f} %)"))
        if saved.get("roi_percent") is not None:
            cost = money(results["mitigation_cost"] or 0.0, currency)
            rows.append(("return on mitigation", f"{saved['roi_percent']:.1f} % on {cost}"))
    return tuple(rows)


def _scenarios(scenarios: Mapping[str, Any], summary: Mapping[str, Any]) -> tuple[tuple[str, str, str, str], ...]:
    """Each with the factor of the incident cost, by which its exposure is that of the summary."""
    whole, currency = summary["exposure"], summary["currency"]
    return tuple(
        (
            name,
            f"{one['exposure'] / whole:g}" if whole else "–",
            money(one["exposure"], currency),
            f"{money(one['low'], currency)} to {money(one['high'], currency)}",
        )
        for name, one in scenarios.items()
    )
