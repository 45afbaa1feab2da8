# SPDX-License-Identifier: Apache-2.0
"""The evaluation protocol: records in; metrics, verdicts and everything they rest on out.

1. Settle the domain, the weights, the method; a change of method since the last evaluation needs a new baseline.
2. Hold the data against the requirements on data, each with its figure.
3. Compute the metrics of each standard, kept apart (C-01), and what must stand beside them (C-44).
4. Put an interval, the limits and the assurance beside every number that is held against a limit.
5. Claim the level that numbers and declarations allow; say when the next evaluation is due.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.kinds import WORDING
from epimeter.metrics import onto_ece
from epimeter.metrics.bin.onto import STANDARD_BINS, OntoError
from epimeter.readers.digest import SCHEME, WHOLE_SCHEME
from epimeter.standards import cautions, ers, schedule
from epimeter.standards.bands import number, word
from epimeter.standards.conformity import claim, statement
from epimeter.standards.declaration import Declaration
from epimeter.standards.digests import code_digest
from epimeter.standards.evaluated import StandardsEvaluation
from epimeter.standards.exposure_inputs import liability_inputs
from epimeter.standards.exposure_report import LiabilityReport, liability_report
from epimeter.standards.judgement import judged
from epimeter.standards.method import compared, method_reference, methodology, settled_domains, settled_weights
from epimeter.standards.onto42001 import OntoEvaluation, composed, ratio_of, recall_of, without_level
from epimeter.standards.reading import readings_of
from epimeter.standards.records import RecordFacts, Records
from epimeter.standards.replicates import AssessmentPlan, Sorted, Wanted, settled
from epimeter.standards.requirement import DataRequirement, lacking_sentences, requirements_of
from epimeter.standards.unknowns import recall_by_category
from epimeter.summaries import Bins

Standard = Literal["ers", "42001", "both"]
LEAST_RECORDS = 50
"""Records, and unknown inputs, below which no level of ONTO 42001 is claimed: fewer are no bin of its own (42001-A.1.3-a)."""
STANDARDS = {"ers": ("ers",), "42001": ("onto",), "both": ("ers", "onto")}


def evaluate_standards(
    records: Records,
    *,
    standard: Standard = "both",
    domain: str = "general",
    onto_domain: str | None = None,
    date: str | datetime.date,
    declaration: Declaration | None = None,
    ers_bins: int = 10,
    ers_threshold: float = 0.7,
    strategy: str = "equal_width",
    bins: int | None = None,
    unknown_threshold: float = 0.5,
    weights: Sequence[float] | None = None,
    weights_reason: str = "",
    baseline: Mapping[str, Any] | None = None,
    new_baseline: str = "",
    passport: bool = False,
    interval: Wanted = "auto",
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
    source: Mapping[str, Any] | None = None,
) -> StandardsEvaluation:
    """Evaluate records after ONTO-ERS, ONTO 42001 or both.

    Parameters
    ----------
    records
        Made by `records` or `records_of`.
    standard
        ``ers``, ``42001`` or ``both``; 42001 needs the column `unknown`.
    domain, onto_domain
        Domain of ONTO-ERS (medical, legal, financial, code, general), converted for ONTO 42001 unless one is given;
        for 42001 alone `domain` may be one of its own.
    date
        Day of the evaluation.
    declaration
        What numbers cannot say.
    ers_bins, ers_threshold
        Bins and threshold of ONTO-ERS.
    strategy, bins, unknown_threshold
        Binning strategy of ONTO 42001 (equal_width, equal_mass, adaptive), its bins, and the confidence below which an
        input counts as detected; a column `detected` overrules the threshold.
    weights, weights_reason
        Weights of ORS and why they differ from 0.35, 0.45, 0.20 (42001-A.5.3-a).
    baseline, new_baseline
        JSON of the last evaluation of this system; a reason for starting a new baseline with another method.
    passport
        Whether a passport is made of this evaluation: ONTO 42001 asks for one from Level 2 on.
    interval, draws, level, seed, threads
        How intervals are found: ``bootstrap``, ``asymptotic``, ``none``, or ``auto`` by the number of records.
    source
        Where the records came from.
    """
    chosen = STANDARDS[word(standard, tuple(STANDARDS), "standard")]
    told = declaration or Declaration()
    day = ers.day_of(date).isoformat()
    if records.period is not None and day < records.period.end[:10]:
        raise InputError(
            f"date must not lie before the data it evaluates: the last record is of {records.period.end}, the date is {day}",
            field="date",
        )
    ers_domain, other_domain, converted = settled_domains(chosen, domain, onto_domain)
    weighing = settled_weights(weights, weights_reason)
    if "onto" in chosen and records.unknown is None:
        raise InputError(
            "unknown must be given for every record, 0 or 1, to evaluate by ONTO 42001 (42001-6.1-a); the data have no "
            "such column. Name it with --column unknown=NAME, or use --standard ers",
            field="unknown",
        )
    word(strategy, tuple(STANDARD_BINS), "strategy")
    word(interval, get_args(Wanted), "interval")
    plan = AssessmentPlan(
        ers_bins=int(number(ers_bins, "bins", 1, math.inf)),
        ers_threshold=number(ers_threshold, "threshold", 0, 1),
        ers_modifier=ers.DOMAINS[ers_domain] if ers_domain else 0,
        strategy=strategy,
        onto_bins=bins,
        onto_domain=other_domain or "general_enterprise",
        weights=weighing,
        how=settled(interval, records.n_rows),
        draws=int(number(draws, "draws", 2, 1e7)),
        level=number(level, "level", 0.01, 0.9999),
        seed=int(number(seed, "seed", 0, 2**62)),
        threads=threads,
    )
    against = compared(strategy, plan.bins, told, baseline, new_baseline) if "onto" in chosen else None
    event = records.answer
    flagged = event.prob.astype(np.float64, copy=False) < number(unknown_threshold, "threshold", 0, 1)
    if records.detected is not None:
        flagged = records.detected
    days = None if records.period is None else records.period.days
    check = ers.dataset_check(event, days=days, classes=records.classes)
    found = (
        ers.evaluated(event, domain=ers_domain, bins=plan.ers_bins, threshold=plan.ers_threshold)
        if ers_domain is not None
        else None
    )
    error = onto_ece.of_view(event, strategy=strategy, bins=plan.onto_bins) if "onto" in chosen else None
    onto, undefined = (None, None) if error is None else _onto(records, plan, error, np.asarray(flagged))
    requirements = requirements_of(records, check, onto, told, chosen)
    unclaimed = unclaimed_of(plan, requirements, chosen, onto)
    measured = found
    if found is not None and "ers" in unclaimed:
        found = ers.without_level(found)
    if onto is not None and "onto" in unclaimed:
        onto = without_level(onto)
    due = due_now(told, baseline, day, other_domain)
    ordered = Sorted.of(
        event, records.unknown, np.asarray(flagged), plan.ers_threshold, silent=records.silent, groups=records.groups
    )
    readings = tuple(
        one.unlimited() if one.name.partition(".")[0] in otherwise_measured(plan, chosen) else one
        for one in readings_of(ordered, found, error, onto, undefined, plan)
    )
    ratio = ratio_of(Bins(plan.bins).of(event)) if "onto" in chosen else None
    made_claim = None if onto is None else claim(onto.level_index, flags_of(told, due, passport))
    judgement = None
    if measured is not None:
        judgement = judged(
            measured,
            requirements,
            unclaimed=unclaimed.get("ers"),
            recalibrated_by=records.recalibrated_by,
            repeated=records.repeated,
        )
    method = methodology(plan, records, unknown_threshold, weights_reason, told)
    return StandardsEvaluation(
        standards=chosen,
        date=day,
        declaration=told,
        source=dict(source or {}),
        records=facts_of(records),
        methodology=method,
        check=check,
        requirements=requirements,
        readings=readings,
        ers=found,
        onto=onto,
        onto_undefined=undefined,
        ratio=ratio,
        beside=_beside(ordered, onto, plan),
        categories=()
        if records.category is None or onto is None
        else recall_by_category(records.unknown, flagged, records.category),
        claim=made_claim,
        statement=None
        if onto is None or made_claim is None
        else statement(
            onto,
            made_claim,
            date=day,
            method=method_reference(plan, unknown_threshold, records),
            system=told.system_id or "The system",
            scope=told.scope or f"{records.n_rows:,} labelled records, domain {other_domain}",
            unclaimed=unclaimed.get("onto"),
        ),
        judgement=judgement,
        unclaimed=unclaimed,
        next_evaluation=schedule.next_evaluation(
            day,
            ers_level=None if found is None else found.level_index,
            onto_domain=other_domain,
        ),
        due=due,
        cautions=(
            *cautions.cautions_of(records, check, found, onto, undefined, ratio, chosen),
            *(f"no level is claimed: {reason}" for reason in unclaimed.values()),
            *cautions.of_data(records, day),
        ),
        converted=converted,
        baseline=against,
        dataset_digest=f"{WHOLE_SCHEME}:sha-256:{records.whole_digest}",
        columns_digest=f"{SCHEME}:sha-256:{records.digest}",
        code_digest=code_digest(),
        liability=None if onto is None else _liability(records, told, onto, plan, unknown_threshold, day),
    )


def _onto(
    records: Records, plan: AssessmentPlan, error: OntoError, flagged: NDArray[np.bool_]
) -> tuple[OntoEvaluation | None, str | None]:
    """The evaluation, or why there is none: without unknowns U-Recall is 0/0 and no level can be claimed (C-37)."""
    assert records.unknown is not None
    try:
        recall = recall_of(records.unknown, flagged, None if records.detected is None else records.silent)
    except UndefinedMetricError as reason:
        return None, str(reason)
    return composed(records.answer, error, recall, domain=plan.onto_domain, weights=plan.weights), None


def _liability(
    records: Records, told: Declaration, onto: OntoEvaluation, plan: AssessmentPlan, threshold: float, day: str
) -> LiabilityReport | None:
    """The report of ONTO 42003, where its inputs are declared."""
    if told.liability is None:
        return None
    return liability_report(
        records,
        liability_inputs(told.liability),
        date=day,
        strategy=plan.strategy,
        threshold=threshold,
        domain=onto.domain,
        bins=plan.onto_bins,
    )


def unclaimed_of(
    plan: AssessmentPlan, requirements: Sequence[DataRequirement], chosen: Sequence[str], onto: OntoEvaluation | None
) -> dict[str, str]:
    """Why a standard's level is not claimed whatever its numbers say, by standard.

    Where the data do not meet ERS 3.1 (C-49), and where bins or threshold are not the standard's own (C-53): with one bin
    nearly every system is calibrated, with the threshold 1 every wrong answer was unsure.
    """
    made = otherwise_measured(plan, chosen)
    lacking = lacking_sentences(requirements)
    if "ers" in chosen and lacking:
        made["ers"] = f"the data do not meet ERS 3.1: {'; '.join(lacking)}"
    if "onto" not in made and onto is not None and min(onto.sample_size, onto.unknowns) < LEAST_RECORDS:
        # A handful of records meets Level 3 by chance; B.1.1 only recommends 1,000 and 500.
        made["onto"] = (
            f"a level of ONTO 42001 needs at least {LEAST_RECORDS} records and {LEAST_RECORDS} unknown inputs, as many as one "
            f"bin of 42001-A.1.3; there are {onto.sample_size:,} and {onto.unknowns:,}"
        )
    return made


def otherwise_measured(plan: AssessmentPlan, chosen: Sequence[str]) -> dict[str, str]:
    """Which standard's bins or threshold are not its own, by standard: its limits are not those of such numbers (C-53)."""
    made: dict[str, str] = {}
    if "ers" in chosen and (plan.ers_bins, plan.ers_threshold) != (10, 0.7):
        made["ers"] = (
            f"a level of ONTO-ERS needs its ten bins and its threshold 0.7; these are {plan.ers_bins} and "
            f"{plan.ers_threshold:g} (C-53)"
        )
    if "onto" in chosen and plan.bins != STANDARD_BINS[plan.strategy]:
        made["onto"] = (
            f"a level of ONTO 42001 needs the bins of one of its strategies, {STANDARD_BINS[plan.strategy]} for "
            f"{plan.strategy}; there are {plan.bins} (42001-5.2.3-a, C-53)"
        )
    return made


