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
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from epimeter import __version__
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics import onto_ece  # type: ignore[attr-defined]
from epimeter.metrics.bin.onto import STANDARD_BINS
from epimeter.results import Interval, Result, plain
from epimeter.standards import cautions, ers, onto42001, schedule
from epimeter.standards.assurance import Assurance, assurance
from epimeter.standards.bands import ERS_ECE, ERS_U_RECALL, RISK, number, word
from epimeter.standards.conformity import Claim, claim, statement
from epimeter.standards.declaration import Declaration
from epimeter.standards.digests import code_digest
from epimeter.standards.ers import ErsEvaluation, ers_dataset_check, ers_ece_band, ers_evaluate, ers_u_recall_band
from epimeter.standards.mapping import AS_OF, FRAMEWORKS, LIMITS, MAPPING
from epimeter.standards.onto42001 import InformationRatio, OntoEvaluation, igr, onto_evaluate
from epimeter.standards.records import Records
from epimeter.standards.resampling import Plan, Sorted, Wanted, intervals, null_means, settled, share_interval
from epimeter.standards.unknowns import CategoryRecall, recall_by_category
from epimeter.summaries import Bins

Standard = Literal["ers", "42001", "both"]
STANDARDS = {"ers": ("ers",), "42001": ("onto",), "both": ("ers", "onto")}
SCHEMA = "epimeter-evaluation-1"
NAMES = {"ers": "ONTO-ERS 1.0.0", "onto": "ONTO 42001:2025"}


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


@dataclass(frozen=True, kw_only=True)
class Requirement(Result):
    """One requirement on the data: its figure, what is needed, whether it is met, whether it bars a certificate."""

    id: str
    title: str
    figure: str
    needed: str
    passed: bool
    blocks: bool


