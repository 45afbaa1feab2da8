# SPDX-License-Identifier: Apache-2.0
"""An evaluation as sections of a document: verdicts first, then what they rest on, then what they do not prove."""

from __future__ import annotations

import math

from epimeter.documents.sections import Document, Grid, Items, Paragraph, Picture, Section, Tone
from epimeter.report import figures
from epimeter.report.measurement import Report
from epimeter.report.pages import document
from epimeter.results import Interval
from epimeter.standards.evaluated import NAMES, StandardsEvaluation
from epimeter.standards.mapping import AS_OF, FRAMEWORKS, LIMITS, MAPPING
from epimeter.standards.reading import Reading

SPANS = {
    "ers.ece": (0.0, 0.3),
    "ers.u_recall": (0.0, 100.0),
    "ers.ers": (0.0, 100.0),
    "onto.ece": (0.0, 0.3),
    "onto.u_recall": (0.0, 1.0),
    "onto.ors": (0.0, 100.0),
}
"""Scales of the gauges; a value beyond its scale is drawn at the end of it and written in full."""


U_RECALL_SAID = (
    "U-Recall of ONTO-ERS: of the answers that were wrong, how many the system gave with a confidence below 0.7. A system "
    "that is sure when it is wrong misleads whoever relies on it."
)
ORS_SAID = (
    "U-Recall of ONTO 42001: of the inputs that the system could not know, how many it flagged. ORS puts calibration error, "
    "missed unknowns and the stakes of the domain into one number from 0 to 100; it sets the risk class, not the level."
)
UNAUDITED = (
    "ERS L3 asks for an audit by a third party. Until an auditor's signed attestation covers the certificate the level is "
    "self-assessed (C-52)."
)


def standards_document(made: StandardsEvaluation) -> Document:
    """The evaluation alone, as a document."""
    name = made.declaration.system_id or str(made.source.get("name", "")) or "the system"
    return Document(
        f"Evaluation of {name}",
        f"{' and '.join(NAMES[s] for s in made.standards)} · {made.date} · {made.methodology['software']}",
        standards_sections(made),
    )


def whole_document(made: StandardsEvaluation, report: Report, drawn: Section) -> Document:
    """The evaluation with the metrics of its report behind it; `drawn` is the section of figures."""
    own = standards_document(made)
    sections = document(report, before=standards_sections(made, drawn), drawn=False).sections
    return Document(own.title, own.subtitle, sections)


def standards_sections(made: StandardsEvaluation, pictures: Section | None = None) -> tuple[Section, ...]:
    """All sections of an evaluation (42001-B.3.1-a: system, date, dataset, metrics, level claim, methodology).

    `pictures` is the section of figures, put behind the scores.
    """
    sections = [
        Section("Verdict", _verdict(made)),
        Section("Scores and their limits", (*_gauges(made), _numbers(made), *_beside(made))),
        *([] if pictures is None else [pictures]),
        Section("Data", _data(made)),
    ]
    if made.cautions:
        sections.insert(1, Section("Mind", (Items(made.cautions, "mind"),)))
    if made.categories:
        rows = tuple((c.category, f"{c.u_recall:.3f}", f"{c.unknowns:,}") for c in made.categories)
        grid = Grid("U-Recall by category", ("category", "U-Recall", "unknowns"), rows, frozenset({1, 2}))
        sections.append(Section("Unknown inputs by category", (grid,)))
    if made.liability is not None:
        sections += made.liability.sections
    sections += [
        Section("Method", _method(made)),
        Section("What this is evidence for", _mapping()),
        Section("What this does not prove", (Items(LIMITS),)),
    ]
    return tuple(sections)