def flags_of(told: Declaration, due: Sequence[str], passport: bool) -> dict[str, bool]:
    """What is documented, kept and declared, by the names of the conditions."""
    overdue = any(reason.startswith("overdue") for reason in due)
    return {
        **told.flags,
        # A duty that is overdue was not kept, whatever is declared (C-52).
        "frequency_kept": told.flags.get("frequency_kept", False) and not overdue,
        "taxonomy_documented": told.taxonomy_documented,
        "mechanism_documented": told.mechanism_documented,
        "passport_generated": passport,
        "liability_assessed": told.liability is not None,
    }


def _beside(ordered: Sorted, onto: OntoEvaluation | None, plan: AssessmentPlan) -> dict[str, float | None]:
    """What must stand beside the scores because these can be gamed (C-44)."""
    from epimeter.views import Binary

    totals = Bins(plan.ers_bins).of(Binary(ordered.right.astype(np.uint8), ordered.prob))
    base = float(ordered.right.sum()) / len(ordered.prob)
    right = int(ordered.right.sum())
    distinct = 1 + int((np.diff(ordered.prob) > 0).sum())
    return {
        "accuracy": base,
        "mean_confidence": float(totals.prob.sum().floats()) / len(ordered.prob),
        "resolution": float(totals.share @ (totals.frequency - base) ** 2),
        "distinct_confidences": distinct / len(ordered.prob),
        "low_confidence_when_right": int((ordered.right & ordered.low).sum()) / right if right else None,
        "false_alarm_rate": None if onto is None or math.isnan(onto.false_alarm_rate) else onto.false_alarm_rate,
    }


def facts_of(records: RecordFacts) -> dict[str, Any]:
    """What an evaluation says of its records."""
    total = records.n_rows + records.unlabelled
    period = records.period
    return {
        "kind": records.kind,
        "read_as": WORDING[records.kind].as_answers or "answers, as given",
        "labelled": records.n_rows,
        "unlabelled": records.unlabelled,
        "unlabelled_share": records.unlabelled / total,
        "ground_truth_sources": dict(records.sources),
        "period": None if period is None else {"start": period.start, "end": period.end, "days": period.days},
        "notes": list(records.notes),
    }


def due_now(told: Declaration, baseline: Mapping[str, Any] | None, day: str, domain: str | None) -> tuple[str, ...]:
    """Why a measurement was due now, where the last evaluation says so."""
    if baseline is None or domain is None:
        return ()
    last = baseline.get("date") or baseline.get("evaluation", {}).get("date")
    before = (baseline.get("declaration") or baseline.get("system") or {}).get("model_version", "")
    found = schedule.onto_due(last, domain, model_version=told.model_version, last_model_version=before)
    late = found.due is not None and found.due < day and told.model_version == before
    return (*found.reasons, *((f"overdue since {found.due} (42001-5.1.1-c)",) if late else ()))
