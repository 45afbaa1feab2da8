# SPDX-License-Identifier: Apache-2.0
"""An evaluation after ONTO-ERS of records that stayed where they are: from their sums, as `evaluate_standards` is from records.

Numbers, requirements, level and obstacles are those of the records. What only records tell is said to be missing: how many
different confidences there are is null, and nothing is said after ONTO 42001, which asks which inputs were unknown.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from epimeter.errors import InputError
from epimeter.report.suspicions import Suspicion, suspicions_of_bins
from epimeter.results import Interval, bin_table
from epimeter.standards import cautions, ers, schedule
from epimeter.standards.declaration import Declaration
from epimeter.standards.digests import code_digest
from epimeter.standards.ers import DELTA
from epimeter.standards.ers_sums import BINS, THRESHOLD, ErsSums, ErsTotals
from epimeter.standards.evaluated import StandardsEvaluation
from epimeter.standards.evaluation import facts_of, unclaimed_of
from epimeter.standards.judgement import judged
from epimeter.standards.method import methodology
from epimeter.standards.reading import ers_readings
from epimeter.standards.replicates import AssessmentPlan
from epimeter.standards.requirement import doubtful, ers_requirements
from epimeter.standards.resampling import limited, normal_ends, share_interval

SUMS_ONLY = (
    "evaluated from sums: which inputs were unknown, and which records have the same id, cannot be seen in them; nothing is "
    "said after ONTO 42001"
)


def evaluate_totals(
    totals: ErsTotals,
    *,
    digest: str,
    domain: str = "general",
    at: datetime.datetime,
    declaration: Declaration | None = None,
    level: float = 0.95,
    source: Mapping[str, Any] | None = None,
) -> StandardsEvaluation:
    """Evaluate sums after ONTO-ERS.

    Parameters
    ----------
    totals
        Made by `ErsTotals.of` where the records are.
    digest
        The digest of the data behind the sums, with its scheme.
    domain
        medical, legal, financial, code or general.
    at
        The moment of the evaluation; sums of records from after it are refused.
    declaration
        What numbers cannot say.
    level
        Of the intervals, which are those of the delta method.
    source
        Where the sums came from.
    """
    if domain not in ers.DOMAINS:
        raise InputError(
            f"domain must be one of {', '.join(ers.DOMAINS)} for ONTO-ERS (ERS-2.3-d); got {domain!r:.40}",
            field="domain",
        )
    totals.refuse_later_than(at)
    told = declaration or Declaration()
    day = at.astimezone(datetime.UTC).date().isoformat()
    sums, check = totals.sums, totals.check
    plan = AssessmentPlan(how="asymptotic", level=level, ers_modifier=ers.DOMAINS[domain])
    measured = found = sums.evaluated(domain)
    requirements = (
        *ers_requirements(check, totals.period, by_class=totals.classes is not None, accuracy=found.accuracy),
        *doubtful(_suspicions(totals)),
    )
    unclaimed = unclaimed_of(plan, requirements, ("ers",), None)
    if unclaimed:
        found = ers.without_level(found)
    return StandardsEvaluation(
        standards=("ers",),
        date=day,
        declaration=told,
        source=dict(source or {}),
        records=facts_of(totals),
        methodology=methodology(plan, totals, 0.5, "", told),
        check=check,
        requirements=requirements,
        readings=ers_readings(found, spans_of(sums, domain, level), sums.n_rows, sums.wrong[0]),
        ers=found,
        onto=None,
        onto_undefined=None,
        ratio=None,
        beside=_beside(sums),
        categories=(),
        claim=None,
        statement=None,
        judgement=judged(measured, requirements, unclaimed=unclaimed.get("ers")),
        unclaimed=unclaimed,
        next_evaluation=schedule.next_evaluation(day, ers_level=found.level_index, onto_domain=None),
        due=(),
        cautions=(
            *cautions.cautions_of(totals, check, found),
            *(f"no level is claimed: {reason}" for reason in unclaimed.values()),
            *cautions.of_data(totals, day),
            SUMS_ONLY,
        ),
        converted=None,
        baseline=None,
        dataset_digest=digest,
        columns_digest=digest,
        code_digest=code_digest(),
    )


def spans_of(sums: ErsSums, domain: str, level: float) -> dict[str, Interval]:
    """The interval of every number: by the delta method, of shares the exact one."""
    values = {"ers.ece": sums.ece, "ers.ers_raw": ers.ers_raw(sums.ece, sums.u_recall, domain)}
    ends = {name: (value, value) for name, value in values.items()}
    ends |= normal_ends(values, sums.deviations, sums.n_rows, level)
    spans = {
        name: Interval(low=limited(low, name), high=limited(high, name), level=level, method=DELTA)
        for name, (low, high) in ends.items()
    }
    wrong, unsure = sums.wrong
    for name, hits, total, unit in (
        ("ers.u_recall", unsure, wrong, 100.0),
        ("accuracy", sums.right, sums.n_rows, 1.0),
    ):
        share = share_interval(hits, total, level)
        if share is not None:
            spans[name] = Interval(low=unit * share.low, high=unit * share.high, level=level, method=share.method)
    return spans


def _suspicions(totals: ErsTotals) -> tuple[Suspicion, ...]:
    """What the bins of the answers look like besides what they were said to be; the kind they had before is not in sums."""
    table = bin_table(totals.sums.whole)
    assert table is not None
    filled = table.count > 0
    stated = table.confidence[filled]
    return suspicions_of_bins("answer", table, float(stated.min()), float(stated.max()))


def _beside(sums: ErsSums) -> dict[str, float | None]:
    """What must stand beside the scores (C-44), as far as sums tell."""
    whole, n_rows, right = sums.whole, sums.n_rows, sums.right
    seen = whole.true.floats()
    below = int(seen[: round(THRESHOLD * BINS)].sum())  # an edge of the bins lies on the threshold
    base = right / n_rows
    return {
        "accuracy": base,
        "mean_confidence": float(whole.prob.sum().floats()) / n_rows,
        "resolution": float(whole.share @ (whole.frequency - base) ** 2),
        "distinct_confidences": None,
        "low_confidence_when_right": below / right if right else None,
        "false_alarm_rate": None,
    }