@dataclass(frozen=True, kw_only=True)
class StandardsEvaluation:
    """An evaluation after one or both standards; every rendering is made from this."""

    standards: tuple[str, ...]
    date: str
    declaration: Declaration
    source: Mapping[str, Any]
    records: Mapping[str, Any]
    methodology: Mapping[str, Any]
    requirements: tuple[Requirement, ...]
    readings: tuple[Reading, ...]
    ers: ErsEvaluation | None
    onto: OntoEvaluation | None
    onto_undefined: str | None
    ratio: InformationRatio | None
    beside: Mapping[str, float | None]
    categories: tuple[CategoryRecall, ...]
    claim: Claim | None
    statement: str | None
    certificate_possible: bool
    next_evaluation: str | None
    due: tuple[str, ...]
    cautions: tuple[str, ...]
    converted: str | None
    baseline: str | None
    dataset_digest: str
    code_digest: str
    liability: Any = field(default=None, compare=False)
    """A liability report, where its inputs were given."""

    def __getitem__(self, name: str) -> Reading:
        for reading in self.readings:
            if reading.name == name:
                return reading
        raise KeyError(name)

    @property
    def metrics(self) -> dict[str, Any]:
        """The numbers alone, each standard's in an object of its own; the same bytes for the same data."""
        made: dict[str, Any] = {"beside": {name: plain(value) for name, value in self.beside.items()}}
        if self.ers is not None:
            made["ers"] = self.ers.to_dict()
        if "onto" in self.standards:
            names = ("onto.ece", "onto.mce")
            partly = {name.partition(".")[2]: plain(self[name].value) for name in names}
            made["onto"] = partly | ({"u_recall": None, "ors": None} if self.onto is None else self.onto.to_dict())
            made["onto"]["igr"] = None if self.ratio is None else self.ratio.to_dict()
        return made

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, ready for JSON."""
        return {
            "schema": SCHEMA,
            "epimeter": __version__,
            "standards": [NAMES[name] for name in self.standards],
            "spec_version": ers.SPEC_VERSION if "ers" in self.standards else None,
            "date": self.date,
            "declaration": self.declaration.to_dict(),
            "source": {name: plain(value) for name, value in self.source.items()},
            "records": dict(self.records),
            "methodology": {name: plain(value) for name, value in self.methodology.items()},
            "requirements": [requirement.to_dict() for requirement in self.requirements],
            "metrics": self.metrics,
            "readings": [reading.to_dict() for reading in self.readings],
            "verdicts": self.verdicts,
            "categories": [category.to_dict() for category in self.categories],
            "next_evaluation": self.next_evaluation,
            "due": list(self.due),
            "mapping": {
                "as_of": AS_OF,
                "frameworks": FRAMEWORKS,
                "rows": [row.to_dict() for row in MAPPING],
                "wording": "evidence for a clause, not conformity with it",
            },
            "limits": list(LIMITS),
            "cautions": list(self.cautions),
            "converted": self.converted,
            "baseline": self.baseline,
            "evidence": {
                "dataset_digest": f"epi-col-v1:sha-256:{self.dataset_digest}",
                "code_digest": f"sha-256:{self.code_digest}",
                "version": __version__,
            },
            "liability": None if self.liability is None else self.liability.to_dict(),
        }

    @property
    def verdicts(self) -> dict[str, Any]:
        """Level, risk and status in words, by standard (C-46)."""
        made: dict[str, Any] = {}
        if self.ers is not None:
            level = self.ers.level_index
            made["ers"] = {
                "level": self.ers.level,
                "title": ers.LEVELS[level - 1].title if level else "no level",
                "status": "PASS" if level else "FAIL",
                "risk": self.ers.risk,
                "risk_action": RISK[self.ers.risk_index].action,
                "ece_band": ERS_ECE[ers_ece_band(self.ers.ece)].name,
                "u_recall_band": ERS_U_RECALL[ers_u_recall_band(self.ers.u_recall)].name,
                "assurance": self._assured("ers"),
                "certificate_possible": self.certificate_possible,
            }
        if "onto" in self.standards:
            found, made_claim = self.onto, self.claim
            made["onto"] = {
                "level": "none" if made_claim is None else made_claim.level,
                "measured_level": "none" if made_claim is None else made_claim.measured_level,
                "tier": "none" if made_claim is None else made_claim.tier,
                "flags": {} if made_claim is None else dict(made_claim.flags),
                "missing": [] if made_claim is None else list(made_claim.missing),
                "risk": None if found is None else found.risk,
                "risk_action": None if found is None else RISK[found.risk_index].action,
                "assurance": self._assured("onto"),
                "statement": self.statement,
                "undefined": self.onto_undefined,
            }
        return made

    def _assured(self, prefix: str) -> str | None:
        """Firm when every number that decides the level is."""
        words = [
            reading.assurance.assurance
            for reading in self.readings
            if reading.name.startswith(f"{prefix}.") and reading.limits and reading.assurance is not None
        ]
        return None if not words else "firm" if set(words) == {"firm"} else "marginal"


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
    interval, draws, level, seed, threads
        How intervals are found: ``bootstrap``, ``asymptotic``, ``none``, or ``auto`` by the number of records.
    source
        Where the records came from.
    """
    chosen = STANDARDS[word(standard, tuple(STANDARDS), "standard")]
    told = declaration or Declaration()
    day = ers.day_of(date).isoformat()
    ers_domain, other_domain, converted = _domains(chosen, domain, onto_domain)
    weighing = _weights(weights, weights_reason)
    if "onto" in chosen and records.unknown is None:
        raise InputError(
            "unknown must be given for every record, 0 or 1, to evaluate by ONTO 42001 (42001-6.1-a); the data have no "
            "such column. Name it with --column unknown=NAME, or use --standard ers",
            field="unknown",
        )
    word(strategy, tuple(STANDARD_BINS), "strategy")
    word(interval, get_args(Wanted), "interval")
    plan = Plan(
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
    compared = _compared(plan, told, baseline, new_baseline) if "onto" in chosen else None
    event = records.event
    flagged = event.prob < number(unknown_threshold, "threshold", 0, 1)
    if records.detected is not None:
        flagged = records.detected
    check = ers_dataset_check(
        event.true,
        event.prob,
        days=None if records.period is None else records.period.days,
        classes=records.classes,
    )
    found = (
        ers_evaluate(event.true, event.prob, domain=ers_domain, bins=plan.ers_bins, threshold=plan.ers_threshold)
        if ers_domain is not None
        else None
    )
    onto, undefined = _onto(records, plan, unknown_threshold) if "onto" in chosen else (None, None)
    ordered = Sorted.of(event, records.unknown, np.asarray(flagged), plan.ers_threshold)
    readings = _readings(ordered, found, onto, undefined, plan, chosen)
    ratio = _ratio(records, plan) if "onto" in chosen else None
    made_claim = None if onto is None else claim(onto.level_index, _flags(told))
    requirements = _requirements(records, check, onto, told, chosen)
    possible = found is not None and found.level_index > 0 and not any(r.blocks and not r.passed for r in requirements)
    method = _methodology(plan, records, unknown_threshold, weights_reason, told)
    return StandardsEvaluation(
        standards=chosen,
        date=day,
        declaration=told,
        source=dict(source or {}),
        records=_facts(records),
        methodology=method,
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
            method=_method_reference(plan, unknown_threshold, records),
            system=told.system_id or "The system",
            scope=told.scope or f"{records.n_rows:,} labelled records, domain {other_domain}",
        ),
        certificate_possible=possible,
        next_evaluation=schedule.next_evaluation(
            day,
            ers_level=None if found is None else found.level_index,
            onto_domain=other_domain,
        ),
        due=_due(told, baseline, day, other_domain),
        cautions=cautions.found(records, check, found, onto, undefined, ratio, chosen),
        converted=converted,
        baseline=compared,
        dataset_digest=records.digest,
        code_digest=code_digest(),
    )


