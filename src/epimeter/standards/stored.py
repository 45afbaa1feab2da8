# SPDX-License-Identifier: Apache-2.0
"""An evaluation that was written as JSON, read back: rendered again without its rows, and held against the one before it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from epimeter.documents.sections import Section
from epimeter.errors import InputError
from epimeter.results import Interval
from epimeter.standards.assurance import Assurance
from epimeter.standards.bands import RISK, risk_index
from epimeter.standards.conformity import Claim, claim, statement
from epimeter.standards.declaration import Declaration
from epimeter.standards.ers import LEVEL_NAMES as ERS_LEVEL_NAMES
from epimeter.standards.ers import DatasetCheck, ErsEvaluation
from epimeter.standards.evaluated import NAMES, SCHEMA, StandardsEvaluation
from epimeter.standards.evaluation import due_now, flags_of
from epimeter.standards.exposure_sections import liability_sections
from epimeter.standards.judgement import Judgement, rounded
from epimeter.standards.method import compared
from epimeter.standards.onto42001 import LEVEL_NAMES, LEVELS, InformationRatio, OntoEvaluation
from epimeter.standards.reading import Limit, Reading
from epimeter.standards.requirement import DataRequirement, lacking_sentences
from epimeter.standards.unknowns import CategoryRecall


@dataclass(frozen=True)
class WrittenLiability:
    """A liability report as it was written down."""

    written: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(self.written)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The five sections of 42003-7.1-a."""
        return liability_sections(self.written)


def evaluation_of(stored: Mapping[str, Any]) -> StandardsEvaluation:
    """The evaluation that `StandardsEvaluation.to_dict` wrote down."""
    if stored.get("schema") != SCHEMA:
        raise InputError(
            f"an evaluation must be of the schema {SCHEMA}; got {stored.get('schema')!r:.40}", field="schema"
        )
    codes = {name: code for code, name in NAMES.items()}
    metrics, verdicts, evidence = stored["metrics"], stored["verdicts"], stored["evidence"]
    requirements = tuple(DataRequirement(**one) for one in stored["requirements"])
    ers = None if "ers" not in metrics else _ers(metrics["ers"], verdicts["ers"])
    onto, found = metrics.get("onto"), verdicts.get("onto", {})
    measured = None if onto is None or onto["u_recall"] is None else _onto(onto, found)
    ratio = None if onto is None or onto["igr"] is None else _ratio(onto["igr"])
    told = stored["declaration"]
    return StandardsEvaluation(
        standards=tuple(codes[name] for name in stored["standards"]),
        date=stored["date"],
        declaration=Declaration(**{**told, "taxonomy": tuple(told["taxonomy"])}),
        source=stored["source"],
        records=stored["records"],
        methodology=stored["methodology"],
        check=DatasetCheck(**stored["dataset_check"]),
        requirements=requirements,
        readings=tuple(_reading(one) for one in stored["readings"]),
        ers=ers,
        onto=measured,
        onto_undefined=found.get("undefined"),
        ratio=ratio,
        beside=metrics["beside"],
        categories=tuple(CategoryRecall(**one) for one in stored["categories"]),
        claim=None if measured is None else _claim(found),
        statement=found.get("statement"),
        judgement=None if ers is None else _judgement(ers, requirements, verdicts["ers"]),
        unclaimed={name: verdict["unclaimed"] for name, verdict in verdicts.items() if verdict["unclaimed"]},
        next_evaluation=stored["next_evaluation"],
        due=tuple(stored["due"]),
        cautions=tuple(stored["cautions"]),
        converted=stored["converted"],
        baseline=stored["baseline"],
        dataset_digest=evidence["dataset_digest"],
        columns_digest=evidence["columns_digest"],
        code_digest=evidence["code_digest"].rpartition(":")[2],
        liability=None if stored["liability"] is None else WrittenLiability(stored["liability"]),
    )


def _ers(numbers: Mapping[str, Any], verdict: Mapping[str, Any]) -> ErsEvaluation:
    names = ("ece", "u_recall", "ers_raw", "ers", "sample_size", "accuracy", "domain")
    risk = risk_index(numbers["ers"])
    return ErsEvaluation(
        **{name: numbers[name] for name in names},
        risk_index=risk,
        risk=RISK[risk].name,
        level_index=ERS_LEVEL_NAMES.index(verdict["level"]),
        level=verdict["level"],
    )


def _onto(numbers: Mapping[str, Any], verdict: Mapping[str, Any]) -> OntoEvaluation:
    names = ("ece", "mce", "u_recall", "false_alarm_rate", "ors", "sample_size", "unknowns", "accuracy", "domain")
    risk, level = risk_index(numbers["ors"]), LEVEL_NAMES.index(verdict["measured_level"])
    made = {name: numbers[name] for name in names}
    if made["false_alarm_rate"] is None:
        made["false_alarm_rate"] = math.nan
    return OntoEvaluation(
        **made,
        risk_index=risk,
        risk=RISK[risk].name,
        level_index=level,
        level=LEVEL_NAMES[level],
        tier=LEVELS[level - 1].tier if level else "none",
    )


