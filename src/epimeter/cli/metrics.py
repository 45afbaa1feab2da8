# SPDX-License-Identifier: Apache-2.0
"""``epimeter metrics``: the catalogue, and the card of one metric."""

from __future__ import annotations

import json
import textwrap

import click

from epimeter.calling import Metric
from epimeter.card_index import catalogue, find
from epimeter.schema import COSTS, PROPER, described, test_words


@click.command()
@click.argument("name", required=False)
@click.option(
    "--family", help="Only one family: point, bin, kernel, curve, cumulative, detection, test, recalibration."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def metrics(name: str | None, family: str | None, as_json: bool) -> None:
    """List every metric, or show the card of one: equation, range, parameters, pitfalls, source."""
    if name is not None:
        found = find(name)
        click.echo(json.dumps(described(found), indent=2) if as_json else card_text(found))
        return
    entries = catalogue(family)
    if not entries:
        known = ", ".join(dict.fromkeys(m.card.family for m in catalogue().values()))
        raise click.UsageError(f"no family is called {family!r}; there are {known}")
    if as_json:
        click.echo(json.dumps([described(entry) for entry in entries.values()], indent=2))
        return
    click.echo(listing(entries))


def listing(entries: dict[str, Metric]) -> str:  # type: ignore[type-arg]
    """All metrics by family, a line each."""
    width = max(map(len, entries))
    lines: list[str] = []
    family = None
    for name, entry in entries.items():
        if entry.card.family != family:
            family = entry.card.family
            lines += ["", family]
        lines.append(f"  {name:<{width}}  {entry.card.title}")
    lines += ["", f"{len(entries)} entries. epimeter metrics NAME shows one with its equation and pitfalls."]
    return "\n".join(lines[1:])


def card_text(entry: Metric) -> str:  # type: ignore[type-arg]
    """The card of a metric as text."""
    facts = described(entry)
    lines = [f"{entry.name}: {facts['title']} ({facts['family']} family)", ""]
    lines += textwrap.wrap(facts["summary"], 100)
    lines += ["", "Equation", *_indented(facts["equation"].replace("\\\\", "\n"))]
    lines += [f"    {symbol}: {meaning}" for symbol, meaning in facts["where"].items()]
    lines += ["", f"Range     {facts['range_text']}"]
    if facts["ideal"] is not None:
        lines.append(f"Ideal     {facts['ideal']:g}")
    lines.append(f"Reading   {facts['direction']}")
    if facts["aims_at"]:
        lines.append(f"Ideal     the parameter {facts['aims_at']}")
    lines.append(f"Forecasts {', '.join(facts['forecasts'])}" if facts["forecasts"] else f"Matrix    {facts['matrix']}")
    lines.append(f"Streams   {facts['streams']}")
    if facts["needs"] or facts["takes"]:
        lines.append(
            f"Columns   needs {', '.join(facts['needs']) or 'none'}; takes {', '.join(facts['takes']) or 'none'}"
        )
    lines.append(f"Weights   {'sample_weight' if facts['weighted'] else 'none are defined for it'}")
    lines.append(f"Proper    {PROPER[facts['proper']]}")
    lines.append(f"Test      {test_words(facts)}")
    lines.append(f"Cost      {COSTS[facts['cost']]}")
    lines += textwrap.wrap(f"Use it when {facts['use_when']}; not when {facts['not_when']}.", 100)
    if facts["parameters"]:
        lines += ["", "Parameters"]
        for parameter in facts["parameters"]:
            default = "required" if parameter["required"] else f"default {parameter['default']}"
            bound = f", {parameter['limit']}" if parameter["limit"] else ""
            words = f", one of {' | '.join(parameter['words'])}" if parameter["words"] else ""
            lines.append(f"  {parameter['name']} ({default}{bound}{words})")
            lines += textwrap.wrap(parameter["meaning"], 96, initial_indent="      ", subsequent_indent="      ")
    if facts["returns"]:
        lines += ["", f"Returns   {', '.join(facts['returns'])}"]
    for title in ("pitfalls", "simulated", "source"):
        if facts[title]:
            text = textwrap.wrap(facts[title], 98, initial_indent="  ", subsequent_indent="  ")
            lines += ["", title.capitalize(), *text]
    if facts["aliases"]:
        lines += ["", f"Also called {', '.join(facts['aliases'])}"]
    return "\n".join(lines)


def _indented(text: str) -> list[str]:
    return [f"  {line.strip()}" for line in text.splitlines() if line.strip()]