def _verdict(made: StandardsEvaluation) -> tuple[Paragraph | Items | Grid, ...]:
    found = made.verdicts
    blocks: list[Paragraph | Items | Grid] = []
    if made.ers is not None:
        facts = found["ers"]
        assessed = f" ({facts['assessed']})" if facts["assessed"] else ""
        level = f"ERS {facts['level']}{assessed}, {facts['title']}" if made.ers.level_index else "no level of ONTO-ERS"
        sentence = (
            f"ONTO-ERS: {level} ({facts['status']}, {facts['assurance'] or 'no interval'}). ERS {made.ers.ers}, risk "
            f"{facts['risk']}: {facts['risk_action']}; in the standard's words: {facts['regulatory_status']}. ECE is "
            f"{facts['ece_band']}: {facts['ece_action']}. U-Recall is {facts['u_recall_band']}: "
            f"{facts['u_recall_implication']}."
        )
        if facts["unclaimed"]:
            sentence = (
                f"ONTO-ERS: no level of ONTO-ERS ({facts['status']}). ERS {made.ers.ers}, shown without level, class of risk and "
                f"regulatory status: {facts['unclaimed']}."
            )
        blocks.append(Paragraph(sentence, "good" if made.ers.level_index else "bad"))
        if made.ers.level_index:
            blocks.append(
                Paragraph(f"Suitable for {facts['suitable_for']}; documentation: {facts['documentation']} (ERS 4.1).")
            )
        if facts["assessed"]:
            blocks.append(Paragraph(UNAUDITED, "mind"))
        blocks.append(Paragraph(U_RECALL_SAID))
        blocks.append(
            Paragraph(
                "The requirements on the data are met: a certificate can be issued."
                if made.certificate_possible
                else "No certificate can be issued on these records:"
            )
        )
        if facts["obstacles"]:
            blocks.append(Items(tuple(facts["obstacles"]), "bad"))
    if "onto" in made.standards:
        facts = found["onto"]
        if made.onto is None:
            blocks.append(Paragraph(f"ONTO 42001: no level. {facts['undefined']}.", "bad"))
        else:
            assessed = f" ({facts['assessed']})" if facts["assessed"] else ""
            level = f"42001 {facts['level']}{assessed}, {facts['tier']}" if facts["level"] != "none" else "no level"
            sentence = (
                f"ONTO 42001: {level} ({facts['assurance'] or 'no interval'}); the numbers alone meet "
                f"{facts['measured_level']}. ECE is {facts['ece_class']}, U-Recall {facts['u_recall_class']} (Tables 1 "
                f"and 2). ORS {made.onto.ors:.1f}, risk {facts['risk']}: {facts['risk_action']}."
            )
            if facts["unclaimed"]:
                sentence = (
                    f"ONTO 42001: no level. ORS {made.onto.ors:.1f}, shown without level and class of risk: "
                    f"{facts['unclaimed']}."
                )
            blocks.append(Paragraph(sentence, "good" if facts["level"] != "none" else "bad"))
            if facts["declared"]:
                blocks.append(Items(tuple(f"declared by the operator: {one}" for one in facts["declared"]), "mind"))
            blocks.append(Paragraph(ORS_SAID))
            if facts["missing"]:
                sentences = tuple(f"missing for {facts['measured_level']}: {reason}" for reason in facts["missing"])
                blocks.append(Items(sentences, "mind"))
            blocks.append(Paragraph(f"Conformance statement (42001-8.3-a): {made.statement}"))
    due = (
        f"Next evaluation: {made.next_evaluation}." if made.next_evaluation else "No next evaluation is due: no level."
    )
    blocks.append(Paragraph(" ".join([due, *made.due])))
    if made.converted:
        blocks.append(Paragraph(f"Note: {made.converted}."))
    if made.baseline:
        blocks.append(Paragraph(f"Method: {made.baseline}."))
    return tuple(blocks)


def shown(reading: Reading) -> str:
    """A value with its unit."""
    if reading.value is None:
        return "–"
    digits = {"ers.ers": "{:.0f}", "onto.ors": "{:.1f}", "ers.u_recall": "{:.2f}"}.get(reading.name, "{:.4f}")
    return digits.format(reading.value) + reading.unit


def _gauges(made: StandardsEvaluation) -> tuple[Picture, ...]:
    return tuple(
        figures.gauge(
            reading.title,
            reading.value,
            None if reading.interval is None else _ends(reading.name, reading.interval),
            [(limit.name, limit.bound, limit.met) for limit in reading.limits],
            SPANS[reading.name],
            shown(reading),
        )
        for reading in made.readings
        if reading.limits and reading.value is not None
    )


def _ends(name: str, span: Interval) -> tuple[float, float]:
    """An interval; that of a cut score is cut, too, as both are before they are held against a limit (C-07)."""
    return (math.floor(span.low), math.floor(span.high)) if name == "ers.ers" else (span.low, span.high)


def _numbers(made: StandardsEvaluation) -> Grid:
    rows, tones = [], []
    for reading in made.readings:
        span = reading.interval
        sure = reading.assurance
        limits = " · ".join(
            # No line breaks within one limit.
            f"{limit.name.split(maxsplit=1)[1]} {'≤' if limit.comparison == '<=' else '≥'} {limit.bound:g} "
            f"{'✓' if limit.met else '✗'}".replace(" ", "\N{NO-BREAK SPACE}")
            for limit in reading.limits
        )
        note = sure.assurance if sure else ""
        if sure and sure.rows_for_firm:
            note += f", firm with about {sure.rows_for_firm:,} records"
        rows.append(
            (
                reading.title,
                shown(reading),
                "–" if span is None else "{:.4g} to {:.4g}".format(*_ends(reading.name, span)),
                limits or reading.undefined or ("not for this method (C-53)" if reading.name in SPANS else "no limit"),
                note,
                "" if reading.null_mean is None else f"{reading.null_mean:.4f}",
            )
        )
        tones.append(_tone(reading))
    return Grid(
        f"Numbers with {made.methodology['level']:.0%} intervals; the last column is what a perfectly calibrated system "
        "would show on as many records",
        ("number", "value", "interval", "limits", "assurance", "if calibrated"),
        tuple(rows),
        frozenset({1, 5}),
        tuple(tones),
    )


