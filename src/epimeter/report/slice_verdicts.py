# SPDX-License-Identifier: Apache-2.0
"""What a person asks first of several slices: in which is calibration refuted, and which is furthest off?

One slice in twenty is refuted by chance where all are calibrated, so their p-values are adjusted together (Holm).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from epimeter.inference.homogeneity import homogeneity
from epimeter.inference.multiplicity import adjust_p_values
from epimeter.kinds import WORDING
from epimeter.report.measurement import Report
from epimeter.report.remarks import remarks
from epimeter.report.verdict import ALPHA, Z95

CALIBRATION = "calibration"
"""The column that says what the tests of a slice say."""
NAMED = 5
"""Slices that a sentence names."""


@dataclass(frozen=True)
class Verdicts:
    """The words of each slice for the table, and the sentences before it."""

    words: Mapping[Any, str]
    sentences: tuple[str, ...]


def verdicts(reports: Mapping[Any, Any]) -> Verdicts:
    """The verdicts of several slices, held against each other."""
    p_values = {
        value: report.verdict.p_value
        for value, report in reports.items()
        if report.verdict is not None and report.verdict.p_value is not None
    }
    adjusted = (
        dict(zip(p_values, adjust_p_values(list(p_values.values())).adjusted.tolist(), strict=True)) if p_values else {}
    )
    words = {value: word_of(adjusted.get(value)) for value in reports}
    return Verdicts(words, (*_read(reports), *_said(reports, adjusted), *_differing(reports)))


def word_of(p_value: float | None) -> str:
    """What a p-value says of calibration, in a table."""
    if p_value is None:
        return "not tested"
    shown = "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"
    return f"{'refuted' if p_value < ALPHA else 'not refuted'} ({shown})"


def _read(reports: Mapping[Any, Any]) -> tuple[str, ...]:
    """How the rows of all slices were read; which had no label is known of the whole alone."""
    first = next(iter(reports.values()), None)
    if first is None:
        return ()
    left = int(first.source.get("unlabelled") or 0)
    verb = "row has no label and was" if left == 1 else "rows have no label and were"
    missing = (f"{left:,} {verb} left out.",) if left else ()
    return (*missing, *remarks({"notes": first.source.get("notes")}, 0))


def _said(reports: Mapping[Any, Any], adjusted: Mapping[Any, float]) -> tuple[str, ...]:
    if not adjusted:
        return ("Whether it is calibrated cannot be tested in any of these slices.",)
    refuted = [value for value, p_value in adjusted.items() if p_value < ALPHA]
    how = "p-values adjusted for their number by Holm"
    of = f"{len(reports):,} slice{'s' if len(reports) != 1 else ''}"
    if not refuted:
        return (f"Calibration is refuted in none of {of} ({how}).",)
    named = ", ".join(map(str, refuted[:NAMED])) + (f" and {len(refuted) - NAMED} more" if len(refuted) > NAMED else "")
    return (f"Calibration is refuted in {len(refuted):,} of {of} ({how}): {named}.", *_furthest(reports))


def _differing(reports: Mapping[Any, Any]) -> tuple[str, ...]:
    """Whether the slices differ at all in how far what is said lies from what comes true."""
    found = [r.verdict for r in reports.values() if isinstance(r, Report) and r.verdict is not None and r.n_rows > 1]
    test = homogeneity([one.bias for one in found], [(one.bias_high - one.bias_low) / 2 / Z95 for one in found])
    if not test.freedom:
        return ()
    shown = "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"
    verb = "differ" if test.p_value < ALPHA else "need not differ"
    return (f"On average the slices {verb} in how far they are off (Cochran's Q, {shown}).",)


def _furthest(reports: Mapping[Any, Any]) -> tuple[str, ...]:
    """The slice whose mean is furthest off, where an interval leaves out 0."""
    off = {
        value: (report.kind, report.verdict)
        for value, report in reports.items()
        if isinstance(report, Report) and report.verdict is not None and not _holds_zero(report.verdict)
    }
    if not off:
        return ()
    value, (kind, found) = max(off.items(), key=lambda item: abs(item[1][1].bias))
    sense = WORDING[kind].too_much if found.bias > 0 else WORDING[kind].too_little
    ends = sorted((100 * abs(found.bias_low), 100 * abs(found.bias_high)))
    points = sense.format(f"{100 * abs(found.bias):.1f}")
    return (f"Furthest off on average is {value}: it {points} (95 % interval {ends[0]:.1f} to {ends[1]:.1f}).",)


def _holds_zero(verdict: Any) -> bool:
    return bool(verdict.bias_low <= 0 <= verdict.bias_high)
