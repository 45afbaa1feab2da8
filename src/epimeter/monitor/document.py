# SPDX-License-Identifier: Apache-2.0
"""A look as a document: the same sentences, tables and charts for terminal and page."""

from __future__ import annotations

import math

import epimeter
from epimeter.documents.html import html
from epimeter.documents.sections import Block, Document, Grid, Items, Paragraph, Section, Tone
from epimeter.documents.terminal import terminal
from epimeter.kinds import WORDING, kind_of
from epimeter.monitor.alarm import called
from epimeter.monitor.cells import RANGES
from epimeter.monitor.charts import charts
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.watch import Overview, SliceLook, SystemLook
from epimeter.monitor.window import A_YEAR

MOST_SYSTEMS = 200
"""Systems that get charts on one page; the others are listed."""
TONES: dict[str, Tone] = {"quiet": "good", "alarm": "bad", "cannot judge": "mind"}


def page(look: Overview) -> str:
    """The look as one HTML page: no script, no network."""
    return html(
        document(look, pictures=True),
        footer=f"epimeter {epimeter.__version__}, as of {look.as_of}. {_promise(look.settings)}",
    )


def text(look: Overview) -> str:
    """The look for a terminal."""
    return terminal(document(look))


def document(look: Overview, *, pictures: bool = False) -> Document:
    """The look as sections, those with alarms first."""
    order = {"alarm": 0, "cannot judge": 1, "quiet": 2}
    systems = sorted(look.systems, key=lambda system: (order[system.verdict], system.name))
    alarms = sum(len(system.open_alarms) for system in systems)
    sections = []
    if look.cautions:
        sections.append(Section("Input", (Items(look.cautions, "mind"),)))
    if len(systems) > 1:
        sections.append(Section("Systems", (_overview(systems),)))
    sections += [
        _system(system, look.settings, pictures and number < MOST_SYSTEMS) for number, system in enumerate(systems)
    ]
    title = "Calibration over time: " + (
        f"{alarms} open alarm{'s' if alarms != 1 else ''}" if alarms else "no open alarm"
    )
    rate = f"{look.settings.false_alarms:g} a year"
    facts = f"as of {look.as_of} · {WORDING[kind_of(look.kind)].what} · one window a {look.settings.unit}"
    facts += f" · tolerance {look.settings.tolerance:g} · false change alarms at most {rate}"
    return Document(title, facts, tuple(sections))


def _often(times: float) -> str:
    return "once" if times == 1 else f"{times:g} times"


def _promise(settings: MonitorSettings) -> str:
    return (
        f"Without a change of calibration the change alarm comes at most {_often(settings.false_alarms)} a year, however "
        "often one looks; this assumes that the moment at which a truth becomes known does not depend on it."
    )


def _overview(systems: list[SystemLook]) -> Grid:
    rows = tuple(
        (system.name, system.verdict, system.why, f"{int(system.series.rows[:, 0].sum()):,}") for system in systems
    )
    tones = tuple(TONES[system.verdict] for system in systems)
    return Grid("Every system", ("system", "state", "why", "labelled rows"), rows, frozenset({3}), tones)


def _system(system: SystemLook, settings: MonitorSettings, pictures: bool) -> Section:
    blocks: list[Block] = [Paragraph(f"{system.verdict}: {system.why}", TONES[system.verdict])]
    open_ones = tuple(f"[{alarm.state}] {alarm.sentence} ({alarm.id})" for alarm in system.alarms if alarm.open)
    if open_ones:
        blocks.append(Items(open_ones, "bad"))
    closed = tuple(
        f"closed {alarm.closed}: {alarm.what} since {alarm.since[0]}" for alarm in system.alarms if not alarm.open
    )
    if closed:
        blocks.append(Items(closed))
    if system.cautions:
        blocks.append(Items(system.cautions, "mind"))
    if system.slices:
        blocks.append(_slices(system, settings))
    if pictures:
        blocks += charts(system, settings)
        changed = [part for part in system.slices if any(here is not None for here in part.ranges)]
        blocks += [_ranges(part, WORDING[system.series.kind].noun) for part in changed[:1]]
        if any(part.drift is not None for part in system.slices):
            blocks.append(_unlabelled(system))
    return Section(system.name, tuple(blocks))