def _tone(reading: Reading) -> Tone:
    if not reading.limits:
        return "plain"
    if not any(limit.met for limit in reading.limits):
        return "bad"
    return "mind" if reading.assurance is not None and reading.assurance.assurance == "marginal" else "good"


def _beside(made: StandardsEvaluation) -> tuple[Grid, Paragraph]:
    titles = {
        "accuracy": "accuracy",
        "mean_confidence": "mean confidence",
        "resolution": "resolution: how far the bins' outcomes differ from the average",
        "distinct_confidences": "share of distinct confidences",
        "low_confidence_when_right": "right answers given with low confidence (false alarms of ONTO-ERS)",
        "false_alarm_rate": "known inputs flagged as unknown (false alarms of ONTO 42001)",
    }
    rows = tuple((titles[name], "–" if value is None else f"{value:.4f}") for name, value in made.beside.items())
    grid = Grid("Always beside the scores, because these can be gamed", ("number", "value"), rows, frozenset({1}))
    ratio = made.ratio
    said = (
        "IGR was not asked for."
        if ratio is None
        else f"IGR {ratio.igr:.4g} (1 perfect, above 1 over-claiming): {ratio.claimed:.4f} bits claimed, "
        f"{ratio.justified:.4f} justified."
    )
    return grid, Paragraph(said)


def _data(made: StandardsEvaluation) -> tuple[Grid | Paragraph | Items, ...]:
    rows = tuple((r.title, r.figure, r.needed, r.id, "passed" if r.passed else "failed") for r in made.requirements)
    tones: tuple[Tone, ...] = tuple("good" if r.passed else "bad" if r.blocks else "mind" for r in made.requirements)
    facts = made.records
    sources = ", ".join(f"{name} {count:,}" for name, count in facts["ground_truth_sources"].items())
    period = facts["period"]
    when = "no timestamps" if period is None else f"{period['start']} to {period['end']}"
    blocks: list[Grid | Paragraph | Items] = [
        Grid(
            "Requirements on the data", ("requirement", "figure", "needed", "id", "verdict"), rows, frozenset(), tones
        ),
        Paragraph(
            f"{facts['labelled']:,} records with ground truth, {facts['unlabelled']:,} without "
            f"({facts['unlabelled_share']:.1%}; counted and left out). Ground truth from: {sources}. Period: {when}."
        ),
        Paragraph(_digests(made)),
    ]
    if facts["notes"]:
        blocks.append(Items(tuple(facts["notes"]), "mind"))
    return tuple(blocks)


def _digests(made: StandardsEvaluation) -> str:
    """Of the data twice: all that the verdicts rest on, and the columns by which a certificate names them."""
    by = made.dataset_digest, made.columns_digest
    names = by[0] if by[0] == by[1] else f"{by[0]} (all columns), {by[1]} (the columns that a certificate names)"
    return f"Data digest {names}; code digest sha-256 {made.code_digest}."


INTERVALS = {
    "bootstrap": "bootstrap, {draws:,} draws, seed {seed}",
    "normal": "bootstrap of the bins' sums by their normal law, {draws:,} draws, seed {seed}",
}


def _method(made: StandardsEvaluation) -> tuple[Grid, ...]:
    told = made.declaration
    method = made.methodology
    reason = f": {method['weights_reason']}" if method["weights_reason"] else ""
    drawn = INTERVALS.get(method["interval"], "{interval}").format_map(method)
    first = {True: "yes (42001-5.1.1-a)", False: "not declared (42001-5.1.1-a)"}[bool(told.pre_deployment)]
    noted = [("notes", told.notes)] if told.notes else []
    facts = [
        ("system", " ".join(part for part in (told.organization, told.system_id, told.model_version) if part) or "–"),
        ("ONTO-ERS", f"{method['ers_bins']} equal-width bins, U-Recall threshold {method['ers_threshold']:g}"),
        ("ONTO 42001", f"{method['strategy']}, {method['bins']} bins; unknowns flagged by {method['mechanism']}"),
        ("weights of ORS", ", ".join(f"{w:g}" for w in method["weights"]) + reason),
        ("confidence from", method["confidence_source"]),
        ("recalibration", method["recalibration"]),
        ("intervals", drawn),
        ("taxonomy of unknowns", ", ".join(told.taxonomy) or "not documented"),
        ("detection: method", told.method or "not documented"),
        ("detection: threshold", told.threshold or "not documented"),
        ("detection: validation", told.validation or "not documented"),
        ("measured before first deployment", first),
        *noted,
        ("software", method["software"]),
    ]  # fmt: skip
    return (Grid("How it was measured", ("what", "how"), tuple(facts)),)


def _mapping() -> tuple[Grid, Paragraph]:
    rows = tuple((FRAMEWORKS[row.framework], row.clause, row.title, row.evidence, row.source) for row in MAPPING)
    grid = Grid(
        f"Regulatory mapping, as of {AS_OF}", ("text", "clause", "title", "evidence in this report", "source"), rows
    )
    return grid, Paragraph("Evidence for a clause is not conformity with it.")
