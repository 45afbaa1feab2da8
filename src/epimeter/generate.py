# SPDX-License-Identifier: Apache-2.0
"""Files that follow from the code: the reference pages of the metrics, and their stub. ``python -m epimeter.generate [--check]``.

Generated files are committed; ``--check`` (and a test) fails when one is stale. Nobody types them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from epimeter.calling import Metric
from epimeter.card_index import catalogue
from epimeter.schema import COSTS, PROPER, described, test_words
from epimeter.stub import metrics_stub

FAMILIES = {
    "point": "One score a row, and what the scores add up to",
    "bin": "Confidences cut into bins: what was said against what was seen",
    "kernel": "Neighbouring confidences weighed by a kernel",
    "curve": "Calibration curves fitted to the data, and tests on them",
    "cumulative": "The walk of outcome minus confidence, sorted by confidence",
    "selective": "Right answers and wrong ones told apart by confidence, and the doubtful left out",
    "detection": "Boxes on images: scores of detections against what they found",
    "distribution": "Forecasts of a number or of a set: means with deviations, quantiles, ensembles, intervals, sets",
    "test": "Tests and intervals that work with any metric",
    "recalibration": "Maps from stated to seen, used to measure a calibration gain",
    "standard": "Definitions of the ONTO standards",
}


ORDERS = {
    "free": "does not matter",
    "ties": "matters among rows of equal predictions",
    "rows": "matters, by definition",
}


def reference_page(metric: Metric[Any]) -> str:
    """The page of one metric, in Markdown."""
    facts = described(metric)
    lines = [f"# {facts['name']}", "", f"**{facts['title']}** ({facts['family']} family). {facts['summary']}", ""]
    lines += ["```math", facts["equation"], "```", ""]
    lines += [f"- `{symbol}`: {meaning}" for symbol, meaning in facts["where"].items()]
    ideal = "" if facts["ideal"] is None else f", ideal {facts['ideal']:g}"
    ideal = f", ideal: the parameter `{facts['aims_at']}`" if facts["aims_at"] else ideal
    lines += [
        "",
        "| | |",
        "|---|---|",
        f"| range | {facts['range_text']}{ideal}; {facts['direction']} |",
        f"| reads forecasts of kind | {', '.join(facts['forecasts'])} |"
        if facts["forecasts"]
        else f"| matrix (N, K) | {facts['matrix']} |",
        f"| in one pass | {facts['streams']} |",
        f"| sample weights | {'yes' if facts['weighted'] else 'none are defined for it'} |",
    ]
    lines += [
        f"| proper | {PROPER[facts['proper']]} |",
        f"| test of calibration | {test_words(facts)} |",
        f"| time | {COSTS[facts['cost']]} |",
        f"| order of the rows | {ORDERS[facts['order']]} |",
    ]
    if facts["needs"] or facts["takes"]:
        lines.append(f"| further columns | needs {_listed(facts['needs'])}; takes {_listed(facts['takes'])} |")
    if facts["returns"]:
        lines.append(f"| returns | {', '.join(f'`{name}`' for name in facts['returns'])} |")
    lines += ["", f"Use it when {facts['use_when']}; not when {facts['not_when']}."]
    if facts["parameters"]:
        lines += ["", "## Parameters", "", "| name | default | allowed | meaning |", "|---|---|---|---|"]
        for parameter in facts["parameters"]:
            default = "required" if parameter["required"] else f"`{parameter['default']}`"
            allowed = parameter["limit"] or " \\| ".join(parameter["words"])
            lines.append(f"| `{parameter['name']}` | {default} | {allowed} | {parameter['meaning']} |")
    if facts["pitfalls"]:
        lines += ["", "## Pitfalls", "", facts["pitfalls"]]
    if facts["simulated"]:
        lines += ["", "## Simulated", "", facts["simulated"]]
    lines += ["", "## Source", "", facts["source"]]
    if facts["aliases"]:
        lines += ["", f"Also called {', '.join(facts['aliases'])}."]
    lines += ["", f"Card as JSON: `epimeter metrics {facts['name']} --json`"]
    return "\n".join(lines) + "\n"


def reference_index() -> str:
    """The list of all metrics, by family."""
    entries = catalogue()
    lines = ["# Reference", "", f"{len(entries)} metrics, tests and maps. Each page is made from its card.", ""]
    lines += ["[Their properties in one table](properties.md).", ""]
    for family, meaning in FAMILIES.items():
        members = [m for m in entries.values() if m.card.family == family]
        if members:
            lines += [f"## {family}", "", f"{meaning}.", ""]
            lines += [f"- [{m.name}]({m.name}.md): {m.card.title}" for m in members]
            lines.append("")
    return "\n".join(lines)


def properties_page() -> str:
    """All metrics with their properties in one table a family, as the reviews' summary tables have them."""
    lines = ["# Properties of all metrics", "", "Made from the cards; each name leads to its page.", ""]
    for family in FAMILIES:
        members = [described(m) for m in catalogue(family).values()]
        if not members:
            continue
        lines += [
            f"## {family}",
            "",
            "| metric | range | ideal | proper | test | time | weights | one pass | use it when |",
        ]
        lines.append("|---|---|---|---|---|---|---|---|---|")
        for facts in members:
            cells = [
                f"[{facts['name']}]({facts['name']}.md)",
                facts["range_text"],
                "" if facts["ideal"] is None else f"{facts['ideal']:g}",
                facts["proper"],
                facts["test"] or "",
                facts["cost"],
                "yes" if facts["weighted"] else "no",
                "yes"
                if facts["streams"].startswith("exactly")
                else "within a bound"
                if "bound" in facts["streams"]
                else "no",
                facts["use_when"],
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def pages() -> dict[str, Callable[[], str]]:
    """Every generated file, by its path below the repository."""
    made: dict[str, Callable[[], str]] = {
        "docs/reference/README.md": reference_index,
        "docs/reference/properties.md": properties_page,
        "src/epimeter/metrics/__init__.pyi": metrics_stub,
    }
    for metric in catalogue().values():
        made[f"docs/reference/{metric.name}.md"] = lambda m=metric: reference_page(m)  # type: ignore[misc]
    return made


def stale(root: Path) -> list[str]:
    """Generated files that are missing or differ from what the code says now, and pages of metrics that are gone."""
    wrong = [
        path for path, make in pages().items() if not (root / path).exists() or (root / path).read_text() != make()
    ]
    present = {f"docs/reference/{path.name}" for path in (root / "docs/reference").glob("*.md")}
    return wrong + sorted(present - set(pages()))


def main(arguments: list[str]) -> int:
    """Write every generated file, or say which are stale."""
    root = Path.cwd()
    if "--check" in arguments:
        wrong = stale(root)
        for path in wrong:
            print(f"{path} is stale; run make generate")
        return 1 if wrong else 0
    for path, make in pages().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(make())
    for path in stale(root):
        (root / path).unlink()
    print(f"wrote {len(pages())} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