def _ratio(stored: Mapping[str, Any]) -> InformationRatio:
    return InformationRatio(**{**stored, "igr": math.inf if stored["igr"] is None else stored["igr"]})


def _reading(stored: Mapping[str, Any]) -> Reading:
    span, sure = stored["interval"], stored["assurance"]
    return Reading(
        **{
            **stored,
            "interval": None if span is None else Interval(**span),
            "limits": tuple(Limit(**one) for one in stored["limits"]),
            "assurance": None if sure is None else Assurance(**{**sure, "straddled": tuple(sure["straddled"])}),
        }
    )


def _claim(stored: Mapping[str, Any]) -> Claim:
    return Claim(
        measured_level=stored["measured_level"],
        level=stored["level"],
        level_index=LEVEL_NAMES.index(stored["level"]),
        tier=stored["tier"],
        flags=dict(stored["flags"]),
        missing=tuple(stored["missing"]),
        declared=tuple(stored["declared"]),
    )


def _judgement(ers: ErsEvaluation, requirements: tuple[DataRequirement, ...], verdict: Mapping[str, Any]) -> Judgement:
    return Judgement(
        ece=rounded(ers.ece),
        u_recall=rounded(ers.u_recall),
        accuracy=rounded(ers.accuracy),
        sample_size=ers.sample_size,
        domain=ers.domain,
        lacking=lacking_sentences(requirements),
        obstacles=tuple(verdict["obstacles"]),
    )


def held_against(
    made: StandardsEvaluation, baseline: Mapping[str, Any] | None, new_baseline: str = ""
) -> StandardsEvaluation:
    """An evaluation after ONTO 42001 held against the last one of its system, as `evaluate_standards` does with a baseline.

    Another binning strategy is refused (42001-5.2.3-b); a measurement that came too late lowers the level (42001-5.1.1-c).
    """
    if made.onto is None or made.claim is None or (baseline is None and not new_baseline):
        return made
    told, method = made.declaration, made.methodology
    against = compared(method["strategy"], method["bins"], told, baseline, new_baseline)
    due = due_now(told, baseline, made.date, made.onto.domain)
    return _reclaimed(made, against, due, made.claim.flags["passport_generated"])


def with_passport(made: StandardsEvaluation) -> StandardsEvaluation:
    """An evaluation of which a passport was made: Level 2 of ONTO 42001 asks for one (42001-8.1-b)."""
    return made if made.claim is None else _reclaimed(made, made.baseline, made.due, passport=True)


def _reclaimed(
    made: StandardsEvaluation, against: str | None, due: tuple[str, ...], passport: bool
) -> StandardsEvaluation:
    """The evaluation with the level that may be claimed beside the last one: what it was held against, and what was due."""
    assert made.onto is not None
    assert made.claim is not None
    told, method = made.declaration, made.methodology
    # The liability's inputs are no part of a declaration that is read back; its report is.
    flags = flags_of(told, due, passport) | {"liability_assessed": made.liability is not None}
    fresh = claim(LEVEL_NAMES.index(made.claim.measured_level), flags)
    return replace(
        made,
        baseline=against,
        due=due,
        claim=fresh,
        statement=statement(
            made.onto,
            fresh,
            date=made.date,
            method=method["reference"],
            system=told.system_id or "The system",
            scope=told.scope or f"{method['sample_size']:,} labelled records, domain {made.onto.domain}",
            unclaimed=made.unclaimed.get("onto"),
        ),
    )


def with_obstacles(
    made: StandardsEvaluation, obstacles: tuple[str, ...], cautions: tuple[str, ...]
) -> StandardsEvaluation:
    """An evaluation with what its registry knows of the data besides: further obstacles and cautions."""
    if made.judgement is None or not (obstacles or cautions):
        return made
    judgement = replace(made.judgement, obstacles=(*made.judgement.obstacles, *obstacles))
    return replace(made, judgement=judgement, cautions=(*made.cautions, *cautions))


def as_weighed(made: StandardsEvaluation, stored: Mapping[str, Any]) -> StandardsEvaluation:
    """An evaluation of the same records, made again, with what was known of its system when the stored one was made.

    What was overdue then lowers the level of a passport too (C-52); obstacles and cautions of the registry stay.
    """
    if "schema" not in stored:
        return made  # of before the standards were part of what is stored
    if made.judgement is not None:
        obstacles = [one for one in stored["verdicts"]["ers"]["obstacles"] if one not in made.judgement.obstacles]
        made = with_obstacles(made, tuple(obstacles), tuple(c for c in stored["cautions"] if c not in made.cautions))
    if made.claim is None:
        return made
    return _reclaimed(made, stored["baseline"], tuple(stored["due"]), made.claim.flags["passport_generated"])
