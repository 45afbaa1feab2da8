# SPDX-License-Identifier: Apache-2.0
"""Numbers of a standard as they are read: with interval, limits, and how sure the verdict is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from epimeter.metrics.bin.onto import OntoError
from epimeter.results import Interval, Result, plain
from epimeter.standards import ers, onto42001
from epimeter.standards.assurance import Assurance, assurance
from epimeter.standards.bands import RISK
from epimeter.standards.ers import ErsEvaluation
from epimeter.standards.onto42001 import OntoEvaluation
from epimeter.standards.replicates import AssessmentPlan, Sorted
from epimeter.standards.resampling import intervals, null_means, share_interval


@dataclass(frozen=True, kw_only=True)
class Limit(Result):
    """A limit that a number is held against."""

    requirement: str
    name: str
    comparison: str
    bound: float
    met: bool


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A number with its interval, its limits and how sure the verdict is."""

    name: str
    title: str
    value: float | None
    unit: str = ""
    interval: Interval | None = None
    limits: tuple[Limit, ...] = ()
    assurance: Assurance | None = None
    null_mean: float | None = None
    """What a perfectly calibrated system would show on average with as many records."""
    undefined: str | None = None

    def unlimited(self) -> Reading:
        """The number by itself, where it was measured otherwise than the standard's limits are meant."""
        return replace(self, limits=(), assurance=None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "value": plain(self.value),
            "unit": self.unit,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "limits": [limit.to_dict() for limit in self.limits],
            "assurance": None if self.assurance is None else self.assurance.to_dict(),
            "null_mean": plain(self.null_mean),
            "undefined": self.undefined,
        }


def _limits(held: Sequence[tuple[str, str, float]], value: float, upper: bool) -> tuple[Limit, ...]:
    slack = 1e-9 if upper else -1e-9
    return tuple(
        Limit(
            requirement=requirement,
            name=name,
            comparison="<=" if upper else ">=",
            bound=bound,
            met=(value <= bound + slack) if upper else (value >= bound + slack),
        )
        for requirement, name, bound in held
    )


ERS_LIMITS = {
    name: [
        (f"ERS-4.1-{letter}", f"ERS {level.name}", float(getattr(level, name)))
        for letter, level in zip("abc", ers.LEVELS)
    ]
    for name in ("ece", "u_recall", "ers")
}
ONTO_LIMITS = {
    name: [(requirement, f"42001 {level.name}", float(getattr(level, name))) for level in onto42001.LEVELS]
    for name, requirement in (("ece", "42001-5.2.4-a"), ("u_recall", "42001-6.2.4-a"))
}
RISK_LIMITS = [("42001-7.2.4-a", f"risk {band.name}", band.limit) for band in RISK[:-1]]