def _slices(system: SystemLook, settings: MonitorSettings) -> Grid:
    concerned = {name for alarm in system.open_alarms for name in alarm.slices}
    rows = []
    tones: list[Tone] = []
    for part in _worst_first(system):
        week = part.week
        change = (
            "–"
            if part.change is None
            else f"{part.change.value:+.4f} ({part.change.low:+.4f} to {part.change.high:+.4f})"
        )
        rows.append(
            (
                called(part.name),
                "0" if week is None else f"{week.rows:,}",
                "–" if week is None else f"{week.bias:+.4f}",
                "–" if week is None else f"{week.ece:.4f} ({week.ece_low:.4f} to {week.ece_high:.4f})",
                change,
                _evidence(part, settings),
                _state(part, part.name in concerned, system),
            )
        )
        tones.append("bad" if part.name in concerned else "mind" if part.evidence is None else "good")
    heads = ("slice", "rows", "bias", "ECE", "change", "evidence", "state")
    return Grid("Every slice, over its last week with outcomes", heads, tuple(rows), frozenset({1, 2}), tuple(tones))


def _worst_first(system: SystemLook) -> list[SliceLook]:
    """All rows, then the slices by how badly they are off for certain: the lower end of their ECE, then the ECE itself."""
    whole, *others = system.slices

    def order(part: SliceLook) -> tuple[float, float]:
        return (1.0, 1.0) if part.week is None else (-part.week.ece_low, -part.week.ece)

    return [whole, *sorted(others, key=order)]


def _evidence(part: SliceLook, settings: MonitorSettings) -> str:
    if part.evidence is None:
        return "no reference"
    years = math.exp(min(part.evidence, 700.0)) / A_YEAR[settings.unit]
    if part.evidence <= 0:
        return "none"
    if years >= 1e6:
        return "1 in a million years"
    return f"1 in {years:,.0f} years" if years >= 1 else f"1 in {math.ceil(years * 365.25):,} days"


def _state(part: SliceLook, concerned: bool, system: SystemLook) -> str:
    made = "alarm" if concerned else "not compared" if part.evidence is None else "quiet"
    if part.limit is None:
        return made
    return f"{made}; {'read as answers, ' if system.series.kind == 'event' else ''}{part.limit.sentence}"


def _ranges(part: SliceLook, noun: str) -> Grid:
    rows = []
    for k, here in enumerate(part.ranges):
        name = f"[{k / RANGES:g}, {(k + 1) / RANGES:g}{']' if k == RANGES - 1 else ')'}"
        if here is None:
            rows.append((name, "0", "–", "–"))
        else:
            rows.append((name, f"{here.rows:,}", f"{here.value:+.4f}", f"{here.low:+.4f} to {here.high:+.4f}"))
    return Grid(
        f"Change of the last week by {noun}, {called(part.name)}",
        (noun, "rows", "change", "interval"),
        tuple(rows),
        frozenset({1, 2}),
    )


def _unlabelled(system: SystemLook) -> Grid:
    rows = []
    for part in _worst_first(system):
        d = part.drift
        if d is None:
            continue
        delay = "–" if d.delay is None else f"{d.delay:.1f}"
        rows.append(
            (
                called(part.name),
                f"{d.rows:,}",
                f"{d.waiting:.1%}",
                f"{d.psi:.3f}",
                f"{d.ks:.3f}",
                f"{d.expected:.1%}",
                delay,
            )
        )
    heads = (
        "slice",
        "rows",
        "without outcome",
        "stability index",
        "distance",
        "would come true if calibrated (assumed)",
        "days to truth",
    )
    caption = "Without labels: forecasts of the last week beside the reference. "
    caption += "The expected share is an assumption, not a measurement"
    return Grid(caption, heads, tuple(rows), frozenset(range(1, 7)))