def _domains(chosen: Sequence[str], domain: str, onto_domain: str | None) -> tuple[str | None, str | None, str | None]:
    """The domain of each standard, and a sentence when one was converted (C-08: an unknown one is an error)."""
    first = None
    if "ers" in chosen:
        if domain not in ers.DOMAINS:
            raise InputError(
                f"domain must be one of {', '.join(ers.DOMAINS)} for ONTO-ERS (ERS-2.3-d); got {domain!r:.40}. "
                "Domains of ONTO 42001 go with --onto-domain",
                field="domain",
            )
        first = domain
    if "onto" not in chosen:
        return first, None, None
    wanted = onto_domain or domain
    if wanted in onto42001.DOMAINS:
        return first, wanted, None
    if wanted in onto42001.FROM_ERS and onto_domain is None:
        made = onto42001.FROM_ERS[wanted]
        return first, made, f"the domain {wanted} of ONTO-ERS was read as {made} of ONTO 42001"
    raise InputError(
        f"domain must be one of {', '.join(onto42001.DOMAINS)} for ONTO 42001 (42001-7.2.3-a); got {wanted!r:.40}",
        field="domain",
    )


def _weights(weights: Sequence[float] | None, reason: str) -> tuple[float, float, float]:
    """The three conditions of 42001-A.5.3-a: they sum to 1, none is below 0.15, the reason is documented."""
    if weights is None:
        return onto42001.WEIGHTS
    made = onto42001.checked_weights(weights)
    if made != onto42001.WEIGHTS and not reason.strip():
        raise InputError(
            "weights_reason must say why the weights were changed (42001-A.5.3-a); got none. Give --weights-reason",
            field="weights_reason",
        )
    return made


def _compared(plan: Plan, told: Declaration, baseline: Mapping[str, Any] | None, reason: str) -> str | None:
    """Another binning strategy than last time is refused unless a new baseline is declared (42001-5.2.3-b)."""
    if reason:
        return f"a new baseline was declared: {reason}"
    if baseline is None:
        return None
    before = baseline.get("methodology")
    if not isinstance(before, Mapping) or "strategy" not in before:
        raise InputError(
            "baseline must be the JSON of an evaluation or passport with its methodology", field="baseline"
        )
    system = (baseline.get("declaration") or baseline.get("system") or {}).get("system_id", "")
    if system and told.system_id and system != told.system_id:
        raise InputError(
            f"baseline must be of the same system; it is of {system!r:.60}, this is {told.system_id!r:.60}",
            field="baseline",
        )
    last, now = (before["strategy"], before.get("bins")), (plan.strategy, plan.bins)
    if last != now:
        raise InputError(
            f"strategy must stay {last[0]} with {last[1]} bins as in the last evaluation (42001-5.2.3-b); got {now[0]} "
            f"with {now[1]}. Declare a new baseline with --new-baseline REASON",
            field="strategy",
        )
    return f"same method as the evaluation of {baseline.get('date') or baseline.get('evaluation', {}).get('date')}"