def readings_of(
    ordered: Sorted,
    found: ErsEvaluation | None,
    error: OntoError | None,
    onto: OntoEvaluation | None,
    undefined: str | None,
    plan: AssessmentPlan,
) -> tuple[Reading, ...]:
    """Every number with its interval; those that are held against limits with them."""
    n = len(ordered.prob)
    values: dict[str, float] = {}
    if found is not None:
        values |= {"ers.ece": found.ece, "ers.u_recall": found.u_recall, "ers.ers_raw": found.ers_raw}
    if error is not None:
        values |= {"onto.ece": error.ece, "onto.mce": error.mce}
    if onto is not None:
        values |= {"onto.u_recall": onto.u_recall, "onto.ors": onto.ors}
    spans = intervals(ordered, values, plan)
    nulls = null_means(ordered, plan)
    wrong, unknown = ~ordered.right, ordered.unknown
    all_unknown = np.concatenate([unknown, ordered.silent_unknown])
    all_flagged = np.concatenate([ordered.flagged, ordered.silent_flagged])
    # What is asked, of whom, the unit; the first records of both are those with an outcome, whose groups are known.
    shares = {
        "ers.u_recall": (ordered.low, wrong, 100.0),
        "onto.u_recall": (all_flagged, all_unknown, 1.0),
        "onto.false_alarm_rate": (all_flagged, ~all_unknown, 1.0),
        "accuracy": (ordered.right, np.ones(n, bool), 1.0),
    }
    for name, (is_so, among, unit) in shares.items():
        hits, total = int((is_so & among).sum()), int(among.sum())
        span = share_interval(hits, total, plan.level) if plan.how != "none" else None
        if span is not None and ordered.group is not None and total:
            repeats = max(1.0, ordered.repeats(((is_so - hits / total) * among)[:n]))
            span = share_interval(hits / repeats, total / repeats, plan.level)
        if span is not None:
            spans[name] = Interval(low=unit * span.low, high=unit * span.high, level=span.level, method=span.method)
    if found is None:
        made = [_reading("accuracy", "Accuracy", float(ordered.right.mean()), spans, n)]
    else:
        made = list(ers_readings(found, spans, n, int(wrong.sum()), nulls))
    if error is not None:
        made += [
            _reading("onto.ece", "ECE (ONTO 42001)", values["onto.ece"], spans, n, ONTO_LIMITS["ece"], nulls=nulls),
            _reading("onto.mce", "MCE (ONTO 42001)", values["onto.mce"], spans, n),
        ]
        if onto is None:
            made += [
                Reading(name="onto.u_recall", title="U-Recall (ONTO 42001)", value=None, undefined=undefined),
                Reading(name="onto.ors", title="ORS", value=None, undefined=undefined),
            ]
        else:
            made += [
                _reading(
                    "onto.u_recall", "U-Recall (ONTO 42001)", onto.u_recall, spans, onto.unknowns,
                    ONTO_LIMITS["u_recall"], upper=False,
                ),
                _reading("onto.ors", "ORS", onto.ors, spans, n, RISK_LIMITS),
            ]  # fmt: skip
            if math.isfinite(onto.false_alarm_rate):
                made.append(
                    _reading("onto.false_alarm_rate", "False alarms on known inputs", onto.false_alarm_rate, spans, n)
                )
    return tuple(made)


def ers_readings(
    found: ErsEvaluation,
    spans: Mapping[str, Interval],
    n_rows: int,
    wrong: int,
    nulls: Mapping[str, float] | None = None,
) -> tuple[Reading, ...]:
    """The numbers of ONTO-ERS, of so many records and so many wrong ones, with their intervals by name."""
    score = {"ers.ers": spans["ers.ers_raw"]} if "ers.ers_raw" in spans else {}
    recall = ERS_LIMITS["u_recall"]
    return (
        _reading("accuracy", "Accuracy", found.accuracy, spans, n_rows),
        _reading("ers.ece", "ECE (ONTO-ERS)", found.ece, spans, n_rows, ERS_LIMITS["ece"], nulls=nulls),
        _reading("ers.u_recall", "U-Recall (ONTO-ERS)", found.u_recall, spans, wrong, recall, upper=False, unit="%"),
        # A cut score meets a limit L as long as the score before cutting is below L + 1 (C-07).
        _reading("ers.ers", "ERS", float(found.ers), score, n_rows, ERS_LIMITS["ers"], whole=1.0, centre=found.ers_raw),
    )


def _reading(
    name: str,
    title: str,
    value: float,
    spans: Mapping[str, Interval],
    n_rows: int,
    held: Sequence[tuple[str, str, float]] = (),
    *,
    upper: bool = True,
    unit: str = "",
    whole: float = 0.0,
    centre: float | None = None,
    nulls: Mapping[str, float] | None = None,
) -> Reading:
    span = spans.get(name)
    sure = None
    if span is not None and held:
        sure = assurance(
            value if centre is None else centre,
            (span.low, span.high),
            [bound + whole for _, _, bound in held],
            n_rows,
        )
    return Reading(
        name=name,
        title=title,
        value=value,
        unit=unit,
        interval=span,
        limits=_limits(held, value, upper),
        assurance=sure,
        null_mean=(nulls or {}).get(name),
    )