def _onto(records: Records, plan: Plan, threshold: float) -> tuple[OntoEvaluation | None, str | None]:
    """The evaluation, or why there is none: without unknowns U-Recall is 0/0 and no level can be claimed (C-37)."""
    event = records.event
    assert records.unknown is not None
    try:
        return onto_evaluate(
            event.true,
            event.prob,
            records.unknown.astype(np.uint8),
            domain=plan.onto_domain,
            strategy=plan.strategy,
            bins=plan.onto_bins,
            threshold=threshold,
            weights=plan.weights,
            detected=None if records.detected is None else records.detected.astype(np.uint8),
        ), None
    except UndefinedMetricError as reason:
        return None, str(reason)


def _ratio(records: Records, plan: Plan) -> InformationRatio:
    return igr(records.event.true, records.event.prob, bins=plan.bins)


def _flags(told: Declaration) -> dict[str, bool]:
    return {
        **told.flags,
        "taxonomy_documented": told.taxonomy_documented,
        "mechanism_documented": told.mechanism_documented,
        "passport_generated": True,  # one is always made (C-33)
        "liability_assessed": told.liability is not None,
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


def _readings(
    ordered: Sorted,
    found: ErsEvaluation | None,
    onto: OntoEvaluation | None,
    undefined: str | None,
    plan: Plan,
    chosen: Sequence[str],
) -> tuple[Reading, ...]:
    """Every number with its interval; those that are held against limits with them."""
    n = len(ordered.prob)
    values: dict[str, float] = {}
    if found is not None:
        values |= {"ers.ece": found.ece, "ers.u_recall": found.u_recall, "ers.ers_raw": found.ers_raw}
    if "onto" in chosen:
        error = onto_ece(ordered.right, ordered.prob, strategy=plan.strategy, bins=plan.onto_bins)
        values |= {"onto.ece": error.ece, "onto.mce": error.mce}
        if onto is not None:
            values |= {"onto.ece": onto.ece, "onto.mce": onto.mce, "onto.u_recall": onto.u_recall, "onto.ors": onto.ors}
    spans = intervals(ordered, values, plan)
    nulls = null_means(ordered, plan)
    wrong, unknown = ~ordered.right, ordered.unknown
    shares = {
        "ers.u_recall": (int((wrong & ordered.low).sum()), int(wrong.sum()), 100.0),
        "onto.u_recall": (int((unknown & ordered.flagged).sum()), int(unknown.sum()), 1.0),
        "onto.false_alarm_rate": (int((~unknown & ordered.flagged).sum()), int((~unknown).sum()), 1.0),
        "accuracy": (int(ordered.right.sum()), n, 1.0),
    }
    for name, (hits, total, unit) in shares.items():
        span = share_interval(hits, total, plan.level) if plan.how != "none" else None
        if span is not None:
            spans[name] = Interval(low=unit * span.low, high=unit * span.high, level=span.level, method=span.method)
    made = [_reading("accuracy", "Accuracy", shares["accuracy"][0] / n, spans, n)]
    if found is not None:
        made += [
            _reading("ers.ece", "ECE (ONTO-ERS)", found.ece, spans, n, ERS_LIMITS["ece"], nulls=nulls),
            _reading(
                "ers.u_recall", "U-Recall (ONTO-ERS)", found.u_recall, spans, int(wrong.sum()), ERS_LIMITS["u_recall"],
                upper=False, unit="%",
            ),
            # A cut score meets a limit L as long as the score before cutting is below L + 1 (C-07).
            _reading("ers.ers", "ERS", float(found.ers), {"ers.ers": spans["ers.ers_raw"]} if "ers.ers_raw" in spans else {},
                     n, ERS_LIMITS["ers"], whole=1.0, centre=found.ers_raw),
        ]  # fmt: skip
    if "onto" in chosen:
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


def _requirements(
    records: Records,
    check: ers.DatasetCheck,
    onto: OntoEvaluation | None,
    told: Declaration,
    chosen: Sequence[str],
) -> tuple[Requirement, ...]:
    """One pass or fail a requirement on the data (ERS-3.2-b)."""
    days = "no timestamps" if records.period is None else f"{records.period.days:.4g} days"
    kind = "right or wrong answers" if records.classes is None else "classes"
    made = []
    if "ers" in chosen:
        made += [
            Requirement(id="ERS-3.1-a", title="Predictions", figure=f"{check.sample_size:,}",
                        needed=f"at least {ers.MINIMUM_ROWS:,}", passed=bool(check.sample_size_ok), blocks=True),
            Requirement(id="ERS-3.1-b", title=f"Largest share, by {kind}", figure=f"{check.largest_share:.1%}",
                        needed=f"at most {ers.LARGEST_SHARE:.0%}", passed=bool(check.balance_ok),
                        blocks=records.classes is not None),
            Requirement(id="ERS-3.1-c", title="Confidence bins covered", figure=f"{check.covered_bins} of 10",
                        needed=f"at least {ers.MINIMUM_BINS}", passed=bool(check.coverage_ok), blocks=True),
            Requirement(id="ERS-3.1-d", title="Span of production data", figure=days,
                        needed=f"at least {ers.MINIMUM_DAYS} days", passed=bool(check.span_ok), blocks=True),
        ]  # fmt: skip
    if "onto" in chosen:
        unknowns = 0 if onto is None else onto.unknowns
        made += [
            Requirement(id="42001-B.1.1-a", title="Samples for ECE", figure=f"{records.n_rows:,}",
                        needed="should be at least 1,000", passed=records.n_rows >= 1000, blocks=False),
            Requirement(id="42001-B.1.1-a", title="Unknown inputs for U-Recall", figure=f"{unknowns:,}",
                        needed="should be at least 500", passed=unknowns >= 500, blocks=False),
        ]  # fmt: skip
        said = {True: "yes", False: "no", None: "not stated"}
        made += [
            Requirement(id="42001-B.1.2-a", title=f"Data include {name.replace('_', ' ')}", figure=said[value],
                        needed="should be yes", passed=bool(value), blocks=False)
            for name, value in told.contents.items()
        ]  # fmt: skip
    return tuple(made)


def _beside(ordered: Sorted, onto: OntoEvaluation | None, plan: Plan) -> dict[str, float | None]:
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


def _facts(records: Records) -> dict[str, Any]:
    total = records.n_rows + records.unlabelled
    period = records.period
    return {
        "labelled": records.n_rows,
        "unlabelled": records.unlabelled,
        "unlabelled_share": records.unlabelled / total,
        "ground_truth_sources": dict(records.sources),
        "period": None if period is None else {"start": period.start, "end": period.end, "days": period.days},
        "notes": list(records.notes),
    }


def _methodology(plan: Plan, records: Records, threshold: float, reason: str, told: Declaration) -> dict[str, Any]:
    own = records.detected is not None
    return {
        "strategy": plan.strategy,
        "bins": plan.bins,
        "ers_bins": plan.ers_bins,
        "ers_threshold": plan.ers_threshold,
        "threshold": None if own else threshold,
        "mechanism": "column detected" if own else f"confidence below {threshold:g}",
        "weights": list(plan.weights),
        "weights_reason": reason,
        "confidence_source": told.confidence_source or records.confidence_source or "not stated",
        "recalibration": told.recalibration or "not stated",
        "interval": plan.how,
        "draws": plan.draws,
        "level": plan.level,
        "seed": plan.seed,
        "sample_size": records.n_rows,
        "software": f"epimeter {__version__}",
        "pre_deployment": told.pre_deployment,
    }


def _method_reference(plan: Plan, threshold: float, records: Records) -> str:
    flag = "the column detected" if records.detected is not None else f"confidence < {threshold:g}"
    return (
        f"ONTO 42001 A.1 ({plan.strategy}, {plan.bins} bins), A.3 ({flag}), A.5 with epimeter {__version__}, "
        f"{records.n_rows:,} records"
    )


def _due(told: Declaration, baseline: Mapping[str, Any] | None, day: str, domain: str | None) -> tuple[str, ...]:
    """Why a measurement was due now, where the last evaluation says so."""
    if baseline is None or domain is None:
        return ()
    last = baseline.get("date") or baseline.get("evaluation", {}).get("date")
    before = (baseline.get("declaration") or baseline.get("system") or {}).get("model_version", "")
    found = schedule.onto_due(last, domain, model_version=told.model_version, last_model_version=before)
    late = found.due is not None and found.due < day and told.model_version == before
    return (*found.reasons, *((f"overdue since {found.due} (42001-5.1.1-c)",) if late else ()))
